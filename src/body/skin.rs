// SPDX-License-Identifier: MIT OR Apache-2.0
//! The body's own surface in its lattice, and which bones carry points of the flesh.

use super::Body;
use crate::Vec3;
use crate::lattice::Embedding;
use crate::skeleton::{Pose, SkinWeights};
use crate::surface::Surface;
use std::sync::Arc;

/// Weights below this are left out of a skin that is made from the lattice's.
const LEAST_WEIGHT: f64 = 1e-3;

/// The skin of an embedded surface: its own weights where it has some, elsewhere those of the lattice around.
pub(super) fn skin_of(
    embedding: &Embedding,
    lattice: &SkinWeights,
    own: Option<&SkinWeights>,
) -> SkinWeights {
    let rows = (0..embedding.len()).map(|i| -> Vec<(u32, f64)> {
        let mut row: Vec<(u32, f64)> = own.map_or_else(Vec::new, |own| own.row(i).collect());
        if row.is_empty() {
            for (v, w) in embedding.row(i) {
                // Outside of the lattice weights extrapolate below zero.
                let w = w.max(0.0);
                row.extend(lattice.row(v).map(|(b, x)| (b, x * w)));
            }
            row.retain(|&(_, w)| w > LEAST_WEIGHT);
        }
        row
    });
    // Sums of good rows are good.
    SkinWeights::from_rows(lattice.bone_count, rows).unwrap_or_default()
}

impl Body {
    /// The embedding of the own surface's vertices in the lattice.
    pub fn embedding(&self) -> &Arc<Embedding> {
        &self.embedding
    }

    /// The bones and weights of the own surface's vertices.
    pub fn skin(&self) -> &Arc<SkinWeights> {
        &self.skin
    }

    /// The embedding of a surface in the lattice, and the bones and weights of its vertices: those of the body's own surface
    /// if it is that one, else those of the lattice around them.
    pub fn embed_surface(&self, surface: &Surface) -> (Embedding, SkinWeights) {
        let embedding = self.lattice.embed_surface(surface);
        if *self.embedding == embedding {
            return (embedding, (*self.skin).clone());
        }
        let skin = self.skin_around(&embedding);
        (embedding, skin)
    }

    /// [`embed_surface`](Self::embed_surface) as it was called.
    #[deprecated(note = "renamed to embed_surface")]
    pub fn hang(&self, surface: &Surface) -> (Embedding, SkinWeights) {
        self.embed_surface(surface)
    }

    /// The bones and weights of embedded points: those of the lattice around them.
    pub fn skin_around(&self, embedding: &Embedding) -> SkinWeights {
        skin_of(embedding, &self.region_weights, None)
    }

    /// The body's size in a pose, metres: most bones may have been scaled.
    pub fn size_in(&self, pose: &Pose) -> f64 {
        self.size() * pose.scale()
    }

    /// A point near the body at rest.
    pub(crate) fn rest_origin(&self) -> Vec3 {
        self.lattice.vertices().first().copied().unwrap_or_default()
    }
}
