// SPDX-License-Identifier: MIT OR Apache-2.0
//! Surfaces that a body carries.

use super::Body;
use crate::Vec3;
use crate::kernel::{CpuEmbedding, Presenter, SwayBound};
use crate::lattice::Embedding;
use crate::skeleton::SkinWeights;
use crate::surface::Surface;
use std::sync::{Arc, OnceLock, PoisonError};

/// One surface in the lattice.
#[derive(Debug)]
pub(super) struct Carried {
    pub embedding: Arc<Embedding>,
    /// Bones and weights of its vertices.
    pub skin: SkinWeights,
    /// Packed when first asked for.
    engine: OnceLock<Option<Arc<CpuEmbedding>>>,
    /// How much of its sway each vertex shows.
    pub bounds: Option<Vec<SwayBound>>,
    presenter: OnceLock<Presenter>,
}

/// Weights below this are left out of a skin that is made from the lattice's.
const LEAST_WEIGHT: f64 = 1e-3;

impl Carried {
    pub fn new(
        embedding: Arc<Embedding>,
        skin: SkinWeights,
        bounds: Option<Vec<SwayBound>>,
    ) -> Self {
        Self {
            embedding,
            skin,
            bounds,
            engine: OnceLock::new(),
            presenter: OnceLock::new(),
        }
    }
}

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

/// The skin of an embedded surface: its own weights where it has some, elsewhere those of the lattice around.
pub(super) fn skin_of(
    embedding: &Embedding,
    lattice: &SkinWeights,
    own: Option<&SkinWeights>,
) -> SkinWeights {
    let rows = (0..embedding.len()).map(|i| -> Vec<(u32, f64)> {
        let mut row: Vec<(u32, f64)> = own.map_or_else(Vec::new, |own| own.row(i).collect());
        if row.is_empty() {
            for (&v, &w) in embedding.indices[i].iter().zip(&embedding.weights[i]) {
                if v >= 0 {
                    // Outside of the lattice weights extrapolate below zero.
                    let w = w.max(0.0);
                    row.extend(lattice.row(v as usize).map(|(b, x)| (b, x * w)));
                }
            }
            row.retain(|&(_, w)| w > LEAST_WEIGHT);
        }
        row
    });
    // Sums of good rows are good.
    SkinWeights::from_rows(lattice.bone_count, rows).unwrap_or_default()
}

impl Body {
    /// The embedding of a surface: 0 is the body's own, others by the id that
    /// [`embed_surface`](Self::embed_surface) gave.
    pub fn embedding(&self, id: usize) -> Option<Arc<Embedding>> {
        Some(self.carried(id)?.embedding.clone())
    }

    /// The kernel that carries a surface; ids as in [`embedding`](Self::embedding).
    pub fn engine(&self, id: usize) -> Option<Arc<CpuEmbedding>> {
        let carried = self.carried(id)?;
        let pack = || CpuEmbedding::new(&carried.embedding, self.dofs()).ok();
        carried.engine.get_or_init(|| pack().map(Arc::new)).clone()
    }

    /// The bones and weights of a surface's vertices; ids as in [`embedding`](Self::embedding).
    pub fn skin(&self, id: usize) -> Option<SkinWeights> {
        Some(self.carried(id)?.skin.clone())
    }

    /// How a surface hangs in the lattice, and the bones and weights of its vertices: those of the body's own surface if
    /// it is that one, else those of the lattice around them.
    pub fn hang(&self, surface: &Surface) -> (Embedding, SkinWeights) {
        let embedding = self.lattice.embed_surface(surface);
        if let Some(own) = self.carried(0).filter(|own| *own.embedding == embedding) {
            return (embedding, own.skin.clone());
        }
        let skin = self.skin_around(&embedding);
        (embedding, skin)
    }

    /// The bones and weights of embedded points: those of the lattice around them.
    pub fn skin_around(&self, embedding: &Embedding) -> SkinWeights {
        skin_of(embedding, &self.region_weights, None)
    }

    /// Makes the body carry another surface (clothes, eyes); returns its id. Its skin, around which a reach limits
    /// it, is blended with the weights of the lattice around it.
    pub fn embed_surface(&self, other: &Surface) -> usize {
        let embedding = self.lattice.embed_surface(other);
        let skin = self.skin_around(&embedding);
        let own = self.carried(0).and_then(|own| own.bounds.clone());
        let rest = self.lattice.vertices();
        let bounds = own.map(|own| around(&embedding, rest, &self.surface, &own));
        let mut all = self
            .surfaces
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        all.push(Arc::new(Carried::new(Arc::new(embedding), skin, bounds)));
        all.len() - 1
    }

    pub(super) fn presenter<'a>(&self, carried: &'a Carried) -> &'a Presenter {
        carried.presenter.get_or_init(|| {
            let (rest, e) = (self.lattice.vertices(), &carried.embedding);
            let rest: Vec<Vec3> = (0..e.len()).map(|i| e.place(i, rest)).collect();
            let free = || vec![SwayBound::NONE; e.len()];
            let bounds = carried.bounds.clone().unwrap_or_else(free);
            Presenter::new(&rest, self.rest_origin(), &carried.skin, bounds)
        })
    }

    /// A point near the body at rest.
    pub(super) fn rest_origin(&self) -> Vec3 {
        self.lattice.vertices().first().copied().unwrap_or_default()
    }

    pub(super) fn carried(&self, id: usize) -> Option<Arc<Carried>> {
        let all = self.surfaces.read().unwrap_or_else(PoisonError::into_inner);
        all.get(id).cloned()
    }
}
