// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rotation nearest to a 3 x 3 matrix, by the eigenvector of a 4 x 4 matrix as a unit quaternion [horn1987].
//!
//! The largest eigenvalue follows from Newton's iteration on the characteristic polynomial from an upper bound, which falls to it, and its
//! eigenvector is a column of the adjugate matrix. That takes a tenth of the time of singular vectors, which remain for matrices that
//! leave the rotation nearly undetermined.

use crate::Mat3;
use crate::geometry::rotation::best_rotation;
use nalgebra::{Matrix4, Quaternion, UnitQuaternion};

/// Newton steps, more than double precision needs away from double roots.
const STEPS: usize = 60;

/// Least square length of the adjugate's column, as a part of the sixth power of the eigenvalue: errors of rounding are then 1e-11.
const MIN_SQUARE: f64 = 1e-10;

/// Returns the rotation R that maximises the trace of Rᵀ M. `None`: M is not finite.
pub(super) fn nearest_rotation(m: &Mat3) -> Option<Mat3> {
    quaternion(m).map_or_else(
        || best_rotation(m),
        |q| Some(*q.to_rotation_matrix().matrix()),
    )
}

/// Returns the rotation as a quaternion, unless it is nearly undetermined.
fn quaternion(m: &Mat3) -> Option<UnitQuaternion<f64>> {
    let scale = m.norm();
    if !(scale > f64::MIN_POSITIVE && scale.is_finite()) {
        return None;
    }
    let n = symmetric(&(m / scale));
    let square = n * n;
    // λ⁴ + c2 λ² + c1 λ + c0, as the trace is 0.
    let (c2, c1) = (-0.5 * square.trace(), -(square * n).trace() / 3.0);
    let c0 = n.determinant();
    let mut x = 3.0_f64.sqrt();
    for _ in 0..STEPS {
        let value = ((x * x + c2) * x + c1) * x + c0;
        let slope = (4.0 * x * x + 2.0 * c2) * x + c1;
        let next = x - value / slope;
        if next.is_nan() || next >= x {
            break;
        }
        x = next;
    }
    // By Cayley and Hamilton the adjugate of N − x is N³ + x N² + (x² + c2) N + (x³ + c2 x + c1), but for its sign.
    let adjugate = square * n + square * x + n * (x * x + c2);
    let adjugate = adjugate + Matrix4::identity() * ((x * x + c2) * x + c1);
    let longest = adjugate.diagonal().imax();
    let column = adjugate.column(longest);
    (column.norm_squared() > MIN_SQUARE * x.powi(6)).then(|| {
        let q = Quaternion::new(column[0], column[1], column[2], column[3]);
        UnitQuaternion::from_quaternion(q)
    })
}

/// Returns the matrix whose form of a unit quaternion is the trace of Rᵀ M.
fn symmetric(m: &Mat3) -> Matrix4<f64> {
    let s = |i: usize, j: usize| m[(i, j)] + m[(j, i)];
    let d = |i: usize, j: usize| m[(i, j)] - m[(j, i)];
    let (x, y, z) = (m[(0, 0)], m[(1, 1)], m[(2, 2)]);
    Matrix4::new(
        x + y + z,
        d(2, 1),
        d(0, 2),
        d(1, 0),
        d(2, 1),
        x - y - z,
        s(0, 1),
        s(0, 2),
        d(0, 2),
        s(0, 1),
        y - x - z,
        s(1, 2),
        d(1, 0),
        s(0, 2),
        s(1, 2),
        z - x - y,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rotation is that of singular vectors, also for matrices that reflect, have rank two or one, or are zero.
    #[test]
    fn nearest_rotation_equals_that_of_singular_vectors() {
        let mut number = 0.3_f64;
        for case in 0..400 {
            let m = Mat3::from_fn(|i, j| {
                number = (number * 997.0 + 0.123).fract();
                (number - 0.5)
                    * [1.0, 1.0, 1e-3][j]
                    * [1.0, 1e-9, 1e9][case % 3]
                    * f64::from(i != 2 || case % 7 != 0)
            });
            let (found, known) = (nearest_rotation(&m).unwrap(), best_rotation(&m).unwrap());
            let trace = |r: &Mat3| r.dot(&m);
            assert!((trace(&found) - trace(&known)).abs() < 1e-12 * m.norm());
            assert!((found * found.transpose() - Mat3::identity()).norm() < 1e-12);
            assert!(found.determinant() > 0.0);
        }
        let line = Mat3::from_diagonal(&crate::Vec3::new(2.0, 0.0, 0.0));
        let found = nearest_rotation(&line).unwrap();
        assert!((found.dot(&line) - 2.0).abs() < 1e-12);
        assert!(nearest_rotation(&Mat3::zeros()).is_some());
    }
}
