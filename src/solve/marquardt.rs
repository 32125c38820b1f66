// SPDX-License-Identifier: MIT OR Apache-2.0
//! Damped steps, for energies whose second derivatives are approximate or change quickly. [marquardt1963]
//!
//! **Problem.** Lower E(x) with a gradient g and a positive semidefinite H near its second derivatives, such as those of Gauss and Newton
//! for sums of squares. Points need not form a vector space: the problem itself moves them.
//!
//! **Method.** The step d solves `(H + μD) d = −g`, where D is the diagonal of H. The damping μ grows by a factor until the problem accepts
//! a lower point, and falls by another after a full step. A step cut short leaves it or doubles it. The search ends when the energy hardly falls
//! in several steps in a row, when no damping leads lower, or after a number of steps.
//!
//! **Cost.** One linearisation per step, one factorisation and one evaluation or more per damping tried.
//!
//! **Failure.** A local minimum is found at best. Where H is far from the second derivatives steps become short, and the search ends early.
//!
//! `solve/lbfgsb` damps differently, as a box bounds its steps. Newton's method of `solve/newton` takes over where derivatives are exact.

use crate::progress::{Cancelled, Progress, report_progress};
use faer::prelude::Solve;
use faer::{Mat, Side};

/// Damping at the start. A step then differs from the undamped one by a thousandth where H is diagonal.
const INITIAL_DAMPING: f64 = 1e-3;

/// An energy, its derivatives, and the steps along them.
pub(crate) trait DampedProblem {
    /// A point, with all that is known there.
    type SearchPoint;
    /// Derivatives at a point.
    type Derivatives;
    /// Reason to stop without a result.
    type Error: From<Cancelled>;

    /// Returns the energy at a point.
    fn energy(&self, at: &Self::SearchPoint) -> f64;

    /// Returns the derivatives at a point. `None`: it is the minimum.
    ///
    /// # Errors
    /// Derivatives that are not finite.
    fn derivatives(
        &mut self,
        at: &Self::SearchPoint,
    ) -> Result<Option<Self::Derivatives>, Self::Error>;

    /// Returns a lower point, and the share of the damped step that leads there. `None`: the step leads to no point that is accepted.
    fn find_lower(
        &mut self,
        at: &Self::SearchPoint,
        slopes: &Self::Derivatives,
        damping: f64,
    ) -> Option<(Self::SearchPoint, f64)>;
}

/// Settings of a search: limits, and the changes of the damping.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MarquardtSettings {
    /// Largest number of steps.
    pub steps: usize,
    /// Largest number of dampings tried per step.
    pub tries: usize,
    /// Least damping; with less, rounding would move directions that hardly matter.
    pub least: f64,
    /// Divisor of the damping after a full step, and factor after a refused one.
    pub factors: [f64; 2],
    /// Relative fall of the energy that counts as little, and number of such steps in a row that end the search.
    pub little: (f64, usize),
    /// Damping above which a full step with little gain is due to the damping and does not count.
    pub settled: f64,
}

impl Default for MarquardtSettings {
    /// Returns the settings of fits. With 4 per refusal the eighth damping is sixteen thousand times the first. Half and twice of the least
    /// damping leave fits to limbs the same to 0.001 % of the size.
    fn default() -> Self {
        Self {
            steps: 30,
            tries: 8,
            least: 1e-5,
            factors: [6.0, 4.0],
            little: (1e-3, 2),
            settled: f64::INFINITY,
        }
    }
}

/// Searches from a start and returns the lowest point found.
///
/// # Errors
/// A stop by the progress, or the problem's own error.
pub(crate) fn minimise<P: DampedProblem>(
    problem: &mut P,
    start: P::SearchPoint,
    settings: &MarquardtSettings,
    (progress, label): (&dyn Progress, &str),
) -> Result<P::SearchPoint, P::Error> {
    let (mut state, mut damping, mut idle) = (start, INITIAL_DAMPING, 0);
    for k in 0..settings.steps {
        report_progress(progress, k as f64 / settings.steps as f64, label)?;
        let Some(slopes) = problem.derivatives(&state)? else {
            break;
        };
        let mut taken = None;
        for _ in 0..settings.tries {
            taken = problem.find_lower(&state, &slopes, damping);
            if taken.is_some() {
                break;
            }
            damping *= settings.factors[1];
        }
        let Some((next, share)) = taken else {
            break;
        };
        let fall = 1.0 - problem.energy(&next) / problem.energy(&state);
        state = next;
        let is_idle = fall < settings.little.0 && (share < 1.0 || damping <= settings.settled);
        idle = if is_idle { idle + 1 } else { 0 };
        damping = match share {
            1.0 => damping / settings.factors[0],
            _ if share > 0.1 => damping,
            _ => 2.0 * damping,
        }
        .max(settings.least);
        if idle == settings.little.1 {
            break;
        }
    }
    Ok(state)
}

/// Returns the damped step of a dense system, of which the lower triangle is read, 0 for blocked unknowns. `None`: the system has no solution.
pub(crate) fn damped_step(
    hessian: &Mat<f64>,
    gradient: &[f64],
    blocked: &[bool],
    damping: f64,
) -> Option<Vec<f64>> {
    let n = gradient.len();
    let largest = (0..n).map(|i| hessian[(i, i)]).fold(0.0, f64::max);
    let mut matrix = hessian.clone();
    let mut right = Mat::from_fn(n, 1, |i, _| -gradient[i]);
    for i in 0..n {
        if blocked[i] {
            matrix.row_mut(i).fill(0.0);
            matrix.col_mut(i).fill(0.0);
            matrix[(i, i)] = 1.0;
            right[(i, 0)] = 0.0;
        } else {
            // Unknowns without any information must not run away.
            matrix[(i, i)] += damping * (hessian[(i, i)] + 1e-6 * largest);
        }
    }
    matrix.llt(Side::Lower).ok()?.solve_in_place(&mut right);
    let step: Vec<f64> = (0..n).map(|i| right[(i, 0)]).collect();
    step.iter().all(|x| x.is_finite()).then_some(step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    /// Rosenbrock's valley as a sum of squares, with x held where it is blocked.
    struct Valley {
        blocked: [bool; 2],
        tried: usize,
    }

    impl DampedProblem for Valley {
        type SearchPoint = [f64; 2];
        type Derivatives = (Vec<f64>, Mat<f64>);
        type Error = Cancelled;

        fn energy(&self, [x, y]: &[f64; 2]) -> f64 {
            (1.0 - x).powi(2) + 100.0 * (y - x * x).powi(2)
        }

        fn derivatives(
            &mut self,
            [x, y]: &[f64; 2],
        ) -> Result<Option<Self::Derivatives>, Cancelled> {
            let residuals = [1.0 - x, 10.0 * (y - x * x)];
            let rows = [[-1.0, 0.0], [-20.0 * x, 10.0]];
            let sum = |f: &dyn Fn(usize) -> f64| 2.0 * (f(0) + f(1));
            let gradient = (0..2).map(|i| sum(&|r| rows[r][i] * residuals[r]));
            let hessian = Mat::from_fn(2, 2, |i, j| sum(&|r| rows[r][i] * rows[r][j]));
            Ok(Some((gradient.collect(), hessian)))
        }

        fn find_lower(
            &mut self,
            at: &[f64; 2],
            (gradient, hessian): &Self::Derivatives,
            damping: f64,
        ) -> Option<([f64; 2], f64)> {
            self.tried += 1;
            let d = damped_step(hessian, gradient, &self.blocked, damping)?;
            let next = [at[0] + d[0], at[1] + d[1]];
            (self.energy(&next) < self.energy(at)).then_some((next, 1.0))
        }
    }

    /// The search follows a curved valley to its minimum, also with a fixed variable.
    #[test]
    fn curved_valley_is_minimised() {
        for (blocked, least) in [([false; 2], [1.0, 1.0]), ([true, false], [-1.2, 1.44])] {
            let mut valley = Valley { blocked, tried: 0 };
            let settings = MarquardtSettings {
                steps: 100,
                little: (1e-12, 1),
                ..MarquardtSettings::default()
            };
            let found = minimise(&mut valley, [-1.2, 1.0], &settings, (&Silent, "")).unwrap();
            let off = (found[0] - least[0]).hypot(found[1] - least[1]);
            assert!(
                off < 1e-6 && valley.tried < 200,
                "{found:?} {}",
                valley.tried
            );
        }
    }

    /// A step without a solution is `None`, unless all variables are fixed.
    #[test]
    fn singular_step_is_none() {
        let empty = Mat::zeros(2, 2);
        assert!(damped_step(&empty, &[1.0, 1.0], &[false; 2], 1.0).is_none());
        let step = damped_step(&empty, &[1.0, 1.0], &[true; 2], 1.0);
        assert_eq!(step, Some(vec![0.0; 2]));
    }
}
