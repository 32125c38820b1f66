// SPDX-License-Identifier: MIT OR Apache-2.0
//! First stage of a fit: place, rotation and size of the figure, or of several as one.

use super::evidence::Evidence;
use super::marquardt::{Posterior, State};
use super::start::Similarity;
use crate::mrep::figures::figure::Figure;
use crate::progress::{Cancelled, Progress};
use crate::solve::marquardt::{self, Course, Damped, damped_step};
use crate::solve::tall;
use crate::{Mat3, Vec3};
use faer::Mat;

/// Unknowns: displacement 3 in sizes, rotation 3, logarithm of the scale. Their axes turn with the figure, as damping depends on the
/// axes.
const UNKNOWNS: usize = 7;

/// Centre, axes and size of all figures together.
struct Whole {
    centre: Vec3,
    axes: Mat3,
    size: f64,
}

impl Whole {
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
        let mut jacobian = Mat::zeros(UNKNOWNS, 3 * positions.len());
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
        let (mut gradient, mut hessian) = (vec![0.0; UNKNOWNS], Mat::zeros(UNKNOWNS, UNKNOWNS));
        for (positions, evidence) in seen {
            let jacobian = self.jacobian(positions);
            for (sum, g) in gradient.iter_mut().zip(evidence.gradient(&jacobian)) {
                *sum += g;
            }
            let product = evidence.times(&jacobian);
            hessian += tall::inner(jacobian.transpose(), product.transpose());
        }
        (gradient, hessian)
    }

    fn moved(&self, step: &[f64]) -> Similarity {
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
    const STEPS: usize = 30;
    /// Relative fall of the energy below which the iteration ends: the atoms' stage does the rest.
    const LITTLE: f64 = 1e-4;
    let mut placing = Placing {
        posteriors,
        energies,
    };
    let start = placing.states(start);
    placing.energies.push(reported(&start));
    let course = Course {
        steps: STEPS,
        little: (LITTLE, 1),
        ..Course::default()
    };
    let label = "placing the model";
    let found = marquardt::minimise(&mut placing, start, &course, (progress, label))?;
    Ok(found.into_iter().map(|state| state.figure).collect())
}

fn reported(states: &[State]) -> f64 {
    states.iter().map(State::reported).sum()
}

/// Search for the place of all figures.
struct Placing<'a> {
    posteriors: &'a [Posterior<'a>],
    /// Sums of the reported energies after accepted steps.
    energies: &'a mut Vec<f64>,
}

impl Placing<'_> {
    fn states(&self, figures: impl IntoIterator<Item = Figure>) -> Vec<State> {
        let each = self.posteriors.iter().zip(figures);
        each.map(|(posterior, figure)| posterior.state(figure))
            .collect()
    }
}

impl Damped for Placing<'_> {
    type State = Vec<State>;
    type Slopes = (Whole, Vec<f64>, Mat<f64>);
    type Error = Cancelled;

    fn energy(&self, at: &Vec<State>) -> f64 {
        at.iter().map(State::energy).sum()
    }

    fn slopes(&mut self, at: &Vec<State>) -> Result<Option<Self::Slopes>, Cancelled> {
        let boundaries: Vec<Vec<Vec3>> = (self.posteriors.iter().zip(at))
            .map(|(posterior, state)| posterior.boundary.positions(&state.figure))
            .collect();
        let Some(first) = at.first() else {
            return Ok(None);
        };
        let whole = Whole::new(&boundaries, &first.figure);
        let seen = boundaries.iter().zip(at.iter().map(|s| &s.evidence));
        let (gradient, hessian) = whole.derivatives(seen);
        Ok(Some((whole, gradient, hessian)))
    }

    fn lower(
        &mut self,
        at: &Vec<State>,
        (whole, gradient, hessian): &Self::Slopes,
        damping: f64,
    ) -> Option<(Vec<State>, f64)> {
        /// Longest step in any unknown, in sizes, radians and logarithms alike: linearisation holds about as far.
        const LONGEST: f64 = 0.5;
        let mut change = damped_step(hessian, gradient, &[false; UNKNOWNS], damping)?;
        let far = change.iter().fold(0.0_f64, |far, x| far.max(x.abs()));
        if far > LONGEST {
            change.iter_mut().for_each(|x| *x *= LONGEST / far);
        }
        let moved = whole.moved(&change);
        let next = self.states(at.iter().map(|s| moved.of(&s.figure)));
        let lower = self.energy(&next) < self.energy(at) && reported(&next) < reported(at);
        lower.then(|| {
            self.energies.push(reported(&next));
            (next, 1.0)
        })
    }
}
