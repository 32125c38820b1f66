// SPDX-License-Identifier: MIT OR Apache-2.0
//! Colliders over a frame, and their position at each instant.

use super::collider::{Collider, ColliderShape, MeshShape, PreparedMotion};
use super::placed_collider::{ColliderPlacement, InterpolatedVertices, PlacedCollider};
use crate::Vec3;
use crate::geometry::aabb;
use nalgebra::{Isometry3, Translation3};
use parry3d_f64::partitioning::Bvh;
use std::sync::Arc;

/// Entries of the colliders' motions at the ends of a frame, and a rigid motion applied to all of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ColliderSpan {
    pub from: usize,
    pub to: usize,
    pub moved: Isometry3<f64>,
}

impl ColliderSpan {
    /// Returns the span between two entries, without a further motion.
    pub fn between_entries(from: usize, to: usize) -> Self {
        Self {
            from,
            to,
            moved: Isometry3::identity(),
        }
    }
}

/// A collider over one frame.
pub(crate) struct MovingCollider {
    collider: Arc<Collider>,
    ends: MotionEnds,
    /// Tree over the touched triangles: at rest for rigid motion, over the swept boxes for a deforming mesh.
    tree: Option<Arc<Bvh>>,
    moved: Isometry3<f64>,
    /// Whether it is a room of each body: then its outside is solid.
    rooms: Vec<bool>,
}

/// Motion over the frame, as its two ends.
enum MotionEnds {
    Rigid(Isometry3<f64>, Isometry3<f64>),
    Deforming(Vec<Vec3>, Vec<Vec3>),
}

/// Returns a tree over a mesh at rest; `None` for a plane.
pub(crate) fn build_rest_tree(collider: &Collider) -> Option<Arc<Bvh>> {
    let ColliderShape::Mesh(mesh) = &collider.shape else {
        return None;
    };
    let rest = mesh.surface.vertices();
    Some(Arc::new(build_tree(mesh, |v| [rest[v], rest[v]])))
}

fn build_tree(mesh: &MeshShape, ends: impl Fn(usize) -> [Vec3; 2]) -> Bvh {
    let boxes = mesh
        .triangles
        .iter()
        .map(|t| aabb::bounds(t.iter().flat_map(|&v| ends(v as usize))));
    aabb::hierarchy(boxes)
}

impl MovingCollider {
    /// Builds the motion over a frame; `rest` is its [`build_rest_tree`].
    pub fn new(collider: &Arc<Collider>, rest: Option<&Arc<Bvh>>, span: &ColliderSpan) -> Self {
        let entry = |i: usize, len: usize| i.min(len.saturating_sub(1));
        let still = || MotionEnds::Rigid(Isometry3::identity(), Isometry3::identity());
        let (way, tree) = match (&collider.motion, &collider.shape) {
            (PreparedMotion::Still, _) | (_, ColliderShape::Plane { .. }) => {
                (still(), rest.cloned())
            }
            (PreparedMotion::Rigid(all), _) => {
                let at = |i| all[entry(i, all.len())];
                (MotionEnds::Rigid(at(span.from), at(span.to)), rest.cloned())
            }
            (PreparedMotion::Deforming(all), ColliderShape::Mesh(mesh)) => {
                let at = |i| {
                    let places: &Vec<Vec3> = &all[entry(i, all.len())];
                    places.clone()
                };
                let (from, to) = (at(span.from), at(span.to));
                let swept = build_tree(mesh, |v| [from[v], to[v]]);
                (MotionEnds::Deforming(from, to), Some(Arc::new(swept)))
            }
        };
        Self {
            collider: collider.clone(),
            ends: way,
            tree,
            moved: span.moved,
            rooms: Vec::new(),
        }
    }

    /// Marks it as a room of some bodies.
    pub fn with_rooms(self, rooms: &[bool]) -> Self {
        let rooms = rooms.to_vec();
        Self { rooms, ..self }
    }

    /// Returns the collider after a share `s` of the frame, 0 to 1.
    pub fn place_at(&self, s: f64) -> PlacedCollider<'_> {
        let place = match (&self.ends, &self.collider.shape) {
            (MotionEnds::Rigid(from, to), ColliderShape::Mesh(mesh)) => {
                // The rotation is about the centre of the mesh.
                let middle =
                    |at: &Isometry3<f64>| at.rotation * mesh.centre + at.translation.vector;
                let (a, b) = (middle(from), middle(to));
                let turn = from.rotation.slerp(&to.rotation, s);
                let shift = a + (b - a) * s - turn * mesh.centre;
                ColliderPlacement::Rigid(
                    self.moved * Isometry3::from_parts(Translation3::from(shift), turn),
                )
            }
            (MotionEnds::Rigid(..), ColliderShape::Plane { .. }) => {
                ColliderPlacement::Rigid(self.moved)
            }
            (MotionEnds::Deforming(from, to), _) => {
                ColliderPlacement::Deformed(InterpolatedVertices { from, to, s })
            }
        };
        PlacedCollider {
            collider: &self.collider,
            tree: self.tree.as_deref(),
            moved: &self.moved,
            rooms: &self.rooms,
            place,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::ColliderMotion;
    use crate::contact::placed_collider::into_world;
    use crate::contact::skin::SkinPoint;
    use crate::skeleton::Affine;
    use crate::surface::Surface;
    use crate::surface::shapes::{cuboid, random_points};
    use nalgebra::UnitQuaternion;

    const HALF_EXTENTS: Vec3 = Vec3::new(1.0, 0.5, 0.25);

    fn block(motion: ColliderMotion) -> Arc<Collider> {
        let shape = cuboid(HALF_EXTENTS);
        let surface = Arc::new(Surface::new(shape.vertices, shape.triangles).unwrap());
        Arc::new(Collider::mesh(surface, motion).unwrap())
    }

    fn moving_collider(collider: &Arc<Collider>, span: &ColliderSpan) -> MovingCollider {
        MovingCollider::new(collider, build_rest_tree(collider).as_ref(), span)
    }

    fn front_side(_: &SkinPoint, _: &Vec3, _: f64) -> f64 {
        1.0
    }

    fn rotation_map(angle: f64) -> Affine {
        let turn = UnitQuaternion::from_scaled_axis(Vec3::new(0.3, -0.2, 0.9) * angle);
        Affine {
            linear: turn.to_rotation_matrix().into_inner(),
            translation: Vec3::new(0.4, 0.1, -0.3) * angle,
        }
    }

    /// The nearest point of a block and its signed distance agree with the closed form, inside and outside.
    #[test]
    fn nearest_on_block_is_exact() {
        let moving = moving_collider(
            &block(ColliderMotion::Still),
            &ColliderSpan::between_entries(0, 0),
        );
        let placed = moving.place_at(0.5);
        for p in random_points(400, 1.5, 11) {
            let near = placed.nearest_point(&p, 0, &front_side).unwrap();
            let inside = (0..3).all(|k| p[k].abs() < HALF_EXTENTS[k]);
            let clamped = p.sup(&-HALF_EXTENTS).inf(&HALF_EXTENTS);
            let expected = match inside {
                true => -(HALF_EXTENTS - p.abs()).min(),
                false => (p - clamped).norm(),
            };
            assert!((near.normal.dot(&(p - near.point)) - expected).abs() < 1e-9);
            assert!((placed.position(&near.target) - near.point).norm() < 1e-12);
        }
    }

    /// A motion given by rigid maps and one given by the vertices that they produce agree.
    #[test]
    fn rigid_and_deforming_motion_agree() {
        let maps = vec![rotation_map(0.0), rotation_map(0.05)];
        let rigid = block(ColliderMotion::Carried(maps.clone()));
        assert!(matches!(rigid.motion, PreparedMotion::Rigid(_)));
        let rest = cuboid(HALF_EXTENTS).vertices;
        let posed = |map: &Affine| rest.iter().map(|&x| map.apply(x)).collect();
        let deforming = block(ColliderMotion::Deforming(maps.iter().map(posed).collect()));
        let span = ColliderSpan::between_entries(0, 1);
        let (rigid, deforming) = (
            moving_collider(&rigid, &span),
            moving_collider(&deforming, &span),
        );
        for s in [0.0, 0.4, 1.0] {
            let (a, b) = (rigid.place_at(s), deforming.place_at(s));
            for p in random_points(60, 1.4, 5) {
                let near = [&a, &b].map(|placed| placed.nearest_point(&p, 0, &front_side).unwrap());
                let gaps = near.map(|near| near.normal.dot(&(p - near.point)));
                // Between entries vertices move along straight lines, and rigid colliders turn.
                let apart = if s == 0.4 { 5e-4 } else { 1e-9 };
                assert!((gaps[0] - gaps[1]).abs() < apart, "{s} {gaps:?}");
            }
        }
    }

    /// A collider stays in place after its last entry, and the whole of it can be moved by an isometry.
    #[test]
    fn motion_stays_after_last_entry() {
        let maps = vec![rotation_map(0.0), rotation_map(0.3)];
        let moving = block(ColliderMotion::Carried(maps));
        let (last, beyond) = (
            moving_collider(&moving, &ColliderSpan::between_entries(1, 1)),
            moving_collider(&moving, &ColliderSpan::between_entries(7, 8)),
        );
        let by = Isometry3::new(Vec3::new(1.0, 2.0, 3.0), Vec3::new(0.1, 0.7, -0.4));
        let span = ColliderSpan {
            moved: by,
            ..ColliderSpan::between_entries(1, 1)
        };
        let moved = moving_collider(&moving, &span);
        for p in random_points(40, 1.4, 3) {
            let at = last
                .place_at(0.0)
                .nearest_point(&p, 0, &front_side)
                .unwrap();
            let later = beyond
                .place_at(0.7)
                .nearest_point(&p, 0, &front_side)
                .unwrap();
            assert!((at.point - later.point).norm() < 1e-12);
            let there = into_world(&by, &p);
            let there = moved
                .place_at(0.0)
                .nearest_point(&there, 0, &front_side)
                .unwrap();
            assert!((into_world(&by, &at.point) - there.point).norm() < 1e-9);
            assert!((by.rotation * at.normal - there.normal).norm() < 1e-9);
        }
    }

    /// A plane is solid below, and an open sheet is solid on the side that the caller names.
    #[test]
    fn plane_is_solid_below() {
        let plane = Arc::new(Collider::plane(Vec3::z() * 0.5, Vec3::z() * 7.0).unwrap());
        let moving = moving_collider(&plane, &ColliderSpan::between_entries(0, 1));
        for height in [-2.0, 0.3] {
            let p = Vec3::new(0.2, -0.7, 0.5 + height);
            let near = moving
                .place_at(0.2)
                .nearest_point(&p, 0, &front_side)
                .unwrap();
            assert_eq!(near.normal, Vec3::z());
            assert!((near.point - Vec3::new(0.2, -0.7, 0.5)).norm() < 1e-12);
        }
        let corners = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
        let corners = corners.map(|[x, y]| Vec3::new(x, y, 0.0)).to_vec();
        let surface = Surface::new(corners, vec![[0, 1, 2], [0, 2, 3]]).unwrap();
        let sheet = Collider::mesh(Arc::new(surface), ColliderMotion::Still).unwrap();
        let moving = moving_collider(&Arc::new(sheet), &ColliderSpan::between_entries(0, 0));
        for side in [1.0, -1.0] {
            for height in [0.1, -0.1] {
                let p = Vec3::new(0.1, 0.2, height);
                let side_of = |_: &SkinPoint, outward: &Vec3, distance: f64| {
                    assert!((outward.z * distance - height).abs() < 1e-12);
                    side * outward.z
                };
                let near = moving.place_at(0.0).nearest_point(&p, 0, &side_of).unwrap();
                assert!((near.normal - Vec3::z() * side).norm() < 1e-12);
            }
        }
    }
}
