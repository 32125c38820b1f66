// SPDX-License-Identifier: MIT OR Apache-2.0
//! A character in its own unit: about its middle, along its own axes, as parts of its size, rounded far below
//! anything that shows.
//!
//! Construction decides much between near ties, and the last bits of a coordinate differ from one scale of a
//! file, or one way to face, to another. Rounded in its own unit a character is the same to the bit in all, and so are the
//! decisions.

use super::{Heading, Surface, SurfaceError};
use crate::Vec3;

/// Size of a character in its own unit: between two powers of two, where no rounding reaches either.
const SIZE: f64 = 0.75;
/// Coordinates are rounded to multiples of this: coarser than what a change of scale rounds by so much that
/// next to none is rounded to another multiple.
pub(crate) const QUANTUM: f64 = 1.0 / (1u64 << 30) as f64;

/// Shift, turn and scale between a character as given and in its own unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnUnit {
    pub origin: Vec3,
    /// Given units per own unit.
    pub scale: f64,
    /// Own axes.
    pub heading: Heading,
}

impl OwnUnit {
    /// The unit of a character with this surface, along the world's axes.
    pub fn of(surface: &Surface) -> Self {
        Self::along(surface, Heading::ALONG)
    }

    /// The unit of a character with this surface that faces some way.
    pub fn along(surface: &Surface, heading: Heading) -> Self {
        let (lo, hi) = surface.box_along(heading);
        Self {
            origin: heading.to_given(&(lo + (hi - lo) * 0.5)),
            scale: (hi - lo).norm() / SIZE,
            heading,
        }
    }

    pub fn to_own(self, p: &Vec3) -> Vec3 {
        Self::snapped(&(self.heading.to_own(&(p - self.origin)) / self.scale))
    }

    /// A point in an own unit without what rounding may have left in it.
    pub fn snapped(p: &Vec3) -> Vec3 {
        p.map(|x| (x / QUANTUM).round() * QUANTUM)
    }

    pub fn to_given(self, p: &Vec3) -> Vec3 {
        self.heading.to_given(p) * self.scale + self.origin
    }

    /// A surface in this unit; [`Surface::in_own_unit`] keeps it.
    pub(crate) fn surface(self, surface: &Surface) -> Result<Surface, SurfaceError> {
        let vertices = surface.vertices().iter().map(|p| self.to_own(p)).collect();
        let mut own = Surface::new(vertices, surface.triangles().to_vec())?;
        let _ = own.own.set(None);
        own.stand(Heading::ALONG);
        Ok(own)
    }
}
