// SPDX-License-Identifier: MIT OR Apache-2.0
//! The best rigid motion through keyframes, which is removed before modes are computed and restored afterwards.
//!
//! Linear modes represent rotations only to first order: a body that turns by half a turn would inflate on the way. So each keyframe is
//! aligned with the first by the best rotation in the norm of the mass (Procrustes), centre on centre; the remainder is deformation. The
//! centre moves on wiggly splines without stiffness (under gravity: parabolas). The rotation is the exponential of a spline through the
//! steps between keyframes, once continuously differentiable. About one axis it minimises `∫ |ω̇ + αω|²` with the angular velocity ω;
//! about several it does not. Centrifugal and Coriolis forces on the deformation are neglected.
//!
//! Translations move all linearisations alike, so removing them changes nothing. Rotations change the motion between keyframes in
//! proportion to their angle, so no angle makes a motion jump.

use super::interval::{Interval, IntervalEnds, Oscillator};
use super::knots::{KnotData, KnotLayout};
use super::spline::{WigglySpline, build_intervals};
use super::turning::{AngularMotion, integrate_graded};
use crate::geometry::rotation::best_rotation;
use crate::geometry::rotation_vector::rotation;
use crate::{Mat3, Vec3};
use nalgebra::{Rotation3, UnitQuaternion};
use std::sync::Arc;

/// Share of the identity added to a covariance, which decides where the covariance is degenerate. It is fifty times rounding error, and
/// turns the best fit by no more than that.
const COVARIANCE_REGULARISATION: f64 = 1e-14;

/// Rigid placement of a shape: `x = turn (y − pivot) + centre`, with y the aligned shape.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct RigidPlacement {
    pub turn: Mat3,
    pub centre: Vec3,
}

impl RigidPlacement {
    /// Returns a shape aligned with the reference: turned and moved about `pivot`, the reference's centre.
    pub fn align(&self, x: &[Vec3], pivot: Vec3) -> Vec<Vec3> {
        let back = self.turn.transpose();
        x.iter().map(|x| pivot + back * (x - self.centre)).collect()
    }
}

/// Returns the centre of mass.
pub(super) fn centre_of_mass(x: &[Vec3], masses: &[f64]) -> Vec3 {
    let mut sum = Vec3::zeros();
    let mut mass = 0.0;
    for (x, m) in x.iter().zip(masses) {
        sum += x * *m;
        mass += m;
    }
    sum / mass
}

/// Returns the best rotation of a shape against a reference, and its centre.
pub(super) fn best_placement(reference: &[Vec3], x: &[Vec3], masses: &[f64]) -> RigidPlacement {
    let (from, to) = (centre_of_mass(reference, masses), centre_of_mass(x, masses));
    let mut covariance = Mat3::zeros();
    for ((r, x), m) in reference.iter().zip(x).zip(masses) {
        covariance += (x - to) * (r - from).transpose() * *m;
    }
    // Among equally good rotations, such as those of a line about itself, choose the smallest.
    covariance += Mat3::identity() * (COVARIANCE_REGULARISATION * covariance.norm());
    let turn = best_rotation(&covariance).unwrap_or_else(Mat3::identity);
    RigidPlacement { turn, centre: to }
}

/// Velocities of a shape, split into rigid motion and deformation.
#[derive(Debug, Clone)]
pub(super) struct VelocitySplit {
    /// Velocity of the centre.
    pub linear: Vec3,
    /// Angular velocity in the frame of the aligned shape, radians per second.
    pub angular: Vec3,
    /// Remaining velocity in that frame, one vector per vertex.
    pub rest: Vec<Vec3>,
}

/// Splits the velocities of a shape at a placement.
pub(super) fn split_velocities(
    x: &[Vec3],
    velocities: &[Vec3],
    masses: &[f64],
    at: &RigidPlacement,
) -> VelocitySplit {
    let linear = centre_of_mass(velocities, masses);
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
    VelocitySplit {
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
    /// Oscillator of a component of the rotation vector, over each interval.
    turning: Vec<Interval>,
    /// `Σ m yyᵀ` of the reference shape about its centre.
    moments: Mat3,
    damping: f64,
}

impl RigidPath {
    /// Interpolates placements at the knots of a layout with all values given, for a shape with masses. Slopes are [`VelocitySplit`] velocities
    /// before and behind each knot; damping is δ, gravity an acceleration.
    pub fn new(
        layout: Arc<KnotLayout>,
        places: &[RigidPlacement],
        (reference, masses): (&[Vec3], &[f64]),
        slopes: (&[Option<VelocitySplit>], &[Option<VelocitySplit>]),
        damping: f64,
        gravity: Vec3,
    ) -> Self {
        let mut summed = vec![Vec3::zeros()];
        for pair in places.windows(2) {
            let step = to_rotation_vector(&(pair[0].turn.transpose() * pair[1].turn));
            summed.push(summed[summed.len() - 1] + step);
        }
        let slope = |of: &[Option<VelocitySplit>], linear: bool, axis: usize| {
            let number = |parted: &Option<VelocitySplit>| {
                let parted = parted.as_ref();
                parted.map_or(0.0, |p| (if linear { p.linear } else { p.angular })[axis])
            };
            of.iter().map(number).collect::<Vec<f64>>()
        };
        let mut given = Vec::new();
        let mut oscillators = Vec::new();
        for linear in [true, false] {
            for axis in 0..3 {
                let value = |(place, sum): (&RigidPlacement, &Vec3)| -> f64 {
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
        let pivot = centre_of_mass(reference, masses);
        let mut moments = Mat3::zeros();
        for (x, m) in reference.iter().zip(masses) {
            moments += (x - pivot) * (x - pivot).transpose() * *m;
        }
        let free = Oscillator {
            damping,
            ..Oscillator::default()
        };
        Self {
            pivot,
            turns: places.iter().map(|p| p.turn).collect(),
            turning: build_intervals(&layout, free),
            path: WigglySpline::new(layout, oscillators, given),
            moments,
            damping,
        }
    }

    /// Returns the rotation vector from the knot before to a share of an interval, or its time derivative.
    fn rotation_vector_at(&self, k: usize, share: f64, derivative: usize) -> Vec3 {
        let component = |of: &dyn Fn(&KnotData) -> f64| {
            Vec3::from_fn(|axis, _| of(self.path.knot_data(3 + axis)))
        };
        let step = component(&|d| d.values[k + 1] - d.values[k]);
        let begin = component(&|d| d.outgoing[k]);
        let end = rotation_vector_rate(&step, &component(&|d| d.incoming[k + 1]));
        Vec3::from_fn(|axis, _| {
            let ends = IntervalEnds {
                values: [0.0, step[axis]],
                slopes: [begin[axis], end[axis]],
            };
            self.turning[k].evaluate(&ends, share, derivative)
        })
    }

    /// Returns the placement at a time.
    pub fn placement_at(&self, time: f64) -> RigidPlacement {
        let layout = self.path.layout();
        let (k, share) = layout.locate(time);
        RigidPlacement {
            turn: self.turns[k] * rotation(&self.rotation_vector_at(k, share, 0)),
            centre: Vec3::from_fn(|axis, _| self.path.value_at(axis, time, 0)),
        }
    }

    /// Returns `∫ |r|²` of the centre, per mass.
    pub fn translation_cost(&self) -> f64 {
        (0..3).map(|axis| self.path.cost(axis)).sum()
    }

    /// Returns `∫ Σ m |r|²` of the rotation: with the inertia J of the rest shape and the torque `τ = Jω̇ + ω × Jω + αJω` in its frame,
    /// `∫ τᵀJ⁻¹τ dt`. Centripetal forces are left to the body's own stiffness, as in any rigid body.
    pub fn rotation_cost(&self) -> f64 {
        let inertia = Mat3::identity() * self.moments.trace() - self.moments;
        // A line has no inertia about itself.
        let inverse = inertia
            .pseudo_inverse(1e-12 * inertia.norm())
            .unwrap_or_else(|_| Mat3::zeros());
        let layout = self.path.layout();
        let of_interval = |k: usize| {
            let length = layout.interval_length(k);
            let power = |share: f64| {
                let turning =
                    AngularMotion::new([0, 1, 2].map(|d| self.rotation_vector_at(k, share, d)));
                let spin = inertia * turning.rate;
                let torque = inertia * turning.acceleration
                    + turning.rate.cross(&spin)
                    + spin * (2.0 * self.damping);
                torque.dot(&(inverse * torque))
            };
            integrate_graded(length * self.damping.abs(), &power) * length
        };
        (0..layout.interval_count()).map(of_interval).sum()
    }
}

/// Returns the rotation vector of a rotation.
pub(super) fn to_rotation_vector(turn: &Mat3) -> Vec3 {
    // By quaternions: the off-diagonal part of a half turn's matrix does not determine its axis.
    let turn = Rotation3::from_matrix_unchecked(*turn);
    UnitQuaternion::from_rotation_matrix(&turn).scaled_axis()
}

/// Returns the rate of a rotation vector φ whose rotation has angular velocity ω in its own frame: `J_r(φ)⁻¹ ω`.
fn rotation_vector_rate(phi: &Vec3, omega: &Vec3) -> Vec3 {
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
    use crate::spacetime::{Knot, KnotJoint};

    fn point_cloud() -> (Vec<Vec3>, Vec<f64>) {
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

    /// The rigid motion between two shapes is recovered, and so are its velocities.
    #[test]
    fn place_recovers_rigid_motion() {
        let (x, masses) = point_cloud();
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
            let place = best_placement(&x, &moved, &masses);
            assert!((place.turn - turn).norm() < 1e-12);
            assert!((rotation(&to_rotation_vector(&place.turn)) - turn).norm() < 1e-12);
            let spin = Vec3::new(0.4, -0.2, 0.9);
            let velocity =
                |x: &Vec3| Vec3::new(1.0, 2.0, 3.0) + (turn * spin).cross(&(x - place.centre));
            let velocities: Vec<Vec3> = moved.iter().map(velocity).collect();
            let parted = split_velocities(&moved, &velocities, &masses, &place);
            assert!((parted.linear - Vec3::new(1.0, 2.0, 3.0)).norm() < 1e-12);
            assert!((parted.angular - spin).norm() < 1e-11);
            assert!(parted.rest.iter().all(|v| v.norm() < 1e-11));
        }
    }

    /// The path passes through its placements, and its rate of rotation is continuous there.
    #[test]
    fn path_meets_its_places() {
        let (x, masses) = point_cloud();
        let turns = [[0.0; 3], [0.3, 1.0, -0.2], [0.5, 1.9, 0.4], [0.4, 2.0, 1.0]].map(Vec3::from);
        let places: Vec<RigidPlacement> = turns
            .iter()
            .enumerate()
            .map(|(i, w)| RigidPlacement {
                turn: rotation(w),
                centre: Vec3::new(i as f64, (2.0 * i as f64).sin(), 0.0),
            })
            .collect();
        let knots = (0..4)
            .map(|k| Knot {
                time: [0.0, 1.0, 1.5, 3.0][k],
                valued: true,
                joint: KnotJoint::Smooth,
            })
            .collect();
        let none = vec![None; 4];
        let path = RigidPath::new(
            Arc::new(KnotLayout::new(knots, false)),
            &places,
            (&x, &masses),
            (&none, &none),
            0.7,
            Vec3::zeros(),
        );
        for (place, t) in places.iter().zip([0.0, 1.0, 1.5, 3.0]) {
            let at = path.placement_at(t);
            assert!(
                (at.turn - place.turn).norm() < 1e-12 && (at.centre - place.centre).norm() < 1e-12
            );
        }
        let h = 1e-5;
        let rate = |t: f64| {
            to_rotation_vector(
                &(path.placement_at(t).turn.transpose() * path.placement_at(t + h).turn),
            ) / h
        };
        for t in [1.0, 1.5] {
            assert!(
                (rate(t - h) - rate(t)).norm() < 1e-3,
                "{} {}",
                rate(t - h),
                rate(t)
            );
        }
    }
    /// The cost of turning agrees with Newton's and Euler's laws, by differences of the path.
    #[test]
    fn turning_cost_matches_torque() {
        let (x, masses) = point_cloud();
        let places: Vec<RigidPlacement> = [[0.0; 3], [0.3, 1.4, -0.2], [-0.9, 0.4, 1.1]]
            .map(|w| RigidPlacement {
                turn: rotation(&Vec3::from(w)),
                centre: Vec3::zeros(),
            })
            .to_vec();
        let times = [0.0, 0.8, 2.0];
        let knot = |time| Knot {
            time,
            valued: true,
            joint: KnotJoint::Smooth,
        };
        let none = vec![None; 3];
        for damping in [0.0, 0.4, 3.0] {
            let path = RigidPath::new(
                Arc::new(KnotLayout::new(times.map(knot).to_vec(), false)),
                &places,
                (&x, &masses),
                (&none, &none),
                damping,
                Vec3::zeros(),
            );
            let middle = centre_of_mass(&x, &masses);
            // The angular momentum in the world's frame, and the torque that changes it.
            let h = 1e-4;
            let spin = |t: f64| {
                let turn =
                    path.placement_at(t + h).turn * path.placement_at(t - h).turn.transpose();
                to_rotation_vector(&turn) / (2.0 * h)
            };
            let inertia = |t: f64| {
                let turn = path.placement_at(t).turn;
                let mut sum = Mat3::zeros();
                for (x, m) in x.iter().zip(&masses) {
                    let arm = turn * (x - middle);
                    sum += (Mat3::identity() * arm.norm_squared() - arm * arm.transpose()) * *m;
                }
                sum
            };
            let power = |t: f64| {
                let momentum = |t: f64| inertia(t) * spin(t);
                let torque =
                    (momentum(t + h) - momentum(t - h)) / (2.0 * h) + momentum(t) * (2.0 * damping);
                torque.dot(&(inertia(t).try_inverse().unwrap() * torque))
            };
            let mut wanted = 0.0;
            for pair in times.windows(2) {
                // Midpoints: none of the differences crosses a knot.
                let (count, length) = (1500, pair[1] - pair[0]);
                let step = length / f64::from(count);
                wanted += (0..count)
                    .map(|i| step * power(pair[0] + (f64::from(i) + 0.5) * step))
                    .sum::<f64>();
            }
            let found = path.rotation_cost();
            assert!(
                (found / wanted - 1.0).abs() < 1e-4,
                "{damping}: {found} {wanted}"
            );
        }
    }

    /// Of all rotations that fit equally well, the smallest is taken.
    #[test]
    fn place_takes_smallest_rotation() {
        let line: Vec<Vec3> = (0..9).map(|i| Vec3::new(f64::from(i), 0.0, 0.0)).collect();
        let masses = vec![1.0; 9];
        let same = best_placement(&line, &line, &masses);
        assert!((same.turn - Mat3::identity()).norm() < 1e-12);
        let turn = rotation(&Vec3::new(0.0, 0.0, 0.7));
        let moved: Vec<Vec3> = line.iter().map(|x| turn * x).collect();
        assert!((best_placement(&line, &moved, &masses).turn - turn).norm() < 1e-9);
    }

    /// The rate of the rotation vector gives back the angular velocity that it was computed from.
    #[test]
    fn vector_rate_matches_angular_velocity() {
        let omega = Vec3::new(0.7, -0.4, 0.9);
        let axis = Vec3::new(0.2, 0.9, -0.4).normalize();
        let h = 1e-5;
        for angle in [0.0, 1e-5, 5e-4, 9.9e-4, 1.1e-3, 0.3, 2.0, 3.0] {
            let phi = axis * angle;
            let rate = rotation_vector_rate(&phi, &omega);
            // Both ways by h, as a rotation in its own frame.
            let turned = rotation(&(phi - rate * h)).transpose() * rotation(&(phi + rate * h));
            let found = to_rotation_vector(&turned) / (2.0 * h);
            assert!((found - omega).norm() < 1e-8, "{angle}: {found}");
        }
    }
}
