// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a rig was refused, or cannot push.

use super::TemplateKind;
use crate::progress::Cancelled;
use crate::range::LARGEST;
use crate::solve::SolveError;
use std::path::PathBuf;

/// Why a rig was refused, or cannot push.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RigError {
    /// The caller stopped.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// No such template.
    #[error("there is no template '{name}'; there are: {}", kinds())]
    Template {
        /// What was asked for.
        name: String,
    },
    /// A parameter that does not exist.
    #[error("there is no parameter '{name}'; there are: {known}")]
    Unknown {
        /// What was given.
        name: String,
        /// Those there are.
        known: String,
    },
    /// A parameter that has to be given.
    #[error("the parameter '{name}' is missing")]
    Missing {
        /// Its name.
        name: &'static str,
    },
    /// A wrong number of parameters.
    #[error("expected {expected} parameters, but there are {given}")]
    Count {
        /// How many there should be.
        expected: usize,
        /// How many there are.
        given: usize,
    },
    /// A parameter that is no number.
    #[error(
        "the parameter '{name}' is {value}, but must be a finite number, no larger than {LARGEST:e}"
    )]
    NonFinite {
        /// Its name.
        name: &'static str,
        /// What it is.
        value: f64,
    },
    /// A field without extent.
    #[error("the parameter '{name}' is {value} m, but must be positive")]
    Radius {
        /// Its name.
        name: &'static str,
        /// Metres.
        value: f64,
    },
    /// A torus without a hole.
    #[error("the torus's tube_radius of {tube} m must be smaller than its ring_radius of {ring} m")]
    Tube {
        /// Metres.
        tube: f64,
        /// Metres.
        ring: f64,
    },
    /// A matrix that is no rigid frame.
    #[error("the matrix of a frame must be a place and a rotation, but {what}")]
    Matrix {
        /// What is wrong with it.
        what: &'static str,
    },
    /// Weights that are none.
    #[error("barycentric weights must be zero or positive and sum to one, not {barycentric:?}")]
    Barycentric {
        /// What was given.
        barycentric: [f64; 3],
    },
    /// A bone's name that the skeleton does not have.
    #[error("the skeleton has no bone '{name}': choose another bone for the guide")]
    NoBone {
        /// The name.
        name: String,
    },
    /// A bone's number that the skeleton does not have.
    #[error("the guide is at bone {bone}, but the skeleton has {bones} bones: choose another")]
    BoneIndex {
        /// The bone.
        bone: u32,
        /// How many there are.
        bones: usize,
    },
    /// A bone that points nowhere.
    #[error("the bone '{name}' has no length, so there is no way along it: choose another bone")]
    NoLength {
        /// The bone.
        name: String,
    },
    /// A face that the surface does not have.
    #[error("the guide is on face {face}, but the mesh has {faces} triangles: place it anew")]
    NoFace {
        /// The face.
        face: u32,
        /// How many there are.
        faces: usize,
    },
    /// A face without area.
    #[error("face {face} has no area, so there is no way out of it: place the guide anew")]
    FlatFace {
        /// The face.
        face: u32,
    },
    /// A frame beyond numbers.
    #[error("the guide's parameters put the template farther away than numbers reach")]
    TooFar,
    /// No flesh to push.
    #[error("the template lies wholly outside the flesh: move it into the body or make it larger")]
    Outside,
    /// Flesh that nothing moves.
    #[error(
        "bones hold all the flesh that the template reaches, so that no strength moves the skin: make it larger, or move it"
    )]
    Held,
    /// Yields for other samples.
    #[error("there are {expected} samples but {given} yields: give one for each")]
    Yields {
        /// How many there should be.
        expected: usize,
        /// How many there are.
        given: usize,
    },
    /// Flesh that cannot be solved for.
    #[error(transparent)]
    Flesh(#[from] SolveError),
    /// Forces beyond numbers.
    #[error("the forces are larger than numbers hold: lower the strength")]
    Overflow,
    /// A control that is no number.
    #[error("the control is {value}, but must be a finite number, no larger than {LARGEST:e}")]
    Control {
        /// What it is.
        value: f64,
    },
    /// Controls for other rigs.
    #[error("there are {rigs} rigs but {given} controls: give one for each")]
    Controls {
        /// How many rigs.
        rigs: usize,
        /// How many controls.
        given: usize,
    },
    /// Two samples at one control.
    #[error("sample {sample} is at control {control}, as another one is: no two may be alike")]
    Twice {
        /// The later one.
        sample: usize,
        /// Where.
        control: f64,
    },
    /// Something wrong with one sample.
    #[error("sample {sample}: {error}")]
    Sample {
        /// Which.
        sample: usize,
        /// What.
        error: Box<RigError>,
    },
    /// Something wrong with one rig of several.
    #[error("rig '{name}': {error}")]
    Rig {
        /// Which.
        name: String,
        /// What.
        error: Box<RigError>,
    },
    /// A field for another body.
    #[error("expected one vector for each of {expected} lattice vertices, but there are {given}")]
    Field {
        /// How many there should be.
        expected: usize,
        /// How many there are.
        given: usize,
    },
    /// A field that is no number.
    #[error("the vector of lattice vertex {dof} is not finite")]
    FieldNonFinite {
        /// Where.
        dof: usize,
    },
    /// A file that says what it must not.
    #[error("{path}, line {line}: {what}")]
    File {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// Which key, what is wrong with it.
        what: String,
    },
    /// The disk refuses.
    #[error("{path} cannot be {action}: {what}")]
    Disk {
        /// The file.
        path: PathBuf,
        /// Read or written.
        action: &'static str,
        /// What the system says.
        what: String,
    },
}

impl RigError {
    pub(crate) fn unknown(name: &str, known: &[&str]) -> Self {
        Self::Unknown {
            name: name.to_owned(),
            known: known.join(", "),
        }
    }

    pub(super) fn in_sample(self, sample: usize) -> Self {
        match self {
            Self::Cancelled(_) => self,
            error => Self::Sample {
                sample,
                error: Box::new(error),
            },
        }
    }

    pub(super) fn in_rig(self, name: &str) -> Self {
        match self {
            Self::Cancelled(_) => self,
            error => Self::Rig {
                name: name.to_owned(),
                error: Box::new(error),
            },
        }
    }

    /// The parameter that it is about.
    pub(super) fn parameter(&self) -> Option<&str> {
        match self {
            Self::NonFinite { name, .. } | Self::Radius { name, .. } => Some(name),
            Self::Tube { .. } => Some("tube_radius"),
            Self::Unknown { name, .. } => Some(name),
            Self::Control { .. } => Some("control"),
            Self::Barycentric { .. } => Some("barycentric"),
            Self::Matrix { .. } => Some("matrix"),
            Self::Sample { error, .. } | Self::Rig { error, .. } => error.parameter(),
            _ => None,
        }
    }
}

fn kinds() -> String {
    TemplateKind::ALL
        .map(|kind| format!("'{}'", kind.name()))
        .join(", ")
}
