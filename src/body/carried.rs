// SPDX-License-Identifier: MIT OR Apache-2.0
//! Surfaces that a body carries, and how they are shown.

use super::Body;
use crate::Vec3;
use crate::kernel::{CpuEmbedding, Engine, KernelError, LocalMaps, LocalPositions, SkinLimit};
use crate::lattice::Embedding;
use crate::skeleton::{Affine, Pose, SkinWeights};
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
    limit: OnceLock<SkinLimit>,
}

/// Weights below this are left out of a skin that is made from the lattice's.
const LEAST_WEIGHT: f64 = 1e-3;

impl Carried {
    pub fn new(embedding: Arc<Embedding>, skin: SkinWeights) -> Self {
        Self {
            embedding,
            skin,
            engine: OnceLock::new(),
            limit: OnceLock::new(),
        }
    }
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

/// How surfaces are limited at a pose: see [`crate::kernel::SkinLimit`].
#[derive(Debug, Clone, PartialEq)]
pub struct Reach {
    maps: LocalMaps,
    /// Metres.
    limit: f32,
}

impl Reach {
    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.maps.bytes()
    }
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
        let mut all = self
            .surfaces
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        all.push(Arc::new(Carried::new(Arc::new(embedding), skin)));
        all.len() - 1
    }

    /// The body's size in a pose, metres: most bones may have been scaled.
    pub fn size_in(&self, pose: &Pose) -> f64 {
        let scale = |m: &Affine| m.linear.determinant().abs().cbrt();
        let mut scales: Vec<f64> = pose.maps().iter().map(scale).collect();
        scales.sort_by(f64::total_cmp);
        self.size() * scales.get(scales.len() / 2).copied().unwrap_or(1.0)
    }

    /// The limit of `part` of the body's size (none: no limit) around the skin of a pose, for lattice positions
    /// in `lattice`. The size is that of the pose.
    pub fn reach(&self, pose: &Pose, lattice: &LocalPositions, part: Option<f64>) -> Reach {
        let size = self.size_in(pose);
        Reach {
            maps: LocalMaps::new(pose, self.rest_origin(), lattice.origin),
            limit: part.map_or(f32::INFINITY, |part| {
                ((part * size) as f32).max(f32::MIN_POSITIVE)
            }),
        }
    }

    /// World positions `[n · 3]` of a surface, metres, at lattice positions, within a reach if there is one.
    ///
    /// # Errors
    /// Positions of another lattice, an array of another length; `None`: the body carries no such surface.
    pub fn show(
        &self,
        id: usize,
        lattice: &LocalPositions,
        reach: Option<&Reach>,
        out: &mut [f32],
    ) -> Option<Result<(), KernelError>> {
        let carried = self.carried(id)?;
        let shown = self.engine(id)?.embed_into(lattice, out);
        let reach = reach.filter(|r| r.limit.is_finite());
        Some(match (shown, reach) {
            (Ok(()), Some(reach)) => {
                let limit = self.skin_limit(&carried);
                limit.draw(&reach.maps, reach.limit, out).map(|_| ())
            }
            (shown, _) => shown,
        })
    }

    /// As [`show`](Self::show), into a new array.
    ///
    /// # Errors
    /// As [`show`](Self::show).
    pub fn shown(
        &self,
        id: usize,
        lattice: &LocalPositions,
        reach: Option<&Reach>,
    ) -> Option<Result<Vec<f32>, KernelError>> {
        let mut out = vec![0.0; 3 * self.engine(id)?.vertices()];
        let shown = self.show(id, lattice, reach, &mut out)?;
        Some(shown.map(|()| out))
    }

    /// The largest distance of a surface's vertex from its skin, metres, whatever the limit.
    ///
    /// # Errors
    /// As [`show`](Self::show).
    pub fn stray(
        &self,
        id: usize,
        lattice: &LocalPositions,
        reach: &Reach,
        scratch: &mut [f32],
    ) -> Option<Result<f32, KernelError>> {
        let carried = self.carried(id)?;
        let shown = self.engine(id)?.embed_into(lattice, scratch);
        let skin = self.skin_limit(&carried);
        Some(shown.and_then(|()| skin.draw(&reach.maps, f32::INFINITY, scratch)))
    }

    fn skin_limit<'a>(&self, carried: &'a Carried) -> &'a SkinLimit {
        carried.limit.get_or_init(|| {
            let rest = self.lattice.vertices();
            let e = &carried.embedding;
            let rest: Vec<Vec3> = (0..e.len()).map(|i| e.place(i, rest)).collect();
            SkinLimit::new(&rest, self.rest_origin(), &carried.skin)
        })
    }

    /// A point near the body at rest.
    fn rest_origin(&self) -> Vec3 {
        self.lattice.vertices().first().copied().unwrap_or_default()
    }

    pub(super) fn carried(&self, id: usize) -> Option<Arc<Carried>> {
        let all = self.surfaces.read().unwrap_or_else(PoisonError::into_inner);
        all.get(id).cloned()
    }
}
