// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tetrahedral meshes without a skeleton: the bodies of the modal methods. [choi2003, §3]
//!
//! ```
//! use thew::elasticity::Material;
//! use thew::progress::Silent;
//! use thew::solve::NodeMatrix;
//! use thew::surface::Surface;
//! use thew::tets::{FillSettings, MassKind, TetMesh};
//!
//! let bar = TetMesh::grid([5, 2, 2], [1.0, 0.2, 0.2])?;
//! assert_eq!((bar.vertices().len(), bar.tets().len()), (54, 120));
//! let mass = bar.mass_matrix(&Material::default(), MassKind::Lumped);
//! let kilograms: f64 = (0..54).map(|node| mass.row_sum(node)).sum();
//! assert!((kilograms - 40.0).abs() < 1e-9); // 0.04 m³ of flesh
//!
//! // Its skin alone, filled again, has nearly the same volume.
//! let skin = Surface::new(bar.vertices().to_vec(), bar.surface_triangles())?;
//! let filled = TetMesh::fill(&skin, FillSettings { cells_across: Some(16.0), nodes: None }, &Silent)?;
//! assert!((filled.volume() / bar.volume() - 1.0).abs() < 0.05);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`TetMesh::new`] takes a finished mesh and names the first element or vertex that does not make a body.
//! [`TetMesh::with_repairs`] first repairs what needs no guess. [`TetMesh::from_cubes`] splits cubes,
//! [`TetMesh::grid`] makes bars of them.
//!
//! A tetrahedron is positively oriented when `(b − a) × (c − a) · (d − a) > 0`: seen from its last corner, the
//! first three run clockwise.

mod bcc;
mod bridge;
mod check;
mod cubes;
mod faces;
mod files;
mod fill;
mod filled_domain;
mod stored;
mod stuff;

pub use check::TetError;
pub use files::{ElementKind, WriteSettings};
pub use fill::FillSettings;

use crate::Vec3;
use crate::elasticity::elements::tetrahedral_mass;
use crate::elasticity::{Elements, Material};
use crate::geometry::sets::DisjointSets;
use crate::geometry::tetrahedron::volume;
use crate::lattice::{Cell, Lattice};
use crate::solve::{NodeMatrix, ScalarMatrix};
use check::TetOrientation;
use std::str::FromStr;

/// A tetrahedral mesh: positively oriented elements with volume, every vertex in one of them.
#[derive(Debug, Clone, PartialEq)]
pub struct TetMesh {
    vertices: Vec<Vec3>,
    tets: Vec<[u32; 4]>,
    /// Cubes that the tetrahedra were split from, six of each in order; empty for other meshes.
    cubes: Vec<[u32; 8]>,
    notes: Vec<String>,
}

/// Distribution of mass over the nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MassKind {
    /// Integrals of the elements' own functions: `ρ |T|/20 (1 + δ_ab)`.
    #[default]
    Consistent,
    /// A quarter of each element at each of its corners: a diagonal matrix.
    Lumped,
}

impl FromStr for MassKind {
    type Err = TetError;

    fn from_str(name: &str) -> Result<Self, TetError> {
        match name {
            "consistent" => Ok(Self::Consistent),
            "lumped" => Ok(Self::Lumped),
            _ => Err(TetError::MassKind(name.to_owned())),
        }
    }
}

/// Repairs that [`TetMesh::with_repairs`] may make.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MeshRepairs {
    /// Whether to turn inverted tetrahedra, by swapping their last two corners.
    pub orient: bool,
    /// Whether to drop vertices that no element uses; the others keep their order.
    pub drop_unused: bool,
}

impl TetMesh {
    /// Builds a mesh from vertices (m) and positively oriented tetrahedra.
    ///
    /// # Errors
    /// The first tetrahedron or vertex that does not make a body: [`TetError::Empty`], `NonFinite`,
    /// `OutOfRange`, `Repeated`, `Inverted`, `Flat`, `Unused`, `Extent`, `TooLarge`.
    pub fn new(vertices: Vec<Vec3>, tets: Vec<[u32; 4]>) -> Result<Self, TetError> {
        check::check_indices(&vertices, &tets)?;
        check::check_volumes(&vertices, &tets)?;
        check::check_used(vertices.len(), &tets)?;
        Ok(Self {
            vertices,
            tets,
            cubes: Vec::new(),
            notes: Vec::new(),
        })
    }

    /// Builds a mesh after the repairs that `repairs` allows.
    ///
    /// # Errors
    /// Those of [`TetMesh::new`], for the repaired mesh.
    pub fn with_repairs(
        mut vertices: Vec<Vec3>,
        mut tets: Vec<[u32; 4]>,
        repairs: MeshRepairs,
    ) -> Result<Self, TetError> {
        check::check_indices(&vertices, &tets)?;
        if repairs.orient {
            let size = check::body_size(&vertices)?;
            for t in &mut tets {
                if check::classify_orientation(&t.map(|v| vertices[v as usize]), size)
                    == TetOrientation::Inverted
                {
                    t.swap(2, 3);
                }
            }
        }
        if repairs.drop_unused {
            drop_unused(&mut vertices, &mut tets);
        }
        Self::new(vertices, tets)
    }

    /// Returns the positions at rest, m.
    pub fn vertices(&self) -> &[Vec3] {
        &self.vertices
    }

    /// Returns the tetrahedra.
    pub fn tets(&self) -> &[[u32; 4]] {
        &self.tets
    }

    /// Returns the cubes that the tetrahedra were split from (corners `i + 2j + 4k`), six tetrahedra of each
    /// in order; empty for a mesh that was not built from cubes.
    pub fn cubes(&self) -> &[[u32; 8]] {
        &self.cubes
    }

    /// Returns notes on the construction of the mesh, one sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the corner positions of a tetrahedron.
    pub fn corners(&self, tet: usize) -> [Vec3; 4] {
        self.tets[tet].map(|v| self.vertices[v as usize])
    }

    /// Returns the volume, m³.
    pub fn volume(&self) -> f64 {
        (0..self.tets.len()).map(|t| volume(&self.corners(t))).sum()
    }

    /// Returns the size: the diagonal of the bounding box, m.
    pub fn size(&self) -> f64 {
        check::body_size(&self.vertices).unwrap_or_default()
    }

    /// Returns the faces with one tetrahedron only, counter-clockwise seen from outside, in the order of the
    /// tetrahedra.
    pub fn surface_triangles(&self) -> Vec<[u32; 3]> {
        faces::boundary(&self.tets)
    }

    /// Returns the number of pieces that share no vertex.
    pub fn components(&self) -> usize {
        let mut sets = DisjointSets::new(self.vertices.len());
        for t in &self.tets {
            for &v in &t[1..] {
                sets.join(t[0], v);
            }
        }
        sets.set_numbers()
            .into_iter()
            .max()
            .map_or(0, |n| n as usize + 1)
    }

    /// Returns the same cells as a control lattice without bones, which embeds points among the nodes
    /// ([`Lattice::embed`]).
    ///
    /// # Errors
    /// Never for a valid mesh; the lattice checks once more.
    pub fn lattice(&self) -> Result<Lattice, TetError> {
        let cells = self.tets.iter().map(|&t| Cell::Tetrahedron(t)).collect();
        Ok(Lattice::new(self.vertices.clone(), cells)?)
    }

    /// Returns the elements in one material, for energies, stiffness and rotations.
    pub fn elements(&self, material: &Material) -> Elements {
        Elements::tetrahedra(&self.vertices, &self.tets, material)
    }

    /// Returns the mass matrix, kg: one number per pair of nodes, for all three axes.
    pub fn mass_matrix(&self, material: &Material, kind: MassKind) -> ScalarMatrix {
        let consistent = || tetrahedral_mass(&self.vertices, &self.tets, material.density());
        match kind {
            MassKind::Consistent => consistent(),
            MassKind::Lumped => consistent().lump_rows(),
        }
    }
}

/// Drops vertices that no element uses and renumbers the others.
fn drop_unused<const N: usize>(vertices: &mut Vec<Vec3>, elements: &mut [[u32; N]]) {
    let used = check::used_vertices(vertices.len(), elements);
    let mut number = vec![0u32; vertices.len()];
    let of_used = number.iter_mut().zip(&used).filter(|(_, used)| **used);
    for (next, (number, _)) in (0u32..).zip(of_used) {
        *number = next;
    }
    let mut each = used.iter();
    vertices.retain(|_| each.next().copied().unwrap_or(false));
    for v in elements.iter_mut().flatten() {
        *v = number[*v as usize];
    }
}

#[cfg(test)]
mod tests;
