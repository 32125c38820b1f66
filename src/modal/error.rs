// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can go wrong with modes.

use super::Integrator;

/// Why modes could not be computed or used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
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
        /// Which.
        what: &'static str,
        /// What would be right.
        range: &'static str,
        /// What was given.
        value: f64,
    },
    /// An array that does not fit.
    #[error("there must be {expected} {what}, one per {per}, not {given}")]
    Length {
        /// Which array.
        what: &'static str,
        /// Node or mode.
        per: &'static str,
        /// How many it should have.
        expected: usize,
        /// How many it has.
        given: usize,
    },
    /// A number that is NaN or infinite.
    #[error("the {what} of {per} {index} is not finite, or absurdly large")]
    NotFinite {
        /// Which array.
        what: &'static str,
        /// Node or mode.
        per: &'static str,
        /// Where.
        index: usize,
    },
    /// A node that does not exist.
    #[error("{what} names node {node}, but there are {nodes} nodes")]
    Node {
        /// What names it.
        what: &'static str,
        /// The node.
        node: usize,
        /// How many there are.
        nodes: usize,
    },
    /// A mode that does not exist.
    #[error("there is no mode {mode}: the body has {modes} modes, counted from 0")]
    Mode {
        /// The mode.
        mode: usize,
        /// How many there are.
        modes: usize,
    },
    /// Everything is fixed.
    #[error("all {nodes} nodes are fixed: nothing is left that could move")]
    NothingFree {
        /// Number of nodes.
        nodes: usize,
    },
    /// No modes were asked for.
    #[error("at least one mode must be asked for")]
    NoModes,
    /// More modes than freedom.
    #[error(
        "{asked} modes were asked for, but {free} free nodes have {most} degrees of freedom: ask for fewer"
    )]
    TooMany {
        /// How many were asked for.
        asked: usize,
        /// Nodes that are not fixed.
        free: usize,
        /// The most there can be.
        most: usize,
    },
    /// A node without mass.
    #[error("node {node} has no mass: it belongs to no element with flesh; remove it or fix it")]
    NoMass {
        /// Where.
        node: usize,
    },
    /// An unknown integrator.
    #[error("there is no integrator '{name}'; there are {}", Integrator::ALL.map(|i| format!("'{}'", i.name())).join(", "))]
    Integrator {
        /// What was asked for.
        name: String,
    },
    /// A name that there is none of.
    #[error("there is no {what} '{name}'; there are {known}")]
    Unknown {
        /// Form, precision or engine.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        known: &'static str,
    },
    /// A surface of another body, of another place or in another unit.
    #[error(
        "the surface is {distance:.3} m away from the flesh, more than the {size:.3} m that this is across: it belongs to another body, or is in another place or unit"
    )]
    Away {
        /// Between the boxes of both, metres.
        distance: f64,
        /// Diagonal of the flesh's box, metres.
        size: f64,
    },
    /// A supported node cannot be dragged.
    #[error("node {node} is fixed and cannot be constrained: constrain one that can move")]
    Supported {
        /// The node.
        node: usize,
    },
    /// Nothing that could move the constrained nodes.
    #[error("there is no exercised node that can move: name some, or leave them out")]
    NotExercised,
    /// A free body under a load that nothing holds against.
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
