// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties that each vertex of a carried surface takes from the nearest skin: the share and limit of its displayed sway
//! ([`crate::body::FleshMap`] for the body's own surface), and its lift at bent joints.

use crate::Vec3;
use crate::kernel::SwayBound;
use crate::lattice::Embedding;
use crate::surface::Surface;

/// Returns the bounds of points around a surface: those of the nearest corner of the nearest triangle, so that layers sway alike.
pub(super) fn sway_bounds(
    embedding: &Embedding,
    lattice: &[Vec3],
    surface: &Surface,
    bounds: &[SwayBound],
) -> Vec<SwayBound> {
    let bound = |i: usize| {
        let p = embedding.position(i, lattice);
        let triangle = surface.welded().source[surface.closest_point(p).triangle as usize];
        let distance = |v: &u32| (surface.vertices()[*v as usize] - p).norm_squared();
        let corners = surface.triangles()[triangle as usize];
        let nearest = corners
            .into_iter()
            .min_by(|a, b| distance(a).total_cmp(&distance(b)));
        nearest.map_or(SwayBound::UNLIMITED, |v| bounds[v as usize])
    };
    (0..embedding.len()).map(bound).collect()
}

/// A point of the body's own surface: three vertices and their barycentric coordinates.
#[derive(Debug, Clone, Copy)]
pub(super) struct SkinAnchor {
    corners: [u32; 3],
    shares: [f32; 3],
}

impl SkinAnchor {
    /// Interpolates vectors of the vertices at the point.
    pub fn interpolate(&self, vectors: &[[f32; 3]]) -> [f32; 3] {
        let mut sum = [0.0; 3];
        for (&v, share) in self.corners.iter().zip(self.shares) {
            let vector = vectors.get(v as usize).copied().unwrap_or_default();
            (0..3).for_each(|k| sum[k] += vector[k] * share);
        }
        sum
    }
}

/// Returns the points of a surface nearest to embedded points.
pub(super) fn nearest_anchors(
    embedding: &Embedding,
    lattice: &[Vec3],
    surface: &Surface,
) -> Vec<SkinAnchor> {
    let welded = surface.welded();
    let follow = |i: usize| {
        let closest = surface.closest_point(embedding.position(i, lattice));
        // The source triangle has the corners of the welded one, in another order.
        let t = closest.triangle as usize;
        let given = surface.triangles()[welded.source[t] as usize];
        let corner = |w: u32| {
            given
                .into_iter()
                .find(|&v| welded.of_vertex[v as usize] == w)
        };
        SkinAnchor {
            corners: welded.triangles[t].map(|w| corner(w).unwrap_or(given[0])),
            shares: closest.barycentric.map(|x| x as f32),
        }
    };
    (0..embedding.len()).map(follow).collect()
}
