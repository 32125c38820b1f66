// SPDX-License-Identifier: MIT OR Apache-2.0
//! Elastic energy of [`Elements`] at a displacement, with its gradient and Hessian. [capell2002, §3.2]
//!
//! On a piece with constant gradients g_a the displacement gradient is `H = Σ_a u_a g_aᵀ`, so the energy is the piece's
//! volume times the density of the [`Model`], the force on corner a is `|T| P g_a`, and the Hessian's block of corners a
//! and b is `|T| (∂P/∂H)(g_a, g_b)`. Only differences of displacements enter: a body far from the origin loses nothing.

use super::elements::{Elements, Piece};
use super::model::{Curvature, Density, Model};
use crate::solve::BlockMatrix;
use crate::solve::newton::{Forces, Rounded};
use crate::{Mat3, Vec3};

impl Elements {
    /// Elastic energy at displacements `u[nodes]` (m), J.
    pub fn energy(&self, model: Model, u: &[Vec3]) -> f64 {
        self.rounded_energy(model, u).value
    }

    /// Elastic energy, with a bound on its rounding error.
    pub fn rounded_energy(&self, model: Model, u: &[Vec3]) -> Rounded {
        let mut sum = Rounded::default();
        for e in 0..self.len() {
            let corners = self.corners(e);
            for piece in self.pieces(e) {
                let h = displacement_gradient(corners, piece.gradients, u);
                let value = piece.density(model).value(&h) * piece.volume;
                sum.value += value;
                sum.rounding += value.abs() + piece.volume * piece.stiff() * (1.0 + h.norm());
            }
        }
        sum.rounding *= 4.0 * f64::EPSILON;
        sum
    }

    /// The derivative of the energy by each node's displacement, N: minus the elastic forces.
    pub fn gradient(&self, model: Model, u: &[Vec3], gradient: &mut [Vec3]) -> Forces {
        gradient.fill(Vec3::zeros());
        let mut forces = Forces::default();
        for e in 0..self.len() {
            let corners = self.corners(e);
            let far = corners.iter().map(|&a| u[a as usize].amax());
            let far = far.fold(0.0, f64::max);
            for piece in self.pieces(e) {
                let h = displacement_gradient(corners, piece.gradients, u);
                let stress = piece.density(model).stress(&h) * piece.volume;
                let mut steepest: f64 = 0.0;
                for (&a, g) in corners.iter().zip(piece.gradients) {
                    let force = stress * g;
                    gradient[a as usize] += force;
                    forces.size += force.norm_squared();
                    steepest = steepest.max(g.norm_squared());
                }
                // H is off by rounding in the displacements, and so is the strain.
                let (steepest, f) = (steepest.sqrt(), 2.0 + h.norm());
                let off = f * f * (f + steepest * far) * steepest;
                forces.rounding += (piece.volume * piece.stiff() * off).powi(2);
            }
        }
        Forces {
            size: forces.size.sqrt(),
            rounding: f64::EPSILON * forces.rounding.sqrt(),
        }
    }

    /// The second derivative of the energy, N/m. `hessian` is overwritten; its pattern must hold that of the elements,
    /// as [`BlockMatrix::zero`] of [`all_corners`](Self::all_corners) does.
    pub fn hessian(
        &self,
        model: Model,
        u: &[Vec3],
        curvature: Curvature,
        hessian: &mut BlockMatrix,
    ) {
        hessian.blocks_mut().fill(Mat3::zeros());
        self.visit_hessian(model, u, curvature, |_, a, b, block| {
            hessian.add_pair(a, b, block);
        });
    }

    /// Gives the Hessian's block of each pair of corners a ≤ b (by their order in the element), summed over the element's
    /// pieces: number of the pair among all, the two nodes, the block.
    pub fn visit_hessian(
        &self,
        model: Model,
        u: &[Vec3],
        curvature: Curvature,
        mut visit: impl FnMut(usize, u32, u32, &Mat3),
    ) {
        let mut blocks = Vec::new();
        let mut number = 0;
        for e in 0..self.len() {
            let corners = self.corners(e);
            let n = corners.len();
            blocks.clear();
            blocks.resize(n * (n + 1) / 2, Mat3::zeros());
            for piece in self.pieces(e) {
                let h = displacement_gradient(corners, piece.gradients, u);
                let tangent = piece.density(model).tangent(&h, curvature);
                let mut pair = 0;
                for (i, a) in piece.gradients.iter().enumerate() {
                    for b in &piece.gradients[i..] {
                        blocks[pair] += tangent.block(a, b) * piece.volume;
                        pair += 1;
                    }
                }
            }
            let mut pair = 0;
            for (i, &a) in corners.iter().enumerate() {
                for &b in &corners[i..] {
                    visit(number, a, b, &blocks[pair]);
                    pair += 1;
                    number += 1;
                }
            }
        }
    }

    /// How many pieces are turned inside out, or flat, at displacements `u[nodes]`.
    pub fn inverted(&self, u: &[Vec3]) -> usize {
        let inverted = |e: usize| {
            let corners = self.corners(e);
            self.pieces(e)
                .filter(|piece| piece.volume > 0.0)
                .map(|piece| displacement_gradient(corners, piece.gradients, u))
                .filter(|h| (Mat3::identity() + h).determinant() <= 0.0)
                .count()
        };
        (0..self.len()).map(inverted).sum()
    }
}

impl Piece<'_> {
    fn density(&self, model: Model) -> Density {
        Density {
            model,
            lame: self.lame,
            shear: self.shear,
        }
    }

    fn stiff(&self) -> f64 {
        self.lame.abs() + 2.0 * self.shear
    }
}

/// `H = Σ_a u_a g_aᵀ`; the gradients add up to zero, so displacements count relative to the first corner's.
#[inline]
fn displacement_gradient(corners: &[u32], gradients: &[Vec3], u: &[Vec3]) -> Mat3 {
    let mut h = Mat3::zeros();
    let Some(&first) = corners.first() else {
        return h;
    };
    let first = u[first as usize];
    for (&a, g) in corners.iter().zip(gradients).skip(1) {
        h += (u[a as usize] - first) * g.transpose();
    }
    h
}

#[cfg(test)]
mod tests;
