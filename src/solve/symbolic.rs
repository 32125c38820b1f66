// SPDX-License-Identifier: MIT OR Apache-2.0
//! Symbolic part of a sparse Cholesky factorisation: the elimination order, the slot of each block in the
//! permuted matrix, faer's supernodes.

use super::SolveError;
use super::columns::Subtrees;
use super::ordering::{self, Graph, Ordering, inverse_permutation};
use crate::{Mat3, Vec3};
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::sparse::SymbolicSparseColMatRef;
use faer::sparse::linalg::SymbolicSupernodalParams;
use faer::sparse::linalg::cholesky::{simplicial, supernodal};

/// Relaxation of supernodes: (columns up to, share of explicit zeros below which two are merged). It is more
/// eager than faer's default, since 3x3 blocks make its smallest supernodes pointless.
const SUPERNODE_RELAXATION: &[(usize, f64)] =
    &[(12, 1.0), (24, 0.8), (48, 0.2), (usize::MAX, 0.05)];

/// The parts of a factorisation that depend on the pattern alone.
#[derive(Debug)]
pub struct SymbolicCholesky {
    pub(super) ordering: Ordering,
    position: Vec<u32>,
    /// Node columns of the permuted lower triangle: starts, then row positions, diagonal first.
    starts: Vec<u32>,
    rows: Vec<u32>,
    /// The same pattern, expanded to single rows and columns for faer.
    pub(super) expanded_starts: Vec<u32>,
    pub(super) expanded_rows: Vec<u32>,
    pub(super) factor: Option<supernodal::SymbolicSupernodalCholesky<u32>>,
    /// Subtrees of the elimination tree that are solved in parallel.
    pub(super) subtrees: Option<Subtrees>,
}

/// Position of a block among the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockSlot {
    pub(super) start: u32,
    pub(super) stride: u32,
    pub(super) transposed: bool,
}

impl BlockSlot {
    /// Reads the block from the values.
    #[inline]
    pub(super) fn read(&self, values: &[f64]) -> Mat3 {
        let (start, stride) = (self.start as usize, self.stride as usize);
        let column = |c: usize| Vec3::from_column_slice(&values[start + c * stride..][..3]);
        let block = Mat3::from_columns(&[column(0), column(1), column(2)]);
        if self.transposed {
            block.transpose()
        } else {
            block
        }
    }
}

impl SymbolicCholesky {
    /// Analyses a pattern of nodes at `centres`. The diagonal is always part of it.
    ///
    /// # Errors
    /// [`SolveError::TooLarge`] when indices or memory run out.
    pub fn new(graph: &Graph, centres: &[Vec3]) -> Result<Self, SolveError> {
        Self::with_ordering(graph, ordering::find_cheapest(graph, centres)?)
    }

    /// Analyses a pattern with a given elimination order.
    pub fn with_ordering(graph: &Graph, ordering: Ordering) -> Result<Self, SolveError> {
        let n = graph.len();
        let too_large = || SolveError::TooLarge { nodes: n };
        let position = inverse_permutation(&ordering.order);
        let mut starts = vec![0u32];
        let mut rows: Vec<u32> = Vec::new();
        for (p, &node) in ordering.order.iter().enumerate() {
            let first = rows.len();
            rows.push(p as u32);
            rows.extend(
                graph
                    .neighbours(node as usize)
                    .iter()
                    .map(|&j| position[j as usize])
                    .filter(|&q| q as usize > p),
            );
            rows[first..].sort_unstable();
            starts.push(u32::try_from(rows.len()).map_err(|_| too_large())?);
        }
        if rows.len() > u32::MAX as usize / 9 {
            return Err(too_large());
        }
        let (expanded_starts, expanded_rows) = expand_pattern(&starts, &rows);
        let factor = if n == 0 {
            None
        } else {
            Some(supernodes(3 * n, &starts, &rows).ok_or_else(too_large)?)
        };
        Ok(Self {
            ordering,
            position,
            starts,
            rows,
            expanded_starts,
            expanded_rows,
            subtrees: factor.as_ref().map(Subtrees::new),
            factor,
        })
    }

    /// Returns the elimination order and its cost.
    pub fn ordering(&self) -> &Ordering {
        &self.ordering
    }

    /// Returns the number of nodes.
    pub fn node_count(&self) -> usize {
        self.position.len()
    }

    /// Returns the other nodes that share a block with each node, in the caller's numbering.
    pub(super) fn neighbours(&self) -> Vec<Vec<u32>> {
        let order = &self.ordering.order;
        let mut all = vec![Vec::new(); order.len()];
        for (column, &node) in order.iter().enumerate() {
            for &row in &self.lower_rows(column)[1..] {
                let other = order[row as usize];
                all[node as usize].push(other);
                all[other as usize].push(node);
            }
        }
        all.iter_mut().for_each(|n| n.sort_unstable());
        all
    }

    /// Returns the number of values of the factor, explicit zeros included.
    pub fn factor_len(&self) -> usize {
        self.factor.as_ref().map_or(0, |f| f.len_val())
    }

    /// Returns the position of a node in the elimination order.
    pub(super) fn elimination_position(&self, node: usize) -> usize {
        self.position[node] as usize
    }

    /// Returns the caller's node of a single row of the expanded matrix.
    pub(super) fn node_of_row(&self, row: usize) -> usize {
        self.ordering.order.get(row / 3).map_or(0, |&n| n as usize)
    }

    /// Returns the rows of a node column of the permuted lower triangle, diagonal first.
    pub(super) fn lower_rows(&self, column: usize) -> &[u32] {
        &self.rows[self.starts[column] as usize..self.starts[column + 1] as usize]
    }

    /// Returns the start of a node column's three single columns among the values, and the length of each.
    pub(super) fn column_values(&self, column: usize) -> (usize, usize) {
        (
            9 * self.starts[column] as usize,
            3 * self.lower_rows(column).len(),
        )
    }

    /// Returns the slot of the block of row node `a`, column node `b`; `None` when it is not in the pattern.
    pub fn slot(&self, a: usize, b: usize) -> Option<BlockSlot> {
        let (pa, pb) = (self.position[a], self.position[b]);
        let (row, column) = (pa.max(pb), pa.min(pb));
        let range =
            self.starts[column as usize] as usize..self.starts[column as usize + 1] as usize;
        let within = self.rows[range.clone()].binary_search(&row).ok()?;
        Some(BlockSlot {
            start: (9 * range.start + 3 * within) as u32,
            stride: 3 * range.len() as u32,
            transposed: pa < pb,
        })
    }
}

/// Expands the lower triangle to a scalar pattern. Diagonal blocks are stored whole; faer skips the entries
/// above the diagonal.
fn expand_pattern(starts: &[u32], rows: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut expanded_starts = vec![0u32];
    let mut expanded_rows = Vec::with_capacity(9 * rows.len());
    for column in starts.windows(2) {
        for _ in 0..3 {
            for &row in &rows[column[0] as usize..column[1] as usize] {
                expanded_rows.extend([3 * row, 3 * row + 1, 3 * row + 2]);
            }
            expanded_starts.push(expanded_rows.len() as u32);
        }
    }
    (expanded_starts, expanded_rows)
}

/// Runs faer's supernodal analysis of the expanded pattern, which it takes as an upper triangle.
fn supernodes(
    n: usize,
    starts: &[u32],
    rows: &[u32],
) -> Option<supernodal::SymbolicSupernodalCholesky<u32>> {
    let nodes = n / 3;
    let mut upper: Vec<Vec<u32>> = vec![Vec::new(); nodes];
    for column in 0..nodes {
        for &row in &rows[starts[column] as usize..starts[column + 1] as usize] {
            upper[row as usize].push(column as u32);
        }
    }
    let mut upper_starts = vec![0u32];
    let mut upper_rows = Vec::with_capacity(9 * rows.len());
    for (j, column) in upper.iter().enumerate() {
        for c in 0..3 {
            for &i in column {
                let last = if i as usize == j { c } else { 2 };
                upper_rows.extend((0..=last).map(|r| 3 * i + r));
            }
            upper_starts.push(upper_rows.len() as u32);
        }
    }
    let pattern = SymbolicSparseColMatRef::new_checked(n, n, &upper_starts, None, &upper_rows);
    let mut memory = MemBuffer::try_new(StackReq::any_of(&[
        simplicial::prefactorize_symbolic_cholesky_scratch::<u32>(n, upper_rows.len()),
        supernodal::factorize_supernodal_symbolic_cholesky_scratch::<u32>(n),
    ]))
    .ok()?;
    let stack = MemStack::new(&mut memory);
    let mut tree = vec![0i32; n];
    let mut counts = vec![0u32; n];
    let tree = simplicial::prefactorize_symbolic_cholesky(&mut tree, &mut counts, pattern, stack);
    supernodal::factorize_supernodal_symbolic_cholesky(
        pattern,
        tree,
        &counts,
        stack,
        SymbolicSupernodalParams {
            relax: Some(SUPERNODE_RELAXATION),
        },
    )
    .ok()
}
