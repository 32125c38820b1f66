// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tetrahedral meshes without a skeleton.

use crate::Vec3;

/// A tetrahedral mesh: bodies of the modal methods that have no skeleton.
#[derive(Debug, Clone, PartialEq)]
pub struct TetMesh {
    vertices: Vec<Vec3>,
    tets: Vec<[u32; 4]>,
}

/// Why a tetrahedral mesh was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TetError {}

impl TetMesh {
    /// A mesh of vertices (metres) and positively oriented tetrahedra.
    ///
    /// # Errors
    /// What does not make a mesh, by tetrahedron or vertex.
    pub fn new(vertices: Vec<Vec3>, tets: Vec<[u32; 4]>) -> Result<Self, TetError> {
        Ok(Self { vertices, tets })
    }

    /// Positions at rest, metres.
    pub fn vertices(&self) -> &[Vec3] {
        &self.vertices
    }

    /// The tetrahedra.
    pub fn tets(&self) -> &[[u32; 4]] {
        &self.tets
    }
}
