// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rotations nearest to a matrix, and logarithms of rotations: axis times angle.

use crate::{Mat3, Vec3};

/// Returns axis times angle of a rotation, radians; exact for small angles, too.
pub(crate) fn logarithm(rotation: &Mat3) -> Vec3 {
    let skew = (rotation - rotation.transpose()) * 0.5;
    let sine = Vec3::new(skew[(2, 1)], skew[(0, 2)], skew[(1, 0)]);
    let (sin, cos) = (sine.norm(), 0.5 * (rotation.trace() - 1.0));
    if sin < 1e-6 && cos < 0.0 {
        // Near half a turn the sine has no direction.
        return nalgebra::Rotation3::from_matrix_unchecked(*rotation).scaled_axis();
    }
    sine * if sin > 0.0 { sin.atan2(cos) / sin } else { 1.0 }
}

/// Returns the derivative of a rotation's logarithm by a small rotation applied on its right.
pub(crate) fn inverse_right_jacobian(v: &Vec3) -> Mat3 {
    let angle = v.norm();
    let cross = v.cross_matrix();
    // At half a turn the logarithm has no derivative: any finite number will do.
    let second = if angle < 1e-3 {
        1.0 / 12.0
    } else {
        let sin = angle.sin().abs().max(1e-6);
        1.0 / (angle * angle) - (1.0 + angle.cos()) / (2.0 * angle * sin)
    };
    Mat3::identity() + cross * 0.5 + cross * cross * second
}

/// Returns the rotation R that maximises the trace of Rᵀ M [kabsch1976]. `None`: M is not finite.
pub(crate) fn best_rotation(m: &Mat3) -> Option<Mat3> {
    let svd = m.svd(true, true);
    let (u, v_t) = (svd.u?, svd.v_t?);
    // The direction of the least singular value is reflected if necessary.
    let least = svd.singular_values.imin();
    let mut flip = Mat3::identity();
    flip[(least, least)] = (u * v_t).determinant().signum();
    Some(u * flip * v_t)
}

/// Removes the rounding from a matrix that is close to a rotation.
pub(crate) fn renormalise(m: &Mat3) -> Mat3 {
    let mut rotation = nalgebra::Rotation3::from_matrix_unchecked(*m);
    rotation.renormalize();
    *rotation.matrix()
}
