// SPDX-License-Identifier: MIT OR Apache-2.0
//! One contact, as stored from step to step and as reported.

use super::collider::Collider;
use super::skin::{ContactSkin, SkinPoint};
use crate::Vec3;
use crate::range::is_position;
use std::sync::Arc;

/// Converts a stored number to an index below `count`; `None` if it is not one.
pub(super) fn to_index(x: f64, count: usize) -> Option<u32> {
    let whole = x.fract() == 0.0 && (0.0..count as f64).contains(&x);
    whole.then_some(x as u32)
}

/// Returns whether stored numbers are barycentric coordinates of a triangle.
pub(super) fn are_weights(weights: &[f64; 3]) -> bool {
    weights.iter().all(|w| (-0.01..=1.01).contains(w))
}

/// A contact at the end of the last step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LiveContact {
    /// Index of the pushed body, and number of the proxy on its skin.
    pub body: u32,
    pub proxy: u32,
    /// Index of the touched body, or of a collider, counted after the bodies; and the touched point.
    pub other: u32,
    pub target: SkinPoint,
    /// Normal force, N.
    pub force: f64,
    /// Friction force, N, world axes.
    pub friction: Vec3,
    /// 1; −1 for a point behind a sheet.
    pub side: f64,
}

impl LiveContact {
    /// Number of values that store one contact.
    pub const NUMBER_COUNT: usize = 12;

    /// Returns the values that store the contact.
    pub fn numbers(&self) -> [f64; Self::NUMBER_COUNT] {
        let [a, b, c] = self.target.weights;
        let indices = [self.body, self.proxy, self.other, self.target.triangle].map(f64::from);
        let [i, proxy, j, triangle] = indices;
        let f = self.friction;
        [
            i, proxy, j, triangle, a, b, c, self.force, f.x, f.y, f.z, self.side,
        ]
    }

    /// Reads stored values; `None` where they do not fit these skins and colliders.
    pub fn from_numbers(
        numbers: &[f64],
        skins: &[&ContactSkin],
        colliders: &[Arc<Collider>],
    ) -> Option<Self> {
        let body = to_index(numbers[0], skins.len())?;
        let other = to_index(numbers[2], skins.len() + colliders.len())?;
        let weights = [numbers[4], numbers[5], numbers[6]];
        let (triangle, placed) = match skins.get(other as usize) {
            Some(skin) => {
                let triangle = to_index(numbers[3], skin.triangles())?;
                (triangle, skin.is_skin(triangle) && are_weights(&weights))
            }
            None => {
                let collider = &colliders[other as usize - skins.len()];
                // For a plane the weights are a position.
                let placed = match collider.surface() {
                    Some(_) => are_weights(&weights),
                    None => is_position(&Vec3::from(weights)),
                };
                (to_index(numbers[3], collider.triangles())?, placed)
            }
        };
        let sound = placed && numbers[7] >= 0.0 && numbers[11].abs() == 1.0;
        sound.then_some(Self {
            body,
            proxy: to_index(numbers[1], skins[body as usize].proxies().len())?,
            other,
            target: SkinPoint { triangle, weights },
            force: numbers[7],
            friction: Vec3::new(numbers[8], numbers[9], numbers[10]),
            side: numbers[11],
        })
    }
}

/// One reported contact.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ContactPoint {
    /// Position of the vertex that is pushed, metres.
    pub point: Vec3,
    /// Outward normal of the touched skin.
    pub normal: Vec3,
    /// Gap, metres; negative: overlap.
    pub gap: f64,
    /// Force on the vertex, N.
    pub force: Vec3,
    /// Index of the body that is pushed.
    pub body: u32,
    /// Vertex of its surface.
    pub vertex: u32,
    /// Index of the touched body; colliders follow the bodies.
    pub other_body: u32,
    /// Vertex of its surface; 0 for a plane.
    pub other_vertex: u32,
    /// Whether only bones hold both sides, or the side that touches a collider: no force parts them.
    pub kinematic: bool,
}

impl ContactPoint {
    /// Returns the contact from the point of view of the touched body.
    pub(crate) fn swap_sides(&self) -> Self {
        Self {
            point: self.point - self.normal * self.gap,
            normal: -self.normal,
            force: -self.force,
            body: self.other_body,
            vertex: self.other_vertex,
            other_body: self.body,
            other_vertex: self.vertex,
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::ColliderMotion;
    use crate::contact::tests::ShapedBar;
    use crate::surface::Surface;
    use crate::surface::shapes::cuboid;

    /// Live contacts come back from their numbers unchanged; numbers that fit neither skin nor collider are
    /// refused.
    #[test]
    fn live_contacts_round_trip() {
        let flesh = ShapedBar::new(|x| *x, 0.0);
        let cube = cuboid(Vec3::repeat(1.0));
        let cube = Arc::new(Surface::new(cube.vertices, cube.triangles).unwrap());
        let colliders = [
            Arc::new(Collider::plane(Vec3::zeros(), Vec3::z()).unwrap()),
            Arc::new(Collider::mesh(cube, ColliderMotion::Still).unwrap()),
        ];
        let read = |numbers: &[f64]| LiveContact::from_numbers(numbers, &[&flesh.skin], &colliders);
        let skin = (0..flesh.skin.triangles() as u32).find(|&t| flesh.skin.is_skin(t));
        for (other, triangle, weights) in [
            (0, skin.unwrap(), [0.2, 0.3, 0.5]),
            (1, 0, [40.0, -7.0, 0.0]),
            (2, 11, [1.0, 0.0, 0.0]),
        ] {
            let live = LiveContact {
                body: 0,
                proxy: 3,
                other,
                target: SkinPoint { triangle, weights },
                force: 2.5,
                friction: Vec3::new(0.1, -0.2, 0.3),
                side: -1.0,
            };
            let numbers = live.numbers();
            assert_eq!(read(&numbers), Some(live));
            // The weights are a position for a plane only.
            let mut far = numbers;
            far[4] = 3.0;
            assert_eq!(read(&far).is_some(), other == 1);
            for (at, wrong) in [
                (0, 1.0),
                (1, 1e9),
                (1, 0.5),
                (2, 3.0),
                (3, 1e6),
                (5, f64::NAN),
                (7, -1.0),
                (11, 0.0),
            ] {
                let mut forged = numbers;
                forged[at] = wrong;
                assert_eq!(read(&forged), None, "{at}");
            }
        }
    }
}
