// SPDX-License-Identifier: MIT OR Apache-2.0
//! Corners of the hexahedra of a subdivided cell, as means of the cell's corners. [capell2002, §3.3, step 1]

use super::{Cell, ShapeValues, SubTetrahedron, corner_shape, cut_hexahedron, split_hexahedron};
use smallvec::SmallVec;

/// Corners of a cell, as local numbers, ascending, whose mean is a corner of a hexahedron of its subdivision.
pub(crate) type MeanCorners = SmallVec<[u8; 8]>;

impl Cell {
    /// Returns the hexahedra of the first subdivision, one around each corner, in the order of
    /// [`subtetrahedra`](Self::subtetrahedra).
    pub(crate) fn subdivision_means(&self) -> Vec<[MeanCorners; 8]> {
        let means = |h: [ShapeValues; 8]| h.map(|shape| positive_entries(&shape));
        self.first_subdivision().into_iter().map(means).collect()
    }
}

/// Returns the eight hexahedra of a hexahedron of a subdivision, in the order of [`Cell::subtetrahedra`]. Corner `i` of
/// hexahedron `o` is the point `(o + i)/2` of the unit cube, with numbers read as bits of coordinates.
pub(crate) fn hexahedron_means() -> Vec<[MeanCorners; 8]> {
    let means = |h: [ShapeValues; 8]| h.map(|shape| positive_entries(&shape));
    let split = split_hexahedron(&std::array::from_fn(corner_shape));
    split.into_iter().map(means).collect()
}

/// Returns the tetrahedra of a hexahedron of a subdivision after `depth` more, in the order of [`Cell::subtetrahedra`].
pub(crate) fn hexahedron_pieces(depth: usize) -> Vec<SubTetrahedron> {
    let mut hexahedra = vec![std::array::from_fn(corner_shape)];
    for _ in 0..depth {
        hexahedra = hexahedra.iter().flat_map(split_hexahedron).collect();
    }
    hexahedra.iter().flat_map(cut_hexahedron).collect()
}

fn positive_entries(shape: &ShapeValues) -> MeanCorners {
    (0..8u8).filter(|&i| shape[i as usize] > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The means and pieces of a subdivided cell, applied one after the other, give its tetrahedra.
    #[test]
    fn means_and_pieces_give_subtetrahedra() {
        let kinds = [
            Cell::Tetrahedron([0; 4]),
            Cell::Prism([0; 6]),
            Cell::Hexahedron([0; 8]),
        ];
        let mean = |points: &[ShapeValues], of: &MeanCorners| -> ShapeValues {
            std::array::from_fn(|k| {
                let sum: f64 = of.iter().map(|&i| points[i as usize][k]).sum();
                sum / of.len() as f64
            })
        };
        for cell in kinds {
            let corners: Vec<ShapeValues> = (0..cell.corners().len()).map(corner_shape).collect();
            let first = cell.subdivision_means();
            let first: Vec<[ShapeValues; 8]> = first
                .iter()
                .map(|h| h.each_ref().map(|m| mean(&corners, m)))
                .collect();
            let split = |h: &[ShapeValues; 8]| -> Vec<[ShapeValues; 8]> {
                let parts = hexahedron_means();
                parts
                    .iter()
                    .map(|p| p.each_ref().map(|m| mean(h, m)))
                    .collect()
            };
            let second: Vec<[ShapeValues; 8]> = first.iter().flat_map(split).collect();
            for (hexahedra, level) in [(&first, 1), (&second, 2)] {
                for depth in 0..2 {
                    let pieces = hexahedron_pieces(depth);
                    let of = |h: &[ShapeValues; 8]| -> Vec<SubTetrahedron> {
                        let at = |w: &ShapeValues| -> ShapeValues {
                            std::array::from_fn(|k| h.iter().zip(w).map(|(h, w)| h[k] * w).sum())
                        };
                        pieces.iter().map(|p| p.each_ref().map(at)).collect()
                    };
                    let found: Vec<SubTetrahedron> = hexahedra.iter().flat_map(of).collect();
                    let whole = cell.subtetrahedra(level + depth);
                    assert_eq!(found.len(), whole.len());
                    let apart = found.iter().flatten().flatten();
                    let apart = apart.zip(whole.iter().flatten().flatten());
                    assert!(apart.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) < 1e-15);
                }
            }
        }
    }
}
