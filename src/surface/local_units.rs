// SPDX-License-Identifier: MIT OR Apache-2.0
//! Local frame of a surface: the module computes about the middle of the surface and in units of its
//! size.
//!
//! A character a million units from the origin, or one ten thousandth of a unit tall, is then computed
//! exactly like one at the origin with size one. Every tolerance in the module is a plain number.
use crate::Vec3;
use crate::geometry::aabb::bounds;

/// Shift and scale between input and local coordinates. The scale is a power of two, so that scaling is
/// exact.
#[derive(Debug, Clone, Copy)]
pub(super) struct LocalUnits {
    /// Middle of the bounding box.
    pub origin: Vec3,
    /// Input units per local unit: the size lies in (0.5, 1] local units.
    pub scale: f64,
}

impl LocalUnits {
    /// Returns the frame of a set of points; `None` if they have no extent or one whose square overflows.
    pub fn from_points(points: impl Iterator<Item = Vec3>) -> Option<Self> {
        let (lo, hi) = bounds(points);
        let size = (hi - lo).amax();
        let in_range = size > 1e-100 && lo.amax() < 1e100 && hi.amax() < 1e100;
        in_range.then(|| Self {
            origin: lo + (hi - lo) * 0.5,
            scale: (hi - lo).norm().log2().ceil().exp2(),
        })
    }

    /// Converts a point from input to local coordinates.
    pub fn to_local(self, p: &Vec3) -> Vec3 {
        (p - self.origin) / self.scale
    }

    /// Converts a point from local to input coordinates.
    pub fn to_given(self, p: &Vec3) -> Vec3 {
        p * self.scale + self.origin
    }
}
