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

use damped::Damping;
use line::search;
use model::Model;
use nalgebra::{Cholesky, DMatrix, DVector};

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

/// A function's value and derivatives at a point.
#[derive(Debug, Clone, PartialEq)]
pub struct Local {
    /// Value.
    pub value: f64,
    /// Derivatives with respect to each variable, `[n]`.
    pub gradient: Vec<f64>,
    /// Approximate second derivative `[n, n]`, positive semidefinite. `None` where it is unknown.
    pub curvature: Option<DMatrix<f64>>,
}

/// Reason why a minimisation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
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
    pub end: End,
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
        function: &mut Function,
    ) -> Result<Minimum, LbfgsbError> {
        check(start, scales, bounds)?;
        let mut scaled = Scaled::new(scales, bounds, function);
        let z = scaled.inside(&DVector::from_fn(start.len(), |i, _| start[i] / scales[i]));
        let mut here = scaled.at(z).ok_or(LbfgsbError::Start)?;
        scaled.best = Some(here.clone());
        scaled.most = self.evaluations;
        let mut model = Model::new(start.len(), self.memory);
        let mut damping = Some(Damping::new(start.len(), self.first_step));
        let (mut iterations, mut idle) = (0, 0);
        let end = loop {
            if scaled.projected_gradient(&here) <= self.gradient {
                break End::Gradient;
            }
            if here.value <= self.enough {
                break End::Enough;
            }
            if iterations >= self.iterations || scaled.is_spent() {
                break End::Iterations;
            }
            iterations += 1;
            let known = here.curvature.as_ref().zip(damping.as_mut());
            let next = if let Some((curvature, damping)) = known {
                damping.step(&mut scaled, &here, curvature)
            } else {
                let blind = model.is_blind();
                let d = scaled.direction(&model.matrix(), &here);
                search(&mut scaled, &here, &d, blind)
            };
            let Some(next) = next else {
                let exhausted = damping.is_none() || here.curvature.is_none();
                if exhausted && model.is_blind() {
                    break End::Search;
                }
                // The remembered pairs may be misleading.
                if exhausted {
                    model.forget();
                }
                damping = None;
                continue;
            };
            model.learn(&next.z - &here.z, &next.gradient - &here.gradient);
            let fall = here.value - next.value;
            let least = self.decrease * here.value.abs().max(next.value.abs());
            here = next;
            idle = if fall <= least { idle + 1 } else { 0 };
            if idle >= self.patience {
                break End::Decrease;
            }
        };
        let best = match scaled.best.take() {
            Some(best) if best.value < here.value - rounding(here.value) => best,
            _ => here,
        };
        Ok(Minimum {
            x: scaled.unscaled(&best.z),
            value: best.value,
            iterations,
            evaluations: scaled.evaluations,
            end,
        })
    }
}

/// A function that returns its value and derivatives at a point; `None` where it is undefined.
pub type Function<'a> = dyn FnMut(&[f64]) -> Option<Local> + 'a;

/// A point in scaled variables.
#[derive(Debug, Clone)]
struct Point {
    z: DVector<f64>,
    value: f64,
    gradient: DVector<f64>,
    curvature: Option<DMatrix<f64>>,
}

/// The function in scaled variables, with their box.
struct Scaled<'a> {
    scales: &'a [f64],
    bounds: &'a [(f64, f64)],
    function: &'a mut Function<'a>,
    evaluations: usize,
    /// Maximum number of evaluations.
    most: usize,
    best: Option<Point>,
}

impl<'a> Scaled<'a> {
    fn new(scales: &'a [f64], bounds: &'a [(f64, f64)], function: &'a mut Function<'a>) -> Self {
        Self {
            scales,
            bounds,
            function,
            evaluations: 0,
            most: usize::MAX,
            best: None,
        }
    }

    /// Returns whether the evaluations are used up.
    fn is_spent(&self) -> bool {
        self.evaluations >= self.most
    }

    fn lower(&self, i: usize) -> f64 {
        self.bounds[i].0 / self.scales[i]
    }

    fn upper(&self, i: usize) -> f64 {
        self.bounds[i].1 / self.scales[i]
    }

    fn inside(&self, z: &DVector<f64>) -> DVector<f64> {
        DVector::from_fn(z.len(), |i, _| z[i].max(self.lower(i)).min(self.upper(i)))
    }

    fn unscaled(&self, z: &DVector<f64>) -> Vec<f64> {
        let each = self.scales.iter().zip(self.bounds).zip(z.iter());
        each.map(|((s, (lower, upper)), z)| (z * s).max(*lower).min(*upper))
            .collect()
    }

    /// Evaluates the function at a point clamped into the box; `None` where it is not finite.
    fn at(&mut self, z: DVector<f64>) -> Option<Point> {
        let (z, n) = (self.inside(&z), z.len());
        self.evaluations += 1;
        let x = self.unscaled(&z);
        let local = (self.function)(&x)?;
        let gradient = DVector::from_column_slice(&local.gradient);
        if gradient.len() != n {
            return None;
        }
        let gradient = DVector::from_fn(n, |i, _| gradient[i] * self.scales[i]);
        if !local.value.is_finite() || gradient.iter().any(|g| !g.is_finite()) {
            return None;
        }
        let scale = |i: usize, j: usize| 0.5 * self.scales[i] * self.scales[j];
        let even =
            |c: DMatrix<f64>| DMatrix::from_fn(n, n, |i, j| (c[(i, j)] + c[(j, i)]) * scale(i, j));
        let point = Point {
            z,
            value: local.value,
            gradient,
            curvature: local.curvature.filter(|c| c.shape() == (n, n)).map(even),
        };
        if self
            .best
            .as_ref()
            .is_some_and(|best| point.value < best.value)
        {
            self.best = Some(point.clone());
        }
        Some(point)
    }

    /// Returns the largest change of a variable by a step of the negative gradient, projected into the box.
    fn projected_gradient(&self, p: &Point) -> f64 {
        (self.inside(&(&p.z - &p.gradient)) - &p.z).amax()
    }

    /// Returns the longest step along d that stays in the box, at most 1e10.
    fn room(&self, z: &DVector<f64>, d: &DVector<f64>) -> f64 {
        let mut most = 1e10_f64;
        for i in 0..z.len() {
            if d[i] < 0.0 {
                most = most.min((self.lower(i) - z[i]) / d[i]);
            } else if d[i] > 0.0 {
                most = most.min((self.upper(i) - z[i]) / d[i]);
            }
        }
        // Directions end inside the box; a smaller value is rounding.
        most.max(1.0)
    }

    /// Returns the step from a point to the minimum of the model with matrix B in the box: by the generalised Cauchy point, then over the
    /// variables that it leaves free.
    fn direction(&self, b: &DMatrix<f64>, p: &Point) -> DVector<f64> {
        let (cauchy, free) = self.cauchy(b, p);
        if free.is_empty() {
            return cauchy;
        }
        let residual = &p.gradient + b * &cauchy;
        let part = b.select_rows(&free).select_columns(&free);
        let Some(factor) = Cholesky::new(part) else {
            return cauchy;
        };
        let newton = factor.solve(&DVector::from_fn(free.len(), |i, _| -residual[free[i]]));
        let mut whole = DVector::zeros(p.z.len());
        for (step, &i) in newton.iter().zip(&free) {
            whole[i] = *step;
        }
        let at = &p.z + &cauchy;
        let projected = self.inside(&(&at + &whole)) - &p.z;
        if projected.dot(&p.gradient) < 0.0 {
            return projected;
        }
        let part = free.iter().fold(1.0_f64, |part, &i| match whole[i] {
            w if w < 0.0 => part.min((self.lower(i) - at[i]) / w),
            w if w > 0.0 => part.min((self.upper(i) - at[i]) / w),
            _ => part,
        });
        cauchy + whole * part.max(0.0)
    }

    /// Returns the step to the first minimum of the model along the projected steepest descent, and the variables that are not at a bound
    /// there.
    fn cauchy(&self, b: &DMatrix<f64>, p: &Point) -> (DVector<f64>, Vec<usize>) {
        let n = p.z.len();
        let meets: Vec<f64> = (0..n)
            .map(|i| match p.gradient[i] {
                g if g < 0.0 => (p.z[i] - self.upper(i)) / g,
                g if g > 0.0 => (p.z[i] - self.lower(i)) / g,
                _ => f64::INFINITY,
            })
            .collect();
        let mut d = DVector::from_fn(n, |i, _| if meets[i] > 0.0 { -p.gradient[i] } else { 0.0 });
        let mut order: Vec<usize> = (0..n).filter(|&i| meets[i] > 0.0).collect();
        order.sort_by(|&i, &j| meets[i].total_cmp(&meets[j]).then(i.cmp(&j)));
        let (mut step, mut time) = (DVector::zeros(n), 0.0);
        let mut held: Vec<bool> = meets.iter().map(|t| *t <= 0.0).collect();
        for i in order {
            let bent = b * &d;
            let slope = p.gradient.dot(&d) + step.dot(&bent);
            let wanted = -slope / d.dot(&bent);
            let falls = slope < 0.0 && wanted > 0.0 && wanted.is_finite();
            if !falls {
                break;
            }
            if wanted < meets[i] - time {
                step += &d * wanted;
                break;
            }
            step += &d * (meets[i] - time);
            time = meets[i];
            let bound = if d[i] > 0.0 {
                self.upper(i)
            } else {
                self.lower(i)
            };
            step[i] = bound - p.z[i];
            (d[i], held[i]) = (0.0, true);
        }
        let free = (0..n)
            .filter(|&i| !held[i] && self.lower(i) < self.upper(i))
            .collect();
        (step, free)
    }
}

/// Returns the part of a value that may be rounding error.
fn rounding(value: f64) -> f64 {
    4.0 * f64::EPSILON * value.abs()
}

fn check(start: &[f64], scales: &[f64], bounds: &[(f64, f64)]) -> Result<(), LbfgsbError> {
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
