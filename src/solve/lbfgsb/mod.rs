// SPDX-License-Identifier: MIT OR Apache-2.0
//! L-BFGS-B: the minimum of a smooth function of few variables within bounds. [byrd1995, §2]
//!
//! Each iteration models the function by a quadratic with a matrix B of the last steps s and gradient changes y. It follows the projected
//! steepest descent to the model's first minimum (the generalised Cauchy point), then goes to the model's minimum over the variables that
//! are not at a bound, and projects back into the box (as version 3.0). A line search along the result finds a point that satisfies the
//! strong Wolfe conditions.
//!
//! Deviations: variables are few (up to some tens), so B is formed as a dense matrix from its pairs, and the subspace problem is solved by
//! Cholesky. Where the function supplies an approximate second derivative (Gauss-Newton, for sums of squares), B is that, and a trust
//! region replaces the line search (`damped`); the pairs serve only where this fails. Points where the function is not finite are refused.
//! The crate lbfgsb-rs-pure 0.1.2 was the first choice. Its line search overwrites the gradient before its change is taken, so every y is
//! zero, no pair is ever stored, and only steepest descent remains (Rosenbrock in two variables is not solved in 300 iterations). A start
//! with all its descent behind bounds ends it, and so does a NaN. None of that can be repaired from outside.

mod damped;
mod line;
mod model;
mod scaled;

pub use scaled::{Evaluation, ObjectiveFunction};

use damped::TrustRegion;
use line::search_line;
use model::QuadraticModel;
use nalgebra::DVector;
use scaled::{ScaledFunction, rounding_error};

/// Settings and stopping criteria. Gradients are with respect to the scaled variables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lbfgsb {
    /// Number of pairs (step, gradient change) that are kept.
    pub memory: usize,
    /// Maximum number of iterations.
    pub iterations: usize,
    /// Maximum number of evaluations; the start is always evaluated.
    pub evaluations: usize,
    /// Maximum change of a variable in the first step, in typical sizes, where second derivatives are known.
    pub first_step: f64,
    /// Largest component of the projected gradient at convergence.
    pub gradient: f64,
    /// Smallest decrease of an iteration that counts, relative to the value.
    pub decrease: f64,
    /// Consecutive iterations that may decrease less: near a minimum, values drown in rounding before gradients do.
    pub patience: usize,
    /// A value at which the minimisation stops as good enough.
    pub enough: f64,
}

impl Default for Lbfgsb {
    fn default() -> Self {
        Self {
            memory: 10,
            iterations: 200,
            evaluations: usize::MAX,
            first_step: f64::INFINITY,
            gradient: 1e-10,
            decrease: 1e-14,
            patience: 8,
            enough: f64::NEG_INFINITY,
        }
    }
}

/// Reason why a minimisation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The projected gradient is small.
    Gradient,
    /// The value stopped decreasing.
    Decrease,
    /// The value is good enough.
    Enough,
    /// No better point was found along the last direction.
    Search,
    /// The limit on iterations or evaluations was reached.
    Iterations,
}

/// The best point found.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimum {
    /// Point within the bounds, in the caller's units.
    pub x: Vec<f64>,
    /// Value there: finite, and up to rounding the lowest seen.
    pub value: f64,
    /// Number of iterations.
    pub iterations: usize,
    /// Number of evaluations of the function.
    pub evaluations: usize,
    /// Reason for the end.
    pub end: StopReason,
}

/// Reason why nothing was minimised.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LbfgsbError {
    /// Arrays of different lengths.
    #[error("{what}: expected {expected} numbers, one per variable, but there are {given}")]
    Length {
        /// Name of the array.
        what: &'static str,
        /// Number of variables.
        expected: usize,
        /// Length of the array.
        given: usize,
    },
    /// Bounds that no finite number satisfies.
    #[error("variable {index} must lie between {lower} and {upper}: no number does")]
    Bounds {
        /// Index of the variable.
        index: usize,
        /// Its lower bound.
        lower: f64,
        /// Its upper bound.
        upper: f64,
    },
    /// A scale that is not positive and finite.
    #[error("the typical size of variable {index} is {scale}, but must be positive and finite")]
    Scale {
        /// Index of the variable.
        index: usize,
        /// Its typical size.
        scale: f64,
    },
    /// A function that is undefined or not finite at the start.
    #[error("the function to be minimised or its gradient is not finite at the start")]
    Start,
}

impl Lbfgsb {
    /// Minimises a function of `x[n]`, starting from `start[n]` clamped into `bounds[n]`: pairs (lower, upper), where infinite bounds are
    /// allowed and equal ones fix a variable. `scales[n]` are typical sizes of the variables. Points where the function returns `None` or
    /// is not finite are refused.
    ///
    /// # Errors
    /// Arrays of different lengths, bounds that exclude each other, a scale that is not positive, a start where the function is not finite.
    pub fn minimise(
        &self,
        start: &[f64],
        scales: &[f64],
        bounds: &[(f64, f64)],
        function: &mut ObjectiveFunction,
    ) -> Result<Minimum, LbfgsbError> {
        check_arguments(start, scales, bounds)?;
        let mut scaled = ScaledFunction::new(scales, bounds, function);
        let z = scaled.clamp_to_box(&DVector::from_fn(start.len(), |i, _| start[i] / scales[i]));
        let mut here = scaled.evaluate(z).ok_or(LbfgsbError::Start)?;
        scaled.best = Some(here.clone());
        scaled.most = self.evaluations;
        let mut model = QuadraticModel::new(start.len(), self.memory);
        let mut damping = Some(TrustRegion::new(start.len(), self.first_step));
        let (mut iterations, mut idle) = (0, 0);
        let end = loop {
            if scaled.projected_gradient(&here) <= self.gradient {
                break StopReason::Gradient;
            }
            if here.value <= self.enough {
                break StopReason::Enough;
            }
            if iterations >= self.iterations || scaled.is_spent() {
                break StopReason::Iterations;
            }
            iterations += 1;
            let known = here.curvature.as_ref().zip(damping.as_mut());
            let next = if let Some((curvature, damping)) = known {
                damping.step(&mut scaled, &here, curvature)
            } else {
                let blind = model.is_blind();
                let d = scaled.model_step(&model.matrix(), &here);
                search_line(&mut scaled, &here, &d, blind)
            };
            let Some(next) = next else {
                let exhausted = damping.is_none() || here.curvature.is_none();
                if exhausted && model.is_blind() {
                    break StopReason::Search;
                }
                // The remembered pairs may be misleading.
                if exhausted {
                    model.discard_pairs();
                }
                damping = None;
                continue;
            };
            model.store_pair(&next.z - &here.z, &next.gradient - &here.gradient);
            let fall = here.value - next.value;
            let least = self.decrease * here.value.abs().max(next.value.abs());
            here = next;
            idle = if fall <= least { idle + 1 } else { 0 };
            if idle >= self.patience {
                break StopReason::Decrease;
            }
        };
        let best = match scaled.best.take() {
            Some(best) if best.value < here.value - rounding_error(here.value) => best,
            _ => here,
        };
        Ok(Minimum {
            x: scaled.unscale(&best.z),
            value: best.value,
            iterations,
            evaluations: scaled.evaluations,
            end,
        })
    }
}

fn check_arguments(
    start: &[f64],
    scales: &[f64],
    bounds: &[(f64, f64)],
) -> Result<(), LbfgsbError> {
    let n = start.len();
    let lengths = [
        ("typical sizes", n, scales.len()),
        ("bounds", n, bounds.len()),
    ];
    for (what, expected, given) in lengths {
        if given != expected {
            return Err(LbfgsbError::Length {
                what,
                expected,
                given,
            });
        }
    }
    for (index, &scale) in scales.iter().enumerate() {
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(LbfgsbError::Scale { index, scale });
        }
    }
    for (index, &(lower, upper)) in bounds.iter().enumerate() {
        let possible = lower <= upper && lower < f64::INFINITY && upper > f64::NEG_INFINITY;
        if !possible {
            return Err(LbfgsbError::Bounds {
                index,
                lower,
                upper,
            });
        }
    }
    if start.iter().any(|x| !x.is_finite()) {
        return Err(LbfgsbError::Start);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
