// SPDX-License-Identifier: MIT OR Apache-2.0
//! One interval of a wiggly spline as an element: its energy as an exact quadratic form in the Hermite data at its ends, and the
//! minimiser in between. [hildebrandt2012, §4.2, eqs 11, 12], derived anew
//!
//! On an interval of length T the minimiser of `∫ r² dt`, `r = ω̈ + 2δω̇ + λω + g`, is determined by values and slopes at both ends.
//! Split it into an even and an odd function of `s = t/T − ½`. Let `ye, yo` be half the sum and half the difference of the values,
//! `de, do` (odd and even in s) those of the slopes times T, and `z = L ye + gT²`. The energy is then
//!
//! ```text
//! T³ ∫ r² = ee de² + 2 ez de z + zz z² + oo do² + 2 oy do yo + yy yo² + T³ [B]
//! ee = 4 (C₁+C₂)/(S₁+S₂)   ez = 4 S₂/(S₁+S₂)   zz = 4 C[·]/(S₁+S₂)
//! oo = 4 C[·]/S[·]          oy = −4 S₂/S[·]      yy = 4 (C₁+C₂)/S[·]
//! B = 2δ (ω̇² + λω² + 2gω)   at the end less at the beginning
//! ```
//!
//! with the [functions](super::functions) at the whole interval. There is no division by λ, so both stiffness and damping may be zero.
//! B cancels between neighbours wherever value and slope are shared. The minimiser itself:
//!
//! ```text
//! e = ye + z G(s) + de E(s),   o = yo P(s) + do Q(s),   x = ½ + s,  y = ½ − s
//! G = −L (D₀(y) D₁(x) + D₁(y) D₀(x))/(S₁+S₂)     E = −(σ₁(x) σ₂(y) + σ₁(y) σ₂(x))/(S₁+S₂)
//! P = (D₁(x) C₂(y) − D₀(y) σ₂(x) + D₀(x) σ₂(y) − D₁(y) C₂(x))/S[·]   Q = −(D₁(x) σ₂(y) − D₁(y) σ₂(x))/S[·]
//! ```

use super::functions::{Exponents, IntervalFunctions};

/// Parameters of one mode.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Oscillator {
    /// Stiffness λ, 1/s²; may be negative.
    pub stiffness: f64,
    /// Damping δ, 1/s.
    pub damping: f64,
    /// Constant acceleration g, the effect of a force `−g`.
    pub gravity: f64,
}

/// Values and slopes at both ends of an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct IntervalEnds {
    /// Values at the start and the end.
    pub values: [f64; 2],
    /// Slopes there, per second.
    pub slopes: [f64; 2],
}

/// An oscillator over one interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    length: f64,
    oscillator: Oscillator,
    exponents: Exponents,
    whole: IntervalFunctions,
}

/// The energy `uᵀ K u + 2 fᵀ u + c` of `u = (y₀, v₀, y₁, v₁)`, without its boundary term.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct IntervalElement {
    pub matrix: [[f64; 4]; 4],
    pub load: [f64; 4],
    pub constant: f64,
}

impl Interval {
    pub fn new(oscillator: Oscillator, length: f64) -> Self {
        let exponents = Exponents::new(oscillator.stiffness, oscillator.damping, length);
        Self {
            length,
            oscillator,
            whole: exponents.evaluate(1.0),
            exponents,
        }
    }

    pub fn length(&self) -> f64 {
        self.length
    }

    pub fn oscillator(&self) -> Oscillator {
        self.oscillator
    }

    /// Returns the coefficients of the energy of even and odd parts.
    fn energy_coefficients(&self) -> EnergyCoefficients {
        let w = &self.whole;
        let (even, odd) = (4.0 / (w.sigma1 + w.sigma2), 4.0 / w.d1);
        let c = w.c1 + w.c2;
        EnergyCoefficients {
            ee: even * c,
            ez: even * w.sigma2,
            zz: even * w.d0,
            oo: odd * w.d0,
            oy: -odd * w.sigma2,
            yy: odd * c,
        }
    }

    /// Returns the interval as a finite element.
    pub fn interval_element(&self) -> IntervalElement {
        let p = self.energy_coefficients();
        let t = self.length;
        let (l, g) = (self.exponents.l, self.oscillator.gravity * t * t);
        // Scale factors: energies by 1/T³, slopes by T.
        let (value, mixed, slope) = (0.25 / (t * t * t), 0.25 / (t * t), 0.25 / t);
        let (even_y, even_dy) = (p.zz * l * l, p.ez * l);
        let y_same = value * (even_y + p.yy);
        let y_other = value * (even_y - p.yy);
        let v_same = slope * (p.ee + p.oo);
        let v_other = slope * (p.oo - p.ee);
        let own = mixed * (even_dy + p.oy);
        let across = mixed * (even_dy - p.oy);
        let (of_y, of_v) = (2.0 * value * p.zz * l * g, 2.0 * mixed * p.ez * g);
        IntervalElement {
            matrix: [
                [y_same, -own, y_other, across],
                [-own, v_same, -across, v_other],
                [y_other, -across, y_same, own],
                [across, v_other, own, v_same],
            ],
            load: [of_y, -of_v, of_y, of_v],
            constant: 4.0 * value * p.zz * g * g,
        }
    }

    /// Returns the coefficient of the square of a slope that is free at the end (+1) or at the start (−1), including the boundary
    /// term. It may be far smaller than both of its parts.
    pub fn free_slope_coefficient(&self, side: f64) -> f64 {
        let p = self.energy_coefficients();
        let damping = side * self.oscillator.damping;
        let slope = 0.25 / self.length * (p.ee + p.oo);
        if damping >= 0.0 || self.exponents.exponent_lead() < 1.0 {
            return slope + 2.0 * damping;
        }
        // (C₁S₁ − C₂S₂)/(S₁² − S₂²) − a with C₁ − aS₁ = e^(−a); κ is a here.
        let w = &self.whole;
        let (decay, a) = self.exponents.decay();
        let rest = decay * decay * w.sigma1 - w.sigma2 * (w.c2 - a * w.sigma2);
        2.0 * rest / (self.exponents.l * w.d1 * (w.sigma1 + w.sigma2)) / self.length
    }

    /// Evaluates the minimiser's time derivative of order 0 to 3 at a share x of the interval.
    pub fn evaluate(&self, ends: &IntervalEnds, x: f64, derivative: usize) -> f64 {
        let t = self.length;
        let (e, w) = (&self.exponents, &self.whole);
        let [y0, y1] = ends.values;
        let [v0, v1] = ends.slopes.map(|v| v * t);
        let (even, odd) = (0.5 * (y0 + y1), 0.5 * (y1 - y0));
        let (turned, along) = (0.5 * (v1 - v0), 0.5 * (v0 + v1));
        let z = e.l * even + self.oscillator.gravity * t * t;
        let (from, to) = (e.evaluate(x), e.evaluate(1.0 - x));
        let (sum, difference) = (w.sigma1 + w.sigma2, w.d1);
        if derivative == 0 {
            let g = -e.l * (to.d0 * from.d1 + to.d1 * from.d0) / sum;
            let turn = -(from.sigma1 * to.sigma2 + to.sigma1 * from.sigma2) / sum;
            let p = (from.d1 * to.c2 - to.d0 * from.sigma2 + from.d0 * to.sigma2 - to.d1 * from.c2)
                / difference;
            let q = -(from.d1 * to.sigma2 - to.d1 * from.sigma2) / difference;
            return even + z * g + turned * turn + odd * p + along * q;
        }
        let (from, to) = (FunctionJets::new(e, &from), FunctionJets::new(e, &to));
        let times = |f: &[f64], g: &[f64]| product_derivative(f, g, derivative);
        let g = -e.l * (times(&from.d1, to.d0()) + times(from.d0(), &to.d1)) / sum;
        let turn = -(times(&from.sigma1, &to.sigma2) + times(&from.sigma2, &to.sigma1)) / sum;
        let p = (times(&from.d1, to.c2()) - times(&from.sigma2, to.d0())
            + times(from.d0(), &to.sigma2)
            - times(from.c2(), &to.d1))
            / difference;
        let q = -(times(&from.d1, &to.sigma2) - times(&from.sigma2, &to.d1)) / difference;
        let scaled = z * g + turned * turn + odd * p + along * q;
        scaled / t.powi(derivative as i32)
    }
}

struct EnergyCoefficients {
    ee: f64,
    ez: f64,
    zz: f64,
    oo: f64,
    oy: f64,
    yy: f64,
}

/// Functions and their derivatives with respect to x, up to the fourth.
struct FunctionJets {
    sigma1: [f64; 5],
    sigma2: [f64; 5],
    d1: [f64; 5],
}

impl FunctionJets {
    fn new(e: &Exponents, at: &IntervalFunctions) -> Self {
        let of = |z: f64, sigma: f64, c: f64| [sigma, c, z * sigma, z * c, z * z * sigma];
        let sigma1 = of(e.z1, at.sigma1, at.c1);
        let sigma2 = of(e.z2, at.sigma2, at.c2);
        // D₁'' = σ₁ + Z₂ D₁.
        let second = at.sigma1 + e.z2 * at.d1;
        let third = at.c1 + e.z2 * at.d0;
        let fourth = e.z1 * at.sigma1 + e.z2 * second;
        Self {
            sigma1,
            sigma2,
            d1: [at.d1, at.d0, second, third, fourth],
        }
    }

    fn d0(&self) -> &[f64] {
        &self.d1[1..]
    }

    fn c2(&self) -> &[f64] {
        &self.sigma2[1..]
    }
}

/// Returns a derivative of `f(½ + s) g(½ − s)` with respect to s.
fn product_derivative(f: &[f64], g: &[f64], order: usize) -> f64 {
    const BINOMIAL: [[f64; 4]; 4] = [
        [1.0, 0.0, 0.0, 0.0],
        [1.0, 1.0, 0.0, 0.0],
        [1.0, 2.0, 1.0, 0.0],
        [1.0, 3.0, 3.0, 1.0],
    ];
    (0..=order)
        .map(|k| {
            let sign = if (order - k).is_multiple_of(2) {
                1.0
            } else {
                -1.0
            };
            sign * BINOMIAL[order][k] * f[k] * g[order - k]
        })
        .sum()
}
