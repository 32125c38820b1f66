// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reduced space: a reference shape plus combinations of a few columns. [hildebrandt2012, §3.1, §5]
//!
//! Columns are differences of keyframes, prescribed velocities and modes, each scaled to length one. A singular value decomposition
//! makes them orthonormal and drops dependent ones. Fixed vertices have no rows. Small bodies keep their full space.

use super::dense::StoredDense;
use crate::Vec3;
use crate::range::is_position;
use crate::solve::tall::{matrix_vector, product, transposed_product, transposed_vector};
use crate::solve::{BlockMatrix, NodeMatrix};
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::prelude::ReborrowMut;
use faer::{Mat, MatMut, MatRef, Par, Side};
use rayon::prelude::*;
use std::borrow::Cow;

/// Singular value, as a share of the largest, below which a column is dependent.
const RANK_TOLERANCE: f64 = 1e-8;
/// Largest number of unknowns of a full space that is read from a file: its matrices are dense.
const MAX_WHOLE_ROWS: usize = 1 << 14;
/// Number of nodes of a task.
const NODES_PER_TASK: usize = 512;

/// The space of shapes `reference + U q`.
#[derive(Debug, Clone)]
pub(super) struct ShapeSpace {
    pub reference: Vec<Vec3>,
    /// Vertices that are not fixed, ascending.
    pub free: Vec<u32>,
    /// U: three rows per free vertex, orthonormal columns.
    pub basis: Mat<f64>,
    /// Whether U is the identity.
    whole: bool,
    /// Mass of each row.
    masses: Vec<f64>,
    /// `M̄ = UᵀMU`, and its Cholesky factor L.
    pub mass: Mat<f64>,
    pub factor: Mat<f64>,
}

/// File format of a space.
#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct StoredSpace<'a> {
    reference: Cow<'a, [Vec3]>,
    free: Cow<'a, [u32]>,
    /// `None`: the full space.
    basis: Option<StoredDense>,
}

impl<'a> StoredSpace<'a> {
    pub fn new(space: &'a ShapeSpace) -> Self {
        Self {
            reference: Cow::Borrowed(&space.reference),
            free: Cow::Borrowed(&space.free),
            basis: (!space.whole).then(|| StoredDense::new(&space.basis)),
        }
    }

    /// Builds the space of a body with these masses; `None` where it does not fit.
    pub fn into_space(self, masses: &[f64]) -> Option<ShapeSpace> {
        let (nodes, rows) = (masses.len(), 3 * self.free.len());
        let good = self.reference.len() == nodes
            && self.reference.iter().all(is_position)
            && !self.free.is_empty()
            && self.free.windows(2).all(|pair| pair[0] < pair[1])
            && self.free.iter().all(|&v| (v as usize) < nodes);
        if !good {
            return None;
        }
        let whole = self.basis.is_none();
        let basis = match self.basis {
            Some(basis) if (1..=rows).contains(&basis.columns()) => {
                let columns = basis.columns();
                basis.into_matrix((rows, columns))?
            }
            None if rows <= MAX_WHOLE_ROWS => Mat::identity(rows, rows),
            _ => return None,
        };
        let (reference, free) = (self.reference.into_owned(), self.free.into_owned());
        ShapeSpace::with_basis(reference, free, masses, basis, whole)
    }
}

impl ShapeSpace {
    /// Spans the columns over the free vertices, or the full space if `whole`; `None` where the span is empty.
    pub fn new(
        reference: Vec<Vec3>,
        free: Vec<u32>,
        masses: &[f64],
        columns: &[Vec<f64>],
        whole: bool,
    ) -> Option<Self> {
        let rows = 3 * free.len();
        let basis = if whole {
            Mat::identity(rows, rows)
        } else {
            orthonormal_basis(rows, columns)?
        };
        Self::with_basis(reference, free, masses, basis, whole)
    }

    /// Takes an orthonormal basis; `None` where its mass is not positive.
    fn with_basis(
        reference: Vec<Vec3>,
        free: Vec<u32>,
        masses: &[f64],
        basis: Mat<f64>,
        whole: bool,
    ) -> Option<Self> {
        let masses: Vec<f64> = free.iter().flat_map(|&v| [masses[v as usize]; 3]).collect();
        let mut weighted = basis.clone();
        for j in 0..weighted.ncols() {
            let column = weighted.col_mut(j).iter_mut();
            column.zip(&masses).for_each(|(u, m)| *u *= m);
        }
        let mass = if whole {
            weighted
        } else {
            transposed_product(basis.as_ref(), weighted.as_ref())
        };
        let factor = mass.llt(Side::Lower).ok()?.L().to_owned();
        Some(Self {
            reference,
            free,
            basis,
            whole,
            masses,
            mass,
            factor,
        })
    }

    /// Returns whether this is the full space.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Returns the number of coordinates.
    pub fn dimension(&self) -> usize {
        self.basis.ncols()
    }

    /// Returns the rows of a field with one vector per vertex.
    pub fn field_rows(&self, of: impl Fn(usize) -> Vec3) -> Vec<f64> {
        let rows = self.free.iter().flat_map(|&v| {
            let x = of(v as usize);
            [x.x, x.y, x.z]
        });
        rows.collect()
    }

    /// Returns the coordinates nearest to a field in the norm of the mass: `M̄⁻¹ Uᵀ M x`.
    pub fn nearest_coordinates(&self, field: impl Fn(usize) -> Vec3) -> Vec<f64> {
        let mut rows = self.field_rows(field);
        if self.whole {
            return rows;
        }
        if rows.iter().all(|&x| x == 0.0) {
            return vec![0.0; self.dimension()];
        }
        rows.iter_mut().zip(&self.masses).for_each(|(x, m)| *x *= m);
        let projected = transposed_vector(&self.basis, &rows);
        self.solve_mass(projected)
    }

    /// Returns the coordinates nearest to a shape.
    pub fn coordinates(&self, shape: &[Vec3]) -> Vec<f64> {
        self.nearest_coordinates(|v| shape[v] - self.reference[v])
    }

    fn solve_mass(&self, mut x: Vec<f64>) -> Vec<f64> {
        let n = x.len();
        let l = self.factor.as_ref();
        let mut column = MatMut::from_column_major_slice_mut(&mut x, n, 1);
        solve_lower_triangular_in_place(l, column.rb_mut(), Par::Seq);
        solve_upper_triangular_in_place(l.transpose(), column, Par::Seq);
        x
    }

    /// Returns `Uᵀ x` for one vector per vertex.
    pub fn project(&self, of: impl Fn(usize) -> Vec3) -> Vec<f64> {
        let rows = self.field_rows(of);
        if self.whole {
            return rows;
        }
        transposed_vector(&self.basis, &rows)
    }

    /// Returns `Uᵀ M x` for one vector per vertex.
    pub fn project_mass(&self, of: impl Fn(usize) -> Vec3) -> Vec<f64> {
        let mut rows = self.field_rows(of);
        if rows.iter().all(|&x| x == 0.0) {
            return vec![0.0; self.dimension()];
        }
        rows.iter_mut().zip(&self.masses).for_each(|(x, m)| *x *= m);
        if self.whole {
            return rows;
        }
        transposed_vector(&self.basis, &rows)
    }

    /// Returns the shape at coordinates.
    pub fn shape(&self, coordinates: &[f64]) -> Vec<Vec3> {
        let moved = matrix_vector(&self.basis, coordinates);
        let mut shape = self.reference.clone();
        for (&v, u) in self.free.iter().zip(moved.chunks_exact(3)) {
            shape[v as usize] += Vec3::new(u[0], u[1], u[2]);
        }
        shape
    }

    /// Returns `UᵀKU` for a matrix over all vertices.
    pub fn reduce_matrix(&self, matrix: &BlockMatrix) -> Mat<f64> {
        let d = self.dimension();
        let mut number = vec![u32::MAX; matrix.rows()];
        for (i, &v) in self.free.iter().enumerate() {
            number[v as usize] = i as u32;
        }
        if self.whole {
            let mut dense = Mat::zeros(d, d);
            for (i, &v) in self.free.iter().enumerate() {
                for e in matrix.row_range(v as usize) {
                    let j = number[matrix.indices()[e] as usize];
                    if j != u32::MAX {
                        for r in 0..3 {
                            for c in 0..3 {
                                dense[(3 * i + r, 3 * j as usize + c)] += matrix.data()[e][(r, c)];
                            }
                        }
                    }
                }
            }
            return dense;
        }
        // Row-major.
        let mut rows = vec![0.0; self.basis.nrows() * d];
        for (j, column) in self.basis.col_iter().enumerate() {
            for (row, u) in rows.chunks_exact_mut(d).zip(column.iter()) {
                row[j] = *u;
            }
        }
        let chunks = self.free.len().div_ceil(NODES_PER_TASK);
        let partial = |chunk: usize| {
            let from = chunk * NODES_PER_TASK;
            let nodes = &self.free[from..(from + NODES_PER_TASK).min(self.free.len())];
            let mut product = vec![0.0; 3 * nodes.len() * d];
            for (&v, y) in nodes.iter().zip(product.chunks_exact_mut(3 * d)) {
                for e in matrix.row_range(v as usize) {
                    let j = number[matrix.indices()[e] as usize] as usize;
                    if j == u32::MAX as usize {
                        continue;
                    }
                    let block = &matrix.data()[e];
                    let x = &rows[3 * j * d..3 * (j + 1) * d];
                    for (r, y) in y.chunks_exact_mut(d).enumerate() {
                        for (c, x) in x.chunks_exact(d).enumerate() {
                            let b = block[(r, c)];
                            y.iter_mut().zip(x).for_each(|(y, x)| *y += b * x);
                        }
                    }
                }
            }
            let n = 3 * nodes.len();
            let product = MatRef::from_row_major_slice(&product, n, d);
            transposed_product(self.basis.subrows(3 * from, n), product)
        };
        let partials: Vec<Mat<f64>> = (0..chunks).into_par_iter().map(partial).collect();
        let mut sum = Mat::zeros(d, d);
        partials.into_iter().for_each(|p| sum += p);
        sum
    }

    /// Returns the rows of U of some vertices; zero for fixed ones.
    pub fn basis_rows(&self, vertices: &[u32]) -> Mat<f64> {
        let d = self.dimension();
        let mut rows = Mat::zeros(3 * vertices.len(), d);
        for (i, v) in vertices.iter().enumerate() {
            if let Ok(at) = self.free.binary_search(v) {
                for r in 0..3 {
                    for j in 0..d {
                        rows[(3 * i + r, j)] = self.basis[(3 * at + r, j)];
                    }
                }
            }
        }
        rows
    }
}

/// Returns an orthonormal basis of the span of columns; `None` where it is empty.
fn orthonormal_basis(rows: usize, columns: &[Vec<f64>]) -> Option<Mat<f64>> {
    let norms = columns
        .iter()
        .map(|c| c.iter().map(|x| x * x).sum::<f64>().sqrt());
    let kept: Vec<(&Vec<f64>, f64)> = columns
        .iter()
        .zip(norms)
        .filter(|(_, norm)| *norm > 0.0 && norm.is_finite())
        .collect();
    if kept.is_empty() {
        return None;
    }
    let all = Mat::from_fn(rows, kept.len(), |i, j| kept[j].0[i] / kept[j].1);
    // The triangular factor has the same singular values, and U up to the orthogonal factor.
    let (q, r) = if rows > kept.len() {
        let qr = all.qr();
        (qr.compute_thin_Q(), qr.thin_R().to_owned())
    } else {
        (Mat::identity(rows, rows), all)
    };
    let svd = r.thin_svd().ok()?;
    let values = svd.S().column_vector();
    let rank = values
        .iter()
        .filter(|&&s| s > RANK_TOLERANCE * values[0])
        .count();
    Some(product(q.as_ref(), svd.U().subcols(0, rank)))
}
