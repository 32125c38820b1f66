// SPDX-License-Identifier: MIT OR Apache-2.0
//! The best rigid motion through keyframes, which is taken out before modes are, and put back after.
//!
//! Linear modes know turns only to first order: a body that turns by half would balloon on the way. So each keyframe is laid back onto
//! the first by the rotation that fits best in the norm of the mass (Procrustes), centre by centre, and what remains is
//! deformation. The centre moves on wiggly splines without stiffness (under gravity: parabolas); the rotation follows the exponential
//! of a spline through the steps between keyframes, once continuously differentiable: it is no minimiser of the turning itself, and
//! the centrifugal and Coriolis forces of its frame on what deforms are left out.

use super::interval::Oscillator;
use super::knots::{KnotData, Layout};
use super::spline::WigglySpline;
use crate::skeleton::rotation_vector::rotation;
use crate::{Mat3, Vec3};
use nalgebra::{Rotation3, UnitQuaternion};
use std::sync::Arc;

/// Where a shape lies: `x = turn (y − pivot) + centre` of the shape y that is laid back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    pub turn: Mat3,
    pub centre: Vec3,
}

/// The mean position by mass.
pub(super) fn centre(x: &[Vec3], masses: &[f64]) -> Vec3 {
    let mut sum = Vec3::zeros();
    let mut mass = 0.0;
    for (x, m) in x.iter().zip(masses) {
        sum += x * *m;
        mass += m;
    }
    sum / mass
}

/// How a shape lies against a reference: the best rotation, and its own centre.
pub(super) fn place(reference: &[Vec3], x: &[Vec3], masses: &[f64]) -> Place {
    let (from, to) = (centre(reference, masses), centre(x, masses));
    let mut covariance = Mat3::zeros();
    for ((r, x), m) in reference.iter().zip(x).zip(masses) {
        covariance += (x - to) * (r - from).transpose() * *m;
    }
    let svd = covariance.svd(true, true);
    let turn = match (svd.u, svd.v_t) {
        (Some(u), Some(v_t)) => {
            let sign = (u * v_t).determinant().signum();
            // The least singular value turns over, if one has to.
            let least = svd.singular_values.imin();
            let mut flip = Mat3::identity();
            flip[(least, least)] = sign;
            u * flip * v_t
        }
        _ => Mat3::identity(),
    };
    Place { turn, centre: to }
}

/// The angle of a rotation, radians.
pub(super) fn angle(turn: &Mat3) -> f64 {
    (0.5 * (turn.trace() - 1.0)).clamp(-1.0, 1.0).acos()
}

/// Velocities of a shape, parted.
#[derive(Debug, Clone)]
pub(super) struct Parted {
    /// Of the centre.
    pub linear: Vec3,
    /// In the frame of the laid-back shape, radians per second.
    pub angular: Vec3,
    /// What is left, in that frame, one per vertex.
    pub rest: Vec<Vec3>,
}

/// Parts velocities of a shape that lies at a place.
pub(super) fn part(x: &[Vec3], velocities: &[Vec3], masses: &[f64], at: &Place) -> Parted {
    let linear = centre(velocities, masses);
    let (mut inertia, mut momentum) = (Mat3::zeros(), Vec3::zeros());
    for ((x, v), m) in x.iter().zip(velocities).zip(masses) {
        let arm = x - at.centre;
        inertia += (Mat3::identity() * arm.norm_squared() - arm * arm.transpose()) * *m;
        momentum += arm.cross(&(v - linear)) * *m;
    }
    let turning = inertia
        .pseudo_inverse(1e-12 * inertia.norm())
        .map_or(Vec3::zeros(), |inverse| inverse * momentum);
    let back = at.turn.transpose();
    let left = |(x, v): (&Vec3, &Vec3)| back * (v - linear - turning.cross(&(x - at.centre)));
    Parted {
        linear,
        angular: back * turning,
        rest: x.iter().zip(velocities).map(left).collect(),
    }
}

/// A rigid motion.
#[derive(Debug, Clone)]
pub(super) struct RigidPath {
    pub pivot: Vec3,
    turns: Vec<Mat3>,
    /// Centre (three modes) and summed rotation vectors between keyframes (three more).
    path: WigglySpline,
}

impl RigidPath {
    /// Through places at the knots of a layout with all values given. Slopes are those of [`Parted`]; gravity as an acceleration.
    pub fn new(
        layout: Arc<Layout>,
        places: &[Place],
        pivot: Vec3,
        slopes: (&[Option<Parted>], &[Option<Parted>]),
        damping: f64,
        gravity: Vec3,
    ) -> Self {
        let mut summed = vec![Vec3::zeros()];
        for pair in places.windows(2) {
            let step = vector(&(pair[0].turn.transpose() * pair[1].turn));
            summed.push(summed[summed.len() - 1] + step);
        }
        let slope = |of: &[Option<Parted>], linear: bool, axis: usize| {
            let number = |parted: &Option<Parted>| {
                let parted = parted.as_ref();
                parted.map_or(0.0, |p| (if linear { p.linear } else { p.angular })[axis])
            };
            of.iter().map(number).collect::<Vec<f64>>()
        };
        let mut given = Vec::new();
        let mut oscillators = Vec::new();
        for linear in [true, false] {
            for axis in 0..3 {
                let value = |(place, sum): (&Place, &Vec3)| -> f64 {
                    let of = if linear { &place.centre } else { sum };
                    of[axis]
                };
                given.push(KnotData {
                    values: places.iter().zip(&summed).map(value).collect(),
                    incoming: slope(slopes.0, linear, axis),
                    outgoing: slope(slopes.1, linear, axis),
                });
                oscillators.push(Oscillator {
                    stiffness: 0.0,
                    damping,
                    gravity: if linear { -gravity[axis] } else { 0.0 },
                });
            }
        }
        Self {
            pivot,
            turns: places.iter().map(|p| p.turn).collect(),
            path: WigglySpline::new(layout, oscillators, given),
        }
    }

    /// The place at a time.
    pub fn at(&self, time: f64) -> Place {
        let layout = self.path.layout();
        let (k, share) = layout.locate(time);
        let length = layout.length(k);
        let component = |offset: usize, of: &dyn Fn(&KnotData) -> f64| {
            Vec3::from_fn(|axis, _| of(self.path.data(offset + axis)))
        };
        let step = component(3, &|d| d.values[k + 1] - d.values[k]);
        let begin = component(3, &|d| d.outgoing[k]) * length;
        let end = to_vector_rate(&step, &(component(3, &|d| d.incoming[k + 1]) * length));
        // Hermite's cubic from nothing to the step.
        let s = share;
        let turned = step * (s * s * (3.0 - 2.0 * s)) + begin * (s * (1.0 - s) * (1.0 - s))
            - end * (s * s * (1.0 - s));
        Place {
            turn: self.turns[k] * rotation(&turned),
            centre: Vec3::from_fn(|axis, _| self.path.value(axis, time, 0)),
        }
    }

    /// `∫ |r|²` of the centre.
    pub fn cost(&self) -> f64 {
        (0..3).map(|axis| self.path.cost(axis)).sum()
    }
}

/// The rotation vector of a rotation.
pub(super) fn vector(turn: &Mat3) -> Vec3 {
    // By quaternions: a matrix of half a turn does not tell its axis off the diagonal.
    let turn = Rotation3::from_matrix_unchecked(*turn);
    UnitQuaternion::from_rotation_matrix(&turn).scaled_axis()
}

/// The rate of a rotation vector φ whose rotation turns at the rate ω in its own frame: `J_r(φ)⁻¹ ω`.
fn to_vector_rate(phi: &Vec3, omega: &Vec3) -> Vec3 {
    let square = phi.norm_squared();
    let factor = if square < 1e-6 {
        1.0 / 12.0 + square / 720.0
    } else {
        let theta = square.sqrt();
        (1.0 - 0.5 * theta / (0.5 * theta).tan()) / square
    };
    omega + phi.cross(omega) * 0.5 + phi.cross(&phi.cross(omega)) * factor
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spacetime::{Joint, Knot};

    fn cloud() -> (Vec<Vec3>, Vec<f64>) {
        let point = |i: usize| {
            let i = i as f64;
            Vec3::new(
                (3.1 * i).sin(),
                (1.7 * i).cos() * 0.6,
                (0.9 * i).sin() * 0.3,
            )
        };
        (
            (0..30).map(point).collect(),
            (0..30).map(|i| 1.0 + 0.1 * i as f64).collect(),
        )
    }

    #[test]
    fn shapes_that_differ_by_a_rigid_motion_are_laid_onto_each_other() {
        let (x, masses) = cloud();
        for w in [
            [0.1, 0.2, -0.3],
            [0.0, 3.1, 0.0],
            [0.0, std::f64::consts::PI, 0.0],
            [2.0, -1.0, 0.5],
        ]
        .map(Vec3::from)
        {
            let turn = rotation(&w);
            let moved: Vec<Vec3> = x
                .iter()
                .map(|x| turn * x + Vec3::new(5.0, 1.0, -2.0))
                .collect();
            let place = place(&x, &moved, &masses);
            assert!((place.turn - turn).norm() < 1e-12);
            assert!((rotation(&vector(&place.turn)) - turn).norm() < 1e-12);
            let spin = Vec3::new(0.4, -0.2, 0.9);
            let velocity =
                |x: &Vec3| Vec3::new(1.0, 2.0, 3.0) + (turn * spin).cross(&(x - place.centre));
            let velocities: Vec<Vec3> = moved.iter().map(velocity).collect();
            let parted = part(&moved, &velocities, &masses, &place);
            assert!((parted.linear - Vec3::new(1.0, 2.0, 3.0)).norm() < 1e-12);
            assert!((parted.angular - spin).norm() < 1e-11);
            assert!(parted.rest.iter().all(|v| v.norm() < 1e-11));
        }
    }

    #[test]
    fn the_path_meets_its_places_and_turns_at_one_rate_through_them() {
        let (x, masses) = cloud();
        let turns = [[0.0; 3], [0.3, 1.0, -0.2], [0.5, 1.9, 0.4], [0.4, 2.0, 1.0]].map(Vec3::from);
        let places: Vec<Place> = turns
            .iter()
            .enumerate()
            .map(|(i, w)| Place {
                turn: rotation(w),
                centre: Vec3::new(i as f64, (2.0 * i as f64).sin(), 0.0),
            })
            .collect();
        let knots = (0..4)
            .map(|k| Knot {
                time: [0.0, 1.0, 1.5, 3.0][k],
                valued: true,
                joint: Joint::Smooth,
            })
            .collect();
        let none = vec![None; 4];
        let path = RigidPath::new(
            Arc::new(Layout::new(knots, false)),
            &places,
            centre(&x, &masses),
            (&none, &none),
            0.0,
            Vec3::zeros(),
        );
        for (place, t) in places.iter().zip([0.0, 1.0, 1.5, 3.0]) {
            let at = path.at(t);
            assert!(
                (at.turn - place.turn).norm() < 1e-12 && (at.centre - place.centre).norm() < 1e-12
            );
        }
        let h = 1e-5;
        let rate = |t: f64| vector(&(path.at(t).turn.transpose() * path.at(t + h).turn)) / h;
        for t in [1.0, 1.5] {
            assert!(
                (rate(t - h) - rate(t)).norm() < 1e-3,
                "{} {}",
                rate(t - h),
                rate(t)
            );
        }
    }
}
