// SPDX-License-Identifier: MIT OR Apache-2.0
//! Solver for amplitudes that satisfy the constraints: the paper's step with constant R̃, repeated, then Newton's
//! method. [choi2003, §5.1, §5.2, eqs 23 and 25]

use super::Modes;
use super::constraints::{HoldTarget, ModalConstraints, TARGET_TOLERANCE};
use crate::Mat3;
use crate::geometry::rotation_vector::{mean_rotation, mean_rotation_derivative};
use nalgebra::{DMatrix, DVector};

/// Maximum number of the paper's corrections per step.
const MAX_PAPER_STEPS: usize = 16;
/// Deviation, as a share of the body's size, at which Newton's method takes over from the paper's corrections.
const NEWTON_DISTANCE: f64 = 1e-3;
/// Maximum number of sweeps of the iteration for singular values.
const MAX_SVD_SWEEPS: usize = 1000;
/// Maximum number of Newton's corrections.
const MAX_NEWTON_STEPS: usize = 40;
/// Deviation at which corrections end, as a share of the size: one pass beyond the required accuracy.
const NEWTON_TOLERANCE: f64 = 1e-11;
/// Number of intermediate targets between the current positions and the targets.
const WAYPOINTS: u32 = 8;
/// Effect of the exercised nodes, as a share of the largest, below which a direction is not used.
const RANK_TOLERANCE: f64 = 1e-10;

/// Finds amplitudes that satisfy the constraints, among those that forces at exercised nodes produce.
pub(super) struct TargetSolver<'a> {
    pub constraints: &'a ModalConstraints,
    pub modes: &'a Modes,
    pub warp: bool,
    /// Change of the amplitudes by unit forces at exercised nodes.
    pub gain: &'a DMatrix<f64>,
}

/// The constrained quantities at some amplitudes, orientations scaled to metres.
pub(super) struct ConstraintState {
    pub q: DVector<f64>,
    pub value: DVector<f64>,
    /// Derivative of `value`.
    pub jacobian: DMatrix<f64>,
    /// Derivative with R̃ constant, as in the paper.
    frozen: DMatrix<f64>,
}

impl ConstraintState {
    pub fn distance(&self, targets: &DVector<f64>) -> f64 {
        (targets - &self.value).norm()
    }
}

impl TargetSolver<'_> {
    /// Moves to the targets; where the direct path stalls, through intermediate targets. Also returns the number of passes.
    pub fn satisfy(&self, from: &DVector<f64>) -> (ConstraintState, usize) {
        let targets = self.constraints.targets();
        let start = self.evaluate(from.clone());
        let begin = start.value.clone();
        let (best, mut passes) = self.pursue(start, &targets);
        let off = |place: &ConstraintState| place.distance(&targets);
        if !self.warp || off(&best) <= TARGET_TOLERANCE * self.constraints.size {
            return (best, passes);
        }
        let mut place = self.evaluate(from.clone());
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

    /// Repeats the paper's step, which rotates far but may diverge, then runs Newton's method from the best point.
    fn pursue(&self, start: ConstraintState, targets: &DVector<f64>) -> (ConstraintState, usize) {
        let (close, far) = (
            NEWTON_DISTANCE * self.constraints.size,
            10.0 * start.distance(targets),
        );
        let mut best = start;
        let mut passes = 0;
        let mut trial: Option<ConstraintState> = None;
        while self.warp && passes < MAX_PAPER_STEPS && best.distance(targets) > close {
            let place = trial.as_ref().unwrap_or(&best);
            let next = self.take_step(place, &place.frozen, targets, 1.0);
            passes += 1;
            let off = next.distance(targets);
            if off.is_nan() || off > far {
                break;
            }
            if off < best.distance(targets) {
                (best, trial) = (next, None);
            } else {
                trial = Some(next);
            }
        }
        let (place, more) = self.descend(best, targets);
        (place, passes + more)
    }

    /// Takes Newton steps, shortened until they come closer, until the targets are met or no closer point is found.
    fn descend(
        &self,
        mut place: ConstraintState,
        targets: &DVector<f64>,
    ) -> (ConstraintState, usize) {
        for pass in 0..MAX_NEWTON_STEPS {
            let length = place.distance(targets);
            if !length.is_finite() || length <= NEWTON_TOLERANCE * self.constraints.size {
                return (place, pass);
            }
            let mut part = 1.0;
            let mut better = None;
            while better.is_none() && part > 1e-3 {
                let next = self.take_step(&place, &place.jacobian, targets, part);
                better = (next.distance(targets) < length).then_some(next);
                part *= 0.5;
            }
            let Some(better) = better else {
                return (place, pass + 1);
            };
            place = better;
            if place.distance(targets) > length * (1.0 - 1e-6) {
                return (place, pass + 1);
            }
        }
        (place, MAX_NEWTON_STEPS)
    }

    /// Takes a part of the step that would reach the targets if `by` were the constant derivative.
    fn take_step(
        &self,
        place: &ConstraintState,
        by: &DMatrix<f64>,
        targets: &DVector<f64>,
        part: f64,
    ) -> ConstraintState {
        let force = pseudo_solve(by * self.gain, &(targets - &place.value));
        self.evaluate(&place.q + self.gain * force * part)
    }

    fn evaluate(&self, q: DVector<f64>) -> ConstraintState {
        let (rows, m) = (&self.constraints.rows, self.modes.len());
        let mut place = ConstraintState {
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
                HoldTarget::Position(_) if self.warp => {
                    let turn = mean_rotation(&w);
                    (
                        turn * u,
                        turn,
                        mean_rotation_derivative(&w, &u),
                        Mat3::zeros(),
                    )
                }
                HoldTarget::Position(_) => (u, Mat3::identity(), Mat3::zeros(), Mat3::zeros()),
                HoldTarget::Orientation(_) => {
                    (w, Mat3::zeros(), Mat3::identity(), Mat3::identity())
                }
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

/// Computes `A⁺ b`: the shortest least-squares solution.
pub(super) fn pseudo_solve(a: DMatrix<f64>, b: &DVector<f64>) -> DVector<f64> {
    let columns = a.ncols();
    // The iteration below would not end on numbers that are not finite.
    if !a.iter().chain(b.iter()).all(|x| x.is_finite()) {
        return DVector::zeros(columns);
    }
    let Some(svd) = a.try_svd(true, true, f64::EPSILON, MAX_SVD_SWEEPS) else {
        return DVector::zeros(columns);
    };
    let largest = svd.singular_values.iter().copied().fold(0.0, f64::max);
    if !(largest > 0.0 && largest.is_finite()) {
        return DVector::zeros(columns);
    }
    svd.solve(b, RANK_TOLERANCE * largest)
        .unwrap_or_else(|_| DVector::zeros(columns))
}
