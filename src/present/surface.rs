// SPDX-License-Identifier: MIT OR Apache-2.0
//! One surface that a body carries.

use super::bounds::{SkinAnchor, nearest_anchors, sway_bounds};
use crate::Vec3;
use crate::body::Body;
use crate::kernel::{CpuEmbedding, KernelError, SkinnedSurface, SwayBound};
use crate::lattice::Embedding;
use crate::skeleton::SkinWeights;
use crate::surface::Surface;
use std::sync::{Arc, OnceLock};

/// A surface embedded in the lattice of a body, with its skin; data for the kernels is packed on first use.
#[derive(Debug)]
pub struct CarriedSurface {
    embedding: Arc<Embedding>,
    skin: Arc<SkinWeights>,
    /// Share and limit of the displayed sway of each vertex; `None`: all of it.
    bounds: Option<Vec<SwayBound>>,
    /// Kernel for the embedding.
    engine: OnceLock<Result<CpuEmbedding, KernelError>>,
    /// Skin and bounds, packed for the kernels.
    skinned: OnceLock<SkinnedSurface>,
    /// Points of the body's own surface that the vertices of another surface follow.
    follows: OnceLock<Vec<SkinAnchor>>,
    is_own: bool,
}

impl CarriedSurface {
    /// Creates the body's own surface.
    pub fn for_body(body: &Body) -> Self {
        let bounds = body.flesh().map(|map| map.bounds(body.size()));
        let own = Self::from_bounds(body.embedding().clone(), body.skin().clone(), bounds);
        Self {
            is_own: true,
            ..own
        }
    }

    /// Embeds another surface. Its skin, around which `max_offset` limits it, is blended with the weights of the surrounding lattice. It
    /// sways as the nearest skin of the body does.
    pub fn new(body: &Body, surface: &Surface) -> Self {
        let embedding = body.basis().embed_surface(surface);
        let skin = body.interpolated_skin(&embedding);
        Self::from_embedding(body, Arc::new(embedding), Arc::new(skin))
    }

    /// Creates a surface from its known embedding in the lattice and skin.
    pub(crate) fn from_embedding(
        body: &Body,
        embedding: Arc<Embedding>,
        skin: Arc<SkinWeights>,
    ) -> Self {
        let own = body.flesh().map(|map| map.bounds(body.size()));
        let rest = body.rest_shape();
        let bounds = own.map(|own| sway_bounds(&embedding, rest, body.surface(), &own));
        Self::from_bounds(embedding, skin, bounds)
    }

    fn from_bounds(
        embedding: Arc<Embedding>,
        skin: Arc<SkinWeights>,
        bounds: Option<Vec<SwayBound>>,
    ) -> Self {
        Self {
            embedding,
            skin,
            bounds,
            engine: OnceLock::new(),
            skinned: OnceLock::new(),
            follows: OnceLock::new(),
            is_own: false,
        }
    }

    /// Returns the number of vertices.
    pub fn vertices(&self) -> usize {
        self.embedding.len()
    }

    /// Returns the embedding of its vertices in the lattice.
    pub fn embedding(&self) -> &Arc<Embedding> {
        &self.embedding
    }

    /// Returns the bones and weights of its vertices.
    pub fn skin(&self) -> &SkinWeights {
        &self.skin
    }

    /// Returns the kernel that carries it along with the lattice of its body.
    ///
    /// # Errors
    /// The embedding is in another lattice.
    pub(super) fn engine(&self, body: &Body) -> Result<&CpuEmbedding, KernelError> {
        let pack = || CpuEmbedding::new(&self.embedding, body.node_count());
        self.engine.get_or_init(pack).as_ref().map_err(Clone::clone)
    }

    /// Returns its skin, packed for the kernel that shows flesh on it.
    pub(super) fn skinned_surface(&self, body: &Body) -> &SkinnedSurface {
        self.skinned.get_or_init(|| {
            let free = || vec![SwayBound::UNLIMITED; self.vertices()];
            let bounds = self.bounds.clone().unwrap_or_else(free);
            SkinnedSurface::new(
                &self.rest_positions(body),
                body.rest_origin(),
                &self.skin,
                bounds,
            )
        })
    }

    /// Returns the lifts of its vertices at bent joints, taken from the nearest skin, from those of the body's own surface.
    pub(super) fn vertex_lifts(&self, body: &Body, own: &Arc<Vec<[f32; 3]>>) -> Arc<Vec<[f32; 3]>> {
        if self.is_own {
            return own.clone();
        }
        let find = || nearest_anchors(&self.embedding, body.rest_shape(), body.surface());
        let follows = self.follows.get_or_init(find);
        Arc::new(follows.iter().map(|f| f.interpolate(own)).collect())
    }

    /// Returns its vertices at rest, metres.
    pub(super) fn rest_positions(&self, body: &Body) -> Vec<Vec3> {
        let nodes = body.rest_shape();
        let place = |i| self.embedding.position(i, nodes);
        (0..self.vertices()).map(place).collect()
    }
}
