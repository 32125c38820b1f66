// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can go wrong with motion.

use super::{Method, Solver};
use crate::modal::ModalError;
use crate::progress::Cancelled;
use crate::range::LARGEST;
use crate::skeleton::SkeletonError;
use crate::solve::{NewtonError, SolveError};

impl SimulationError {
    /// What is wrong with one body of a scene.
    pub(crate) fn in_scene(body: usize, error: Self) -> Self {
        match error {
            Self::Cancelled(_) | Self::InScene { .. } => error,
            error => Self::InScene {
                body,
                source: Box::new(error),
            },
        }
    }

    /// Whether motion itself failed, and nothing that was given to it is wrong by itself.
    pub(crate) fn is_of_motion(&self) -> bool {
        match self {
            Self::Solve(_) | Self::Newton(_) | Self::NonFinite { .. } => true,
            Self::InScene { source, .. } => source.is_of_motion(),
            _ => false,
        }
    }
}

/// Why a simulation could not be made or go on.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SimulationError {
    /// The caller stopped.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The system could not be solved.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// The modes could not be made or used.
    #[error(transparent)]
    Modal(#[from] ModalError),
    /// Modes that were not made of the body.
    #[error(
        "these modes, of {nodes} nodes, are not of this body of {lattice} lattice vertices: make them of it, or of one \
         that differs from it only in how stiff it is"
    )]
    OtherModes {
        /// Nodes of the modes.
        nodes: usize,
        /// Lattice vertices of the body.
        lattice: usize,
    },
    /// No minimum of a nonlinear method's energy; the state before is kept.
    #[error(transparent)]
    Newton(#[from] NewtonError),
    /// Statics of a body that floats.
    #[error("no node is fixed: nothing would hold the body against its forces")]
    NoSupport,
    /// A free node without flesh.
    #[error("node {node} is free, but no element with volume holds it: fix or remove it")]
    Unattached {
        /// The node.
        node: usize,
    },
    /// The modal method has a balance of amplitudes only.
    #[error(
        "the method 'modal' balances amplitudes, not lattice vertices: reset a simulation with it, settled, and read \
         its lattice positions"
    )]
    ModalBalance,
    /// The modal method has no vertices that a term could push.
    #[error(
        "the method 'modal' moves amplitudes, not lattice vertices: further energy terms act with the other methods"
    )]
    ModalTerms,
    /// An energy term of another body, or one that couples what is apart.
    #[error(
        "energy term {index} does not fit this body: its nodes must be lattice vertices, and those that it couples must \
         share a cell"
    )]
    Term {
        /// Which of the list.
        index: usize,
    },
    /// Derivatives of a balance that is not linear in its forces.
    #[error(
        "the method '{}' has no adjoint, as its balance is not linear in the forces: take 'warped', 'warped_vertex' or \
         'linear'",
        .method.name()
    )]
    Adjoint {
        /// Which.
        method: Method,
    },
    /// A method that is not built.
    #[error("the method '{name}' is not built; built are: {}", Method::names())]
    Method {
        /// What was asked for.
        name: String,
    },
    /// A solver that does not exist.
    #[error("there is no solver '{name}'; there are: {}", Solver::names())]
    Solver {
        /// What was asked for.
        name: String,
    },
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
    /// A pose that does not fit the skeleton.
    #[error(transparent)]
    Pose(#[from] SkeletonError),
    /// Forces or displacements for another body.
    #[error("there must be one vector per lattice vertex: {expected}, not {given}")]
    Length {
        /// Lattice vertices.
        expected: usize,
        /// What was given.
        given: usize,
    },
    /// A number that is NaN or infinite came in.
    #[error("the vector at lattice vertex {index} is not finite, or larger than {LARGEST:e}")]
    Vector {
        /// Where.
        index: usize,
    },
    /// The motion left the range of numbers; the state before the step is kept.
    #[error(
        "the motion of lattice vertex {vertex} is no longer finite: the pose or the forces make a jump \
         that is too large; the state before it is kept"
    )]
    NonFinite {
        /// Where.
        vertex: usize,
    },
    /// Contact with a method that knows none.
    #[error("the method '{}' knows no contact: take hyperelastic, warped, warped_vertex, linear or modal", method.name())]
    ContactMethod {
        /// The method.
        method: Method,
    },
    /// Contact of another body.
    #[error("the skin that was prepared for contact is of another body: prepare this one")]
    ContactBody,
    /// What cannot touch.
    #[error(transparent)]
    Contact(#[from] crate::contact::ContactError),
    /// A scene of nothing.
    #[error("a scene needs at least one body")]
    EmptyScene,
    /// The modal method in a scene.
    #[error(
        "the method 'modal' parts only its own surface: take another method for a body that others touch"
    )]
    ModalScene,
    /// Poses, forces or motions for another number of bodies.
    #[error("there must be one for each body of the scene: {expected}, not {given}")]
    SceneLength {
        /// Bodies.
        expected: usize,
        /// What was given.
        given: usize,
    },
    /// Steps that cannot be taken side by side.
    #[error(
        "its rate is {other}, the first body's is {first}: all bodies of a scene take the same steps"
    )]
    SceneRate {
        /// Of the first body, steps per second.
        first: f64,
        /// Of this one.
        other: f64,
    },
    /// What is wrong with one body of a scene.
    #[error("body {body} of the scene: {source}")]
    InScene {
        /// Which.
        body: usize,
        /// What.
        source: Box<SimulationError>,
    },
    /// Advancing before a start.
    #[error("the simulation has no pose yet: reset it to one before advancing")]
    NotReset,
    /// A kept state that does not fit.
    #[error("the saved state is not one of this body: {0}")]
    State(&'static str),
    /// A kept state of another kind of method.
    #[error("the saved state has no {section}: it is of another kind of method")]
    StateWithout {
        /// What the method needs.
        section: &'static str,
    },
    /// A kept state with a part that must not be left out.
    #[error(
        "the saved state has a part '{section}' of version {version} that the method does not know: restore it with the \
         method, the settings and the version of Thew that it was saved with, or reset"
    )]
    StateSection {
        /// The part's name.
        section: String,
        /// Its version.
        version: u32,
    },
}
