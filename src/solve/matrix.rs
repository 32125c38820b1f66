// SPDX-License-Identifier: MIT OR Apache-2.0
//! Symmetric sparse matrices over nodes: one number per pair of nodes (mass), or one 3x3 block (stiffness).

use crate::range::is_sound;
use crate::{Mat3, Vec3};

/// A symmetric matrix over nodes; both triangles, rows sorted, diagonal included.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct NodeMatrix<T> {
    starts: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<T>,
}

/// One number per pair of nodes, for all three axes.
pub type ScalarMatrix = NodeMatrix<f64>;

/// One 3x3 block per pair of nodes.
pub type BlockMatrix = NodeMatrix<Mat3>;

impl<T: Copy> NodeMatrix<T> {
    fn filled<'a>(nodes: usize, elements: impl IntoIterator<Item = &'a [u32]>, zero: T) -> Self {
        let (starts, columns) = pattern(nodes, elements);
        Self {
            values: vec![zero; columns.len()],
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

    /// Where an entry lies; none outside of the pattern.
    pub fn find(&self, row: usize, column: usize) -> Option<usize> {
        let range = self.row_range(row);
        let within = self.columns[range.clone()]
            .binary_search(&(column as u32))
            .ok()?;
        Some(range.start + within)
    }

    /// Gives row and column of each entry.
    pub fn visit_pairs(&self, visit: &mut dyn FnMut(usize, usize)) {
        for row in 0..self.rows() {
            for i in self.row_range(row) {
                visit(row, self.columns[i] as usize);
            }
        }
    }

    /// Expanded to three unknowns per node (xyz interleaved), with one 3x3 block per entry.
    fn expanded(&self, block: impl Fn(usize) -> Mat3, diagonal_blocks: bool) -> Csr {
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

impl ScalarMatrix {
    /// Zero, with an entry wherever two nodes share an element.
    pub fn zero<'a>(nodes: usize, elements: impl IntoIterator<Item = &'a [u32]>) -> Self {
        Self::filled(nodes, elements, 0.0)
    }

    /// The matrix times a factor.
    pub(crate) fn scaled(&self, factor: f64) -> Self {
        Self {
            values: self.values.iter().map(|x| x * factor).collect(),
            ..self.clone()
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
            && self.values.iter().all(|&x| is_sound(x))
    }

    /// Number of each entry.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The entry on the diagonal of a row.
    pub fn diagonal(&self, row: usize) -> f64 {
        self.find(row, row).map_or(0.0, |i| self.values[i])
    }

    /// The sum of a row.
    pub fn row_sum(&self, row: usize) -> f64 {
        self.values[self.row_range(row)].iter().sum()
    }

    /// The diagonal matrix of the row sums.
    pub fn lumped(&self) -> Self {
        let rows = self.rows();
        Self {
            starts: (0..=rows as u32).collect(),
            columns: (0..rows as u32).collect(),
            values: (0..rows).map(|row| self.row_sum(row)).collect(),
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

    /// Expanded to three unknowns per node, xyz interleaved: each entry a multiple of the identity.
    pub fn expand(&self) -> Csr {
        self.expanded(|i| Mat3::identity() * self.values[i], true)
    }
}

impl BlockMatrix {
    /// Zero, with a block wherever two nodes share an element.
    pub fn zero<'a>(nodes: usize, elements: impl IntoIterator<Item = &'a [u32]>) -> Self {
        Self::filled(nodes, elements, Mat3::zeros())
    }

    /// Multiples of the identity, with the pattern of another matrix.
    pub fn like(other: &ScalarMatrix, factor: f64) -> Self {
        let block = |x: &f64| Mat3::identity() * (x * factor);
        Self {
            starts: other.starts.clone(),
            columns: other.columns.clone(),
            values: other.values.iter().map(block).collect(),
        }
    }

    /// All blocks, row by row.
    pub fn blocks(&self) -> &[Mat3] {
        &self.values
    }

    /// All blocks, to be changed; the matrix must stay symmetric.
    pub fn blocks_mut(&mut self) -> &mut [Mat3] {
        &mut self.values
    }

    /// Adds a block and, off the diagonal, its transpose at the mirrored place.
    pub fn add_pair(&mut self, row: u32, column: u32, block: &Mat3) {
        if let Some(i) = self.find(row as usize, column as usize) {
            self.values[i] += block;
        }
        if let (true, Some(i)) = (row != column, self.find(column as usize, row as usize)) {
            self.values[i] += block.transpose();
        }
    }

    /// The matrix times one vector per node.
    pub fn times(&self, x: &[Vec3], y: &mut [Vec3]) {
        for (row, y) in y.iter_mut().enumerate() {
            *y = Vec3::zeros();
            for i in self.row_range(row) {
                *y += self.values[i] * x[self.columns[i] as usize];
            }
        }
    }

    /// Expanded to three unknowns per node, xyz interleaved.
    pub fn expand(&self) -> Csr {
        self.expanded(|i| self.values[i], false)
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
