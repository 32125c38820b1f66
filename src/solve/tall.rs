// SPDX-License-Identifier: MIT OR Apache-2.0
//! Products of tall matrices (one row per unknown, one column per vector), in chunks of rows on all
//! threads.
//!
//! Chunks have a fixed length and their sums are added in order, so results do not depend on the number of
//! threads.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par, Side};

/// Number of rows of a chunk.
const CHUNK_ROWS: usize = 3072;

/// Computes `aᵀ b`.
pub(crate) fn transposed_product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let (n, rows, columns) = (a.nrows(), a.ncols(), b.ncols());
    let partial = |from: usize, to: usize| {
        let mut product = Mat::zeros(rows, columns);
        matmul(
            product.as_mut(),
            Accum::Replace,
            a.subrows(from, to - from).transpose(),
            b.subrows(from, to - from),
            1.0,
            Par::Seq,
        );
        product
    };
    sum_chunks(0, n, &partial)
}

/// Sums over fixed chunks; splits between threads where a chunk ends.
fn sum_chunks(
    from: usize,
    to: usize,
    partial: &(impl Fn(usize, usize) -> Mat<f64> + Sync),
) -> Mat<f64> {
    if to - from <= CHUNK_ROWS {
        return partial(from, to);
    }
    let middle = from + (to - from).div_ceil(CHUNK_ROWS) / 2 * CHUNK_ROWS;
    let (mut left, right) = rayon::join(
        || sum_chunks(from, middle, partial),
        || sum_chunks(middle, to, partial),
    );
    left += right;
    left
}

/// Computes `w += factor · v c` or, with [`Accum::Replace`], `w = factor · v c`.
pub(crate) fn add_product(
    w: MatMut<'_, f64>,
    v: MatRef<'_, f64>,
    c: MatRef<'_, f64>,
    factor: f64,
    accumulate: Accum,
) {
    // Wide products give a thread enough work with fewer rows.
    let chunk = CHUNK_ROWS.min((1 << 22) / (v.ncols() * c.ncols()).max(1) + 16);
    if w.nrows() <= chunk {
        matmul(w, accumulate, v, c, factor, Par::Seq);
        return;
    }
    let middle = w.nrows().div_ceil(chunk) / 2 * chunk;
    let (top, bottom) = w.split_at_row_mut(middle);
    let (v_top, v_bottom) = v.split_at_row(middle);
    rayon::join(
        || add_product(top, v_top, c, factor, accumulate),
        || add_product(bottom, v_bottom, c, factor, accumulate),
    );
}

/// Computes `v c`.
pub(crate) fn product(v: MatRef<'_, f64>, c: MatRef<'_, f64>) -> Mat<f64> {
    let mut w = Mat::zeros(v.nrows(), c.ncols());
    add_product(w.as_mut(), v, c, 1.0, Accum::Replace);
    w
}

/// Computes `a x`.
pub(crate) fn matrix_vector(a: &Mat<f64>, x: &[f64]) -> Vec<f64> {
    let x = MatRef::from_column_major_slice(x, x.len(), 1);
    product(a.as_ref(), x).col(0).iter().copied().collect()
}

/// Computes `aᵀ x`.
pub(crate) fn transposed_vector(a: &Mat<f64>, x: &[f64]) -> Vec<f64> {
    let x = MatRef::from_column_major_slice(x, x.len(), 1);
    transposed_product(a.as_ref(), x)
        .col(0)
        .iter()
        .copied()
        .collect()
}

/// Symmetrises a small matrix that is symmetric up to rounding.
pub(crate) fn symmetrise(a: &mut Mat<f64>) {
    for j in 0..a.ncols() {
        for i in 0..j {
            let mean = 0.5 * (a[(i, j)] + a[(j, i)]);
            a[(i, j)] = mean;
            a[(j, i)] = mean;
        }
    }
}

/// Returns the eigenvalues, ascending, and the eigenvectors of a small symmetric matrix; `None` if an entry
/// or a result is not finite.
pub(crate) fn symmetric_eigen(a: MatRef<'_, f64>) -> Option<(Vec<f64>, Mat<f64>)> {
    // Beyond 32 columns faer's divide and conquer needs entries near one; scaling by a power of two costs
    // no digits.
    let largest = a.norm_max();
    if !largest.is_finite() {
        return None;
    }
    let unit = if largest > 0.0 {
        2f64.powi(largest.log2().floor() as i32)
    } else {
        1.0
    };
    let scaled = Mat::from_fn(a.nrows(), a.ncols(), |i, j| a[(i, j)] / unit);
    let eigen = scaled.self_adjoint_eigen(Side::Lower).ok()?;
    let values: Vec<f64> = eigen.S().column_vector().iter().map(|v| v * unit).collect();
    let finite = values.iter().all(|v| v.is_finite());
    finite.then(|| (values, eigen.U().to_owned()))
}

/// Returns the Euclidean norms of the columns.
pub(crate) fn column_norms(a: MatRef<'_, f64>) -> Vec<f64> {
    (0..a.ncols()).map(|j| a.col(j).norm_l2()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Products in chunks agree with the plain products.
    #[test]
    fn chunked_products_match_plain() {
        let at = |i: usize, j: usize| ((7 * i + 13 * j) as f64).sin();
        for n in [1, CHUNK_ROWS, 2 * CHUNK_ROWS + 5] {
            let (a, b) = (Mat::from_fn(n, 3, at), Mat::from_fn(n, 2, |i, j| at(j, i)));
            let plain = a.transpose() * &b;
            assert!((transposed_product(a.as_ref(), b.as_ref()) - &plain).norm_max() < 1e-10);
            let mut w = b.clone();
            add_product(w.as_mut(), a.as_ref(), plain.as_ref(), -0.5, Accum::Add);
            assert!((w - (b - 0.5 * (&a * &plain))).norm_max() < 1e-9);
        }
    }
}
