// SPDX-License-Identifier: MIT OR Apache-2.0
//! Larger weights of frames in which a vertex is too far from its place.

use super::problem::Problem;

/// Factors of a weight from one fit to the next. Without bounds weights swing.
const MIN_FACTOR: f32 = 0.7;
const MAX_FACTOR: f32 = 4.0;

/// Largest weight: a frame with it outweighs all others of a long film.
const MAX_WEIGHT: f32 = 1e6;

/// Weights of vertices in frames; at least 1.
pub(super) struct Emphasis {
    /// `[f, n]`.
    weights: Vec<f32>,
    /// Frames of each vertex with weights above 1, and by how much they exceed it.
    extra: Vec<Vec<(u32, f32)>>,
}

impl Emphasis {
    /// Returns weights of 1.
    pub(super) fn ones(problem: &Problem) -> Self {
        Self {
            weights: vec![1.0; problem.pair_count()],
            extra: vec![Vec::new(); problem.vertex_count()],
        }
    }

    /// Returns the frames of a vertex whose weights exceed 1, and by how much.
    pub(super) fn extra(&self, vertex: usize) -> impl Iterator<Item = (usize, f64)> {
        let extra = self.extra[vertex].iter();
        extra.map(|&(f, w)| (f as usize, f64::from(w)))
    }

    /// Returns whether a vertex weighs more than 1 in a frame.
    pub(super) fn is_raised(&self, vertex: usize) -> bool {
        !self.extra[vertex].is_empty()
    }

    /// Returns the weight of a vertex in a frame.
    #[inline]
    pub(super) fn weight(&self, vertex: usize, frame: usize) -> f64 {
        self.weights[frame * self.extra.len() + vertex].into()
    }

    /// Multiplies weights by errors `[f, n]` in units of `aim`, so that what stays too far away weighs ever more (Lawson's rule).
    pub(super) fn update(&mut self, errors: &[Vec<f32>], aim: f32) {
        self.extra.iter_mut().for_each(Vec::clear);
        let rows = self.weights.chunks_exact_mut(self.extra.len());
        for (f, (row, errors)) in rows.zip(errors).enumerate() {
            for (v, (w, e)) in row.iter_mut().zip(errors).enumerate() {
                let factor = (e / aim).clamp(MIN_FACTOR, MAX_FACTOR);
                *w = (*w * factor).clamp(1.0, MAX_WEIGHT);
                if *w > 1.0 {
                    self.extra[v].push((f as u32, *w - 1.0));
                }
            }
        }
    }
}
