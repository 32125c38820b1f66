// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rigid frame of a template.

use super::RigError;
use crate::range;
use crate::skeleton::polar;
use crate::{Mat3, Mat4, Vec3};

/// Largest deviation of a free frame's columns from a rotation's, as a share of their length.
const RIGIDITY_TOLERANCE: f64 = 1e-4;

/// A rigid frame in rest space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuideFrame {
    /// Columns X, Y, Z: a rotation.
    pub rotation: Mat3,
    /// Origin, metres.
    pub origin: Vec3,
}

impl GuideFrame {
    /// Returns the frame of world axes.
    pub fn identity() -> Self {
        Self {
            rotation: Mat3::identity(),
            origin: Vec3::zeros(),
        }
    }

    /// Converts a matrix that acts on column vectors. A uniform scale is removed, and small deviations from a
    /// rotation (single precision) are corrected.
    ///
    /// # Errors
    /// A matrix that is not finite, singular, mirrored, sheared or scaled differently along its axes.
    pub fn from_matrix(matrix: &Mat4) -> Result<Self, RigError> {
        if let Some(value) = matrix
            .iter()
            .copied()
            .find(|x| x.is_nan() || x.abs() > range::MAX_COORDINATE)
        {
            return Err(RigError::NonFinite {
                name: "matrix",
                value,
            });
        }
        let refused = |what| Err(RigError::Matrix { what });
        let row = matrix.row(3);
        if row.columns(0, 3).iter().any(|x| x.abs() > 1e-9) || (row[3] - 1.0).abs() > 1e-9 {
            return refused("its last row is not 0 0 0 1");
        }
        let linear: Mat3 = matrix.fixed_view::<3, 3>(0, 0).into_owned();
        let origin = matrix.fixed_view::<3, 1>(0, 3).into_owned();
        if is_rotation(&linear) {
            // Kept to the bit: files return exactly the matrix that was written.
            return Ok(Self {
                rotation: linear,
                origin,
            });
        }
        let scale = linear.norm() / 3f64.sqrt();
        if scale <= 0.0 || !(1.0 / scale).is_finite() {
            return refused("it is singular");
        }
        let unit = linear / scale;
        let (turn, stretch) = polar(&unit);
        if unit.determinant().abs() < 1e-9 {
            return refused("it is singular");
        }
        if unit.determinant() < 0.0 {
            return refused("it mirrors");
        }
        if range::max_abs_entry(&(stretch - Mat3::identity())) > RIGIDITY_TOLERANCE {
            return refused("it shears, or scales its axes differently");
        }
        Ok(Self {
            rotation: turn.to_rotation_matrix().into_inner(),
            origin,
        })
    }

    /// Returns the matrix that acts on column vectors.
    pub fn matrix(&self) -> Mat4 {
        let mut m = self.rotation.to_homogeneous();
        m.fixed_view_mut::<3, 1>(0, 3).copy_from(&self.origin);
        m
    }

    /// Returns the coordinates in the frame of a point of rest space.
    #[inline]
    pub fn to_local(&self, x: &Vec3) -> Vec3 {
        self.rotation.tr_mul(&(x - self.origin))
    }
}

fn is_rotation(m: &Mat3) -> bool {
    range::max_abs_entry(&(m.tr_mul(m) - Mat3::identity())) < 1e-14 && m.determinant() > 0.0
}
