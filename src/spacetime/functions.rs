// SPDX-License-Identifier: MIT OR Apache-2.0
//! Entire functions that wiggly splines consist of, scaled against overflow.
//!
//! With `C(z) = cosh √z` and `S(z) = sinh √z / √z`, all functions on an interval of length T depend only on `Z₁ = (δT)²`, `Z₂ = (δ² − λ)T²`
//! and `L = λT² = Z₁ − Z₂`. At a share x of the interval the solutions of the Euler-Lagrange equation are products of `σᵢ(x) = x S(Zᵢx²)`,
//! `Cᵢ(x) = C(Zᵢx²)` and the divided differences `D₁ = (σ₁ − σ₂)/L`, `D₀ = (C₁ − C₂)/L`. These remain regular where λ, δ or both vanish and
//! where δ² passes λ. All six are multiplied by `e^(−κx)`, with κ the larger of the exponents. Products of one at x and one at 1 − x then
//! share the factor `e^(−κ)`, which cancels in every quotient.

/// Largest argument at which divided differences come from their power series.
const MAX_SERIES_ARGUMENT: f64 = 4.0;
/// Difference of exponents below which subtraction would lose digits.
const CANCELLATION_GAP: f64 = 1.0;

/// Nodes and weights of Gauss-Legendre quadrature on [0, 1].
const GAUSS_RULE: [(f64, f64); 8] = [
    (0.019_855_071_751_231_884, 0.050_614_268_145_188_13),
    (0.101_666_761_293_186_63, 0.111_190_517_226_687_23),
    (0.237_233_795_041_835_5, 0.156_853_322_938_943_64),
    (0.408_282_678_752_175_1, 0.181_341_891_689_181),
    (0.591_717_321_247_825, 0.181_341_891_689_181),
    (0.762_766_204_958_164_5, 0.156_853_322_938_943_64),
    (0.898_333_238_706_813_4, 0.111_190_517_226_687_23),
    (0.980_144_928_248_768_1, 0.050_614_268_145_188_13),
];

/// The parameters of an interval's functions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Exponents {
    /// `√Z₁`.
    a: f64,
    /// `√|Z₂|`.
    b: f64,
    pub z1: f64,
    pub z2: f64,
    /// `λT²`.
    pub l: f64,
    /// κ: the functions are scaled by `e^(−κx)`.
    pub kappa: f64,
    /// Difference of the two exponents; infinite where one is imaginary.
    gap: f64,
}

/// The six functions at one point, times `e^(−κx)`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct IntervalFunctions {
    pub sigma1: f64,
    pub c1: f64,
    pub sigma2: f64,
    pub c2: f64,
    pub d1: f64,
    pub d0: f64,
}

impl Exponents {
    /// Computes the parameters for stiffness λ, damping δ and an interval of length T.
    pub fn new(stiffness: f64, damping: f64, length: f64) -> Self {
        let a = damping.abs() * length;
        let z2 = (damping * damping - stiffness) * length * length;
        let b = z2.abs().sqrt();
        let l = stiffness * length * length;
        let imaginary = z2 < 0.0;
        Self {
            a,
            b,
            z1: a * a,
            z2,
            l,
            kappa: if imaginary { a } else { a.max(b) },
            gap: if imaginary {
                f64::INFINITY
            } else {
                l.abs() / (a + b).max(f64::MIN_POSITIVE)
            },
        }
    }

    /// Evaluates the functions at a share x of the interval.
    pub fn evaluate(&self, x: f64) -> IntervalFunctions {
        let (sigma1, c1) = scaled_hyperbolic(
            self.a,
            self.exponent_difference(self.l.max(0.0) - self.l),
            x,
        );
        let (sigma2, c2) = if self.z2 < 0.0 {
            scaled_trigonometric(self.b, self.kappa, x)
        } else {
            scaled_hyperbolic(self.b, self.exponent_difference(self.l.max(0.0)), x)
        };
        let squared = x * x;
        let (d1, d0) = if self.z1.max(self.z2.abs()) * squared <= MAX_SERIES_ARGUMENT {
            let (s, c) = series_differences(self.z1 * squared, self.z2 * squared);
            let scale = squared * (-self.kappa * x).exp();
            (x * scale * s, scale * c)
        } else if self.gap * x < CANCELLATION_GAP {
            self.integrate_derivatives(x)
        } else {
            ((sigma1 - sigma2) / self.l, (c1 - c2) / self.l)
        };
        IntervalFunctions {
            sigma1,
            c1,
            sigma2,
            c2,
            d1,
            d0,
        }
    }

    /// Returns the difference between κ and a real exponent, from the difference of their squares.
    fn exponent_difference(&self, squares: f64) -> f64 {
        if squares == 0.0 || self.z2 < 0.0 {
            return 0.0;
        }
        let square = self.z1.max(self.z2) - squares;
        squares / (self.kappa + square.max(0.0).sqrt())
    }

    /// Computes the divided differences as means of derivatives between both arguments, which are positive and not small.
    fn integrate_derivatives(&self, x: f64) -> (f64, f64) {
        let (mut d1, mut d0) = (0.0, 0.0);
        for (at, weight) in GAUSS_RULE {
            let z = self.z2 + at * self.l;
            let share = if self.l > 0.0 { 1.0 - at } else { at };
            let below = self.exponent_difference(share * self.l.abs());
            let (sigma, c) = scaled_hyperbolic(z.max(0.0).sqrt(), below, x);
            d1 += weight * (x * c - sigma) / (2.0 * z);
            d0 += weight * 0.5 * x * sigma;
        }
        (d1, d0)
    }

    /// Returns `e^(−a)` and the exponent a = |δ|T.
    pub fn decay(&self) -> (f64, f64) {
        ((-self.a).exp(), self.a)
    }

    /// Returns the excess of the real exponent of Z₁ over that of Z₂.
    pub fn exponent_lead(&self) -> f64 {
        self.a - if self.z2 < 0.0 { 0.0 } else { self.b }
    }
}

/// Returns `sinh(rx)/r` and `cosh(rx)` times `e^(−κx)`, with r = κ − `below`.
#[inline]
fn scaled_hyperbolic(r: f64, below: f64, x: f64) -> (f64, f64) {
    let grown = if below == 0.0 {
        1.0
    } else {
        (-below * x).exp()
    };
    let twice = 2.0 * r * x;
    // 1 − e^(−2rx), exact to the last digit where it is small.
    let fallen = -(-twice).exp_m1();
    let sigma = if twice > 0.0 { x * fallen / twice } else { x };
    (grown * sigma, grown * (1.0 - 0.5 * fallen))
}

/// Returns `sin(rx)/r` and `cos(rx)` times `e^(−κx)`.
#[inline]
fn scaled_trigonometric(r: f64, kappa: f64, x: f64) -> (f64, f64) {
    let (sine, cosine) = (r * x).sin_cos();
    let fallen = if kappa == 0.0 {
        1.0
    } else {
        (-kappa * x).exp()
    };
    (fallen * sine / r, fallen * cosine)
}

/// Returns the divided differences of S and C at two arguments of at most [`MAX_SERIES_ARGUMENT`].
fn series_differences(z1: f64, z2: f64) -> (f64, f64) {
    // Σ cₖ (z₁ᵏ − z₂ᵏ)/(z₁ − z₂), by hₖ = z₁ hₖ₋₁ + z₂ᵏ⁻¹.
    let (mut h, mut power) = (1.0, 1.0);
    let (mut s, mut c) = (0.0, 0.0);
    let mut factorial = 1.0;
    for k in 1..=15 {
        let n = f64::from(2 * k);
        factorial /= n * (n - 1.0);
        c += factorial * h;
        s += factorial / (n + 1.0) * h;
        power *= z2;
        h = z1 * h + power;
    }
    (s, c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Branches agree across their borders, and the derivatives are those of the functions.
    #[test]
    fn functions_branches_agree() {
        let mut cases = Vec::new();
        for delta in [0.0, 0.3, 1.9, 2.1, 30.0, 1e3] {
            for lambda in [
                -400.0, -4.1, -1e-8, 0.0, 1e-8, 3.9, 4.1, 59.0, 61.0, 900.0, 1e6,
            ] {
                cases.push((lambda, delta));
            }
        }
        for (lambda, delta) in cases {
            let e = Exponents::new(lambda, delta, 1.0);
            for x in [1e-3, 0.1, 0.4999, 0.7, 1.0] {
                let at = e.evaluate(x);
                assert!(
                    [at.sigma1, at.c1, at.sigma2, at.c2, at.d1, at.d0]
                        .iter()
                        .all(|f| f.is_finite())
                );
                // σ₁ − σ₂ = L D₁ and C₁ − C₂ = L D₀, whichever way D was found.
                let scale = at.sigma1.abs() + at.sigma2.abs();
                assert!(
                    (at.sigma1 - at.sigma2 - e.l * at.d1).abs() <= 1e-13 * scale + 1e-300,
                    "{lambda} {delta} {x}: {at:?}"
                );
                let scale = at.c1.abs() + at.c2.abs();
                assert!((at.c1 - at.c2 - e.l * at.d0).abs() <= 1e-13 * scale + 1e-300);
                // (D₁ e^κx)' = D₀ e^κx by a central difference.
                let h = 1e-4 * x / (1.0 + e.kappa * x + e.z2.abs().sqrt() * x);
                let grown = |y: f64| (e.kappa * (y - x)).exp();
                let slope = (e.evaluate(x + h).d1 * grown(x + h)
                    - e.evaluate(x - h).d1 * grown(x - h))
                    / (2.0 * h);
                let size = at.d0.abs() + (at.d1 / x).abs();
                assert!(
                    (slope - at.d0).abs() < 1e-6 * size,
                    "{lambda} {delta} {x}: {slope} {}",
                    at.d0
                );
            }
        }
    }

    /// Without stiffness and damping the functions are those of cubics.
    #[test]
    fn functions_limit_is_cubic() {
        let at = Exponents::new(0.0, 0.0, 3.0).evaluate(1.0);
        let limit = IntervalFunctions {
            sigma1: 1.0,
            c1: 1.0,
            sigma2: 1.0,
            c2: 1.0,
            d1: 1.0 / 6.0,
            d0: 0.5,
        };
        assert_eq!(at, limit);
    }
}
