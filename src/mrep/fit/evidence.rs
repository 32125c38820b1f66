// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a target says about where the boundary should be: an energy with Gauss and Newton's derivatives by boundary vertices.

use super::super::boundary::Shape;
use crate::{Mat3, Vec3};
use faer::Mat;

/// Minus the logarithm of a likelihood at one boundary.
pub(super) struct Evidence {
    /// At the deviation that steps are made for.
    pub energy: f64,
    /// At the deviation that is reported; it has to fall, too.
    pub reported: f64,
    /// Derivatives of the first by boundary vertices.
    pub gradient: Vec<Vec3>,
    /// Blocks of the second derivatives, the lower vertex first; pairs of two vertices stand for both.
    pub blocks: Vec<(u32, u32, Mat3)>,
}

/// A target.
pub(super) trait Likelihood: Sync {
    /// At a boundary, with derivatives.
    fn evidence(&self, shape: &Shape) -> Evidence;
}

impl Evidence {
    /// The gradient by unknowns of which `jacobian` has the derivatives.
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

    /// Second derivatives times those of the vertices: as many columns as `jacobian`.
    pub fn times(&self, jacobian: &Mat<f64>) -> Mat<f64> {
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
