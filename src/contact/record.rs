// SPDX-License-Identifier: MIT OR Apache-2.0
//! One contact: as it is kept from step to step, and as it is reported.

use super::collider::Collider;
use super::skin::{ContactSkin, SkinPoint};
use crate::Vec3;
use crate::range::FARTHEST;
use std::sync::Arc;

/// A contact that was there at the end of the last step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Live {
    pub body: u32,
    pub proxy: u32,
    pub other: u32,
    pub target: SkinPoint,
    /// N.
    pub force: f64,
    /// N, world axes.
    pub friction: Vec3,
    /// 1, or of a sheet −1 behind it.
    pub side: f64,
}

impl Live {
    /// How many numbers one is kept as.
    pub const NUMBERS: usize = 12;

    /// To be kept.
    pub fn numbers(&self) -> [f64; Self::NUMBERS] {
        let [a, b, c] = self.target.weights;
        let indices = [self.body, self.proxy, self.other, self.target.triangle].map(f64::from);
        let [i, proxy, j, triangle] = indices;
        let f = self.friction;
        [
            i, proxy, j, triangle, a, b, c, self.force, f.x, f.y, f.z, self.side,
        ]
    }

    /// From kept numbers; none where they fit no such skins and colliders.
    pub fn read(
        numbers: &[f64],
        skins: &[&ContactSkin],
        colliders: &[Arc<Collider>],
    ) -> Option<Self> {
        let index = |x: f64, count: usize| {
            let whole = x.fract() == 0.0 && (0.0..count as f64).contains(&x);
            whole.then_some(x as u32)
        };
        let body = index(numbers[0], skins.len())?;
        let other = index(numbers[2], skins.len() + colliders.len())?;
        let weights = [numbers[4], numbers[5], numbers[6]];
        let triangle = match skins.get(other as usize) {
            Some(skin) => index(numbers[3], skin.triangles()).filter(|&t| skin.is_skin(t))?,
            None => index(
                numbers[3],
                colliders[other as usize - skins.len()].triangles(),
            )?,
        };
        let sound = weights.iter().all(|w| w.abs() <= FARTHEST) && numbers[7] >= 0.0;
        (sound && numbers[11].abs() == 1.0).then_some(Self {
            body,
            proxy: index(numbers[1], skins[body as usize].proxies().len())?,
            other,
            target: SkinPoint { triangle, weights },
            force: numbers[7],
            friction: Vec3::new(numbers[8], numbers[9], numbers[10]),
            side: numbers[11],
        })
    }
}

/// One contact as it is reported.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ContactPoint {
    /// Where, metres.
    pub point: Vec3,
    /// Outward of the skin that is touched.
    pub normal: Vec3,
    /// Metres; negative: overlap.
    pub gap: f64,
    /// What pushes the vertex, N.
    pub force: Vec3,
    /// The body that is pushed.
    pub body: u32,
    /// A vertex of its surface.
    pub vertex: u32,
    /// The body that is touched; after all bodies, the colliders.
    pub other: u32,
    /// A vertex of its surface; 0 of a plane.
    pub partner: u32,
}
