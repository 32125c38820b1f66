// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy terms of the increment with a constant Hessian: constant forces, and one number per pair of nodes.

use super::matrix::{NodeMatrix, ScalarMatrix};
use super::newton::{ForceMagnitude, RoundedSum};
use super::nodal::norm;
use super::term::{Assembly, Configuration, EnergyTerm};
use crate::Vec3;

/// Constant forces: `− fᵀ d`.
#[derive(Debug, Clone, Copy)]
pub struct ConstantForces<'a> {
    /// Forces f, N, one per node.
    pub forces: &'a [Vec3],
}

impl EnergyTerm for ConstantForces<'_> {
    fn add_value(&self, at: &Configuration, sum: &mut RoundedSum) {
        for (d, f) in at.increment.unwrap_or(&[]).iter().zip(self.forces) {
            let work = d.dot(f);
            sum.value -= work;
            sum.rounding += 4.0 * f64::EPSILON * work.abs();
        }
    }

    fn add_gradient(&self, _: &Configuration, gradient: &mut [Vec3]) -> ForceMagnitude {
        for (g, f) in gradient.iter_mut().zip(self.forces) {
            *g -= f;
        }
        ForceMagnitude {
            size: norm(self.forces),
            rounding: 0.0,
        }
    }

    fn add_hessian(&self, _: &Configuration, _: bool, _: &mut Assembly) {}

    fn add_product(&self, _: &Configuration, _: bool, _: &[Vec3], _: &mut [Vec3]) {}

    fn visit_pairs(&self, visit: &mut dyn FnMut(usize, usize)) {
        (0..self.forces.len()).for_each(|v| visit(v, v));
    }

    fn is_quadratic(&self) -> bool {
        true
    }
}

/// `½ m dᵀ S d + dᵀ S z`, the form of inertia: S the mass matrix, m = 1/h², z the acceleration that the guess implies.
#[derive(Debug, Clone, Copy)]
pub struct ScalarTerm<'a> {
    /// Matrix S, within the pattern of the body's matrices.
    pub matrix: &'a ScalarMatrix,
    /// Factor m.
    pub factor: f64,
    /// Vectors z, one per node.
    pub slope: &'a [Vec3],
}

impl EnergyTerm for ScalarTerm<'_> {
    fn add_value(&self, at: &Configuration, sum: &mut RoundedSum) {
        let Some(increment) = at.increment else {
            return;
        };
        for (v, d) in increment.iter().enumerate() {
            let square = 0.5 * self.factor * d.dot(&self.matrix.row_times(v, increment));
            let line = d.dot(&self.matrix.row_times(v, self.slope));
            sum.value += square + line;
            sum.rounding += 4.0 * f64::EPSILON * (square.abs() + line.abs());
        }
    }

    fn add_gradient(&self, at: &Configuration, gradient: &mut [Vec3]) -> ForceMagnitude {
        let mut forces = ForceMagnitude::default();
        for (v, g) in gradient.iter_mut().enumerate() {
            let mut force = self.matrix.row_times(v, self.slope);
            if let Some(increment) = at.increment {
                force += self.matrix.row_times(v, increment) * self.factor;
            }
            *g += force;
            forces.size += force.norm_squared();
        }
        forces.size = forces.size.sqrt();
        forces.rounding = 4.0 * f64::EPSILON * forces.size;
        forces
    }

    fn add_hessian(&self, _: &Configuration, _: bool, into: &mut Assembly) {
        into.scaled_by(self.factor).add_scalars(self.matrix);
    }

    fn add_product(&self, _: &Configuration, _: bool, x: &[Vec3], y: &mut [Vec3]) {
        for (v, y) in y.iter_mut().enumerate() {
            *y += self.matrix.row_times(v, x) * self.factor;
        }
    }

    fn visit_pairs(&self, visit: &mut dyn FnMut(usize, usize)) {
        self.matrix.visit_pairs(visit);
    }

    fn is_quadratic(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::Pattern;
    use crate::solve::matrix::zeros;
    use crate::solve::term::tests::check_derivatives;

    /// The gradients and Hessians of both terms are derivatives of their energies.
    #[test]
    fn quadratic_terms_match_derivatives() {
        let at = |i: usize| Vec3::new((i as f64).sin(), (2.0 * i as f64).cos(), 0.3 * i as f64);
        let x: Vec<Vec3> = (0..5).map(at).collect();
        let z: Vec<Vec3> = (5..10).map(at).collect();
        let cells: [&[u32]; 2] = [&[0, 1, 2, 3], &[1, 2, 3, 4]];
        let mut matrix = zeros(5, cells);
        for a in 0..5 {
            for b in 0..5 {
                matrix.add(a, b, 1.0 / f64::from(1 + a + b));
            }
        }
        let held = [false, false, true, false, false];
        let pattern = Pattern::new(cells, &matrix, &held, &x).unwrap();
        let mut increment = z.clone();
        increment[2] = Vec3::zeros();
        let at = Configuration {
            origin: None,
            displacements: &x,
            increment: Some(&increment),
        };
        let scalar = ScalarTerm {
            matrix: &matrix,
            factor: 7.0,
            slope: &z,
        };
        check_derivatives(&scalar, at, &pattern, 1e-3);
        check_derivatives(&ConstantForces { forces: &z }, at, &pattern, 1e-3);
    }
}
