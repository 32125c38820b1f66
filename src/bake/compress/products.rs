// SPDX-License-Identifier: MIT OR Apache-2.0
//! Products of row-major f32 matrices on one thread, and small systems in packed form.

use faer::linalg::matmul::matmul;
use faer::linalg::solvers::Solve;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, Mat, MatMut, MatRef, Par, Side};

/// Part of the largest pivot below which a column counts as nearly dependent.
const DEPENDENT: f64 = 1e-4;

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

/// Solves `A X = B` for a symmetric positive definite A. Where rounding made A indefinite, a larger diagonal replaces its own.
pub(super) fn solve_positive(mut a: Mat<f64>, b: Mat<f64>) -> Mat<f64> {
    let largest = (0..a.nrows()).map(|i| a[(i, i)]).fold(0.0, f64::max);
    let mut more = 1e-12 * largest;
    loop {
        match a.llt(Side::Lower) {
            Ok(factor) => return factor.solve(&b),
            Err(_) if more > largest || !largest.is_finite() => {
                return Mat::zeros(b.nrows(), b.ncols());
            }
            Err(_) => (0..a.nrows()).for_each(|i| a[(i, i)] += more),
        }
        more *= 100.0;
    }
}

/// Returns an orthonormal basis of the span of the columns of `curves` `[F, count]`: `W L⁻ᵀ` with `Wᵀ W = L Lᵀ`, twice, since once
/// leaves the square of rounding. Nearly dependent columns take Gram and Schmidt's method.
pub(super) fn orthonormal_columns(curves: &[f32], count: usize) -> Vec<f32> {
    let frames = curves.len() / count;
    let mut basis = Mat::<f64>::from_fn(frames, count, |f, k| curves[f * count + k].into());
    for _ in 0..2 {
        let Ok(factor) = (basis.transpose() * &basis).llt(Side::Lower) else {
            return successive_columns(curves, count);
        };
        let diagonal = (0..count).map(|k| factor.L()[(k, k)]);
        let (least, most) =
            diagonal.fold((f64::INFINITY, 0.0_f64), |(a, b), x| (a.min(x), b.max(x)));
        if least < DEPENDENT * most {
            return successive_columns(curves, count);
        }
        let mut transposed = basis.transpose().to_owned();
        solve_lower_triangular_in_place(factor.L(), transposed.as_mut(), Par::Seq);
        basis = transposed.transpose().to_owned();
    }
    (0..curves.len())
        .map(|i| basis[(i / count, i % count)] as f32)
        .collect()
}

/// Returns an orthonormal basis of the span of the columns of `curves` `[F, count]`, by Gram and Schmidt's method with each column
/// projected twice. A column in the span of those before it becomes 0.
fn successive_columns(curves: &[f32], count: usize) -> Vec<f32> {
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

/// Returns the scalar product.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The solution satisfies its equations, and a direction without stiffness stays finite.
    #[test]
    fn solve_positive_satisfies_equations() {
        let full = [[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.0]];
        let right = [[1.0, 2.0], [-3.0, 0.5], [0.0, 7.0]];
        let a = Mat::from_fn(3, 3, |i, j| full[i][j]);
        let x = solve_positive(a, Mat::from_fn(3, 2, |i, c| right[i][c]));
        for i in 0..3 {
            for c in 0..2 {
                let sum: f64 = (0..3).map(|j| full[i][j] * x[(j, c)]).sum();
                assert!((sum - right[i][c]).abs() < 1e-12);
            }
        }
        let flat = Mat::from_fn(2, 2, |i, j| if i + j == 0 { 1.0 } else { 0.0 });
        let y = solve_positive(flat, Mat::from_fn(2, 1, |i, _| 1.0 - i as f64));
        assert!((y[(0, 0)] - 1.0).abs() < 1e-9 && y[(1, 0)] == 0.0);
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
