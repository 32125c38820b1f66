// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stands in for the skeleton's poses until that room is merged; goes then.
#![allow(missing_docs)]
use crate::Vec3;
use crate::skeleton::Skeleton;
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Pose {
    maps: Vec<crate::Mat4>,
}
#[allow(missing_docs)]
impl Pose {
    pub fn new(maps: Vec<crate::Mat4>) -> Result<Self, ()> {
        Ok(Self { maps })
    }
    pub fn maps(&self) -> &[crate::Mat4] {
        &self.maps
    }
}
#[allow(missing_docs)]
pub struct BonePoses {
    q: Vec<nalgebra::UnitDualQuaternion<f64>>,
}
#[allow(missing_docs)]
impl BonePoses {
    pub fn new(_s: &Skeleton, p: &Pose) -> Self {
        Self {
            q: p.maps
                .iter()
                .map(|m| {
                    let r = nalgebra::Rotation3::from_matrix(&m.fixed_view::<3, 3>(0, 0).into());
                    let t = m.fixed_view::<3, 1>(0, 3).into_owned();
                    nalgebra::UnitDualQuaternion::from_isometry(&nalgebra::Isometry3::from_parts(
                        nalgebra::Translation3::from(t),
                        nalgebra::UnitQuaternion::from_rotation_matrix(&r),
                    ))
                })
                .collect(),
        }
    }
    fn blend(&self, w: impl Iterator<Item = (u32, f64)>) -> nalgebra::Isometry3<f64> {
        let mut first = None;
        let mut r = nalgebra::Quaternion::new(0., 0., 0., 0.);
        let mut d = r;
        for (b, w) in w {
            let q = self.q[b as usize].into_inner();
            let f = *first.get_or_insert(q.real);
            let s = if f.dot(&q.real) < 0.0 { -w } else { w };
            r += q.real * s;
            d += q.dual * s;
        }
        let n = r.norm();
        let r = r / n;
        let d = d / n;
        let d = d - r * r.dot(&d);
        nalgebra::UnitDualQuaternion::new_unchecked(nalgebra::DualQuaternion::from_real_and_dual(
            r, d,
        ))
        .to_isometry()
    }
    pub fn place(&self, w: impl Iterator<Item = (u32, f64)>, x: Vec3) -> Vec3 {
        let i = self.blend(w);
        i.rotation * x + i.translation.vector
    }
    pub fn rotation(&self, w: impl Iterator<Item = (u32, f64)>) -> crate::Mat3 {
        *self.blend(w).rotation.to_rotation_matrix().matrix()
    }
}
#[allow(missing_docs)]
pub struct FrameMotion {
    a: Pose,
    b: Pose,
}
#[allow(missing_docs)]
impl FrameMotion {
    pub fn between(a: &Pose, b: &Pose) -> Self {
        Self {
            a: a.clone(),
            b: b.clone(),
        }
    }
    pub fn at(&self, s: f64) -> Pose {
        let s = s;
        Pose {
            maps: self
                .a
                .maps
                .iter()
                .zip(&self.b.maps)
                .map(|(a, b)| {
                    let ra =
                        nalgebra::UnitQuaternion::from_matrix(&a.fixed_view::<3, 3>(0, 0).into());
                    let rb =
                        nalgebra::UnitQuaternion::from_matrix(&b.fixed_view::<3, 3>(0, 0).into());
                    let ta = a.fixed_view::<3, 1>(0, 3).into_owned();
                    let tb = b.fixed_view::<3, 1>(0, 3).into_owned();
                    nalgebra::Isometry3::from_parts(ta.lerp(&tb, s).into(), ra.slerp(&rb, s))
                        .to_homogeneous()
                })
                .collect(),
        }
    }
}
