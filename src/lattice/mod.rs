//! Control lattices: cell complexes around a character, bones on their edges.
//!
//! [capell2002, §3.1, §4.1]
use crate::Vec3;

/// A convex cell; corner order: tetrahedron positively oriented; prism bottom triangle, then top;
/// hexahedron `i + 2j + 4k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Cell {
    /// Four corners.
    Tetrahedron([u32; 4]),
    /// Six corners.
    Prism([u32; 6]),
    /// Eight corners.
    Hexahedron([u32; 8]),
}

impl Cell {
    /// Corner vertices in the cell's order.
    pub fn corners(&self) -> &[u32] {
        match self {
            Cell::Tetrahedron(c) => c,
            Cell::Prism(c) => c,
            Cell::Hexahedron(c) => c,
        }
    }
}

/// The bones on the lattice's edges.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct BoneChains {
    /// Bones that the lattice follows.
    pub used_bones: Vec<u32>,
    /// Vertices head to tail: one chain per used bone, then one per virtual tip.
    pub chains: Vec<Vec<u32>>,
    /// For each virtual tip chain, the bone that drives it.
    pub tip_bones: Vec<u32>,
    /// For each lattice vertex, the bone that drives it, if it lies on one.
    pub bone_of_vertex: Vec<Option<u32>>,
}

/// A control lattice.
#[derive(Debug, Clone)]
pub struct Lattice {
    vertices: Vec<Vec3>,
    cells: Vec<Cell>,
    bones: BoneChains,
}

impl Lattice {
    /// Lattice vertices at rest.
    pub fn vertices(&self) -> &[Vec3] {
        &self.vertices
    }
    /// Cells.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }
    /// Bones on the edges.
    pub fn bones(&self) -> &BoneChains {
        &self.bones
    }
}
