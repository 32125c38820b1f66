// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why nothing was fitted.

use crate::dynamics::SimulationError;
use crate::progress::Cancelled;
use crate::rig::RigError;
use crate::solve::lbfgsb::LbfgsbError;

/// Why nothing was fitted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FitError {
    /// The caller stopped.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The balance.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// The rig, or where it lies.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// The minimisation.
    #[error(transparent)]
    Minimise(#[from] LbfgsbError),
    /// Nothing to pull.
    #[error("there are no points to pull: name at least one vertex of the surface and its target")]
    NoPoints,
    /// A vertex that the surface does not have.
    #[error("point {index} names vertex {vertex}, but the body's surface has {vertices} vertices")]
    Vertex {
        /// Of the points.
        index: usize,
        /// The vertex named.
        vertex: u32,
        /// How many there are.
        vertices: usize,
    },
    /// A target that is no position.
    #[error("the target of point {index} is not finite: {place:?}")]
    Target {
        /// Of the points.
        index: usize,
        /// Its target.
        place: [f64; 3],
    },
    /// A weight that would push away.
    #[error("the weight of '{name}' is {value}, but must be zero or positive")]
    Weight {
        /// The parameter.
        name: String,
        /// The number.
        value: f64,
    },
    /// Bounds that leave nothing.
    #[error("the bounds {lower} and {upper} of '{name}' leave it no value{}", radius_note(*.is_radius))]
    Bounds {
        /// The parameter.
        name: String,
        /// Lower bound.
        lower: f64,
        /// Upper bound.
        upper: f64,
        /// It is a radius, and those are positive.
        is_radius: bool,
    },
    /// The points do not feel the rig.
    #[error(
        "no parameter of the rig '{rig}' moves the points: place its template closer to them, where flesh connects both"
    )]
    NoEffect {
        /// The rig's name.
        rig: String,
    },
}

fn radius_note(is_radius: bool) -> &'static str {
    if is_radius {
        " (radii are positive)"
    } else {
        ""
    }
}
