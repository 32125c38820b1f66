// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lowering the energy of a shape that was sculpted, near where it is. [hildebrandt2012, §6]
//!
//! The minimum of `W(y) + w Σ mᵢ |yᵢ − xᵢ|²`. Where a triangle has hardly any height, angles turn so quickly that no share of one step
//! of Newton's method is short enough there and long enough elsewhere. So damped steps come first [marquardt1963]: with a convex Hessian
//! whose diagonal is raised by a share that follows how well steps do, each vertex moves the less the stiffer it is held. Newton's
//! method ends it.

use super::term::ShellTerm;
use super::{Shell, ShellError};
use crate::progress::{Part, Progress, step};
use crate::solve::newton::{Forces, Newton, NewtonError, Problem, Rounded, minimise, norm};
use crate::solve::potential::{Buffers, Potential};
use crate::solve::{Assembly, Configuration, EnergyTerm, Pattern, SolveError, SparseCholesky};
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
    /// Steps it took.
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

/// Forces that are left at the end, as a share of those that balance: far below what can be seen.
const TOLERANCE: f64 = 1e-8;
/// Damped steps at most, then steps of Newton's method.
const STEPS: [usize; 2] = [32, 10];
/// Damping at the start; the least, which is against rounding alone; and that beyond which nothing moves.
const DAMPING: [f64; 3] = [1e-3, 1e-9, 1e6];

/// A shell that is held near where it was.
struct Held<'a> {
    shell: &'a Shell,
    pattern: &'a Pattern,
    anchor: Anchor<'a>,
    buffers: Buffers,
    solver: SparseCholesky,
    progress: &'a dyn Progress,
    /// Of the free vertices, from the anchor's places.
    moves: Vec<Vec3>,
    /// Steps done.
    steps: usize,
}

impl Held<'_> {
    /// Does something with the sum of both energies.
    fn with<T>(
        &mut self,
        damping: f64,
        work: impl FnOnce(&mut Potential, &mut SparseCholesky, &mut [Vec3]) -> T,
    ) -> T {
        let term = ShellTerm {
            shell: self.shell,
            slots: self.pattern.entry_slots(),
            damping,
        };
        let terms: [&dyn EnergyTerm; 2] = [&term, &self.anchor];
        let mut potential = Potential::new(
            &terms,
            self.pattern,
            None,
            self.anchor.places,
            &mut self.buffers,
            &mut self.solver,
        );
        work(&mut potential, &mut self.solver, &mut self.moves)
    }

    /// Damped steps, until they are about as good as steps of Newton's method or bring hardly anything.
    fn settle(&mut self) -> Result<(), ShellError> {
        let [mut damping, least, most] = DAMPING;
        let mut idle = 0;
        while self.steps < STEPS[0] && damping < most && idle < 3 {
            let done = self.steps as f64 / (STEPS[0] + STEPS[1]) as f64;
            step(self.progress, done, "Relaxing")?;
            self.steps += 1;
            let (shell, pattern, places) = (self.shell, self.pattern, self.anchor.places);
            let cut = |moves: &[Vec3], step: &[Vec3], far: f64| {
                shell.cut(pattern, places, moves, step, far)
            };
            let Step {
                share,
                lowered,
                balanced,
            } = self.with(damping, |potential, solver, moves| {
                damped(potential, solver, moves, cut)
            })?;
            if balanced {
                return Ok(());
            }
            // Full steps that bring little do so because they are damped.
            let little = share > 0.0 && lowered < 1e-3;
            idle = if little && (share < 1.0 || damping <= 1e-6) {
                idle + 1
            } else {
                0
            };
            damping *= if share == 1.0 {
                0.125
            } else if share > 0.1 {
                1.0
            } else if share > 0.0 {
                2.0
            } else {
                20.0
            };
            damping = damping.max(least);
        }
        Ok(())
    }

    /// Newton's method; whether it converged.
    fn finish(&mut self) -> Result<bool, ShellError> {
        let options = Newton {
            tolerance: TOLERANCE,
            iterations: STEPS[1],
        };
        let part = Part {
            whole: self.progress,
            from: STEPS[0] as f64 / (STEPS[0] + STEPS[1]) as f64,
            to: 1.0,
        };
        let work = |potential: &mut Potential, solver: &mut _, moves: &mut [Vec3]| {
            minimise(potential, solver, moves, &options, &part)
        };
        match self.with(DAMPING[1], work) {
            Ok(outcome) => {
                self.steps += outcome.iterations();
                Ok(true)
            }
            Err(NewtonError::NotConverged { iterations, .. }) => {
                self.steps += iterations;
                Ok(false)
            }
            // Stiffnesses too far apart for so little damping.
            Err(NewtonError::Solve(SolveError::Singular { .. })) => Ok(false),
            Err(NewtonError::Solve(error)) => Err(error.into()),
            Err(NewtonError::Cancelled(cancelled)) => Err(cancelled.into()),
            Err(NewtonError::Start) => Err(ShellError::Overflow),
        }
    }
}

/// How a damped step did.
struct Step {
    /// How much of it was taken; 0.1 where it was cut.
    share: f64,
    /// By how much the energy fell, as a share of it.
    lowered: f64,
    /// Whether nothing was to be done.
    balanced: bool,
}

/// One step with the damped convex Hessian: of all of it, parts of it, and it with what sticks out of it cut off, what lowers the
/// energy most. None where nothing lowers it, or where rounding leaves nothing of the Hessian.
fn damped(
    potential: &mut Potential,
    solver: &mut SparseCholesky,
    moves: &mut [Vec3],
    cut: impl Fn(&[Vec3], &[Vec3], f64) -> Vec<Vec3>,
) -> Result<Step, ShellError> {
    let value = potential.value(moves).value;
    let mut gradient = vec![Vec3::zeros(); moves.len()];
    let forces = potential.gradient(moves, &mut gradient);
    let left = norm(&gradient);
    if !(value.is_finite() && left.is_finite()) {
        return Err(ShellError::Overflow);
    }
    let mut result = Step {
        share: 0.0,
        lowered: 0.0,
        balanced: left <= (TOLERANCE * forces.size).max(forces.rounding),
    };
    potential.hessian(moves, true, solver);
    if result.balanced || solver.factor().is_err() {
        return Ok(result);
    }
    let mut direction: Vec<Vec3> = gradient.iter().map(|g| -g).collect();
    solver.solve(&mut direction);
    let slope: f64 = direction.iter().zip(&gradient).map(|(d, g)| d.dot(g)).sum();
    // Five energies cost less than a factor.
    let mut best = None;
    let mut lowest = value + 1e-5 * slope;
    let mut ways: Vec<(f64, Vec<Vec3>)> = [1.0, 0.5, 0.2]
        .iter()
        .map(|&share| (share, direction.iter().map(|d| d * share).collect()))
        .collect();
    for far in [0.5, 0.1] {
        ways.push((0.1, cut(moves, &direction, far)));
    }
    for (share, way) in ways {
        let trial: Vec<Vec3> = moves.iter().zip(&way).map(|(x, d)| x + d).collect();
        let next = potential.value(&trial).value;
        if next < lowest {
            best = Some(trial);
            lowest = next;
            result.share = share;
            result.lowered = 1.0 - next / value;
        }
    }
    if let Some(best) = best {
        moves.copy_from_slice(&best);
    }
    Ok(result)
}

impl Shell {
    /// A step of the free vertices in which none moves farther away from the mean of its neighbours' steps than `far` times its
    /// shortest edge.
    fn cut(
        &self,
        pattern: &Pattern,
        places: &[Vec3],
        moves: &[Vec3],
        step: &[Vec3],
        far: f64,
    ) -> Vec<Vec3> {
        let mut x = places.to_vec();
        let mut steps = vec![Vec3::zeros(); x.len()];
        for ((d, s), &v) in moves.iter().zip(step).zip(pattern.vertex_of_node()) {
            x[v as usize] += d;
            steps[v as usize] = *s;
        }
        // Sum of the neighbours' steps, their number, the shortest edge.
        let mut around = vec![(Vec3::zeros(), 0.0, f64::INFINITY); x.len()];
        for &[a, b] in &self.mesh.edges {
            let [a, b] = [a as usize, b as usize];
            let length = (x[a] - x[b]).norm();
            for (v, other) in [(a, b), (b, a)] {
                let (sum, count, shortest) = &mut around[v];
                *sum += steps[other];
                *count += 1.0;
                *shortest = shortest.min(length);
            }
        }
        let cut = |(&v, step): (&u32, &Vec3)| {
            let (sum, count, shortest) = around[v as usize];
            if count == 0.0 {
                return *step;
            }
            let mean = sum / count;
            let off = step - mean;
            let most = far * shortest;
            mean + off * (most / off.norm().max(most)).min(1.0)
        };
        pattern.vertex_of_node().iter().zip(step).map(cut).collect()
    }

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
        step(progress, 0.0, "Order of elimination")?;
        let pattern = self.solve_pattern(held)?;
        let mut held = Held {
            shell: self,
            anchor: Anchor {
                weight,
                masses: self.masses(),
                places: x,
            },
            buffers: Buffers::new(self.nodes()),
            solver: SparseCholesky::new(pattern.symbolic().clone())?,
            moves: vec![Vec3::zeros(); pattern.vertex_of_node().len()],
            pattern: &pattern,
            progress,
            steps: 0,
        };
        held.settle()?;
        relaxed.converged = held.finish()?;
        relaxed.iterations = held.steps;
        for (d, &v) in held.moves.iter().zip(pattern.vertex_of_node()) {
            relaxed.positions[v as usize] += d;
            relaxed.largest_move = relaxed.largest_move.max(d.norm());
        }
        relaxed.after = self.energy(&relaxed.positions);
        Ok(relaxed)
    }
}
