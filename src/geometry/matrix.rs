// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions of 3x3 matrices.

use crate::{Mat3, Vec3};

/// Returns the derivative of the determinant: the cofactor matrix.
#[inline]
pub(crate) fn cofactor(m: &Mat3) -> Mat3 {
    // Three columns by name: a map over an array is not inlined, which costs neo-Hookean flesh a twentieth of its time.
    let (a, b, c) = (m.column(0), m.column(1), m.column(2));
    Mat3::from_columns(&[b.cross(&c), c.cross(&a), a.cross(&b)])
}

/// Returns the eigenvectors of a symmetric matrix and their values, the largest first.
pub(crate) fn principal_axes(m: &Mat3) -> ([Vec3; 3], [f64; 3]) {
    let eigen = m.symmetric_eigen();
    let mut order = [0, 1, 2];
    order.sort_by(|&i, &j| eigen.eigenvalues[j].total_cmp(&eigen.eigenvalues[i]));
    (
        order.map(|i| eigen.eigenvectors.column(i).into_owned()),
        order.map(|i| eigen.eigenvalues[i]),
    )
}
