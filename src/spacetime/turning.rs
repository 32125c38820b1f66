// SPDX-License-Identifier: MIT OR Apache-2.0
//! Angular velocity and acceleration from a rotation vector, and quadrature over an interval with steep ends.
//!
//! With `φ` the vector and θ its length, in the rotating frame: `ω = φ̇ − a φ×φ̇ + b φ×(φ×φ̇)`, `a = (1 − cos θ)/θ²`, `b =
//! (θ − sin θ)/θ³` (the right Jacobian of the exponential). ω̇ is its derivative, with `a' = ȧ/(φ·φ̇)` and `b'` alike.

use crate::Vec3;

/// Angular velocity and acceleration at an instant, in the rotating frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct AngularMotion {
    /// ω, radians per second.
    pub rate: Vec3,
    /// ω̇, radians per second squared.
    pub acceleration: Vec3,
}

impl AngularMotion {
    /// Computes them from a rotation vector and its first and second time derivatives.
    pub fn new([phi, first, second]: [Vec3; 3]) -> Self {
        /// Angle below which the factors come from their series. Both ways lose less than 1e-12 there.
        const SERIES_ANGLE: f64 = 0.1;
        let s = phi.norm_squared();
        let theta = s.sqrt();
        let (a, b, a_slope, b_slope) = if theta < SERIES_ANGLE {
            (
                0.5 - s / 24.0 * (1.0 - s / 30.0 * (1.0 - s / 56.0)),
                1.0 / 6.0 - s / 120.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0)),
                -1.0 / 12.0 + s / 180.0 * (1.0 - s * 3.0 / 112.0),
                -1.0 / 60.0 + s / 1260.0 * (1.0 - s / 48.0),
            )
        } else {
            let (sin, cos) = theta.sin_cos();
            (
                (1.0 - cos) / s,
                (theta - sin) / (s * theta),
                (theta * sin - 2.0 * (1.0 - cos)) / (s * s),
                (3.0 * sin - theta * (2.0 + cos)) / (s * s * theta),
            )
        };
        let along = phi.dot(&first);
        let across = phi.cross(&first);
        let twice = phi.cross(&across);
        Self {
            rate: first - across * a + twice * b,
            acceleration: second - across * (a_slope * along) - phi.cross(&second) * a
                + twice * (b_slope * along)
                + (first.cross(&across) + phi.cross(&phi.cross(&second))) * b,
        }
    }
}

/// Integrates over [0, 1] a function that may change within `1/steep` of both ends.
pub(super) fn integrate_graded(steep: f64, f: &dyn Fn(f64) -> f64) -> f64 {
    /// Positive nodes and weights of the Gauss rule with eight points.
    const GAUSS_RULE: [(f64, f64); 4] = [
        (0.183_434_642_495_649_8, 0.362_683_783_378_362),
        (0.525_532_409_916_329, 0.313_706_645_877_887_3),
        (0.796_666_477_413_626_7, 0.222_381_034_453_374_47),
        (0.960_289_856_497_536_2, 0.101_228_536_290_376_26),
    ];
    /// Maximum number of halvings towards an end; anything steeper is a jump.
    const MAX_HALVINGS: f64 = 48.0;
    // Two more than make the last piece as long as the boundary layer.
    let halvings = (steep.max(1.0).log2().ceil() + 2.0).min(MAX_HALVINGS) as i32;
    let piece = |from: f64, to: f64| {
        let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
        let pair = |&(x, w): &(f64, f64)| w * (f(middle - half * x) + f(middle + half * x));
        half * GAUSS_RULE.iter().map(pair).sum::<f64>()
    };
    let mut sum = 0.0;
    for k in 0..=halvings {
        let far = 0.5f64.powi(k + 1);
        let near = if k == halvings { 0.0 } else { 0.5 * far };
        sum += piece(near, far) + piece(1.0 - far, 1.0 - near);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// About a fixed axis, rate and acceleration are those of the angle.
    #[test]
    fn turning_about_fixed_axis() {
        let axis = Vec3::new(0.6, 0.0, 0.8);
        for angle in [0.0, 1e-3, 0.0999, 0.1001, 2.0] {
            let turning = AngularMotion::new([axis * angle, axis * 0.7, axis * -1.3]);
            assert!((turning.rate - axis * 0.7).norm() < 1e-12);
            assert!((turning.acceleration + axis * 1.3).norm() < 1e-12);
        }
    }

    /// The series and the closed form agree where they meet.
    #[test]
    fn turning_branches_agree() {
        let turning = |angle: f64| {
            let phi = Vec3::new(0.48, 0.64, 0.6) * angle;
            let turning =
                AngularMotion::new([phi, Vec3::new(3.0, -1.0, 2.0), Vec3::new(0.5, 4.0, 1.0)]);
            (turning.rate, turning.acceleration)
        };
        let (below, above) = (turning(0.1 - 1e-10), turning(0.1 + 1e-10));
        assert!((below.0 - above.0).norm() < 1e-8 && (below.1 - above.1).norm() < 1e-8);
    }

    /// Functions that are steep at both ends are integrated accurately.
    #[test]
    fn graded_integrates_steep_ends() {
        assert!((integrate_graded(0.0, &|x| x * x) - 1.0 / 3.0).abs() < 1e-14);
        for steep in [1.0f64, 30.0, 1e6] {
            let wanted = 2.0 * (1.0 - (-steep).exp()) / steep;
            let found = integrate_graded(steep, &|x: f64| {
                (-steep * x).exp() + (-steep * (1.0 - x)).exp()
            });
            assert!(
                (found / wanted - 1.0).abs() < 1e-8,
                "{steep}: {found} {wanted}"
            );
        }
    }
}
