// SPDX-License-Identifier: MIT OR Apache-2.0
//! A function in scaled variables, with the box that bounds them.

use nalgebra::{Cholesky, DMatrix, DVector};

/// A function's value and derivatives at a point.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// Value.
    pub value: f64,
    /// Derivatives with respect to each variable, `[n]`.
    pub gradient: Vec<f64>,
    /// Approximate second derivative `[n, n]`, positive semidefinite. `None` where it is unknown.
    pub curvature: Option<DMatrix<f64>>,
}

/// A function that returns its value and derivatives at a point; `None` where it is undefined.
pub type ObjectiveFunction<'a> = dyn FnMut(&[f64]) -> Option<Evaluation> + 'a;

/// A point in scaled variables.
#[derive(Debug, Clone)]
pub(super) struct ScaledPoint {
    pub z: DVector<f64>,
    pub value: f64,
    pub gradient: DVector<f64>,
    pub curvature: Option<DMatrix<f64>>,
}

/// The function in scaled variables, with their box.
pub(super) struct ScaledFunction<'a> {
    pub scales: &'a [f64],
    pub bounds: &'a [(f64, f64)],
    pub function: &'a mut ObjectiveFunction<'a>,
    pub evaluations: usize,
    /// Maximum number of evaluations.
    pub most: usize,
    pub best: Option<ScaledPoint>,
}

impl<'a> ScaledFunction<'a> {
    pub fn new(
        scales: &'a [f64],
        bounds: &'a [(f64, f64)],
        function: &'a mut ObjectiveFunction<'a>,
    ) -> Self {
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
    pub fn is_spent(&self) -> bool {
        self.evaluations >= self.most
    }

    pub fn lower(&self, i: usize) -> f64 {
        self.bounds[i].0 / self.scales[i]
    }

    pub fn upper(&self, i: usize) -> f64 {
        self.bounds[i].1 / self.scales[i]
    }

    pub fn clamp_to_box(&self, z: &DVector<f64>) -> DVector<f64> {
        DVector::from_fn(z.len(), |i, _| z[i].max(self.lower(i)).min(self.upper(i)))
    }

    pub fn unscale(&self, z: &DVector<f64>) -> Vec<f64> {
        let each = self.scales.iter().zip(self.bounds).zip(z.iter());
        each.map(|((s, (lower, upper)), z)| (z * s).max(*lower).min(*upper))
            .collect()
    }

    /// Evaluates the function at a point clamped into the box; `None` where it is not finite.
    pub fn evaluate(&mut self, z: DVector<f64>) -> Option<ScaledPoint> {
        let (z, n) = (self.clamp_to_box(&z), z.len());
        self.evaluations += 1;
        let x = self.unscale(&z);
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
        let point = ScaledPoint {
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
    pub fn projected_gradient(&self, p: &ScaledPoint) -> f64 {
        (self.clamp_to_box(&(&p.z - &p.gradient)) - &p.z).amax()
    }

    /// Returns the longest step along d that stays in the box, at most 1e10.
    pub fn max_step(&self, z: &DVector<f64>, d: &DVector<f64>) -> f64 {
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
    pub fn model_step(&self, b: &DMatrix<f64>, p: &ScaledPoint) -> DVector<f64> {
        let (cauchy, free) = self.cauchy_step(b, p);
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
        let projected = self.clamp_to_box(&(&at + &whole)) - &p.z;
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
    pub fn cauchy_step(&self, b: &DMatrix<f64>, p: &ScaledPoint) -> (DVector<f64>, Vec<usize>) {
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
pub(super) fn rounding_error(value: f64) -> f64 {
    4.0 * f64::EPSILON * value.abs()
}
