// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pieces of elements on which all functions are linear, for integrals. [capell2002, §3.3, steps 1 and 3]
//!
//! A cell is subdivided and cut into tetrahedra. The values of a function at their corners are repeated means; its
//! gradient is constant on each. Cells of a kind have the same values, which are computed once.

use super::Basis;
use super::details::Details;
use super::values::BasisValues;
use crate::lattice::Cell;
use crate::lattice::cell::{SubTetrahedron, hexahedron_pieces, weighted_position};
use crate::{Mat3, Vec3};
use smallvec::SmallVec;
use std::borrow::Cow;

/// The pieces of all elements after a number of subdivisions of each cell.
#[derive(Debug)]
pub struct Subdivision<'a> {
    basis: &'a Basis,
    pieces: Pieces,
}

/// Pieces of the elements of each kind.
#[derive(Debug)]
enum Pieces {
    /// Values of the functions at the corners of each piece, of tetrahedra, prisms and hexahedra.
    Cells([Vec<[BasisValues; 4]>; 3]),
    /// Values of the nodal functions of a hexahedron at the corners of each of its pieces.
    Hexahedra(Vec<SubTetrahedron>),
}

/// One piece of an element: a tetrahedron on which the element's functions are linear.
#[derive(Debug)]
pub struct CellPiece<'a> {
    /// Corners at rest, m.
    pub corners: [Vec3; 4],
    /// Values of the element's functions at each corner.
    pub values: Cow<'a, [BasisValues; 4]>,
    /// Volume, m³; zero for a flat piece.
    pub volume: f64,
    /// Gradients of the element's functions, 1/m; zero on a flat piece.
    pub gradients: SmallVec<[Vec3; 8]>,
}

impl Basis {
    /// Returns the pieces of all elements after `level` subdivisions of each cell, at least [`levels`](Self::levels).
    pub fn subdivision(&self, level: usize) -> Subdivision<'_> {
        let pieces = match &self.details {
            None => Pieces::Cells(cell_pieces(level)),
            Some(details) => Pieces::Hexahedra(hexahedron_pieces(level - details.levels)),
        };
        Subdivision {
            basis: self,
            pieces,
        }
    }
}

/// Returns the values of a cell's own functions at the corners of each piece, of the three kinds.
fn cell_pieces(level: usize) -> [Vec<[BasisValues; 4]>; 3] {
    let kinds = [
        Cell::Tetrahedron([0; 4]),
        Cell::Prism([0; 6]),
        Cell::Hexahedron([0; 8]),
    ];
    kinds.map(|kind: Cell| {
        let count = kind.corners().len();
        let pieces = kind.subtetrahedra(level).into_iter();
        let at_corner = |shape: [f64; 8]| BasisValues::from_slice(&shape[..count]);
        pieces.map(|corners| corners.map(at_corner)).collect()
    })
}

impl Subdivision<'_> {
    /// Returns the pieces of an element.
    pub fn pieces(&self, element: u32) -> Vec<CellPiece<'_>> {
        let lattice = &self.basis.lattice;
        match (&self.pieces, &self.basis.details) {
            (Pieces::Cells(kinds), _) => {
                let kind = super::kind::kind_index(&lattice.cells()[element as usize]);
                let vertices = lattice.corners(element);
                let values = kinds[kind].iter();
                let piece = |values| CellPiece::of_cell(&vertices, values);
                values.map(piece).collect()
            }
            (Pieces::Hexahedra(pieces), Some(details)) => {
                let vertices = details.corners(lattice, element);
                let piece =
                    |piece| CellPiece::of_element(self.basis, details, element, &vertices, piece);
                pieces.iter().map(piece).collect()
            }
            (Pieces::Hexahedra(_), None) => Vec::new(),
        }
    }
}

impl<'a> CellPiece<'a> {
    /// Builds a piece of a cell with corners at `vertices`, whose functions are the cell's own.
    fn of_cell(vertices: &[Vec3], values: &'a [BasisValues; 4]) -> Self {
        let corners = [0, 1, 2, 3].map(|i: usize| weighted_position(vertices, &values[i]));
        Self::new(corners, Cow::Borrowed(values))
    }

    /// Builds a piece of an element with corners at `vertices`.
    fn of_element(
        basis: &Basis,
        details: &Details,
        element: u32,
        vertices: &[Vec3; 8],
        piece: &SubTetrahedron,
    ) -> Self {
        let (hexahedron, places) = details.hexahedron(&basis.lattice, element);
        let mut values: [BasisValues; 4] = Default::default();
        for &place in places {
            let of = hexahedron.piece_values(place as usize, piece);
            values
                .iter_mut()
                .zip(of)
                .for_each(|(values, x)| values.push(x));
        }
        let corners = piece
            .each_ref()
            .map(|weights| weighted_position(vertices, weights));
        Self::new(corners, Cow::Owned(values))
    }

    fn new(corners: [Vec3; 4], values: Cow<'a, [BasisValues; 4]>) -> Self {
        let [o, a, b, c] = corners;
        let edges = Mat3::from_columns(&[a - o, b - o, c - o]);
        let [o, a, b, c] = &*values;
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
