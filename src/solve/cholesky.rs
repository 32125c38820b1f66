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
use faer::{Conj, MatMut, Par};
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
        let (count, width) = (self.symbolic.node_count(), 3 * nodes.len());
        let mut rows = vec![0.0; 3 * count * width];
        for (i, &node) in nodes.iter().enumerate() {
            let place = place(node as usize);
            (0..3).for_each(|k| rows[(place + k) * width + 3 * i + k] = 1.0);
        }
        if let (Some(factor), Some(subtrees)) = (&self.symbolic.factor, &self.symbolic.subtrees) {
            let factor = supernodal::SupernodalLltRef::new(factor, &self.factor);
            subtrees.solve_rows(factor, &mut rows, width);
        }
        let mut all = DMatrix::zeros(3 * count, width);
        for (j, mut column) in all.column_iter_mut().enumerate() {
            for (node, to) in column.as_mut_slice().chunks_exact_mut(3).enumerate() {
                let place = place(node);
                (0..3).for_each(|k| to[k] = rows[(place + k) * width + j] * scale);
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
mod tests;
