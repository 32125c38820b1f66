// SPDX-License-Identifier: MIT OR Apache-2.0
//! The amplitudes at which constraints hold: the paper's step with R̃ held fixed, repeated, then Newton's.
//! [choi2003, §5.1, §5.2, eqs 23 and 25]

use super::Modes;
use super::manipulate::{CLOSE, Constraints, Target};
use crate::Mat3;
use crate::skeleton::rotation_vector::{mean_rotation, mean_rotation_derivative};
use nalgebra::{DMatrix, DVector};

/// The paper's corrections per step at most,
const TURNS: usize = 16;
/// which go on while the constraints are farther off than this part of the body's size; then Newton's.
const NEAR: f64 = 1e-3;
/// Sweeps of the iteration for singular values at most.
const SWEEPS: usize = 1000;
/// Newton's corrections at most.
const PASSES: usize = 40;
/// Corrections go on until the constraints hold to this part of the size, one pass beyond what is asked for.
const AIM: f64 = 1e-11;
/// Intermediate targets between the present positions and the targets.
const WAYPOINTS: u32 = 8;
/// Directions in which the exercised nodes have less than this part of their largest effect are not used.
const RANK: f64 = 1e-10;

/// Finds amplitudes at which the constraints hold, among those that forces at exercised nodes can make.
pub(super) struct Solver<'a> {
    pub constraints: &'a Constraints,
    pub modes: &'a Modes,
    pub warp: bool,
    /// What unit forces at exercised nodes add to the amplitudes.
    pub gain: &'a DMatrix<f64>,
}

/// What is held at some amplitudes, orientations in metres.
pub(super) struct Place {
    pub q: DVector<f64>,
    pub value: DVector<f64>,
    /// Its derivative.
    pub jacobian: DMatrix<f64>,
    /// The same with R̃ held fixed: the paper's.
    frozen: DMatrix<f64>,
}

impl Place {
    pub fn off(&self, targets: &DVector<f64>) -> f64 {
        (targets - &self.value).norm()
    }
}

impl Solver<'_> {
    /// Goes to the targets; where the straight path stalls, by intermediate targets.
    pub fn satisfy(&self, from: &DVector<f64>) -> (Place, usize) {
        let targets = self.constraints.targets();
        let start = self.at(from.clone());
        let begin = start.value.clone();
        let (best, mut passes) = self.pursue(start, &targets);
        let off = |place: &Place| place.off(&targets);
        if !self.warp || off(&best) <= CLOSE * self.constraints.size {
            return (best, passes);
        }
        let mut place = self.at(from.clone());
        for way in 1..=WAYPOINTS {
            let part = f64::from(way) / f64::from(WAYPOINTS);
            let (next, more) = self.pursue(place, &begin.lerp(&targets, part));
            (place, passes) = (next, passes + more);
        }
        (
            if off(&place) < off(&best) {
                place
            } else {
                best
            },
            passes,
        )
    }

    /// The paper's step, repeated, which turns far but may go astray; then Newton's from the best point.
    fn pursue(&self, start: Place, targets: &DVector<f64>) -> (Place, usize) {
        let (close, far) = (NEAR * self.constraints.size, 10.0 * start.off(targets));
        let mut best = start;
        let mut passes = 0;
        let mut trial: Option<Place> = None;
        while self.warp && passes < TURNS && best.off(targets) > close {
            let place = trial.as_ref().unwrap_or(&best);
            let next = self.stepped(place, &place.frozen, targets, 1.0);
            passes += 1;
            let off = next.off(targets);
            if off.is_nan() || off > far {
                break;
            }
            if off < best.off(targets) {
                (best, trial) = (next, None);
            } else {
                trial = Some(next);
            }
        }
        let (place, more) = self.descend(best, targets);
        (place, passes + more)
    }

    /// Newton's steps, shortened until they help, until the targets are met or as near as they can be.
    fn descend(&self, mut place: Place, targets: &DVector<f64>) -> (Place, usize) {
        for pass in 0..PASSES {
            let length = place.off(targets);
            if !length.is_finite() || length <= AIM * self.constraints.size {
                return (place, pass);
            }
            let mut part = 1.0;
            let mut better = None;
            while better.is_none() && part > 1e-3 {
                let next = self.stepped(&place, &place.jacobian, targets, part);
                better = (next.off(targets) < length).then_some(next);
                part *= 0.5;
            }
            let Some(better) = better else {
                return (place, pass + 1);
            };
            place = better;
            if place.off(targets) > length * (1.0 - 1e-6) {
                return (place, pass + 1);
            }
        }
        (place, PASSES)
    }

    /// Part of the step that would reach the targets if what is held changed by a constant matrix.
    fn stepped(
        &self,
        place: &Place,
        by: &DMatrix<f64>,
        targets: &DVector<f64>,
        part: f64,
    ) -> Place {
        let force = pseudo_solve(by * self.gain, &(targets - &place.value));
        self.at(&place.q + self.gain * force * part)
    }

    fn at(&self, q: DVector<f64>) -> Place {
        let (rows, m) = (&self.constraints.rows, self.modes.len());
        let mut place = Place {
            value: DVector::zeros(3 * rows.len()),
            jacobian: DMatrix::zeros(3 * rows.len(), m),
            frozen: DMatrix::zeros(3 * rows.len(), m),
            q,
        };
        for (r, row) in rows.iter().enumerate() {
            let (node, q) = (row.hold.node, place.q.as_slice());
            let (u, w) = (
                self.modes.displacement(q, node),
                self.modes.rotation(q, node),
            );
            let scale = self.constraints.scale(&row.hold.target);
            let (value, by_u, by_w, frozen_w) = match row.hold.target {
                Target::Position(_) if self.warp => {
                    let turn = mean_rotation(&w);
                    (
                        turn * u,
                        turn,
                        mean_rotation_derivative(&w, &u),
                        Mat3::zeros(),
                    )
                }
                Target::Position(_) => (u, Mat3::identity(), Mat3::zeros(), Mat3::zeros()),
                Target::Orientation(_) => (w, Mat3::zeros(), Mat3::identity(), Mat3::identity()),
            };
            place
                .value
                .fixed_rows_mut::<3>(3 * r)
                .copy_from(&(value * scale));
            for i in 0..m {
                let (shape, turn) = (
                    self.modes.shapes()[i][node],
                    self.modes.rotations()[i][node],
                );
                let put = |to: &mut DMatrix<f64>, by_w: Mat3| {
                    let d = (by_u * shape + by_w * turn) * scale;
                    to.fixed_view_mut::<3, 1>(3 * r, i).copy_from(&d);
                };
                put(&mut place.jacobian, by_w);
                put(&mut place.frozen, frozen_w);
            }
        }
        place
    }
}

/// `A⁺ b`: the smallest of the vectors nearest to a solution.
pub(super) fn pseudo_solve(a: DMatrix<f64>, b: &DVector<f64>) -> DVector<f64> {
    let columns = a.ncols();
    // The iteration below would never end on numbers that are none.
    if !a.iter().chain(b.iter()).all(|x| x.is_finite()) {
        return DVector::zeros(columns);
    }
    let Some(svd) = a.try_svd(true, true, f64::EPSILON, SWEEPS) else {
        return DVector::zeros(columns);
    };
    let largest = svd.singular_values.iter().copied().fold(0.0, f64::max);
    if !(largest > 0.0 && largest.is_finite()) {
        return DVector::zeros(columns);
    }
    svd.solve(b, RANK * largest)
        .unwrap_or_else(|_| DVector::zeros(columns))
}
