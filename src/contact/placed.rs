// SPDX-License-Identifier: MIT OR Apache-2.0
//! Colliders over a frame: where they are at each instant of it, and which of their points is nearest.

use super::collider::{Collider, MeshShape, Motion, Shape};
use super::skin::SkinPoint;
use crate::Vec3;
use crate::aabb;
use crate::surface::closest_leaf;
use nalgebra::{Isometry3, Translation3};
use parry3d_f64::partitioning::{Bvh, BvhBuildStrategy};
use std::sync::Arc;

/// Points nearer than this part of a mesh's size lie on it: their direction says nothing.
const ON: f64 = 1e-7;

/// Which entries of the colliders' motions a frame goes between, and where all of them are moved to besides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Span {
    pub from: usize,
    pub to: usize,
    pub moved: Isometry3<f64>,
}

impl Span {
    /// Between two entries.
    pub fn between(from: usize, to: usize) -> Self {
        Self {
            from,
            to,
            moved: Isometry3::identity(),
        }
    }
}

/// A collider over one frame.
pub(crate) struct Moving {
    collider: Arc<Collider>,
    way: Way,
    /// Over the touched triangles: at rest of what moves rigidly, of a deforming mesh with the boxes that its triangles sweep.
    tree: Option<Arc<Bvh>>,
    moved: Isometry3<f64>,
}

/// The motion over the frame.
enum Way {
    Rigid(Isometry3<f64>, Isometry3<f64>),
    Deforming(Vec<Vec3>, Vec<Vec3>),
}

/// The point of a collider that is nearest to another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Near {
    pub target: SkinPoint,
    /// Where it is.
    pub point: Vec3,
    /// Out of the collider, there.
    pub normal: Vec3,
    /// 1, or of a sheet −1 behind it.
    pub side: f64,
}

/// A tree over a mesh at rest; none of a plane.
pub(crate) fn tree_at_rest(collider: &Collider) -> Option<Arc<Bvh>> {
    let Shape::Mesh(mesh) = &collider.shape else {
        return None;
    };
    let rest = mesh.surface.vertices();
    Some(Arc::new(tree(mesh, |v| [rest[v], rest[v]])))
}

fn tree(mesh: &MeshShape, ends: impl Fn(usize) -> [Vec3; 2]) -> Bvh {
    let boxes = mesh.triangles.iter().map(|t| {
        let (lo, hi) = aabb::bounds(t.iter().flat_map(|&v| ends(v as usize)));
        aabb::to_parry(&lo, &hi)
    });
    Bvh::from_iter(BvhBuildStrategy::Binned, boxes.enumerate())
}

impl Moving {
    /// Over a frame; `rest` is its [`tree_at_rest`].
    pub fn new(collider: &Arc<Collider>, rest: Option<&Arc<Bvh>>, span: &Span) -> Self {
        let entry = |i: usize, len: usize| i.min(len.saturating_sub(1));
        let still = || Way::Rigid(Isometry3::identity(), Isometry3::identity());
        let (way, tree) = match (&collider.motion, &collider.shape) {
            (Motion::Still, _) | (_, Shape::Plane { .. }) => (still(), rest.cloned()),
            (Motion::Rigid(all), _) => {
                let at = |i| all[entry(i, all.len())];
                (Way::Rigid(at(span.from), at(span.to)), rest.cloned())
            }
            (Motion::Deforming(all), Shape::Mesh(mesh)) => {
                let at = |i| {
                    let places: &Vec<Vec3> = &all[entry(i, all.len())];
                    places.clone()
                };
                let (from, to) = (at(span.from), at(span.to));
                let swept = tree(mesh, |v| [from[v], to[v]]);
                (Way::Deforming(from, to), Some(Arc::new(swept)))
            }
        };
        Self {
            collider: collider.clone(),
            way,
            tree,
            moved: span.moved,
        }
    }

    /// Where it is a part `s` of the frame.
    pub fn at(&self, s: f64) -> Placed<'_> {
        let place = match (&self.way, &self.collider.shape) {
            (Way::Rigid(from, to), Shape::Mesh(mesh)) => {
                // It turns about its middle.
                let middle =
                    |at: &Isometry3<f64>| at.rotation * mesh.centre + at.translation.vector;
                let (a, b) = (middle(from), middle(to));
                let turn = from.rotation.slerp(&to.rotation, s);
                let shift = a + (b - a) * s - turn * mesh.centre;
                Place::Rigid(self.moved * Isometry3::from_parts(Translation3::from(shift), turn))
            }
            (Way::Rigid(..), Shape::Plane { .. }) => Place::Rigid(self.moved),
            (Way::Deforming(from, to), _) => {
                let pairs = from.iter().zip(to);
                Place::Deformed(pairs.map(|(a, b)| a + (b - a) * s).collect())
            }
        };
        Placed { of: self, place }
    }
}

/// A collider at one instant.
pub(crate) struct Placed<'a> {
    of: &'a Moving,
    place: Place,
}

enum Place {
    Rigid(Isometry3<f64>),
    /// Before `moved`.
    Deformed(Vec<Vec3>),
}

impl Placed<'_> {
    pub fn collider(&self) -> &Collider {
        &self.of.collider
    }

    /// From the world to where [`local`](Self::local) vertices are.
    fn frame(&self) -> &Isometry3<f64> {
        match &self.place {
            Place::Rigid(at) => at,
            Place::Deformed(_) => &self.of.moved,
        }
    }

    fn local(&self, mesh: &MeshShape, v: u32) -> Vec3 {
        match &self.place {
            Place::Rigid(_) => mesh.surface.vertices()[v as usize],
            Place::Deformed(places) => places[v as usize],
        }
    }

    fn corners(&self, mesh: &MeshShape, triangle: u32) -> [Vec3; 3] {
        mesh.triangles[triangle as usize].map(|v| self.local(mesh, v))
    }

    /// Where one of its points is.
    pub fn point(&self, target: &SkinPoint) -> Vec3 {
        let local = match &self.of.collider.shape {
            // Of a plane the weights are where the point is.
            Shape::Plane { .. } => Vec3::from(target.weights),
            Shape::Mesh(mesh) => {
                let corners = self.corners(mesh, target.triangle);
                (0..3).map(|k| corners[k] * target.weights[k]).sum()
            }
        };
        into_world(self.frame(), &local)
    }

    /// The nearest of its points closer than `within`. On which side of a sheet the point belongs `side` tells, from the
    /// sheet's point, its direction there and how far the point is in front of it.
    pub fn nearest(
        &self,
        x: &Vec3,
        within: f64,
        side: &dyn Fn(&SkinPoint, &Vec3, f64) -> f64,
    ) -> Option<Near> {
        let frame = self.frame();
        let local = frame.rotation.inverse() * (x - frame.translation.vector);
        let mesh = match &self.of.collider.shape {
            Shape::Plane { point, normal } => {
                let height = normal.dot(&(local - point));
                let on = local - normal * height;
                return (height < within).then(|| Near {
                    target: SkinPoint {
                        triangle: 0,
                        weights: on.into(),
                    },
                    point: into_world(frame, &on),
                    normal: frame.rotation * normal,
                    side: 1.0,
                });
            }
            Shape::Mesh(mesh) => mesh,
        };
        let tree = self.of.tree.as_ref()?;
        let found = closest_leaf(tree, &local, within, |t| self.corners(mesh, t));
        let (triangle, apart, weights) = found?;
        let corners = self.corners(mesh, triangle);
        let on: Vec3 = (0..3).map(|k| corners[k] * weights[k]).sum();
        let outward = self.outward(mesh, triangle, weights)?;
        let target = SkinPoint { triangle, weights };
        let away = local - on;
        let side = match mesh.sheet[triangle as usize] {
            true => side(&target, &(frame.rotation * outward), outward.dot(&away)),
            false => 1.0,
        };
        let out = if apart > (ON * mesh.size).powi(2) {
            // Along the way to the nearest point, which is right at edges too.
            let is_out = match (&self.place, mesh.sheet[triangle as usize]) {
                (Place::Rigid(_), false) => mesh.surface.winding_number(local) < 0.5,
                _ => away.dot(&outward) * side >= 0.0,
            };
            away * if is_out { 1.0 } else { -1.0 }
        } else {
            outward * side
        };
        Some(Near {
            target,
            point: into_world(frame, &on),
            normal: frame.rotation * out.try_normalize(0.0)?,
            side,
        })
    }

    /// How far a point is in front of one of its points.
    pub fn height(&self, target: &SkinPoint, x: &Vec3) -> f64 {
        let Shape::Mesh(mesh) = &self.of.collider.shape else {
            return 0.0;
        };
        let outward = self.outward(mesh, target.triangle, target.weights);
        let outward = outward.map_or(Vec3::zeros(), |n| self.frame().rotation * n);
        outward.dot(&(x - self.point(target)))
    }

    /// The outward direction at a point: of its triangle, of both at an edge, of all by their angles at a corner.
    fn outward(&self, mesh: &MeshShape, triangle: u32, weights: [f64; 3]) -> Option<Vec3> {
        let corners = mesh.triangles[triangle as usize];
        let on = |k: usize| weights[k] > 1e-9;
        let normal = |t: u32| {
            let [a, b, c] = self.corners(mesh, t);
            (b - a).cross(&(c - a)).try_normalize(0.0)
        };
        let held: Vec<u32> = (0..3).filter(|&k| on(k)).map(|k| corners[k]).collect();
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
                    let at = |i: usize| self.local(mesh, of[(k + i) % 3]);
                    let (a, b) = (at(1) - at(0), at(2) - at(0));
                    a.angle(&b)
                }
                _ => 1.0,
            };
            sum += n * weight;
        }
        sum.try_normalize(1e-12).or_else(|| normal(triangle))
    }

    /// A vertex of its surface near one of its points; 0 of a plane.
    pub fn vertex_at(&self, target: &SkinPoint) -> u32 {
        match &self.of.collider.shape {
            Shape::Plane { .. } => 0,
            Shape::Mesh(mesh) => {
                let k = target.corner();
                mesh.triangles[target.triangle as usize][k]
            }
        }
    }

    /// The box around it; none of a plane.
    pub fn bounds(&self) -> Option<(Vec3, Vec3)> {
        match (&self.of.collider.shape, &self.place) {
            (Shape::Plane { .. }, _) => None,
            (Shape::Mesh(mesh), Place::Rigid(frame)) => {
                let places = mesh.surface.vertices().iter();
                Some(aabb::bounds(places.map(|x| into_world(frame, x))))
            }
            (_, Place::Deformed(places)) => {
                let frame = &self.of.moved;
                Some(aabb::bounds(places.iter().map(|x| into_world(frame, x))))
            }
        }
    }
}

fn into_world(frame: &Isometry3<f64>, x: &Vec3) -> Vec3 {
    frame.rotation * x + frame.translation.vector
}
