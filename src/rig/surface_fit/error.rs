// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of surface fits.

use crate::dynamics::{Method, SimulationError};
use crate::progress::Cancelled;
use crate::rig::RigError;
use crate::solve::SolveError;

/// Reasons why the skin cannot be fitted to a target.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SurfaceFitError {
    /// The caller cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The balance cannot be solved.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// The rig cannot be made.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// The system of the correction cannot be solved.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// An array has not one entry per vertex of the skin.
    #[error(
        "the {what} has {given} vertices, but the body's skin has {expected}: give one entry for each, in the same order, or a target \
         as a surface"
    )]
    Count {
        /// Name of the array.
        what: &'static str,
        /// Number of vertices of the skin.
        expected: usize,
        /// Number of entries.
        given: usize,
    },
    /// The target of a vertex is not finite.
    #[error("the target of vertex {vertex} is not finite")]
    Target {
        /// Index of the vertex.
        vertex: usize,
    },
    /// A share of the selection is outside 0 to 1.
    #[error("vertex {vertex} is selected by {value}, but a selection is between 0 and 1")]
    Selection {
        /// Index of the vertex.
        vertex: usize,
        /// Share.
        value: f64,
    },
    /// The selection is empty.
    #[error("no skin is selected: select at least one vertex that belongs to a face")]
    NothingSelected,
    /// The target is far away.
    #[error(
        "the target of vertex {vertex} is {distance:.3} m from the skin, farther than the body is large ({size:.3} m): is the target in \
         metres, in world axes, and at this pose?"
    )]
    Far {
        /// Index of the farthest vertex.
        vertex: usize,
        /// Its distance, m.
        distance: f64,
        /// Size of the body at the pose, m.
        size: f64,
    },
    /// A target surface is near no selected skin.
    #[error(
        "the target surface misses the selected skin: the nearest of it is {distance:.3} m away, and none within {reach:.3} m, a tenth of the \
         body's size: select the skin that the surface shows, or bring the surface to the body"
    )]
    Missed {
        /// Distance of the nearest selected vertex, m.
        distance: f64,
        /// Largest distance allowed, m.
        reach: f64,
    },
    /// No part of a target surface faces the skin.
    #[error(
        "no part of the target surface faces the selected skin: turn its faces outward, or select other skin"
    )]
    Unmatched,
    /// A number is out of its range.
    #[error("'{name}' is {value}, but must be {range}")]
    Range {
        /// Name of the setting.
        name: &'static str,
        /// Value.
        value: f64,
        /// Range in words.
        range: &'static str,
    },
    /// The method has no frames that turn with the skeleton, or no balance.
    #[error(
        "a surface cannot be fitted with the method '{}': sculpted rigs turn with the flesh, so take 'warped' or the method of the \
         simulation", method.name()
    )]
    Method {
        /// The method.
        method: Method,
    },
}
