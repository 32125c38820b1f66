// SPDX-License-Identifier: MIT OR Apache-2.0
//! The elastic energy of [`Elements`] as an energy term.

use super::{Curvature, Deformation, ElasticModel, Elements};
use crate::solve::newton::{ForceMagnitude, RoundedSum};
use crate::solve::{Assembly, BlockSlot, Configuration, EnergyTerm};
use crate::{Mat3, Vec3};

/// Choice of the Hessian that minimisation or a step uses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TangentChoice {
    /// Exact. Where a positive semi-definite one is required, one whose eigenvalues are at least this share of the
    /// shear modulus.
    Exact(f64),
    /// Exact in pieces near rest, where it is positive definite, and positive semi-definite in others; for steps with
    /// one linearisation.
    Guarded,
}

/// Displaced flesh, from rest or from the rotated elements of a skeleton.
#[derive(Debug, Clone, Copy)]
pub struct Elastic<'a> {
    /// Elements of the flesh.
    pub elements: &'a Elements,
    /// Model of its energy.
    pub model: ElasticModel,
    /// Rotation of each element before it is displaced; `None`: identity.
    pub turns: Option<&'a [Mat3]>,
    /// Matrix slots of the blocks of all pairs of corners: [`pair_slots`](crate::solve::Pattern::pair_slots).
    pub slots: &'a [Option<BlockSlot>],
    /// Choice of the Hessian.
    pub tangent: TangentChoice,
}

impl Elastic<'_> {
    fn deformation<'b>(&'b self, at: &Configuration<'b>) -> Deformation<'b> {
        match self.turns {
            Some(turns) => Deformation::with_rotations(at.displacements, turns),
            None => at.displacements.into(),
        }
    }

    fn curvature(&self, convex: bool) -> impl Fn(&Mat3) -> Curvature + use<> {
        let tangent = self.tangent;
        move |h| match (tangent, convex) {
            (TangentChoice::Exact(_), false) => Curvature::Exact,
            (TangentChoice::Exact(floor), true) => Curvature::Convex(floor),
            (TangentChoice::Guarded, false) if near_rest(h) => Curvature::Exact,
            (TangentChoice::Guarded, _) => Curvature::Convex(0.0),
        }
    }

    /// Adds the energy's derivative, and visits the Hessian's blocks by the indices of their pairs of corners, in one
    /// pass.
    pub fn visit_linearised(
        &self,
        at: &Configuration,
        convex: bool,
        gradient: &mut [Vec3],
        mut visit: impl FnMut(usize, &Mat3),
    ) {
        let (curvature, deformation) = (self.curvature(convex), self.deformation(at));
        self.elements.linearise(
            self.model,
            deformation,
            curvature,
            gradient,
            |pair, _, _, block| visit(pair, block),
        );
    }

    /// Visits the Hessian's blocks as [`Elements::visit_hessian`] does.
    pub fn visit_hessian(
        &self,
        at: &Configuration,
        convex: bool,
        visit: impl FnMut(usize, u32, u32, &Mat3),
    ) {
        let curvature = self.curvature(convex);
        let deformation = self.deformation(at);
        self.elements
            .visit_hessian(self.model, deformation, curvature, visit);
    }
}

fn near_rest(h: &Mat3) -> bool {
    let f = Mat3::identity() + h;
    let (stretch, volume) = (f.norm_squared() - 3.0, f.determinant() - 1.0);
    stretch.abs() < 0.4 && volume.abs() < 0.15
}

impl EnergyTerm for Elastic<'_> {
    fn add_value(&self, at: &Configuration, sum: &mut RoundedSum) {
        let own = self
            .elements
            .rounded_energy(self.model, self.deformation(at));
        sum.value += own.value;
        sum.rounding += own.rounding;
    }

    fn add_gradient(&self, at: &Configuration, gradient: &mut [Vec3]) -> ForceMagnitude {
        self.elements
            .add_gradient(self.model, self.deformation(at), gradient)
    }

    fn add_hessian(&self, at: &Configuration, convex: bool, into: &mut Assembly) {
        self.visit_hessian(at, convex, |pair, _, _, block| {
            into.add_at(self.slots[pair], block);
        });
    }

    fn add_product(&self, at: &Configuration, convex: bool, x: &[Vec3], y: &mut [Vec3]) {
        self.visit_hessian(at, convex, |_, a, b, block| {
            let (a, b) = (a as usize, b as usize);
            y[a] += block * x[b];
            if a != b {
                y[b] += block.tr_mul(&x[a]);
            }
        });
    }

    fn linearise(
        &self,
        at: &Configuration,
        convex: bool,
        gradient: &mut [Vec3],
        into: &mut Assembly,
    ) {
        self.visit_linearised(at, convex, gradient, |pair, block| {
            into.add_at(self.slots[pair], block);
        });
    }

    fn visit_pairs(&self, visit: &mut dyn FnMut(usize, usize)) {
        for corners in self.elements.all_corners() {
            for (i, &a) in corners.iter().enumerate() {
                corners[i..]
                    .iter()
                    .for_each(|&b| visit(a as usize, b as usize));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elasticity::Material;

    /// The guarded tangent is exact near rest and convex farther away.
    #[test]
    fn guarded_tangent_switches_to_convex() {
        let x = [
            Vec3::zeros(),
            Vec3::new(1.0, 0.1, 0.0),
            Vec3::new(0.2, 1.3, 0.1),
            Vec3::new(0.0, 0.3, 0.9),
        ];
        let elements = Elements::tetrahedra(&x, &[[0, 1, 2, 3]], &Material::default());
        let term = Elastic {
            elements: &elements,
            model: ElasticModel::NeoHookean,
            turns: None,
            slots: &[],
            tangent: TangentChoice::Guarded,
        };
        let size = Material::default().young();
        // Under pressure flesh would buckle: there the exact one is not convex.
        for (pressed, near) in [(0.03, true), (0.4, false)] {
            let u: Vec<Vec3> = x.iter().map(|x| x * -pressed).collect();
            let gradient = |u: &[Vec3]| {
                let at = Configuration {
                    origin: None,
                    displacements: u,
                    increment: None,
                };
                let mut gradient = vec![Vec3::zeros(); 4];
                term.add_gradient(&at, &mut gradient);
                gradient
            };
            let product = |convex: bool, d: &[Vec3]| {
                let at = Configuration {
                    origin: None,
                    displacements: &u,
                    increment: None,
                };
                let mut product = vec![Vec3::zeros(); 4];
                term.add_product(&at, convex, d, &mut product);
                product
            };
            let apart = |a: &[Vec3], b: &[Vec3]| {
                let pairs = a.iter().zip(b);
                pairs.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max) / size
            };
            // An infinitesimal turn, in which the pressure does work.
            let d = x.map(|x| Vec3::new(0.3, -0.2, 0.7).cross(&x));
            let by = |t: f64| u.iter().zip(&d).map(|(u, d)| u + d * t).collect();
            let (up, down): (Vec<Vec3>, Vec<Vec3>) = (by(1e-5), by(-1e-5));
            let change = gradient(&up).into_iter().zip(gradient(&down));
            let exact: Vec<Vec3> = change.map(|(a, b)| (a - b) / 2e-5).collect();
            let (free, convex) = (product(false, &d), product(true, &d));
            assert!(apart(&exact, &convex) > 1e-3);
            let wanted = if near { &exact } else { &convex };
            assert!(apart(&free, wanted) < 1e-7, "{pressed}");
        }
    }
}
