// SPDX-License-Identifier: MIT OR Apache-2.0
//! The offsets that keys reproduce, read in chunks of vertices, and lengths of residuals as they are seen.

use crate::bake::{VertexFrames, VertexMaps};
use nalgebra::Vector3;
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
        let vertices = 0..frames.vertex_count();
        let bound = |f: usize| match maps {
            VertexMaps::Identity => 1.0,
            _ => {
                let norms = vertices
                    .clone()
                    .map(|v| maps.map(frames, f, v).linear.norm());
                norms.fold(0.0, f32::max)
            }
        };
        Self {
            stretch: (0..frames.len()).into_par_iter().map(bound).collect(),
            vertices: vertices.clone().map(|v| v as u32).collect(),
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
                let mut x = Vec::new();
                self.read(chunk, &mut x);
                let width = 3 * chunk.len();
                let moves = |j: usize| {
                    (0..self.frame_count()).any(|f| {
                        let offset = &x[f * width + 3 * j..][..3];
                        self.seen_length(f, chunk[j], offset, distance) > distance
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

    /// Reads the offsets of a chunk into `to` `[f, chunk, 3]`.
    pub(super) fn read(&self, chunk: &[u32], to: &mut Vec<f32>) {
        to.clear();
        for f in 0..self.frame_count() {
            let frame = self.frames.frame(f);
            for &v in chunk {
                let at = 3 * v as usize;
                let x = &frame[at..at + 3];
                match self.rest {
                    Some(rest) => to.extend((0..3).map(|i| x[i] - rest[at + i])),
                    None => to.extend(x),
                }
            }
        }
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
