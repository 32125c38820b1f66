// SPDX-License-Identifier: MIT OR Apache-2.0
//! Newton's method with line search on a smooth energy of nodes.
//!
//! Each iteration solves `K d = −g` with the Hessian K where it is positive definite, else with a convex one that the
//! problem provides, and goes along d until the energy has fallen by a share of what the slope promises (Armijo), with
//! shorter steps by quadratic interpolation. Steps to where the energy is not finite are refused. Close to a minimum, where
//! differences of energies drown in rounding, the gradient has to fall instead.
//!
//! Converged is a gradient below a share of the forces that balance in it, or below its own rounding error.

use super::inverse::Linear;
use super::{SolveError, SparseCholesky};
use crate::Vec3;
use crate::progress::{Cancelled, Progress, step};

/// A sum, and what of it may be rounding.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rounded {
    /// The sum.
    pub value: f64,
    /// Bound on its rounding error, roughly.
    pub rounding: f64,
}

/// How large the forces are that add up to a gradient.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Forces {
    /// Root of the sum of their squares, N: above the gradient's norm where they balance.
    pub size: f64,
    /// The same of their rounding errors, N.
    pub rounding: f64,
}

/// An energy of displacements of nodes.
pub trait Problem {
    /// The energy, up to a constant.
    fn value(&mut self, x: &[Vec3]) -> Rounded;

    /// Its gradient, one vector per node, and how large the forces are that balance in it.
    fn gradient(&mut self, x: &[Vec3], gradient: &mut [Vec3]) -> Forces;

    /// Writes its Hessian into the solver: the exact one, or one near it that is positive definite.
    fn hessian(&mut self, x: &[Vec3], convex: bool, solver: &mut SparseCholesky);
}

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Newton {
    /// Largest gradient at the end, as a share of the forces that balance in it.
    pub tolerance: f64,
    /// Iterations at most.
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

/// How a minimum was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// Norm of the gradient before each iteration and at the end, N.
    pub residuals: Vec<f64>,
}

impl Outcome {
    /// Iterations it took.
    pub fn iterations(&self) -> usize {
        self.residuals.len().saturating_sub(1)
    }

    /// Norm of the last gradient, N.
    pub fn residual(&self) -> f64 {
        self.residuals.last().copied().unwrap_or(0.0)
    }
}

/// Why no minimum was found. The best point so far is kept.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NewtonError {
    /// The caller stopped.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The system is singular even where the energy was made convex, or too large.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// No convergence.
    #[error(
        "Newton's method did not converge after {iterations} iterations: forces of {residual:.3e} N are left over, \
         {wanted:.3e} N were allowed; smaller loads, smaller steps or stiffer flesh help"
    )]
    NotConverged {
        /// Iterations done.
        iterations: usize,
        /// Norm of the gradient, N.
        residual: f64,
        /// What it should have come down to, N.
        wanted: f64,
    },
    /// The energy at the start is not a number.
    #[error("the elastic energy where Newton's method starts is beyond the range of numbers")]
    Start,
}

/// Share of the promised decrease that a step must bring.
const ARMIJO: f64 = 1e-4;
/// Shortest part of a step that is tried.
const SHORTEST: f64 = 1e-12;

/// Minimises from `x`, in place: at the end the minimum, on an error the best point so far.
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
    let wanted = |_: f64, forces: Forces| options.tolerance * forces.size;
    let mut directions = Newest { solver };
    descend(
        problem,
        &mut directions,
        x,
        (options.iterations, &wanted),
        progress,
    )
}

/// Finds the directions that [`descend`] goes along.
pub(super) trait Directions {
    /// Writes a direction down from `x`, and returns the slope of the energy along it (negative).
    ///
    /// # Errors
    /// A system that stays singular.
    fn find(
        &mut self,
        problem: &mut dyn Problem,
        x: &[Vec3],
        gradient: &[Vec3],
        direction: &mut [Vec3],
    ) -> Result<f64, NewtonError>;

    /// Takes up which share of the gradient the last direction has left; none: the energy does not fall along it. False where there
    /// is no better one.
    fn judge(&mut self, left: Option<f64>) -> bool;
}

/// Directions of the Hessian where each begins.
struct Newest<'a> {
    solver: &'a mut SparseCholesky,
}

impl Directions for Newest<'_> {
    fn find(
        &mut self,
        problem: &mut dyn Problem,
        x: &[Vec3],
        gradient: &[Vec3],
        direction: &mut [Vec3],
    ) -> Result<f64, NewtonError> {
        descent(problem, self.solver, x, gradient, direction)
    }

    fn judge(&mut self, left: Option<f64>) -> bool {
        left.is_some()
    }
}

/// Goes down from `x` along directions until the gradient is as small as is wanted of its first norm and of the forces in it, or as
/// its rounding error; in so many iterations at most.
///
/// # Errors
/// As [`minimise`].
pub(super) fn descend(
    problem: &mut dyn Problem,
    directions: &mut dyn Directions,
    x: &mut [Vec3],
    (most, wanted): (usize, &dyn Fn(f64, Forces) -> f64),
    progress: &dyn Progress,
) -> Result<Outcome, NewtonError> {
    let mut walk = Walk::start(problem, x)?;
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
        step(progress, done, "Balancing forces")?;

        let slope = directions.find(problem, x, &walk.gradient, &mut direction)?;
        let fell = walk.go(problem, x, &direction, slope);
        let left = fell.then(|| walk.residual());
        outcome.residuals.extend(left);
        if !directions.judge(left.map(|left| left / residual)) {
            return Err(not_converged);
        }
    }
}

/// A point on the way down an energy, with its value and its gradient.
struct Walk {
    gradient: Vec<Vec3>,
    forces: Forces,
    value: Rounded,
    next_gradient: Vec<Vec3>,
    trial: Vec<Vec3>,
}

impl Walk {
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

    /// Norm of the gradient, N.
    fn residual(&self) -> f64 {
        norm(&self.gradient)
    }

    /// Goes from `x` along a direction with a slope until the energy has fallen by a share of what the slope promises. False where
    /// it does not fall: `x` is then as it was.
    fn go(
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
                    // The energies do not tell which is lower.
                    let next_forces = problem.gradient(&self.trial, &mut self.next_gradient);
                    if norm(&self.next_gradient) < residual {
                        break Some((next, next_forces));
                    }
                } else if change <= ARMIJO * t * slope {
                    let next_forces = problem.gradient(&self.trial, &mut self.next_gradient);
                    if norm(&self.next_gradient).is_finite() {
                        break Some((next, next_forces));
                    }
                }
            }
            // The minimum of the parabola through both values with the slope at the start.
            let lowest = -0.5 * slope * t * t / (change - slope * t);
            t = if lowest.is_finite() {
                lowest.clamp(0.1 * t, 0.5 * t)
            } else {
                0.1 * t
            };
            if t < SHORTEST {
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

/// The direction of Newton's step, and the slope of the energy along it (negative).
pub(super) fn descent(
    problem: &mut dyn Problem,
    solver: &mut dyn Linear,
    x: &[Vec3],
    gradient: &[Vec3],
    direction: &mut [Vec3],
) -> Result<f64, NewtonError> {
    for convex in [false, true] {
        problem.hessian(x, convex, solver.matrix());
        for (d, g) in direction.iter_mut().zip(gradient) {
            *d = -g;
        }
        let solved = solver.renew().and_then(|()| solver.solve(direction));
        if let (Err(error), true) = (&solved, convex) {
            return Err(error.clone().into());
        }
        if solved.is_err() {
            continue;
        }
        let slope: f64 = direction.iter().zip(gradient).map(|(d, g)| d.dot(g)).sum();
        if slope < 0.0 && slope.is_finite() {
            return Ok(slope);
        }
    }
    // A factor that is useless in practice: steepest descent.
    let mut slope = 0.0;
    for (d, g) in direction.iter_mut().zip(gradient) {
        *d = -g;
        slope -= g.norm_squared();
    }
    Ok(slope)
}

/// Euclidean norm over all nodes.
pub fn norm(x: &[Vec3]) -> f64 {
    x.iter().map(Vec3::norm_squared).sum::<f64>().sqrt()
}
