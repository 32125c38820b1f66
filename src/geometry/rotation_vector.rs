// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rotations, and mean rotations, from rotation vectors. [choi2003, appendix A]
//!
//! `exp [w]ₓ` is the rotation about ŵ by θ = |w|. The warp is its mean over a ramp of w from zero,
//! `R̃(w) = ∫₀¹ exp [τ w]ₓ dτ = I + [ŵ]ₓ (1 − cos θ)/θ + [ŵ]ₓ² (1 − sin θ/θ)`, which carries a linear displacement
//! along an arc. Both are smooth at zero, where their series are used.

use crate::{Mat3, Vec3};

/// Angle below which the functions are evaluated by their series, radians.
const MAX_SERIES_ANGLE: f64 = 1e-2;

/// Returns `exp [w]ₓ`, the rotation by a rotation vector.
#[inline]
pub fn rotation(w: &Vec3) -> Mat3 {
    let f = RotationCoefficients::evaluate(w.norm_squared());
    rotation_polynomial(w, f.sine, f.versine)
}

/// Returns `R̃(w)`, the mean of the rotations from the identity to that by `w`.
#[inline]
pub fn mean_rotation(w: &Vec3) -> Mat3 {
    let f = RotationCoefficients::evaluate(w.norm_squared());
    rotation_polynomial(w, f.versine, f.excess)
}

/// Returns the derivative of `R̃(w) a` with respect to w.
pub fn mean_rotation_derivative(w: &Vec3, a: &Vec3) -> Mat3 {
    let f = RotationCoefficients::evaluate(w.norm_squared());
    // R̃ a = a + A w×a + B w×(w×a) with A, B functions of s = θ²; dA/dw = 2 A' wᵀ.
    let cross = w.cross(a);
    let twice = w.cross(&cross);
    cross * w.transpose() * (2.0 * f.versine_slope) - a.cross_matrix() * f.versine
        + twice * w.transpose() * (2.0 * f.excess_slope)
        + (Mat3::identity() * w.dot(a) + w * a.transpose() - a * w.transpose() * 2.0) * f.excess
}

/// Returns `I + a [w]ₓ + b [w]ₓ²`.
#[inline]
fn rotation_polynomial(w: &Vec3, a: f64, b: f64) -> Mat3 {
    let d = 1.0 - b * w.norm_squared();
    Mat3::identity() * d + w * w.transpose() * b + w.cross_matrix() * a
}

/// Functions of s = θ²: sin θ/θ, (1 − cos θ)/θ², (1 − sin θ/θ)/θ², and slopes of the latter two in s.
struct RotationCoefficients {
    sine: f64,
    versine: f64,
    excess: f64,
    versine_slope: f64,
    excess_slope: f64,
}

impl RotationCoefficients {
    #[inline]
    fn evaluate(s: f64) -> Self {
        if s < MAX_SERIES_ANGLE * MAX_SERIES_ANGLE {
            return Self {
                sine: 1.0 - s / 6.0 * (1.0 - s / 20.0 * (1.0 - s / 42.0)),
                versine: 0.5 - s / 24.0 * (1.0 - s / 30.0 * (1.0 - s / 56.0)),
                excess: 1.0 / 6.0 - s / 120.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0)),
                versine_slope: -1.0 / 24.0 + s / 360.0 * (1.0 - 3.0 * s / 112.0),
                excess_slope: -1.0 / 120.0 + s / 2520.0 * (1.0 - s / 48.0),
            };
        }
        let theta = s.sqrt();
        let (sin, cos) = theta.sin_cos();
        // 1 − cos θ without cancellation.
        let half = (0.5 * theta).sin();
        let (sine, versine) = (sin / theta, 2.0 * half * half / s);
        let excess = (1.0 - sine) / s;
        Self {
            sine,
            versine,
            excess,
            versine_slope: (0.5 * sine - versine) / s,
            excess_slope: (0.5 * (sine - cos) / s - excess) / s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Rotation3;

    const VECTORS: [[f64; 3]; 6] = [
        [0.0, 0.0, 0.0],
        [1e-9, -2e-9, 3e-9],
        [0.004, 0.005, -0.0076],
        [0.3, -0.2, 0.5],
        [2.0, 1.0, -2.5],
        [9.0, -14.0, 3.0],
    ];

    /// The closed form of the mean rotation agrees with numerical quadrature along the way.
    #[test]
    fn mean_rotation_matches_quadrature() {
        for w in VECTORS.map(Vec3::from) {
            assert!((rotation(&w) - Rotation3::new(w).into_inner()).norm() < 1e-14);
            // Gauss-Legendre with three points on each of many panels.
            let (panels, mut mean) = (200, Mat3::zeros());
            for p in 0..panels {
                for (x, weight) in [(-0.6f64.sqrt(), 5.0), (0.0, 8.0), (0.6f64.sqrt(), 5.0)] {
                    let t = (f64::from(p) + 0.5 * (1.0 + x)) / f64::from(panels);
                    mean += rotation(&(w * t)) * (weight / 18.0 / f64::from(panels));
                }
            }
            assert!((mean_rotation(&w) - mean).norm() < 1e-11, "{w}");
        }
    }

    /// The derivative of the mean rotation agrees with differences.
    #[test]
    fn derivative_matches_differences() {
        let a = Vec3::new(0.4, -1.1, 0.7);
        for w in VECTORS.map(Vec3::from) {
            let d = mean_rotation_derivative(&w, &a);
            for k in 0..3 {
                let mut e = Vec3::zeros();
                e[k] = 1e-5;
                let difference = (mean_rotation(&(w + e)) - mean_rotation(&(w - e))) * a / 2e-5;
                assert!((d.column(k) - difference).norm() < 2e-9, "{w} {k}");
            }
        }
    }

    /// Series and closed form agree at the angle where one replaces the other.
    #[test]
    fn series_meets_closed_form() {
        let (below, above) = (
            MAX_SERIES_ANGLE * (1.0 - 1e-9),
            MAX_SERIES_ANGLE * (1.0 + 1e-9),
        );
        let (a, b) = (
            RotationCoefficients::evaluate(below * below),
            RotationCoefficients::evaluate(above * above),
        );
        assert!((a.sine - b.sine).abs() < 1e-12);
        assert!((a.versine - b.versine).abs() < 1e-11);
        assert!((a.excess - b.excess).abs() < 1e-11);
        assert!((a.versine_slope - b.versine_slope).abs() < 1e-7);
        assert!((a.excess_slope - b.excess_slope).abs() < 1e-7);
    }
}
