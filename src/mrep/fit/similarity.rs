// SPDX-License-Identifier: MIT OR Apache-2.0
//! First stage of a fit: place, rotation and size of the figure, or of several as one.

use super::evidence::Evidence;
use super::marquardt::{Posterior, PosteriorState};
use super::start::Similarity;
use crate::mrep::figures::figure::Figure;
use crate::progress::{Cancelled, Progress};
use crate::solve::marquardt::{self, DampedProblem, MarquardtSettings, damped_step};
use crate::solve::tall;
use crate::{Mat3, Vec3};
use faer::Mat;

/// Unknowns: displacement 3 in sizes, rotation 3, logarithm of the scale. Their axes turn with the figure, as damping depends on the
/// axes.
const UNKNOWN_COUNT: usize = 7;

/// Centre, axes and size of all figures together.
struct ModelFrame {
    centre: Vec3,
    axes: Mat3,
    size: f64,
}

impl ModelFrame {
    /// Measures all boundaries together, along the axes of the first atom.
    fn new(boundaries: &[Vec<Vec3>], first: &Figure) -> Self {
        let positions = || boundaries.iter().flatten();
        let count = positions().count() as f64;
        let centre = positions().sum::<Vec3>() / count;
        let arms = positions().map(|p| (p - centre).norm_squared());
        Self {
            centre,
            axes: first.atoms()[0].frame,
            size: (arms.sum::<f64>() / count).sqrt(),
        }
    }

    /// Returns the derivatives of boundary vertices by the unknowns.
    fn jacobian(&self, positions: &[Vec3]) -> Mat<f64> {
        let mut jacobian = Mat::zeros(UNKNOWN_COUNT, 3 * positions.len());
        for (k, p) in positions.iter().enumerate() {
            let arm = p - self.centre;
            let turns = -arm.cross_matrix() * self.axes;
            for c in 0..3 {
                jacobian[(6, 3 * k + c)] = arm[c];
                for axis in 0..3 {
                    jacobian[(axis, 3 * k + c)] = self.axes[(c, axis)] * self.size;
                    jacobian[(3 + axis, 3 * k + c)] = turns[(c, axis)];
                }
            }
        }
        jacobian
    }

    /// Returns the gradient and the second derivatives of all evidence.
    fn derivatives<'a>(
        &self,
        seen: impl Iterator<Item = (&'a Vec<Vec3>, &'a Evidence)>,
    ) -> (Vec<f64>, Mat<f64>) {
        let (mut gradient, mut hessian) = (
            vec![0.0; UNKNOWN_COUNT],
            Mat::zeros(UNKNOWN_COUNT, UNKNOWN_COUNT),
        );
        for (positions, evidence) in seen {
            let jacobian = self.jacobian(positions);
            for (sum, g) in gradient.iter_mut().zip(evidence.gradient(&jacobian)) {
                *sum += g;
            }
            let product = evidence.hessian_product(&jacobian);
            hessian += tall::transposed_product(jacobian.transpose(), product.transpose());
        }
        (gradient, hessian)
    }

    fn similarity_for_step(&self, step: &[f64]) -> Similarity {
        let turn = nalgebra::Rotation3::new(self.axes * Vec3::new(step[3], step[4], step[5]));
        let turn: Mat3 = *turn.matrix();
        let scale = step[6].exp();
        let shift = self.axes * Vec3::new(step[0], step[1], step[2]) * self.size;
        let shift = self.centre + shift - turn * self.centre * scale;
        Similarity { scale, turn, shift }
    }
}

/// Steps of all figures at once until convergence, each with its own posterior. Appends the sum of the reported energies after each
/// accepted step to `energies`.
pub(super) fn minimise(
    posteriors: &[Posterior<'_>],
    start: Vec<Figure>,
    energies: &mut Vec<f64>,
    progress: &dyn Progress,
) -> Result<Vec<Figure>, Cancelled> {
    /// Largest number of steps: each moves by half a size or radian at most, so that they reach fifteen sizes, and the first start lies
    /// nearer.
    const MAX_STEPS: usize = 30;
    /// Relative fall of the energy below which the iteration ends: the atoms' stage does the rest.
    const ENERGY_TOLERANCE: f64 = 1e-4;
    let mut placing = SimilaritySearch {
        posteriors,
        energies,
    };
    let start = placing.evaluate_figures(start);
    placing.energies.push(reported_energy(&start));
    let course = MarquardtSettings {
        steps: MAX_STEPS,
        little: (ENERGY_TOLERANCE, 1),
        ..MarquardtSettings::default()
    };
    let label = "placing the model";
    let found = marquardt::minimise(&mut placing, start, &course, (progress, label))?;
    Ok(found.into_iter().map(|state| state.figure).collect())
}

fn reported_energy(states: &[PosteriorState]) -> f64 {
    states.iter().map(PosteriorState::reported_energy).sum()
}

/// Search for the similarity of all figures as one.
struct SimilaritySearch<'a> {
    posteriors: &'a [Posterior<'a>],
    /// Sums of the reported energies after accepted steps.
    energies: &'a mut Vec<f64>,
}

impl SimilaritySearch<'_> {
    fn evaluate_figures(&self, figures: impl IntoIterator<Item = Figure>) -> Vec<PosteriorState> {
        let each = self.posteriors.iter().zip(figures);
        each.map(|(posterior, figure)| posterior.evaluate(figure))
            .collect()
    }
}

impl DampedProblem for SimilaritySearch<'_> {
    type SearchPoint = Vec<PosteriorState>;
    type Derivatives = (ModelFrame, Vec<f64>, Mat<f64>);
    type Error = Cancelled;

    fn energy(&self, at: &Vec<PosteriorState>) -> f64 {
        at.iter().map(PosteriorState::energy).sum()
    }

    fn derivatives(
        &mut self,
        at: &Vec<PosteriorState>,
    ) -> Result<Option<Self::Derivatives>, Cancelled> {
        let boundaries: Vec<Vec<Vec3>> = (self.posteriors.iter().zip(at))
            .map(|(posterior, state)| posterior.boundary.positions(&state.figure))
            .collect();
        let Some(first) = at.first() else {
            return Ok(None);
        };
        let whole = ModelFrame::new(&boundaries, &first.figure);
        let seen = boundaries.iter().zip(at.iter().map(|s| &s.evidence));
        let (gradient, hessian) = whole.derivatives(seen);
        Ok(Some((whole, gradient, hessian)))
    }

    fn find_lower(
        &mut self,
        at: &Vec<PosteriorState>,
        (whole, gradient, hessian): &Self::Derivatives,
        damping: f64,
    ) -> Option<(Vec<PosteriorState>, f64)> {
        /// Longest step in any unknown, in sizes, radians and logarithms alike: linearisation holds about as far.
        const MAX_STEP_LENGTH: f64 = 0.5;
        let mut change = damped_step(hessian, gradient, &[false; UNKNOWN_COUNT], damping)?;
        let far = change.iter().fold(0.0_f64, |far, x| far.max(x.abs()));
        if far > MAX_STEP_LENGTH {
            change.iter_mut().for_each(|x| *x *= MAX_STEP_LENGTH / far);
        }
        let moved = whole.similarity_for_step(&change);
        let next = self.evaluate_figures(at.iter().map(|s| moved.apply(&s.figure)));
        let lower =
            self.energy(&next) < self.energy(at) && reported_energy(&next) < reported_energy(at);
        lower.then(|| {
            self.energies.push(reported_energy(&next));
            (next, 1.0)
        })
    }
}
