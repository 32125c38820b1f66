// SPDX-License-Identifier: MIT OR Apache-2.0
//! Per-vertex work of every frame, as fast as memory allows: the embedding, the displayed surface (`present`), the soft
//! limit around the skin (`limit`), and the modal warp (`warp`) on the processor and on graphics devices.
//!
//! `p_i = Σ_a w_ia (x_a + q_a)`, with any number of weights, most often four or eight. All engines take lattice positions in f32 relative to a local
//! origin, and write positions in f32, in the world or in another [`OutputSpace`]. The error is a few f32 roundings
//! of the body's size (not of its distance from the world's origin), plus the rounding of the result itself.

mod cpu;
mod error;
mod limit;
mod present;
mod target;
#[allow(unsafe_code)]
mod warp;

pub use cpu::CpuEmbedding;
pub use error::KernelError;
pub use limit::{LocalMaps, SkinLimit};
pub use present::{DisplayState, JointLiftOffsets, OutputKind, SkinnedSurface, SwayBound};
pub use target::OutputSpace;
pub use warp::*;

use crate::Vec3;
use crate::geometry::aabb;

/// An engine that embeds one surface in a lattice.
pub trait Engine: Send + Sync {
    /// Returns the engine's name.
    fn name(&self) -> &'static str;

    /// Returns the number of surface vertices.
    fn vertices(&self) -> usize;

    /// Returns the number of lattice vertices it expects.
    fn lattice_vertices(&self) -> usize;

    /// Computes positions `[vertices · 3]` from lattice positions, in the target's space.
    ///
    /// # Errors
    /// Arrays of the wrong length.
    fn embed_to(
        &self,
        lattice: &LocalPositions,
        target: &OutputSpace,
        out: &mut [f32],
    ) -> Result<(), KernelError>;

    /// Computes world positions `[vertices · 3]` from lattice positions.
    ///
    /// # Errors
    /// Arrays of the wrong length.
    fn embed_into(&self, lattice: &LocalPositions, out: &mut [f32]) -> Result<(), KernelError> {
        self.embed_to(lattice, &OutputSpace::WORLD, out)
    }

    /// Returns world positions `[vertices · 3]` from lattice positions in a new array.
    ///
    /// # Errors
    /// A lattice of the wrong length.
    fn embed(&self, lattice: &LocalPositions) -> Result<Vec<f32>, KernelError> {
        let mut out = vec![0.0; 3 * self.vertices()];
        self.embed_into(lattice, &mut out)?;
        Ok(out)
    }
}

/// Lattice positions as f32 around an origin near them, so that a body far from the world's origin keeps its shape. Coefficients of
/// details follow; they are displacements, which have no origin.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LocalPositions {
    /// World position, metres; exact in f32.
    pub origin: [f32; 3],
    /// Relative positions, then details, metres.
    pub points: Vec<[f32; 3]>,
    /// Number of relative positions.
    pub placed: usize,
}

impl LocalPositions {
    /// Converts world positions; the origin is the middle of their bounding box.
    pub fn new(positions: &[Vec3]) -> Self {
        Self::with_details(positions, positions.len())
    }

    /// Converts `placed` world positions and the details after them.
    pub fn with_details(positions: &[Vec3], placed: usize) -> Self {
        let mut local = Self::default();
        local.set(positions, placed);
        local
    }

    /// Replaces the positions; allocates only if there are more than before.
    pub fn set(&mut self, positions: &[Vec3], placed: usize) {
        self.placed = placed.min(positions.len());
        let (positions, details) = positions.split_at(self.placed);
        let (lo, hi) = aabb::bounds(positions);
        let middle = if positions.is_empty() {
            Vec3::zeros()
        } else {
            0.5 * (lo + hi)
        };
        self.origin = [middle.x as f32, middle.y as f32, middle.z as f32];
        let origin = Vec3::new(
            f64::from(self.origin[0]),
            f64::from(self.origin[1]),
            f64::from(self.origin[2]),
        );
        self.points.clear();
        self.points.extend(positions.iter().map(|p| {
            let d = p - origin;
            [d.x as f32, d.y as f32, d.z as f32]
        }));
        let details = details.iter().map(|d| [d.x as f32, d.y as f32, d.z as f32]);
        self.points.extend(details);
    }

    /// Returns the world position of one point, or a detail, metres.
    pub fn world(&self, i: usize) -> Vec3 {
        let origin = if i < self.placed {
            self.origin
        } else {
            [0.0; 3]
        };
        let ([x, y, z], [a, b, c]) = (self.points[i], origin);
        let sum = |d: f32, o: f32| f64::from(d) + f64::from(o);
        Vec3::new(sum(x, a), sum(y, b), sum(z, c))
    }
}
