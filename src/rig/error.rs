// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of rigs.

use super::TemplateKind;
use crate::progress::Cancelled;
use crate::range::MAX_NUMBER;
use crate::skeleton::SkeletonError;
use crate::solve::SolveError;
use std::path::PathBuf;

/// Reasons why a rig is refused, or cannot push.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RigError {
    /// The caller cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The template's name is unknown.
    #[error("there is no template '{name}'; there are: {}", template_kinds())]
    Template {
        /// The name passed.
        name: String,
    },
    /// The parameter's name is unknown.
    #[error("there is no parameter '{name}'; there are: {known}")]
    Unknown {
        /// The name passed.
        name: String,
        /// Known names.
        known: String,
    },
    /// A required parameter is missing.
    #[error("the parameter '{name}' is missing")]
    Missing {
        /// Name of the parameter.
        name: &'static str,
    },
    /// The number of parameters is wrong.
    #[error("expected {expected} parameters, but there are {given}")]
    Count {
        /// Expected number.
        expected: usize,
        /// Actual number.
        given: usize,
    },
    /// A firmness of a kind of rig without tension.
    #[error(
        "a sculpted rig makes no flesh tense: its firmness stays 0; give the firmness to a template or a muscle there"
    )]
    NoTension,
    /// A parameter is not finite, or too large.
    #[error(
        "the parameter '{name}' is {value}, but must be a finite number, no larger than {MAX_NUMBER:e}"
    )]
    NonFinite {
        /// Name of the parameter.
        name: &'static str,
        /// Value of the parameter.
        value: f64,
    },
    /// A radius is not positive.
    #[error("the parameter '{name}' is {value} m, but must be positive")]
    Radius {
        /// Name of the parameter.
        name: &'static str,
        /// Value, metres.
        value: f64,
    },
    /// A length is not smaller than the one that surrounds it: a torus without a hole.
    #[error("the {} of {} m must be smaller than the {} of {} m", inner.0, inner.1, outer.0, outer.1)]
    Nested {
        /// Name of the inner length, and its value, metres.
        inner: (&'static str, f64),
        /// Name of the outer length, and its value, metres.
        outer: (&'static str, f64),
    },
    /// The matrix is not a rigid frame.
    #[error("the matrix of a frame must be a place and a rotation, but {what}")]
    Matrix {
        /// Description of the defect.
        what: &'static str,
    },
    /// The barycentric coordinates are negative or do not sum to one.
    #[error("barycentric weights must be zero or positive and sum to one, not {barycentric:?}")]
    Barycentric {
        /// The coordinates passed.
        barycentric: [f64; 3],
    },
    /// The skeleton has no bone of this name.
    #[error("the skeleton has no bone '{name}': choose another bone for the guide")]
    NoBone {
        /// Name of the bone.
        name: String,
    },
    /// The skeleton has no bone of this number.
    #[error("the guide is at bone {bone}, but the skeleton has {bones} bones: choose another")]
    BoneIndex {
        /// Number of the bone.
        bone: u32,
        /// Number of bones.
        bones: usize,
    },
    /// The bone has no length.
    #[error("the bone '{name}' has no length, so it has no direction: choose another bone")]
    NoLength {
        /// Name of the bone.
        name: String,
    },
    /// The surface has no such face.
    #[error("the guide is on face {face}, but the mesh has {faces} triangles: place it anew")]
    NoFace {
        /// Number of the face.
        face: u32,
        /// Number of faces.
        faces: usize,
    },
    /// The face has no area.
    #[error("face {face} has no area, so it has no normal: place the guide anew")]
    FlatFace {
        /// Number of the face.
        face: u32,
    },
    /// The skeleton lacks a bone of a sculpted rig.
    #[error(
        "the rig was sculpted on a skeleton with a bone '{name}', which this one lacks: carry the rig over, or rename the bone"
    )]
    ForeignBone {
        /// Name of the bone.
        name: String,
    },
    /// A sculpted rig and a muscle have no template.
    #[error(
        "a sculpted rig or a muscle has no template and no guide, so that nothing of them can be placed or fitted"
    )]
    NoTemplate,
    /// A point of a sculpted rig is invalid.
    #[error("point {index} of the sculpted rig {what}")]
    SculptPoint {
        /// Index of the point.
        index: usize,
        /// Description of the defect.
        what: &'static str,
    },
    /// The turn of a bone is not finite.
    #[error("the turn of the bone '{name}' is not finite")]
    SculptTurn {
        /// Name of the bone.
        name: String,
    },
    /// Samples of a sculpted rig are replaced by another number of them.
    #[error("the sculpted rig has {expected} samples with a shape each, but there are {given}")]
    SculptSamples {
        /// Number of shapes.
        expected: usize,
        /// Number of samples.
        given: usize,
    },
    /// A number is not positive.
    #[error("'{name}' is {value}, but must be a positive number")]
    NotPositive {
        /// Name of the number.
        name: &'static str,
        /// Value.
        value: f64,
    },
    /// The frame's position overflows.
    #[error("the guide's parameters put the template farther away than numbers reach")]
    TooFar,
    /// The ends of a muscle are one place.
    #[error("the ends of the muscle are one place: put origin and insertion apart")]
    MuscleEnds,
    /// The contraction of a muscle is out of range.
    #[error("the contraction is {value}, but must be from {} to {}", range.0, range.1)]
    Contraction {
        /// The contraction.
        value: f64,
        /// Smallest and largest contraction.
        range: (f64, f64),
    },
    /// The pose does not fit the skeleton.
    #[error(transparent)]
    Pose(#[from] SkeletonError),
    /// The template reaches no flesh.
    #[error("the template lies wholly outside the flesh: move it into the body or make it larger")]
    Outside,
    /// Bones hold all the flesh that the template reaches.
    #[error(
        "bones hold all the flesh that the template reaches, so that no strength moves the skin: make it larger, or move it"
    )]
    Held,
    /// No contraction of a muscle moves the skin that far.
    #[error(
        "a muscle that contracts by {contraction:.3}, as far as flesh bears, moves the skin by {most:.3e} m, not by {wanted:.3e} m: give it a larger radius, or ask for less"
    )]
    Unreachable {
        /// Displacement passed, m.
        wanted: f64,
        /// Largest displacement, m.
        most: f64,
        /// Its contraction.
        contraction: f64,
    },
    /// The number of displacements differs from the number of samples.
    #[error("there are {expected} samples but {given} displacements: give one for each")]
    Displacements {
        /// Number of samples.
        expected: usize,
        /// Number of displacements.
        given: usize,
    },
    /// The flesh's linear system cannot be solved.
    #[error(transparent)]
    Flesh(#[from] SolveError),
    /// The forces overflow.
    #[error("the forces are larger than numbers hold: lower the strength")]
    Overflow,
    /// A control is not finite, or too large.
    #[error("the control is {value}, but must be a finite number, no larger than {MAX_NUMBER:e}")]
    Control {
        /// Value of the control.
        value: f64,
    },
    /// The number of controls differs from the number of rigs.
    #[error("there are {rigs} rigs but {given} controls: give one for each")]
    Controls {
        /// Number of rigs.
        rigs: usize,
        /// Number of controls.
        given: usize,
    },
    /// Two samples share one control.
    #[error(
        "sample {sample} is at control {control}, as another one is: no two may share a control"
    )]
    Twice {
        /// Index of the later sample.
        sample: usize,
        /// Value of the control.
        control: f64,
    },
    /// One sample is invalid.
    #[error("sample {sample}: {error}")]
    Sample {
        /// Index of the sample.
        sample: usize,
        /// Its error.
        error: Box<RigError>,
    },
    /// One rig of several is invalid.
    #[error("rig '{name}': {error}")]
    Rig {
        /// Name of the rig.
        name: String,
        /// Its error.
        error: Box<RigError>,
    },
    /// The field belongs to another body.
    #[error("expected one vector for each of {expected} lattice vertices, but there are {given}")]
    Field {
        /// Expected number of vectors.
        expected: usize,
        /// Actual number.
        given: usize,
    },
    /// The field is not finite.
    #[error("the vector of lattice vertex {dof} is not finite")]
    FieldNonFinite {
        /// Index of the lattice vertex.
        dof: usize,
    },
    /// The file has an invalid line.
    #[error("{path}, line {line}: {what}")]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// The key and its defect.
        what: String,
    },
    /// The file cannot be read or written.
    #[error("{path} cannot be {action}: {what}")]
    Disk {
        /// Path of the file.
        path: PathBuf,
        /// "read" or "written".
        action: &'static str,
        /// Message of the operating system.
        what: String,
    },
}

impl RigError {
    pub(crate) fn unknown_parameter(name: &str, known: &[&str]) -> Self {
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

    /// Returns the name of the parameter that the error concerns.
    pub(super) fn parameter(&self) -> Option<&str> {
        match self {
            Self::NonFinite { name, .. }
            | Self::Radius { name, .. }
            | Self::NotPositive { name, .. } => Some(name),
            Self::Nested { inner, .. } => Some(inner.0),
            Self::Unknown { name, .. } => Some(name),
            Self::Control { .. } => Some("control"),
            Self::Contraction { .. } => Some("contraction"),
            Self::Barycentric { .. } => Some("barycentric"),
            Self::Matrix { .. } => Some("matrix"),
            Self::Sample { error, .. } | Self::Rig { error, .. } => error.parameter(),
            _ => None,
        }
    }
}

fn template_kinds() -> String {
    let names = TemplateKind::ALL.iter();
    names
        .map(|kind| format!("'{}'", kind.name()))
        .collect::<Vec<_>>()
        .join(", ")
}
