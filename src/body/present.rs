// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the surfaces of a body are shown at a pose: see [`crate::kernel::Presenter`].

use super::Body;
use crate::kernel::{
    CpuEmbedding, Engine, KernelError, LocalMaps, LocalPositions, Present, Wanted,
};
use crate::range::FARTHEST;
use crate::skeleton::{Affine, Pose};

/// What an artist chooses about it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Showing {
    /// Share of the joints' elastic shape, 0 to 1.
    pub elastic_joints: f64,
    /// Farthest from the skin, as a part of the body's size; none = no limit.
    pub reach: Option<f64>,
}

impl Default for Showing {
    /// The flesh as it is.
    fn default() -> Self {
        Self {
            elastic_joints: 1.0,
            reach: None,
        }
    }
}

/// A pose at which surfaces are shown, and how.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Presentation {
    maps: LocalMaps,
    sway: Option<Vec<[f32; 3]>>,
    elastic_joints: f32,
    /// Metres.
    reach: f32,
}

impl Presentation {
    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        let sway = self.sway.as_ref().map_or(0, |s| size_of_val(s.as_slice()));
        size_of::<Self>() + self.maps.bytes() + sway
    }

    /// Whether it is of so many bones and lattice vertices, and sound.
    pub(crate) fn fits(&self, bones: usize, dofs: usize) -> bool {
        let sound = |sway: &Vec<[f32; 3]>| {
            let mut all = sway.iter().flatten();
            sway.len() == dofs && all.all(|&x| f64::from(x).abs() <= FARTHEST)
        };
        self.maps.fits(bones)
            && self.sway.as_ref().is_none_or(sound)
            && (0.0..=1.0).contains(&self.elastic_joints)
            && self.reach > 0.0
    }

    fn present<'a>(&'a self, lattice: &'a LocalPositions) -> Present<'a> {
        Present {
            lattice,
            sway: self.sway.as_deref(),
            maps: &self.maps,
            elastic_joints: self.elastic_joints,
            reach: self.reach,
        }
    }

    /// Whether the lattice's own shape is all that is shown, of flesh that is the same everywhere.
    fn is_plain(&self) -> bool {
        self.sway.is_none() && self.elastic_joints == 1.0 && self.reach == f32::INFINITY
    }
}

impl Body {
    /// The body's size in a pose, metres: most bones may have been scaled.
    pub fn size_in(&self, pose: &Pose) -> f64 {
        let scale = |m: &Affine| m.linear.determinant().abs().cbrt();
        let mut scales: Vec<f64> = pose.maps().iter().map(scale).collect();
        scales.sort_by(f64::total_cmp);
        self.size() * scales.get(scales.len() / 2).copied().unwrap_or(1.0)
    }

    /// How surfaces are shown at a pose, for lattice positions in `lattice` with a sway `[dofs]` (m, world axes; none: all is
    /// shown as the bones' work). The size that reach is a part of is that of the pose.
    pub fn presentation(
        &self,
        pose: &Pose,
        lattice: &LocalPositions,
        sway: Option<&[crate::Vec3]>,
        showing: Showing,
    ) -> Presentation {
        let size = self.size_in(pose);
        let reach = |part| ((part * size) as f32).max(f32::MIN_POSITIVE);
        Presentation {
            maps: LocalMaps::new(pose, self.rest_origin(), lattice.origin),
            sway: sway.map(|sway| sway.iter().map(|u| u.cast::<f32>().into()).collect()),
            elastic_joints: showing.elastic_joints as f32,
            reach: showing.reach.map_or(f32::INFINITY, reach),
        }
    }

    /// World positions `[n · 3]` of a surface, metres, at lattice positions; without a presentation those of the lattice alone.
    ///
    /// # Errors
    /// Positions of another lattice, an array of another length; `None`: the body carries no such surface.
    pub fn show(
        &self,
        id: usize,
        lattice: &LocalPositions,
        presentation: Option<&Presentation>,
        out: &mut [f32],
    ) -> Option<Result<(), KernelError>> {
        match presentation.filter(|p| !p.is_plain()) {
            Some(p) => Some(
                self.draw(id, lattice, p, Wanted::Positions, out)?
                    .map(|_| ()),
            ),
            None => Some(self.engine(id)?.embed_into(lattice, out)),
        }
    }

    /// As [`show`](Self::show), into a new array.
    ///
    /// # Errors
    /// As [`show`](Self::show).
    pub fn shown(
        &self,
        id: usize,
        lattice: &LocalPositions,
        presentation: Option<&Presentation>,
    ) -> Option<Result<Vec<f32>, KernelError>> {
        let mut out = vec![0.0; 3 * self.engine(id)?.vertices()];
        let shown = self.show(id, lattice, presentation, &mut out)?;
        Some(shown.map(|()| out))
    }

    /// What is added to the artist's skin `[n · 3]`, metres, world axes: [`show`](Self::show) less the skin, without the
    /// rounding of places far from the world's origin.
    ///
    /// # Errors
    /// As [`show`](Self::show).
    pub fn offsets(
        &self,
        id: usize,
        lattice: &LocalPositions,
        presentation: &Presentation,
        out: &mut [f32],
    ) -> Option<Result<(), KernelError>> {
        let drawn = self.draw(id, lattice, presentation, Wanted::Offsets, out)?;
        Some(drawn.map(|_| ()))
    }

    /// The largest distance of a surface's vertex from its skin, metres, before reach limits it.
    ///
    /// # Errors
    /// As [`show`](Self::show).
    pub fn stray(
        &self,
        id: usize,
        lattice: &LocalPositions,
        presentation: &Presentation,
        scratch: &mut [f32],
    ) -> Option<Result<f32, KernelError>> {
        self.draw(id, lattice, presentation, Wanted::Offsets, scratch)
    }

    fn draw(
        &self,
        id: usize,
        lattice: &LocalPositions,
        presentation: &Presentation,
        wanted: Wanted,
        out: &mut [f32],
    ) -> Option<Result<f32, KernelError>> {
        let carried = self.carried(id)?;
        let engine: std::sync::Arc<CpuEmbedding> = self.engine(id)?;
        let presenter = self.presenter(&carried);
        Some(presenter.show(&engine, &presentation.present(lattice), wanted, out))
    }
}
