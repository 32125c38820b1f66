// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first curves: singular vectors of the offsets over the frames.

use super::offsets::Offsets;
use super::products::{multiply, row_major};
use faer::{Accum, Mat, Side};
use rayon::prelude::*;

/// Left singular vectors of the offsets X `[F, 3n]`, the largest singular value first.
pub(super) struct Singular(Mat<f64>);

impl Singular {
    /// Computes them from `X Xᵀ`, summed in single precision within a chunk and in double precision over chunks. Singular values
    /// below 1e-4 of the largest are lost, far below any tolerance that is seen. `None` if the eigenvectors cannot be found.
    pub(super) fn new(offsets: &Offsets<'_>) -> Option<Self> {
        let frames = offsets.frame_count();
        let sums: Vec<Vec<f64>> = offsets
            .groups()
            .into_par_iter()
            .map(|group| {
                let mut sum = vec![0.0_f64; frames * frames];
                let (mut square, mut x) = (vec![0.0; frames * frames], Vec::new());
                for chunk in group {
                    offsets.read(chunk, &mut x);
                    let x = row_major(&x, 3 * chunk.len());
                    multiply(&mut square, Accum::Replace, x, x.transpose(), 1.0);
                    sum.iter_mut()
                        .zip(&square)
                        .for_each(|(to, x)| *to += f64::from(*x));
                }
                sum
            })
            .collect();
        let entry = |i: usize, j: usize| sums.iter().map(|s| s[i * frames + j]).sum();
        let gram = Mat::<f64>::from_fn(frames, frames, entry);
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
