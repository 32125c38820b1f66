// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nodes and tetrahedra of a filled domain.

use super::faces::boundary_with_progress;
use crate::Vec3;
use crate::geometry::tetrahedron::volume;
use crate::progress::{Cancelled, Progress};

/// Marks a missing node.
pub(super) const NO_NODE: u32 = u32::MAX;

/// Nodes relative to the lattice's centre, and tetrahedra.
pub(super) struct StuffedMesh {
    pub nodes: Vec<Vec3>,
    pub tets: Vec<[u32; 4]>,
    /// For each lattice number, the node at the point; [`NO_NODE`] without one.
    pub node_of_point: Vec<u32>,
}

impl StuffedMesh {
    pub fn volume(&self) -> f64 {
        let one = |t: &[u32; 4]| volume(&t.map(|v| self.nodes[v as usize]));
        self.tets.iter().map(one).sum()
    }

    /// Returns the area of the boundary.
    ///
    /// # Errors
    /// [`Cancelled`] if the progress stops it.
    pub fn area(&self, progress: &dyn Progress) -> Result<f64, Cancelled> {
        let one = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| self.nodes[v as usize]);
            (b - a).cross(&(c - a)).norm() / 2.0
        };
        let boundary = boundary_with_progress(&self.tets, progress)?;
        Ok(boundary.iter().map(one).sum())
    }
}
