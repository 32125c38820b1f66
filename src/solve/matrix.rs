// SPDX-License-Identifier: MIT OR Apache-2.0
//! Symmetric sparse matrices over nodes: one number per pair of nodes (mass), or one 3x3 block (stiffness).

use crate::{Mat3, Vec3};

/// A symmetric matrix over nodes, one number for all three axes; rows sorted, diagonal included.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ScalarMatrix {
    starts: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl ScalarMatrix {
    /// The matrix times a factor.
    pub(crate) fn scaled(&self, factor: f64) -> Self {
        Self {
            values: self.values.iter().map(|x| x * factor).collect(),
            ..self.clone()
        }
    }

    /// Zero, with an entry wherever two nodes share an element.
    pub fn zero<'a>(nodes: usize, elements: impl IntoIterator<Item = &'a [u32]>) -> Self {
        let (starts, columns) = pattern(nodes, elements);
        Self {
            values: vec![0.0; columns.len()],
            starts,
            columns,
        }
    }

    /// The rows and columns of `kept` nodes, renumbered in that order (ascending).
    pub fn restricted(&self, kept: &[u32]) -> Self {
        let (starts, columns, entries) = restriction(&self.starts, &self.columns, kept);
        Self {
            starts,
            columns,
            values: entries.iter().map(|&e| self.values[e]).collect(),
        }
    }

    /// Whether this is a square matrix of `rows` rows: for data that comes from outside.
    pub(crate) fn fits(&self, rows: usize) -> bool {
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
        find(&self.starts, &self.columns, row, column)
    }

    /// The entry on the diagonal of a row.
    pub fn diagonal(&self, row: usize) -> f64 {
        self.find(row, row).map_or(0.0, |i| self.values[i])
    }

    /// The diagonal matrix of the row sums.
    pub fn lumped(&self) -> Self {
        let rows = self.rows();
        let sum = |row| self.row_range(row).map(|i| self.values[i]).sum();
        Self {
            starts: (0..=rows as u32).collect(),
            columns: (0..rows as u32).collect(),
            values: (0..rows).map(sum).collect(),
        }
    }

    /// Adds to an entry of the pattern.
    pub fn add(&mut self, row: u32, column: u32, value: f64) {
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
    pub(crate) fn expand(&self, block: impl Fn(usize) -> Mat3, diagonal_blocks: bool) -> Csr {
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

/// A symmetric matrix over nodes with a 3x3 block per entry; both triangles, rows sorted, diagonal included.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockMatrix {
    starts: Vec<u32>,
    columns: Vec<u32>,
    blocks: Vec<Mat3>,
}

impl BlockMatrix {
    /// Zero, with a block wherever two nodes share an element.
    pub fn zero<'a>(nodes: usize, elements: impl IntoIterator<Item = &'a [u32]>) -> Self {
        let (starts, columns) = pattern(nodes, elements);
        Self {
            blocks: vec![Mat3::zeros(); columns.len()],
            starts,
            columns,
        }
    }

    /// Zero, with the pattern of another matrix.
    pub fn like(other: &ScalarMatrix) -> Self {
        Self {
            starts: other.starts.clone(),
            columns: other.columns.clone(),
            blocks: vec![Mat3::zeros(); other.columns.len()],
        }
    }

    /// The rows and columns of `kept` nodes, renumbered in that order (ascending).
    pub fn restricted(&self, kept: &[u32]) -> Self {
        let (starts, columns, entries) = restriction(&self.starts, &self.columns, kept);
        Self {
            starts,
            columns,
            blocks: entries.iter().map(|&e| self.blocks[e]).collect(),
        }
    }

    /// Number of rows of blocks.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Where a row's blocks lie.
    pub fn row_range(&self, row: usize) -> std::ops::Range<usize> {
        self.starts[row] as usize..self.starts[row + 1] as usize
    }

    /// Column of each block.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// All blocks, row by row.
    pub fn blocks(&self) -> &[Mat3] {
        &self.blocks
    }

    /// All blocks, to be changed; the matrix must stay symmetric.
    pub fn blocks_mut(&mut self) -> &mut [Mat3] {
        &mut self.blocks
    }

    /// Where a block lies; none outside of the pattern.
    pub fn find(&self, row: usize, column: usize) -> Option<usize> {
        find(&self.starts, &self.columns, row, column)
    }

    /// Adds a block and, off the diagonal, its transpose at the mirrored place.
    pub fn add_pair(&mut self, row: u32, column: u32, block: &Mat3) {
        if let Some(i) = self.find(row as usize, column as usize) {
            self.blocks[i] += block;
        }
        if let (true, Some(i)) = (row != column, self.find(column as usize, row as usize)) {
            self.blocks[i] += block.transpose();
        }
    }

    /// The matrix times one vector per node.
    pub fn times(&self, x: &[Vec3], y: &mut [Vec3]) {
        for (row, y) in y.iter_mut().enumerate() {
            *y = Vec3::zeros();
            for i in self.row_range(row) {
                *y += self.blocks[i] * x[self.columns[i] as usize];
            }
        }
    }

    /// Expanded to three unknowns per node, xyz interleaved.
    pub fn expand(&self) -> Csr {
        let scalar = ScalarMatrix {
            starts: self.starts.clone(),
            columns: self.columns.clone(),
            values: Vec::new(),
        };
        scalar.expand(|i| self.blocks[i], false)
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

/// Sorted rows of all pairs of nodes that share an element, each node with itself.
fn pattern<'a>(
    nodes: usize,
    elements: impl IntoIterator<Item = &'a [u32]>,
) -> (Vec<u32>, Vec<u32>) {
    // Row and column in one number sort faster than a pair.
    let key = |row: u32, column: u32| u64::from(row) << 32 | u64::from(column);
    let mut entries: Vec<u64> = (0..nodes as u32).map(|i| key(i, i)).collect();
    for corners in elements {
        for &a in corners {
            entries.extend(corners.iter().map(|&b| key(a, b)));
        }
    }
    entries.sort_unstable();
    entries.dedup();
    let mut starts = vec![0u32; nodes + 1];
    for e in &entries {
        starts[(e >> 32) as usize + 1] += 1;
    }
    for i in 0..nodes {
        starts[i + 1] += starts[i];
    }
    (starts, entries.iter().map(|&e| e as u32).collect())
}

/// Starts and columns of the kept rows and columns, and where each entry came from.
fn restriction(starts: &[u32], columns: &[u32], kept: &[u32]) -> (Vec<u32>, Vec<u32>, Vec<usize>) {
    const GONE: u32 = u32::MAX;
    let mut number = vec![GONE; starts.len() - 1];
    for (i, &v) in kept.iter().enumerate() {
        number[v as usize] = i as u32;
    }
    let (mut new_starts, mut new_columns, mut entries) = (vec![0u32], Vec::new(), Vec::new());
    for &v in kept {
        for i in starts[v as usize] as usize..starts[v as usize + 1] as usize {
            let to = number[columns[i] as usize];
            if to != GONE {
                new_columns.push(to);
                entries.push(i);
            }
        }
        new_starts.push(new_columns.len() as u32);
    }
    (new_starts, new_columns, entries)
}

fn find(starts: &[u32], columns: &[u32], row: usize, column: usize) -> Option<usize> {
    let range = starts[row] as usize..starts[row + 1] as usize;
    let within = columns[range.clone()]
        .binary_search(&(column as u32))
        .ok()?;
    Some(range.start + within)
}
