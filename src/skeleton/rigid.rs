// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rigid motions and their blending.
//!
//! Rigid motions blend linearly as unit dual quaternions `q = r + ε d`, `d = ½ t r`, with a normalisation at
//! the end [kavan2007, §4]: `q̂ = Σ w q / |Σ w q|`. Blending translations separately from rotations would
//! depend on the world's origin [capell2006, §3.3, corrected].
//!
//! Two quaternions, r and −r, describe one rotation. Each motion takes the sign nearer to the motion of largest
//! weight (the lowest index among equals), so the sum never vanishes.

use crate::Vec3;
use nalgebra::{Quaternion, UnitQuaternion};

/// Rigid motion `x → rotation x + translation`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RigidTransform {
    /// Rotation.
    pub rotation: UnitQuaternion<f64>,
    /// Image of the origin, m.
    pub translation: Vec3,
}

impl RigidTransform {
    /// Returns the identity motion.
    pub fn identity() -> Self {
        Self {
            rotation: UnitQuaternion::identity(),
            translation: Vec3::zeros(),
        }
    }

    /// Returns the image of a point.
    pub fn apply(&self, x: Vec3) -> Vec3 {
        self.rotation * x + self.translation
    }

    /// Converts to a unit dual quaternion.
    pub(super) fn to_dual(self) -> DualQuaternion {
        let real = self.rotation.into_inner();
        DualQuaternion {
            real,
            dual: Quaternion::from_imag(0.5 * self.translation) * real,
        }
    }
}

/// A dual quaternion, `real + ε dual`.
#[derive(Debug, Clone, Copy)]
pub(super) struct DualQuaternion {
    pub real: Quaternion<f64>,
    pub dual: Quaternion<f64>,
}

impl DualQuaternion {
    pub fn zero() -> Self {
        let zero = Quaternion::new(0.0, 0.0, 0.0, 0.0);
        Self {
            real: zero,
            dual: zero,
        }
    }

    /// Adds w q, or −w q if q points away from the pivot.
    pub fn add(&mut self, q: &DualQuaternion, weight: f64, pivot: &Quaternion<f64>) {
        let w = aligned_weight(&q.real, weight, pivot);
        self.real += q.real * w;
        self.dual += q.dual * w;
    }

    /// Normalises to a unit dual quaternion and converts it to a motion. The part of the dual along the real
    /// one drops out of the translation.
    pub fn to_rigid(self) -> RigidTransform {
        let norm = self.real.norm();
        let (real, dual) = (self.real / norm, self.dual / norm);
        RigidTransform {
            rotation: UnitQuaternion::new_unchecked(real),
            translation: 2.0 * (dual * real.conjugate()).imag(),
        }
    }
}

/// Returns the weight with the sign that brings `q` to the pivot's side.
pub(super) fn aligned_weight(q: &Quaternion<f64>, weight: f64, pivot: &Quaternion<f64>) -> f64 {
    if q.dot(pivot) < 0.0 { -weight } else { weight }
}

/// Returns the bone of largest weight, the one of lowest index among equals; `None` if no weight is positive.
pub(super) fn pivot_bone(weights: impl Iterator<Item = (u32, f64)>) -> Option<u32> {
    let mut best: Option<(u32, f64)> = None;
    for (i, w) in weights {
        let better = best.is_none_or(|(j, v)| w > v || (w == v && i < j));
        if w > 0.0 && better {
            best = Some((i, w));
        }
    }
    best.map(|(i, _)| i)
}

/// Blends rigid motions; the weights need not sum to one. Returns the identity if no weight is positive.
pub fn blend(motions: &[RigidTransform], weights: &[f64]) -> RigidTransform {
    let row = || weights.iter().zip(motions).enumerate();
    let Some(p) = pivot_bone(row().map(|(i, (&w, _))| (i as u32, w))) else {
        return RigidTransform::identity();
    };
    let pivot = motions[p as usize].rotation.into_inner();
    let mut sum = DualQuaternion::zero();
    for (_, (&w, motion)) in row() {
        if w > 0.0 {
            sum.add(&motion.to_dual(), w, &pivot);
        }
    }
    sum.to_rigid()
}

/// Blends two bones at a joint [capell2006, §3.3, eq. 8]. The rotation goes from `a` to `b` along the shortest
/// arc. The joint (a rest point) goes along the straight line between its images under the two motions.
///
/// With a common joint the result does not depend on the world's origin. At half a turn, which has many
/// shortest arcs, the rotation is that of the nearer motion.
pub fn slerp(a: &RigidTransform, b: &RigidTransform, t: f64, joint: Vec3) -> RigidTransform {
    let t = t.clamp(0.0, 1.0);
    let nearer = if t < 0.5 { a.rotation } else { b.rotation };
    let rotation = a.rotation.try_slerp(&b.rotation, t, 1e-9).unwrap_or(nearer);
    let moved = a.apply(joint).lerp(&b.apply(joint), t);
    RigidTransform {
        rotation,
        translation: moved - rotation * joint,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use proptest::prelude::*;

    pub fn rigid() -> impl Strategy<Value = RigidTransform> {
        let three = || prop::array::uniform3(-3.0..3.0f64);
        (three(), three()).prop_map(|(r, t)| RigidTransform {
            rotation: UnitQuaternion::from_scaled_axis(Vec3::from(r)),
            translation: Vec3::from(t),
        })
    }

    fn compose(a: &RigidTransform, b: &RigidTransform) -> RigidTransform {
        RigidTransform {
            rotation: a.rotation * b.rotation,
            translation: a.apply(b.translation),
        }
    }

    proptest! {
        #[test]
        fn single_motion_blends_to_itself(a in rigid(), x in prop::array::uniform3(-3.0..3.0f64)) {
            let x = Vec3::from(x);
            prop_assert!((blend(&[a], &[0.3]).apply(x) - a.apply(x)).norm() < 1e-12);
        }

        /// The blend of rigid motions depends neither on the origin nor on the order.
        #[test]
        fn blend_ignores_origin_and_order(
            m in prop::array::uniform3(rigid()), w in prop::array::uniform3(0.05..1.0f64),
            l in rigid(), r in rigid(), x in prop::array::uniform3(-3.0..3.0f64),
        ) {
            // Rotations nearly opposite to the pivot may be taken either way round.
            let p = pivot_bone((0..3).map(|i| (i as u32, w[i]))).unwrap() as usize;
            prop_assume!(m.iter().all(|q| q.rotation.angle_to(&m[p].rotation) < 3.0));
            let x = Vec3::from(x);
            let plain = blend(&m, &w).apply(x);
            let moved = blend(&m.map(|q| compose(&compose(&l, &q), &r)), &w).apply(x);
            prop_assert!((moved - l.apply(blend(&m, &w).apply(r.apply(x)))).norm() < 1e-9);
            let turned = blend(&[m[2], m[0], m[1]], &[w[2], w[0], w[1]]).apply(x);
            prop_assert!((plain - turned).norm() < 1e-12);
        }

        /// The interpolation meets its ends, and half of it turns by half the angle.
        #[test]
        fn slerp_meets_ends(a in rigid(), b in rigid(), c in prop::array::uniform3(-2.0..2.0f64)) {
            let c = Vec3::from(c);
            prop_assert!((slerp(&a, &b, 0.0, c).translation - a.translation).norm() < 1e-9);
            prop_assert!((slerp(&a, &b, 1.0, c).translation - b.translation).norm() < 1e-9);
            let half = slerp(&a, &b, 0.5, c);
            let angles = [half.rotation.angle_to(&a.rotation), half.rotation.angle_to(&b.rotation)];
            prop_assert!((angles[0] - angles[1]).abs() < 1e-6);
        }
    }

    /// The blend of equal shares of two motions turns by half the angle.
    #[test]
    fn blend_halves_bend() {
        let turn = |angle| RigidTransform {
            rotation: UnitQuaternion::from_axis_angle(&Vec3::z_axis(), angle),
            translation: Vec3::zeros(),
        };
        let half = blend(&[turn(0.0), turn(2.0)], &[0.5, 0.5]);
        assert_relative_eq!(half.rotation.angle(), 1.0, epsilon = 1e-12);
        let quarter = slerp(&turn(0.0), &turn(2.0), 0.25, Vec3::x());
        assert_relative_eq!(quarter.rotation.angle(), 0.5, epsilon = 1e-12);
    }

    /// Opposite rotations and missing weights give finite motions.
    #[test]
    fn opposite_motions_stay_finite() {
        let half_turn = |axis| RigidTransform {
            rotation: UnitQuaternion::from_axis_angle(&axis, std::f64::consts::PI),
            translation: Vec3::x(),
        };
        let m = [
            RigidTransform::identity(),
            half_turn(Vec3::z_axis()),
            half_turn(Vec3::x_axis()),
        ];
        for w in [
            [0.5, 0.5, 0.0],
            [0.0, 0.5, 0.5],
            [0.0, 0.0, 0.0],
            [1.0, 1.0, 1.0],
        ] {
            let b = blend(&m, &w);
            assert!(
                b.rotation
                    .coords
                    .iter()
                    .chain(b.translation.iter())
                    .all(|x| x.is_finite())
            );
        }
        assert_eq!(blend(&m, &[0.0; 3]), RigidTransform::identity());
        let s = slerp(&m[0], &m[1], 0.5, Vec3::y());
        assert!(s.translation.iter().all(|x| x.is_finite()));
    }
}
