// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modal warping: vibration modes of a body, turned along with the local rotation of its flesh. [choi2003]

use crate::Vec3;

/// The lowest vibration modes of a body, mass-orthonormal: `K Φ = M Φ Λ`, `ΦᵀMΦ = I`, `Ψ = W Φ`.
#[derive(Debug, Clone, PartialEq)]
pub struct Modes {
    /// Λ, 1/s², ascending.
    eigenvalues: Vec<f64>,
    /// Φ: per mode one vector per node, 1/√kg; zero at fixed nodes.
    shapes: Vec<Vec<Vec3>>,
    /// Ψ: per mode one rotation vector per node.
    rotations: Vec<Vec<Vec3>>,
}

impl Modes {
    /// Λ, 1/s², ascending.
    pub fn eigenvalues(&self) -> &[f64] {
        &self.eigenvalues
    }

    /// Φ: per mode one vector per node.
    pub fn shapes(&self) -> &[Vec<Vec3>] {
        &self.shapes
    }

    /// Ψ: per mode one rotation vector per node.
    pub fn rotations(&self) -> &[Vec<Vec3>] {
        &self.rotations
    }

    /// Number of modes.
    pub fn len(&self) -> usize {
        self.eigenvalues.len()
    }

    /// No modes at all.
    pub fn is_empty(&self) -> bool {
        self.eigenvalues.is_empty()
    }
}
