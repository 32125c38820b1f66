// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why there is no medial model, or why it could not be fitted.

use super::figure::Kind;
use crate::progress::Cancelled;
use crate::range::FARTHEST;
use std::path::PathBuf;

/// Between what a count may be.
fn bounds(least: usize, most: usize) -> String {
    if most == usize::MAX {
        format!("{least} or more")
    } else {
        format!("{least} to {most}")
    }
}

/// A kind of figure in a sentence.
fn described(kind: Kind) -> String {
    match kind {
        Kind::Slab { rows, cols } => format!("slab of {rows} x {cols} atoms"),
        Kind::Tube { atoms, spokes } => format!("tube of {atoms} atoms with {spokes} spokes each"),
    }
}

/// Why a medial model was refused, or what it was asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MRepError {
    /// The caller stopped the work.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// Fewer atoms than a figure is made of, or more than can be handled.
    #[error("{what} is {found}: it has to be {}", bounds(*least, *most))]
    Count {
        /// Of what.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// Fewest.
        least: usize,
        /// Most.
        most: usize,
    },
    /// Arrays that do not fit each other.
    #[error("{what} has {found} entries, but there are {expected}: give one for each")]
    Length {
        /// Which array.
        what: &'static str,
        /// Its length.
        found: usize,
        /// How many there are to be.
        expected: usize,
    },
    /// A number of an atom.
    #[error("{what} of atom {atom} is {value}: it has to be {range}")]
    Atom {
        /// Which number.
        what: &'static str,
        /// Which atom.
        atom: String,
        /// As given.
        value: f64,
        /// What it may be.
        range: &'static str,
    },
    /// A hub that is nowhere.
    #[error(
        "the hub of atom {0} has a coordinate that is no number or beyond {FARTHEST:e}: move it near the others"
    )]
    Place(String),
    /// Axes that are no frame.
    #[error(
        "the frame of atom {0} is no rotation: its columns b, b⊥ and n have to be unit vectors at right angles, with n = b × b⊥"
    )]
    Frame(String),
    /// Two hubs of a tube in one place.
    #[error(
        "the hubs of atoms {0} and {1} lie in one place: a tube needs a way from one to the next"
    )]
    Coincident(usize, usize),
    /// A level of the boundary.
    #[error(
        "the boundary at level {level} would have {vertices} vertices, more than {most}: take a lower level"
    )]
    Level {
        /// The level asked for.
        level: u32,
        /// What it would take.
        vertices: f64,
        /// Most that are made.
        most: usize,
    },
    /// Coordinates that are none of this figure.
    #[error("coordinates {row} ({}, {}, {}, {}) are none of this figure: {why}", at[0], at[1], at[2], at[3])]
    Coordinates {
        /// Which.
        row: usize,
        /// As given.
        at: [f64; 4],
        /// What is wrong with them.
        why: &'static str,
    },
    /// A model that turns inside out.
    #[error(
        "the model folds before anything is fitted (legality {legality:.2}, it has to be above zero): {what}"
    )]
    Folded {
        /// As measured.
        legality: f64,
        /// Where.
        what: String,
    },
    /// Figures that have nothing to learn from each other.
    #[error("figure {index} is a {}, but it has to be a {} as the first", described(*found), described(*first))]
    Family {
        /// Which.
        index: usize,
        /// What the first is.
        first: Kind,
        /// What it is.
        found: Kind,
    },
    /// Figures of which one has places that the other has not.
    #[error("{0}")]
    Apart(String),
    /// Figures of a model that cannot be told apart, or are too many.
    #[error("{0}")]
    Names(String),
    /// A model far from the volume it is fitted to.
    #[error(
        "the model lies outside of the volume, which reaches from ({:.3}, {:.3}, {:.3}) to ({:.3}, {:.3}, {:.3}): move it there, or \
         give the volume's spacing and origin in the model's metres", from[0], from[1], from[2], to[0], to[1], to[2]
    )]
    Outside {
        /// Centre of the volume's first voxel.
        from: [f64; 3],
        /// Of its last.
        to: [f64; 3],
    },
    /// A surface or a volume that no figure can be fitted to.
    #[error("{0}")]
    Target(String),
    /// A number of a fit or of a template.
    #[error("{name} is {value}: it has to be {range}")]
    Setting {
        /// Which one.
        name: &'static str,
        /// As given.
        value: String,
        /// What it may be.
        range: &'static str,
    },
    /// A line that bends more sharply than a body can around it.
    #[error("the line bends too sharply at {:.0} % of its length for a body around it: leave out the bones from there on", u * 100.0)]
    Sharp {
        /// Where, from 0 to 1.
        u: f64,
    },
    /// Bones and skin that carry no tube.
    #[error("{0}")]
    Bones(String),
    /// A file.
    #[error("'{}' could not be {action}: {what}", path.display())]
    Disk {
        /// Its name.
        path: PathBuf,
        /// Read or written.
        action: &'static str,
        /// The reason.
        what: String,
    },
    /// What stands in a file.
    #[error("'{}'{}: {what}", path.display(), line.map_or(String::new(), |l| format!(", line {l}")))]
    File {
        /// Its name.
        path: PathBuf,
        /// Where, if that is known.
        line: Option<usize>,
        /// What is wrong there.
        what: String,
    },
}
