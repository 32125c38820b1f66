// SPDX-License-Identifier: MIT OR Apache-2.0
//! Newton's method with line search on a smooth energy of nodes.
//!
//! Each iteration solves `K d = −g` with the Hessian K where it is positive definite, else with a convex one that the problem
//! provides. A line search along d stops when the energy has fallen by a share of the decrease that the slope predicts (Armijo); it
//! shortens steps by quadratic interpolation. Steps to points where the energy is not finite are refused. Close to a minimum, where
//! differences of energies drown in rounding, the gradient has to fall instead.
//!
//! Converged means a gradient below a share of the forces that balance in it, or below its own rounding error.

use super::inverse::LinearSolver;
use super::nodal::{dot, norm};
use super::{SolveError, SparseCholesky};
use crate::Vec3;
use crate::progress::{Cancelled, Progress, report_progress};

/// A sum and an estimate of its rounding error.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RoundedSum {
    /// Value of the sum.
    pub value: f64,
    /// Rough bound on its rounding error.
    pub rounding: f64,
}

/// Magnitude of the forces that add up to a gradient.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ForceMagnitude {
    /// Root of the sum of their squares, N. It exceeds the gradient's norm where the forces balance.
    pub size: f64,
    /// Root of the sum of squares of their rounding errors, N.
    pub rounding: f64,
}

/// An energy of displacements of nodes.
pub trait Problem {
    /// Returns the energy, up to a constant.
    fn value(&mut self, x: &[Vec3]) -> RoundedSum;

    /// Writes the gradient, one vector per node, and returns the magnitude of the forces that balance in it.
    fn gradient(&mut self, x: &[Vec3], gradient: &mut [Vec3]) -> ForceMagnitude;

    /// Writes the Hessian into the solver: the exact one, or with `convex` a positive definite one near it.
    fn hessian(&mut self, x: &[Vec3], convex: bool, solver: &mut SparseCholesky);
}

/// Stopping criteria.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Newton {
    /// Largest gradient at convergence, as a share of the forces that balance in it.
    pub tolerance: f64,
    /// Maximum number of iterations.
    pub iterations: usize,
}

impl Default for Newton {
    fn default() -> Self {
        Self {
            tolerance: 1e-11,
            iterations: 200,
        }
    }
}

/// Record of a minimisation: the norms of its gradients.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// Norm of the gradient before each iteration and at the end, N.
    pub residuals: Vec<f64>,
}

impl Outcome {
    /// Returns the number of iterations.
    pub fn iterations(&self) -> usize {
        self.residuals.len().saturating_sub(1)
    }

    /// Returns the norm of the last gradient, N.
    pub fn residual(&self) -> f64 {
        self.residuals.last().copied().unwrap_or(0.0)
    }
}

/// Reason why no minimum was found. The best point found is kept.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NewtonError {
    /// The caller stopped.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The system is singular even where the energy was made convex, or too large.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// The limit on iterations was reached, or no further descent was possible.
    #[error(
        "Newton's method did not converge after {iterations} iterations: forces of {residual:.3e} N are left over, \
         {wanted:.3e} N were allowed; smaller loads, smaller steps or stiffer flesh help"
    )]
    NotConverged {
        /// Number of iterations.
        iterations: usize,
        /// Norm of the gradient, N.
        residual: f64,
        /// Largest norm that counts as converged, N.
        wanted: f64,
    },
    /// The energy or its gradient at the start is not finite.
    #[error("the elastic energy where Newton's method starts is beyond the range of numbers")]
    Start,
}

/// Share of the predicted decrease that a step must achieve.
const SUFFICIENT_DECREASE: f64 = 1e-4;
/// Shortest tried fraction of a step.
const MIN_STEP_FRACTION: f64 = 1e-12;

/// Minimises from `x`, in place. At the end `x` is the minimum; after an error, the best point found.
///
/// # Errors
/// A stop by the progress, no convergence, a start without a finite energy, a system that stays singular.
pub fn minimise(
    problem: &mut dyn Problem,
    solver: &mut SparseCholesky,
    x: &mut [Vec3],
    options: &Newton,
    progress: &dyn Progress,
) -> Result<Outcome, NewtonError> {
    let wanted = |_: f64, forces: ForceMagnitude| options.tolerance * forces.size;
    let mut directions = NewtonDirections { solver };
    descend(
        problem,
        &mut directions,
        x,
        (options.iterations, &wanted),
        progress,
    )
}

/// A source of directions for [`descend`].
pub(super) trait Directions {
    /// Writes a descent direction at `x` and returns the slope of the energy along it (negative).
    ///
    /// # Errors
    /// A system that stays singular.
    fn write_direction(
        &mut self,
        problem: &mut dyn Problem,
        x: &[Vec3],
        gradient: &[Vec3],
        direction: &mut [Vec3],
    ) -> Result<f64, NewtonError>;

    /// Notes the share of the gradient that remains after the last direction; `None`: the energy does not fall along
    /// it. Returns whether to continue: false where no better direction exists.
    fn note_remaining(&mut self, left: Option<f64>) -> bool;
}

/// Directions from the Hessian at the current point.
struct NewtonDirections<'a> {
    solver: &'a mut SparseCholesky,
}

impl Directions for NewtonDirections<'_> {
    fn write_direction(
        &mut self,
        problem: &mut dyn Problem,
        x: &[Vec3],
        gradient: &[Vec3],
        direction: &mut [Vec3],
    ) -> Result<f64, NewtonError> {
        newton_direction(problem, self.solver, x, gradient, direction)
    }

    fn note_remaining(&mut self, left: Option<f64>) -> bool {
        left.is_some()
    }
}

/// Descends from `x` until the gradient's norm is at most `wanted(first norm, forces)` or its rounding error, in at most `most`
/// iterations.
///
/// # Errors
/// As [`minimise`].
pub(super) fn descend(
    problem: &mut dyn Problem,
    directions: &mut dyn Directions,
    x: &mut [Vec3],
    (most, wanted): (usize, &dyn Fn(f64, ForceMagnitude) -> f64),
    progress: &dyn Progress,
) -> Result<Outcome, NewtonError> {
    let mut walk = DescentPoint::start(problem, x)?;
    let mut direction = vec![Vec3::zeros(); x.len()];
    let first = walk.residual();
    let mut outcome = Outcome {
        residuals: vec![first],
    };
    loop {
        let residual = outcome.residual();
        let wanted = wanted(first, walk.forces).max(walk.forces.rounding);
        if residual <= wanted {
            return Ok(outcome);
        }
        let iterations = outcome.iterations();
        let not_converged = NewtonError::NotConverged {
            iterations,
            residual,
            wanted,
        };
        if iterations >= most {
            return Err(not_converged);
        }
        let done = iterations as f64 / most as f64;
        report_progress(progress, done, "Balancing forces")?;

        let slope = directions.write_direction(problem, x, &walk.gradient, &mut direction)?;
        let fell = walk.search_line(problem, x, &direction, slope);
        let left = fell.then(|| walk.residual());
        outcome.residuals.extend(left);
        if !directions.note_remaining(left.map(|left| left / residual)) {
            return Err(not_converged);
        }
    }
}

/// The current point of a descent: its gradient, forces and value, and buffers of the next one.
struct DescentPoint {
    gradient: Vec<Vec3>,
    forces: ForceMagnitude,
    value: RoundedSum,
    next_gradient: Vec<Vec3>,
    trial: Vec<Vec3>,
}

impl DescentPoint {
    /// Starts at `x`.
    ///
    /// # Errors
    /// [`NewtonError::Start`].
    fn start(problem: &mut dyn Problem, x: &[Vec3]) -> Result<Self, NewtonError> {
        let mut gradient = vec![Vec3::zeros(); x.len()];
        let value = problem.value(x);
        let forces = problem.gradient(x, &mut gradient);
        if !(value.value.is_finite() && norm(&gradient).is_finite()) {
            return Err(NewtonError::Start);
        }
        Ok(Self {
            next_gradient: gradient.clone(),
            trial: x.to_vec(),
            gradient,
            forces,
            value,
        })
    }

    /// Returns the norm of the gradient, N.
    fn residual(&self) -> f64 {
        norm(&self.gradient)
    }

    /// Moves `x` along a direction until the energy has fallen by a share of the decrease that the slope predicts. Returns false
    /// where it does not fall, which leaves `x` unchanged.
    fn search_line(
        &mut self,
        problem: &mut dyn Problem,
        x: &mut [Vec3],
        direction: &[Vec3],
        slope: f64,
    ) -> bool {
        let residual = self.residual();
        let mut t = 1.0;
        let accepted = loop {
            for ((trial, x), d) in self.trial.iter_mut().zip(x.iter()).zip(direction) {
                *trial = x + d * t;
            }
            let next = problem.value(&self.trial);
            let change = next.value - self.value.value;
            if change.is_finite() {
                let noise = self.value.rounding + next.rounding;
                if (t * slope).abs() <= noise && change <= noise {
                    // Rounding hides which energy is lower.
                    let next_forces = problem.gradient(&self.trial, &mut self.next_gradient);
                    if norm(&self.next_gradient) < residual {
                        break Some((next, next_forces));
                    }
                } else if change <= SUFFICIENT_DECREASE * t * slope {
                    let next_forces = problem.gradient(&self.trial, &mut self.next_gradient);
                    if norm(&self.next_gradient).is_finite() {
                        break Some((next, next_forces));
                    }
                }
            }
            // Minimum of the parabola through both values with the slope at the start.
            let lowest = -0.5 * slope * t * t / (change - slope * t);
            t = if lowest.is_finite() {
                lowest.clamp(0.1 * t, 0.5 * t)
            } else {
                0.1 * t
            };
            if t < MIN_STEP_FRACTION {
                break None;
            }
        };
        let Some((next, next_forces)) = accepted else {
            return false;
        };
        x.copy_from_slice(&self.trial);
        std::mem::swap(&mut self.gradient, &mut self.next_gradient);
        (self.value, self.forces) = (next, next_forces);
        true
    }
}

/// Writes the direction of Newton's step and returns the slope of the energy along it (negative).
pub(super) fn newton_direction(
    problem: &mut dyn Problem,
    solver: &mut dyn LinearSolver,
    x: &[Vec3],
    gradient: &[Vec3],
    direction: &mut [Vec3],
) -> Result<f64, NewtonError> {
    for convex in [false, true] {
        problem.hessian(x, convex, solver.matrix());
        for (d, g) in direction.iter_mut().zip(gradient) {
            *d = -g;
        }
        let solved = solver.adopt_matrix().and_then(|()| solver.solve(direction));
        if let (Err(error), true) = (&solved, convex) {
            return Err(error.clone().into());
        }
        if solved.is_err() {
            continue;
        }
        let slope = dot(direction, gradient);
        if slope < 0.0 && slope.is_finite() {
            return Ok(slope);
        }
    }
    // The factor is useless in practice: steepest descent.
    let mut slope = 0.0;
    for (d, g) in direction.iter_mut().zip(gradient) {
        *d = -g;
        slope -= g.norm_squared();
    }
    Ok(slope)
}
