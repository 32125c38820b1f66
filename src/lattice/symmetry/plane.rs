// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mirror planes, and frames in which they lie at x = 0.

use crate::{Mat3, Vec3};

/// A mirror plane: points x with `normal · x = offset`.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct MirrorPlane {
    /// Unit normal.
    pub normal: Vec3,
    /// Distance from the origin along the normal, m.
    pub offset: f64,
}

impl MirrorPlane {
    /// Returns the signed distance of a point from the plane, m.
    pub fn signed_distance(&self, x: Vec3) -> f64 {
        x.dot(&self.normal) - self.offset
    }

    /// Returns the mirror image of a point.
    pub fn image(&self, x: Vec3) -> Vec3 {
        x - self.normal * (2.0 * self.signed_distance(x))
    }

    /// Returns whether this is a plane with a unit normal, as read from a file.
    pub(crate) fn is_valid(&self) -> bool {
        (self.normal.norm() - 1.0).abs() < 1e-6
            && crate::range::is_position(&Vec3::x().scale(self.offset))
    }
}

/// Rigid frame in which a mirror plane lies at x = 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MirrorFrame {
    pub plane: MirrorPlane,
    /// Rotation from own axes to those of the frame.
    axes: Mat3,
}

impl MirrorFrame {
    /// Builds the frame whose z axis is as near to the own z axis as the plane permits.
    pub fn new(plane: MirrorPlane) -> Self {
        let x = plane.normal;
        let up = match x.z.abs() < 0.9 {
            true => Vec3::z(),
            false => Vec3::y(),
        };
        let z = (up - x * x.dot(&up)).normalize();
        let y = z.cross(&x);
        Self {
            plane,
            axes: Mat3::from_rows(&[x.transpose(), y.transpose(), z.transpose()]),
        }
    }

    /// Returns whether the frame is the own one.
    pub fn is_own(self) -> bool {
        self.plane.normal == Vec3::x() && self.plane.offset == 0.0
    }

    /// Converts a point from own coordinates.
    pub fn to_frame(self, p: &Vec3) -> Vec3 {
        if self.is_own() {
            return *p;
        }
        self.axes * p - Vec3::x() * self.plane.offset
    }

    /// Converts a point to own coordinates.
    pub fn to_own(self, p: &Vec3) -> Vec3 {
        if self.is_own() {
            return *p;
        }
        self.direction_to_own(&(p + Vec3::x() * self.plane.offset))
    }

    /// Converts a direction to own coordinates.
    pub fn direction_to_own(self, v: &Vec3) -> Vec3 {
        self.axes.transpose() * v
    }
}

/// Returns the mirror image of a point of a frame; of a point on the plane the same bits.
pub(super) fn flip(p: Vec3) -> Vec3 {
    Vec3::new(0.0 - p.x, p.y, p.z)
}
