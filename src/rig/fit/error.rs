// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of fits.

use crate::dynamics::SimulationError;
use crate::progress::Cancelled;
use crate::rig::{Rig, RigError};
use crate::skeleton::SkeletonError;
use crate::solve::lbfgsb::LbfgsbError;

/// Reasons why a fit fails.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RigFitError {
    /// The caller cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The balance cannot be solved.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// The pose cannot be fitted, or does not fit the skeleton.
    #[error(transparent)]
    Pose(#[from] SkeletonError),
    /// The rig is invalid, or badly placed.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// The minimisation failed.
    #[error(transparent)]
    Minimise(#[from] LbfgsbError),
    /// The rig has no template whose parameters could be fitted.
    #[error(
        "the rig '{rig}' is of the kind '{kind}', but a fit to points changes the parameters of a template: take a rig with a template, or fit_surface for a \
         shape of the skin"
    )]
    Kind {
        /// Name of the rig.
        rig: String,
        /// Name of its kind.
        kind: &'static str,
    },
    /// There are no points.
    #[error("there are no points to pull: name at least one vertex of the surface and its target")]
    NoPoints,
    /// The surface has no such vertex.
    #[error("point {index} names vertex {vertex}, but the body's surface has {vertices} vertices")]
    Vertex {
        /// Index of the point.
        index: usize,
        /// Vertex of the point.
        vertex: u32,
        /// Number of vertices.
        vertices: usize,
    },
    /// The target is not finite.
    #[error("the target of point {index} is not finite: {place:?}")]
    Target {
        /// Index of the point.
        index: usize,
        /// Target of the point.
        place: [f64; 3],
    },
    /// A weight is negative.
    #[error("the weight of '{name}' is {value}, but must be zero or positive")]
    Weight {
        /// Name of the parameter.
        name: String,
        /// Value of the weight.
        value: f64,
    },
    /// The bounds leave no value.
    #[error("the bounds {lower} and {upper} of '{name}' leave it no value{}", radius_note(*.is_radius))]
    Bounds {
        /// Name of the parameter.
        name: String,
        /// Lower bound.
        lower: f64,
        /// Upper bound.
        upper: f64,
        /// `true`: the parameter is a radius, which must be positive.
        is_radius: bool,
    },
    /// No parameter moves the points.
    #[error(
        "no parameter of the rig '{rig}' moves the points: place its template closer to them, where flesh connects both"
    )]
    NoEffect {
        /// Name of the rig.
        rig: String,
    },
}

impl RigFitError {
    /// Returns the error of a rig of a kind that no fit can change.
    pub(super) fn kind_of(rig: &Rig) -> Self {
        Self::Kind {
            rig: rig.name().to_owned(),
            kind: rig.kind().name(),
        }
    }
}

fn radius_note(is_radius: bool) -> &'static str {
    if is_radius {
        " (radii are positive)"
    } else {
        ""
    }
}
