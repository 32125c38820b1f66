// SPDX-License-Identifier: MIT OR Apache-2.0
//! Matrices over a lattice's vertices, added cell by cell.

use crate::lattice::Lattice;
use crate::solve::matrix::zeros;
use crate::solve::{NodeMatrix, ScalarMatrix};

/// Returns a zero matrix with an entry wherever two lattice vertices share a cell.
pub(super) fn of_lattice(lattice: &Lattice) -> ScalarMatrix {
    let cells = lattice.cells().iter().map(|c| c.corners());
    zeros(lattice.vertices().len(), cells)
}

/// Adds a symmetric matrix over a cell's corners, stored as pairs a ≤ b.
pub(super) fn add_pairs(matrix: &mut ScalarMatrix, corners: &[u32], pairs: &[f64]) {
    let mut pair = 0;
    for (i, &a) in corners.iter().enumerate() {
        for &b in &corners[i..] {
            matrix.add_pair(a, b, &pairs[pair]);
            pair += 1;
        }
    }
}
