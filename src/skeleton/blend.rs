// SPDX-License-Identifier: MIT OR Apache-2.0
//! Skinning by one pose: the posed positions and frames of rest points.
//!
//! A bone's map is `T_b = R_b U_b` about the bone's own rest head h_b. A point follows it in two stages. The stretches
//! blend linearly, `x_s = Σ w_b (U_b (x − h_b) + h_b)`. Then the rigid motions `y → R_b (y − h_b) + T_b(h_b)` blend as
//! dual quaternions and act on x_s. With one bone this is `T_b(x)`; without stretch it is dual-quaternion skinning. The
//! result does not depend on the world's origin.

use super::blend_share::BlendShare;
use super::pose::{Affine, Pose, polar};
use super::rigid::{DualQuaternion, RigidTransform, aligned_weight, pivot_bone};
use super::{Skeleton, SkeletonError};
use crate::{Mat3, Vec3};
use nalgebra::{Quaternion, UnitQuaternion};

/// The bones of one pose, prepared for skinning.
///
/// Weights come as `(bone, weight)` pairs, such as [`SkinWeights::row`](super::SkinWeights::row); they need not sum to
/// one. If no weight is positive, a point stays in place.
#[derive(Debug, Clone)]
pub struct BonePoses {
    /// Mean of the rest heads, the origin of rest positions in the computation.
    rest_origin: Vec3,
    /// Mean of the posed heads, the origin of posed positions.
    posed_origin: Vec3,
    bones: Vec<PosedBone>,
}

#[derive(Debug, Clone, Copy)]
struct PosedBone {
    /// Whole map from rest to posed.
    map: Affine,
    rest_head: Vec3,
    rotation: UnitQuaternion<f64>,
    /// U − 1: exactly zero for a bone that does not stretch.
    stretch: Mat3,
    /// Rigid motion about the two origins.
    motion: DualQuaternion,
}

impl BonePoses {
    /// Prepares a pose.
    ///
    /// # Errors
    /// Fails if the pose has another number of bones.
    pub fn new(skeleton: &Skeleton, pose: &Pose) -> Result<Self, SkeletonError> {
        let mut poses = Self {
            rest_origin: mean(skeleton.heads().iter().copied()),
            posed_origin: Vec3::zeros(),
            bones: Vec::with_capacity(skeleton.len()),
        };
        poses.set(skeleton, pose)?;
        Ok(poses)
    }

    /// Replaces the pose by another of the same skeleton, without allocation.
    ///
    /// # Errors
    /// Fails if the pose has another number of bones.
    pub fn set(&mut self, skeleton: &Skeleton, pose: &Pose) -> Result<(), SkeletonError> {
        pose.check(skeleton)?;
        let bones = || pose.maps().iter().zip(skeleton.heads());
        self.posed_origin = mean(bones().map(|(map, &head)| map.apply(head)));
        self.bones.clear();
        for (&map, &rest_head) in bones() {
            let (rotation, stretch) = polar(&map.linear);
            let stretch = stretch - Mat3::identity();
            let noise = 1e-14 * (1.0 + map.linear.norm());
            let rigid = RigidTransform {
                rotation,
                translation: map.apply(rest_head)
                    - self.posed_origin
                    - rotation * (rest_head - self.rest_origin),
            };
            self.bones.push(PosedBone {
                map,
                rest_head,
                rotation,
                stretch: if stretch.norm() > noise {
                    stretch
                } else {
                    Mat3::zeros()
                },
                motion: rigid.to_dual(),
            });
        }
        Ok(())
    }

    /// Copies another prepared pose of the same skeleton, without allocation.
    pub fn copy(&mut self, from: &Self) {
        self.rest_origin = from.rest_origin;
        self.posed_origin = from.posed_origin;
        self.bones.clone_from(&from.bones);
    }

    /// Returns the number of bones.
    pub fn len(&self) -> usize {
        self.bones.len()
    }

    /// Returns whether the list of bones is empty.
    pub fn is_empty(&self) -> bool {
        self.bones.is_empty()
    }

    /// Returns a bone's whole map.
    pub fn bone_map(&self, bone: usize) -> &Affine {
        &self.bones[bone].map
    }

    /// Returns a bone's rotation.
    pub fn bone_rotation(&self, bone: usize) -> UnitQuaternion<f64> {
        self.bones[bone].rotation
    }

    /// Returns a bone's motion without its stretch; the stretch acts about the bone's rest head.
    pub fn rigid_motion(&self, bone: usize) -> RigidTransform {
        let PosedBone {
            map,
            rest_head,
            rotation,
            ..
        } = self.bones[bone];
        RigidTransform {
            rotation,
            translation: map.apply(rest_head) - rotation * rest_head,
        }
    }

    /// Returns `T(x)`, the position to which the skeleton carries a rest point.
    pub fn place(&self, weights: impl Iterator<Item = (u32, f64)> + Clone, x: Vec3) -> Vec3 {
        match self.blend(weights.clone()) {
            Some(motion) => self.carry(&motion, weights, x),
            None => x,
        }
    }

    /// Returns the blended rotation.
    pub fn rotation(
        &self,
        weights: impl Iterator<Item = (u32, f64)> + Clone,
    ) -> UnitQuaternion<f64> {
        let Some(p) = pivot_bone(weights.clone()) else {
            return UnitQuaternion::identity();
        };
        let pivot = self.bones[p as usize].rotation.into_inner();
        let mut sum = Quaternion::new(0.0, 0.0, 0.0, 0.0);
        for (b, w) in weights.filter(has_positive_weight) {
            let q = self.bones[b as usize].rotation.into_inner();
            sum += q * aligned_weight(&q, w, &pivot);
        }
        UnitQuaternion::new_normalize(sum)
    }

    /// Stretches and rotates a vector of the rest shape along with the bones that carry a point.
    pub fn carry_vector(&self, weights: impl Iterator<Item = (u32, f64)> + Clone, d: Vec3) -> Vec3 {
        let (mut total, mut shift) = (0.0, Vec3::zeros());
        for (b, w) in weights.clone().filter(has_positive_weight) {
            total += w;
            shift += w * (self.bones[b as usize].stretch * d);
        }
        match total > 0.0 {
            true => self.rotation(weights) * (d + shift / total),
            false => d,
        }
    }

    /// Returns the position to which the skeleton carries a rest point, and the blended rotation there.
    pub fn frame(
        &self,
        weights: impl Iterator<Item = (u32, f64)> + Clone,
        x: Vec3,
    ) -> (Vec3, Mat3) {
        match self.blend(weights.clone()) {
            Some(motion) => (
                self.carry(&motion, weights, x),
                motion.rotation.to_rotation_matrix().into_inner(),
            ),
            None => (x, Mat3::identity()),
        }
    }

    /// Places a point by linear blend skinning `Σ w T_b(x) / Σ w`, as Blender's Armature modifier without Preserve Volume;
    /// for comparison.
    pub fn linear_blend(&self, weights: impl Iterator<Item = (u32, f64)> + Clone, x: Vec3) -> Vec3 {
        let total: f64 = weights
            .clone()
            .filter(has_positive_weight)
            .map(|(_, w)| w)
            .sum();
        if total <= 0.0 {
            return x;
        }
        let mut place = Vec3::zeros();
        for (b, w) in weights.filter(has_positive_weight) {
            place += w / total * (self.bones[b as usize].map.apply(x) - self.posed_origin);
        }
        place + self.posed_origin
    }

    /// Returns the origin of posed positions in the computation.
    pub(super) fn posed_origin(&self) -> Vec3 {
        self.posed_origin
    }

    /// Calls with each bone of a point and its share in the blended motion.
    pub(super) fn for_each_share(
        &self,
        weights: impl Iterator<Item = (u32, f64)> + Clone,
        mut visit: impl FnMut(u32, BlendShare),
    ) {
        let Some(p) = pivot_bone(weights.clone()) else {
            return;
        };
        let pivot = self.bones[p as usize].rotation.into_inner();
        let part = |(b, w): (u32, f64)| {
            let mut part = DualQuaternion::zero();
            part.add(&self.bones[b as usize].motion, w, &pivot);
            (b, part)
        };
        let parts = weights.filter(has_positive_weight).map(part);
        let mut sum = DualQuaternion::zero();
        for (_, part) in parts.clone() {
            sum.real += part.real;
            sum.dual += part.dual;
        }
        for (b, part) in parts {
            if let Some(share) = BlendShare::new(&part, &sum) {
                visit(b, share);
            }
        }
    }

    /// Returns the blended rigid motion, relative to the two origins; `None` if no weight is positive.
    fn blend(&self, weights: impl Iterator<Item = (u32, f64)> + Clone) -> Option<RigidTransform> {
        let p = pivot_bone(weights.clone())?;
        let pivot = self.bones[p as usize].rotation.into_inner();
        let mut sum = DualQuaternion::zero();
        for (b, w) in weights.filter(has_positive_weight) {
            sum.add(&self.bones[b as usize].motion, w, &pivot);
        }
        Some(sum.to_rigid())
    }

    /// Stretches a rest point by its bones, then moves it by their blended motion.
    fn carry(
        &self,
        motion: &RigidTransform,
        weights: impl Iterator<Item = (u32, f64)>,
        x: Vec3,
    ) -> Vec3 {
        let (mut total, mut shift) = (0.0, Vec3::zeros());
        for (b, w) in weights.filter(has_positive_weight) {
            let bone = &self.bones[b as usize];
            total += w;
            shift += w * (bone.stretch * (x - bone.rest_head));
        }
        motion.apply(x - self.rest_origin + shift / total) + self.posed_origin
    }
}

fn has_positive_weight(pair: &(u32, f64)) -> bool {
    pair.1 > 0.0
}

fn mean(points: impl Iterator<Item = Vec3>) -> Vec3 {
    let (mut n, mut sum) = (0.0, Vec3::zeros());
    for p in points {
        n += 1.0;
        sum += p;
    }
    if n > 0.0 { sum / n } else { sum }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vector() -> impl Strategy<Value = Vec3> {
        prop::array::uniform3(-2.0..2.0f64).prop_map(Vec3::from)
    }

    /// Returns maps with turns of less than 1 rad and some stretch, so that no two bones are nearly opposite.
    fn map() -> impl Strategy<Value = Affine> {
        (
            prop::array::uniform3(-0.5..0.5f64),
            prop::array::uniform6(-0.3..0.3f64),
            vector(),
        )
            .prop_map(|(r, s, translation)| {
                let u = Mat3::new(
                    1.0 + s[0],
                    s[3],
                    s[4],
                    s[3],
                    1.0 + s[1],
                    s[5],
                    s[4],
                    s[5],
                    1.0 + s[2],
                );
                let r = UnitQuaternion::from_scaled_axis(Vec3::from(r));
                Affine {
                    linear: r.to_rotation_matrix().into_inner() * u,
                    translation,
                }
            })
    }

    fn skeleton(heads: &[Vec3]) -> Skeleton {
        let names = (0..heads.len()).map(|i| i.to_string()).collect();
        let tails = heads.iter().map(|h| h + Vec3::x()).collect();
        Skeleton::new(names, vec![None; heads.len()], heads.to_vec(), tails).unwrap()
    }

    fn row(w: [f64; 3]) -> impl Iterator<Item = (u32, f64)> + Clone {
        w.into_iter().enumerate().map(|(i, w)| (i as u32, w))
    }

    proptest! {
        /// A point on one bone is moved by the whole map of the bone.
        #[test]
        fn single_bone_applies_map(h in prop::array::uniform3(vector()), m in prop::array::uniform3(map()), x in vector()) {
            let poses = BonePoses::new(&skeleton(&h), &Pose::new(m.to_vec()).unwrap()).unwrap();
            for b in 0..3 {
                let mut w = [0.0; 3];
                w[b] = 0.4;
                prop_assert!((poses.place(row(w), x) - m[b].apply(x)).norm() < 1e-11);
                prop_assert!((poses.linear_blend(row(w), x) - m[b].apply(x)).norm() < 1e-11);
            }
        }

        /// If all bones have the same map, every point is moved by it.
        #[test]
        fn equal_bones_apply_common_map(h in prop::array::uniform3(vector()), m in map(), w in prop::array::uniform3(0.0..1.0f64), x in vector()) {
            prop_assume!(w.iter().sum::<f64>() > 0.1);
            // Without stretch exactly; with it the stretch is about each bone's own head, which is the same map.
            let poses = BonePoses::new(&skeleton(&h), &Pose::new(vec![m; 3]).unwrap()).unwrap();
            prop_assert!((poses.place(row(w), x) - m.apply(x)).norm() < 1e-11);
        }

        /// A rigid motion of all bones moves the result of the blend.
        #[test]
        fn blend_is_rigidly_invariant(
            h in prop::array::uniform3(vector()), m in prop::array::uniform3(map()), w in prop::array::uniform3(0.01..1.0f64),
            x in vector(), turn in vector(), shift in vector(),
        ) {
            let by = Affine {
                linear: UnitQuaternion::from_scaled_axis(turn).to_rotation_matrix().into_inner(),
                translation: shift,
            };
            let s = skeleton(&h);
            let pose = Pose::new(m.to_vec()).unwrap();
            let plain = BonePoses::new(&s, &pose).unwrap();
            let moved = BonePoses::new(&s, &pose.apply_map(&by)).unwrap();
            let (p, r) = plain.frame(row(w), x);
            let (pm, rm) = moved.frame(row(w), x);
            prop_assert!((by.apply(p) - pm).norm() < 1e-10);
            prop_assert!((by.linear * r - rm).norm() < 1e-10);
            prop_assert!((plain.rotation(row(w)).to_rotation_matrix().into_inner() - r).norm() < 1e-12);
            prop_assert!((plain.place(row(w), x) - p).norm() == 0.0);
        }

        /// The blend does not depend on the origin of the world.
        #[test]
        fn blend_ignores_origin(
            h in prop::array::uniform3(vector()), m in prop::array::uniform3(map()), w in prop::array::uniform3(0.01..1.0f64), x in vector(),
        ) {
            // The same bones and pose seen from an origin 1000 km away.
            let far = Vec3::new(1e6, -3e5, 2e5);
            let there = h.map(|p| p + far);
            let maps = m.map(|a| Affine { linear: a.linear, translation: a.translation + far - a.linear * far });
            let near = BonePoses::new(&skeleton(&h), &Pose::new(m.to_vec()).unwrap()).unwrap();
            let away = BonePoses::new(&skeleton(&there), &Pose::new(maps.to_vec()).unwrap()).unwrap();
            let d = away.place(row(w), x + far) - far - near.place(row(w), x);
            prop_assert!(d.norm() < 1e-8, "{}", d.norm());
        }
    }

    /// The rest pose is exact, and points without weights do not move.
    #[test]
    fn blend_rest_is_exact() {
        let h = [Vec3::zeros(), Vec3::x(), Vec3::y()];
        let s = skeleton(&h);
        let poses = BonePoses::new(&s, &Pose::rest(3)).unwrap();
        let x = Vec3::new(0.25, 0.5, -3.0);
        assert!((poses.place(row([0.2, 0.3, 0.5]), x) - x).norm() < 1e-15);
        let shifted = Pose::rest(3).apply_map(&Affine {
            linear: Mat3::identity(),
            translation: Vec3::repeat(5.0),
        });
        let poses = BonePoses::new(&s, &shifted).unwrap();
        assert_eq!(poses.place(row([0.0; 3]), x), x);
        assert_eq!(poses.place(std::iter::empty(), x), x);
        assert_eq!(
            poses.rotation(std::iter::empty()),
            UnitQuaternion::identity()
        );
        assert_eq!(poses.linear_blend(std::iter::empty(), x), x);
    }

    /// A twist keeps its thickness, while linear blending collapses.
    #[test]
    fn blend_keeps_thickness() {
        let s = skeleton(&[Vec3::zeros(), Vec3::zeros()]);
        let turn = UnitQuaternion::from_axis_angle(&Vec3::x_axis(), 3.0);
        let twisted = Affine {
            linear: turn.to_rotation_matrix().into_inner(),
            translation: Vec3::zeros(),
        };
        let pose = Pose::new(vec![Affine::identity(), twisted]).unwrap();
        let poses = BonePoses::new(&s, &pose).unwrap();
        let half = || [(0, 0.5), (1, 0.5)].into_iter();
        let x = Vec3::new(0.0, 0.0, 1.0);
        assert!((poses.place(half(), x).norm() - 1.0).abs() < 1e-12);
        assert!(poses.linear_blend(half(), x).norm() < 0.1);
    }

    /// A pose with another number of bones is refused.
    #[test]
    fn blend_refuses_other_pose() {
        let e = BonePoses::new(&skeleton(&[Vec3::zeros()]), &Pose::rest(2)).unwrap_err();
        assert_eq!(e, SkeletonError::PoseLength { bones: 1, given: 2 });
    }
}
