// SPDX-License-Identifier: MIT OR Apache-2.0
//! A collider at one instant: its points, and the one nearest to a point of flesh.

use super::collider::{Collider, ColliderShape, MeshShape};
use super::skin::SkinPoint;
use crate::Vec3;
use crate::geometry::aabb;
use crate::surface::{WindingTree, closest_leaf};
use nalgebra::Isometry3;
use parry3d_f64::partitioning::Bvh;
use smallvec::SmallVec;

/// Distance from a mesh, relative to its size, below which a point lies on it: the direction to it then means nothing.
const ON_MESH_TOLERANCE: f64 = 1e-7;

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

/// A collider at one instant.
pub(crate) struct PlacedCollider<'a> {
    pub(super) collider: &'a Collider,
    /// Tree over the touched triangles.
    pub(super) tree: Option<&'a Bvh>,
    pub(super) moved: &'a Isometry3<f64>,
    /// Whether it is a room of each body.
    pub(super) rooms: &'a [bool],
    pub(super) place: ColliderPlacement<'a>,
}

pub(super) enum ColliderPlacement<'a> {
    Rigid(Isometry3<f64>),
    /// Vertices before the motion `moved`.
    Deformed(InterpolatedVertices<'a>),
}

/// Linear interpolation of vertices between the ends of the frame.
pub(super) struct InterpolatedVertices<'a> {
    pub from: &'a [Vec3],
    pub to: &'a [Vec3],
    pub s: f64,
}

impl InterpolatedVertices<'_> {
    fn vertex(&self, v: usize) -> Vec3 {
        let (a, b) = (self.from[v], self.to[v]);
        a + (b - a) * self.s
    }
}

impl PlacedCollider<'_> {
    pub fn collider(&self) -> &Collider {
        self.collider
    }

    /// Returns the map from [local](Self::local_vertex) vertices to the world.
    fn frame(&self) -> &Isometry3<f64> {
        match &self.place {
            ColliderPlacement::Rigid(at) => at,
            ColliderPlacement::Deformed(_) => self.moved,
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
        let local = match &self.collider.shape {
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
        self.rooms.get(body).is_some_and(|room| *room)
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
        let mesh = match &self.collider.shape {
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
        let tree = self.tree.as_ref()?;
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
        let ColliderShape::Mesh(mesh) = &self.collider.shape else {
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
        let first = mesh.around.members(*held.first()? as usize);
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
        let ColliderShape::Mesh(mesh) = &self.collider.shape else {
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
        match &self.collider.shape {
            ColliderShape::Plane { .. } => 0,
            ColliderShape::Mesh(mesh) => {
                let k = target.heaviest_corner();
                mesh.triangles[target.triangle as usize][k]
            }
        }
    }

    /// Returns the box around it; `None` for a plane.
    pub fn bounds(&self) -> Option<(Vec3, Vec3)> {
        match (&self.collider.shape, &self.place) {
            (ColliderShape::Plane { .. }, _) => None,
            (ColliderShape::Mesh(mesh), ColliderPlacement::Rigid(frame)) => {
                let places = mesh.surface.vertices().iter();
                Some(aabb::bounds(places.map(|x| into_world(frame, x))))
            }
            (_, ColliderPlacement::Deformed(between)) => {
                let all = 0..between.from.len();
                let places = all.map(|v| into_world(self.moved, &between.vertex(v)));
                Some(aabb::bounds(places))
            }
        }
    }
}

pub(super) fn into_world(frame: &Isometry3<f64>, x: &Vec3) -> Vec3 {
    frame.rotation * x + frame.translation.vector
}
