// SPDX-License-Identifier: MIT OR Apache-2.0
//! A pin with its path and its state.

use super::path::PinPath;
use super::pin::{Pin, PinId};
use super::point::HeldPoint;
use crate::Vec3;

/// A pin, its path and its state.
pub(in crate::dynamics) struct HeldPin {
    pub id: PinId,
    pub pin: Pin,
    pub(super) point: HeldPoint,
    /// Target and strength at present, where the last frame ended; `None`: not held yet.
    pub(super) present: Option<PresentTarget>,
    pub(super) path: PinPath,
}

/// Where a pin holds its point at present.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PresentTarget {
    /// Target, m, world axes.
    pub target: Vec3,
    pub strength: f64,
    /// Velocity of the target relative to the bones, m/s, rest axes of the point; `None`: that of the next frame.
    pub velocity: Option<Vec3>,
}
