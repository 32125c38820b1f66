// SPDX-License-Identifier: MIT OR Apache-2.0
//! Solver for amplitudes that satisfy the constraints: the paper's step with constant R̃, repeated, then Newton's
//! method. [choi2003, §5.1, §5.2, eqs 23 and 25]

use super::Modes;
use super::constraints::{CLOSE, Constraints, Target};
use crate::Mat3;
use crate::geometry::rotation_vector::{mean_rotation, mean_rotation_derivative};
use nalgebra::{DMatrix, DVector};

/// Maximum number of the paper's corrections per step,
const TURNS: usize = 16;
/// and the deviation, as a share of the body's size, at which Newton's method takes over.
const NEAR: f64 = 1e-3;
/// Maximum number of sweeps of the iteration for singular values.
const SWEEPS: usize = 1000;
/// Maximum number of Newton's corrections.
const PASSES: usize = 40;
/// Deviation at which corrections end, as a share of the size: one pass beyond the required accuracy.
const AIM: f64 = 1e-11;
/// Number of intermediate targets between the current positions and the targets.
const WAYPOINTS: u32 = 8;
/// Effect of the exercised nodes, as a share of the largest, below which a direction is not used.
const RANK: f64 = 1e-10;

/// Finds amplitudes that satisfy the constraints, among those that forces at exercised nodes produce.
pub(super) struct Solver<'a> {
    pub constraints: &'a Constraints,
    pub modes: &'a Modes,
    pub warp: bool,
    /// Change of the amplitudes by unit forces at exercised nodes.
    pub gain: &'a DMatrix<f64>,
}

/// The constrained quantities at some amplitudes, orientations scaled to metres.
pub(super) struct Place {
    pub q: DVector<f64>,
    pub value: DVector<f64>,
    /// Derivative of `value`.
    pub jacobian: DMatrix<f64>,
    /// Derivative with R̃ constant, as in the paper.
    frozen: DMatrix<f64>,
}

impl Place {
    pub fn off(&self, targets: &DVector<f64>) -> f64 {
        (targets - &self.value).norm()
    }
}

impl Solver<'_> {
    /// Moves to the targets; where the direct path stalls, through intermediate targets. Returns the number of passes
    /// too.
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

    /// Repeats the paper's step, which rotates far but may diverge, then runs Newton's method from the best point.
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

    /// Makes Newton steps, shortened until they help, until the targets are met or no closer point is found.
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

    /// Makes a part of the step that would reach the targets if `by` were the constant derivative.
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

/// Computes `A⁺ b`: the shortest least-squares solution.
pub(super) fn pseudo_solve(a: DMatrix<f64>, b: &DVector<f64>) -> DVector<f64> {
    let columns = a.ncols();
    // The iteration below would not end on numbers that are not finite.
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
