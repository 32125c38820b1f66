// SPDX-License-Identifier: MIT OR Apache-2.0
//! Triangles that approximate the curved pieces through their corners.
//!
//! With corners y_k, normals m_k at them and m̄ between them, `d = ½ [m̄·(p − Σβ_k y_k) + Σβ_k m_k·(p − y_k)]` is the distance to
//! the piece to second order, so that no mesh looks smaller than its original.

use crate::Vec3;
use crate::geometry::aabb;
use crate::mrep::figures::boundary::BoundaryShape;
use crate::surface::{closest_leaf, closest_leaf_towards};
use parry3d_f64::partitioning::Bvh;

/// A triangle that approximates a curved piece, and a point of it.
pub(super) struct CurvedPiece {
    corners: [Vec3; 3],
    normals: [Vec3; 3],
    barycentric: [f64; 3],
}

impl CurvedPiece {
    /// Returns the interpolated unit normal; zero where the corners have none.
    pub fn normal(&self) -> Vec3 {
        let sum = (0..3)
            .map(|k| self.normals[k] * self.barycentric[k])
            .sum::<Vec3>();
        sum.try_normalize(1e-12).unwrap_or_default()
    }

    /// Returns the signed distance of a point, positive outside, and minus its derivatives by the corners.
    pub fn distance(&self, p: &Vec3) -> (f64, [Vec3; 3]) {
        let mean = self.normal();
        let directions = std::array::from_fn(|k| {
            let sum = mean + self.normals[k];
            // A corner without a normal uses the interpolated one.
            let normal = if self.normals[k].norm_squared() > 0.0 {
                sum * 0.5
            } else {
                mean
            };
            normal * self.barycentric[k]
        });
        let sum = |k: usize| -> f64 {
            let d: &[Vec3; 3] = &directions;
            d[k].dot(&(p - self.corners[k]))
        };
        ((0..3).map(sum).sum(), directions)
    }
}

/// A point of a mesh: a triangle and barycentric coordinates.
#[derive(Debug, Clone, Copy)]
pub(super) struct MeshPoint {
    pub triangle: u32,
    pub barycentric: [f64; 3],
}

/// A mesh with a hierarchy for nearest-point queries.
pub(super) struct CurvedMesh<'a> {
    positions: &'a [Vec3],
    triangles: &'a [[u32; 3]],
    /// Outward unit normals of the vertices, zero where undefined.
    pub normals: Vec<Vec3>,
    tree: Bvh,
    towards: Vec3,
}

impl<'a> CurvedMesh<'a> {
    /// Builds the hierarchy. Among equally near points, queries choose the one farthest back along `towards`.
    pub fn new(
        positions: &'a [Vec3],
        triangles: &'a [[u32; 3]],
        normals: Vec<Vec3>,
        towards: Vec3,
    ) -> Self {
        let corners = |t: &[u32; 3]| t.map(|v| positions[v as usize]);
        let boxes = triangles.iter().map(|t| aabb::bounds(corners(t).iter()));
        Self {
            positions,
            triangles,
            normals,
            tree: aabb::hierarchy(boxes),
            towards,
        }
    }

    /// Builds the hierarchy of a boundary, with the tie direction of another mesh.
    pub fn from_shape(
        shape: &'a BoundaryShape,
        triangles: &'a [[u32; 3]],
        other: &CurvedMesh<'_>,
    ) -> Self {
        Self::new(
            &shape.positions,
            triangles,
            shape.normals.clone(),
            other.towards,
        )
    }

    /// Returns the point of the mesh nearest to a point.
    pub fn nearest_point(&self, p: &Vec3) -> Option<MeshPoint> {
        let (triangle, _, barycentric) =
            closest_leaf_towards(&self.tree, p, &self.towards, |t| self.corners(t))?;
        Some(MeshPoint {
            triangle,
            barycentric,
        })
    }

    /// Returns the distance of a point from the mesh.
    pub fn distance(&self, p: &Vec3) -> Option<f64> {
        let (_, square, _) = closest_leaf(&self.tree, p, f64::INFINITY, |t| self.corners(t))?;
        Some(square.sqrt())
    }

    /// Returns the curved piece at a point of the mesh.
    pub fn piece_at(&self, at: MeshPoint) -> CurvedPiece {
        let corners = self.triangles[at.triangle as usize];
        CurvedPiece {
            corners: self.corners(at.triangle),
            normals: corners.map(|v| self.normals[v as usize]),
            barycentric: at.barycentric,
        }
    }

    fn corners(&self, triangle: u32) -> [Vec3; 3] {
        self.triangles[triangle as usize].map(|v| self.positions[v as usize])
    }
}
