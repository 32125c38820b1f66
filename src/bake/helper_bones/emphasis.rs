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
    /// `[n, f]`.
    weights: Vec<f32>,
    frames: usize,
}

impl Emphasis {
    /// Returns weights of 1.
    pub(super) fn ones(problem: &Problem) -> Self {
        Self {
            weights: vec![1.0; problem.vertex_count() * problem.frame_count],
            frames: problem.frame_count,
        }
    }

    /// Returns the frames of a vertex whose weights exceed 1, and by how much.
    pub(super) fn extra(&self, vertex: usize) -> impl Iterator<Item = (usize, f64)> {
        let row = &self.weights[vertex * self.frames..][..self.frames];
        let extra = row.iter().map(|w| f64::from(*w) - 1.0).enumerate();
        extra.filter(|e| e.1 > 0.0)
    }

    /// Returns whether a vertex weighs more than 1 in a frame.
    pub(super) fn is_raised(&self, vertex: usize) -> bool {
        let row = &self.weights[vertex * self.frames..][..self.frames];
        row.iter().any(|w| *w > 1.0)
    }

    /// Returns the weight of a vertex in a frame.
    #[inline]
    pub(super) fn weight(&self, vertex: usize, frame: usize) -> f64 {
        self.weights[vertex * self.frames + frame].into()
    }

    /// Multiplies weights by errors `[f, n]` in units of `aim`, so that what stays too far away weighs ever more (Lawson's rule).
    pub(super) fn update(&mut self, errors: &[Vec<f32>], aim: f32) {
        for (v, row) in self.weights.chunks_exact_mut(self.frames).enumerate() {
            for (w, e) in row.iter_mut().zip(errors) {
                let factor = (e[v] / aim).clamp(MIN_FACTOR, MAX_FACTOR);
                *w = (*w * factor).clamp(1.0, MAX_WEIGHT);
            }
        }
    }
}
