// SPDX-License-Identifier: MIT OR Apache-2.0
//! The offsets that keys reproduce, read in chunks of vertices, and lengths of residuals as they are seen.

use crate::bake::{VertexFrames, VertexMaps};
use nalgebra::{Matrix3, Vector3};
use rayon::prelude::*;

/// Number of vertices of a chunk: 256 in 500 frames are 1.5 MB, which a core's cache holds while all products use them.
const CHUNK: usize = 256;

/// Number of groups of chunks, whose sums are added in order: results do not depend on the number of threads. More would cost
/// memory, fewer would leave processors idle.
const GROUPS: usize = 16;

/// Offsets of some vertices of a mesh in all frames.
#[derive(Clone)]
pub(super) struct Offsets<'a> {
    frames: &'a VertexFrames<'a>,
    /// Positions without offset `[n, 3]`; `None` if frames are offsets.
    rest: Option<&'a [f32]>,
    maps: &'a VertexMaps<'a>,
    /// Bound of the stretch by any map of a frame.
    stretch: Vec<f32>,
    vertices: Vec<u32>,
}

impl<'a> Offsets<'a> {
    /// Borrows the offsets of all vertices. `rest` `[n, 3]`: positions without offset, `None` if frames are offsets.
    pub(super) fn new(
        frames: &'a VertexFrames<'a>,
        rest: Option<&'a [f32]>,
        maps: &'a VertexMaps<'a>,
    ) -> Self {
        let stretch = |f: usize| maps.stretch(frames, f);
        Self {
            stretch: (0..frames.len()).into_par_iter().map(stretch).collect(),
            vertices: (0..frames.vertex_count() as u32).collect(),
            frames,
            rest,
            maps,
        }
    }

    /// Returns the offsets of those vertices that pass `chosen`.
    pub(super) fn subset(&self, chosen: impl Fn(u32) -> bool) -> Self {
        let vertices = self
            .vertices
            .iter()
            .copied()
            .filter(|&v| chosen(v))
            .collect();
        Self {
            vertices,
            ..self.clone()
        }
    }

    /// Returns the offsets of those vertices that are seen to move farther than `distance` (m) in some frame.
    pub(super) fn moving(&self, distance: f32) -> Self {
        let chunks: Vec<Vec<u32>> = self
            .vertices
            .par_chunks(CHUNK)
            .map(|chunk| {
                let (x, width) = (self.read(chunk), chunk.len());
                let moves = |j: usize| {
                    (0..self.frame_count()).any(|f| {
                        let offset = [0, 1, 2].map(|i| x[(3 * f + i) * width + j]);
                        self.seen_length(f, chunk[j], &offset, distance) > distance
                    })
                };
                (0..chunk.len())
                    .filter(|&j| moves(j))
                    .map(|j| chunk[j])
                    .collect()
            })
            .collect();
        Self {
            vertices: chunks.concat(),
            ..self.clone()
        }
    }

    /// Returns the number of frames.
    pub(super) fn frame_count(&self) -> usize {
        self.frames.len()
    }

    /// Returns the vertices, as indices into the mesh.
    pub(super) fn vertices(&self) -> &[u32] {
        &self.vertices
    }

    /// Returns the vertices in chunks, and these in at most [`GROUPS`] groups.
    pub(super) fn groups(&self) -> Vec<Vec<&[u32]>> {
        let chunks: Vec<&[u32]> = self.vertices.chunks(CHUNK).collect();
        let size = chunks.len().div_ceil(GROUPS).max(1);
        chunks.chunks(size).map(<[_]>::to_vec).collect()
    }

    /// Returns the offsets of vertices, `[f, 3, vertices]`: in each frame x of all, then y, then z.
    pub(super) fn read(&self, vertices: &[u32]) -> Vec<f32> {
        let mut to = Vec::with_capacity(self.frame_count() * 3 * vertices.len());
        for f in 0..self.frame_count() {
            let frame = self.frames.frame(f);
            for i in 0..3 {
                let at = vertices.iter().map(|&v| 3 * v as usize + i);
                match self.rest {
                    Some(rest) => to.extend(at.map(|at| frame[at] - rest[at])),
                    None => to.extend(at.map(|at| frame[at])),
                }
            }
        }
        to
    }

    /// Returns the linear parts of the maps of vertices, `[f, vertices]`; nothing if all are the identity.
    pub(super) fn linear_maps(&self, vertices: &[u32]) -> Vec<Matrix3<f32>> {
        if matches!(self.maps, VertexMaps::Identity) {
            return Vec::new();
        }
        let of_frame = |f: usize| {
            let map = move |&v: &u32| self.maps.map(self.frames, f, v as usize).linear;
            vertices.iter().map(map)
        };
        (0..self.frame_count()).flat_map(of_frame).collect()
    }

    /// Returns a bound of the stretch by any map of a frame.
    pub(super) fn stretch(&self, frame: usize) -> f32 {
        self.stretch[frame]
    }

    /// Returns the length of a residual of a vertex in a frame as it is seen, m, or a bound of it that does not exceed `enough`.
    #[inline]
    pub(super) fn seen_length(
        &self,
        frame: usize,
        vertex: u32,
        residual: &[f32],
        enough: f32,
    ) -> f32 {
        let r = Vector3::new(residual[0], residual[1], residual[2]);
        let bound = r.norm() * self.stretch[frame];
        if bound <= enough || matches!(self.maps, VertexMaps::Identity) {
            return bound;
        }
        let map = self.maps.map(self.frames, frame, vertex as usize);
        (map.linear * r).norm()
    }
}
