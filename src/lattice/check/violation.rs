// SPDX-License-Identifier: MIT OR Apache-2.0
//! Violations of the conditions of a lattice.

use crate::Vec3;
use crate::lattice::Lattice;

/// Violated condition of a lattice, or face of a mesh that makes no cell, with its location.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// Reading cells from faces: a face has neither three nor four distinct corners.
    #[error("face {face:?} has not three or four distinct corners, as faces of cells have")]
    FaceCorners {
        /// Vertices of the face.
        face: Vec<u32>,
    },
    /// Reading cells from faces: a face bounds no cell.
    #[error("face {face:?} at ({:.4}, {:.4}, {:.4}) bounds no cell: a cell is a closed shell of 4 triangles, of 2 triangles and 3 quadrilaterals, or of 6 quadrilaterals", at.x, at.y, at.z)]
    LooseFace {
        /// Vertices of the face.
        face: Vec<u32>,
        /// Middle of the face, m.
        at: Vec3,
    },
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
    /// Condition 2: part of a bone lies on no edge.
    #[error("condition 2: no edge of a cell lies on bone '{bone}' from ({:.4}, {:.4}, {:.4}) to ({:.4}, {:.4}, {:.4})", from.x, from.y, from.z, to.x, to.y, to.z)]
    Uncovered {
        /// Name of the bone.
        bone: String,
        /// Place on the bone where the edges end, m.
        from: Vec3,
        /// Place on the bone where they go on, m.
        to: Vec3,
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

impl Violation {
    /// Returns the number of the condition, 1 to 4; 0 for faces that make no cell.
    pub fn condition(&self) -> u8 {
        match self {
            Self::FaceCorners { .. } | Self::LooseFace { .. } => 0,
            Self::FaceShared { .. }
            | Self::Duplicate(..)
            | Self::Overlap(..)
            | Self::Hanging { .. } => 1,
            Self::MissingEdge { .. }
            | Self::OffBone { .. }
            | Self::Uncovered { .. }
            | Self::Chains(_) => 2,
            Self::Uncontained { .. } | Self::Opening { .. } => 3,
            Self::RepeatedCorner { .. } | Self::Inverted { .. } | Self::Folded { .. } => 4,
        }
    }

    /// Returns the name of the kind of violation, for programs that choose words of their own.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::FaceCorners { .. } => "face corners",
            Self::LooseFace { .. } => "loose face",
            Self::FaceShared { .. } => "shared face",
            Self::Duplicate(..) => "duplicate",
            Self::Overlap(..) => "overlap",
            Self::Hanging { .. } => "hanging vertex",
            Self::MissingEdge { .. } => "missing edge",
            Self::OffBone { .. } => "off bone",
            Self::Uncovered { .. } => "uncovered bone",
            Self::Chains(_) => "chains",
            Self::Uncontained { .. } => "uncontained",
            Self::Opening { .. } => "opening",
            Self::RepeatedCorner { .. } => "repeated corner",
            Self::Inverted { .. } => "inverted",
            Self::Folded { .. } => "folded",
        }
    }

    /// Returns the name of the bone that it concerns, if any.
    pub fn bone(&self) -> Option<&str> {
        match self {
            Self::MissingEdge { bone, .. }
            | Self::OffBone { bone, .. }
            | Self::Uncovered { bone, .. } => Some(bone),
            _ => None,
        }
    }

    /// Returns the cells that it concerns.
    pub fn cells(&self, lattice: &Lattice) -> Vec<usize> {
        match self {
            Self::Duplicate(a, b) | Self::Overlap(a, b) => vec![*a, *b],
            Self::Hanging { cell, .. }
            | Self::Opening { cell, .. }
            | Self::RepeatedCorner { cell, .. }
            | Self::Inverted { cell, .. }
            | Self::Folded { cell, .. } => vec![*cell],
            Self::FaceShared { face, .. } => {
                let has = |v: &u32, cell: usize| lattice.cells()[cell].corners().contains(v);
                let cells = 0..lattice.cells().len();
                cells.filter(|&c| face.iter().all(|v| has(v, c))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the vertices that it concerns.
    pub fn vertices(&self) -> Vec<u32> {
        match self {
            Self::FaceCorners { face }
            | Self::LooseFace { face, .. }
            | Self::FaceShared { face, .. }
            | Self::Opening { face, .. } => face.clone(),
            Self::Hanging { vertex, .. }
            | Self::OffBone { vertex, .. }
            | Self::RepeatedCorner { vertex, .. }
            | Self::Inverted { vertex, .. } => vec![*vertex],
            Self::MissingEdge { from, to, .. } => vec![*from, *to],
            _ => Vec::new(),
        }
    }

    /// Returns the places that it concerns, m: its own points, or else those of its vertices at `x`.
    pub fn places(&self, x: &[Vec3]) -> Vec<Vec3> {
        match self {
            Self::Uncontained { at, .. } | Self::Folded { at, .. } => vec![*at],
            Self::Uncovered { from, to, .. } => vec![*from, *to],
            _ => {
                let at = |&v: &u32| x.get(v as usize).copied();
                self.vertices().iter().filter_map(at).collect()
            }
        }
    }
}
