// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pins and their points, as callers give them.

use crate::Vec3;

/// A point of the flesh.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum PinPoint {
    /// A vertex of the body's surface.
    Vertex(u32),
    /// A place in the flesh at rest, m.
    Place(Vec3),
}

/// A point of the flesh and its target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pin {
    /// The point.
    pub point: PinPoint,
    /// Target at the end of the next frame, m, world axes.
    pub target: Vec3,
    /// Strength, 0 (off) to 1 (held); in between, the share of the way to the target at rest.
    pub strength: f64,
}

impl Pin {
    /// Creates a pin of strength 1.
    pub fn new(point: PinPoint, target: Vec3) -> Self {
        Self {
            point,
            target,
            strength: 1.0,
        }
    }
}

/// Number of a pin of a simulation.
pub type PinId = u32;

/// A pin that others make superfluous.
#[derive(Debug, Clone, PartialEq)]
pub struct DroppedPin {
    /// Its number.
    pub pin: PinId,
    /// Numbers of the pins whose rows give its row, ascending.
    pub others: Vec<PinId>,
}

impl std::fmt::Display for PinPoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Vertex(vertex) => write!(f, "vertex {vertex}"),
            Self::Place(at) => write!(f, "the place ({:.4}, {:.4}, {:.4})", at.x, at.y, at.z),
        }
    }
}
