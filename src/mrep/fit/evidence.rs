// SPDX-License-Identifier: MIT OR Apache-2.0
//! Likelihood of a boundary given the target: an energy with Gauss-Newton derivatives by boundary vertices.

use crate::mrep::figures::boundary::BoundaryShape;
use crate::{Mat3, Vec3};
use faer::Mat;

/// Minus the logarithm of a likelihood at one boundary, with derivatives.
pub(super) struct Evidence {
    /// Energy at the deviation for which steps are made.
    pub energy: f64,
    /// Energy at the reported deviation; every accepted step lowers it, too.
    pub reported: f64,
    /// Derivatives of `energy` by boundary vertices.
    pub gradient: Vec<Vec3>,
    /// Blocks of the second derivatives, the lower vertex first; an off-diagonal block also stands for its transpose.
    pub blocks: Vec<(u32, u32, Mat3)>,
}

/// A target of a fit.
pub(super) trait Likelihood: Sync {
    /// Evaluates the energy and its derivatives at a boundary.
    fn evidence(&self, shape: &BoundaryShape) -> Evidence;
}

impl Evidence {
    /// Returns the gradient by the unknowns of `jacobian`.
    pub fn gradient(&self, jacobian: &Mat<f64>) -> Vec<f64> {
        let mut out = vec![0.0; jacobian.nrows()];
        for (k, g) in self.gradient.iter().enumerate() {
            for c in 0..3 {
                for (x, d) in out.iter_mut().zip(jacobian.col(3 * k + c).iter()) {
                    *x += d * g[c];
                }
            }
        }
        out
    }

    /// Returns the product of the second derivatives with the vertices' derivatives, with the columns of `jacobian`.
    pub fn hessian_product(&self, jacobian: &Mat<f64>) -> Mat<f64> {
        let mut out = Mat::zeros(jacobian.nrows(), jacobian.ncols());
        let mut add = |to: u32, from: u32, block: &Mat3| {
            for a in 0..3 {
                for b in 0..3 {
                    let factor = block[(a, b)];
                    let source = jacobian.col(3 * from as usize + b);
                    let target = out.col_mut(3 * to as usize + a);
                    if let (Some(target), Some(source)) =
                        (target.try_as_col_major_mut(), source.try_as_col_major())
                    {
                        let pairs = target.as_slice_mut().iter_mut().zip(source.as_slice());
                        pairs.for_each(|(x, y)| *x += factor * y);
                    }
                }
            }
        };
        for (k, l, block) in &self.blocks {
            add(*k, *l, block);
            if k != l {
                add(*l, *k, &block.transpose());
            }
        }
        out
    }
}
