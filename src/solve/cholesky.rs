// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sparse Cholesky factorisation of symmetric positive definite systems of 3x3 blocks.
//!
//! The symbolic part ([`SymbolicCholesky`]) is computed once per pattern. [`SparseCholesky`] holds the values: write blocks,
//! factor, solve. Every buffer is allocated beforehand. faer's own wrapper permutes the matrix at every factorisation;
//! here each block is written directly to its permuted position.

use super::SolveError;
use super::symbolic::{BlockSlot, SymbolicCholesky};
use crate::{Mat3, Vec3};
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::cholesky::ldlt::factor::{LdltError, LdltRegularization};
use faer::linalg::cholesky::llt::factor::{LltError, LltRegularization};
use faer::sparse::linalg::cholesky::supernodal;
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, Mat, MatMut, Par};
use nalgebra::DMatrix;
use std::sync::Arc;

/// A sparse Cholesky factorisation with a fixed pattern and changing values.
pub struct SparseCholesky {
    symbolic: Arc<SymbolicCholesky>,
    values: Vec<f64>,
    factor: Vec<f64>,
    permuted: Vec<f64>,
    /// Buffer of [`multiply`](Self::multiply): its input, in elimination order.
    input: Vec<Vec3>,
    product: Vec<Vec3>,
    memory: MemBuffer,
}

impl SparseCholesky {
    /// Allocates all buffers for factoring and solving.
    ///
    /// # Errors
    /// [`SolveError::TooLarge`] when memory runs out.
    pub fn new(symbolic: Arc<SymbolicCholesky>) -> Result<Self, SolveError> {
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
            nodes: symbolic.node_count(),
        })?;
        Ok(Self {
            values: vec![0.0; symbolic.expanded_rows.len()],
            factor: vec![0.0; symbolic.factor_len()],
            permuted: vec![0.0; 3 * symbolic.node_count()],
            input: vec![Vec3::zeros(); symbolic.node_count()],
            product: vec![Vec3::zeros(); symbolic.node_count()],
            symbolic,
            memory,
        })
    }

    /// Returns the symbolic factorisation.
    pub fn symbolic(&self) -> &Arc<SymbolicCholesky> {
        &self.symbolic
    }

    /// Returns the values of the matrix, set by [`add`](Self::add) or [`set_values`](Self::set_values).
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Replaces all values. `values` has the layout of [`values`](Self::values).
    pub fn set_values(&mut self, values: &[f64]) {
        self.values.copy_from_slice(values);
    }

    /// Adds to all values. `values` has the layout of [`values`](Self::values).
    pub fn add_values(&mut self, values: &[f64]) {
        for (sum, value) in self.values.iter_mut().zip(values) {
            *sum += value;
        }
    }

    /// Sets all values to zero.
    pub fn clear(&mut self) {
        self.values.fill(0.0);
    }

    /// Adds a block. Of an off-diagonal pair (a, b), (b, a) only one is added; a diagonal block is added whole.
    #[inline]
    pub fn add(&mut self, slot: BlockSlot, block: &Mat3) {
        let (start, stride) = (slot.start as usize, slot.stride as usize);
        let turned;
        let block = match slot.transposed {
            true => {
                turned = block.transpose();
                &turned
            }
            false => block,
        };
        for (c, column) in block.as_slice().chunks_exact(3).enumerate() {
            let values = &mut self.values[start + c * stride..][..3];
            values.iter_mut().zip(column).for_each(|(v, b)| *v += b);
        }
    }

    /// Adds a multiple of the identity as a block.
    #[inline]
    pub fn add_scalar(&mut self, slot: BlockSlot, value: f64) {
        for c in 0..3 {
            self.values[slot.start as usize + c * (slot.stride as usize + 1)] += value;
        }
    }

    /// Returns the trace of the current matrix.
    pub fn trace(&self) -> f64 {
        self.trace_of(|_| true)
    }

    /// Returns the sum of the diagonal entries of the nodes that count.
    pub fn trace_of(&self, counts: impl Fn(usize) -> bool) -> f64 {
        let (starts, order) = (&self.symbolic.expanded_starts, self.symbolic.ordering());
        // A column's rows begin with its diagonal block.
        let diagonal = |column: usize| self.values[starts[column] as usize + column % 3];
        let columns = 0..3 * self.symbolic.node_count();
        let counted = columns.filter(|column| counts(order.order[column / 3] as usize));
        counted.map(diagonal).sum()
    }

    /// Factors the current matrix.
    ///
    /// # Errors
    /// [`SolveError::Singular`] with the node (caller's numbering) at a pivot that is not positive.
    pub fn factor(&mut self) -> Result<(), SolveError> {
        let Some(factor) = &self.symbolic.factor else {
            return Ok(());
        };
        let n = 3 * self.symbolic.node_count();
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
                node: self.symbolic.node_of_row(index),
            },
        )
    }

    /// Returns the smallest ratio of a pivot of the last factorisation to its diagonal entry, and the node of that pivot.
    /// Near rounding error for a singular matrix; 1 for an empty system.
    pub fn smallest_pivot_ratio(&self) -> (f64, usize) {
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
                    smallest = (ratio, self.symbolic.node_of_row(column));
                }
            }
        }
        smallest
    }

    /// Factors the matrix, which may be indefinite, as `L D Lᵀ` and counts the negative pivots: the negative eigenvalues,
    /// by Sylvester's law of inertia. Solving is impossible until the next [`factor`](Self::factor).
    ///
    /// # Errors
    /// [`SolveError::Singular`] at a zero pivot, [`SolveError::TooLarge`] when memory runs out.
    pub fn count_negative(&mut self) -> Result<usize, SolveError> {
        let Some(factor) = &self.symbolic.factor else {
            return Ok(0);
        };
        let n = 3 * self.symbolic.node_count();
        let scratch = supernodal::factorize_supernodal_numeric_ldlt_scratch::<u32, f64>(
            factor,
            Par::Seq,
            Default::default(),
        );
        let mut memory = MemBuffer::try_new(scratch).map_err(|_| SolveError::TooLarge {
            nodes: self.symbolic.node_count(),
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
            node: self.symbolic.node_of_row(index),
        })?;
        let factored = supernodal::SupernodalLdltRef::new(factor, &self.factor);
        Ok((0..factor.n_supernodes())
            .map(|s| {
                let pivots = factored.supernode(s).val().diagonal().column_vector();
                pivots.iter().filter(|&&d| d < 0.0).count()
            })
            .sum())
    }

    /// Multiplies the current matrix, factored or not, by one vector per node.
    pub fn multiply(&mut self, x: &[Vec3], y: &mut [Vec3]) {
        let order = &self.symbolic.ordering.order;
        for (value, &node) in self.input.iter_mut().zip(order) {
            *value = x[node as usize];
        }
        self.product.fill(Vec3::zeros());
        for column in 0..order.len() {
            let rows = self.symbolic.lower_rows(column);
            let (start, n) = self.symbolic.column_values(column);
            let values = &self.values[start..start + 3 * n];
            let (first, rest) = values.split_at(n);
            let (second, third) = rest.split_at(n);
            let columns = first.chunks_exact(3).zip(second.chunks_exact(3));
            let blocks = columns.zip(third.chunks_exact(3));
            let at = self.input[column];
            let mut sum = Vec3::zeros();
            for (&row, ((a, b), c)) in rows.iter().zip(blocks) {
                let row = row as usize;
                let (a, b, c) = (
                    Vec3::new(a[0], a[1], a[2]),
                    Vec3::new(b[0], b[1], b[2]),
                    Vec3::new(c[0], c[1], c[2]),
                );
                // The block below the diagonal and its transpose above. The diagonal block is stored whole.
                self.product[row] += a * at.x + b * at.y + c * at.z;
                if row != column {
                    let other = &self.input[row];
                    sum += Vec3::new(a.dot(other), b.dot(other), c.dot(other));
                }
            }
            self.product[column] += sum;
        }
        for (product, &node) in self.product.iter().zip(order) {
            y[node as usize] = *product;
        }
    }

    /// Solves for several right-hand sides in place with the last factorisation. Rows are in elimination order, xyz
    /// interleaved. Subtrees of the elimination tree are solved on all threads.
    pub fn solve_columns(&self, x: MatMut<'_, f64>) {
        let (Some(factor), Some(subtrees)) = (&self.symbolic.factor, &self.symbolic.subtrees)
        else {
            return;
        };
        subtrees.solve(supernodal::SupernodalLltRef::new(factor, &self.factor), x);
    }

    /// Returns the inverse's columns at some nodes by the last factorisation, times `scale`: `[3 nodes, 3 t]`, xyz interleaved.
    pub fn inverse_columns(&self, nodes: &[u32], scale: f64) -> DMatrix<f64> {
        let place = |node: usize| 3 * self.symbolic.elimination_position(node);
        let mut columns = Mat::zeros(3 * self.symbolic.node_count(), 3 * nodes.len());
        for (i, &node) in nodes.iter().enumerate() {
            let place = place(node as usize);
            (0..3).for_each(|k| columns[(place + k, 3 * i + k)] = 1.0);
        }
        self.solve_columns(columns.as_mut());
        let mut all = DMatrix::zeros(3 * self.symbolic.node_count(), 3 * nodes.len());
        for (j, mut column) in all.column_iter_mut().enumerate() {
            let solved = columns.col(j);
            for (node, to) in column.as_mut_slice().chunks_exact_mut(3).enumerate() {
                let place = place(node);
                (0..3).for_each(|k| to[k] = solved[place + k] * scale);
            }
        }
        all
    }

    /// Solves in place with the last factorisation: right-hand side in, solution out, one vector per node.
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
    use crate::solve::ordering::{self, Graph, Ordering};
    use nalgebra::DVector;

    /// Builds a chain with two extra links, and a symmetric positive definite matrix on it.
    fn chain_system(n: usize) -> (Graph, DMatrix<f64>) {
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

    fn fill_solver(graph: &Graph, a: &DMatrix<f64>, symbolic: SymbolicCholesky) -> SparseCholesky {
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

    /// The solution agrees with that of a dense factorisation, for any order of elimination.
    #[test]
    fn solve_matches_dense() {
        for n in [3, 20, 90] {
            let (graph, a) = chain_system(n);
            let centres: Vec<Vec3> = (0..n).map(|i| Vec3::new(i as f64, 0.0, 0.0)).collect();
            let rhs: Vec<Vec3> = (0..n)
                .map(|i| Vec3::new(1.0, i as f64, (i as f64).sin()))
                .collect();
            let dense = DVector::from_iterator(3 * n, rhs.iter().flat_map(|v| v.iter().copied()));
            let expected = a.clone().cholesky().unwrap().solve(&dense);
            let orders = [
                ordering::minimum_degree(&graph).unwrap(),
                ordering::nested_dissection(&graph, &centres).unwrap(),
                (0..n as u32).rev().collect(),
            ];
            for order in orders {
                let ordering = Ordering {
                    kind: ordering::OrderingKind::MinimumDegree,
                    order,
                    blocks: 0,
                    cost: 0.0,
                };
                let symbolic = SymbolicCholesky::with_ordering(&graph, ordering).unwrap();
                let mut solver = fill_solver(&graph, &a, symbolic);
                assert!((solver.trace() - a.trace()).abs() < 1e-9 * a.trace());
                let mut back = vec![Vec3::zeros(); n];
                let x: Vec<Vec3> = (0..n)
                    .map(|i| Vec3::from_column_slice(&expected.as_slice()[3 * i..3 * i + 3]))
                    .collect();
                solver.multiply(&x, &mut back);
                let apart = back.iter().zip(&rhs).map(|(a, b)| (a - b).amax());
                assert!(apart.fold(0.0, f64::max) < 1e-10 * dense.amax());
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

    /// Columns in the order of elimination have the same solutions as single right-hand sides.
    #[test]
    fn solve_columns_uses_elimination_order() {
        let n = 40;
        let (graph, a) = chain_system(n);
        let symbolic = SymbolicCholesky::new(&graph, &vec![Vec3::zeros(); n]).unwrap();
        let mut solver = fill_solver(&graph, &a, symbolic);
        solver.factor().unwrap();
        let rhs = |row: usize, column: usize| ((row + 5 * column) as f64).sin();
        let order = solver.symbolic().ordering().order.clone();
        let mut x = Mat::from_fn(3 * n, 4, |i, j| rhs(3 * order[i / 3] as usize + i % 3, j));
        solver.solve_columns(x.as_mut());
        for j in 0..4 {
            let mut single: Vec<Vec3> = (0..n)
                .map(|i| Vec3::new(rhs(3 * i, j), rhs(3 * i + 1, j), rhs(3 * i + 2, j)))
                .collect();
            solver.solve(&mut single);
            for i in 0..3 * n {
                let alone = single[order[i / 3] as usize][i % 3];
                assert!((x[(i, j)] - alone).abs() < 1e-12 * (1.0 + alone.abs()));
            }
        }
        let mut none = Mat::zeros(3 * n, 0);
        solver.solve_columns(none.as_mut());
    }

    /// The columns of the inverse agree with the dense inverse.
    #[test]
    fn inverse_columns_match_inverse() {
        let n = 30;
        let (graph, a) = chain_system(n);
        let symbolic = SymbolicCholesky::new(&graph, &vec![Vec3::zeros(); n]).unwrap();
        let mut solver = fill_solver(&graph, &a, symbolic);
        solver.factor().unwrap();
        let whole = a.try_inverse().unwrap();
        let nodes = [17, 3, 4, 29];
        let columns = solver.inverse_columns(&nodes, 1.0);
        for i in 0..3 * n {
            for j in 0..12 {
                let expected = whole[(i, 3 * nodes[j / 3] as usize + j % 3)];
                assert!((columns[(i, j)] - expected).abs() < 1e-10 * whole.amax());
            }
        }
    }

    /// There are as many negative pivots as negative eigenvalues.
    #[test]
    fn negative_pivots_count_eigenvalues() {
        let n = 30;
        let (graph, a) = chain_system(n);
        let values = a.clone().symmetric_eigen().eigenvalues;
        for bound in [0.0, 0.5, 2.0, 7.0, 1e3] {
            let shifted = &a - DMatrix::identity(3 * n, 3 * n) * bound;
            let symbolic = SymbolicCholesky::new(&graph, &vec![Vec3::zeros(); n]).unwrap();
            let mut solver = fill_solver(&graph, &shifted, symbolic);
            let below = values.iter().filter(|&&v| v < bound).count();
            assert_eq!(solver.count_negative(), Ok(below));
        }
    }

    /// A singular matrix has a tiny pivot or is refused.
    #[test]
    fn singular_matrix_has_tiny_pivot() {
        let n = 12;
        let (graph, mut a) = chain_system(n);
        let pivot = |a: &DMatrix<f64>| {
            let symbolic = SymbolicCholesky::new(&graph, &vec![Vec3::zeros(); n]).unwrap();
            let mut solver = fill_solver(&graph, a, symbolic);
            solver.factor().map(|()| solver.smallest_pivot_ratio().0)
        };
        assert!(pivot(&a).unwrap() > 1e-3);
        // Springs alone: a motion of all nodes together costs nothing.
        for i in 0..3 * n {
            a[(i, i)] -= 0.1;
        }
        assert!(pivot(&a).is_err() || pivot(&a).unwrap() < 1e-12);
    }

    /// If nothing holds a node, the factorisation fails and the error names the node.
    #[test]
    fn unheld_node_is_named() {
        let (graph, mut a) = chain_system(8);
        for i in 0..24 {
            for j in 15..18 {
                a[(i, j)] = 0.0;
                a[(j, i)] = 0.0;
            }
        }
        let symbolic = SymbolicCholesky::new(&graph, &[Vec3::zeros(); 8]).unwrap();
        let mut solver = fill_solver(&graph, &a, symbolic);
        assert_eq!(solver.factor(), Err(SolveError::Singular { node: 5 }));
    }

    #[test]
    fn empty_system_is_solved() {
        let symbolic = SymbolicCholesky::new(&Graph::from_edges(0, []), &[]).unwrap();
        let mut solver = SparseCholesky::new(Arc::new(symbolic)).unwrap();
        solver.factor().unwrap();
        solver.solve(&mut []);
    }
}
