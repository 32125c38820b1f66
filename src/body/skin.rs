// SPDX-License-Identifier: MIT OR Apache-2.0
//! Embedding of the body's own surface in its lattice, skin weights of points of the flesh, and the size of the skin.

use super::{Body, anatomy};
use crate::Vec3;
use crate::basis::Basis;
use crate::geometry::aabb;
use crate::lattice::{Embedding, heading};
use crate::skeleton::{Pose, Skeleton, SkinWeights};
use crate::surface::{Heading, Surface};
use std::sync::Arc;

/// Weights below this are dropped from a skin that is interpolated from the lattice.
const MIN_WEIGHT: f64 = 1e-3;

/// Returns the skin of a surface embedded in a lattice of `vertices` vertices: each vertex's own weights if it has any, else
/// those of the lattice around.
pub(super) fn embedded_skin(
    embedding: &Embedding,
    vertices: usize,
    lattice: &SkinWeights,
    own: Option<&SkinWeights>,
) -> SkinWeights {
    let rows = (0..embedding.len()).map(|i| -> Vec<(u32, f64)> {
        let mut row: Vec<(u32, f64)> = own.map_or_else(Vec::new, |own| own.row(i).collect());
        if row.is_empty() {
            for (v, w) in embedding.row(i).filter(|(v, _)| *v < vertices) {
                // Outside the lattice, weights extrapolate below zero.
                let w = w.max(0.0);
                row.extend(lattice.row(v).map(|(b, x)| (b, x * w)));
            }
            row.retain(|&(_, w)| w > MIN_WEIGHT);
        }
        row
    });
    // Sums of valid rows are valid.
    SkinWeights::from_rows(lattice.bone_count, rows).unwrap_or_default()
}

impl Body {
    /// Returns the embedding of the vertices of the body's own surface in the lattice.
    pub fn embedding(&self) -> &Arc<Embedding> {
        &self.embedding
    }

    /// Returns the skin weights of the vertices of the body's own surface.
    pub fn skin(&self) -> &Arc<SkinWeights> {
        &self.skin
    }

    /// Returns the embedding of a surface in the lattice, and its skin weights. They are those of the body's own
    /// surface if the embeddings are equal, else those of the lattice around the vertices.
    pub fn embed_surface(&self, surface: &Surface) -> (Embedding, SkinWeights) {
        let embedding = self.basis.embed_surface(surface);
        if *self.embedding == embedding {
            return (embedding, (*self.skin).clone());
        }
        let skin = self.interpolated_skin(&embedding);
        (embedding, skin)
    }

    /// Returns the skin weights of embedded points: those of the lattice around them.
    pub fn interpolated_skin(&self, embedding: &Embedding) -> SkinWeights {
        let vertices = self.basis.coarse_len();
        embedded_skin(embedding, vertices, &self.region_weights, None)
    }

    /// Returns the body's size in a pose, metres: its size at rest times the pose's scale.
    pub fn posed_size(&self, pose: &Pose) -> f64 {
        self.size() * pose.scale()
    }

    /// Returns a point near the body at rest.
    pub(crate) fn rest_origin(&self) -> Vec3 {
        self.lattice()
            .vertices()
            .first()
            .copied()
            .unwrap_or_default()
    }
}

/// Returns the size of a body, metres, leaving out vertices without faces and props far away.
pub(super) fn body_size(
    surface: &Surface,
    skeleton: &Skeleton,
    skin: &SkinWeights,
    embedding: &Embedding,
    basis: &Basis,
) -> f64 {
    let mine = anatomy::body_vertices(surface, skeleton, skin);
    let is = |i: usize| mine.get(i).copied().unwrap_or(true);
    let heading = heading(surface, skeleton);
    extent(embedding, basis.rest_shape(), heading, is)
}

/// Returns the diagonal of the box, along the heading's axes, around the `chosen` embedded vertices; 0 without any.
pub(super) fn extent(
    embedding: &Embedding,
    rest: &[Vec3],
    heading: Heading,
    chosen: impl Fn(usize) -> bool,
) -> f64 {
    let points = (0..embedding.len()).filter(|&i| chosen(i));
    aabb::diagonal(points.map(|i| heading.to_own(&embedding.position(i, rest))))
}
