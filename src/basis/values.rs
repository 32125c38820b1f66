// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of functions at points, and shares of flesh in the pieces of cells.

use smallvec::SmallVec;

/// Functions at a point, each with its value there.
pub type BasisRow = SmallVec<[(u32, f64); 8]>;

/// Values at a point of the functions of a cell, in the cell's order.
pub type BasisValues = SmallVec<[f64; 8]>;

/// Shares of flesh in the pieces of all cells after a number of subdivisions.
#[derive(Debug, Clone, PartialEq)]
pub struct FleshShares {
    /// Subdivisions of each cell.
    pub level: usize,
    /// Shares, 0 to 1, of the pieces of each cell, in the order of [`Cell::subtetrahedra`](crate::lattice::Cell::subtetrahedra).
    pub cells: Vec<Vec<f64>>,
}
