// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first curves: singular vectors of the offsets over the frames.

use faer::{Mat, Side};

/// Left singular vectors of the offsets X `[F, 3n]`, the largest singular value first.
pub(super) struct Singular(Mat<f64>);

impl Singular {
    /// Computes them from `X Xᵀ` `[F, F]`. Singular values below 1e-4 of the largest are lost, far below any tolerance that is seen.
    /// `None` if the eigenvectors cannot be found.
    pub(super) fn new(gram: &[f64], frames: usize) -> Option<Self> {
        let gram = Mat::<f64>::from_fn(frames, frames, |i, j| gram[i * frames + j]);
        let eigen = gram.self_adjoint_eigen(Side::Lower).ok()?;
        let u = eigen.U();
        Some(Self(Mat::from_fn(frames, frames, |i, k| {
            u[(i, frames - 1 - k)]
        })))
    }

    /// Returns the first `count` vectors as curves `[F, count]`.
    pub(super) fn curves(&self, count: usize) -> Vec<f32> {
        let entry = |i: usize| self.0[(i / count, i % count)] as f32;
        (0..self.0.nrows() * count).map(entry).collect()
    }
}
