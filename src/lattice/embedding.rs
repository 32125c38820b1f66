// SPDX-License-Identifier: MIT OR Apache-2.0
//! Points as weighted means of any number of nodes, such as lattice vertices.
//!
//! The weights form a sparse matrix, points by nodes; its product with values at the nodes gives values at the points.
//! Its columns ascend. Means are summed in the original order of a row (that of the corners of its cell), which is
//! stored separately. So positions have the same bits however the matrix is stored.

use crate::Vec3;
use sprs::CsMatI;
use sprs::errors::StructureError;

/// Points as weighted means of lattice vertices.
///
/// ```
/// use thew::Vec3;
/// use thew::lattice::Embedding;
///
/// // One point on an edge from vertex 2 to vertex 0, one at vertex 1.
/// let rows = [(0, vec![(2, 0.75), (0, 0.25)]), (0, vec![(1, 1.0)])];
/// let embedding = Embedding::from_rows(3, rows)?;
/// assert_eq!(embedding.position(0, &[Vec3::x() * 4.0, Vec3::y(), Vec3::zeros()]), Vec3::x());
/// assert_eq!(embedding.matrix().indices(), [0, 2, 1]);
/// # Ok::<(), sprs::errors::StructureError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    matrix: CsMatI<f64, u32>,
    /// Matrix entries of each row in the order of summation.
    order: Vec<u32>,
    cells: Vec<u32>,
}

impl Default for Embedding {
    fn default() -> Self {
        Self {
            matrix: CsMatI::zero((0, 0)),
            order: Vec::new(),
            cells: Vec::new(),
        }
    }
}

impl Embedding {
    /// Builds an embedding in a lattice of `vertices` vertices from rows: the cell of each point, and its vertices with
    /// weights. Weights of a vertex listed twice are added.
    ///
    /// # Errors
    /// Fails if a row refers to a vertex that the lattice does not have.
    pub fn from_rows<R: IntoIterator<Item = (u32, f64)>>(
        vertices: usize,
        rows: impl IntoIterator<Item = (u32, R)>,
    ) -> Result<Self, StructureError> {
        let rows = rows.into_iter();
        // Most rows belong to tetrahedra.
        let count = rows.size_hint().0;
        let mut starts = Vec::with_capacity(count + 1);
        starts.push(0u32);
        let mut cells = Vec::with_capacity(count);
        let (mut columns, mut weights) =
            (Vec::with_capacity(4 * count), Vec::with_capacity(4 * count));
        let mut order = Vec::with_capacity(4 * count);
        let mut original: Vec<(u32, f64)> = Vec::new();
        for (cell, row) in rows {
            original.clear();
            original.extend(row);
            let start = columns.len();
            for &(vertex, weight) in &original {
                let at = start + columns[start..].partition_point(|&c| c < vertex);
                if columns.get(at) == Some(&vertex) {
                    weights[at] += weight;
                } else {
                    columns.insert(at, vertex);
                    weights.insert(at, weight);
                }
            }
            let row = &columns[start..];
            for (k, &(vertex, _)) in original.iter().enumerate() {
                // Rows are short: a linear search for an earlier entry is quickest.
                if original[..k].iter().all(|&(earlier, _)| earlier != vertex) {
                    order.push((start + row.partition_point(|&c| c < vertex)) as u32);
                }
            }
            starts.push(columns.len() as u32);
            cells.push(cell);
        }
        let matrix = CsMatI::try_new((cells.len(), vertices), starts, columns, weights);
        Ok(Self {
            matrix: matrix.map_err(|(.., error)| error)?,
            order,
            cells,
        })
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Returns whether the embedding is empty.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Returns the weights, points by lattice vertices; those of a point sum to one.
    pub fn matrix(&self) -> &CsMatI<f64, u32> {
        &self.matrix
    }

    /// Converts into [`matrix`](Self::matrix).
    pub fn into_matrix(self) -> CsMatI<f64, u32> {
        self.matrix
    }

    /// Returns the cell of each point.
    pub fn cells(&self) -> &[u32] {
        &self.cells
    }

    /// Returns the lattice vertices of point `i` and their weights, in the order of summation.
    #[inline]
    pub fn row(&self, i: usize) -> impl ExactSizeIterator<Item = (usize, f64)> + '_ {
        let (columns, weights) = (self.matrix.indices(), self.matrix.data());
        let entries = &self.order[self.matrix.indptr().outer_inds_sz(i)];
        entries.iter().map(|&entry| {
            let entry = entry as usize;
            (columns[entry] as usize, weights[entry])
        })
    }

    /// Returns the position of point `i` for lattice vertices at `positions`.
    pub fn position(&self, i: usize, positions: &[Vec3]) -> Vec3 {
        let mut p = Vec3::zeros();
        for (vertex, weight) in self.row(i) {
            p += positions[vertex] * weight;
        }
        p
    }
}

/// An [`Embedding`] as plain arrays for files: the entries of all rows in the order of summation.
#[derive(serde::Serialize, serde::Deserialize)]
pub(crate) struct StoredEmbedding {
    lengths: Vec<u32>,
    indices: Vec<u32>,
    weights: Vec<f64>,
    cells: Vec<u32>,
}

impl StoredEmbedding {
    /// Copies an embedding.
    pub fn new(embedding: &Embedding) -> Self {
        let (columns, values) = (embedding.matrix.indices(), embedding.matrix.data());
        let order = || embedding.order.iter().map(|&entry| entry as usize);
        let ranges = embedding.matrix.indptr();
        Self {
            lengths: ranges
                .iter_outer_sz()
                .map(|range| range.len() as u32)
                .collect(),
            indices: order().map(|entry| columns[entry]).collect(),
            weights: order().map(|entry| values[entry]).collect(),
            cells: embedding.cells.clone(),
        }
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Restores the embedding; `None` if it does not fit `nodes` nodes, of which the first `vertices` are lattice vertices, and
    /// `cells` cells, or if weights are out of range.
    pub fn into_embedding(self, nodes: usize, vertices: usize, cells: usize) -> Option<Embedding> {
        let entries = self
            .lengths
            .iter()
            .map(|&length| u64::from(length))
            .sum::<u64>();
        let fits = self.lengths.len() == self.len()
            && entries == self.indices.len() as u64
            && self.weights.len() == self.indices.len()
            && self.cells.iter().all(|&cell| (cell as usize) < cells);
        if !fits {
            return None;
        }
        let (mut indices, mut weights) = (&self.indices[..], &self.weights[..]);
        let mut rows = Vec::with_capacity(self.lengths.len());
        for (&length, &cell) in self.lengths.iter().zip(&self.cells) {
            let (own, shares);
            (own, indices) = indices.split_at(length as usize);
            (shares, weights) = weights.split_at(length as usize);
            let row = own.iter().copied().zip(shares.iter().copied());
            if !are_weights(row.clone(), vertices as u32) {
                return None;
            }
            rows.push((cell, row));
        }
        Embedding::from_rows(nodes, rows).ok()
    }
}

/// Largest magnitude of a stored weight; points outside their cell have weights below zero and above one.
const MAX_WEIGHT: f64 = 1e3;
/// Largest distance of the sum of weights from one. It covers rounding, and that of files once kept in single
/// precision.
const SUM_TOLERANCE: f64 = 1e-5;

/// Returns whether a row holds valid weights of a point: those of the first `vertices` nodes are all zero, or sum to one.
fn are_weights(row: impl Iterator<Item = (u32, f64)> + Clone, vertices: u32) -> bool {
    let placed = || row.clone().filter(|&(v, _)| v < vertices).map(|(_, w)| w);
    let sum: f64 = placed().sum();
    let none = placed().all(|w| w == 0.0);
    row.clone().all(|(_, w)| w.abs() <= MAX_WEIGHT) && (none || (sum - 1.0).abs() <= SUM_TOLERANCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<(u32, Vec<(u32, f64)>)> {
        vec![
            (3, vec![(4, 0.1), (0, 0.2), (9, 0.3), (2, 0.4)]),
            (1, vec![]),
            (2, (0..10).rev().map(|v| (v, f64::from(v) / 45.0)).collect()),
            (0, vec![(7, 1.0)]),
        ]
    }

    /// Rows of any length come back with the vertices and weights that they were built from.
    #[test]
    fn embedding_keeps_rows() {
        let embedding = Embedding::from_rows(10, rows()).unwrap();
        assert_eq!((embedding.len(), embedding.matrix().shape()), (4, (4, 10)));
        assert_eq!(embedding.cells(), [3, 1, 2, 0]);
        for (i, (_, row)) in rows().iter().enumerate() {
            assert!(
                embedding
                    .row(i)
                    .eq(row.iter().map(|&(v, w)| (v as usize, w)))
            );
        }
        assert_eq!(embedding.matrix().indices()[..4], [0, 2, 4, 9]);
    }

    /// A position is the product of its row of the matrix with the positions.
    #[test]
    fn position_matches_matrix_product() {
        let embedding = Embedding::from_rows(10, rows()).unwrap();
        let at = |v: usize| Vec3::new(v as f64, (v as f64).sin(), (2.0 * v as f64).cos());
        let positions: Vec<Vec3> = (0..10).map(at).collect();
        for (i, row) in embedding.matrix().outer_iterator().enumerate() {
            let mut place = Vec3::zeros();
            for (vertex, &weight) in row.iter() {
                place += positions[vertex] * weight;
            }
            assert!((embedding.position(i, &positions) - place).amax() < 1e-14);
        }
        // Summed in the original order of the row, to the last bit.
        let original = &rows()[0].1;
        let mut place = Vec3::zeros();
        for &(vertex, weight) in original {
            place += positions[vertex as usize] * weight;
        }
        assert_eq!(embedding.position(0, &positions), place);
    }

    /// A vertex that a row names twice gets the sum of both weights.
    #[test]
    fn duplicate_vertices_are_summed() {
        let rows = [(0, [(5, 0.25), (1, 0.5), (5, 0.25)])];
        let embedding = Embedding::from_rows(6, rows).unwrap();
        assert!(embedding.row(0).eq([(5, 0.5), (1, 0.5)]));
        assert!(Embedding::from_rows(5, rows).is_err());
    }

    /// A stored embedding comes back with rows of any length, and is refused if its indices, weights or size are wrong.
    #[test]
    fn stored_embedding_is_validated() {
        let embedding = Embedding::from_rows(10, rows()).unwrap();
        let stored = || StoredEmbedding::new(&embedding);
        assert_eq!(stored().indices[..4], [4, 0, 9, 2]);
        assert_eq!(stored().into_embedding(10, 10, 4), Some(embedding.clone()));
        assert_eq!(stored().into_embedding(9, 9, 4), None);
        assert_eq!(stored().into_embedding(10, 10, 3), None);
        // Weights of details do not belong to the sum.
        assert_eq!(stored().into_embedding(10, 8, 4), None);
        let changed = |change: &dyn Fn(&mut StoredEmbedding)| {
            let mut stored = stored();
            change(&mut stored);
            stored.into_embedding(10, 10, 4)
        };
        assert_eq!(changed(&|e| e.indices[3] = 10), None);
        assert_eq!(changed(&|e| e.weights[2] = f64::NAN), None);
        assert_eq!(changed(&|e| e.weights[0] = 5e47), None);
        assert_eq!(changed(&|e| e.weights[0] = 0.2), None); // no longer one in all
        assert_eq!(changed(&|e| e.weights.truncate(2)), None);
        assert_eq!(changed(&|e| e.cells.truncate(2)), None);
        assert_eq!(changed(&|e| e.lengths[1] = u32::MAX), None);
    }
}
