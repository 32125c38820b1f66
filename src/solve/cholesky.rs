// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sparse Cholesky factorisation of symmetric positive definite systems of 3x3 blocks.
//!
//! The symbolic part ([`Symbolic`]) is made once per pattern: order of elimination, where each block lies
//! in the permuted matrix, faer's supernodes. [`SparseCholesky`] then holds the numbers: write blocks,
//! factor, solve, with every buffer allocated beforehand. faer's own wrapper permutes the matrix at every
//! factorisation; here blocks are written where they belong at once.

use super::SolveError;
use super::columns::Subtrees;
use super::ordering::{self, Graph, Ordering, inverse};
use crate::{Mat3, Vec3};
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::cholesky::ldlt::factor::{LdltError, LdltRegularization};
use faer::linalg::cholesky::llt::factor::{LltError, LltRegularization};
use faer::sparse::linalg::SymbolicSupernodalParams;
use faer::sparse::linalg::cholesky::{simplicial, supernodal};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par};
use std::sync::Arc;

/// When two supernodes are merged: (columns up to, share of explicit zeros below). A little more eager
/// than faer's default, since whole 3x3 blocks make its smallest supernodes pointless.
const RELAX: &[(usize, f64)] = &[(12, 1.0), (24, 0.8), (48, 0.2), (usize::MAX, 0.05)];

/// Everything about a pattern that does not depend on numbers.
#[derive(Debug)]
pub struct Symbolic {
    ordering: Ordering,
    position: Vec<u32>,
    /// Node columns of the permuted lower triangle: starts, then row positions, diagonal first.
    starts: Vec<u32>,
    rows: Vec<u32>,
    /// The same, expanded to single rows and columns for faer.
    expanded_starts: Vec<u32>,
    expanded_rows: Vec<u32>,
    factor: Option<supernodal::SymbolicSupernodalCholesky<u32>>,
}

/// Where a block lies among the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    start: u32,
    stride: u32,
    transposed: bool,
}

impl Symbolic {
    /// Analyses a pattern of nodes at `centres`; the diagonal is always part of it.
    ///
    /// # Errors
    /// [`SolveError::TooLarge`] when indices or memory do not suffice.
    pub fn new(graph: &Graph, centres: &[Vec3]) -> Result<Self, SolveError> {
        Self::with_ordering(graph, ordering::cheapest(graph, centres)?)
    }

    /// Analyses a pattern with a given order of elimination.
    pub fn with_ordering(graph: &Graph, ordering: Ordering) -> Result<Self, SolveError> {
        let n = graph.len();
        let too_large = || SolveError::TooLarge { nodes: n };
        let position = inverse(&ordering.order);
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
        let (expanded_starts, expanded_rows) = expand(&starts, &rows);
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
            factor,
        })
    }

    /// The order of elimination and its cost.
    pub fn ordering(&self) -> &Ordering {
        &self.ordering
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.position.len()
    }

    /// Numbers that the factor holds, explicit zeros included.
    pub fn factor_len(&self) -> usize {
        self.factor.as_ref().map_or(0, |f| f.len_val())
    }

    /// The caller's node at a single row of the expanded matrix.
    fn node_of(&self, row: usize) -> usize {
        self.ordering.order.get(row / 3).map_or(0, |&n| n as usize)
    }

    /// Where the block of row node `a`, column node `b` lies; none when it is not in the pattern.
    pub fn slot(&self, a: usize, b: usize) -> Option<Slot> {
        let (pa, pb) = (self.position[a], self.position[b]);
        let (row, column) = (pa.max(pb), pa.min(pb));
        let range =
            self.starts[column as usize] as usize..self.starts[column as usize + 1] as usize;
        let within = self.rows[range.clone()].binary_search(&row).ok()?;
        Some(Slot {
            start: (9 * range.start + 3 * within) as u32,
            stride: 3 * range.len() as u32,
            transposed: pa < pb,
        })
    }
}

/// The scalar pattern of the lower triangle; diagonal blocks are kept whole, faer skips what lies above.
fn expand(starts: &[u32], rows: &[u32]) -> (Vec<u32>, Vec<u32>) {
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

/// faer's supernodal analysis of the expanded pattern, which it wants as an upper triangle.
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
        SymbolicSupernodalParams { relax: Some(RELAX) },
    )
    .ok()
}

/// A factorisation whose pattern stays while its numbers change.
pub struct SparseCholesky {
    symbolic: Arc<Symbolic>,
    values: Vec<f64>,
    factor: Vec<f64>,
    permuted: Vec<f64>,
    memory: MemBuffer,
}

impl SparseCholesky {
    /// Allocates all that factoring and solving need.
    ///
    /// # Errors
    /// [`SolveError::TooLarge`] when memory does not suffice.
    pub fn new(symbolic: Arc<Symbolic>) -> Result<Self, SolveError> {
        let scratch = symbolic.factor.as_ref().map_or(StackReq::EMPTY, |factor| {
            StackReq::any_of(&[
                supernodal::factorize_supernodal_numeric_llt_scratch::<u32, f64>(
                    factor,
                    Par::Seq,
                    Default::default(),
                ),
                factor.solve_in_place_scratch::<f64>(1, Par::Seq),
            ])
        });
        let memory = MemBuffer::try_new(scratch).map_err(|_| SolveError::TooLarge {
            nodes: symbolic.nodes(),
        })?;
        Ok(Self {
            values: vec![0.0; symbolic.expanded_rows.len()],
            factor: vec![0.0; symbolic.factor_len()],
            permuted: vec![0.0; 3 * symbolic.nodes()],
            symbolic,
            memory,
        })
    }

    /// The pattern.
    pub fn symbolic(&self) -> &Arc<Symbolic> {
        &self.symbolic
    }

    /// The matrix's numbers, to be set by [`add`](Self::add) or copied whole.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Replaces all numbers; `values` as once returned by [`values`](Self::values).
    pub fn set_values(&mut self, values: &[f64]) {
        self.values.copy_from_slice(values);
    }

    /// Sets all numbers to zero.
    pub fn clear(&mut self) {
        self.values.fill(0.0);
    }

    /// Adds a block. Of the two blocks (a, b) and (b, a) add one; diagonal blocks whole.
    #[inline]
    pub fn add(&mut self, slot: Slot, block: &Mat3) {
        let (start, stride) = (slot.start as usize, slot.stride as usize);
        for c in 0..3 {
            let column = &mut self.values[start + c * stride..][..3];
            for (r, value) in column.iter_mut().enumerate() {
                *value += if slot.transposed {
                    block[(c, r)]
                } else {
                    block[(r, c)]
                };
            }
        }
    }

    /// Adds a multiple of the identity as a block.
    #[inline]
    pub fn add_scalar(&mut self, slot: Slot, value: f64) {
        for c in 0..3 {
            self.values[slot.start as usize + c * (slot.stride as usize + 1)] += value;
        }
    }

    /// Factors the matrix as it stands.
    ///
    /// # Errors
    /// [`SolveError::Singular`] with the node (caller's numbering) at a pivot that is not positive.
    pub fn factor(&mut self) -> Result<(), SolveError> {
        let Some(factor) = &self.symbolic.factor else {
            return Ok(());
        };
        let n = 3 * self.symbolic.nodes();
        let pattern = SymbolicSparseColMatRef::new_checked(
            n,
            n,
            &self.symbolic.expanded_starts,
            None,
            &self.symbolic.expanded_rows,
        );
        supernodal::factorize_supernodal_numeric_llt(
            &mut self.factor,
            SparseColMatRef::new(pattern, &self.values),
            LltRegularization::default(),
            factor,
            Par::Seq,
            MemStack::new(&mut self.memory),
            Default::default(),
        )
        .map(|_| ())
        .map_err(
            |LltError::NonPositivePivot { index }| SolveError::Singular {
                node: self.symbolic.node_of(index),
            },
        )
    }

    /// The smallest pivot of the last factorisation in proportion to the diagonal entry that it came from,
    /// and its node: near the rounding error for a matrix that is singular. 1 for an empty system.
    pub fn smallest_pivot(&self) -> (f64, usize) {
        let mut smallest = (1.0, 0);
        let Some(factor) = &self.symbolic.factor else {
            return smallest;
        };
        let factor = supernodal::SupernodalLltRef::new(factor, &self.factor);
        for s in 0..factor.symbolic().n_supernodes() {
            let s = factor.supernode(s);
            for (i, pivot) in s.val().diagonal().column_vector().iter().enumerate() {
                let column = s.start() + i;
                // A column's rows begin with its diagonal block.
                let diagonal =
                    self.values[self.symbolic.expanded_starts[column] as usize + column % 3];
                let ratio = pivot * pivot / diagonal;
                if ratio < smallest.0 {
                    smallest = (ratio, self.symbolic.node_of(column));
                }
            }
        }
        smallest
    }

    /// Factors the matrix, which need not be definite, as `L D Lᵀ` and gives the number of negative pivots:
    /// by Sylvester's law of inertia that many eigenvalues are negative. Solving afterwards is not possible
    /// before the next [`factor`](Self::factor).
    ///
    /// # Errors
    /// [`SolveError::Singular`] at a pivot that is zero, [`SolveError::TooLarge`] when memory does not suffice.
    pub fn count_negative(&mut self) -> Result<usize, SolveError> {
        let Some(factor) = &self.symbolic.factor else {
            return Ok(0);
        };
        let n = 3 * self.symbolic.nodes();
        let scratch = supernodal::factorize_supernodal_numeric_ldlt_scratch::<u32, f64>(
            factor,
            Par::Seq,
            Default::default(),
        );
        let mut memory = MemBuffer::try_new(scratch).map_err(|_| SolveError::TooLarge {
            nodes: self.symbolic.nodes(),
        })?;
        let pattern = SymbolicSparseColMatRef::new_checked(
            n,
            n,
            &self.symbolic.expanded_starts,
            None,
            &self.symbolic.expanded_rows,
        );
        supernodal::factorize_supernodal_numeric_ldlt(
            &mut self.factor,
            SparseColMatRef::new(pattern, &self.values),
            LdltRegularization::default(),
            factor,
            Par::Seq,
            MemStack::new(&mut memory),
            Default::default(),
        )
        .map_err(|LdltError::ZeroPivot { index }| SolveError::Singular {
            node: self.symbolic.node_of(index),
        })?;
        let factored = supernodal::SupernodalLdltRef::new(factor, &self.factor);
        Ok((0..factor.n_supernodes())
            .map(|s| {
                let pivots = factored.supernode(s).val().diagonal().column_vector();
                pivots.iter().filter(|&&d| d < 0.0).count()
            })
            .sum())
    }

    /// Solves with the last factorisation for several right-hand sides at once, in place. Rows are in the
    /// order of elimination, xyz interleaved; subtrees of the elimination tree go to all threads.
    pub fn solve_columns(&self, x: MatMut<'_, f64>) {
        let Some(factor) = &self.symbolic.factor else {
            return;
        };
        let values = supernodal::SupernodalLltRef::new(factor, &self.factor);
        Subtrees::new(factor).solve(values, x);
    }

    /// Solves with the last factorisation, in place: right-hand side in, solution out, one per node.
    pub fn solve(&mut self, x: &mut [Vec3]) {
        let Some(factor) = &self.symbolic.factor else {
            return;
        };
        for (&node, y) in self
            .symbolic
            .ordering
            .order
            .iter()
            .zip(self.permuted.chunks_exact_mut(3))
        {
            y.copy_from_slice(x[node as usize].as_slice());
        }
        let n = self.permuted.len();
        supernodal::SupernodalLltRef::new(factor, &self.factor).solve_in_place_with_conj(
            Conj::No,
            MatMut::from_column_major_slice_mut(&mut self.permuted, n, 1),
            Par::Seq,
            MemStack::new(&mut self.memory),
        );
        for (&node, y) in self
            .symbolic
            .ordering
            .order
            .iter()
            .zip(self.permuted.chunks_exact(3))
        {
            x[node as usize] = Vec3::new(y[0], y[1], y[2]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::{DMatrix, DVector};

    /// A chain with two extra links, and a symmetric positive definite matrix on it.
    fn system(n: usize) -> (Graph, DMatrix<f64>) {
        let mut edges: Vec<(u32, u32)> = (1..n as u32).map(|i| (i - 1, i)).collect();
        edges.extend([(0, n as u32 - 1), (1, n as u32 / 2)]);
        let graph = Graph::from_edges(n, edges.iter().copied());
        let mut a = DMatrix::zeros(3 * n, 3 * n);
        for (e, &(i, j)) in edges.iter().enumerate() {
            let g = Vec3::new(1.0, 0.3 * e as f64, -0.2);
            let k = Mat3::identity() * 2.0 + g * g.transpose();
            for (r, c, s) in [(i, i, 1.0), (j, j, 1.0), (i, j, -1.0), (j, i, -1.0)] {
                let mut block = a.fixed_view_mut::<3, 3>(3 * r as usize, 3 * c as usize);
                block += k * s;
            }
        }
        for i in 0..3 * n {
            a[(i, i)] += 0.1;
        }
        (graph, a)
    }

    fn filled(graph: &Graph, a: &DMatrix<f64>, symbolic: Symbolic) -> SparseCholesky {
        let mut solver = SparseCholesky::new(Arc::new(symbolic)).unwrap();
        for i in 0..graph.len() {
            let others = graph
                .neighbours(i)
                .iter()
                .map(|&j| j as usize)
                .filter(|&j| j < i);
            for j in others.chain([i]) {
                let slot = solver.symbolic().slot(i, j).unwrap();
                solver.add(slot, &a.fixed_view::<3, 3>(3 * i, 3 * j).into());
            }
        }
        solver
    }

    #[test]
    fn solves_as_a_dense_factorisation_does() {
        for n in [3, 20, 90] {
            let (graph, a) = system(n);
            let centres: Vec<Vec3> = (0..n).map(|i| Vec3::new(i as f64, 0.0, 0.0)).collect();
            let rhs: Vec<Vec3> = (0..n)
                .map(|i| Vec3::new(1.0, i as f64, (i as f64).sin()))
                .collect();
            let dense = DVector::from_iterator(3 * n, rhs.iter().flat_map(|v| v.iter().copied()));
            let expected = a.clone().cholesky().unwrap().solve(&dense);
            let orders = [
                ordering::minimum_degree(&graph).unwrap(),
                ordering::nested_dissection(&graph, &centres),
                (0..n as u32).rev().collect(),
            ];
            for order in orders {
                let ordering = Ordering {
                    kind: ordering::OrderingKind::MinimumDegree,
                    order,
                    blocks: 0,
                    cost: 0.0,
                };
                let symbolic = Symbolic::with_ordering(&graph, ordering).unwrap();
                let mut solver = filled(&graph, &a, symbolic);
                // Factoring twice shows that nothing of the first run is left over.
                for _ in 0..2 {
                    solver.factor().unwrap();
                    let mut x = rhs.clone();
                    solver.solve(&mut x);
                    for i in 0..3 * n {
                        assert!((x[i / 3][i % 3] - expected[i]).abs() < 1e-9 * expected.amax());
                    }
                }
            }
        }
    }

    #[test]
    fn a_node_that_nothing_holds_is_named() {
        let (graph, mut a) = system(8);
        for i in 0..24 {
            for j in 15..18 {
                a[(i, j)] = 0.0;
                a[(j, i)] = 0.0;
            }
        }
        let symbolic = Symbolic::new(&graph, &[Vec3::zeros(); 8]).unwrap();
        let mut solver = filled(&graph, &a, symbolic);
        assert_eq!(solver.factor(), Err(SolveError::Singular { node: 5 }));
    }

    #[test]
    fn an_empty_system_is_solved() {
        let symbolic = Symbolic::new(&Graph::from_edges(0, []), &[]).unwrap();
        let mut solver = SparseCholesky::new(Arc::new(symbolic)).unwrap();
        solver.factor().unwrap();
        solver.solve(&mut []);
    }
}
