// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sum of energy terms over the free nodes, in the form that Newton's method takes.
//!
//! Unknowns are the increments d of the free nodes from a first guess. Held nodes stay at the guess.

use super::newton::{ForceMagnitude, Problem, RoundedSum};
use super::term::{Assembly, Configuration, EnergyTerm};
use super::{Pattern, SparseCholesky};
use crate::Vec3;

/// Buffers of a [`Potential`], allocated once for a pattern.
#[derive(Debug, Clone)]
pub struct PotentialBuffers {
    displacements: Vec<Vec3>,
    /// Increment of every node, zero at held nodes.
    increment: Vec<Vec3>,
    gradient: Vec<Vec3>,
    /// Hessian of the quadratic terms, as values of the solver.
    base: Vec<f64>,
}

impl PotentialBuffers {
    /// Allocates buffers for `nodes` nodes.
    pub fn new(nodes: usize) -> Self {
        let zero = vec![Vec3::zeros(); nodes];
        Self {
            displacements: zero.clone(),
            increment: zero.clone(),
            gradient: zero,
            base: Vec::new(),
        }
    }
}

/// The sum of energy terms, in their order.
pub struct Potential<'a> {
    terms: &'a [&'a dyn EnergyTerm],
    pattern: &'a Pattern,
    origin: Option<&'a [Vec3]>,
    guess: &'a [Vec3],
    buffers: &'a mut PotentialBuffers,
}

impl<'a> Potential<'a> {
    /// Builds the potential of displacements that start at `guess[nodes]` and count from `origin[nodes]`. Assembles the Hessian
    /// of the quadratic terms in the solver.
    pub fn new(
        terms: &'a [&'a dyn EnergyTerm],
        pattern: &'a Pattern,
        origin: Option<&'a [Vec3]>,
        guess: &'a [Vec3],
        buffers: &'a mut PotentialBuffers,
        solver: &mut SparseCholesky,
    ) -> Self {
        solver.clear();
        let at = Configuration {
            origin,
            displacements: guess,
            increment: None,
        };
        for term in terms.iter().filter(|term| term.is_quadratic()) {
            term.add_hessian(&at, true, &mut Assembly::new(pattern, solver));
        }
        buffers.base.clear();
        buffers.base.extend_from_slice(solver.values());
        Self {
            terms,
            pattern,
            origin,
            guess,
            buffers,
        }
    }

    /// Writes the displacements at increments of the free nodes from the guess.
    fn apply_increments(&mut self, x: &[Vec3]) {
        let PotentialBuffers {
            displacements,
            increment,
            ..
        } = &mut *self.buffers;
        displacements.copy_from_slice(self.guess);
        for (d, &v) in x.iter().zip(self.pattern.vertex_of_node()) {
            displacements[v as usize] += d;
            increment[v as usize] = *d;
        }
    }
}

/// Builds the configuration from the current buffers.
fn build_configuration<'b>(
    origin: Option<&'b [Vec3]>,
    displacements: &'b [Vec3],
    increment: &'b [Vec3],
) -> Configuration<'b> {
    Configuration {
        origin,
        displacements,
        increment: Some(increment),
    }
}

impl Problem for Potential<'_> {
    fn value(&mut self, x: &[Vec3]) -> RoundedSum {
        self.apply_increments(x);
        let at = build_configuration(
            self.origin,
            &self.buffers.displacements,
            &self.buffers.increment,
        );
        let mut sum = RoundedSum::default();
        for term in self.terms {
            term.add_value(&at, &mut sum);
        }
        sum
    }

    fn gradient(&mut self, x: &[Vec3], gradient: &mut [Vec3]) -> ForceMagnitude {
        self.apply_increments(x);
        let PotentialBuffers {
            displacements,
            increment,
            gradient: whole,
            ..
        } = &mut *self.buffers;
        let at = build_configuration(self.origin, displacements, increment);
        whole.fill(Vec3::zeros());
        let mut forces = ForceMagnitude::default();
        for term in self.terms {
            let own = term.add_gradient(&at, whole);
            forces.size = forces.size.max(own.size);
            forces.rounding += own.rounding;
        }
        for (g, &v) in gradient.iter_mut().zip(self.pattern.vertex_of_node()) {
            *g = whole[v as usize];
        }
        forces
    }

    fn hessian(&mut self, x: &[Vec3], convex: bool, solver: &mut SparseCholesky) {
        self.apply_increments(x);
        solver.set_values(&self.buffers.base);
        let at = build_configuration(
            self.origin,
            &self.buffers.displacements,
            &self.buffers.increment,
        );
        for term in self.terms.iter().filter(|term| !term.is_quadratic()) {
            term.add_hessian(&at, convex, &mut Assembly::new(self.pattern, solver));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;
    use crate::solve::matrix::zeros;
    use crate::solve::newton::minimise;
    use crate::solve::term::tests::Pin;
    use crate::solve::{ConstantForces, Newton, NodeMatrix, ScalarMatrix, ScalarTerm};

    /// A list of terms is minimised as their sum. A chain of nodes hangs on springs, weights and pins, and in its balance
    /// all gradients sum to zero.
    #[test]
    fn list_minimises_sum_of_terms() {
        let rest: Vec<Vec3> = (0..6).map(|i| Vec3::new(i as f64, 1e3, 0.0)).collect();
        let cells: Vec<[u32; 2]> = (0..5).map(|i| [i, i + 1]).collect();
        let mut springs: ScalarMatrix = zeros(6, cells.iter().map(|c| &c[..]));
        for &[a, b] in &cells {
            for (row, column, k) in [(a, a, 2.0), (b, b, 2.0), (a, b, -2.0), (b, a, -2.0)] {
                springs.add(row, column, k);
            }
        }
        let mut held = [false; 6];
        held[0] = true;
        let corners = cells.iter().map(|c| &c[..]);
        let pattern = Pattern::new(corners, &springs, &held, &rest).unwrap();
        let zero = vec![Vec3::zeros(); 6];
        let weights = vec![Vec3::new(0.0, 0.0, -0.3); 6];
        let chain = ScalarTerm {
            matrix: &springs,
            factor: 1.0,
            slope: &zero,
        };
        let weight = ConstantForces { forces: &weights };
        let pins = [3, 5].map(|node| Pin {
            node,
            place: rest[node] + Vec3::new(0.0, 0.1 * node as f64, 0.2),
            stiffness: 5.0,
        });
        // What is quadratic is assembled before the others, wherever it stands in the list.
        for terms in [
            [&chain as &dyn EnergyTerm, &weight, &pins[0], &pins[1]],
            [&pins[1], &weight, &pins[0], &chain],
        ] {
            let mut solver = SparseCholesky::new(pattern.symbolic().clone()).unwrap();
            let mut buffers = PotentialBuffers::new(6);
            let mut problem = Potential::new(
                &terms,
                &pattern,
                Some(&rest),
                &zero,
                &mut buffers,
                &mut solver,
            );
            let mut d = vec![Vec3::zeros(); 5];
            let options = Newton::default();
            let outcome = minimise(&mut problem, &mut solver, &mut d, &options, &Silent).unwrap();
            assert!(outcome.iterations() <= 2);
            let all = [&zero[..1], &d].concat();
            for v in 1..6 {
                let mut force = weights[v] - springs.row_times(v, &all);
                for pin in pins.iter().filter(|pin| pin.node == v) {
                    force += (pin.place - rest[v] - all[v]) * pin.stiffness;
                }
                assert!(force.norm() < 1e-10);
            }
        }
    }
}
