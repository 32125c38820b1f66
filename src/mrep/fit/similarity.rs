// SPDX-License-Identifier: MIT OR Apache-2.0
//! First stage: where the whole figure lies, how it is turned and how big it is.

use super::super::boundary::Boundary;
use super::super::figure::Figure;
use super::evidence::Evidence;
use super::marquardt::{LEAST_DAMPING, Posterior, State, solve};
use crate::progress::{Cancelled, Progress, step};
use crate::solve::tall;
use crate::{Mat3, Vec3};
use faer::Mat;

/// Displacement 3 in sizes, turn 3, logarithm of the scale: along and about axes that go with the figure, as damping tells axes apart.
const UNKNOWNS: usize = 7;

/// Derivatives of boundary vertices by the unknowns, and what they turn and grow about.
struct Whole {
    centre: Vec3,
    axes: Mat3,
    size: f64,
    jacobian: Mat<f64>,
}

impl Whole {
    fn new(boundary: &Boundary, figure: &Figure) -> Self {
        let positions = boundary.positions(figure);
        let centre = positions.iter().sum::<Vec3>() / positions.len() as f64;
        let arms = positions.iter().map(|p| (p - centre).norm_squared());
        let size = (arms.sum::<f64>() / positions.len() as f64).sqrt();
        let axes = figure.atoms()[0].frame;
        let mut jacobian = Mat::zeros(UNKNOWNS, 3 * positions.len());
        for (k, p) in positions.iter().enumerate() {
            let arm = p - centre;
            let turns = -arm.cross_matrix() * axes;
            for c in 0..3 {
                jacobian[(6, 3 * k + c)] = arm[c];
                for axis in 0..3 {
                    jacobian[(axis, 3 * k + c)] = axes[(c, axis)] * size;
                    jacobian[(3 + axis, 3 * k + c)] = turns[(c, axis)];
                }
            }
        }
        Self {
            centre,
            axes,
            size,
            jacobian,
        }
    }

    fn derivatives(&self, evidence: &Evidence) -> (Vec<f64>, Mat<f64>) {
        let gradient = evidence.gradient(&self.jacobian);
        let product = evidence.times(&self.jacobian);
        (
            gradient,
            tall::inner(self.jacobian.transpose(), product.transpose()),
        )
    }

    fn moved(&self, figure: &Figure, step: &[f64]) -> Figure {
        let turn = nalgebra::Rotation3::new(self.axes * Vec3::new(step[3], step[4], step[5]));
        let turn: &Mat3 = turn.matrix();
        let scale = step[6].exp();
        let shift = self.axes * Vec3::new(step[0], step[1], step[2]) * self.size;
        let shift = self.centre + shift - turn * self.centre * scale;
        figure.transformed(scale, turn, shift)
    }
}

/// Steps of all atoms at once until nothing more is to be had; `energies` gets the reported one of each figure.
pub(super) fn minimise(
    posterior: &Posterior<'_>,
    start: Figure,
    energies: &mut Vec<f64>,
    progress: &dyn Progress,
) -> Result<Figure, Cancelled> {
    /// Steps at most: each goes half a radius or radian at most, so that they reach fifteen radii, and the first start lies nearer.
    const STEPS: usize = 30;
    /// Dampings tried for a step at most: each is four times the last, so that the eighth leaves a thousandth of it.
    const TRIES: usize = 8;
    /// Longest step in any unknown.
    const LONGEST: f64 = 0.5;
    /// Relative fall that is no more worth a step: atoms do the rest.
    const LITTLE: f64 = 1e-4;
    let mut state: State = posterior.state(start);
    energies.push(state.reported());
    let mut damping = 1e-3;
    for k in 0..STEPS {
        step(progress, k as f64 / STEPS as f64, "placing the model")?;
        let whole = Whole::new(posterior.boundary, &state.figure);
        let (gradient, hessian) = whole.derivatives(&state.evidence);
        let mut taken = None;
        for _ in 0..TRIES {
            if let Some(mut change) = solve(&hessian, &gradient, &[false; UNKNOWNS], damping) {
                let far = change.iter().fold(0.0_f64, |far, x| far.max(x.abs()));
                if far > LONGEST {
                    change.iter_mut().for_each(|x| *x *= LONGEST / far);
                }
                let next = posterior.state(whole.moved(&state.figure, &change));
                if next.is_below(&state) {
                    taken = Some(next);
                    break;
                }
            }
            damping *= 4.0;
        }
        let Some(next) = taken else {
            break;
        };
        let fall = 1.0 - next.energy() / state.energy();
        state = next;
        energies.push(state.reported());
        damping = (damping / 6.0).max(LEAST_DAMPING);
        if fall < LITTLE {
            break;
        }
    }
    Ok(state.figure)
}
