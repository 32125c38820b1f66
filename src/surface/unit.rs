// SPDX-License-Identifier: MIT OR Apache-2.0
//! A character's own unit: about its middle, along its own axes, in multiples of its size, rounded far below anything
//! visible.
//!
//! Construction decides many near ties, and the last bits of a coordinate depend on the scale of a file and on the
//! heading. Rounded in its own unit, a character has the same bits at every scale and heading, and ties are decided alike.

use super::{Heading, Surface, SurfaceError};
use crate::Vec3;

/// Size of a character in its own unit: midway between two powers of two, so that rounding does not cross either.
const UNIT_SIZE: f64 = 0.75;
/// Rounding step of coordinates. A change of scale rounds far more finely, so hardly any coordinate ends at another
/// multiple.
pub(crate) const QUANTUM: f64 = 1.0 / (1u64 << 30) as f64;

/// Shift, turn and scale between a character's input coordinates and its own unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnUnit {
    pub origin: Vec3,
    /// Input units per own unit.
    pub scale: f64,
    /// Own axes.
    pub heading: Heading,
}

impl OwnUnit {
    /// Returns the unit of a character with this surface, along the world's axes.
    pub fn from_surface(surface: &Surface) -> Self {
        Self::with_heading(surface, Heading::ALIGNED)
    }

    /// Returns the unit of a character with this surface and heading.
    pub fn with_heading(surface: &Surface, heading: Heading) -> Self {
        let (lo, hi) = surface.box_along(heading);
        Self {
            origin: heading.to_given(&(lo + (hi - lo) * 0.5)),
            scale: (hi - lo).norm() / UNIT_SIZE,
            heading,
        }
    }

    /// Converts a point from input coordinates to the own unit, rounded to [`QUANTUM`].
    pub fn to_own(self, p: &Vec3) -> Vec3 {
        Self::snap(&(self.heading.to_own(&(p - self.origin)) / self.scale))
    }

    /// Rounds a point in an own unit to multiples of [`QUANTUM`].
    pub fn snap(p: &Vec3) -> Vec3 {
        p.map(|x| (x / QUANTUM).round() * QUANTUM)
    }

    /// Converts a point from the own unit to input coordinates.
    pub fn to_given(self, p: &Vec3) -> Vec3 {
        self.heading.to_given(p) * self.scale + self.origin
    }

    /// Converts a surface to this unit; [`Surface::in_own_unit`] stores the result.
    pub(crate) fn convert_surface(self, surface: &Surface) -> Result<Surface, SurfaceError> {
        surface.map_in_own_unit(|p| self.to_own(p))
    }
}

impl Surface {
    /// Returns the surface with its vertices moved by a map into an own unit, or rigidly within one.
    pub(crate) fn map_in_own_unit(
        &self,
        map: impl Fn(&Vec3) -> Vec3,
    ) -> Result<Surface, SurfaceError> {
        let vertices = self.vertices().iter().map(map).collect();
        let mut own = Surface::new(vertices, self.triangles().to_vec())?;
        let _ = own.own.set(None);
        own.set_heading(Heading::ALIGNED);
        Ok(own)
    }
}
