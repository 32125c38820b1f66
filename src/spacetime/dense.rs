// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dense products in fixed chunks of rows on all threads: results do not depend on how many there are.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};

/// Rows of a chunk.
const ROWS: usize = 1536;

/// `a b`.
pub(super) fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut c = Mat::zeros(a.nrows(), b.ncols());
    into(c.as_mut(), a, b);
    c
}

fn into(c: MatMut<'_, f64>, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    let rows = a.nrows();
    // Enough work for a thread, whatever the shape.
    let chunk = ROWS.min((1 << 22) / (a.ncols() * b.ncols()).max(1) + 16);
    if rows <= chunk {
        matmul(c, Accum::Replace, a, b, 1.0, Par::Seq);
        return;
    }
    let middle = (rows / 2).div_ceil(chunk) * chunk;
    let (top, bottom) = c.split_at_row_mut(middle.min(rows));
    let (a_top, a_bottom) = a.split_at_row(middle.min(rows));
    rayon::join(|| into(top, a_top, b), || into(bottom, a_bottom, b));
}

/// `aᵀ b` of tall matrices.
pub(super) fn inner(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    if a.nrows() <= ROWS {
        let mut c = Mat::zeros(a.ncols(), b.ncols());
        matmul(c.as_mut(), Accum::Replace, a.transpose(), b, 1.0, Par::Seq);
        return c;
    }
    let middle = (a.nrows() / 2).div_ceil(ROWS) * ROWS;
    let ((a_top, a_bottom), (b_top, b_bottom)) = (a.split_at_row(middle), b.split_at_row(middle));
    let (mut top, bottom) = rayon::join(|| inner(a_top, b_top), || inner(a_bottom, b_bottom));
    top += bottom;
    top
}

/// `a x`.
pub(super) fn times(a: &Mat<f64>, x: &[f64]) -> Vec<f64> {
    let x = MatRef::from_column_major_slice(x, x.len(), 1);
    product(a.as_ref(), x).col(0).iter().copied().collect()
}

/// `aᵀ x`.
pub(super) fn transposed_times(a: &Mat<f64>, x: &[f64]) -> Vec<f64> {
    let x = MatRef::from_column_major_slice(x, x.len(), 1);
    inner(a.as_ref(), x).col(0).iter().copied().collect()
}
