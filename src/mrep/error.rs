// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of building, reading and fitting medial models.

use crate::mrep::figures::figure::FigureKind;
use crate::progress::Cancelled;
use crate::range::MAX_COORDINATE;
use std::path::PathBuf;

/// Describes the allowed range of a count.
fn bounds(least: usize, most: usize) -> String {
    if most == usize::MAX {
        format!("{least} or more")
    } else {
        format!("{least} to {most}")
    }
}

/// Describes a kind of figure for an error sentence.
fn describe_kind(kind: FigureKind) -> String {
    match kind {
        FigureKind::Slab { rows, cols } => format!("slab of {rows} x {cols} atoms"),
        FigureKind::Tube { atoms, spokes } => {
            format!("tube of {atoms} atoms with {spokes} spokes each")
        }
    }
}

/// Reasons for which a medial model, or a call on one, is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MRepError {
    /// The caller stopped the work.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// A count of atoms, spokes or the like below its minimum or above its maximum.
    #[error("{what} is {found}: it must be {}", bounds(*least, *most))]
    Count {
        /// Quantity that is counted.
        what: &'static str,
        /// Count found.
        found: usize,
        /// Smallest count allowed.
        least: usize,
        /// Largest count allowed; `usize::MAX`: unbounded.
        most: usize,
    },
    /// An array whose length does not match another's.
    #[error("{what} has {found} entries, but there are {expected}: give one for each")]
    Length {
        /// Name of the array.
        what: &'static str,
        /// Length found.
        found: usize,
        /// Length expected.
        expected: usize,
    },
    /// A number of an atom outside its range.
    #[error("{what} of atom {atom} is {value}: it must be {range}")]
    Atom {
        /// Name of the number.
        what: &'static str,
        /// Name of the atom, as `[i]` or `[row, column]`.
        atom: String,
        /// Value given.
        value: f64,
        /// Allowed range, in words.
        range: &'static str,
    },
    /// A hub with a coordinate that is not a number or out of range.
    #[error(
        "the hub of atom {0} has a coordinate that is not a number or is beyond {MAX_COORDINATE:e}: move it near the others"
    )]
    Place(String),
    /// A frame that is not a rotation.
    #[error(
        "the frame of atom {0} is not a rotation: its columns b, b⊥ and n must be unit vectors at right angles, with n = b × b⊥"
    )]
    Frame(String),
    /// Two successive hubs of a tube at the same point.
    #[error(
        "the hubs of atoms {0} and {1} coincide: a tube needs a distance from each hub to the next"
    )]
    Coincident(usize, usize),
    /// A boundary level that needs too many vertices.
    #[error(
        "the boundary at level {level} would have {vertices} vertices, more than {most}: use a lower level"
    )]
    Level {
        /// Level requested.
        level: u32,
        /// Vertices that it needs.
        vertices: f64,
        /// Most vertices allowed.
        most: usize,
    },
    /// Figural coordinates outside a figure's range.
    #[error("coordinates {row} ({}, {}, {}, {}) do not belong to this figure: {why}", at[0], at[1], at[2], at[3])]
    Coordinates {
        /// Row of the coordinates in the list.
        row: usize,
        /// Coordinates (u, v, φ, τ) given.
        at: [f64; 4],
        /// Rule that they break.
        why: &'static str,
    },
    /// A model whose volume folds before the fit begins.
    #[error(
        "the model folds before anything is fitted (legality {legality:.2}, but it must be above zero): {what}"
    )]
    Folded {
        /// Legality measured, zero or less.
        legality: f64,
        /// Location of the fold, as a sentence.
        what: String,
    },
    /// A figure of a family whose kind differs from the first figure's.
    #[error("figure {index} is a {}, but it must be a {} like the first", describe_kind(*found), describe_kind(*first))]
    Family {
        /// Index of the figure.
        index: usize,
        /// Kind of the first figure.
        first: FigureKind,
        /// Kind of this figure.
        found: FigureKind,
    },
    /// Two figures without a correspondence.
    #[error("{0}")]
    Apart(String),
    /// Names of figures that are missing or repeated, or a call for a single figure on a model of
    /// several.
    #[error("{0}")]
    Names(String),
    /// A model that lies outside the volume to which it is fitted.
    #[error(
        "the model lies outside the volume, which reaches from ({:.3}, {:.3}, {:.3}) to ({:.3}, {:.3}, {:.3}): move it there, or \
         give the volume's spacing and origin in the model's metres", from[0], from[1], from[2], to[0], to[1], to[2]
    )]
    Outside {
        /// Centre of the volume's first voxel.
        from: [f64; 3],
        /// Centre of its last voxel.
        to: [f64; 3],
    },
    /// A surface or a volume to which no figure can be fitted.
    #[error("{0}")]
    Target(String),
    /// A setting of a fit or a template, or another argument, outside its range.
    #[error("{name} is {value}: it must be {range}")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// Value given.
        value: String,
        /// Allowed range, in words.
        range: &'static str,
    },
    /// A line that bends too sharply for the thickness of the body around it.
    #[error("the line bends too sharply at {:.0} % of its length for a body around it: leave out the bones from there on", u * 100.0)]
    Sharp {
        /// Position along the line, 0 to 1.
        u: f64,
    },
    /// Bones and skin from which no figure can be built.
    #[error("{0}")]
    Bones(String),
    /// A file that could not be read or written.
    #[error("'{}' could not be {action}: {what}", path.display())]
    Disk {
        /// Path of the file.
        path: PathBuf,
        /// "read" or "written".
        action: &'static str,
        /// Reason.
        what: String,
    },
    /// A file with invalid content.
    #[error("'{}'{}: {what}", path.display(), line.map_or(String::new(), |l| format!(", line {l}")))]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Line of the error, from 1, if known.
        line: Option<usize>,
        /// Description of the error.
        what: String,
    },
}

impl MRepError {
    /// Refuses an array of another length than expected.
    pub(super) fn check_length(
        what: &'static str,
        found: usize,
        expected: usize,
    ) -> Result<(), Self> {
        match found == expected {
            true => Ok(()),
            false => Err(Self::Length {
                what,
                found,
                expected,
            }),
        }
    }
}
