// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integrals of all cells in flat arrays, and scalar matrices over the lattice's vertices.

use crate::elasticity::CellIntegrals;
use crate::lattice::{Cell, Lattice};
use crate::{Mat3, Vec3};

/// The integrals of all cells, one after the other.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Blocks {
    corner_starts: Vec<u32>,
    pair_starts: Vec<u32>,
    corners: Vec<u32>,
    stiffness: Vec<Mat3>,
    weight: Vec<f64>,
    volume: Vec<f64>,
    fraction: Vec<f64>,
}

/// One cell of [`Blocks`].
#[derive(Debug, Clone, Copy)]
pub struct CellBlocks<'a> {
    /// Lattice vertices.
    pub corners: &'a [u32],
    /// Stiffness of corner pairs a ≤ b, row by row, N/m.
    pub stiffness: &'a [Mat3],
    /// `∫ ρ φ_a`, kg.
    pub weight: &'a [f64],
    /// Where the first pair lies among all pairs.
    pub first_pair: usize,
}

impl Blocks {
    /// The same blocks of a stiffer material.
    pub(super) fn stiffened(&self, factor: f64) -> Self {
        Self {
            stiffness: self.stiffness.iter().map(|b| b * factor).collect(),
            ..self.clone()
        }
    }

    pub(super) fn new(cells: &[Cell], integrals: &[CellIntegrals]) -> Self {
        let mut all = Self {
            corner_starts: vec![0],
            pair_starts: vec![0],
            corners: Vec::new(),
            stiffness: Vec::new(),
            weight: Vec::new(),
            volume: integrals.iter().map(|c| c.volume).collect(),
            fraction: integrals.iter().map(|c| c.fraction).collect(),
        };
        for (cell, c) in cells.iter().zip(integrals) {
            all.corners.extend(cell.corners());
            all.weight.extend(&c.weight);
            all.stiffness.extend(&c.stiffness);
            all.corner_starts.push(all.corners.len() as u32);
            all.pair_starts.push(all.stiffness.len() as u32);
        }
        all
    }

    /// Whether these are the integrals of such cells: for data that comes from outside.
    pub(super) fn fits(&self, cells: &[Cell]) -> bool {
        let starts_fit = |starts: &[u32], count: fn(usize) -> usize, len: usize| {
            starts.first() == Some(&0)
                && starts.len() == cells.len() + 1
                && starts.last().is_some_and(|&s| s as usize == len)
                && starts.windows(2).zip(cells).all(|(s, cell)| {
                    s[0].checked_add(count(cell.corners().len()) as u32) == Some(s[1])
                })
        };
        starts_fit(&self.corner_starts, |n| n, self.corners.len())
            && starts_fit(&self.pair_starts, |n| n * (n + 1) / 2, self.stiffness.len())
            && self.weight.len() == self.corners.len()
            && self.volume.len() == cells.len()
            && self.fraction.len() == cells.len()
            && cells.iter().flat_map(|c| c.corners()).eq(&self.corners)
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.volume.len()
    }

    /// No cells at all.
    pub fn is_empty(&self) -> bool {
        self.volume.is_empty()
    }

    /// One cell.
    #[inline]
    pub fn cell(&self, c: usize) -> CellBlocks<'_> {
        let corners = self.corner_starts[c] as usize..self.corner_starts[c + 1] as usize;
        let pairs = self.pair_starts[c] as usize..self.pair_starts[c + 1] as usize;
        CellBlocks {
            corners: &self.corners[corners.clone()],
            weight: &self.weight[corners],
            first_pair: pairs.start,
            stiffness: &self.stiffness[pairs],
        }
    }

    /// All cells in order.
    pub fn iter(&self) -> impl Iterator<Item = CellBlocks<'_>> {
        (0..self.len()).map(|c| self.cell(c))
    }

    /// Volume of flesh per cell, m³.
    pub fn volumes(&self) -> &[f64] {
        &self.volume
    }

    /// Share of flesh per cell.
    pub fn fractions(&self) -> &[f64] {
        &self.fraction
    }
}

impl CellBlocks<'_> {
    /// `S z` for one vector per corner.
    #[inline]
    pub fn multiply(&self, z: &[Vec3; 8]) -> [Vec3; 8] {
        let n = self.corners.len();
        let mut y = [Vec3::zeros(); 8];
        let mut pair = 0;
        for a in 0..n {
            y[a] += self.stiffness[pair] * z[a];
            pair += 1;
            for b in a + 1..n {
                let s = &self.stiffness[pair];
                y[a] += s * z[b];
                y[b] += s.tr_mul(&z[a]);
                pair += 1;
            }
        }
        y
    }
}

/// A symmetric matrix over lattice vertices, one number for all three axes; rows sorted, diagonal included.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ScalarMatrix {
    starts: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl ScalarMatrix {
    /// The matrix times a factor.
    pub(super) fn scaled(&self, factor: f64) -> Self {
        Self {
            values: self.values.iter().map(|x| x * factor).collect(),
            ..self.clone()
        }
    }

    /// Zero, with an entry wherever two vertices share a cell.
    pub(super) fn of_lattice(lattice: &Lattice) -> Self {
        let k = lattice.vertices().len();
        let mut entries: Vec<(u32, u32)> = (0..k as u32).map(|i| (i, i)).collect();
        for cell in lattice.cells() {
            for &a in cell.corners() {
                entries.extend(cell.corners().iter().map(|&b| (a, b)));
            }
        }
        entries.sort_unstable();
        entries.dedup();
        let mut starts = vec![0u32; k + 1];
        for e in &entries {
            starts[e.0 as usize + 1] += 1;
        }
        for i in 0..k {
            starts[i + 1] += starts[i];
        }
        Self {
            starts,
            columns: entries.iter().map(|e| e.1).collect(),
            values: vec![0.0; entries.len()],
        }
    }

    /// Whether this is a square matrix of `rows` rows: for data that comes from outside.
    pub(super) fn fits(&self, rows: usize) -> bool {
        self.starts.len() == rows + 1
            && self.starts[0] == 0
            && self.starts.windows(2).all(|s| s[0] <= s[1])
            && self.starts[rows] as usize == self.columns.len()
            && self.values.len() == self.columns.len()
            && self.columns.iter().all(|&c| (c as usize) < rows)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Where a row's entries lie.
    pub fn row_range(&self, row: usize) -> std::ops::Range<usize> {
        self.starts[row] as usize..self.starts[row + 1] as usize
    }

    /// Column of each entry.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Number of each entry.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Where an entry lies; none outside of the pattern.
    pub fn find(&self, row: usize, column: usize) -> Option<usize> {
        let range = self.row_range(row);
        let within = self.columns[range.clone()]
            .binary_search(&(column as u32))
            .ok()?;
        Some(range.start + within)
    }

    pub(super) fn add(&mut self, row: u32, column: u32, value: f64) {
        if let Some(i) = self.find(row as usize, column as usize) {
            self.values[i] += value;
        }
    }

    /// One row times vectors.
    #[inline]
    pub fn row_times(&self, row: usize, x: &[Vec3]) -> Vec3 {
        let mut y = Vec3::zeros();
        for i in self.row_range(row) {
            y += x[self.columns[i] as usize] * self.values[i];
        }
        y
    }

    /// Expanded to three unknowns per vertex (xyz interleaved), with one 3x3 block per entry.
    pub(super) fn expand(&self, block: impl Fn(usize) -> Mat3, diagonal_blocks: bool) -> Csr {
        let mut csr = Csr {
            indptr: vec![0],
            ..Csr::default()
        };
        for row in 0..self.rows() {
            for r in 0..3 {
                for i in self.row_range(row) {
                    let b = block(i);
                    for c in 0..3 {
                        if !diagonal_blocks || r == c {
                            csr.indices.push((3 * self.columns[i] + c as u32) as i32);
                            csr.data.push(b[(r, c)]);
                        }
                    }
                }
                csr.indptr.push(csr.data.len() as i32);
            }
        }
        csr
    }
}

/// A sparse matrix in compressed rows, indices sorted, as `scipy.sparse.csr_matrix` takes it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Csr {
    /// Numbers.
    pub data: Vec<f64>,
    /// Columns.
    pub indices: Vec<i32>,
    /// Row starts, one more than there are rows.
    pub indptr: Vec<i32>,
}
