// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fan between a spoke and the end spoke of an atom, with its derivatives.
//!
//! The fan is ours: a cubic perpendicular to the spoke where it begins and to the end spoke where it ends. It is close to a circle where all
//! lengths are equal, and close to the ellipse at an ellipse's end.

use crate::Vec3;

/// Hermite data of a fan from one spoke, in the plane of the spoke and b: start point, start tangent, end tangent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fan {
    pub spoke: [f64; 2],
    pub leave: [f64; 2],
    pub arrive: [f64; 2],
}

/// Lower bound of the distance to the intersection of a fan's tangents, in chords. Without it, spokes of very unlike lengths let the tangents meet
/// behind. With half and twice of it limbs of five known characters are missed by as much.
const MIN_CORNER_DISTANCE: f64 = 0.2;
/// Lower bound of the square of a fan's weight; a circle's is above it up to an angle of 163°. Half and twice of it leave fits to limbs of five
/// known characters the same.
const MIN_FAN_WEIGHT: f64 = 0.02;

impl Fan {
    /// Builds the fan from a spoke of relative length ρ at the angle θ to an end spoke of relative length η, in the plane of both. Entries 1 to 3
    /// are its derivatives by θ, log ρ and log η.
    ///
    /// The directions of both tangents are known. The cubic approximates the conic that has them and its vertex at the end spoke.
    pub fn new(angle: f64, length: f64, end: f64) -> [Self; 4] {
        let (sin, cos) = DualNumber::new(angle, 0, 1.0).sin_cos();
        let length = DualNumber::new(length, 1, length);
        let end = DualNumber::new(end, 2, end);
        let spoke = [length * cos, length * sin];
        let chord = {
            let across = [spoke[0] - end, spoke[1]];
            let square = across[0] * across[0] + across[1] * across[1];
            // A zero chord (both ends coincide) gives a fan of zero size.
            square.map(f64::sqrt, |x| 0.5 / x.sqrt().max(1e-150))
        };
        let chord_or_one = if chord.value > 0.0 {
            chord
        } else {
            DualNumber::constant(1.0)
        };
        // Distances from both ends to the intersection of the tangents, in chords.
        let corner = |x: DualNumber| (x / sin / chord_or_one).soft_floor(MIN_CORNER_DISTANCE);
        let leaves = corner(end - length * cos);
        let arrives = corner(length - end * cos);
        // Squared weight of the conic, from its radius of curvature at the vertex; a circle's weight is the cosine of half its angle.
        let rise = spoke[1] * spoke[1] - spoke[0] * (end - spoke[0]);
        let way = arrives * chord_or_one;
        let square = rise / (way * way * 2.0);
        let weight = square
            .soft_floor(MIN_FAN_WEIGHT)
            .soft_cap()
            .map(f64::sqrt, |x| 0.5 / x.sqrt());
        let handle = weight * 4.0 / (weight + DualNumber::constant(1.0)) * chord;
        let (leave, arrive) = (handle * leaves, handle * arrives);
        let leave = [leave * sin, leave * cos * -1.0];
        let pick = |k: usize| Self {
            spoke: spoke.map(|x| x.component(k)),
            leave: leave.map(|x| x.component(k)),
            arrive: [0.0, -arrive.component(k)],
        };
        std::array::from_fn(pick)
    }
}

/// A dual number with derivatives by three variables.
#[derive(Debug, Clone, Copy)]
struct DualNumber {
    value: f64,
    slopes: Vec3,
}

impl DualNumber {
    fn constant(value: f64) -> Self {
        Self {
            value,
            slopes: Vec3::zeros(),
        }
    }

    fn new(value: f64, by: usize, slope: f64) -> Self {
        let mut out = Self::constant(value);
        out.slopes[by] = slope;
        out
    }

    /// Returns the value (`k` = 0) or the derivative by variable `k − 1`.
    fn component(self, k: usize) -> f64 {
        if k == 0 {
            self.value
        } else {
            self.slopes[k - 1]
        }
    }

    fn map(self, f: impl Fn(f64) -> f64, slope: impl Fn(f64) -> f64) -> Self {
        Self {
            value: f(self.value),
            slopes: self.slopes * slope(self.value),
        }
    }

    fn sin_cos(self) -> (Self, Self) {
        (
            self.map(f64::sin, f64::cos),
            self.map(f64::cos, |x| -x.sin()),
        )
    }

    /// Returns the number itself down to `least`, and a smooth positive curve below.
    fn soft_floor(self, least: f64) -> Self {
        if self.value >= least {
            return self;
        }
        let below = |x: f64| least / (2.0 * least - x);
        self.map(|x| least * below(x), |x| below(x).powi(2))
    }

    /// Returns the number itself up to 1, and a smooth curve below 2 beyond.
    fn soft_cap(self) -> Self {
        if self.value <= 1.0 {
            return self;
        }
        self.map(|x| 2.0 - 1.0 / x, |x| 1.0 / (x * x))
    }
}

impl std::ops::Add for DualNumber {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            value: self.value + other.value,
            slopes: self.slopes + other.slopes,
        }
    }
}

impl std::ops::Sub for DualNumber {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + other * -1.0
    }
}

impl std::ops::Mul for DualNumber {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self {
            value: self.value * other.value,
            slopes: self.slopes * other.value + other.slopes * self.value,
        }
    }
}

impl std::ops::Mul<f64> for DualNumber {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            slopes: self.slopes * factor,
        }
    }
}

impl std::ops::Div for DualNumber {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let value = self.value / other.value;
        Self {
            value,
            slopes: (self.slopes - other.slopes * value) / other.value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::FRAC_PI_2;

    /// A fan of equal lengths is nearly a circular arc and meets both spokes at right angles.
    #[test]
    fn fan_approximates_circle() {
        for angle in [0.2, 1.0, FRAC_PI_2, 2.4] {
            let [fan, ..] = Fan::new(angle, 1.0, 1.0);
            for i in 0..=20 {
                let p = f64::from(i) / 20.0;
                let at: Vec<f64> = (0..2)
                    .map(|k| {
                        let end = [1.0, 0.0][k];
                        fan.spoke[k] * (1.0 + 2.0 * p) * (1.0 - p).powi(2)
                            + fan.leave[k] * p * (1.0 - p).powi(2)
                            + end * p * p * (3.0 - 2.0 * p)
                            + fan.arrive[k] * p * p * (p - 1.0)
                    })
                    .collect();
                let error = (at[0].hypot(at[1]) - 1.0).abs();
                // The known error of a quarter circle, growing with the sixth power of the angle.
                assert!(
                    error < 3e-4 * (angle / FRAC_PI_2).powi(6).max(1e-3),
                    "{angle} {p} {error}"
                );
            }
            let dot = |a: [f64; 2], b: [f64; 2]| a[0] * b[0] + a[1] * b[1];
            assert!(dot(fan.spoke, fan.leave).abs() < 1e-15);
            assert!(fan.arrive[0] == 0.0 && fan.arrive[1] < 0.0);
        }
    }
}
