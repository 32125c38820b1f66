// SPDX-License-Identifier: MIT OR Apache-2.0
//! Colliders over a frame: their position at each instant, and their point nearest to a point of flesh.

use super::collider::{Collider, ColliderShape, MeshShape, PreparedMotion};
use super::skin::SkinPoint;
use crate::Vec3;
use crate::geometry::aabb;
use crate::surface::{WindingTree, closest_leaf};
use nalgebra::{Isometry3, Translation3};
use parry3d_f64::partitioning::Bvh;
use smallvec::SmallVec;
use std::sync::Arc;

/// Distance from a mesh, relative to its size, below which a point lies on it: the direction to it then means nothing.
const ON_MESH_TOLERANCE: f64 = 1e-7;

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

/// The point of a collider nearest to another point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NearestPoint {
    pub target: SkinPoint,
    /// Position, metres.
    pub point: Vec3,
    /// Unit normal there, out of the collider.
    pub normal: Vec3,
    /// 1; −1 for a point behind a sheet.
    pub side: f64,
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
            moving: self,
            place,
        }
    }
}

/// A collider at one instant.
pub(crate) struct PlacedCollider<'a> {
    moving: &'a MovingCollider,
    place: ColliderPlacement<'a>,
}

enum ColliderPlacement<'a> {
    Rigid(Isometry3<f64>),
    /// Vertices before the motion `moved`.
    Deformed(InterpolatedVertices<'a>),
}

/// Linear interpolation of vertices between the ends of the frame.
struct InterpolatedVertices<'a> {
    from: &'a [Vec3],
    to: &'a [Vec3],
    s: f64,
}

impl InterpolatedVertices<'_> {
    fn vertex(&self, v: usize) -> Vec3 {
        let (a, b) = (self.from[v], self.to[v]);
        a + (b - a) * self.s
    }
}

impl PlacedCollider<'_> {
    pub fn collider(&self) -> &Collider {
        &self.moving.collider
    }

    /// Returns the map from [local](Self::local_vertex) vertices to the world.
    fn frame(&self) -> &Isometry3<f64> {
        match &self.place {
            ColliderPlacement::Rigid(at) => at,
            ColliderPlacement::Deformed(_) => &self.moving.moved,
        }
    }

    fn local_vertex(&self, mesh: &MeshShape, v: u32) -> Vec3 {
        match &self.place {
            ColliderPlacement::Rigid(_) => mesh.surface.vertices()[v as usize],
            ColliderPlacement::Deformed(between) => between.vertex(v as usize),
        }
    }

    fn corners(&self, mesh: &MeshShape, triangle: u32) -> [Vec3; 3] {
        mesh.triangles[triangle as usize].map(|v| self.local_vertex(mesh, v))
    }

    /// Returns the position of one of its points, metres.
    pub fn position(&self, target: &SkinPoint) -> Vec3 {
        let local = match &self.moving.collider.shape {
            // For a plane the weights are the position.
            ColliderShape::Plane { .. } => Vec3::from(target.weights),
            ColliderShape::Mesh(mesh) => {
                let corners = self.corners(mesh, target.triangle);
                (0..3).map(|k| corners[k] * target.weights[k]).sum()
            }
        };
        into_world(self.frame(), &local)
    }

    /// Returns whether it is a room of a body.
    fn is_room(&self, body: usize) -> bool {
        self.moving.rooms.get(body).is_some_and(|room| *room)
    }

    /// Finds its point nearest to a point of a body. For sheets `side` returns the side on which the point belongs, from the sheet's point, its
    /// normal there and the signed distance in front of it.
    pub fn nearest_point(
        &self,
        x: &Vec3,
        body: usize,
        side: &dyn Fn(&SkinPoint, &Vec3, f64) -> f64,
    ) -> Option<NearestPoint> {
        let frame = self.frame();
        let local = frame.rotation.inverse() * (x - frame.translation.vector);
        let mesh = match &self.moving.collider.shape {
            ColliderShape::Plane { point, normal } => {
                let height = normal.dot(&(local - point));
                let on = local - normal * height;
                return Some(NearestPoint {
                    target: SkinPoint {
                        triangle: 0,
                        weights: on.into(),
                    },
                    point: into_world(frame, &on),
                    normal: frame.rotation * normal,
                    side: 1.0,
                });
            }
            ColliderShape::Mesh(mesh) => mesh,
        };
        let tree = self.moving.tree.as_ref()?;
        let found = closest_leaf(tree, &local, f64::MAX, |t| self.corners(mesh, t));
        let (triangle, apart, weights) = found?;
        let corners = self.corners(mesh, triangle);
        let on: Vec3 = (0..3).map(|k| corners[k] * weights[k]).sum();
        let outward = self.outward_normal(mesh, triangle, weights)?;
        let target = SkinPoint { triangle, weights };
        let away = local - on;
        let side = match mesh.sheet[triangle as usize] {
            true => side(&target, &(frame.rotation * outward), outward.dot(&away)),
            false if self.is_room(body) => -1.0,
            false => 1.0,
        };
        let out = if apart > (ON_MESH_TOLERANCE * mesh.size).powi(2) {
            // Use the direction to the nearest point, which is right at edges too.
            let is_out = match (&self.place, mesh.sheet[triangle as usize]) {
                (ColliderPlacement::Rigid(_), false) => {
                    mesh.surface.is_wound(local) == (side < 0.0)
                }
                _ => away.dot(&outward) * side >= 0.0,
            };
            away * if is_out { 1.0 } else { -1.0 }
        } else {
            outward * side
        };
        Some(NearestPoint {
            target,
            point: into_world(frame, &on),
            normal: frame.rotation * out.try_normalize(0.0)?,
            side,
        })
    }

    /// Returns the signed distance of a position in front of one of its points, metres; 0 for a plane.
    pub fn height(&self, target: &SkinPoint, x: &Vec3) -> f64 {
        let ColliderShape::Mesh(mesh) = &self.moving.collider.shape else {
            return 0.0;
        };
        let outward = self.outward_normal(mesh, target.triangle, target.weights);
        let outward = outward.map_or(Vec3::zeros(), |n| self.frame().rotation * n);
        outward.dot(&(x - self.position(target)))
    }

    /// Returns the outward normal at a point: of its triangle, of both at an edge, weighted by angle at a corner.
    fn outward_normal(&self, mesh: &MeshShape, triangle: u32, weights: [f64; 3]) -> Option<Vec3> {
        let corners = mesh.triangles[triangle as usize];
        let on = |k: usize| weights[k] > 1e-9;
        let normal = |t: u32| {
            let [a, b, c] = self.corners(mesh, t);
            (b - a).cross(&(c - a)).try_normalize(0.0)
        };
        let held: SmallVec<[u32; 3]> = (0..3).filter(|&k| on(k)).map(|k| corners[k]).collect();
        let first = mesh.around.get(*held.first()? as usize)?;
        let shared = first.iter().copied().filter(|&t| {
            let of = mesh.triangles[t as usize];
            held.iter().all(|v| of.contains(v))
        });
        let mut sum = Vec3::zeros();
        for t in shared {
            let Some(n) = normal(t) else { continue };
            let weight = match held[..] {
                [v] => {
                    let of = mesh.triangles[t as usize];
                    let k = of.iter().position(|&u| u == v)?;
                    let at = |i: usize| self.local_vertex(mesh, of[(k + i) % 3]);
                    let (a, b) = (at(1) - at(0), at(2) - at(0));
                    a.angle(&b)
                }
                _ => 1.0,
            };
            sum += n * weight;
        }
        sum.try_normalize(1e-12).or_else(|| normal(triangle))
    }

    /// Returns the depth of a point of a body in it, metres; negative outside, and for sheets, which have no inside.
    pub fn depth(&self, x: &Vec3, body: usize) -> f64 {
        let nowhere = |(lo, hi): (Vec3, Vec3)| (0..3).any(|k| x[k] < lo[k] || x[k] > hi[k]);
        if !self.is_room(body) && self.bounds().is_some_and(nowhere) {
            return f64::NEG_INFINITY;
        }
        // For a sheet take the side on which the point is.
        let near = self.nearest_point(x, body, &|_, _, height| height.signum());
        near.map_or(f64::NEG_INFINITY, |near| near.normal.dot(&(near.point - x)))
    }

    /// Counts the points that it encloses.
    pub fn count_enclosed(&self, points: &[Vec3]) -> usize {
        let ColliderShape::Mesh(mesh) = &self.moving.collider.shape else {
            return 0;
        };
        let frame = self.frame();
        let local = |x: &Vec3| frame.rotation.inverse() * (x - frame.translation.vector);
        let local = points.iter().map(local);
        match &self.place {
            ColliderPlacement::Rigid(_) => {
                let is_in = |x: &Vec3| mesh.surface.is_wound(*x);
                local.filter(is_in).count()
            }
            ColliderPlacement::Deformed(between) => {
                let vertices = 0..between.from.len();
                let vertices: Vec<Vec3> = vertices.map(|v| between.vertex(v)).collect();
                let solid = 0..mesh.triangles.len() as u32;
                let solid = solid.filter(|&t| !mesh.sheet[t as usize]).collect();
                let tree = WindingTree::new(&vertices, &mesh.triangles, solid);
                local.filter(|x| tree.is_wound(x)).count()
            }
        }
    }

    /// Returns a vertex of its surface near one of its points; 0 for a plane.
    pub fn vertex_at(&self, target: &SkinPoint) -> u32 {
        match &self.moving.collider.shape {
            ColliderShape::Plane { .. } => 0,
            ColliderShape::Mesh(mesh) => {
                let k = target.heaviest_corner();
                mesh.triangles[target.triangle as usize][k]
            }
        }
    }

    /// Returns the box around it; `None` for a plane.
    pub fn bounds(&self) -> Option<(Vec3, Vec3)> {
        match (&self.moving.collider.shape, &self.place) {
            (ColliderShape::Plane { .. }, _) => None,
            (ColliderShape::Mesh(mesh), ColliderPlacement::Rigid(frame)) => {
                let places = mesh.surface.vertices().iter();
                Some(aabb::bounds(places.map(|x| into_world(frame, x))))
            }
            (_, ColliderPlacement::Deformed(between)) => {
                let all = 0..between.from.len();
                let places = all.map(|v| into_world(&self.moving.moved, &between.vertex(v)));
                Some(aabb::bounds(places))
            }
        }
    }
}

fn into_world(frame: &Isometry3<f64>, x: &Vec3) -> Vec3 {
    frame.rotation * x + frame.translation.vector
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::ColliderMotion;
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
