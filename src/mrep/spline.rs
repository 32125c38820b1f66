// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interpolating cubic splines as fixed linear maps from values at the knots to any parameter.
//!
//! Rows of knots use the *not-a-knot* condition (two values: a line, three: a parabola); circles are periodic with even knots. A
//! spline returns weights and does not know the values.

use nalgebra::DMatrix;

/// A cubic spline over given knots.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spline {
    /// Ascending knots; a periodic spline includes the closing one.
    knots: Vec<f64>,
    /// For each interval and each power 0 to 3 of its fraction: one weight per value.
    intervals: Vec<[Vec<f64>; 4]>,
}

/// Returns value, first and second derivative of the four powers at a fraction of an interval.
pub(super) fn power_derivatives(t: f64) -> [[f64; 4]; 3] {
    [
        [1.0, t, t * t, t * t * t],
        [0.0, 1.0, 2.0 * t, 3.0 * t * t],
        [0.0, 0.0, 2.0, 6.0 * t],
    ]
}

impl Spline {
    /// Builds a spline through values at ascending knots, at least two.
    pub fn not_a_knot(knots: &[f64]) -> Self {
        let n = knots.len();
        let h: Vec<f64> = knots.windows(2).map(|w| w[1] - w[0]).collect();
        let mut slope = vec![vec![0.0; n]; n];
        if n == 2 {
            for row in &mut slope {
                (row[0], row[1]) = (-1.0 / h[0], 1.0 / h[0]);
            }
        } else if n == 3 {
            // Slopes of the parabola.
            let sum = h[0] + h[1];
            let rise = |a: f64, b: f64| vec![-a / h[0], a / h[0] - b / h[1], b / h[1]];
            slope[0] = rise(1.0 + h[0] / sum, -h[0] / sum);
            slope[1] = rise(h[1] / sum, h[0] / sum);
            slope[2] = rise(-h[1] / sum, 1.0 + h[1] / sum);
        } else {
            let (mut a, mut b) = (DMatrix::zeros(n, n), DMatrix::zeros(n, n));
            // Adds `factor` times the slope of an interval to a right side.
            let mut rise = |row: usize, interval: usize, factor: f64| {
                b[(row, interval)] -= factor / h[interval];
                b[(row, interval + 1)] += factor / h[interval];
            };
            for i in 1..n - 1 {
                let (before, after) = (h[i - 1], h[i]);
                a[(i, i - 1)] = after;
                a[(i, i)] = 2.0 * (before + after);
                a[(i, i + 1)] = before;
                rise(i, i - 1, 3.0 * after);
                rise(i, i, 3.0 * before);
            }
            // The third derivative is continuous at the second knot and the last but one.
            for (end, inner, first, second) in [(0, 1, 0, 1), (n - 1, n - 2, n - 2, n - 3)] {
                let (outer, next) = (h[first], h[second]);
                let sum = outer + next;
                a[(end, end)] = next;
                a[(end, inner)] = sum;
                rise(end, first, (outer + 2.0 * sum) * next / sum);
                rise(end, second, outer * outer / sum);
            }
            // Diagonally dominant after one step of elimination, hence solvable.
            let solved = a.lu().solve(&b).unwrap_or_else(|| DMatrix::zeros(n, n));
            for (i, row) in slope.iter_mut().enumerate() {
                row.copy_from_slice(&solved.row(i).iter().copied().collect::<Vec<_>>());
            }
        }
        let ends: Vec<[usize; 2]> = (0..n - 1).map(|i| [i, i + 1]).collect();
        Self {
            knots: knots.to_vec(),
            intervals: interval_polynomials(&ends, &h, &slope),
        }
    }

    /// Builds a periodic spline through `n` values at even steps, at least three; one period is 0 to 2π.
    pub fn periodic(n: usize) -> Self {
        let (mut a, mut b) = (DMatrix::zeros(n, n), DMatrix::zeros(n, n));
        for i in 0..n {
            let (before, after) = ((i + n - 1) % n, (i + 1) % n);
            a[(i, before)] += 1.0;
            a[(i, i)] += 4.0;
            a[(i, after)] += 1.0;
            b[(i, after)] += 3.0;
            b[(i, before)] -= 3.0;
        }
        let solved = a.lu().solve(&b).unwrap_or_else(|| DMatrix::zeros(n, n));
        let slope: Vec<Vec<f64>> = (0..n)
            .map(|i| solved.row(i).iter().copied().collect())
            .collect();
        let ends: Vec<[usize; 2]> = (0..n).map(|i| [i, (i + 1) % n]).collect();
        let step = std::f64::consts::TAU / n as f64;
        Self {
            knots: (0..=n).map(|i| step * i as f64).collect(),
            intervals: interval_polynomials(&ends, &vec![1.0; n], &slope),
        }
    }

    pub fn knots(&self) -> &[f64] {
        &self.knots
    }

    /// Returns the polynomials of an interval in its fraction: for each power one weight per value.
    pub fn interval(&self, interval: usize) -> &[Vec<f64>; 4] {
        &self.intervals[interval]
    }

    /// Returns the interval of `x` (beyond the ends the first or last), the fraction in it, and the interval's length.
    pub fn locate(&self, x: f64) -> (usize, f64, f64) {
        let inner = &self.knots[1..self.knots.len() - 1];
        let i = inner.partition_point(|&k| k <= x);
        let length = self.knots[i + 1] - self.knots[i];
        (i, (x - self.knots[i]) / length, length)
    }

    /// Returns the weights of the values for the value (0), slope (1) or second derivative (2) at `x`.
    pub fn weights(&self, x: f64, derivative: usize) -> Vec<f64> {
        let (i, t, length) = self.locate(x);
        let p = power_derivatives(t)[derivative];
        let scale = length.powi(derivative as i32);
        let pieces = &self.intervals[i];
        (0..pieces[0].len())
            .map(|k| (0..4).map(|power| p[power] * pieces[power][k]).sum::<f64>() / scale)
            .collect()
    }
}

/// Returns the polynomials of each interval, from values and slopes (as weights) at its ends.
fn interval_polynomials(
    ends: &[[usize; 2]],
    lengths: &[f64],
    slope: &[Vec<f64>],
) -> Vec<[Vec<f64>; 4]> {
    let one = |(&[a, b], &h): (&[usize; 2], &f64)| {
        let n = slope.len();
        let unit = |i: usize, k: usize| f64::from(u8::from(i == k));
        let mut powers: [Vec<f64>; 4] = std::array::from_fn(|_| vec![0.0; n]);
        for k in 0..n {
            let (y, z) = (unit(a, k), unit(b, k));
            let (s, e) = (h * slope[a][k], h * slope[b][k]);
            powers[0][k] = y;
            powers[1][k] = s;
            powers[2][k] = 3.0 * (z - y) - 2.0 * s - e;
            powers[3][k] = 2.0 * (y - z) + s + e;
        }
        powers
    };
    ends.iter().zip(lengths).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluate(spline: &Spline, values: &[f64], x: f64, derivative: usize) -> f64 {
        let weights = spline.weights(x, derivative);
        weights.iter().zip(values).map(|(w, y)| w * y).sum()
    }

    /// A spline reproduces polynomials up to its degree, also beyond its knots.
    #[test]
    fn spline_reproduces_polynomials() {
        // Two values carry a line, three a parabola, more a cubic; between knots and beyond them.
        for n in 2..9 {
            let knots: Vec<f64> = (0..n)
                .map(|i| 0.3 * i as f64 + 0.1 * (i * i) as f64)
                .collect();
            let spline = Spline::not_a_knot(&knots);
            let degree = (n - 1).min(3) as i32;
            let f = |x: f64| {
                (0..=degree)
                    .map(|d| (1.0 - 0.4 * f64::from(d)) * x.powi(d))
                    .sum::<f64>()
            };
            let slope = |x: f64| {
                (1..=degree)
                    .map(|d| (1.0 - 0.4 * f64::from(d)) * f64::from(d) * x.powi(d - 1))
                    .sum::<f64>()
            };
            let values: Vec<f64> = knots.iter().map(|&x| f(x)).collect();
            for i in -3..40 {
                let x = knots[n - 1] * f64::from(i) / 33.0;
                let scale = 1.0 + x.abs().powi(3);
                assert!(
                    (evaluate(&spline, &values, x, 0) - f(x)).abs() < 1e-12 * scale,
                    "{n} {x}"
                );
                assert!(
                    (evaluate(&spline, &values, x, 1) - slope(x)).abs() < 1e-11 * scale,
                    "{n} {x}"
                );
            }
        }
    }

    /// Value, slope and curvature are continuous across knots.
    #[test]
    fn spline_is_smooth_at_knots() {
        let knots = [0.0, 0.7, 1.0, 2.2, 2.5, 4.0];
        let values = [1.0, -0.3, 0.4, 2.0, 0.1, 0.0];
        for (spline, values) in [
            (Spline::not_a_knot(&knots), &values[..]),
            (Spline::periodic(5), &values[..5]),
        ] {
            for &knot in &spline.knots()[1..spline.knots().len() - 1] {
                for derivative in 0..3 {
                    let h = 1e-7;
                    let before = evaluate(&spline, values, knot - h, derivative);
                    let after = evaluate(&spline, values, knot + h, derivative);
                    assert!((before - after).abs() < 1e-4, "{knot} {derivative}");
                }
            }
        }
    }

    /// A periodic spline closes, and its error falls with the fourth power of the step.
    #[test]
    fn periodic_spline_converges() {
        let worst = |n: usize| {
            let spline = Spline::periodic(n);
            let values: Vec<f64> = spline.knots()[..n].iter().map(|x| x.cos()).collect();
            for derivative in 0..3 {
                let gap = evaluate(&spline, &values, 0.0, derivative)
                    - evaluate(&spline, &values, std::f64::consts::TAU, derivative);
                assert!(gap.abs() < 1e-12);
            }
            (0..997)
                .map(|i| f64::from(i) * std::f64::consts::TAU / 997.0)
                .map(|x| (evaluate(&spline, &values, x, 0) - x.cos()).abs())
                .fold(0.0, f64::max)
        };
        let (coarse, fine) = (worst(8), worst(16));
        assert!(coarse < 2e-3 && fine < coarse / 12.0, "{coarse} {fine}");
    }
}
