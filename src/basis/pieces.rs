// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pieces of cells on which all functions are linear, for integrals. [capell2002, §3.3, steps 1 and 3]
//!
//! A cell is subdivided and cut into tetrahedra. The values of a function at their corners are repeated means; its
//! gradient is constant on each. Cells of a kind have the same values, which are computed once.

use super::{Basis, BasisValues};
use crate::lattice::Cell;
use crate::lattice::cell::weighted_position;
use crate::{Mat3, Vec3};
use smallvec::SmallVec;

/// The pieces of all cells after a number of subdivisions.
#[derive(Debug)]
pub struct Subdivision<'a> {
    basis: &'a Basis,
    /// Values of the functions at the corners of each piece, of tetrahedra, prisms and hexahedra.
    kinds: [Vec<[BasisValues; 4]>; 3],
}

/// One piece of a cell: a tetrahedron on which the cell's functions are linear.
#[derive(Debug)]
pub struct CellPiece<'a> {
    /// Corners at rest, m.
    pub corners: [Vec3; 4],
    /// Values of the cell's functions at each corner.
    pub values: &'a [BasisValues; 4],
    /// Volume, m³; zero for a flat piece.
    pub volume: f64,
    /// Gradients of the cell's functions, 1/m; zero on a flat piece.
    pub gradients: SmallVec<[Vec3; 8]>,
}

impl Basis {
    /// Returns the pieces of all cells after `level` subdivisions of each.
    pub fn subdivision(&self, level: usize) -> Subdivision<'_> {
        let kinds = [
            Cell::Tetrahedron([0; 4]),
            Cell::Prism([0; 6]),
            Cell::Hexahedron([0; 8]),
        ];
        let values = |kind: Cell| {
            let count = kind.corners().len();
            let pieces = kind.subtetrahedra(level).into_iter();
            let at_corner = |shape: [f64; 8]| BasisValues::from_slice(&shape[..count]);
            pieces.map(|corners| corners.map(at_corner)).collect()
        };
        Subdivision {
            basis: self,
            kinds: kinds.map(values),
        }
    }
}

impl Subdivision<'_> {
    /// Returns the pieces of a cell.
    pub fn pieces(&self, cell: u32) -> impl ExactSizeIterator<Item = CellPiece<'_>> {
        let kind = match self.basis.lattice.cells()[cell as usize] {
            Cell::Tetrahedron(_) => 0,
            Cell::Prism(_) => 1,
            Cell::Hexahedron(_) => 2,
        };
        let vertices = self.basis.lattice.corners(cell);
        let values = self.kinds[kind].iter();
        values.map(move |values| CellPiece::new(&vertices, values))
    }
}

impl<'a> CellPiece<'a> {
    /// Builds a piece of a cell with corners at `vertices`, whose functions come first.
    fn new(vertices: &[Vec3], values: &'a [BasisValues; 4]) -> Self {
        let corners = [0, 1, 2, 3].map(|i: usize| weighted_position(vertices, &values[i]));
        let [o, a, b, c] = corners;
        let edges = Mat3::from_columns(&[a - o, b - o, c - o]);
        let [o, a, b, c] = values;
        let (volume, gradients) = match edges.try_inverse() {
            Some(inverse) => {
                let turned = inverse.transpose();
                let gradient = |i: usize| turned * Vec3::new(a[i] - o[i], b[i] - o[i], c[i] - o[i]);
                let volume = edges.determinant().abs() / 6.0;
                (volume, (0..o.len()).map(gradient).collect())
            }
            None => (0.0, SmallVec::from_elem(Vec3::zeros(), o.len())),
        };
        Self {
            corners,
            values,
            volume,
            gradients,
        }
    }
}
