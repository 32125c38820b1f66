// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lowering the energy of a shape that was sculpted, near where it is. [hildebrandt2012, §6]
//!
//! The minimum of `W(y) + w Σ mᵢ |yᵢ − xᵢ|²` by Newton's method.

use super::term::ShellTerm;
use super::{Shell, ShellError};
use crate::progress::Progress;
use crate::solve::newton::{Forces, Newton, NewtonError, Rounded, minimise};
use crate::solve::potential::{Buffers, Potential};
use crate::solve::{Assembly, Configuration, EnergyTerm, SolveError, SparseCholesky};
use crate::{Mat3, Vec3};

/// A shape after its energy was lowered.
#[derive(Debug, Clone, PartialEq)]
pub struct Relaxed {
    /// Where the vertices are.
    pub positions: Vec<Vec3>,
    /// The shell's energy before.
    pub before: f64,
    /// And after.
    pub after: f64,
    /// How far a vertex moved at most.
    pub largest_move: f64,
    /// Steps of Newton's method.
    pub iterations: usize,
    /// Whether forces balance. If not, this is as low as the energy came: where triangles are folded flat onto each other it
    /// has no derivative.
    pub converged: bool,
}

/// `w Σ mᵢ |yᵢ − xᵢ|²`.
struct Anchor<'a> {
    /// w.
    weight: f64,
    masses: &'a [f64],
    /// x.
    places: &'a [Vec3],
}

impl Anchor<'_> {
    /// Twice w m, how far from its place.
    fn pull(&self, at: &Configuration, node: usize) -> (f64, Vec3) {
        let k = 2.0 * self.weight * self.masses[node];
        (k, at.position(node) - self.places[node])
    }
}

impl EnergyTerm for Anchor<'_> {
    fn add_value(&self, at: &Configuration, sum: &mut Rounded) {
        for (node, place) in self.places.iter().enumerate() {
            let (k, off) = self.pull(at, node);
            sum.value += 0.5 * k * off.norm_squared();
            sum.rounding += k * off.norm() * f64::EPSILON * place.amax();
        }
    }

    fn add_gradient(&self, at: &Configuration, gradient: &mut [Vec3]) -> Forces {
        let mut forces = Forces::default();
        for (node, g) in gradient.iter_mut().enumerate() {
            let (k, off) = self.pull(at, node);
            *g += off * k;
            forces.size += (off * k).norm_squared();
            forces.rounding += (k * f64::EPSILON * self.places[node].amax()).powi(2);
        }
        Forces {
            size: forces.size.sqrt(),
            rounding: forces.rounding.sqrt(),
        }
    }

    fn add_hessian(&self, _: &Configuration, _: bool, into: &mut Assembly) {
        for (node, mass) in self.masses.iter().enumerate() {
            let k = 2.0 * self.weight * mass;
            into.add(node, node, &Mat3::from_diagonal_element(k));
        }
    }

    fn add_product(&self, _: &Configuration, _: bool, x: &[Vec3], y: &mut [Vec3]) {
        for ((y, x), mass) in y.iter_mut().zip(x).zip(self.masses) {
            *y += x * (2.0 * self.weight * mass);
        }
    }

    fn is_quadratic(&self) -> bool {
        true
    }

    fn visit_pairs(&self, visit: &mut dyn FnMut(usize, usize)) {
        (0..self.places.len()).for_each(|v| visit(v, v));
    }
}

impl Shell {
    /// Moves the vertices from `x[nodes]` to where `W(y) + weight Σ mᵢ |yᵢ − xᵢ|²` is lowest nearby; those that are `fixed[nodes]`
    /// stay. The larger the weight, the less they move: against a deformation with the frequency √λ a weight of λ/2 weighs as much
    /// as the shell does.
    ///
    /// # Errors
    /// [`ShellError`]: a weight that is not above zero, arrays of another length, positions that are no numbers, an energy beyond
    /// all numbers, memory, cancelled.
    pub fn relax(
        &self,
        x: &[Vec3],
        weight: f64,
        fixed: Option<&[bool]>,
        progress: &dyn Progress,
    ) -> Result<Relaxed, ShellError> {
        /// Steps at most: folded shapes take dozens.
        const STEPS: usize = 200;
        /// Forces that are left, as a share of those that balance: far below what can be seen.
        const TOLERANCE: f64 = 1e-9;
        self.check(x, "the shape to relax")?;
        if !(weight > 0.0 && weight.is_finite()) {
            return Err(ShellError::Weight(weight));
        }
        let free = vec![false; self.nodes()];
        let held = fixed.unwrap_or(&free);
        if held.len() != self.nodes() {
            return Err(ShellError::Length {
                what: "the list of fixed vertices",
                found: held.len(),
                expected: self.nodes(),
            });
        }
        let before = self.energy(x);
        let mut relaxed = Relaxed {
            positions: x.to_vec(),
            before,
            after: before,
            largest_move: 0.0,
            iterations: 0,
            converged: true,
        };
        if held.iter().all(|held| *held) {
            return Ok(relaxed);
        }
        crate::progress::step(progress, 0.0, "Order of elimination")?;
        let pattern = self.solve_pattern(held)?;
        let mut solver = SparseCholesky::new(pattern.symbolic().clone())?;
        let term = ShellTerm {
            shell: self,
            slots: pattern.entry_slots(),
        };
        let anchor = Anchor {
            weight,
            masses: self.masses(),
            places: x,
        };
        let terms: [&dyn EnergyTerm; 2] = [&term, &anchor];
        let mut buffers = Buffers::new(self.nodes());
        let mut potential = Potential::new(&terms, &pattern, None, x, &mut buffers, &mut solver);
        let options = Newton {
            tolerance: TOLERANCE,
            iterations: STEPS,
        };
        let mut moves = vec![Vec3::zeros(); pattern.vertex_of_node().len()];
        let done = minimise(&mut potential, &mut solver, &mut moves, &options, progress);
        (relaxed.iterations, relaxed.converged) = match done {
            Ok(outcome) => (outcome.iterations(), true),
            Err(NewtonError::NotConverged { iterations, .. }) => (iterations, false),
            Err(NewtonError::Cancelled(cancelled)) => return Err(cancelled.into()),
            Err(NewtonError::Start) => return Err(ShellError::Overflow),
            Err(NewtonError::Solve(SolveError::Singular { node })) => {
                return Err(ShellError::Singular {
                    vertex: pattern.vertex_of_node()[node] as usize,
                });
            }
            Err(NewtonError::Solve(error)) => return Err(error.into()),
        };
        for (d, &v) in moves.iter().zip(pattern.vertex_of_node()) {
            relaxed.positions[v as usize] += d;
            relaxed.largest_move = relaxed.largest_move.max(d.norm());
        }
        relaxed.after = self.energy(&relaxed.positions);
        Ok(relaxed)
    }
}
