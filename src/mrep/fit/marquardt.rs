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
use crate::progress::{Cancelled, Progress};
use crate::solve::marquardt::{Course, Damped, damped_step, minimise};
use crate::solve::tall;
use faer::Mat;

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
            return damped_step(hessian, gradient, &blocked, damping);
        };
        let ways = sections.ways(figure, self.unknowns, &blocked);
        let count = ways.ncols();
        let column = Mat::from_fn(gradient.len(), 1, |i, _| gradient[i]);
        let gradient = ways.transpose() * &column;
        let gradient: Vec<f64> = (0..count).map(|i| gradient[(i, 0)]).collect();
        let hessian = ways.transpose() * (hessian * &ways);
        let along = damped_step(&hessian, &gradient, &vec![false; count], damping)?;
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
        let start = self.state(start);
        if energies.is_empty() {
            energies.push(start.reported());
        }
        // With half and twice of the little fall tubes miss limbs of five known characters by no more than 0.001 % of the size more.
        let course = Course {
            steps: most,
            ..Course::default()
        };
        let legality = start.figure.legality();
        let mut search = Search {
            posterior: self,
            sections,
            energies,
        };
        let found = minimise(&mut search, (start, legality), &course, (progress, stage))?;
        Ok(found.0.figure)
    }
}

/// Search for the most probable figure.
struct Search<'a> {
    posterior: &'a Posterior<'a>,
    /// Sections that move, instead of all atoms.
    sections: Option<&'a Sections>,
    /// Reported energies of accepted figures.
    energies: &'a mut Vec<f64>,
}

impl Damped for Search<'_> {
    /// A figure with its energies, and its legality.
    type State = (State, f64);
    type Slopes = (Vec<f64>, Mat<f64>);
    type Error = Cancelled;

    fn energy(&self, (at, _): &(State, f64)) -> f64 {
        at.energy()
    }

    fn slopes(&mut self, (at, _): &(State, f64)) -> Result<Option<Self::Slopes>, Cancelled> {
        Ok(Some(self.posterior.derivatives(at)))
    }

    fn lower(
        &mut self,
        (at, legality): &(State, f64),
        (gradient, hessian): &Self::Slopes,
        damping: f64,
    ) -> Option<((State, f64), f64)> {
        /// Share of the legality that one step has to leave: no step leads on from the edge of a fold. Half of it leaves fits to limbs the same to
        /// 0.002 % of the size; with a share of 1 a fox's tail would be missed by 0.5 % instead of 0.1.
        const MOST_LOST: f64 = 0.5;
        let posterior = self.posterior;
        let slopes = (&gradient[..], hessian);
        let mut change = posterior.change(&at.figure, slopes, self.sections, damping)?;
        posterior.unknowns.shortened(&mut change);
        let figure = posterior.unknowns.moved(&at.figure, &change);
        let after = figure.legality();
        if after < *legality && after <= LEAST_LEGALITY.max(MOST_LOST * legality) {
            return None;
        }
        let next = Some(posterior.state(figure)).filter(|next| next.is_below(at))?;
        self.energies.push(next.reported());
        Some(((next, after), 1.0))
    }
}
