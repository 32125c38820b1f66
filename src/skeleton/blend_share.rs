// SPDX-License-Identifier: MIT OR Apache-2.0
//! Derivatives of skinned points by turns and moves of bones.
//!
//! Let `Q = Σ w_b q_b` be the blend of a point's bones as dual quaternions. A small turn ω about h of bone b adds `½ω q_b` to q_b, with ω and q_b
//! about h, hence `½ω A Q` to Q with the *share* `A = w_b q_b Q⁻¹`. Shares of all bones that turn together add up to `A = (a₀ + a) + ε(b₀ + b)`.
//! The posed point p then moves by `(a₀ω + ω×a) × (p − h) + b₀ω + ω×b`. Where all bones of the point move alike, A is the weight, and the
//! motion is `w ω × (p − h)`. A small move τ adds `½ετ q_b`, and moves p by `a₀τ + τ×a`.

use super::rigid::DualQuaternion;
use crate::{Mat3, Vec3};
use nalgebra::Quaternion;

/// Share of bones in a point's blend, about the origin of posed positions.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlendShare(DualQuaternion);

impl BlendShare {
    /// Returns the share of `part = w_b q_b` in a blend; `None` if the blend is zero.
    pub fn new(part: &DualQuaternion, blend: &DualQuaternion) -> Option<Self> {
        let inverse = blend.real.try_inverse()?;
        let real = part.real * inverse;
        let dual = (part.dual - real * blend.dual) * inverse;
        Some(Self(DualQuaternion { real, dual }))
    }

    /// Adds the share of a bone that turns with these.
    pub fn add(&mut self, other: &Self) {
        self.0.real += other.0.real;
        self.0.dual += other.0.dual;
    }

    /// Returns the derivative of the posed point `p` by a turn of the share's bones about `h`, both relative to the origin of posed positions.
    pub fn derivative(&self, p: Vec3, h: Vec3) -> Mat3 {
        let Self(DualQuaternion { real, dual }) = self;
        let about_h = dual.imag() - h.cross(&real.imag());
        product(dual, about_h) - (p - h).cross_matrix() * self.move_derivative()
    }

    /// Returns the derivative of a posed point by a move of the share's bones.
    pub fn move_derivative(&self) -> Mat3 {
        let real = &self.0.real;
        product(real, real.imag())
    }
}

/// Returns the matrix of `v → s v + v × a`, the imaginary part of the product v (s + a), s the scalar of `q`.
fn product(q: &Quaternion<f64>, a: Vec3) -> Mat3 {
    Mat3::from_diagonal_element(q.scalar()) - a.cross_matrix()
}
