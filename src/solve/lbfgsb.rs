// SPDX-License-Identifier: MIT OR Apache-2.0
//! L-BFGS-B: the minimum of a smooth function of few variables within bounds. [Byrd, Lu, Nocedal, Zhu 1995]
//!
//! Each iteration models the function by a quadratic with the matrix B of the last steps s and changes y of the gradient,
//! goes along the projected steepest descent to the model's first minimum (the generalised Cauchy point), from there to
//! the model's minimum over the variables that are not at a bound, back into the box (the projection of version 3.0), and
//! searches along the way for a point that satisfies the strong Wolfe conditions.
//!
//! Deviations: variables are few (up to some tens), so B is formed as a dense matrix from its pairs, and the subspace
//! problem is solved by Cholesky. Where the function knows its second derivative roughly (as sums of squares do by Gauss and
//! Newton), that is B, and a trust region takes the place of the line search (`damped`); the pairs only serve where it
//! leads nowhere. Points where the function is not finite are refused. The crate lbfgsb-rs-pure 0.1.2 was to do this: its line search overwrites the gradient before the change of it is taken, so every y is zero, no pair is ever
//! stored and what is left is steepest descent (Rosenbrock in two variables is not solved in 300 iterations); a start with
//! all its descent behind bounds and a NaN end it. None of that can be mended from outside.

mod damped;

use damped::Damping;
use nalgebra::{Cholesky, DMatrix, DVector};
use std::collections::VecDeque;

/// Wolfe: the share of the promised decrease that a step must bring.
const DECREASE: f64 = 1e-4;
/// Wolfe: the share of the slope that a step may leave.
const CURVATURE: f64 = 0.9;
/// Evaluations of one line search at most.
const TRIALS: usize = 30;

/// When to stop. Gradients are those by the scaled variables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lbfgsb {
    /// Pairs of steps and changes of the gradient that are remembered.
    pub memory: usize,
    /// Iterations at most.
    pub iterations: usize,
    /// Evaluations at most; the start is always asked.
    pub evaluations: usize,
    /// By how many typical sizes a variable moves at most in a first step, where second derivatives are known.
    pub reach: f64,
    /// Largest component of the projected gradient at the end.
    pub gradient: f64,
    /// Least decrease of an iteration, as a share of the value.
    pub decrease: f64,
    /// Iterations in a row that may bring less: near a minimum values drown in rounding before gradients do.
    pub patience: usize,
    /// A value that is good enough.
    pub enough: f64,
}

impl Default for Lbfgsb {
    fn default() -> Self {
        Self {
            memory: 10,
            iterations: 200,
            evaluations: usize::MAX,
            reach: f64::INFINITY,
            gradient: 1e-10,
            decrease: 1e-14,
            patience: 8,
            enough: f64::NEG_INFINITY,
        }
    }
}

/// What a function says of itself at a point.
#[derive(Debug, Clone, PartialEq)]
pub struct Local {
    /// Its value.
    pub value: f64,
    /// Its derivative by each variable.
    pub gradient: Vec<f64>,
    /// Its second derivative `[n,n]`, as well as it is known, positive semidefinite; none where nothing is known.
    pub curvature: Option<DMatrix<f64>>,
}

/// Why a minimisation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The projected gradient is small.
    Gradient,
    /// The value falls no more.
    Decrease,
    /// The value is good enough.
    Enough,
    /// No better point was found along the last direction.
    Search,
    /// There were as many iterations or evaluations as allowed.
    Iterations,
}

/// The best point that was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimum {
    /// Within the bounds, the caller's units.
    pub x: Vec<f64>,
    /// The function there: finite, and up to rounding the lowest seen.
    pub value: f64,
    /// Iterations made.
    pub iterations: usize,
    /// How often the function was asked.
    pub evaluations: usize,
    /// Why it ended.
    pub end: End,
}

/// Why nothing was minimised.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum LbfgsbError {
    /// Arrays of different lengths.
    #[error("{what}: expected {expected} numbers, one per variable, but there are {given}")]
    Length {
        /// Which array.
        what: &'static str,
        /// Variables there are.
        expected: usize,
        /// Numbers there are.
        given: usize,
    },
    /// Bounds that no number satisfies.
    #[error("variable {index} must lie between {lower} and {upper}: no number does")]
    Bounds {
        /// The variable.
        index: usize,
        /// Its lower bound.
        lower: f64,
        /// Its upper bound.
        upper: f64,
    },
    /// A scale that is no positive number.
    #[error("the typical size of variable {index} is {scale}, but must be positive and finite")]
    Scale {
        /// The variable.
        index: usize,
        /// Its scale.
        scale: f64,
    },
    /// The function says nothing at the start.
    #[error("the function to be minimised or its gradient is not finite at the start")]
    Start,
}

impl Lbfgsb {
    /// Minimises a function of `x[n]` from `start[n]`, moved into `bounds[n]` (lower, upper; infinite ones allowed, equal
    /// ones fix a variable). `scales[n]`: typical sizes of the variables. Points are refused where the function is none or not
    /// finite.
    ///
    /// # Errors
    /// Arrays that do not fit, bounds that exclude each other, a start where the function is not finite.
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
        let mut damping = Some(Damping::new(start.len(), self.reach));
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
                // What is remembered may be what misleads.
                if exhausted {
                    model.pairs.clear();
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

/// A function that tells of itself at a point; none where it is not defined.
pub type Function<'a> = dyn FnMut(&[f64]) -> Option<Local> + 'a;

/// What is known of one step along a line.
#[derive(Debug, Clone, Copy)]
struct Trial {
    step: f64,
    value: f64,
    slope: f64,
}

impl Trial {
    /// The minimum of the cubic through this trial and a worse one, kept off both ends.
    fn between(&self, other: &Trial) -> f64 {
        let width = other.step - self.step;
        if !other.value.is_finite() {
            return self.step + 0.25 * width;
        }
        let theta = 3.0 * (self.value - other.value) / width + self.slope + other.slope;
        let root = theta * theta - self.slope * other.slope;
        let part = if root >= 0.0 {
            let gamma = root.sqrt().copysign(width);
            (gamma - self.slope + theta) / (2.0 * gamma - self.slope + other.slope)
        } else {
            0.5
        };
        let part = if part.is_finite() { part } else { 0.5 };
        self.step + part.clamp(0.1, 0.9) * width
    }
}

/// A point in scaled variables.
#[derive(Debug, Clone)]
struct Point {
    z: DVector<f64>,
    value: f64,
    gradient: DVector<f64>,
    curvature: Option<DMatrix<f64>>,
}

/// The function of scaled variables in their box.
struct Scaled<'a> {
    scales: &'a [f64],
    bounds: &'a [(f64, f64)],
    function: &'a mut Function<'a>,
    evaluations: usize,
    /// Evaluations at most.
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

    /// Whether there are no evaluations left.
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

    /// The function at a point moved into the box; none where it is not finite.
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

    /// The largest change that a step of the negative gradient makes within the box.
    fn projected_gradient(&self, p: &Point) -> f64 {
        (self.inside(&(&p.z - &p.gradient)) - &p.z).amax()
    }

    /// The longest step along d that stays in the box, but not without end.
    fn room(&self, z: &DVector<f64>, d: &DVector<f64>) -> f64 {
        let mut most = 1e10_f64;
        for i in 0..z.len() {
            if d[i] < 0.0 {
                most = most.min((self.lower(i) - z[i]) / d[i]);
            } else if d[i] > 0.0 {
                most = most.min((self.upper(i) - z[i]) / d[i]);
            }
        }
        // Directions end inside the box; only rounding says otherwise.
        most.max(1.0)
    }

    /// From a point to the minimum of the model with matrix B in the box: by the generalised Cauchy point, then over the
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

    /// The first minimum of the model along the projected steepest descent, as a step from the point, and the variables
    /// that are not at a bound there.
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

/// The quadratic model's matrix, as the remembered steps have it.
struct Model {
    /// Steps and changes of the gradient, the oldest first.
    pairs: VecDeque<(DVector<f64>, DVector<f64>)>,
    memory: usize,
    size: usize,
}

impl Model {
    fn new(size: usize, memory: usize) -> Self {
        Self {
            pairs: VecDeque::new(),
            memory,
            size,
        }
    }

    /// Whether nothing is known of how the function curves.
    fn is_blind(&self) -> bool {
        self.pairs.is_empty()
    }

    /// B.
    fn matrix(&self) -> DMatrix<f64> {
        let theta = self.pairs.back().map_or(1.0, |(s, y)| y.dot(y) / s.dot(y));
        let mut b = DMatrix::identity(self.size, self.size) * theta;
        for (s, y) in &self.pairs {
            let bs = &b * s;
            let (sbs, sy) = (s.dot(&bs), s.dot(y));
            b.ger(-1.0 / sbs, &bs, &bs, 1.0);
            b.ger(1.0 / sy, y, y, 1.0);
        }
        b
    }

    /// Remembers a pair, unless it would make B indefinite.
    fn learn(&mut self, s: DVector<f64>, y: DVector<f64>) {
        let sy = s.dot(&y);
        let usable = sy > 1e-12 * s.norm() * y.norm() && sy >= f64::MIN_POSITIVE;
        if !usable {
            return;
        }
        self.pairs.push_back((s, y));
        if self.pairs.len() > self.memory {
            self.pairs.pop_front();
        }
    }
}

/// What of a value may be rounding.
fn rounding(value: f64) -> f64 {
    4.0 * f64::EPSILON * value.abs()
}

/// A point along d that satisfies the strong Wolfe conditions, or falls enough and lies at the box or at the end of
/// the trials; none where no point does.
fn search(scaled: &mut Scaled, here: &Point, d: &DVector<f64>, blind: bool) -> Option<Point> {
    let slope = d.dot(&here.gradient);
    if slope >= 0.0 || !slope.is_finite() {
        return None;
    }
    let longest = scaled.room(&here.z, d);
    // A blind model says nothing of how long d should be: at most one typical size.
    let most = if blind { 1.0 / d.amax() } else { 1.0 };
    let mut step = most.min(1.0).min(longest);
    let noise = rounding(here.value);
    let mut low = Trial {
        step: 0.0,
        value: here.value,
        slope,
    };
    let (mut found, mut high) = (None, None::<Trial>);
    for _ in 0..TRIALS {
        if scaled.is_spent() {
            break;
        }
        let point = scaled.at(&here.z + d * step);
        let trial = Trial {
            step,
            value: point.as_ref().map_or(f64::INFINITY, |p| p.value),
            slope: point.as_ref().map_or(0.0, |p| d.dot(&p.gradient)),
        };
        let promised = here.value + DECREASE * step * slope + noise;
        if trial.value > promised || (low.step > 0.0 && trial.value > low.value) {
            high = Some(trial);
        } else {
            let flat = trial.slope.abs() <= -CURVATURE * slope;
            if flat || (trial.slope < 0.0 && step >= longest) {
                return point;
            }
            if trial.slope * (high.map_or(f64::INFINITY, |h| h.step) - step) >= 0.0 {
                high = Some(low);
            }
            (low, found) = (trial, point);
        }
        let next = match high {
            Some(high) => low.between(&high),
            None => (step * 4.0).min(longest),
        };
        if next == step || (next - low.step).abs() * d.amax() <= f64::MIN_POSITIVE {
            break;
        }
        step = next;
    }
    found
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
mod tests {
    use super::*;

    fn rosenbrock(x: &[f64], g: &mut [f64]) -> f64 {
        g.fill(0.0);
        let mut f = 0.0;
        for i in 0..x.len() - 1 {
            let (a, b) = (x[i + 1] - x[i] * x[i], 1.0 - x[i]);
            f += 100.0 * a * a + b * b;
            g[i] -= 400.0 * x[i] * a + 2.0 * b;
            g[i + 1] += 200.0 * a;
        }
        f
    }

    type Plain<'a> = &'a mut dyn FnMut(&[f64], &mut [f64]) -> f64;

    /// Tells no second derivative.
    fn plain(function: Plain, x: &[f64]) -> Option<Local> {
        let mut gradient = vec![0.0; x.len()];
        let value = function(x, &mut gradient);
        Some(Local {
            value,
            gradient,
            curvature: None,
        })
    }

    fn run(
        start: &[f64],
        bounds: &[(f64, f64)],
        function: &mut dyn FnMut(&[f64], &mut [f64]) -> f64,
    ) -> Minimum {
        let scales = vec![1.0; start.len()];
        Lbfgsb::default()
            .minimise(start, &scales, bounds, &mut |x| plain(function, x))
            .unwrap()
    }

    /// Largest violation of the conditions of a minimum in a box.
    fn kkt(
        x: &[f64],
        bounds: &[(f64, f64)],
        function: &mut dyn FnMut(&[f64], &mut [f64]) -> f64,
    ) -> f64 {
        let mut g = vec![0.0; x.len()];
        function(x, &mut g);
        let each = x.iter().zip(bounds).zip(&g);
        each.map(|((x, (l, u)), g)| {
            assert!(l <= x && x <= u);
            ((x - g).max(*l).min(*u) - x).abs()
        })
        .fold(0.0, f64::max)
    }

    const FREE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

    /// Numbers between -1 and 1 that look random.
    fn noise(seed: usize) -> f64 {
        ((seed as f64 + 1.0) * 12.9898).sin() * 43758.5453 % 1.0
    }

    #[test]
    fn rosenbrock_s_valley_is_followed_to_its_end() {
        for n in [2, 3, 5, 10, 20, 30] {
            for bounds in [vec![FREE; n], vec![(-5.0, 5.0); n]] {
                let start: Vec<f64> = (0..n).map(|i| 0.9 + 0.8 * noise(i)).collect();
                let end = run(&start, &bounds, &mut rosenbrock);
                assert!(end.x.iter().all(|x| (x - 1.0).abs() < 1e-6), "{n}: {end:?}");
            }
        }
        let classic = run(&[-1.2, 1.0], &[FREE; 2], &mut rosenbrock);
        assert!(
            classic.value < 1e-16 && classic.evaluations < 80,
            "{classic:?}"
        );
    }

    #[test]
    fn active_bounds_hold_and_satisfy_the_conditions_of_a_minimum() {
        for n in [2, 4, 8, 16, 30] {
            let cases = [
                vec![(-5.0, 0.5); n],
                vec![(1.5, 3.0); n],
                (0..n)
                    .map(|i| {
                        if i % 2 == 0 {
                            (1.0, 100.0)
                        } else {
                            (-100.0, 0.7)
                        }
                    })
                    .collect(),
                (0..n)
                    .map(|i| {
                        if i % 3 == 0 {
                            (f64::NEG_INFINITY, -0.3)
                        } else {
                            FREE
                        }
                    })
                    .collect(),
            ];
            for bounds in cases {
                let start: Vec<f64> = (0..n).map(|i| 2.0 * noise(7 * i)).collect();
                let end = run(&start, &bounds, &mut rosenbrock);
                let off = kkt(&end.x, &bounds, &mut rosenbrock);
                assert!(off < 1e-5, "{n} {bounds:?}: {off} {end:?}");
            }
        }
    }

    /// `½ xᵀ H x − hᵀ x` with H = LLᵀ + I, and bounds around a chosen minimum whose multipliers are chosen too.
    #[test]
    fn quadratics_with_a_known_minimum_in_a_box_are_solved() {
        for n in [1, 2, 5, 12, 30] {
            let l = DMatrix::from_fn(n, n, |i, j| noise(n * i + j + 1));
            let h = &l * l.transpose() + DMatrix::identity(n, n);
            let wanted = DVector::from_fn(n, |i, _| noise(3 * i + n));
            // A third of the variables each at the lower bound, at the upper one and free.
            let pull = DVector::from_fn(n, |i, _| [1.0, -1.0, 0.0][i % 3]);
            let bounds: Vec<(f64, f64)> = (0..n)
                .map(|i| match i % 3 {
                    0 => (wanted[i], wanted[i] + 1.0),
                    1 => (wanted[i] - 1.0, wanted[i]),
                    _ => (wanted[i] - 1.0, wanted[i] + 1.0),
                })
                .collect();
            let linear = &h * &wanted - pull;
            let mut function = |x: &[f64], g: &mut [f64]| {
                let x = DVector::from_column_slice(x);
                let hx = &h * &x;
                g.copy_from_slice((&hx - &linear).as_slice());
                0.5 * x.dot(&hx) - linear.dot(&x)
            };
            for seed in 0..4 {
                let start: Vec<f64> = (0..n).map(|i| 3.0 * noise(seed * 31 + i)).collect();
                let end = run(&start, &bounds, &mut function);
                for (x, w) in end.x.iter().zip(&wanted) {
                    assert!((x - w).abs() < 1e-7, "{n}: {end:?} {wanted}");
                }
            }
            let exact = Lbfgsb::default()
                .minimise(&vec![0.0; n], &vec![1.0; n], &bounds, &mut |x| {
                    let known = Some(h.clone());
                    plain(&mut function, x).map(|local| Local {
                        curvature: known,
                        ..local
                    })
                })
                .unwrap();
            assert!(exact.evaluations <= 12, "{n}: {exact:?}");
        }
    }

    #[test]
    fn badly_scaled_variables_need_only_their_scales() {
        let sizes = [1e-6, 1.0, 1e5, 1e-3];
        let mut function = |x: &[f64], g: &mut [f64]| {
            let y: Vec<f64> = x.iter().zip(sizes).map(|(x, s)| x / s).collect();
            let f = rosenbrock(&y, g);
            g.iter_mut().zip(sizes).for_each(|(g, s)| *g /= s);
            f
        };
        let start: Vec<f64> = sizes.iter().map(|s| -0.5 * s).collect();
        let end = Lbfgsb::default()
            .minimise(&start, &sizes, &[FREE; 4], &mut |x| plain(&mut function, x))
            .unwrap();
        for (x, s) in end.x.iter().zip(sizes) {
            assert!((x / s - 1.0).abs() < 1e-6, "{end:?}");
        }
        let plain = run(&[-0.5; 4], &[FREE; 4], &mut rosenbrock);
        assert!(end.evaluations.abs_diff(plain.evaluations) <= plain.evaluations / 2);
    }

    #[test]
    fn a_start_on_bounds_at_the_minimum_or_outside_is_no_trouble() {
        let mut bowl = |x: &[f64], g: &mut [f64]| {
            for (g, x) in g.iter_mut().zip(x) {
                *g = 2.0 * (x - 2.0);
            }
            x.iter().map(|x| (x - 2.0) * (x - 2.0)).sum()
        };
        for (start, lower, upper) in [
            ([0.0, 0.5], 0.0, 1.0),
            ([1.0, 1.0], 0.0, 1.0),
            ([9.0, -9.0], 0.0, 3.0),
            ([3.0, 3.0], 3.0, 4.0),
        ] {
            let end = run(&start, &[(lower, upper); 2], &mut bowl);
            for x in &end.x {
                assert!((x - 2.0_f64.clamp(lower, upper)).abs() < 1e-9, "{end:?}");
            }
        }
        let there = run(&[2.0, 2.0], &[FREE; 2], &mut bowl);
        assert_eq!((there.evaluations, there.end), (1, End::Gradient));
    }

    #[test]
    fn equal_bounds_fix_a_variable() {
        let bounds = [FREE, (0.3, 0.3), FREE];
        let end = run(&[0.0; 3], &bounds, &mut rosenbrock);
        assert_eq!(end.x[1], 0.3);
        assert!(kkt(&end.x, &bounds, &mut rosenbrock) < 1e-6, "{end:?}");
        let all = run(&[5.0, 5.0], &[(1.0, 1.0), (2.0, 2.0)], &mut rosenbrock);
        assert_eq!((all.x, all.end), (vec![1.0, 2.0], End::Gradient));
    }

    #[test]
    fn points_that_are_not_finite_are_refused() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            // Falls towards an edge beyond which there is nothing.
            let mut edge = |x: &[f64], g: &mut [f64]| {
                g[0] = -3.0 * x[0] * x[0];
                if x[0] > 1.0 { bad } else { -x[0].powi(3) }
            };
            let end = run(&[0.5], &[FREE], &mut edge);
            assert!(
                end.x[0] <= 1.0 && end.x[0] > 0.9 && end.value.is_finite(),
                "{end:?}"
            );
            let mut gradient = |x: &[f64], g: &mut [f64]| {
                g[0] = if x[0] > 1.0 { bad } else { -1.0 };
                -x[0]
            };
            let end = run(&[0.0], &[FREE], &mut gradient);
            assert!(end.x[0] <= 1.0 && end.value <= 0.0, "{end:?}");
            let nowhere = Lbfgsb::default()
                .minimise(&[0.0], &[1.0], &[FREE], &mut |x| plain(&mut |_, _| bad, x));
            assert_eq!(nowhere, Err(LbfgsbError::Start));
        }
    }

    #[test]
    fn the_best_point_comes_out_of_a_function_whose_gradient_lies() {
        let mut least = f64::INFINITY;
        let mut lying = |x: &[f64], g: &mut [f64]| {
            g.iter_mut()
                .enumerate()
                .for_each(|(i, g)| *g = noise(i + (1e3 * x[0]) as usize));
            let f = x.iter().map(|x| x * x).sum::<f64>() + (9.0 * x[0]).sin();
            least = least.min(f);
            f
        };
        let end = run(&[1.0, 2.0, -1.0], &[(-4.0, 4.0); 3], &mut lying);
        assert!(end.value <= least + 1e-14, "{end:?}");
    }

    #[test]
    fn iterations_are_limited_and_runs_repeat_to_the_bit() {
        let few = Lbfgsb {
            iterations: 3,
            ..Lbfgsb::default()
        };
        let go = || {
            few.minimise(&[-1.2, 1.0], &[1.0; 2], &[FREE; 2], &mut |x| {
                plain(&mut rosenbrock, x)
            })
        };
        let first = go().unwrap();
        assert_eq!((first.iterations, first.end), (3, End::Iterations));
        assert!(first.value < rosenbrock(&[-1.2, 1.0], &mut [0.0; 2]));
        assert_eq!(go().unwrap(), first);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_a_sentence() {
        let go = |start: &[f64], scales: &[f64], bounds: &[(f64, f64)]| {
            Lbfgsb::default().minimise(start, scales, bounds, &mut |x| plain(&mut rosenbrock, x))
        };
        assert!(matches!(
            go(&[0.0; 2], &[1.0], &[FREE; 2]),
            Err(LbfgsbError::Length { .. })
        ));
        assert!(matches!(
            go(&[0.0; 2], &[1.0; 2], &[FREE]),
            Err(LbfgsbError::Length { .. })
        ));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(
                go(&[0.0; 2], &[1.0, bad], &[FREE; 2]),
                Err(LbfgsbError::Scale { index: 1, .. })
            ));
        }
        for bad in [(1.0, 0.0), (f64::NAN, 1.0), (f64::INFINITY, f64::INFINITY)] {
            assert!(matches!(
                go(&[0.0; 2], &[1.0; 2], &[bad, FREE]),
                Err(LbfgsbError::Bounds { index: 0, .. })
            ));
        }
        assert_eq!(
            go(&[f64::NAN, 0.0], &[1.0; 2], &[FREE; 2]),
            Err(LbfgsbError::Start)
        );
    }
}
