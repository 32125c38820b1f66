// SPDX-License-Identifier: MIT OR Apache-2.0
//! What cannot touch.

use super::ContactResponse;
use crate::progress::Cancelled;

/// Why contact cannot be computed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ContactError {
    /// The caller stopped.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// A number out of its range.
    #[error("contact: {what} must be {range}, not {value}")]
    Setting {
        /// Which one.
        what: &'static str,
        /// What would be right.
        range: &'static str,
        /// What it is.
        value: f64,
    },
    /// Regions of another surface.
    #[error(
        "contact: regions need one number per vertex of the mesh, {expected}, but there are {given}"
    )]
    Regions {
        /// Vertices of the surface.
        expected: usize,
        /// Numbers given.
        given: usize,
    },
    /// A response that does not exist.
    #[error(
        "there is no contact response '{name}'; there are: {}",
        ContactResponse::names()
    )]
    Response {
        /// What was asked for.
        name: String,
    },
    /// Seeds where nothing grows from them.
    #[error(
        "crease seeds belong to the contact responses 'creases' and 'released_creases': give the simulation a contact \
         with one of these"
    )]
    NoCreases,
    /// A seed of another surface.
    #[error("crease seed {index} must be two different vertices of skin that may touch")]
    Seed {
        /// Which of the list.
        index: usize,
    },
}
