// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much of its sway each vertex of a carried surface shows ([`crate::body::FleshMap`] says it of the body's own).

use crate::Vec3;
use crate::kernel::SwayBound;
use crate::lattice::Embedding;
use crate::surface::Surface;

/// The bounds of points around a surface: those of the nearest corner of the nearest triangle, so that layers sway alike.
pub(super) fn around(
    embedding: &Embedding,
    lattice: &[Vec3],
    surface: &Surface,
    bounds: &[SwayBound],
) -> Vec<SwayBound> {
    let bound = |i: usize| {
        let p = embedding.place(i, lattice);
        let triangle = surface.welded().source[surface.closest_point(p).triangle as usize];
        let distance = |v: &u32| (surface.vertices()[*v as usize] - p).norm_squared();
        let corners = surface.triangles()[triangle as usize];
        let nearest = corners
            .into_iter()
            .min_by(|a, b| distance(a).total_cmp(&distance(b)));
        nearest.map_or(SwayBound::NONE, |v| bounds[v as usize])
    };
    (0..embedding.len()).map(bound).collect()
}
