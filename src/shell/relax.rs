// SPDX-License-Identifier: MIT OR Apache-2.0
//! Relaxation of a sculpted shape: lowers its energy near its current positions. [hildebrandt2012, §6]
//!
//! The result minimises `W(y) + w Σ mᵢ |yᵢ − xᵢ|²`. Where a triangle has hardly any height, angles change so quickly that no single step
//! length of Newton's method suits both that triangle and the others. So damped steps come first (`solve/marquardt`): the diagonal of a
//! convex Hessian is raised, and each vertex moves less the stiffer it is held. Newton's method finishes.

use super::term::ShellTerm;
use super::{Shell, ShellError};
use crate::progress::{Progress, StageProgress, report_progress};
use crate::solve::marquardt::{self, DampedProblem, MarquardtSettings};
use crate::solve::newton::{ForceMagnitude, Newton, NewtonError, Problem, RoundedSum, minimise};
use crate::solve::nodal::{dot, norm};
use crate::solve::potential::{Potential, PotentialBuffers};
use crate::solve::{Assembly, Configuration, EnergyTerm, Pattern, SolveError, SparseCholesky};
use crate::{Mat3, Vec3};

/// Result of a relaxation.
#[derive(Debug, Clone, PartialEq)]
pub struct RelaxedShape {
    /// Positions of the vertices.
    pub positions: Vec<Vec3>,
    /// The shell's energy before.
    pub before: f64,
    /// The shell's energy after.
    pub after: f64,
    /// Largest distance that a vertex moved.
    pub largest_move: f64,
    /// Number of steps.
    pub iterations: usize,
    /// Whether forces balance. If not, this is the lowest energy found within the limit of steps.
    pub converged: bool,
}

/// The anchoring energy `w Σ mᵢ |yᵢ − xᵢ|²`.
struct AnchorTerm<'a> {
    /// Weight w.
    weight: f64,
    masses: &'a [f64],
    /// Positions x of the vertices.
    places: &'a [Vec3],
}

impl AnchorTerm<'_> {
    /// Returns 2 w m and the vector from the anchored position to the current one.
    fn weight_and_offset(&self, at: &Configuration, node: usize) -> (f64, Vec3) {
        let k = 2.0 * self.weight * self.masses[node];
        (k, at.position(node) - self.places[node])
    }
}

impl EnergyTerm for AnchorTerm<'_> {
    fn add_value(&self, at: &Configuration, sum: &mut RoundedSum) {
        for (node, place) in self.places.iter().enumerate() {
            let (k, off) = self.weight_and_offset(at, node);
            sum.value += 0.5 * k * off.norm_squared();
            sum.rounding += k * off.norm() * f64::EPSILON * place.amax();
        }
    }

    fn add_gradient(&self, at: &Configuration, gradient: &mut [Vec3]) -> ForceMagnitude {
        let mut forces = ForceMagnitude::default();
        for (node, g) in gradient.iter_mut().enumerate() {
            let (k, off) = self.weight_and_offset(at, node);
            *g += off * k;
            forces.size += (off * k).norm_squared();
            forces.rounding += (k * f64::EPSILON * self.places[node].amax()).powi(2);
        }
        ForceMagnitude {
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

/// Residual forces at convergence, as a share of those that balance: far below visibility.
const FORCE_TOLERANCE: f64 = 1e-8;
/// Maximum number of damped steps, and of steps of Newton's method.
const MAX_STEPS: [usize; 2] = [32, 10];
/// Share of the progress that the damped steps take.
const DAMPED_STEP_SHARE: f64 = MAX_STEPS[0] as f64 / (MAX_STEPS[0] + MAX_STEPS[1]) as f64;
/// Lower limit of the damping, which guards against rounding; and the limit beyond which nothing moves.
const DAMPING_LIMITS: [f64; 2] = [1e-9, 1e6];

/// A shell anchored near its initial positions.
struct AnchoredShell<'a> {
    shell: &'a Shell,
    pattern: &'a Pattern,
    anchor: AnchorTerm<'a>,
    buffers: PotentialBuffers,
    solver: SparseCholesky,
    progress: &'a dyn Progress,
    /// Number of steps tried, including those refused.
    steps: usize,
}

/// Displacements of the free vertices from the anchor's positions, with their energy.
struct RelaxationState {
    moves: Vec<Vec3>,
    energy: f64,
}

impl AnchoredShell<'_> {
    /// Calls `work` with the sum of the shell's and the anchor's energies, and with the solver.
    fn with_potential<T>(
        &mut self,
        damping: f64,
        work: impl FnOnce(&mut Potential, &mut SparseCholesky) -> T,
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
        work(&mut potential, &mut self.solver)
    }

    /// Makes damped steps until forces balance, three steps in a row gain little, or a limit is reached.
    fn settle(&mut self, moves: Vec<Vec3>) -> Result<Vec<Vec3>, ShellError> {
        let settings = MarquardtSettings {
            steps: MAX_STEPS[0],
            tries: MAX_STEPS[0],
            least: DAMPING_LIMITS[0],
            factors: [8.0, 20.0],
            little: (1e-3, 3),
            settled: 1e-6,
        };
        let part = StageProgress {
            whole: self.progress,
            from: 0.0,
            to: DAMPED_STEP_SHARE,
        };
        let energy = self.with_potential(0.0, |potential, _| potential.value(&moves).value);
        let start = RelaxationState { moves, energy };
        Ok(marquardt::minimise(self, start, &settings, (&part, "Relaxing"))?.moves)
    }

    /// Runs Newton's method and returns whether it converged.
    fn refine(&mut self, moves: &mut [Vec3]) -> Result<bool, ShellError> {
        let options = Newton {
            tolerance: FORCE_TOLERANCE,
            iterations: MAX_STEPS[1],
        };
        let part = StageProgress {
            whole: self.progress,
            from: DAMPED_STEP_SHARE,
            to: 1.0,
        };
        let work = |potential: &mut Potential, solver: &mut _| {
            minimise(potential, solver, moves, &options, &part)
        };
        match self.with_potential(DAMPING_LIMITS[0], work) {
            Ok(outcome) => {
                self.steps += outcome.iterations();
                Ok(true)
            }
            Err(NewtonError::NotConverged { iterations, .. }) => {
                self.steps += iterations;
                Ok(false)
            }
            // Stiffnesses are too far apart for this little damping.
            Err(NewtonError::Solve(SolveError::Singular { .. })) => Ok(false),
            Err(NewtonError::Solve(error)) => Err(error.into()),
            Err(NewtonError::Cancelled(cancelled)) => Err(cancelled.into()),
            Err(NewtonError::Start) => Err(ShellError::Overflow),
        }
    }
}

impl DampedProblem for AnchoredShell<'_> {
    type SearchPoint = RelaxationState;
    type Derivatives = Vec<Vec3>;
    type Error = ShellError;

    fn energy(&self, at: &RelaxationState) -> f64 {
        at.energy
    }

    fn derivatives(&mut self, at: &RelaxationState) -> Result<Option<Vec<Vec3>>, ShellError> {
        let mut gradient = vec![Vec3::zeros(); at.moves.len()];
        let forces = self.with_potential(0.0, |potential, _| {
            potential.gradient(&at.moves, &mut gradient)
        });
        let left = norm(&gradient);
        if !(at.energy.is_finite() && left.is_finite()) {
            return Err(ShellError::Overflow);
        }
        let balanced = left <= (FORCE_TOLERANCE * forces.size).max(forces.rounding);
        Ok((!balanced).then_some(gradient))
    }

    /// Makes one step with the damped convex Hessian. Candidates are the full step, parts of it, and the step with outliers cut; the one
    /// with the lowest energy is taken. The share of a cut step counts as 0.1.
    fn find_lower(
        &mut self,
        at: &RelaxationState,
        gradient: &Vec<Vec3>,
        damping: f64,
    ) -> Option<(RelaxationState, f64)> {
        if self.steps >= MAX_STEPS[0] || damping >= DAMPING_LIMITS[1] {
            return None;
        }
        self.steps += 1;
        let (shell, pattern, places) = (self.shell, self.pattern, self.anchor.places);
        self.with_potential(damping, |potential, solver| {
            potential.hessian(&at.moves, true, solver);
            solver.factor().ok()?;
            let mut direction: Vec<Vec3> = gradient.iter().map(|g| -g).collect();
            solver.solve(&mut direction);
            let slope = dot(&direction, gradient);
            // Five energies cost less than a factorisation.
            let mut candidates: Vec<(f64, Vec<Vec3>)> = [1.0, 0.5, 0.2]
                .iter()
                .map(|&share| (share, direction.iter().map(|d| d * share).collect()))
                .collect();
            for far in [0.5, 0.1] {
                let cut = shell.limit_step(pattern, places, &at.moves, &direction, far);
                candidates.push((0.1, cut));
            }
            let mut best = None;
            let mut lowest = at.energy + 1e-5 * slope;
            for (share, step) in candidates {
                let moves: Vec<Vec3> = at.moves.iter().zip(&step).map(|(x, d)| x + d).collect();
                let energy = potential.value(&moves).value;
                if energy < lowest {
                    best = Some((RelaxationState { moves, energy }, share));
                    lowest = energy;
                }
            }
            best
        })
    }
}

impl Shell {
    /// Limits a step of the free vertices. No vertex deviates from the mean of its neighbours' steps by more than `far` times its
    /// shortest edge.
    fn limit_step(
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
        // Sum of the neighbours' steps, their number, and the shortest edge.
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

    /// Moves the vertices from `x[nodes]` to the nearby minimum of `W(y) + weight Σ mᵢ |yᵢ − xᵢ|²`. Vertices marked in `fixed[nodes]`
    /// stay. Larger weights mean smaller moves: for a deformation with the frequency √λ a weight of λ/2 is as stiff as the shell.
    ///
    /// # Errors
    /// [`ShellError`]: a weight that is not positive, arrays of another length, positions that are not finite, an energy beyond the
    /// range of numbers, memory, cancelled.
    pub fn relax(
        &self,
        x: &[Vec3],
        weight: f64,
        fixed: Option<&[bool]>,
        progress: &dyn Progress,
    ) -> Result<RelaxedShape, ShellError> {
        self.check(x, "the shape to relax")?;
        if !(weight > 0.0 && weight.is_finite()) {
            return Err(ShellError::Weight(weight));
        }
        let free = vec![false; self.node_count()];
        let held = fixed.unwrap_or(&free);
        if held.len() != self.node_count() {
            return Err(ShellError::Length {
                what: "the list of fixed vertices",
                found: held.len(),
                expected: self.node_count(),
            });
        }
        let before = self.energy(x);
        let mut relaxed = RelaxedShape {
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
        report_progress(progress, 0.0, "Order of elimination")?;
        let pattern = self.solve_pattern(held)?;
        let mut anchored = AnchoredShell {
            shell: self,
            anchor: AnchorTerm {
                weight,
                masses: self.masses(),
                places: x,
            },
            buffers: PotentialBuffers::new(self.node_count()),
            solver: SparseCholesky::new(pattern.symbolic().clone())?,
            pattern: &pattern,
            progress,
            steps: 0,
        };
        let mut moves = anchored.settle(vec![Vec3::zeros(); pattern.vertex_of_node().len()])?;
        relaxed.converged = anchored.refine(&mut moves)?;
        relaxed.iterations = anchored.steps;
        for (d, &v) in moves.iter().zip(pattern.vertex_of_node()) {
            relaxed.positions[v as usize] += d;
            relaxed.largest_move = relaxed.largest_move.max(d.norm());
        }
        relaxed.after = self.energy(&relaxed.positions);
        Ok(relaxed)
    }
}
