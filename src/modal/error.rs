// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of modes and modal simulation.

use super::Integrator;

/// Reason why modes could not be computed or used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModalError {
    /// The caller stopped.
    #[error(transparent)]
    Cancelled(#[from] crate::progress::Cancelled),
    /// The eigenpairs could not be found.
    #[error(transparent)]
    Eigen(#[from] crate::solve::eigen::EigenError),
    /// The mesh cannot embed anything.
    #[error(transparent)]
    Tets(#[from] crate::tets::TetError),
    /// A setting out of range.
    #[error("{what} must be {range}, not {value}")]
    Setting {
        /// Name of the setting.
        what: &'static str,
        /// Permitted range.
        range: &'static str,
        /// Value of the setting.
        value: f64,
    },
    /// An array of the wrong length.
    #[error("there must be {expected} {what}, one per {per}, not {given}")]
    Length {
        /// Name of the array.
        what: &'static str,
        /// Kind of its items: node or mode.
        per: &'static str,
        /// Expected length.
        expected: usize,
        /// Actual length.
        given: usize,
    },
    /// A number that is NaN, infinite or absurdly large.
    #[error("the {what} of {per} {index} is not finite, or absurdly large")]
    NotFinite {
        /// Name of the array.
        what: &'static str,
        /// Kind of its items: node or mode.
        per: &'static str,
        /// Index of the node or mode.
        index: usize,
    },
    /// A node that does not exist.
    #[error("{what} names node {node}, but there are {nodes} nodes")]
    Node {
        /// Name of the list or constraint.
        what: &'static str,
        /// Index of the node.
        node: usize,
        /// Number of nodes.
        nodes: usize,
    },
    /// A mode that does not exist.
    #[error("there is no mode {mode}: the body has {modes} modes, counted from 0")]
    Mode {
        /// Index of the mode.
        mode: usize,
        /// Number of modes.
        modes: usize,
    },
    /// A body whose nodes are all fixed.
    #[error("all {nodes} nodes are fixed: nothing is left that could move")]
    NothingFree {
        /// Number of nodes.
        nodes: usize,
    },
    /// A request for zero modes.
    #[error("at least one mode must be asked for")]
    NoModes,
    /// More modes than degrees of freedom.
    #[error(
        "{asked} modes were asked for, but {free} free nodes have {most} degrees of freedom: ask for fewer"
    )]
    TooMany {
        /// Requested number of modes.
        asked: usize,
        /// Number of nodes that are not fixed.
        free: usize,
        /// Maximum number of modes.
        most: usize,
    },
    /// A node without mass.
    #[error("node {node} has no mass: it belongs to no element with flesh; remove it or fix it")]
    NoMass {
        /// Index of the node.
        node: usize,
    },
    /// Lumped masses of a body with details.
    #[error(
        "lumped masses are those of functions that sum to one, and this body has {levels} levels of details, which do not: take consistent \
         masses, or a body with basis_levels=0"
    )]
    Details {
        /// Levels of details of the body.
        levels: usize,
    },
    /// An unknown integrator.
    #[error("there is no integrator '{name}'; there are {}", Integrator::ALL.map(|i| format!("'{}'", i.name())).join(", "))]
    Integrator {
        /// Unknown name.
        name: String,
    },
    /// An unknown name.
    #[error("there is no {what} '{name}'; there are {known}")]
    Unknown {
        /// Kind of the name: form, precision or engine.
        what: &'static str,
        /// Unknown name.
        name: String,
        /// Known names.
        known: &'static str,
    },
    /// A surface of another body, in another place or in another unit.
    #[error(
        "the surface is {distance:.3} m away from the flesh, more than the {size:.3} m that the flesh is across: it \
         belongs to another body, or is in another place or unit"
    )]
    Away {
        /// Distance between the bounding boxes of both, metres.
        distance: f64,
        /// Diagonal of the flesh's bounding box, metres.
        size: f64,
    },
    /// A constraint on a fixed node.
    #[error("node {node} is fixed and cannot be constrained: constrain one that can move")]
    Supported {
        /// Index of the node.
        node: usize,
    },
    /// Constraints without an exercised node that can move.
    #[error("there is no exercised node that can move: name some, or leave them out")]
    NotExercised,
    /// A free body under a load that no support balances.
    #[error(
        "nothing holds the body against its loads: fix some nodes when its modes are made, or let it move"
    )]
    Unsupported,
    /// No balance was found.
    #[error(
        "no balance was found: the loads bend the body farther than its modes can follow; use smaller ones"
    )]
    NoBalance,
    /// The motion left the range of numbers.
    #[error(
        "the motion is no longer finite: the forces are too large; the state before the step is kept"
    )]
    NonFinite,
}
