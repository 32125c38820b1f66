// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lowering the energy of a shape that was sculpted, near where it is. [hildebrandt2012, §6]
//!
//! The minimum of `W(y) + w Σ mᵢ |yᵢ − xᵢ|²` by Newton's method. Crumpled shapes stop it: where a triangle has hardly any height
//! angles turn so quickly that no step along one direction is short enough for that place and long enough elsewhere. Rounds with a
//! damped convex Hessian, which moves each vertex the less the stiffer it is held, lead out of there; then Newton's method goes on.

use super::term::ShellTerm;
use super::{Shell, ShellError};
use crate::progress::{Part, Progress};
use crate::solve::newton::{Forces, Newton, NewtonError, Problem, Rounded, minimise};
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
    /// Whether forces balance. If not, this is as low as the energy came in so many steps.
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

/// A potential that may be asked for its convex Hessian only.
struct Careful<'a> {
    potential: Potential<'a>,
    convex: bool,
}

impl Problem for Careful<'_> {
    fn value(&mut self, x: &[Vec3]) -> Rounded {
        self.potential.value(x)
    }

    fn gradient(&mut self, x: &[Vec3], gradient: &mut [Vec3]) -> Forces {
        self.potential.gradient(x, gradient)
    }

    fn hessian(&mut self, x: &[Vec3], convex: bool, solver: &mut SparseCholesky) {
        self.potential.hessian(x, convex || self.convex, solver);
    }
}

/// Damping and steps at most of each round, until one converges. Without damping to speak of: Newton's method.
const ROUNDS: [(f64, usize); 6] = [
    (LEAST, 40),
    (1e-2, 20),
    (LEAST, 40),
    (1.0, 20),
    (1e-2, 20),
    (LEAST, 40),
];
/// Against rounding alone.
const LEAST: f64 = 1e-9;
/// Steps of all rounds.
const STEPS: f64 = 180.0;

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
        /// Forces that are left, as a share of those that balance: far below what can be seen.
        const TOLERANCE: f64 = 1e-8;
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
        let anchor = Anchor {
            weight,
            masses: self.masses(),
            places: x,
        };
        let mut buffers = Buffers::new(self.nodes());
        let mut moves = vec![Vec3::zeros(); pattern.vertex_of_node().len()];
        relaxed.converged = false;
        for (damping, iterations) in ROUNDS {
            let term = ShellTerm {
                shell: self,
                slots: pattern.entry_slots(),
                damping,
            };
            let terms: [&dyn EnergyTerm; 2] = [&term, &anchor];
            let mut problem = Careful {
                potential: Potential::new(&terms, &pattern, None, x, &mut buffers, &mut solver),
                convex: damping > LEAST,
            };
            let options = Newton {
                tolerance: TOLERANCE,
                iterations,
            };
            let part = Part {
                whole: progress,
                from: relaxed.iterations as f64 / STEPS,
                to: (relaxed.iterations + iterations) as f64 / STEPS,
            };
            match minimise(&mut problem, &mut solver, &mut moves, &options, &part) {
                Ok(outcome) => {
                    relaxed.iterations += outcome.iterations();
                    relaxed.converged = true;
                    break;
                }
                Err(NewtonError::NotConverged { iterations, .. }) => {
                    relaxed.iterations += iterations;
                }
                // Stiffnesses too far apart for this damping.
                Err(NewtonError::Solve(SolveError::Singular { .. })) => {}
                Err(NewtonError::Solve(error)) => return Err(error.into()),
                Err(NewtonError::Cancelled(cancelled)) => return Err(cancelled.into()),
                Err(NewtonError::Start) => return Err(ShellError::Overflow),
            }
        }
        for (d, &v) in moves.iter().zip(pattern.vertex_of_node()) {
            relaxed.positions[v as usize] += d;
            relaxed.largest_move = relaxed.largest_move.max(d.norm());
        }
        relaxed.after = self.energy(&relaxed.positions);
        Ok(relaxed)
    }
}
