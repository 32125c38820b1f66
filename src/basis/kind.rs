// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions of all levels on one cell of each kind: which of them live on each hexahedron of K_J, and their values there.
//!
//! A function that is new at level j is one at its vertex, zero at the others of K_j, and follows by means at finer levels.
//! On a hexahedron of K_J each function is the trilinear interpolation of its values at the corners.

use super::complex::Complex;
use crate::Vec3;
use crate::lattice::Cell;
use crate::lattice::cell::{ShapeValues, SubTetrahedron, hexahedron_pieces};
use std::sync::{Arc, OnceLock};

/// Largest number of levels.
pub const MAX_LEVELS: usize = 3;

/// Memory of the integrals of one element, per pair of its functions and per function of a piece, bytes: a block of stiffness, a mass and
/// a slot in the matrix; a gradient. Each is held twice while a body is built.
const PAIR_BYTES: u64 = 2 * (72 + 8 + 16);
const GRADIENT_BYTES: u64 = 2 * 24;

/// Cells of one kind, subdivided.
#[derive(Debug)]
pub(super) struct CellKind {
    cell: Cell,
    levels: usize,
    /// Number of vertices of K_J in the cell.
    pub vertices: usize,
    /// Values of the level-0 functions at each vertex.
    pub shapes: Vec<ShapeValues>,
    pub hexahedra: Vec<KindHexahedron>,
    /// Corners of the hexahedra of K_1 in local coordinates.
    coarse: Vec<[Vec3; 8]>,
}

/// A hexahedron of K_J in a cell of one kind.
#[derive(Debug)]
pub(super) struct KindHexahedron {
    /// Its corners, as vertices of K_J in the cell.
    pub corners: [u16; 8],
    /// Vertices of the functions that live on it, ascending: the cell's own corners first, then level by level.
    pub functions: Vec<u16>,
    /// Values of each function at its corners.
    pub values: Vec<ShapeValues>,
}

/// Returns the three kinds at a number of levels, at least one: tetrahedra, prisms, hexahedra.
pub(super) fn cell_kinds(levels: usize) -> &'static Arc<[CellKind; 3]> {
    static KINDS: [OnceLock<Arc<[CellKind; 3]>>; MAX_LEVELS] =
        [const { OnceLock::new() }; MAX_LEVELS];
    KINDS[levels - 1].get_or_init(|| {
        let of = |cell| CellKind::new(cell, levels);
        Arc::new([
            of(Cell::Tetrahedron([0, 1, 2, 3])),
            of(Cell::Prism([0, 1, 2, 3, 4, 5])),
            of(Cell::Hexahedron([0, 1, 2, 3, 4, 5, 6, 7])),
        ])
    })
}

/// Returns the index of a cell's kind.
pub(super) fn kind_index(cell: &Cell) -> usize {
    match cell {
        Cell::Tetrahedron(_) => 0,
        Cell::Prism(_) => 1,
        Cell::Hexahedron(_) => 2,
    }
}

impl CellKind {
    fn new(cell: Cell, levels: usize) -> Self {
        let corners = cell.corners().len();
        let complex = Complex::new(&[cell], corners, levels);
        let nodal: Vec<Vec<f64>> = (0..complex.len())
            .map(|v| nodal_values(&complex, v))
            .collect();
        let shape = |v: usize| std::array::from_fn(|a| if a < corners { nodal[a][v] } else { 0.0 });
        let shapes: Vec<ShapeValues> = (0..complex.len()).map(shape).collect();
        let hexahedron = |corners: &[u32; 8]| {
            let values = |v: usize| corners.map(|c| nodal[v][c as usize]);
            let lives = |&v: &usize| values(v).iter().any(|&x| x != 0.0);
            let functions: Vec<usize> = (0..complex.len()).filter(lives).collect();
            KindHexahedron {
                corners: corners.map(|c| c as u16),
                values: functions.iter().map(|&v| values(v)).collect(),
                functions: functions.into_iter().map(|v| v as u16).collect(),
            }
        };
        let coarse = Complex::new(&[cell], corners, 1);
        let local = |&v: &u32| local_position(&cell, &shapes[v as usize]);
        Self {
            cell,
            levels,
            vertices: complex.len(),
            hexahedra: complex.hexahedra.iter().map(hexahedron).collect(),
            coarse: coarse
                .hexahedra
                .iter()
                .map(|h| h.each_ref().map(local))
                .collect(),
            shapes,
        }
    }

    /// Returns the hexahedron of K_J that holds local coordinates of the cell: the first in order of those that share a face.
    pub fn hexahedron_at(&self, l: Vec3) -> usize {
        let shape = self.cell.shape_values(l);
        // The hexahedron of K_1 around a corner is where the corner's function is the largest.
        let mut first = 0;
        for (i, &value) in shape[..self.coarse.len()].iter().enumerate() {
            if value > shape[first] {
                first = i;
            }
        }
        let mut place = self.place_in_coarse(first, l);
        let mut hexahedron = first;
        for _ in 1..self.levels {
            let bit = |k: usize| usize::from(place[k] > 0.5);
            let octant = bit(0) + 2 * bit(1) + 4 * bit(2);
            place = halve(place, octant);
            hexahedron = 8 * hexahedron + octant;
        }
        hexahedron
    }

    /// Returns the unit cube's coordinates, in a hexahedron of K_J, of local coordinates of the cell.
    pub fn place_in(&self, hexahedron: usize, l: Vec3) -> Vec3 {
        let finer = 3 * (self.levels - 1);
        let mut place = self.place_in_coarse(hexahedron >> finer, l);
        for level in (0..self.levels - 1).rev() {
            place = halve(place, hexahedron >> (3 * level) & 7);
        }
        place
    }

    /// Returns the memory that the integrals of a cell need after `depth` further subdivisions, with all functions, bytes.
    pub fn integral_bytes(&self, depth: usize) -> u64 {
        let pieces = hexahedron_pieces(depth).len() as u64;
        let of = |hexahedron: &KindHexahedron| {
            let n = hexahedron.functions.len() as u64;
            n * (n + 1) / 2 * PAIR_BYTES + pieces * n * GRADIENT_BYTES
        };
        self.hexahedra.iter().map(of).sum()
    }

    fn place_in_coarse(&self, hexahedron: usize, l: Vec3) -> Vec3 {
        let unit = Cell::Hexahedron([0; 8]);
        let found = unit.local_coordinates(&self.coarse[hexahedron], l);
        unit.clamp(found.unwrap_or_else(|| Vec3::repeat(0.5)))
    }
}

impl KindHexahedron {
    /// Returns the value of a function, by its index in `functions`, where the corners have some weights.
    pub fn value(&self, function: usize, weights: &ShapeValues) -> f64 {
        let corners = self.values[function].iter().zip(weights);
        corners.map(|(value, weight)| value * weight).sum()
    }

    /// Returns the corners of a piece of the hexahedron at which each function's values are taken.
    pub fn piece_values(&self, function: usize, piece: &SubTetrahedron) -> [f64; 4] {
        piece
            .each_ref()
            .map(|weights| self.value(function, weights))
    }
}

/// Returns the coordinates in an octant of the unit cube, kept within it.
fn halve(place: Vec3, octant: usize) -> Vec3 {
    Vec3::from_fn(|k, _| (2.0 * place[k] - (octant >> k & 1) as f64).clamp(0.0, 1.0))
}

/// Returns the values at all vertices of the function that is new at a vertex.
fn nodal_values(complex: &Complex, vertex: usize) -> Vec<f64> {
    let level = complex.level(vertex);
    let mut values = vec![0.0; complex.counts[level] as usize];
    values[vertex] = 1.0;
    for v in values.len()..complex.len() {
        let parents = complex.parents(v);
        let sum: f64 = parents.iter().map(|&p| values[p as usize]).sum();
        values.push(sum / parents.len() as f64);
    }
    values
}

/// Returns the local coordinates of a cell at which its corner functions have some values.
fn local_position(cell: &Cell, shape: &ShapeValues) -> Vec3 {
    let sum = |corners: &[usize]| corners.iter().map(|&i| shape[i]).sum();
    match cell {
        Cell::Tetrahedron(_) => Vec3::new(shape[1], shape[2], shape[3]),
        Cell::Prism(_) => Vec3::new(sum(&[1, 4]), sum(&[2, 5]), sum(&[3, 4, 5])),
        Cell::Hexahedron(_) => {
            Vec3::new(sum(&[1, 3, 5, 7]), sum(&[2, 3, 6, 7]), sum(&[4, 5, 6, 7]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::shapes::Random;

    /// A point has one place in the hexahedron that holds it, and the level-0 functions have their values there.
    #[test]
    fn places_reproduce_cell_functions() {
        let mut random = Random(3);
        let unit = Cell::Hexahedron([0; 8]);
        for levels in 1..=MAX_LEVELS {
            for kind in cell_kinds(levels).iter() {
                for _ in 0..200 {
                    let l = kind
                        .cell
                        .clamp(Vec3::from_fn(|_, _| 1.2 * random.next() - 0.1));
                    let hexahedron = kind.hexahedron_at(l);
                    let weights = unit.shape_values(kind.place_in(hexahedron, l));
                    let wanted = kind.cell.shape_values(l);
                    for (a, wanted) in wanted[..kind.cell.corners().len()].iter().enumerate() {
                        let found = kind.hexahedra[hexahedron].value(a, &weights);
                        assert!(
                            (found - wanted).abs() < 1e-12,
                            "{levels} {a} {found} {wanted}"
                        );
                    }
                }
            }
        }
    }

    /// On each hexahedron live the cell's own functions and at most seven of each further level.
    #[test]
    fn seven_functions_of_each_level_live_on_a_hexahedron() {
        for levels in 1..=MAX_LEVELS {
            for kind in cell_kinds(levels).iter() {
                let corners = kind.cell.corners().len();
                for hexahedron in &kind.hexahedra {
                    assert_eq!(hexahedron.functions.len(), corners + 7 * levels);
                    assert!(hexahedron.functions.is_sorted());
                    let first = hexahedron.functions[..corners].iter();
                    assert!(first.copied().eq(0..corners as u16));
                }
            }
        }
    }
}
