// SPDX-License-Identifier: MIT OR Apache-2.0
//! Offsets of some vertices in all frames, in the layout of the products.

use super::offsets::Offsets;
use nalgebra::{Matrix3, Vector3};
use rayon::prelude::*;

/// Number of vertices of a block: 128 in 500 frames are 0.8 MB, which a core's cache holds while all products use them.
const BLOCK: usize = 128;

/// Offsets of up to [`BLOCK`] vertices.
pub(super) struct Block {
    /// Vertices as indices into the mesh.
    pub vertices: Vec<u32>,
    /// Offsets `[f, 3, w]`, m: in each frame x of all vertices, then y, then z.
    pub x: Vec<f32>,
    /// Linear parts of the skeleton's maps `[f, w]`; empty where they are not kept.
    pub linear: Vec<Matrix3<f32>>,
}

impl Block {
    /// Returns the number of vertices.
    pub(super) fn width(&self) -> usize {
        self.vertices.len()
    }

    /// Returns the offset of vertex j in frame f.
    #[inline]
    pub(super) fn at(&self, f: usize, j: usize) -> [f32; 3] {
        let w = self.width();
        [0, 1, 2].map(|d| self.x[(3 * f + d) * w + j])
    }

    /// Returns the length of a residual of vertex j in frame f as it is seen, m.
    #[inline]
    pub(super) fn seen_length(
        &self,
        offsets: &Offsets<'_>,
        (f, j): (usize, usize),
        r: [f32; 3],
    ) -> f32 {
        match self.linear.is_empty() {
            true => offsets.seen_length(f, self.vertices[j], &r, 0.0),
            false => (self.linear[f * self.width() + j] * Vector3::from(r)).norm(),
        }
    }
}

impl Offsets<'_> {
    /// Reads the offsets of vertices into blocks, with the skeleton's maps if `linear`.
    pub(super) fn blocks(&self, vertices: &[u32], linear: bool) -> Vec<Block> {
        let read = |vertices: &[u32]| Block {
            x: self.read(vertices),
            linear: match linear {
                true => self.linear_maps(vertices),
                false => Vec::new(),
            },
            vertices: vertices.to_vec(),
        };
        vertices.par_chunks(BLOCK).map(read).collect()
    }
}
