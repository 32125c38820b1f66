// SPDX-License-Identifier: MIT OR Apache-2.0
//! Violations of the conditions of a lattice.

use crate::Vec3;

/// Violated condition of a lattice, with its location.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// Condition 1: a face belongs to more than two cells.
    #[error("condition 1: face {face:?} belongs to {cells} cells; at most two may share one")]
    FaceShared {
        /// Vertices of the face, ascending.
        face: Vec<u32>,
        /// Number of cells.
        cells: usize,
    },
    /// Condition 1: two cells have the same corners.
    #[error("condition 1: cells {0} and {1} have the same corners")]
    Duplicate(usize, usize),
    /// Condition 1: two cells overlap.
    #[error("condition 1: cells {0} and {1} overlap")]
    Overlap(usize, usize),
    /// Condition 1: a vertex lies on a cell without being its corner.
    #[error("condition 1: vertex {vertex} lies on cell {cell} without being one of its corners")]
    Hanging {
        /// Index of the vertex.
        vertex: u32,
        /// Index of the cell.
        cell: usize,
    },
    /// Condition 2: an edge of a bone's chain is missing in the cells.
    #[error(
        "condition 2: bone '{bone}' needs an edge between vertices {from} and {to}, but no cell has it"
    )]
    MissingEdge {
        /// Name of the bone.
        bone: String,
        /// First vertex of the edge.
        from: u32,
        /// Second vertex of the edge.
        to: u32,
    },
    /// Condition 2: a vertex of a chain lies off its bone.
    #[error(
        "condition 2: vertex {vertex} of bone '{bone}' lies {distance:.3e} off the bone, more than {limit:.3e}"
    )]
    OffBone {
        /// Name of the bone.
        bone: String,
        /// Index of the vertex.
        vertex: u32,
        /// Distance from the bone, m.
        distance: f64,
        /// Largest distance allowed for welded joints, m.
        limit: f64,
    },
    /// Condition 2: the chains do not fit the bones.
    #[error("condition 2: {0}")]
    Chains(String),
    /// Condition 3: the surface leaves the lattice.
    #[error("condition 3: the surface leaves the lattice at ({:.4}, {:.4}, {:.4}), near triangle {triangle}", at.x, at.y, at.z)]
    Uncontained {
        /// Point on the surface, m.
        at: Vec3,
        /// Triangle number in the input mesh.
        triangle: u32,
    },
    /// Condition 3: flesh continues beyond a free face.
    #[error("condition 3: the flesh goes on beyond the free face {face:?} of cell {cell}")]
    Opening {
        /// Vertices of the face.
        face: Vec<u32>,
        /// Cell of the face.
        cell: usize,
    },
    /// Condition 4: a cell uses a vertex twice.
    #[error("condition 4: cell {cell} ({kind}) uses vertex {vertex} twice")]
    RepeatedCorner {
        /// Index of the cell.
        cell: usize,
        /// Kind of the cell, as [`Cell::name`](crate::lattice::Cell::name).
        kind: &'static str,
        /// Index of the vertex.
        vertex: u32,
    },
    /// Condition 4: a cell is flat or inverted at a corner.
    #[error("condition 4: cell {cell} ({kind}) is flat or turned over at vertex {vertex}")]
    Inverted {
        /// Index of the cell.
        cell: usize,
        /// Kind of the cell, as [`Cell::name`](crate::lattice::Cell::name).
        kind: &'static str,
        /// Vertex at the corner.
        vertex: u32,
    },
    /// Condition 4: a cell is flat or inverted inside, though at none of its corners.
    #[error("condition 4: cell {cell} ({kind}) is flat or turned over inside, at ({:.4}, {:.4}, {:.4}), though at none of its corners", at.x, at.y, at.z)]
    Folded {
        /// Index of the cell.
        cell: usize,
        /// Kind of the cell, as [`Cell::name`](crate::lattice::Cell::name).
        kind: &'static str,
        /// Point inside the cell, m.
        at: Vec3,
    },
}
