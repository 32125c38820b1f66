// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vertices whose errors decide the fit, with weights of their own, and all others by their sum.

use super::blocks::Block;
use super::offsets::Offsets;
use super::products::{multiply, row_major};
use faer::Accum;
use rayon::prelude::*;

/// The vertices that are fitted with weights, each in all frames.
pub(super) struct Core {
    pub blocks: Vec<Block>,
    /// What pairs of a frame and a vertex of each block weigh more than 1, `[f, w]`.
    pub extra: Vec<Vec<f32>>,
    /// Keys of each block, `[3, w, K]`, of the last sweep.
    pub keys: Vec<Vec<f32>>,
    /// Number of pairs that weigh more than 1.
    pub heavy_pairs: usize,
    /// Sum of `x xᵀ` over all vertices outside, `[f, f]`: what a fit with weights of 1 needs of them.
    pub outside: Vec<f32>,
    /// The same sum, as exactly as it is kept.
    precise: Vec<f64>,
}

impl Core {
    /// Returns a core without vertices. `gram` `[f, f]`: sum of `x xᵀ` over all vertices.
    pub(super) fn new(gram: &[f64]) -> Self {
        Self {
            blocks: Vec::new(),
            extra: Vec::new(),
            keys: Vec::new(),
            outside: gram.iter().map(|x| *x as f32).collect(),
            heavy_pairs: 0,
            precise: gram.to_vec(),
        }
    }

    /// Takes further vertices in, with weights of 1.
    pub(super) fn add(&mut self, offsets: &Offsets<'_>, vertices: &[u32]) {
        if vertices.is_empty() {
            return;
        }
        let blocks = offsets.blocks(vertices, true);
        for gram in block_grams(&blocks, offsets.frame_count()) {
            self.precise
                .iter_mut()
                .zip(&gram)
                .for_each(|(to, x)| *to -= f64::from(*x));
        }
        self.outside = self.precise.iter().map(|x| *x as f32).collect();
        let frames = offsets.frame_count();
        self.extra
            .extend(blocks.iter().map(|b| vec![0.0; frames * b.width()]));
        self.blocks.extend(blocks);
    }

    /// Gives pairs the weights that they had when the core had the first blocks of today's; all later ones have 1.
    pub(super) fn set_extra(&mut self, extra: &[Vec<f32>]) {
        self.extra.iter_mut().for_each(|extra| extra.fill(0.0));
        for (to, from) in self.extra.iter_mut().zip(extra) {
            to.copy_from_slice(from);
        }
    }

    /// Returns the number of vertices.
    pub(super) fn len(&self) -> usize {
        self.blocks.iter().map(Block::width).sum()
    }

    /// Returns the vertices of each block, and their keys.
    pub(super) fn keyed_vertices(&self) -> Vec<(Vec<u32>, Vec<f32>)> {
        let blocks = self.blocks.iter().zip(&self.keys);
        blocks
            .map(|(block, keys)| (block.vertices.clone(), keys.clone()))
            .collect()
    }
}

/// Returns `x xᵀ` `[f, f]` of each block.
fn block_grams(blocks: &[Block], frames: usize) -> Vec<Vec<f32>> {
    let gram = |block: &Block| {
        let mut square = vec![0.0; frames * frames];
        let x = row_major(&block.x, 3 * block.width());
        multiply(&mut square, Accum::Replace, x, x.transpose(), 1.0);
        square
    };
    blocks.par_iter().map(gram).collect()
}

/// Returns the sum of `x xᵀ` over all blocks, `[f, f]`, summed in single precision within a block and in double precision over blocks.
pub(super) fn sum_of_grams(blocks: &[Block], frames: usize) -> Vec<f64> {
    let mut sum = vec![0.0_f64; frames * frames];
    for some in blocks.chunks(16) {
        for gram in block_grams(some, frames) {
            sum.iter_mut()
                .zip(&gram)
                .for_each(|(to, x)| *to += f64::from(*x));
        }
    }
    sum
}
