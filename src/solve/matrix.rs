// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sparse matrices over nodes, as [sprs](sprs::CsMatI) matrices in compressed rows: one number per pair of nodes (mass), or
//! one 3x3 block (stiffness).
//!
//! Matrices of the flesh are square and symmetric. Both triangles are stored, and each node has a diagonal entry. Structure,
//! entries (`indices`, `data`, `get`), maps and permutations are sprs's own. [`NodeMatrix`] adds assembly from elements and
//! products with vectors of three numbers per node.
//!
//! ```
//! use thew::Vec3;
//! use thew::solve::{NodeMatrix, ScalarMatrix, matrix};
//!
//! // Two springs in a row: node 1 shares one with either neighbour.
//! let mut springs: ScalarMatrix = matrix::zeros(3, [&[0, 1][..], &[1, 2]]);
//! for (a, b) in [(0, 1), (1, 2)] {
//!     for (row, column, k) in [(a, a, 5.0), (b, b, 5.0), (a, b, -5.0)] {
//!         springs.add_pair(row, column, &k);
//!     }
//! }
//! assert_eq!((springs.nnz(), springs.get(0, 2)), (7, None));
//! assert_eq!(springs.row_times(1, &[Vec3::zeros(), Vec3::x(), Vec3::x()]), Vec3::x() * 5.0);
//! ```

#[cfg(test)]
mod tests;

use crate::range::is_sound;
use crate::{Mat3, Vec3};
use sprs::CsMatI;
use std::ops::{AddAssign, Mul, Range};

/// One number per pair of nodes, for all three axes.
pub type ScalarMatrix = CsMatI<f64, u32>;

/// One 3x3 block per pair of nodes.
pub type BlockMatrix = CsMatI<Mat3, u32>;

/// An entry of a matrix over nodes: a linear map of the three axes.
pub trait MatrixEntry: Copy + Default + AddAssign + Mul<Vec3, Output = Vec3> {
    /// Whether the entry acts on each axis separately, so that only the diagonal of its 3x3 block is stored.
    const IS_DIAGONAL: bool;

    /// Returns an element of its 3x3 block.
    fn component(&self, row: usize, column: usize) -> f64;

    /// Returns its transpose.
    fn transpose_block(&self) -> Self;
}

impl MatrixEntry for f64 {
    const IS_DIAGONAL: bool = true;

    fn component(&self, row: usize, column: usize) -> f64 {
        if row == column { *self } else { 0.0 }
    }

    fn transpose_block(&self) -> Self {
        *self
    }
}

impl MatrixEntry for Mat3 {
    const IS_DIAGONAL: bool = false;

    fn component(&self, row: usize, column: usize) -> f64 {
        self[(row, column)]
    }

    fn transpose_block(&self) -> Self {
        self.transpose()
    }
}

/// Operations on matrices over nodes that sprs lacks.
///
/// For matrices that own their arrays, in compressed rows whose first row starts at entry 0: all that this crate builds.
/// Products have a fixed order of summation, by ascending column, so that the same input gives the same bits.
pub trait NodeMatrix<T: MatrixEntry>: Sized {
    /// Returns the range of a row's entries in `indices` and `data`.
    fn row_range(&self, row: usize) -> Range<usize>;

    /// Calls `visit` with the row and column of each entry.
    fn visit_pairs(&self, visit: &mut dyn FnMut(usize, usize));

    /// Adds to an entry; does nothing outside of the structure.
    fn add(&mut self, row: u32, column: u32, value: T);

    /// Adds an entry and, off the diagonal, its transpose at the mirrored entry.
    fn add_pair(&mut self, row: u32, column: u32, value: &T);

    /// Multiplies one row by one vector per node.
    fn row_times(&self, row: usize, x: &[Vec3]) -> Vec3;

    /// Computes `y = A x`, one vector per node.
    fn times(&self, x: &[Vec3], y: &mut [Vec3]);

    /// Returns the sum of a row.
    fn row_sum(&self, row: usize) -> T;

    /// Returns the diagonal matrix of the row sums.
    fn lump_rows(&self) -> Self;

    /// Returns the rows and columns of the `kept` nodes (ascending), renumbered in that order.
    fn restrict_to(&self, kept: &[u32]) -> Self;

    /// Expands to a matrix of plain numbers with three unknowns per node, xyz interleaved.
    fn expand(&self) -> CsMatI<f64, u32>;
}

impl<T: MatrixEntry> NodeMatrix<T> for CsMatI<T, u32> {
    #[inline]
    fn row_range(&self, row: usize) -> Range<usize> {
        // Reads the plain array: sprs's accessor for slices of matrices also looks up their start.
        let starts = self.indptr();
        let starts = starts.raw_storage();
        starts[row] as usize..starts[row + 1] as usize
    }

    fn visit_pairs(&self, visit: &mut dyn FnMut(usize, usize)) {
        for row in 0..self.rows() {
            for i in self.row_range(row) {
                visit(row, self.indices()[i] as usize);
            }
        }
    }

    fn add(&mut self, row: u32, column: u32, value: T) {
        if let Some(entry) = self.get_mut(row as usize, column as usize) {
            *entry += value;
        }
    }

    fn add_pair(&mut self, row: u32, column: u32, value: &T) {
        self.add(row, column, *value);
        if row != column {
            self.add(column, row, value.transpose_block());
        }
    }

    #[inline]
    fn row_times(&self, row: usize, x: &[Vec3]) -> Vec3 {
        let range = self.row_range(row);
        let entries = self.indices()[range.clone()]
            .iter()
            .zip(&self.data()[range]);
        let mut y = Vec3::zeros();
        for (&column, &entry) in entries {
            y += entry * x[column as usize];
        }
        y
    }

    fn times(&self, x: &[Vec3], y: &mut [Vec3]) {
        for (row, y) in y.iter_mut().enumerate() {
            *y = self.row_times(row, x);
        }
    }

    fn row_sum(&self, row: usize) -> T {
        let mut sum = T::default();
        for &entry in &self.data()[self.row_range(row)] {
            sum += entry;
        }
        sum
    }

    fn lump_rows(&self) -> Self {
        let rows = self.rows();
        Self::new(
            self.shape(),
            (0..=rows as u32).collect(),
            (0..rows as u32).collect(),
            (0..rows).map(|row| self.row_sum(row)).collect(),
        )
    }

    fn restrict_to(&self, kept: &[u32]) -> Self {
        const REMOVED_NODE: u32 = u32::MAX;
        let mut number = vec![REMOVED_NODE; self.rows()];
        for (i, &v) in kept.iter().enumerate() {
            number[v as usize] = i as u32;
        }
        let (mut starts, mut columns, mut entries) = (vec![0u32], Vec::new(), Vec::new());
        for &v in kept {
            for i in self.row_range(v as usize) {
                let to = number[self.indices()[i] as usize];
                if to != REMOVED_NODE {
                    columns.push(to);
                    entries.push(self.data()[i]);
                }
            }
            starts.push(columns.len() as u32);
        }
        Self::new((kept.len(), kept.len()), starts, columns, entries)
    }

    fn expand(&self) -> CsMatI<f64, u32> {
        let count = if T::IS_DIAGONAL { 3 } else { 9 } * self.nnz();
        let (mut columns, mut data) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut starts = vec![0u32];
        for row in 0..self.rows() {
            for r in 0..3 {
                for i in self.row_range(row) {
                    let (column, entry) = (self.indices()[i], &self.data()[i]);
                    for c in 0..3 {
                        if !T::IS_DIAGONAL || r == c {
                            columns.push(3 * column + c as u32);
                            data.push(entry.component(r, c));
                        }
                    }
                }
                starts.push(data.len() as u32);
            }
        }
        CsMatI::new((3 * self.rows(), 3 * self.cols()), starts, columns, data)
    }
}

/// Creates a zero matrix with an entry for every two nodes that share an element.
pub fn zeros<'a, T: MatrixEntry>(
    nodes: usize,
    elements: impl IntoIterator<Item = &'a [u32]>,
) -> CsMatI<T, u32> {
    // Collects all columns of each row, the diagonal first. Many short sorts are quicker than a long one.
    let elements: Vec<&[u32]> = elements.into_iter().collect();
    let mut ends = vec![1; nodes];
    for corners in &elements {
        corners
            .iter()
            .for_each(|&a| ends[a as usize] += corners.len());
    }
    let mut begin = 0;
    for end in &mut ends {
        begin += std::mem::replace(end, begin);
    }
    let mut given = vec![0; begin];
    for (row, end) in ends.iter_mut().enumerate() {
        given[*end] = row as u32;
        *end += 1;
    }
    for corners in &elements {
        for &a in *corners {
            let end = &mut ends[a as usize];
            given[*end..*end + corners.len()].copy_from_slice(corners);
            *end += corners.len();
        }
    }
    let mut starts = Vec::with_capacity(nodes + 1);
    starts.push(0u32);
    let mut columns = Vec::with_capacity(given.len());
    let mut begin = 0;
    for end in ends {
        let row = &mut given[begin..end];
        row.sort_unstable();
        let mut last = None;
        columns.extend(
            row.iter()
                .filter(|&&column| last.replace(column) != Some(column)),
        );
        starts.push(columns.len() as u32);
        begin = end;
    }
    columns.shrink_to_fit();
    let data = vec![T::default(); columns.len()];
    CsMatI::new((nodes, nodes), starts, columns, data)
}

/// A [`ScalarMatrix`] as plain arrays, for files.
#[derive(Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct StoredMatrix {
    starts: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl From<&ScalarMatrix> for StoredMatrix {
    fn from(matrix: &ScalarMatrix) -> Self {
        let (starts, columns, values) = matrix.clone().into_raw_storage();
        Self {
            starts,
            columns,
            values,
        }
    }
}

impl StoredMatrix {
    /// Restores the matrix; `None` where this is not a square matrix of `rows` rows, or where values are out of range.
    pub fn into_matrix(self, rows: usize) -> Option<ScalarMatrix> {
        let sound = self.starts.first() == Some(&0) && self.values.iter().all(|&x| is_sound(x));
        if !sound {
            return None;
        }
        ScalarMatrix::try_new((rows, rows), self.starts, self.columns, self.values).ok()
    }
}
