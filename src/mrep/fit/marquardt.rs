// SPDX-License-Identifier: MIT OR Apache-2.0
//! Search for the most probable figure by damped steps `[marquardt1963]` that lower the energy and create no folds.

use super::evidence::{Evidence, Likelihood};
use super::folds::Folds;
use super::medial::Medial;
use super::prior::Prior;
use super::sections::Sections;
use super::ties::{self, Tie};
use super::unknowns::Unknowns;
use crate::mrep::figures::boundary::{Boundary, vectors};
use crate::mrep::figures::figure::Figure;
use crate::mrep::figures::legality::LEAST_LEGALITY;
use crate::progress::{Cancelled, Progress, step};
use crate::solve::tall;
use faer::prelude::Solve;
use faer::{Mat, Side};

/// Least damping: rounding would move directions that hardly matter. Half and twice of it leave fits to limbs the same to 0.001 % of the size.
pub(super) const LEAST_DAMPING: f64 = 1e-5;

/// Energy to minimise: prior, likelihood and penalties.
pub(super) struct Posterior<'a> {
    pub expected: Prior<'a>,
    pub boundary: &'a Boundary,
    pub unknowns: &'a Unknowns,
    pub medial: &'a Medial,
    pub folds: &'a Folds<'a>,
    /// Hub positions that other figures predict.
    pub ties: &'a [Tie],
    /// Factor on prior, medial term and ties.
    pub prior: f64,
    pub likelihood: &'a dyn Likelihood,
}

/// A figure with its energies.
pub(super) struct State {
    pub figure: Figure,
    pub evidence: Evidence,
    /// Energy of prior, medial term, ties and folds.
    expected: f64,
}

impl State {
    /// Returns minus the logarithm of the posterior at the deviation for which steps are made.
    pub fn energy(&self) -> f64 {
        self.expected + self.evidence.energy
    }

    /// Returns minus the logarithm of the posterior at the reported deviation.
    pub fn reported(&self) -> f64 {
        self.expected + self.evidence.reported
    }

    /// Returns whether both energies are lower than another state's.
    pub fn is_below(&self, other: &Self) -> bool {
        self.energy() < other.energy() && self.reported() < other.reported()
    }
}

impl Posterior<'_> {
    pub fn state(&self, figure: Figure) -> State {
        let known = self.expected.energy(&figure, self.unknowns);
        let vectors = vectors(&figure);
        let known = known + self.medial.energy(&vectors) + ties::energy(self.ties, &figure);
        let expected = self.prior * known + self.folds.energy(&vectors);
        let evidence = self.likelihood.evidence(&self.boundary.shape(&figure));
        State {
            figure,
            evidence,
            expected,
        }
    }

    /// Returns the gradient and the Gauss-Newton second derivatives.
    pub fn derivatives(&self, state: &State) -> (Vec<f64>, Mat<f64>) {
        let unknowns = self.unknowns;
        let derivatives = unknowns.derivatives(&state.figure);
        let jacobian = unknowns.jacobian(&self.boundary.value, &derivatives);
        let mut gradient = state.evidence.gradient(&jacobian);
        let product = state.evidence.times(&jacobian);
        let mut hessian = tall::inner(jacobian.transpose(), product.transpose());
        let vectors = vectors(&state.figure);
        let mut add = |(values, slopes): (Vec<f64>, Mat<f64>), factor: f64| {
            for (u, g) in gradient.iter_mut().enumerate() {
                let row = slopes.row(u);
                *g += factor
                    * values
                        .iter()
                        .zip(row.iter())
                        .map(|(v, s)| v * s)
                        .sum::<f64>();
            }
            if !values.is_empty() {
                hessian +=
                    tall::inner(slopes.transpose(), slopes.transpose()) * faer::Scale(factor);
            }
        };
        add(
            self.medial.residuals(&vectors, unknowns, &derivatives),
            self.prior,
        );
        add(
            ties::residuals(self.ties, &state.figure, unknowns),
            self.prior,
        );
        add(self.folds.residuals(&vectors, unknowns, &derivatives), 1.0);
        let figure = &state.figure;
        self.expected
            .add(figure, unknowns, self.prior, &mut gradient, &mut hessian);
        (gradient, hessian)
    }

    /// Returns a damped step of all unknowns, or of sections alone. `None`: the system has no solution.
    fn change(
        &self,
        figure: &Figure,
        (gradient, hessian): (&[f64], &Mat<f64>),
        sections: Option<&Sections>,
        damping: f64,
    ) -> Option<Vec<f64>> {
        let blocked = self.unknowns.blocked(figure, gradient);
        let Some(sections) = sections else {
            return solve(hessian, gradient, &blocked, damping);
        };
        let ways = sections.ways(figure, self.unknowns, &blocked);
        let count = ways.ncols();
        let column = Mat::from_fn(gradient.len(), 1, |i, _| gradient[i]);
        let gradient = ways.transpose() * &column;
        let gradient: Vec<f64> = (0..count).map(|i| gradient[(i, 0)]).collect();
        let hessian = ways.transpose() * (hessian * &ways);
        let along = solve(&hessian, &gradient, &vec![false; count], damping)?;
        let change = &ways * Mat::from_fn(count, 1, |i, _| along[i]);
        Some((0..change.nrows()).map(|i| change[(i, 0)]).collect())
    }

    /// Steps until convergence, at most `most` times, with all atoms or sections alone. Appends the reported energy of each accepted figure to
    /// `energies`.
    pub fn minimise(
        &self,
        start: Figure,
        (most, sections): (usize, Option<&Sections>),
        energies: &mut Vec<f64>,
        progress: &dyn Progress,
        stage: &str,
    ) -> Result<Figure, Cancelled> {
        /// Share of the legality that one step has to leave: no step leads on from the edge of a fold. Half of it leaves fits to limbs the same to
        /// 0.002 % of the size; with a share of 1 a fox's tail would be missed by 0.5 % instead of 0.1.
        const MOST_LOST: f64 = 0.5;
        /// Largest number of dampings tried per step: each is four times the last, the eighth sixteen thousand times the first.
        const TRIES: usize = 8;
        /// Relative fall of the energy that ends the iteration when two steps in a row stay below it. With half and twice of it tubes miss limbs of
        /// five known characters by no more than 0.001 % of the size more.
        const LITTLE: f64 = 1e-3;
        let mut state = self.state(start);
        let mut legality = state.figure.legality();
        if energies.is_empty() {
            energies.push(state.reported());
        }
        let (mut damping, mut idle) = (1e-3, 0);
        for k in 0..most {
            step(progress, k as f64 / most as f64, stage)?;
            let (gradient, hessian) = self.derivatives(&state);
            let slopes = (&gradient[..], &hessian);
            let mut taken = None;
            for _ in 0..TRIES {
                let change = self.change(&state.figure, slopes, sections, damping);
                if let Some(mut change) = change {
                    self.unknowns.shortened(&mut change);
                    let figure = self.unknowns.moved(&state.figure, &change);
                    let after = figure.legality();
                    if after >= legality || after > LEAST_LEGALITY.max(MOST_LOST * legality) {
                        let next = self.state(figure);
                        if next.is_below(&state) {
                            taken = Some((next, after));
                            break;
                        }
                    }
                }
                damping *= 4.0;
            }
            let Some((next, after)) = taken else {
                break;
            };
            let fall = 1.0 - next.energy() / state.energy();
            (state, legality) = (next, after);
            energies.push(state.reported());
            damping = (damping / 6.0).max(LEAST_DAMPING);
            idle = if fall < LITTLE { idle + 1 } else { 0 };
            if idle == 2 {
                break;
            }
        }
        Ok(state.figure)
    }
}

/// Returns a damped step. `None`: the system has no solution.
pub(super) fn solve(
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
