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
    /// More than there is.
    #[error(
        "contact: a thickness of {thickness} m is more than half of the body's size, {size:.3} m"
    )]
    Thickness {
        /// What was asked for, metres.
        thickness: f64,
        /// Of the body, metres.
        size: f64,
    },
    /// The crease methods anywhere else than step by step.
    #[error(
        "contact: the crease methods are for comparison, in Simulation alone: take response 'complementarity'"
    )]
    CreasesInClip,
    /// The crease methods with the modal one.
    #[error(
        "contact: with the method 'modal' what overlaps is parted on the surface alone, without creases: take response \
         'complementarity'"
    )]
    ModalCreases,
    /// A plane without a direction.
    #[error(
        "a plane to collide with needs a point and a normal that are finite, and the normal a length"
    )]
    Plane,
    /// A mesh that is none.
    #[error("a collider's mesh is empty, or its triangles name vertices that are not there")]
    ColliderMesh,
    /// A motion without entries.
    #[error("a collider's motion needs one entry per pose, and has none")]
    NoEntries,
    /// A motion that is too short.
    #[error(
        "collider {collider}: its motion needs one entry per pose, {expected}, but has {given}"
    )]
    Entries {
        /// Which collider.
        collider: usize,
        /// Poses there are.
        expected: usize,
        /// Entries there are.
        given: usize,
    },
    /// A place that is none.
    #[error("entry {entry} of a collider's motion leads to places that are not finite")]
    ColliderEntry {
        /// Which entry.
        entry: usize,
    },
    /// Vertices of another mesh.
    #[error(
        "entry {entry} of a collider's motion needs a place for each vertex, {expected}, but has {given}"
    )]
    ColliderVertices {
        /// Which entry.
        entry: usize,
        /// Vertices of the mesh.
        expected: usize,
        /// Places given.
        given: usize,
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
