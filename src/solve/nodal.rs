// SPDX-License-Identifier: MIT OR Apache-2.0
//! Products of vectors over nodes.

use crate::Vec3;

/// Returns the scalar product over all nodes.
pub(crate) fn dot(a: &[Vec3], b: &[Vec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(b)).sum()
}

/// Returns the Euclidean norm over all nodes.
pub fn norm(x: &[Vec3]) -> f64 {
    x.iter().map(Vec3::norm_squared).sum::<f64>().sqrt()
}
