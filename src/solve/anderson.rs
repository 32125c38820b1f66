// SPDX-License-Identifier: MIT OR Apache-2.0
//! Anderson's acceleration of fixed-point iterations. [anderson1965]
//!
//! **Problem.** Find x with g(x) = x where plain iteration, x ← g(x), converges slowly.
//!
//! **Method.** With residuals f = g(x) − x, the last differences ΔX and ΔF span what is known of the slope. The next point is
//! `x + f − (ΔX + ΔF) γ`, where γ makes |f − ΔF γ| least.
//!
//! **Cost.** A least-squares problem of at most [`MEMORY`] unknowns per step.

use nalgebra::{DMatrix, DVector};
use std::collections::VecDeque;

/// Number of differences kept. Five gain hardly more than three on poses of flesh; one takes a third more steps.
const MEMORY: usize = 3;
/// Singular values of ΔF below this part of the largest are rounding.
const RANK_TOLERANCE: f64 = 1e-8;

/// Last point, its residual, and differences of earlier ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Anderson {
    last: Option<(DVector<f64>, DVector<f64>)>,
    /// Differences of points and of residuals, the latest first.
    differences: VecDeque<(DVector<f64>, DVector<f64>)>,
}

impl Anderson {
    /// Returns the point after x, whose image is g(x).
    pub fn next(&mut self, x: DVector<f64>, image: &DVector<f64>) -> DVector<f64> {
        let residual = image - &x;
        if let Some((last_x, last_residual)) = self.last.take() {
            let difference = (&x - last_x, &residual - last_residual);
            self.differences.push_front(difference);
            self.differences.truncate(MEMORY);
        }
        let mut next = image.clone();
        let changes: Vec<_> = self.differences.iter().map(|d| d.1.clone()).collect();
        if !changes.is_empty() {
            let svd = DMatrix::from_columns(&changes).svd(true, true);
            let least = RANK_TOLERANCE * svd.singular_values.max();
            if let Ok(shares) = svd.solve(&residual, least) {
                for ((dx, df), share) in self.differences.iter().zip(&shares) {
                    next -= (dx + df) * *share;
                }
            }
        }
        self.last = Some((x, residual));
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A linear map of three dimensions whose plain iteration diverges is solved in a few steps.
    #[test]
    fn diverging_map_is_solved() {
        let matrix =
            DMatrix::from_row_slice(3, 3, &[0.5, 0.9, 0.0, -0.2, 1.4, 0.3, 0.1, 0.0, -0.7]);
        let shift = DVector::from_row_slice(&[1.0, -2.0, 0.5]);
        let map = |x: &DVector<f64>| &matrix * x + &shift;
        let (mut anderson, mut x) = (Anderson::default(), DVector::zeros(3));
        for _ in 0..6 {
            let image = map(&x);
            x = anderson.next(x, &image);
        }
        assert!((map(&x) - &x).norm() < 1e-9, "{}", map(&x) - &x);
    }

    /// A fixed point is kept.
    #[test]
    fn fixed_point_is_kept() {
        let (mut anderson, x) = (Anderson::default(), DVector::from_element(4, 0.3));
        for _ in 0..4 {
            assert_eq!(anderson.next(x.clone(), &x), x);
        }
    }
}
