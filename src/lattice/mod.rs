// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control lattices: cell complexes around a character, with the bones on their edges.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/shapes/arm.rs"));
//! # fn main() -> Result<(), Any> {
//! // An arm of flesh around two bones: `examples/shapes/arm.rs`.
//! let (surface, skeleton) = (surface()?, skeleton()?);
//! let skin = skin(&surface)?;
//! let settings = EncloseSettings { cells_across: 8.0, ..EncloseSettings::default() };
//! let lattice = Lattice::enclose(&surface, &skeleton, Some(&skin), settings, &Silent)?;
//! assert!(lattice.check(&surface, &skeleton).is_empty());
//!
//! // Points are weighted means of the corners of their cells.
//! let embedding = lattice.embed(surface.vertices());
//! for (i, x) in surface.vertices().iter().enumerate() {
//!     assert!((embedding.position(i, lattice.vertices()) - x).norm() < 1e-12);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Source: [capell2002, §3.1, §4.1]. The construction is ours (the paper's lattices were made by hand).
//! [`Lattice::enclose`] builds a lattice around a surface and a skeleton; [`Lattice::new`] takes a finished one.
//! [`Lattice::from_faces`] reads one made by hand, and [`Lattice::for_character`] gives it its bones and demands the conditions.
//! [`Lattice::check`] tests the four conditions; [`Lattice::embed`] expresses points by cell corners.
//!
//! Guaranteed for an enclosed lattice: every vertex of the surface lies in a cell; every used bone is a chain of edges;
//! no cell is inverted; building it twice gives the same bits. A mirror-symmetric character gets a mirror-symmetric
//! lattice where one with these properties is found. Not guaranteed: cells as good as those of a mesh generator that
//! may move the bones.

mod assemble;
mod balls;
mod bones;
mod builder;
mod by_hand;
pub mod cell;
mod check;
mod delaunay;
mod enclose;
mod fill;
mod flesh;
mod given;
mod improve;
mod keep;
#[cfg(test)]
mod limb;
mod parts;
mod samples;
mod segments;
mod sew;
mod shells;
mod split;
mod stored;
mod symmetry;
mod unit;
mod vicinity;

mod embed;
mod embedding;

pub use by_hand::{HandSettings, Tip};
pub use cell::Cell;
pub(crate) use cell::corner_volume;
pub use check::Violation;
pub use embedding::Embedding;
pub(crate) use embedding::StoredEmbedding;
pub use enclose::EncloseSettings;
pub(crate) use enclose::check_settings;
pub(crate) use flesh::{FleshOwnership, NO_CELL};
pub(crate) use parts::CellParts;
pub(crate) use sew::LimbCells;
pub use shells::FaceMesh;
pub(crate) use stored::StoredLattice;
pub use symmetry::{MirrorPlane, Symmetry};
pub(crate) use unit::{UnitCharacter, heading};

use crate::Vec3;
use crate::range::{self, MAX_COORDINATE};
use smallvec::SmallVec;

/// Positions of the corners of a cell.
pub type Corners = SmallVec<[Vec3; 8]>;

/// Chains of lattice vertices along the bones.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct BoneChains {
    /// Bones that the lattice follows.
    pub used_bones: Vec<u32>,
    /// Vertices from head to tail: one chain per used bone, then one per virtual tip.
    pub chains: Vec<Vec<u32>>,
    /// For each virtual tip chain, the bone that drives it.
    pub tip_bones: Vec<u32>,
    /// For each lattice vertex on a bone, the one bone that drives it; `None` elsewhere.
    pub bone_of_vertex: Vec<Option<u32>>,
}

/// Reason why a lattice was refused or could not be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LatticeError {
    /// The caller stopped the construction.
    #[error(transparent)]
    Cancelled(#[from] crate::progress::Cancelled),
    /// A vertex has a coordinate that is NaN, infinite or out of range.
    #[error(
        "lattice vertex {0} has a coordinate that is not a finite number, or beyond {MAX_COORDINATE:e} m"
    )]
    NonFinite(usize),
    /// A cell does not have 4, 6 or 8 corners.
    #[error("cell {cell} has {corners} corners: a tetrahedron has 4, a prism 6, a hexahedron 8")]
    Corners {
        /// Index of the cell.
        cell: usize,
        /// Number of its corners.
        corners: usize,
    },
    /// A cell refers to a vertex that does not exist.
    #[error("cell {cell} uses lattice vertex {vertex}, but there are only {count}")]
    OutOfRange {
        /// Index of the cell.
        cell: usize,
        /// Vertex number in the cell.
        vertex: i64,
        /// Number of vertices.
        count: usize,
    },
    /// A face refers to a vertex that does not exist.
    #[error("face {face} uses lattice vertex {vertex}, but there are only {count}")]
    FaceVertex {
        /// Index of the face.
        face: usize,
        /// Vertex number in the face.
        vertex: i64,
        /// Number of vertices.
        count: usize,
    },
    /// Cells break conditions, or faces make no cell; never empty.
    #[error("{}", describe_violations(.0))]
    Conditions(Vec<Violation>),
    /// A virtual tip belongs to a bone that does not exist.
    #[error("tip {tip} belongs to bone {bone}, but the skeleton has {bones} bones")]
    TipBone {
        /// Index of the tip.
        tip: usize,
        /// Bone of the tip.
        bone: u32,
        /// Number of bones.
        bones: usize,
    },
    /// An end of a virtual tip has a coordinate that is NaN, infinite or out of range.
    #[error("tip {0} has a coordinate that is not a finite number, or beyond {MAX_COORDINATE:e} m")]
    TipEnds(usize),
    /// The distance within which vertices are moved onto bones is out of range.
    #[error("the reach must lie between 0 and 0.5 of the shortest edge, not {0}")]
    Reach(f64),
    /// The lattice has no cells.
    #[error("a lattice needs at least one cell")]
    Empty,
    /// Stored virtual copies do not fit the cells.
    #[error(
        "the copies do not fit the cells: they are those of another lattice, or of another version of Thew"
    )]
    Copies,
    /// The number of cells across is out of range.
    #[error("cells across must lie between 2 and 64, not {0}")]
    CellsAcross(f64),
    /// Skin weights do not fit the surface or the skeleton.
    #[error("{0}")]
    Weights(String),
    /// Cells taken as they are could not be joined to tetrahedra; holds the faces at which joining failed.
    #[error(
        "the given cells cannot be joined to others: their faces {0:?} lie too near to bones or other cells"
    )]
    Joined(Vec<usize>),
    /// The construction found no valid lattice.
    #[error("no lattice could be built around this mesh ({0}); try fewer or more cells across")]
    Failed(String),
}

/// Returns the first violation, and the number of the others.
fn describe_violations(violations: &[Violation]) -> String {
    let first = violations
        .first()
        .map_or_else(String::new, Violation::to_string);
    match violations.len() {
        0 | 1 => first,
        n => format!("{first}; and {} more", n - 1),
    }
}

/// A control lattice: cells over vertices, with the bones on its edges.
#[derive(Debug, Clone)]
pub struct Lattice {
    vertices: Vec<Vec3>,
    cells: Vec<Cell>,
    bones: BoneChains,
    locator: embed::Locator,
    notes: Vec<String>,
    pub(crate) flesh: Option<FleshOwnership>,
    pub(crate) parts: Option<CellParts>,
    pub(crate) mirror_plane: Option<MirrorPlane>,
}

impl Lattice {
    /// Takes finished vertices and cells of 4, 6 or 8 corners (order: [`Cell`]), without bones.
    pub fn new(vertices: Vec<Vec3>, cells: Vec<Cell>) -> Result<Self, LatticeError> {
        Self::with_bones(vertices, cells, BoneChains::default())
    }

    /// Takes finished vertices and cells, with bones on the edges.
    pub fn with_bones(
        vertices: Vec<Vec3>,
        cells: Vec<Cell>,
        mut bones: BoneChains,
    ) -> Result<Self, LatticeError> {
        if cells.is_empty() {
            return Err(LatticeError::Empty);
        }
        if let Some(i) = vertices.iter().position(|v| !range::is_position(v)) {
            return Err(LatticeError::NonFinite(i));
        }
        for (cell, c) in cells.iter().enumerate() {
            if let Some(&v) = c.corners().iter().find(|&&v| v as usize >= vertices.len()) {
                return Err(LatticeError::OutOfRange {
                    cell,
                    vertex: i64::from(v as i32),
                    count: vertices.len(),
                });
            }
        }
        bones.bone_of_vertex.resize(vertices.len(), None);
        let locator = embed::Locator::new(&vertices, &cells);
        Ok(Self {
            vertices,
            cells,
            bones,
            locator,
            notes: Vec::new(),
            flesh: None,
            parts: None,
            mirror_plane: None,
        })
    }

    /// Returns the lattice vertices at rest, m.
    pub fn vertices(&self) -> &[Vec3] {
        &self.vertices
    }

    /// Returns the cells.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Returns the mean of a cell's corners.
    pub(crate) fn cell_centre(&self, cell: usize) -> Vec3 {
        let corners = self.cells[cell].corners();
        let sum: Vec3 = corners.iter().map(|v| self.vertices[*v as usize]).sum();
        sum / corners.len() as f64
    }

    /// Returns the chains of vertices along the bones.
    pub fn bones(&self) -> &BoneChains {
        &self.bones
    }

    /// Returns notes of the construction for the artist, one sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the plane that mirrors the lattice onto itself; `None` if it was not built so.
    ///
    /// The second half of the cells are then the images of the first half, in the same order, with the last two corners
    /// swapped.
    pub fn mirror_plane(&self) -> Option<MirrorPlane> {
        self.mirror_plane
    }

    /// Returns the cell whose mirror image a cell of the second half is.
    pub(crate) fn mirror_original(&self, cell: u32) -> Option<u32> {
        let half = self.cells.len() as u32 / 2;
        self.mirror_plane.and_then(|_| cell.checked_sub(half))
    }

    /// Appends notes for the artist.
    pub(crate) fn add_notes(&mut self, notes: Vec<String>) {
        self.notes.extend(notes);
    }

    /// Returns the corner positions of a cell, m.
    pub fn corners(&self, cell: u32) -> Corners {
        let corners = self.cells[cell as usize].corners();
        let mut places = [Vec3::zeros(); 8];
        for (place, &v) in places.iter_mut().zip(corners) {
            *place = self.vertices[v as usize];
        }
        Corners::from_buf_and_len(places, corners.len())
    }

    /// Returns the cell whose flesh is at `point`, among all cells that contain the point; `cell` is one of them. It
    /// differs from `cell` only where virtual copies share its geometry or cells along a limb overlap it.
    pub fn owner(&self, cell: u32, point: Vec3) -> u32 {
        let cell = self.cell_in_part(cell, point);
        self.flesh.as_ref().map_or(cell, |f| f.owner(cell, point))
    }
}
