// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of motion.

use super::{Method, Solver};
use crate::body::BodyError;
use crate::modal::ModalError;
use crate::progress::Cancelled;
use crate::range::MAX_NUMBER;
use crate::skeleton::SkeletonError;
use crate::solve::{NewtonError, SolveError};

impl SimulationError {
    /// Wraps an error with the index of its body; cancellations stay as they are.
    pub(crate) fn for_body(body: usize, error: Self) -> Self {
        match error {
            Self::Cancelled(_) | Self::InScene { .. } => error,
            error => Self::InScene {
                body,
                source: Box::new(error),
            },
        }
    }

    /// Returns whether the motion itself failed, rather than an argument being wrong.
    #[cfg(all(feature = "python", not(test)))]
    pub(crate) fn is_motion_failure(&self) -> bool {
        match self {
            Self::Solve(_) | Self::Newton(_) | Self::NonFinite { .. } => true,
            Self::InScene { source, .. } => source.is_motion_failure(),
            _ => false,
        }
    }
}

/// An error in creating or advancing a simulation.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// The caller cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The system could not be solved.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// The body could not be built.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// The modes could not be computed or used.
    #[error(transparent)]
    Modal(#[from] ModalError),
    /// The modes belong to another body.
    #[error(
        "these modes, of {nodes} nodes, do not belong to this body of {lattice} lattice vertices: compute them for \
         it, or for one that differs from it only in stiffness"
    )]
    OtherModes {
        /// Nodes of the modes.
        nodes: usize,
        /// Lattice vertices of the body.
        lattice: usize,
    },
    /// The minimisation of a nonlinear method's energy failed; the previous state is kept.
    #[error(transparent)]
    Newton(#[from] NewtonError),
    /// A static balance of a body without fixed nodes.
    #[error("no node is fixed: nothing would hold the body against its forces")]
    NoSupport,
    /// A free node that belongs to no element with volume.
    #[error("node {node} is free, but no element with volume holds it: fix or remove it")]
    Unattached {
        /// Index of the node.
        node: usize,
    },
    /// The modal method balances amplitudes only.
    #[error(
        "the method 'modal' balances amplitudes, not lattice vertices: reset a simulation with it, settled, and read \
         its lattice positions"
    )]
    ModalBalance,
    /// The printed form of blended linearisation has constant matrices.
    #[error(
        "the method 'blended_printed' takes no further energy terms, as its matrices never change: use 'blended'"
    )]
    PrintedTerms,
    /// The modal method has no vertices for a term to act on.
    #[error(
        "the method 'modal' moves amplitudes, not lattice vertices: further energy terms act with the other methods"
    )]
    ModalTerms,
    /// An energy term of another body, or one that couples nodes without a common cell.
    #[error(
        "energy term {index} does not fit this body: its nodes must be lattice vertices, and those that it couples must \
         share a cell"
    )]
    Term {
        /// Index in the list.
        index: usize,
    },
    /// Stiffness in motion with a method whose matrices do not follow it.
    #[error(
        "the stiffness of flesh cannot change in motion with the method '{}': use 'hyperelastic', 'warped', 'linear', 'linearised', \
         'nonlinear' or 'neohookean'",
        .method.name()
    )]
    StiffnessMethod {
        /// The method.
        method: Method,
    },
    /// Stiffness in motion of a body with details.
    #[error(
        "the stiffness of flesh cannot change in motion on a body with details: build it with basis_levels 0, and simulate with adapt 'none'"
    )]
    StiffnessDetails,
    /// Derivatives of a balance that is not linear in its forces.
    #[error(
        "the method '{}' has no adjoint, as its balance is not linear in the forces: use 'warped', 'warped_vertex' or \
         'linear'",
        .method.name()
    )]
    Adjoint {
        /// The method.
        method: Method,
    },
    /// An unknown method.
    #[error("there is no method '{name}'; there are: {}", Method::names())]
    Method {
        /// The name supplied.
        name: String,
    },
    /// An unknown solver.
    #[error("there is no solver '{name}'; there are: {}", Solver::names())]
    Solver {
        /// The name supplied.
        name: String,
    },
    /// An unknown criterion of adaptation.
    #[error(
        "there is no adaptation '{name}'; there are: {}",
        super::Adaptation::names()
    )]
    AdaptationName {
        /// The name supplied.
        name: String,
    },
    /// Adaptation where functions cannot come and go.
    #[error("this flesh cannot adapt: {0}")]
    Adaptation(&'static str),
    /// A setting out of range.
    #[error("{what} must be {range}, not {value}")]
    Setting {
        /// Name of the setting.
        what: &'static str,
        /// Description of the valid range.
        range: &'static str,
        /// The value supplied.
        value: f64,
    },
    /// A name that no setting has.
    #[error("'{name}' is not a setting; the settings are {known}")]
    UnknownSetting {
        /// The name supplied.
        name: String,
        /// Names of all settings.
        known: String,
    },
    /// A force field cannot act.
    #[error(transparent)]
    Field(#[from] crate::force_fields::FieldError),
    /// A track has another number of entries than the clip has frames.
    #[error(
        "there are {given} entries of {what}, but the clip has {frames} frames: give one, or one for each frame"
    )]
    TrackFrames {
        /// Name of the track.
        what: &'static str,
        /// Number of its entries.
        given: usize,
        /// Number of frames.
        frames: usize,
    },
    /// A value of another type than the setting's.
    #[error("{what}: the value has the wrong type")]
    SettingKind {
        /// Name of the setting.
        what: &'static str,
    },
    /// A pose that does not fit the skeleton.
    #[error(transparent)]
    Pose(#[from] SkeletonError),
    /// Forces or displacements of another body.
    #[error("there must be one vector per lattice vertex: {expected}, not {given}")]
    Length {
        /// Number of lattice vertices.
        expected: usize,
        /// Number of vectors supplied.
        given: usize,
    },
    /// A vector that is not finite or is too large.
    #[error("the vector at lattice vertex {index} is not finite, or larger than {MAX_NUMBER:e}")]
    Vector {
        /// Index of the lattice vertex.
        index: usize,
    },
    /// The motion left the range of numbers; the state before the step is kept.
    #[error(
        "the motion of lattice vertex {vertex} is no longer finite: the pose or the forces make a jump \
         that is too large; the state before it is kept"
    )]
    NonFinite {
        /// Index of the lattice vertex.
        vertex: usize,
    },
    /// Bones that follow flesh by a method whose matrices do not follow their firmness.
    #[error(
        "bones cannot follow flesh that moves by the method '{}': use 'hyperelastic', 'warped', 'linear', 'linearised', 'nonlinear' or \
         'neohookean'", .method.name()
    )]
    DynamicBoneMethod {
        /// The method.
        method: Method,
    },
    /// Bones that follow flesh with details.
    #[error("bones cannot follow flesh with details: build the body with basis_levels 0")]
    DynamicBoneDetails,
    /// Dynamic bones without bones or without flesh.
    #[error("no bone is to follow the flesh: name at least one that carries flesh")]
    NoDynamicBones,
    /// A belt around a bone that the skeleton lacks.
    #[error("a belt needs a bone to follow: there is no bone {bone}, as the skeleton has {bones}")]
    BeltBone {
        /// Number of the bone.
        bone: u32,
        /// Number of bones.
        bones: usize,
    },
    /// A belt where no skin goes around its bone.
    #[error(
        "no skin goes around the bone '{bone}' at {along} of its length: choose another height along it, or another bone"
    )]
    BeltRing {
        /// Name of the bone.
        bone: String,
        /// Height along it.
        along: f64,
    },
    /// A belt of skin that bones hold.
    #[error(
        "bones hold all the skin around the bone '{bone}' there, so that a belt has no flesh to hold: choose another height along it"
    )]
    BeltHeld {
        /// Name of the bone.
        bone: String,
    },
    /// Pins with the modal method.
    #[error(
        "the method 'modal' moves amplitudes, not points: constrain nodes of a ModalSimulation, or pin points with another method"
    )]
    PinMethod,
    /// A pin at a vertex that does not exist.
    #[error("vertex {vertex} cannot be pinned: the surface has {count} vertices")]
    PinVertex {
        /// Index of the vertex.
        vertex: u32,
        /// Number of vertices.
        count: usize,
    },
    /// A pin outside the body.
    #[error(
        "the place ({:.4}, {:.4}, {:.4}) cannot be pinned: it lies outside the flesh at rest",
        .place[0], .place[1], .place[2]
    )]
    PinOutside {
        /// Place at rest, m.
        place: [f64; 3],
    },
    /// A pin at a point that bones hold.
    #[error("{point} cannot be pinned: a bone holds it already; pin a point beside it")]
    PinOnBone {
        /// Description of the point.
        point: String,
    },
    /// A pin at a vertex whose flesh is painted rigid.
    #[error(
        "vertex {vertex} cannot be pinned: the flesh map lets it show no sway; paint it softer or pin another one"
    )]
    PinRigid {
        /// Index of the vertex.
        vertex: u32,
    },
    /// A target that is not finite.
    #[error("the target of a pin must be a finite place within 1e12 m")]
    PinTarget,
    /// A number that no pin has.
    #[error("there is no pin {pin}")]
    NoPin {
        /// The number supplied.
        pin: u32,
    },
    /// More pins than free vertices.
    #[error(
        "there cannot be {pins} pins: the flesh has {freedom} free lattice vertices; pin fewer points, or build the body with a finer lattice"
    )]
    TooManyPins {
        /// Number of pins.
        pins: usize,
        /// Number of free vertices.
        freedom: usize,
    },
    /// Pins that ask for different places.
    #[error(
        "pin {pin} conflicts with {}: they hold the same flesh, {distance:.3e} m apart; move their targets together, or remove one",
        name_pins(.others)
    )]
    PinConflict {
        /// Number of the pin.
        pin: u32,
        /// Numbers of the pins that give its row.
        others: Vec<u32>,
        /// Distance of its target from the place that the others give it, m.
        distance: f64,
    },
    /// Contact with a method that does not support it.
    #[error("the method '{}' does not support contact: use hyperelastic, warped, warped_vertex, blended, linear, linearised or modal", method.name())]
    ContactMethod {
        /// The method.
        method: Method,
    },
    /// Contact prepared for another body.
    #[error("the skin that was prepared for contact belongs to another body: prepare this one")]
    ContactBody,
    /// An error of contact.
    #[error(transparent)]
    Contact(#[from] crate::contact::ContactError),
    /// A scene without bodies.
    #[error("a scene needs at least one body")]
    EmptyScene,
    /// The modal method in a scene.
    #[error(
        "the method 'modal' parts only its own surface: use another method for a body that others touch"
    )]
    ModalScene,
    /// A body that a scene lacks.
    #[error("there is no body {body}: the scene has {count}")]
    SceneBody {
        /// Index of the body.
        body: usize,
        /// Number of bodies.
        count: usize,
    },
    /// Poses, forces or motions for another number of bodies.
    #[error("there must be one for each body of the scene: {expected}, not {given}")]
    SceneLength {
        /// Number of bodies.
        expected: usize,
        /// Number of entries supplied.
        given: usize,
    },
    /// Bodies of a scene with different rates.
    #[error(
        "its rate is {other}, the first body's is {first}: all bodies of a scene take the same steps"
    )]
    SceneRate {
        /// Rate of the first body, steps per second.
        first: f64,
        /// Rate of this body, steps per second.
        other: f64,
    },
    /// An error of one body of a scene.
    #[error("body {body} of the scene: {source}")]
    InScene {
        /// Index of the body.
        body: usize,
        /// The error.
        source: Box<SimulationError>,
    },
    /// An advance before the first reset.
    #[error("the simulation has no pose yet: reset it to one before advancing")]
    NotReset,
    /// A saved state that does not fit.
    #[error("the saved state does not belong to this body: {0}")]
    State(&'static str),
    /// A saved state of another kind of method.
    #[error("the saved state has no {section}: it comes from another kind of method")]
    StateWithout {
        /// Name of the missing section.
        section: &'static str,
    },
    /// A saved state with an unknown section that must not be left out.
    #[error(
        "the saved state has a part '{section}' of version {version} that the method does not know: restore it with the \
         method, the settings and the version of Thew that it was saved with, or reset"
    )]
    StateSection {
        /// Name of the section.
        section: String,
        /// Version of the section.
        version: u32,
    },
}

/// Names pins in a sentence.
fn name_pins(pins: &[u32]) -> String {
    let numbers: Vec<String> = pins.iter().map(u32::to_string).collect();
    match &numbers[..] {
        [one] => format!("pin {one}"),
        several => format!("pins {}", several.join(", ")),
    }
}
