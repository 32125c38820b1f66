// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pair (K, M) in the order of elimination, and the factorisation of `K − σ M`.

use super::{EigenError, tall};
use crate::solve::{BlockMatrix, Graph, ScalarMatrix, SolveError, SparseCholesky, Symbolic};
use crate::{Mat3, Vec3};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Mat, MatRef, Par, Side};
use rayon::prelude::*;
use std::sync::Arc;

/// Rows of a sparse matrix in the order of elimination.
struct Rows<T> {
    starts: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<T>,
}

/// Stiffness and mass with rows in the order of elimination; vectors are columns, xyz interleaved.
pub(super) struct Pencil<'a> {
    stiffness: &'a BlockMatrix,
    mass: &'a ScalarMatrix,
    rows_k: Rows<Mat3>,
    rows_m: Rows<f64>,
    cholesky: SparseCholesky,
    /// σ of the factorisation.
    pub shift: f64,
    factored: bool,
    /// The largest Euclidean norm of a column of K and of M: lower bounds of their norms.
    pub norm_k: f64,
    pub norm_m: f64,
    /// Mass of a node in the mean.
    pub mean_mass: f64,
}

impl<'a> Pencil<'a> {
    /// Orders and analyses; nothing is factored yet.
    pub fn new(
        stiffness: &'a BlockMatrix,
        mass: &'a ScalarMatrix,
        centres: &[Vec3],
    ) -> Result<Self, EigenError> {
        let n = stiffness.rows();
        let pairs = |i: usize, columns: &'a [u32]| columns.iter().map(move |&j| (i as u32, j));
        let edges = (0..n).flat_map(|i| {
            let of_k = pairs(i, &stiffness.columns()[stiffness.row_range(i)]);
            of_k.chain(pairs(i, &mass.columns()[mass.row_range(i)]))
        });
        let graph = Graph::from_edges(n, edges.filter(|&(i, j)| j < i));
        let symbolic = Arc::new(Symbolic::new(&graph, centres)?);
        let order = &symbolic.ordering().order;
        let rows_k = Rows::new(
            order,
            |i| stiffness.row_range(i),
            stiffness.columns(),
            stiffness.blocks(),
        );
        let rows_m = Rows::new(order, |i| mass.row_range(i), mass.columns(), mass.values());
        let mut column_k = 0.0f64;
        for i in 0..n {
            let mut squares = Vec3::zeros();
            for b in &stiffness.blocks()[stiffness.row_range(i)] {
                squares += b.component_mul(b).column_sum();
            }
            column_k = column_k.max(squares.max());
        }
        let mut column_m = 0.0f64;
        for i in 0..n {
            let squares = mass.values()[mass.row_range(i)].iter().map(|m| m * m);
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
            mean_mass: mass.values().iter().sum::<f64>() / n.max(1) as f64,
        })
    }

    /// Number of unknowns.
    pub fn len(&self) -> usize {
        3 * self.stiffness.rows()
    }

    /// The node at each place of the order of elimination.
    pub fn order(&self) -> &[u32] {
        &self.cholesky.symbolic().ordering().order
    }

    /// Writes `K − σ M` into the factorisation.
    fn fill(&mut self, shift: f64) {
        self.cholesky.clear();
        let symbolic = self.cholesky.symbolic().clone();
        for i in 0..self.stiffness.rows() {
            for e in self.stiffness.row_range(i) {
                let j = self.stiffness.columns()[e] as usize;
                if let (true, Some(slot)) = (j <= i, symbolic.slot(i, j)) {
                    self.cholesky.add(slot, &self.stiffness.blocks()[e]);
                }
            }
            if shift == 0.0 {
                continue;
            }
            for e in self.mass.row_range(i) {
                let j = self.mass.columns()[e] as usize;
                if let (true, Some(slot)) = (j <= i, symbolic.slot(i, j)) {
                    self.cholesky
                        .add_scalar(slot, -shift * self.mass.values()[e]);
                }
            }
        }
    }

    /// Factors `K − σ M`, which has to be positive definite; gives its smallest relative pivot.
    pub fn factor(&mut self, shift: f64) -> Result<f64, SolveError> {
        self.fill(shift);
        self.cholesky.factor()?;
        self.shift = shift;
        self.factored = true;
        Ok(self.cholesky.smallest_pivot().0)
    }

    /// Factors again if a count took the factorisation's place.
    pub fn restore(&mut self) -> Result<(), SolveError> {
        if self.factored {
            return Ok(());
        }
        self.factor(self.shift).map(|_| ())
    }

    /// Number of eigenvalues below `bound`. The factorisation is lost until [`restore`](Self::restore).
    pub fn count_below(&mut self, bound: f64) -> Result<usize, SolveError> {
        self.factored = false;
        self.fill(bound);
        self.cholesky.count_negative()
    }

    /// `(K − σ M)⁻¹ x`, in place.
    pub fn solve(&self, x: &mut Mat<f64>) {
        self.cholesky.solve_columns(x.as_mut());
    }

    /// `K x`.
    pub fn stiffness_times(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        self.rows_k.times(x, |b, x| b * x)
    }

    /// `M x`.
    pub fn mass_times(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        self.rows_m.times(x, |m, x| x * *m)
    }

    /// Refuses a mass matrix that is not positive definite, by factoring it.
    pub fn check_mass(&self) -> Result<(), EigenError> {
        let n = self.mass.rows();
        if n == 0 {
            return Ok(());
        }
        let rows = &self.rows_m;
        let too_large = || EigenError::Solve(SolveError::TooLarge { nodes: n });
        let pattern = SymbolicSparseColMatRef::new_checked(n, n, &rows.starts, None, &rows.columns);
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
            SparseColMatRef::new(pattern, &rows.values),
            Side::Lower,
            Default::default(),
            Par::Seq,
            MemStack::new(&mut memory),
            Default::default(),
        );
        factored.map(|_| ()).map_err(|_| EigenError::Mass)
    }

    /// Connected parts, as places in the order of elimination.
    pub fn parts(&self) -> Vec<Vec<u32>> {
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
                let neighbours = self.rows_k.row(i).iter().chain(self.rows_m.row(i));
                for &j in neighbours {
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

    /// Deterministic numbers between -1 and 1 for so many columns, in terms of the caller's numbering.
    pub fn random(&self, columns: usize, seed: u64) -> Mat<f64> {
        let order = self.order();
        Mat::from_fn(self.len(), columns, |row, column| {
            let node = u64::from(order[row / 3]);
            let hash = mix(mix(seed ^ (column as u64) << 40) ^ (3 * node + row as u64 % 3));
            (hash >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        })
    }

    /// Residual norms `‖K φ − λ M φ‖` and their bounds for a relative tolerance: the larger of
    /// `tolerance · λ ‖M φ‖` and the rounding that no method goes below.
    pub fn residuals(&self, x: MatRef<'_, f64>, values: &[f64], tolerance: f64) -> Vec<(f64, f64)> {
        let mut kx = self.stiffness_times(x);
        let mx = self.mass_times(x);
        for (j, &value) in values.iter().enumerate() {
            for i in 0..kx.nrows() {
                kx[(i, j)] -= value * mx[(i, j)];
            }
        }
        let (r, m, x) = (
            tall::norms(kx.as_ref()),
            tall::norms(mx.as_ref()),
            tall::norms(x),
        );
        (0..values.len())
            .map(|j| {
                let rounding =
                    super::ROUNDING * (self.norm_k + values[j].abs() * self.norm_m) * x[j];
                (r[j], rounding.max(tolerance * values[j].abs() * m[j]))
            })
            .collect()
    }
}

/// The finaliser of splitmix64.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

impl<T: Copy + Sync> Rows<T> {
    fn new(
        order: &[u32],
        range: impl Fn(usize) -> std::ops::Range<usize>,
        columns: &[u32],
        values: &[T],
    ) -> Self {
        let position = crate::solve::ordering::inverse(order);
        let mut rows = Self {
            starts: vec![0],
            columns: Vec::with_capacity(columns.len()),
            values: Vec::with_capacity(values.len()),
        };
        let mut row: Vec<(u32, usize)> = Vec::new();
        for &node in order {
            row.clear();
            row.extend(range(node as usize).map(|e| (position[columns[e] as usize], e)));
            row.sort_unstable();
            for &(column, e) in &row {
                rows.columns.push(column);
                rows.values.push(values[e]);
            }
            rows.starts.push(rows.columns.len() as u32);
        }
        rows
    }

    /// Columns of a row's entries.
    fn row(&self, row: u32) -> &[u32] {
        let (a, b) = (self.starts[row as usize], self.starts[row as usize + 1]);
        &self.columns[a as usize..b as usize]
    }

    /// The matrix times each column, one column per task.
    fn times(&self, x: MatRef<'_, f64>, entry: impl Fn(&T, Vec3) -> Vec3 + Sync) -> Mat<f64> {
        let mut y = Mat::zeros(x.nrows(), x.ncols());
        let columns: Vec<_> = x.col_iter().zip(y.as_mut().col_iter_mut()).collect();
        columns.into_par_iter().for_each(|(x, mut y)| {
            let x = x.try_as_col_major().map(|x| x.as_slice());
            let y = y.as_mut().try_as_col_major_mut().map(|y| y.as_slice_mut());
            let (Some(x), Some(y)) = (x, y) else {
                return;
            };
            let x = x.as_chunks::<3>().0;
            for (row, y) in y.as_chunks_mut::<3>().0.iter_mut().enumerate() {
                let mut sum = Vec3::zeros();
                for e in self.starts[row] as usize..self.starts[row + 1] as usize {
                    sum += entry(&self.values[e], x[self.columns[e] as usize].into());
                }
                *y = sum.into();
            }
        });
        y
    }
}
