// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pair (K, M) in elimination order, and the factorisation of `K − σ M`.

use super::EigenError;
use crate::Vec3;
use crate::solve::columns::{copy_to_columns, to_row_major};
use crate::solve::matrix::MatrixEntry;
use crate::solve::tall;
use crate::solve::{
    BlockMatrix, Graph, NodeMatrix, ScalarMatrix, SolveError, SparseCholesky, SymbolicCholesky,
};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Mat, MatRef, Par, Side};
use rayon::prelude::*;
use sprs::{CsMatI, PermOwnedI, transform_mat_papt};
use std::sync::Arc;

/// Residuals below this share of `(‖K‖ + λ ‖M‖) ‖φ‖` are rounding.
pub(super) const RESIDUAL_ROUNDING: f64 = 1e-13;
/// Number of nodes of one task of a product.
const NODES_PER_TASK: usize = 512;

/// Stiffness and mass with rows in elimination order. Vectors are columns, xyz interleaved.
pub(super) struct Pencil<'a> {
    stiffness: &'a BlockMatrix,
    mass: &'a ScalarMatrix,
    rows_k: BlockMatrix,
    rows_m: ScalarMatrix,
    cholesky: SparseCholesky,
    /// σ of the factorisation.
    pub shift: f64,
    factored: bool,
    /// Largest Euclidean norms of a column of K and of M: lower bounds of the norms of K and M.
    pub norm_k: f64,
    pub norm_m: f64,
    /// Mean mass of a node, kg.
    pub mean_mass: f64,
}

impl<'a> Pencil<'a> {
    /// Permutes the matrices with an analysed pattern. Nothing is factored yet.
    pub fn new(
        stiffness: &'a BlockMatrix,
        mass: &'a ScalarMatrix,
        symbolic: Arc<SymbolicCholesky>,
    ) -> Result<Self, EigenError> {
        let n = stiffness.rows();
        let order = PermOwnedI::new(symbolic.ordering().order.clone());
        let rows_k = transform_mat_papt(stiffness.view(), order.view());
        let rows_m = transform_mat_papt(mass.view(), order.view());
        let mut column_k = 0.0f64;
        for i in 0..n {
            let mut squares = Vec3::zeros();
            for b in &stiffness.data()[stiffness.row_range(i)] {
                squares += b.component_mul(b).column_sum();
            }
            column_k = column_k.max(squares.max());
        }
        let mut column_m = 0.0f64;
        for i in 0..n {
            let squares = mass.data()[mass.row_range(i)].iter().map(|m| m * m);
            column_m = column_m.max(squares.sum());
        }
        Ok(Self {
            cholesky: SparseCholesky::new(symbolic)?,
            stiffness,
            mass,
            rows_k,
            rows_m,
            shift: 0.0,
            factored: false,
            norm_k: column_k.sqrt(),
            norm_m: column_m.sqrt(),
            mean_mass: mass.data().iter().sum::<f64>() / n.max(1) as f64,
        })
    }

    /// Returns the number of unknowns.
    pub fn len(&self) -> usize {
        3 * self.stiffness.rows()
    }

    /// Returns the node at each position of the elimination order.
    pub fn order(&self) -> &[u32] {
        &self.cholesky.symbolic().ordering().order
    }

    /// Writes `K − σ M` into the factorisation.
    fn fill_shifted(&mut self, shift: f64) {
        self.cholesky.clear();
        let symbolic = self.cholesky.symbolic().clone();
        for i in 0..self.stiffness.rows() {
            for e in self.stiffness.row_range(i) {
                let j = self.stiffness.indices()[e] as usize;
                if let (true, Some(slot)) = (j <= i, symbolic.slot(i, j)) {
                    self.cholesky.add(slot, &self.stiffness.data()[e]);
                }
            }
            if shift == 0.0 {
                continue;
            }
            for e in self.mass.row_range(i) {
                let j = self.mass.indices()[e] as usize;
                if let (true, Some(slot)) = (j <= i, symbolic.slot(i, j)) {
                    self.cholesky.add_scalar(slot, -shift * self.mass.data()[e]);
                }
            }
        }
    }

    /// Factors `K − σ M`, which has to be positive definite, and returns its smallest relative pivot.
    pub fn factor(&mut self, shift: f64) -> Result<f64, SolveError> {
        self.fill_shifted(shift);
        self.cholesky.factor()?;
        self.shift = shift;
        self.factored = true;
        Ok(self.cholesky.smallest_pivot_ratio().0)
    }

    /// Factors again if a count overwrote the factorisation.
    pub fn restore(&mut self) -> Result<(), SolveError> {
        if self.factored {
            return Ok(());
        }
        self.factor(self.shift).map(|_| ())
    }

    /// Counts the eigenvalues below `bound`. The factorisation is lost until [`restore`](Self::restore).
    pub fn count_below(&mut self, bound: f64) -> Result<usize, SolveError> {
        self.factored = false;
        self.fill_shifted(bound);
        self.cholesky.count_negative()
    }

    /// Computes `(K − σ M)⁻¹ x` in place.
    pub fn solve(&self, x: &mut Mat<f64>) {
        self.cholesky.solve_columns(x.as_mut());
    }

    /// Computes `K x`.
    pub fn stiffness_times(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        multiply_columns(&self.rows_k, x, |b, x, y| {
            let width = x.len() / 3;
            for (r, y) in y.chunks_exact_mut(width).enumerate() {
                for (c, x) in x.chunks_exact(width).enumerate() {
                    let b = b[(r, c)];
                    y.iter_mut().zip(x).for_each(|(y, x)| *y += b * x);
                }
            }
        })
    }

    /// Computes `M x`.
    pub fn mass_times(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        multiply_columns(&self.rows_m, x, |m, x, y| {
            y.iter_mut().zip(x).for_each(|(y, x)| *y += m * x);
        })
    }

    /// Checks by factoring that the mass matrix is positive definite.
    pub fn check_mass(&self) -> Result<(), EigenError> {
        let n = self.mass.rows();
        if n == 0 {
            return Ok(());
        }
        let rows = &self.rows_m;
        let too_large = || EigenError::Solve(SolveError::TooLarge { nodes: n });
        // Symmetric, so rows equal columns.
        let starts = rows.indptr();
        let starts = starts.raw_storage();
        let pattern = SymbolicSparseColMatRef::new_checked(n, n, starts, None, rows.indices());
        let symbolic = factorize_symbolic_cholesky(
            pattern,
            Side::Lower,
            SymmetricOrdering::Identity,
            CholeskySymbolicParams::default(),
        )
        .map_err(|_| too_large())?;
        let scratch = symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Default::default());
        let mut memory = MemBuffer::try_new(scratch).map_err(|_| too_large())?;
        let mut values = vec![0.0; symbolic.len_val()];
        let factored = symbolic.factorize_numeric_llt(
            &mut values,
            SparseColMatRef::new(pattern, rows.data()),
            Side::Lower,
            Default::default(),
            Par::Seq,
            MemStack::new(&mut memory),
            Default::default(),
        );
        factored.map(|_| ()).map_err(|_| EigenError::Mass)
    }

    /// Returns the connected parts, as positions in the elimination order.
    pub fn connected_parts(&self) -> Vec<Vec<u32>> {
        let n = self.order().len();
        let mut seen = vec![false; n];
        let mut parts = Vec::new();
        for start in 0..n {
            if seen[start] {
                continue;
            }
            seen[start] = true;
            let mut part = vec![start as u32];
            let mut done = 0;
            while let Some(&i) = part.get(done) {
                done += 1;
                let of_k = &self.rows_k.indices()[self.rows_k.row_range(i as usize)];
                let of_m = &self.rows_m.indices()[self.rows_m.row_range(i as usize)];
                for &j in of_k.iter().chain(of_m) {
                    if !std::mem::replace(&mut seen[j as usize], true) {
                        part.push(j);
                    }
                }
            }
            part.sort_unstable();
            parts.push(part);
        }
        parts
    }

    /// Draws deterministic numbers between -1 and 1 for `columns` columns; they depend on the caller's numbering, not on the
    /// elimination order.
    pub fn random_columns(&self, columns: usize, seed: u64) -> Mat<f64> {
        let order = self.order();
        Mat::from_fn(self.len(), columns, |row, column| {
            let node = u64::from(order[row / 3]);
            let hash =
                mix_bits(mix_bits(seed ^ (column as u64) << 40) ^ (3 * node + row as u64 % 3));
            (hash >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        })
    }

    /// Returns the residual norms `‖K φ − λ M φ‖` and their bounds for a relative tolerance: the larger of `tolerance · λ ‖M φ‖`
    /// and the rounding error that no method avoids.
    pub fn residuals(&self, x: MatRef<'_, f64>, values: &[f64], tolerance: f64) -> Vec<(f64, f64)> {
        let mut kx = self.stiffness_times(x);
        let mx = self.mass_times(x);
        for (j, &value) in values.iter().enumerate() {
            for i in 0..kx.nrows() {
                kx[(i, j)] -= value * mx[(i, j)];
            }
        }
        let (r, m, x) = (
            tall::column_norms(kx.as_ref()),
            tall::column_norms(mx.as_ref()),
            tall::column_norms(x),
        );
        (0..values.len())
            .map(|j| {
                let rounding =
                    RESIDUAL_ROUNDING * (self.norm_k + values[j].abs() * self.norm_m) * x[j];
                (r[j], rounding.max(tolerance * values[j].abs() * m[j]))
            })
            .collect()
    }
}

/// Builds the graph of nodes that share an entry in either matrix.
pub(super) fn graph(stiffness: &BlockMatrix, mass: &ScalarMatrix) -> Graph {
    let n = stiffness.rows();
    let edges = (0..n).flat_map(|i| {
        let of_k = &stiffness.indices()[stiffness.row_range(i)];
        let of_m = &mass.indices()[mass.row_range(i)];
        of_k.iter().chain(of_m).map(move |&j| (i as u32, j))
    });
    Graph::from_edges(n, edges.filter(|&(i, j)| j < i))
}

/// Applies the finaliser of splitmix64.
fn mix_bits(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Multiplies a matrix over nodes by each column. `entry` adds an entry times three rows of `x` to three rows of `y`. Rows of the
/// product are independent, in fixed chunks, so the result does not depend on the number of threads.
fn multiply_columns<T: MatrixEntry + Sync>(
    matrix: &CsMatI<T, u32>,
    x: MatRef<'_, f64>,
    entry: impl Fn(&T, &[f64], &mut [f64]) + Sync,
) -> Mat<f64> {
    // Values of a node are contiguous, so that an entry is read once for all columns.
    let node = 3 * x.ncols();
    let mut y = Mat::zeros(x.nrows(), x.ncols());
    if node == 0 {
        return y;
    }
    let x = to_row_major(x);
    let mut rows = vec![0.0; x.len()];
    let tasks = rows.par_chunks_mut(NODES_PER_TASK * node).enumerate();
    tasks.for_each(|(task, rows)| {
        for (i, y) in rows.chunks_exact_mut(node).enumerate() {
            for e in matrix.row_range(NODES_PER_TASK * task + i) {
                let from = matrix.indices()[e] as usize * node;
                entry(&matrix.data()[e], &x[from..from + node], y);
            }
        }
    });
    copy_to_columns(&rows, y.as_mut());
    y
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mat3;
    use crate::solve::matrix::zeros;

    /// Builds a ring long enough for several tasks.
    fn ring() -> (BlockMatrix, ScalarMatrix, Vec<Vec3>) {
        let n = 3 * NODES_PER_TASK as u32 + 41;
        let edges: Vec<[u32; 2]> = (0..n).map(|i| [i, (i + 1) % n]).collect();
        let corners = || edges.iter().map(|e| e.as_slice());
        let mut stiffness: BlockMatrix = zeros(n as usize, corners());
        let mut mass: ScalarMatrix = zeros(n as usize, corners());
        for (e, [a, b]) in edges.iter().copied().enumerate() {
            let g = Vec3::new(1.0, (e as f64).sin(), (e as f64).cos());
            let block = g * g.transpose() + Mat3::identity();
            for (row, column, sign) in [(a, a, 1.0), (b, b, 1.0), (a, b, -1.0)] {
                stiffness.add_pair(row, column, &(block * sign));
                mass.add_pair(row, column, &(2.0 + sign));
            }
        }
        let angle = |i: u32| f64::from(i) * std::f64::consts::TAU / f64::from(n);
        let centres = (0..n).map(|i| Vec3::new(angle(i).cos(), angle(i).sin(), 0.0));
        (stiffness, mass, centres.collect())
    }

    fn thread_pool(count: usize) -> rayon::ThreadPool {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count);
        pool.build().unwrap()
    }

    /// The products equal those of the matrices, with the same bits on any number of threads.
    #[test]
    fn products_ignore_thread_count() {
        let (stiffness, mass, centres) = ring();
        let symbolic = SymbolicCholesky::new(&graph(&stiffness, &mass), &centres).unwrap();
        let pencil = Pencil::new(&stiffness, &mass, Arc::new(symbolic)).unwrap();
        let x = pencil.random_columns(4, 7);
        let products = || {
            (
                pencil.stiffness_times(x.as_ref()),
                pencil.mass_times(x.as_ref()),
            )
        };
        let (kx, mx) = thread_pool(1).install(products);
        for count in [2, 3, 8] {
            assert_eq!(
                thread_pool(count).install(products),
                (kx.clone(), mx.clone())
            );
        }
        let order = pencil.order();
        let taken = |of: &Mat<f64>, place: usize, column: usize| {
            let at = |c: usize| of[(3 * place + c, column)];
            Vec3::new(at(0), at(1), at(2))
        };
        for column in 0..4 {
            let mut by_node = vec![Vec3::zeros(); centres.len()];
            for (place, &node) in order.iter().enumerate() {
                by_node[node as usize] = taken(&x, place, column);
            }
            for (place, &node) in order.iter().enumerate() {
                let (k, m) = (
                    stiffness.row_times(node as usize, &by_node),
                    mass.row_times(node as usize, &by_node),
                );
                assert!((taken(&kx, place, column) - k).amax() < 1e-13);
                assert!((taken(&mx, place, column) - m).amax() < 1e-13);
            }
        }
    }
}
