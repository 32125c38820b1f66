// SPDX-License-Identifier: MIT OR Apache-2.0
//! Detection of inverted cells.

use crate::Vec3;
use crate::lattice::Cell;

/// A corner and its three neighbours, right-handed in a valid cell.
type Frame = [usize; 4];

const TETRAHEDRON: [Frame; 1] = [[0, 1, 2, 3]];
const PRISM: [Frame; 6] = [
    [0, 1, 2, 3],
    [1, 2, 0, 4],
    [2, 0, 1, 5],
    [3, 5, 4, 0],
    [4, 3, 5, 1],
    [5, 4, 3, 2],
];
const HEXAHEDRON: [Frame; 8] = [
    [0, 1, 2, 4],
    [1, 3, 0, 5],
    [2, 0, 3, 6],
    [3, 2, 1, 7],
    [4, 6, 5, 0],
    [5, 4, 7, 1],
    [6, 7, 4, 2],
    [7, 5, 6, 3],
];

/// Returns each corner of a cell with its three neighbours, as corner numbers; right-handed while the cell is
/// valid.
pub(crate) fn corner_frames(cell: &Cell) -> &'static [Frame] {
    match cell {
        Cell::Tetrahedron(_) => &TETRAHEDRON,
        Cell::Prism(_) => &PRISM,
        Cell::Hexahedron(_) => &HEXAHEDRON,
    }
}

/// Returns six times the signed volume of the tetrahedron of a frame with corners at `x`, m³.
pub(crate) fn corner_volume<I>(frame: [I; 4], x: impl Fn(I) -> Vec3) -> f64 {
    let [o, a, b, c] = frame.map(x);
    (a - o).cross(&(b - o)).dot(&(c - o))
}

/// Returns whether a cell with its vertices at `positions` is inverted or flat at one of its corners.
pub(super) fn is_inverted(cell: &Cell, positions: &[Vec3]) -> bool {
    let frames = corner_frames(cell);
    let x = |i: usize| positions[cell.corners()[i] as usize];
    frames.iter().any(|&frame| {
        let signed = corner_volume(frame, x);
        signed.is_nan() || signed <= 0.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrored_and_folded_cells_are_found() {
        let cube: Vec<Vec3> = (0..8)
            .map(|i| Vec3::new((i & 1) as f64, (i >> 1 & 1) as f64, (i >> 2) as f64))
            .collect();
        let cells = [
            Cell::Tetrahedron([0, 1, 2, 4]),
            Cell::Prism([0, 1, 2, 4, 5, 6]),
            Cell::Hexahedron([0, 1, 2, 3, 4, 5, 6, 7]),
        ];
        let mirrored: Vec<Vec3> = cube.iter().map(|p| Vec3::new(-p.x, p.y, p.z)).collect();
        let mut folded = cube.clone();
        folded[5] = Vec3::new(0.2, 0.1, -0.5);
        for cell in &cells {
            assert!(!is_inverted(cell, &cube));
            assert!(is_inverted(cell, &mirrored));
            assert!(is_inverted(cell, &[Vec3::zeros(); 8]));
        }
        assert!(!is_inverted(&cells[0], &folded));
        assert!(is_inverted(&cells[1], &folded));
        assert!(is_inverted(&cells[2], &folded));
    }
}
