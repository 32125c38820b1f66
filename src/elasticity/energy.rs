// SPDX-License-Identifier: MIT OR Apache-2.0
//! Elastic energy of [`Elements`] at a displacement, with its gradient and Hessian. [capell2002, §3.2]
//!
//! On a piece with constant gradients g_a the displacement gradient is `H = Σ_a u_a g_aᵀ`. The energy is the piece's
//! volume times the density of the [`ElasticModel`]. Its derivative by corner a is `|T| P g_a`; the Hessian's block of
//! corners a and b is `|T| (∂P/∂H)(g_a, g_b)`. Only differences of displacements enter, and details, which do not take part in
//! a translation. So a body far from the origin loses no digits.

use super::elements::{ElementPiece, Elements};
use super::model::{Curvature, Density, ElasticModel, TangentProducts};
use crate::solve::newton::{ForceMagnitude, RoundedSum};
use crate::solve::{BlockMatrix, NodeMatrix};
use crate::{Mat3, Vec3};
use smallvec::SmallVec;

/// Deformation of flesh: displacements of the nodes, over elements that may first be rotated as a whole.
///
/// With rotations R, one per element, `F = R + Σ_a u_a g_aᵀ`: at u = 0 the flesh is rotated and at rest. A skeleton
/// carries flesh like this, whatever the rotation between neighbouring elements; u then is the flesh's own motion.
#[derive(Debug, Clone, Copy)]
pub struct Deformation<'a> {
    displacements: &'a [Vec3],
    turns: Option<&'a [Mat3]>,
}

impl<'a> From<&'a [Vec3]> for Deformation<'a> {
    fn from(displacements: &'a [Vec3]) -> Self {
        Self {
            displacements,
            turns: None,
        }
    }
}

impl<'a> From<&'a Vec<Vec3>> for Deformation<'a> {
    fn from(displacements: &'a Vec<Vec3>) -> Self {
        Self::from(displacements.as_slice())
    }
}

impl<'a> From<&'a mut [Vec3]> for Deformation<'a> {
    fn from(displacements: &'a mut [Vec3]) -> Self {
        Self::from(&*displacements)
    }
}

impl<'a> Deformation<'a> {
    /// Combines displacements `[nodes]` (m) with the rotations `turns[elements]` of the elements.
    pub fn with_rotations(displacements: &'a [Vec3], turns: &'a [Mat3]) -> Self {
        Self {
            displacements,
            turns: Some(turns),
        }
    }

    /// Returns F − I on a piece of an element, whose functions have `gradients` there.
    #[inline]
    pub fn gradient(&self, elements: &Elements, element: usize, gradients: &[Vec3]) -> Mat3 {
        let h = elements.displacement_gradient(element, gradients, self.displacements);
        match self.turns {
            Some(turns) => h + (turns[element] - Mat3::identity()),
            None => h,
        }
    }
}

impl Elements {
    /// Returns the elastic energy at a deformation, such as displacements `u[nodes]` (m), J.
    pub fn energy<'a>(&self, model: ElasticModel, u: impl Into<Deformation<'a>>) -> f64 {
        self.rounded_energy(model, u).value
    }

    /// Returns the elastic energy, with a bound on its rounding error.
    pub fn rounded_energy<'a>(
        &self,
        model: ElasticModel,
        u: impl Into<Deformation<'a>>,
    ) -> RoundedSum {
        let deformation = u.into();
        let mut sum = RoundedSum::default();
        for e in 0..self.len() {
            for piece in self.pieces(e) {
                let h = deformation.gradient(self, e, piece.gradients);
                let value = piece.density(model).value(&h) * piece.volume;
                sum.value += value;
                sum.rounding +=
                    value.abs() + piece.volume * piece.stiffness_scale() * (1.0 + h.norm());
            }
        }
        sum.rounding *= 4.0 * f64::EPSILON;
        sum
    }

    /// Computes the derivative of the energy by each node's displacement, N: minus the elastic forces.
    pub fn gradient<'a>(
        &self,
        model: ElasticModel,
        u: impl Into<Deformation<'a>>,
        gradient: &mut [Vec3],
    ) -> ForceMagnitude {
        gradient.fill(Vec3::zeros());
        self.add_gradient(model, u, gradient)
    }

    /// Adds the derivative of the energy by each node's displacement, N.
    pub fn add_gradient<'a>(
        &self,
        model: ElasticModel,
        u: impl Into<Deformation<'a>>,
        gradient: &mut [Vec3],
    ) -> ForceMagnitude {
        let deformation = u.into();
        let u = deformation.displacements;
        let mut forces = ForceMagnitude::default();
        for e in 0..self.len() {
            let corners = self.corners(e);
            let far = corners.iter().map(|&a| u[a as usize].amax());
            let far = far.fold(0.0, f64::max);
            for piece in self.pieces(e) {
                let h = deformation.gradient(self, e, piece.gradients);
                let stress = piece.density(model).stress(&h) * piece.volume;
                let mut steepest: f64 = 0.0;
                for (&a, g) in corners.iter().zip(piece.gradients) {
                    let force = stress * g;
                    gradient[a as usize] += force;
                    forces.size += force.norm_squared();
                    steepest = steepest.max(g.norm_squared());
                }
                // H, and with it the strain, has the rounding error of the displacements.
                let (steepest, f) = (steepest.sqrt(), 2.0 + h.norm());
                let off = f * f * (f + steepest * far) * steepest;
                forces.rounding += (piece.volume * piece.stiffness_scale() * off).powi(2);
            }
        }
        ForceMagnitude {
            size: forces.size.sqrt(),
            rounding: f64::EPSILON * forces.rounding.sqrt(),
        }
    }

    /// Computes the Hessian of the energy, N/m. `hessian` is overwritten; its pattern must contain that of the
    /// elements, as [`zeros`](crate::solve::matrix::zeros) of [`all_corners`](Self::all_corners) does.
    pub fn hessian<'a>(
        &self,
        model: ElasticModel,
        u: impl Into<Deformation<'a>>,
        curvature: Curvature,
        hessian: &mut BlockMatrix,
    ) {
        hessian.data_mut().fill(Mat3::zeros());
        self.visit_hessian(
            model,
            u,
            |_| curvature,
            |_, a, b, block| {
                hessian.add_pair(a, b, block);
            },
        );
    }

    /// Visits the Hessian's block of each pair of corners a ≤ b (by their order in the element), summed over the
    /// element's pieces. `visit` receives the index of the pair among all, the two nodes and the block. `curvature`
    /// selects the second derivative by a piece's F − I.
    pub fn visit_hessian<'a>(
        &self,
        model: ElasticModel,
        u: impl Into<Deformation<'a>>,
        curvature: impl Fn(&Mat3) -> Curvature,
        visit: impl FnMut(usize, u32, u32, &Mat3),
    ) {
        self.accumulate(model, u.into(), curvature, |_, _| {}, visit);
    }

    /// Computes first and second derivative of the energy in one pass. The first is added to `gradient[nodes]` (N); the
    /// Hessian's blocks are visited as in [`visit_hessian`](Self::visit_hessian).
    pub fn linearise<'a>(
        &self,
        model: ElasticModel,
        u: impl Into<Deformation<'a>>,
        curvature: impl Fn(&Mat3) -> Curvature,
        gradient: &mut [Vec3],
        visit: impl FnMut(usize, u32, u32, &Mat3),
    ) {
        let force = |a: u32, f: Vec3| gradient[a as usize] += f;
        self.accumulate(model, u.into(), curvature, force, visit);
    }

    fn accumulate(
        &self,
        model: ElasticModel,
        deformation: Deformation,
        curvature: impl Fn(&Mat3) -> Curvature,
        mut force: impl FnMut(u32, Vec3),
        mut visit: impl FnMut(usize, u32, u32, &Mat3),
    ) {
        // In place for the pairs of a hexahedron's corners.
        let mut blocks: SmallVec<[Mat3; 36]> = SmallVec::new();
        let mut turned: SmallVec<[TangentProducts; 8]> = SmallVec::new();
        let mut number = 0;
        for e in 0..self.len() {
            let corners = self.corners(e);
            let n = corners.len();
            turned.resize(n, TangentProducts::default());
            blocks.resize(n * (n + 1) / 2, Mat3::zeros());
            blocks.fill(Mat3::zeros());
            for piece in self.pieces(e) {
                let h = deformation.gradient(self, e, piece.gradients);
                let density = piece.density(model);
                let stress = density.stress(&h) * piece.volume;
                for (&corner, g) in corners.iter().zip(piece.gradients) {
                    force(corner, stress * g);
                }
                let tangent = density.tangent(&h, curvature(&h));
                tangent.add_blocks(piece.gradients, piece.volume, &mut turned, &mut blocks);
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

    /// Returns the largest norm of a piece's displacement gradient at displacements `u[nodes]`.
    pub fn max_gradient_norm(&self, u: &[Vec3]) -> f64 {
        let mut most: f64 = 0.0;
        for e in 0..self.len() {
            for piece in self.pieces(e).filter(|piece| piece.volume > 0.0) {
                let h = self.displacement_gradient(e, piece.gradients, u);
                // NaN counts as steep.
                let norm = h.norm_squared();
                most = if norm <= most { most } else { norm };
            }
        }
        most.sqrt()
    }

    /// Counts the pieces that are inverted or flat at a deformation, such as displacements `u[nodes]`.
    pub fn inverted_piece_count<'a>(&self, u: impl Into<Deformation<'a>>) -> usize {
        let deformation = u.into();
        let inverted = |e: usize| {
            self.pieces(e)
                .filter(|piece| piece.volume > 0.0)
                .map(|piece| deformation.gradient(self, e, piece.gradients))
                .filter(|h| (Mat3::identity() + h).determinant() <= 0.0)
                .count()
        };
        (0..self.len()).map(inverted).sum()
    }
}

impl Elements {
    /// Returns `H = Σ_a u_a g_aᵀ`. The gradients of placed nodes sum to zero, so their displacements count relative to the first
    /// one's.
    #[inline]
    fn displacement_gradient(&self, element: usize, gradients: &[Vec3], u: &[Vec3]) -> Mat3 {
        let corners = self.corners(element);
        let mut h = Mat3::zeros();
        let Some(&first) = corners.first() else {
            return h;
        };
        let first = u[first as usize];
        for (&a, g) in corners.iter().zip(gradients).skip(1) {
            let displaced = match self.is_placed(a) {
                true => u[a as usize] - first,
                false => u[a as usize],
            };
            h += displaced * g.transpose();
        }
        h
    }
}

impl ElementPiece<'_> {
    fn density(&self, model: ElasticModel) -> Density {
        Density {
            model,
            lame: self.lame,
            shear: self.shear,
        }
    }

    fn stiffness_scale(&self) -> f64 {
        self.lame.abs() + 2.0 * self.shear
    }
}

#[cfg(test)]
mod tests;
