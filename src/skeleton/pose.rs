// SPDX-License-Identifier: MIT OR Apache-2.0
//! Affine maps and poses; decomposition of a map into rotation and stretch.
//!
//! `A = R U`: R is always a proper rotation, U a symmetric stretch. If A mirrors or flattens space, R is not unique or
//! not near A. The rule then is `R = argmax tr(Rᵀ(A + ε|A| 1))` over proper rotations \[kabsch1976\]: the nearest
//! rotation, and among equally near ones the smallest. So the rotation of a mirrored bone does not flicker, and a bone
//! scaled to nothing has the identity.

use super::{Skeleton, SkeletonError};
use crate::geometry::rotation::best_rotation;
use crate::range;
use crate::{Mat3, Mat4, Vec3};
use nalgebra::{Rotation3, UnitQuaternion};

/// Affine map `x → linear x + translation`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Affine {
    /// Linear part.
    pub linear: Mat3,
    /// Image of the origin, m.
    pub translation: Vec3,
}

impl Affine {
    /// Returns the identity map.
    pub fn identity() -> Self {
        Self {
            linear: Mat3::identity(),
            translation: Vec3::zeros(),
        }
    }

    /// Returns the image of a point.
    pub fn apply(&self, x: Vec3) -> Vec3 {
        self.linear * x + self.translation
    }

    /// Returns the composition of `self` after `first`.
    pub fn compose(&self, first: &Affine) -> Affine {
        Affine {
            linear: self.linear * first.linear,
            translation: self.apply(first.translation),
        }
    }

    /// Returns whether all numbers are finite and small enough to compute with.
    pub fn is_finite(&self) -> bool {
        let turns = self.linear.iter().all(|x| x.abs() <= range::MAX_COORDINATE);
        turns && range::is_position(&self.translation)
    }

    /// Converts to a matrix that acts on column vectors.
    pub fn to_matrix(&self) -> Mat4 {
        let mut m = self.linear.to_homogeneous();
        m.fixed_view_mut::<3, 1>(0, 3).copy_from(&self.translation);
        m
    }

    /// Converts from a matrix that acts on column vectors; `None` if its last row is not 0, 0, 0, 1 (to 1e-6) or a
    /// number is not finite.
    pub fn from_matrix(m: &Mat4) -> Option<Self> {
        let affine = Self {
            linear: m.fixed_view::<3, 3>(0, 0).into_owned(),
            translation: m.fixed_view::<3, 1>(0, 3).into_owned(),
        };
        let last_row = [m[(3, 0)], m[(3, 1)], m[(3, 2)], m[(3, 3)] - 1.0];
        (affine.is_finite() && last_row.iter().all(|x| x.abs() <= 1e-6)).then_some(affine)
    }
}

/// World-space map of every bone from rest to posed.
#[derive(Debug, Clone, PartialEq)]
pub struct Pose {
    maps: Vec<Affine>,
}

impl Pose {
    /// Builds a pose from one map per bone.
    ///
    /// # Errors
    /// Fails with the bone's index if a map is not finite.
    pub fn new(maps: Vec<Affine>) -> Result<Self, SkeletonError> {
        match maps.iter().position(|m| !m.is_finite()) {
            Some(bone) => Err(SkeletonError::PoseNonFinite { bone }),
            None => Ok(Self { maps }),
        }
    }

    /// Builds a pose from matrices that act on column vectors.
    ///
    /// # Errors
    /// Fails with the bone's index if a matrix is not finite or not affine.
    pub fn from_matrices(matrices: &[Mat4]) -> Result<Self, SkeletonError> {
        let map = |(bone, m): (usize, &Mat4)| {
            Affine::from_matrix(m).ok_or(match m.iter().all(|x| x.abs() <= range::MAX_COORDINATE) {
                true => SkeletonError::PoseNotAffine { bone },
                false => SkeletonError::PoseNonFinite { bone },
            })
        };
        let maps = matrices
            .iter()
            .enumerate()
            .map(map)
            .collect::<Result<_, _>>()?;
        Ok(Self { maps })
    }

    /// Returns the rest pose of `bones` bones.
    pub fn rest(bones: usize) -> Self {
        Self {
            maps: vec![Affine::identity(); bones],
        }
    }

    /// Returns the map of each bone.
    pub fn maps(&self) -> &[Affine] {
        &self.maps
    }

    pub(crate) fn maps_mut(&mut self) -> &mut Vec<Affine> {
        &mut self.maps
    }

    /// Returns the pose followed by one more map of the whole posed skeleton.
    pub fn apply_map(&self, by: &Affine) -> Self {
        Self {
            maps: self.maps.iter().map(|m| by.compose(m)).collect(),
        }
    }

    /// Returns the median scale of the bones (cube root of |det|); 1 without bones.
    pub fn scale(&self) -> f64 {
        let scale = |m: &Affine| m.linear.determinant().abs().cbrt();
        let mut scales: Vec<f64> = self.maps.iter().map(scale).collect();
        scales.sort_by(f64::total_cmp);
        scales.get(scales.len() / 2).copied().unwrap_or(1.0)
    }

    /// Returns the pose divided by its [`scale`](Self::scale) about the origin, and that scale. Blending stretches each
    /// bone about its own head, which would not scale the whole. If most bones are scaled to nothing, the pose is
    /// unchanged.
    pub(crate) fn remove_scale(&self) -> (Self, f64) {
        let scale = Some(self.scale())
            .filter(|scale| *scale > 0.0)
            .unwrap_or(1.0);
        let by = Affine {
            linear: Mat3::identity() / scale,
            ..Affine::identity()
        };
        (self.apply_map(&by), scale)
    }

    /// Checks that a pose has the skeleton's number of bones.
    ///
    /// # Errors
    /// [`SkeletonError::PoseLength`].
    pub fn check(&self, skeleton: &Skeleton) -> Result<(), SkeletonError> {
        let (bones, given) = (skeleton.len(), self.maps.len());
        if bones == given {
            Ok(())
        } else {
            Err(SkeletonError::PoseLength { bones, given })
        }
    }
}

/// Decomposes a linear map into rotation R and symmetric stretch U, `A = R U`; R is always proper, and U is indefinite
/// if A mirrors.
pub fn polar(a: &Mat3) -> (UnitQuaternion<f64>, Mat3) {
    let size = a.norm();
    let rotation = if size.is_finite() && size > 0.0 {
        let scaled = a / size;
        newton_rotation(&scaled).unwrap_or_else(|| nearest_rotation(&scaled))
    } else {
        Mat3::identity()
    };
    let stretch = rotation.transpose() * a;
    let stretch = 0.5 * (stretch + stretch.transpose());
    let rotation = Rotation3::from_matrix_unchecked(rotation);
    (UnitQuaternion::from_rotation_matrix(&rotation), stretch)
}

/// Finds the rotation by the scaled Newton iteration `Q ← ½(γQ + Q⁻ᵀ/γ)` \[higham1986\]; `None` if A is mirrored or
/// nearly flat.
fn newton_rotation(a: &Mat3) -> Option<Mat3> {
    if a.determinant() < 1e-6 {
        return None;
    }
    let mut q = *a;
    for _ in 0..30 {
        let inverse = q.try_inverse()?.transpose();
        let gamma = (inverse.norm() / q.norm()).sqrt();
        let next = 0.5 * (gamma * q + inverse / gamma);
        let change = (next - q).norm();
        q = next;
        if change < 1e-15 {
            break;
        }
    }
    Some(q)
}

/// Returns the Kabsch rotation of `A + ε 1`, |A| = 1.
fn nearest_rotation(a: &Mat3) -> Mat3 {
    let found = best_rotation(&(a + 1e-6 * Mat3::identity()));
    let found = found.filter(|r| r.iter().all(|x| x.is_finite()));
    found.unwrap_or_else(Mat3::identity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use proptest::prelude::*;

    fn matrix() -> impl Strategy<Value = Mat3> {
        prop::array::uniform9(-2.0..2.0f64).prop_map(|a| Mat3::from_column_slice(&a))
    }

    fn rotation() -> impl Strategy<Value = UnitQuaternion<f64>> {
        prop::array::uniform3(-3.0..3.0f64)
            .prop_map(|a| UnitQuaternion::from_scaled_axis(Vec3::from(a)))
    }

    fn is_proper(r: &UnitQuaternion<f64>) -> bool {
        let m = r.to_rotation_matrix().into_inner();
        (m.determinant() - 1.0).abs() < 1e-12
            && (m * m.transpose() - Mat3::identity()).norm() < 1e-12
    }

    proptest! {
        /// Rotation times stretch gives the map.
        #[test]
        fn polar_recovers_map(a in matrix()) {
            let (r, u) = polar(&a);
            prop_assert!(is_proper(&r));
            prop_assert!((r.to_rotation_matrix().into_inner() * u - a).norm() < 1e-5 * a.norm());
            if a.determinant() > 0.01 {
                prop_assert!((r.to_rotation_matrix().into_inner() * u - a).norm() < 1e-12);
                prop_assert!(u.symmetric_eigenvalues().min() > 0.0);
            }
        }

        /// If the map is turned, its rotation is turned and its stretch stays.
        #[test]
        fn polar_is_equivariant(a in matrix(), q in rotation()) {
            prop_assume!(a.determinant() > 0.01);
            let (r, u) = polar(&a);
            let (rq, uq) = polar(&(q.to_rotation_matrix().into_inner() * a));
            prop_assert!((q * r).angle_to(&rq) < 1e-7);
            prop_assert!((u - uq).norm() < 1e-9);
        }

        /// No other rotation is nearer to the map.
        #[test]
        fn polar_rotation_is_nearest(a in matrix(), q in rotation()) {
            let r = polar(&a).0.to_rotation_matrix().into_inner();
            let other = q.to_rotation_matrix().into_inner();
            prop_assert!((a - r).norm() <= (a - other).norm() + 1e-5);
        }
    }

    #[test]
    fn polar_of_identity_is_exact() {
        let (r, u) = polar(&Mat3::identity());
        assert_eq!(r, UnitQuaternion::identity());
        assert_relative_eq!(u, Mat3::identity(), epsilon = 1e-15);
    }

    /// Mirrored, flat and vanished maps have rotations that do not jump.
    #[test]
    fn polar_of_degenerate_maps() {
        let mirror = Mat3::from_diagonal(&Vec3::new(-1.0, 1.0, 1.0));
        for a in [mirror, 300.0 * mirror, mirror * 1e-12] {
            assert!(polar(&a).0.angle() < 1e-9, "{a}");
        }
        // A tiny perturbation of the tie between the three axes does not turn the frame.
        let disturbed = mirror + Mat3::new(0.0, 1e-9, 0.0, 2e-9, 1e-9, 0.0, 3e-9, 0.0, 0.0);
        assert!(polar(&disturbed).0.angle() < 1e-2);
        let flat = Mat3::from_diagonal(&Vec3::new(1.0, 1.0, 0.0));
        assert!(polar(&flat).0.angle() < 1e-9);
        let line = Mat3::from_diagonal(&Vec3::new(0.0, 2.0, 0.0));
        assert!(polar(&line).0.angle() < 1e-9);
        assert_eq!(polar(&Mat3::zeros()).0, UnitQuaternion::identity());
        let huge = polar(&(1e300 * mirror));
        assert!(huge.0.coords.iter().all(|x| x.is_finite()));
    }

    /// Maps and matrices convert both ways, and matrices that are not affine or not finite are refused.
    #[test]
    fn affine_checks_matrices() {
        let a = Affine {
            linear: Mat3::new(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0),
            translation: Vec3::new(1.0, -2.0, 0.5),
        };
        let m = a.to_matrix();
        assert_eq!(Affine::from_matrix(&m), Some(a));
        let x = Vec3::new(0.3, 0.4, 0.5);
        assert_relative_eq!(
            m.transform_point(&x.into()).coords,
            a.apply(x),
            epsilon = 1e-12
        );
        assert_relative_eq!(a.compose(&a).apply(x), a.apply(a.apply(x)), epsilon = 1e-12);
        let mut bad = m;
        bad[(3, 1)] = 0.1;
        let e = Pose::from_matrices(&[m, bad]).unwrap_err();
        assert_eq!(e, SkeletonError::PoseNotAffine { bone: 1 });
        bad[(0, 1)] = f64::INFINITY;
        let e = Pose::from_matrices(&[bad]).unwrap_err();
        assert_eq!(e, SkeletonError::PoseNonFinite { bone: 0 });
    }
}
