// SPDX-License-Identifier: MIT OR Apache-2.0
//! Products of row-major f32 matrices on one thread, and small systems in packed form.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// Views row-major numbers as a matrix of `columns`.
pub(super) fn row_major(data: &[f32], columns: usize) -> MatRef<'_, f32> {
    MatRef::from_row_major_slice(data, data.len() / columns, columns)
}

/// Computes `to = factor a b`, or adds it to `to`.
pub(super) fn multiply(
    to: &mut [f32],
    accumulate: Accum,
    a: MatRef<'_, f32>,
    b: MatRef<'_, f32>,
    factor: f32,
) {
    let to = MatMut::from_row_major_slice_mut(to, a.nrows(), b.ncols());
    matmul(to, accumulate, a, b, factor, Par::Seq);
}

/// Returns the index of entry (i, j ≤ i) of a packed lower triangle.
#[inline]
pub(super) fn packed_index(i: usize, j: usize) -> usize {
    i * (i + 1) / 2 + j
}

/// Returns the number of entries of a packed triangle of `n` rows.
pub(super) fn packed_len(n: usize) -> usize {
    n * (n + 1) / 2
}

/// Solves `A X = B` in place for a packed symmetric positive definite A and B `[n, columns]`, by Cholesky's factor, which replaces A.
/// Pivots below `floor` are raised to it, which damps directions that A does not determine.
pub(super) fn solve_packed(a: &mut [f64], b: &mut [f64], columns: usize, floor: f64) {
    let n = b.len() / columns;
    for i in 0..n {
        let (above, row) = a.split_at_mut(packed_index(i, 0));
        for j in 0..i {
            let other = &above[packed_index(j, 0)..];
            let sum: f64 = (0..j).map(|k| row[k] * other[k]).sum();
            row[j] = (row[j] - sum) / other[j];
        }
        let square: f64 = row[..i].iter().map(|x| x * x).sum();
        row[i] = (row[i] - square).max(floor).sqrt();
        for c in 0..columns {
            let sum: f64 = (0..i).map(|k| row[k] * b[k * columns + c]).sum();
            b[i * columns + c] = (b[i * columns + c] - sum) / row[i];
        }
    }
    for i in (0..n).rev() {
        for c in 0..columns {
            let below = (i + 1..n).map(|k| a[packed_index(k, i)] * b[k * columns + c]);
            b[i * columns + c] = (b[i * columns + c] - below.sum::<f64>()) / a[packed_index(i, i)];
        }
    }
}

/// Returns an orthonormal basis of the span of the columns of `curves` `[F, count]`, by Gram and Schmidt's method with each column
/// projected twice. A column in the span of those before it becomes 0.
pub(super) fn orthonormal_columns(curves: &[f32], count: usize) -> Vec<f32> {
    let frames = curves.len() / count;
    let mut columns: Vec<Vec<f64>> = Vec::with_capacity(count);
    for k in 0..count {
        let mut column: Vec<f64> = (0..frames).map(|f| curves[f * count + k].into()).collect();
        let before = dot(&column, &column);
        for _ in 0..2 {
            for other in &columns {
                let along = dot(&column, other);
                column
                    .iter_mut()
                    .zip(other)
                    .for_each(|(x, o)| *x -= along * o);
            }
        }
        let square = dot(&column, &column);
        // What rounding of single precision leaves of a dependent column is below 1e-7 of it.
        let scale = if square > 1e-12 * before {
            square.sqrt().recip()
        } else {
            0.0
        };
        column.iter_mut().for_each(|x| *x *= scale);
        columns.push(column);
    }
    let entry = |i: usize| columns[i % count][i / count] as f32;
    (0..curves.len()).map(entry).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The packed solution satisfies its equations, and a direction without stiffness stays finite.
    #[test]
    fn solve_packed_satisfies_equations() {
        let full = [[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.0]];
        let mut a: Vec<f64> = (0..3)
            .flat_map(|i| (0..=i).map(move |j| full[i][j]))
            .collect();
        let right = [1.0, 2.0, -3.0, 0.5, 0.0, 7.0];
        let mut x = right;
        solve_packed(&mut a, &mut x, 2, 1e-12);
        for i in 0..3 {
            for c in 0..2 {
                let sum: f64 = (0..3).map(|j| full[i][j] * x[2 * j + c]).sum();
                assert!((sum - right[2 * i + c]).abs() < 1e-12);
            }
        }
        let mut flat = vec![1.0, 0.0, 0.0];
        let mut y = [1.0, 0.0];
        solve_packed(&mut flat, &mut y, 1, 1e-12);
        assert!((y[0] - 1.0).abs() < 1e-12 && y[1] == 0.0);
    }

    /// Columns become orthonormal and keep their span; a dependent one becomes 0.
    #[test]
    fn orthonormal_columns_keep_span() {
        let curves: Vec<f32> = (0..20)
            .flat_map(|f| {
                let t = f as f32 * 0.3;
                [t.sin(), t.cos() + 1.0, t.sin() * 2.0 - t.cos() - 1.0]
            })
            .collect();
        let q = orthonormal_columns(&curves, 3);
        let column = |k: usize| -> Vec<f64> { (0..20).map(|f| q[3 * f + k].into()).collect() };
        let (a, b, c) = (column(0), column(1), column(2));
        assert!((dot(&a, &a) - 1.0).abs() < 1e-6 && (dot(&b, &b) - 1.0).abs() < 1e-6);
        assert!(dot(&a, &b).abs() < 1e-6 && dot(&c, &c) == 0.0);
        let second: Vec<f64> = (0..20).map(|f| curves[3 * f + 1].into()).collect();
        let (x, y) = (dot(&second, &a), dot(&second, &b));
        assert!((x * x + y * y - dot(&second, &second)).abs() < 1e-5);
    }
}
