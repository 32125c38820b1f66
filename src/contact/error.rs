// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of contact.

use super::ContactResponse;
use crate::progress::Cancelled;

/// Reasons why contact cannot be computed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ContactError {
    /// The caller cancelled the computation.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// A setting is out of its range.
    #[error("contact: {what} must be {range}, not {value}")]
    Setting {
        /// Name of the setting.
        what: &'static str,
        /// Valid range, in words.
        range: &'static str,
        /// Value of the setting.
        value: f64,
    },
    /// The thickness exceeds half of the body's size.
    #[error(
        "contact: a thickness of {thickness} m is more than half of the body's size, {size:.3} m"
    )]
    Thickness {
        /// Requested thickness, metres.
        thickness: f64,
        /// Size of the body, metres.
        size: f64,
    },
    /// A crease method was chosen for a clip; these methods run in a simulation only.
    #[error(
        "contact: the crease methods are for comparison only, in Simulation alone: use response 'complementarity'"
    )]
    CreasesInClip,
    /// A crease method was combined with the method `modal`.
    #[error(
        "contact: the method 'modal' parts overlaps on the surface alone, without creases: use response 'complementarity'"
    )]
    ModalCreases,
    /// A plane has a point or a normal that is not finite, or a normal of length zero.
    #[error("a plane to collide with needs a finite point, and a finite normal that is not zero")]
    Plane,
    /// A stored collider's mesh is empty or names vertices that do not exist.
    #[error("a collider's mesh is empty, or its triangles name vertices that do not exist")]
    ColliderMesh,
    /// A collider's motion has no entries.
    #[error("a collider's motion needs one entry per pose, but has none")]
    NoEntries,
    /// A collider's motion has fewer entries than there are poses.
    #[error(
        "collider {collider}: its motion needs one entry per pose, {expected}, but has {given}"
    )]
    Entries {
        /// Index of the collider.
        collider: usize,
        /// Number of poses.
        expected: usize,
        /// Number of entries.
        given: usize,
    },
    /// An entry of a collider's motion leads to positions that are not finite.
    #[error("entry {entry} of a collider's motion leads to positions that are not finite")]
    ColliderEntry {
        /// Index of the entry.
        entry: usize,
    },
    /// An entry of a collider's motion has another number of vertices than its mesh.
    #[error(
        "entry {entry} of a collider's motion needs a position for each vertex, {expected}, but has {given}"
    )]
    ColliderVertices {
        /// Index of the entry.
        entry: usize,
        /// Number of vertices of the mesh.
        expected: usize,
        /// Number of positions in the entry.
        given: usize,
    },
    /// The number of regions differs from the number of vertices of the surface.
    #[error(
        "contact: regions need one number per vertex of the mesh, {expected}, but there are {given}"
    )]
    Regions {
        /// Number of vertices of the surface.
        expected: usize,
        /// Number of regions.
        given: usize,
    },
    /// The name of a response is unknown.
    #[error(
        "there is no contact response '{name}'; there are: {}",
        ContactResponse::names()
    )]
    Response {
        /// Requested name.
        name: String,
    },
    /// Crease seeds were set with a response other than the crease methods.
    #[error(
        "crease seeds belong to the contact responses 'creases' and 'released_creases': give the simulation a contact \
         with one of these"
    )]
    NoCreases,
    /// A crease seed does not name two different vertices of skin that may touch.
    #[error("crease seed {index} must be two different vertices of skin that may touch")]
    Seed {
        /// Index of the seed in the list.
        index: usize,
    },
}
