// SPDX-License-Identifier: MIT OR Apache-2.0
//! Search for the most probable figure by damped steps `[marquardt1963]` that lower the energy and create no folds.

use super::evidence::{Evidence, Likelihood};
use super::folds::FoldPenalty;
use super::medial::MedialPenalty;
use super::prior::Prior;
use super::sections::FigureSections;
use super::ties::{self, HubTie};
use super::unknowns::AtomUnknowns;
use crate::mrep::figures::boundary::{Boundary, figure_vectors};
use crate::mrep::figures::figure::Figure;
use crate::mrep::figures::legality::MIN_LEGALITY;
use crate::progress::{Cancelled, Progress};
use crate::solve::marquardt::{DampedProblem, MarquardtSettings, damped_step, minimise};
use crate::solve::tall;
use faer::Mat;

/// Energy to minimise: prior, likelihood and penalties.
pub(super) struct Posterior<'a> {
    pub expected: Prior<'a>,
    pub boundary: &'a Boundary,
    pub unknowns: &'a AtomUnknowns,
    pub medial: &'a MedialPenalty,
    pub folds: &'a FoldPenalty<'a>,
    /// Hub positions that other figures predict.
    pub ties: &'a [HubTie],
    /// Factor on prior, medial term and ties.
    pub prior: f64,
    pub likelihood: &'a dyn Likelihood,
}

/// A figure with its energies.
pub(super) struct PosteriorState {
    pub figure: Figure,
    pub evidence: Evidence,
    /// Energy of prior, medial term, ties and fold penalty: all but the likelihood.
    expected: f64,
}

impl PosteriorState {
    /// Returns minus the logarithm of the posterior at the deviation for which steps are made.
    pub fn energy(&self) -> f64 {
        self.expected + self.evidence.energy
    }

    /// Returns minus the logarithm of the posterior at the reported deviation.
    pub fn reported_energy(&self) -> f64 {
        self.expected + self.evidence.reported
    }

    /// Returns whether both energies are lower than another state's.
    pub fn is_better_than(&self, other: &Self) -> bool {
        self.energy() < other.energy() && self.reported_energy() < other.reported_energy()
    }
}

impl Posterior<'_> {
    pub fn evaluate(&self, figure: Figure) -> PosteriorState {
        let known = self.expected.energy(&figure, self.unknowns);
        let vectors = figure_vectors(&figure);
        let known = known + self.medial.energy(&vectors) + ties::energy(self.ties, &figure);
        let expected = self.prior * known + self.folds.energy(&vectors);
        let evidence = self.likelihood.evidence(&self.boundary.shape(&figure));
        PosteriorState {
            figure,
            evidence,
            expected,
        }
    }

    /// Returns the gradient and the Gauss-Newton second derivatives.
    pub fn derivatives(&self, state: &PosteriorState) -> (Vec<f64>, Mat<f64>) {
        let unknowns = self.unknowns;
        let derivatives = unknowns.derivatives(&state.figure);
        let jacobian = unknowns.jacobian(&self.boundary.value, &derivatives);
        let mut gradient = state.evidence.gradient(&jacobian);
        let product = state.evidence.hessian_product(&jacobian);
        let mut hessian = tall::transposed_product(jacobian.transpose(), product.transpose());
        let vectors = figure_vectors(&state.figure);
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
                hessian += tall::transposed_product(slopes.transpose(), slopes.transpose())
                    * faer::Scale(factor);
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
            .add_derivatives(figure, unknowns, self.prior, &mut gradient, &mut hessian);
        (gradient, hessian)
    }

    /// Returns a damped step of all unknowns, or of sections alone. `None`: the system has no solution.
    fn propose_step(
        &self,
        figure: &Figure,
        (gradient, hessian): (&[f64], &Mat<f64>),
        sections: Option<&FigureSections>,
        damping: f64,
    ) -> Option<Vec<f64>> {
        let blocked = self.unknowns.find_blocked(figure, gradient);
        let Some(sections) = sections else {
            return damped_step(hessian, gradient, &blocked, damping);
        };
        let ways = sections.motion_directions(figure, self.unknowns, &blocked);
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
        (most, sections): (usize, Option<&FigureSections>),
        energies: &mut Vec<f64>,
        progress: &dyn Progress,
        stage: &str,
    ) -> Result<Figure, Cancelled> {
        let start = self.evaluate(start);
        if energies.is_empty() {
            energies.push(start.reported_energy());
        }
        // With half and twice of the little fall tubes miss limbs of five known characters by no more than 0.001 % of the size more.
        let course = MarquardtSettings {
            steps: most,
            ..MarquardtSettings::default()
        };
        let legality = start.figure.legality();
        let mut search = PosteriorSearch {
            posterior: self,
            sections,
            energies,
        };
        let found = minimise(&mut search, (start, legality), &course, (progress, stage))?;
        Ok(found.0.figure)
    }
}

/// Search for the most probable figure.
struct PosteriorSearch<'a> {
    posterior: &'a Posterior<'a>,
    /// Sections that move, instead of all atoms.
    sections: Option<&'a FigureSections>,
    /// Reported energies of accepted figures.
    energies: &'a mut Vec<f64>,
}

impl DampedProblem for PosteriorSearch<'_> {
    /// A figure with its energies, and its legality.
    type SearchPoint = (PosteriorState, f64);
    type Derivatives = (Vec<f64>, Mat<f64>);
    type Error = Cancelled;

    fn energy(&self, (at, _): &(PosteriorState, f64)) -> f64 {
        at.energy()
    }

    fn derivatives(
        &mut self,
        (at, _): &(PosteriorState, f64),
    ) -> Result<Option<Self::Derivatives>, Cancelled> {
        Ok(Some(self.posterior.derivatives(at)))
    }

    fn find_lower(
        &mut self,
        (at, legality): &(PosteriorState, f64),
        (gradient, hessian): &Self::Derivatives,
        damping: f64,
    ) -> Option<((PosteriorState, f64), f64)> {
        /// Share of the legality that one step has to leave: no step leads on from the edge of a fold. Half of it leaves fits to limbs the same to
        /// 0.002 % of the size; with a share of 1 a fox's tail would be missed by 0.5 % instead of 0.1.
        const MIN_LEGALITY_RATIO: f64 = 0.5;
        let posterior = self.posterior;
        let slopes = (&gradient[..], hessian);
        let mut change = posterior.propose_step(&at.figure, slopes, self.sections, damping)?;
        posterior.unknowns.limit_step(&mut change);
        let figure = posterior.unknowns.apply_step(&at.figure, &change);
        let after = figure.legality();
        if after < *legality && after <= MIN_LEGALITY.max(MIN_LEGALITY_RATIO * legality) {
            return None;
        }
        let next = Some(posterior.evaluate(figure)).filter(|next| next.is_better_than(at))?;
        self.energies.push(next.reported_energy());
        Some(((next, after), 1.0))
    }
}
