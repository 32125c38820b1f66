// SPDX-License-Identifier: MIT OR Apache-2.0
//! First stage of a fit: place, rotation and size of the figure, or of several as one.

use super::evidence::Evidence;
use super::marquardt::{LEAST_DAMPING, Posterior, State, solve};
use super::start::Similarity;
use crate::mrep::figures::figure::Figure;
use crate::progress::{Cancelled, Progress, step};
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
    /// Largest number of dampings tried per step: each is four times the last, the eighth sixteen thousand times the first.
    const TRIES: usize = 8;
    /// Longest step in any unknown, in sizes, radians and logarithms alike: linearisation holds about as far.
    const LONGEST: f64 = 0.5;
    /// Relative fall of the energy below which the iteration ends: the atoms' stage does the rest.
    const LITTLE: f64 = 1e-4;
    let states = |figures: Vec<Figure>| -> Vec<State> {
        let each = posteriors.iter().zip(figures);
        each.map(|(posterior, figure)| posterior.state(figure))
            .collect()
    };
    let energy = |states: &[State]| states.iter().map(State::energy).sum::<f64>();
    let reported = |states: &[State]| states.iter().map(State::reported).sum::<f64>();
    let mut now = states(start);
    energies.push(reported(&now));
    let mut damping = 1e-3;
    for k in 0..STEPS {
        step(progress, k as f64 / STEPS as f64, "placing the model")?;
        let boundaries: Vec<Vec<Vec3>> = (posteriors.iter().zip(&now))
            .map(|(posterior, state)| posterior.boundary.positions(&state.figure))
            .collect();
        let Some(first) = now.first() else {
            break;
        };
        let whole = Whole::new(&boundaries, &first.figure);
        let seen = boundaries.iter().zip(now.iter().map(|s| &s.evidence));
        let (gradient, hessian) = whole.derivatives(seen);
        let mut taken = None;
        for _ in 0..TRIES {
            if let Some(mut change) = solve(&hessian, &gradient, &[false; UNKNOWNS], damping) {
                let far = change.iter().fold(0.0_f64, |far, x| far.max(x.abs()));
                if far > LONGEST {
                    change.iter_mut().for_each(|x| *x *= LONGEST / far);
                }
                let moved = whole.moved(&change);
                let next = states(now.iter().map(|s| moved.of(&s.figure)).collect());
                if energy(&next) < energy(&now) && reported(&next) < reported(&now) {
                    taken = Some(next);
                    break;
                }
            }
            damping *= 4.0;
        }
        let Some(next) = taken else {
            break;
        };
        let fall = 1.0 - energy(&next) / energy(&now);
        now = next;
        energies.push(reported(&now));
        damping = (damping / 6.0).max(LEAST_DAMPING);
        if fall < LITTLE {
            break;
        }
    }
    Ok(now.into_iter().map(|state| state.figure).collect())
}
