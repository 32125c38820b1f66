// SPDX-License-Identifier: MIT OR Apache-2.0
//! Eigenpairs from a subspace: Rayleigh-Ritz on K and M themselves, inverse iteration where rounding
//! errors remain, and signs.

use super::EigenError;
use super::pencil::Pencil;
use crate::Vec3;
use crate::solve::tall;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{Mat, MatRef, Par, Side};

/// Maximum number of rounds of inverse iteration.
const MAX_INVERSE_ITERATIONS: usize = 3;
/// Relative difference of magnitudes below which two components count as equal.
const TIE_TOLERANCE: f64 = 1e-6;

/// Eigenpairs in elimination order.
pub(super) struct PermutedEigenpairs {
    pub vectors: Mat<f64>,
    pub values: Vec<f64>,
    /// Residual norms and their allowed sizes.
    pub residuals: Vec<(f64, f64)>,
    /// Number of columns solved for.
    pub solves: usize,
}

/// Computes the lowest `count` eigenpairs in a subspace, ascending. Further columns of the subspace only
/// help.
pub(super) fn refine_eigenpairs(
    pencil: &mut Pencil<'_>,
    subspace: Mat<f64>,
    count: usize,
    tolerance: f64,
) -> Result<PermutedEigenpairs, EigenError> {
    let mut subspace = subspace;
    let mut solves = 0;
    let mut best: Option<PermutedEigenpairs> = None;
    for round in 0..=MAX_INVERSE_ITERATIONS {
        let (vectors, values) = rayleigh_ritz(pencil, &subspace)?;
        let mut residuals =
            pencil.residuals(vectors.subcols(0, count), &values[..count], tolerance);
        let good = residuals.iter().all(|r| r.0 <= 0.5 * r.1);
        let worst = |r: &[(f64, f64)]| r.iter().map(|r| r.0 / r.1).fold(0.0, f64::max);
        let better = best
            .as_ref()
            .is_none_or(|b| worst(&residuals) < worst(&b.residuals));
        let solution = better.then(|| PermutedEigenpairs {
            vectors: vectors.subcols(0, count).to_owned(),
            values: values[..count].to_vec(),
            residuals: std::mem::take(&mut residuals),
            solves,
        });
        if let Some(solution) = solution {
            best = Some(solution);
        }
        if good || round == MAX_INVERSE_ITERATIONS {
            break;
        }
        // Columns keep their length: each is nearly an eigenvector of the operator, for 1/(λ − σ).
        pencil.restore()?;
        subspace = pencil.mass_times(vectors.as_ref());
        pencil.solve(&mut subspace);
        solves += subspace.ncols();
        for (j, &value) in values.iter().enumerate() {
            let factor = value - pencil.shift;
            if factor > 0.0 {
                subspace.col_mut(j).iter_mut().for_each(|x| *x *= factor);
            }
        }
    }
    let mut best = best.ok_or(EigenError::Mass)?;
    best.solves = solves;
    Ok(best)
}

/// Computes the eigenpairs of K and M on the span of some columns; the vectors are M-orthonormal.
fn rayleigh_ritz(pencil: &Pencil<'_>, x: &Mat<f64>) -> Result<(Mat<f64>, Vec<f64>), EigenError> {
    let a = tall::transposed_product(x.as_ref(), pencil.stiffness_times(x.as_ref()).as_ref());
    let b = tall::transposed_product(x.as_ref(), pencil.mass_times(x.as_ref()).as_ref());
    let (combination, values) = generalised_eigen(a, b)?;
    let x = tall::product(x.as_ref(), combination.as_ref());
    // The first factor leaves an error in orthonormality of the order of rounding; a second pass reduces
    // it to rounding.
    let mut b = tall::transposed_product(x.as_ref(), pencil.mass_times(x.as_ref()).as_ref());
    tall::symmetrise(&mut b);
    let correction = Mat::from_fn(b.nrows(), b.ncols(), |i, j| {
        let unit = if i == j { 1.5 } else { 0.0 };
        unit - 0.5 * b[(i, j)]
    });
    Ok((tall::product(x.as_ref(), correction.as_ref()), values))
}

/// Computes eigenvectors, normal in `b`, and ascending eigenvalues of small dense `a` and `b`.
fn generalised_eigen(mut a: Mat<f64>, mut b: Mat<f64>) -> Result<(Mat<f64>, Vec<f64>), EigenError> {
    tall::symmetrise(&mut a);
    tall::symmetrise(&mut b);
    let factor = b.llt(Side::Lower).map_err(|_| EigenError::Mass)?;
    let l = factor.L();
    solve_lower_triangular_in_place(l, a.as_mut(), Par::Seq);
    solve_lower_triangular_in_place(l, a.as_mut().transpose_mut(), Par::Seq);
    tall::symmetrise(&mut a);
    let (values, mut u) = tall::symmetric_eigen(a.as_ref()).ok_or(EigenError::Overflow)?;
    solve_upper_triangular_in_place(l.transpose(), u.as_mut(), Par::Seq);
    Ok((u, values))
}

/// Computes all eigenvectors at once, for bodies so small that a subspace would hold half of them.
/// Returns the first `count`.
pub(super) fn dense_eigenvectors(
    pencil: &Pencil<'_>,
    count: usize,
) -> Result<Mat<f64>, EigenError> {
    let n = pencil.len();
    let unit = Mat::<f64>::identity(n, n);
    let a = pencil.stiffness_times(unit.as_ref());
    let b = pencil.mass_times(unit.as_ref());
    let (vectors, _) = generalised_eigen(a, b)?;
    Ok(vectors.subcols(0, count).to_owned())
}

/// Returns the columns as one vector per node in the caller's numbering. The sign does not depend on the
/// algorithm: the largest component, the first among near ties, is positive.
pub(super) fn to_caller_order(pencil: &Pencil<'_>, vectors: MatRef<'_, f64>) -> Vec<Vec<Vec3>> {
    let order = pencil.order();
    vectors
        .col_iter()
        .map(|column| {
            let mut shape = vec![Vec3::zeros(); order.len()];
            for (p, &node) in order.iter().enumerate() {
                shape[node as usize] =
                    Vec3::new(column[3 * p], column[3 * p + 1], column[3 * p + 2]);
            }
            let largest = shape.iter().map(Vec3::amax).fold(0.0, f64::max);
            let mut components = shape.iter().flat_map(|v| v.iter());
            let first = components.find(|x| x.abs() >= (1.0 - TIE_TOLERANCE) * largest);
            if first.is_some_and(|&x| x < 0.0) {
                shape.iter_mut().for_each(|v| *v = -*v);
            }
            shape
        })
        .collect()
}
