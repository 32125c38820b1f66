// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps of a function with an approximate second derivative C: a trust region in a box. [more1978; nielsen1999]
//!
//! A step minimises `g·d + ½ dᵀ(C + μD)d` in the box, exactly, by active sets. D is the largest diagonal of C seen, so that
//! each variable is scaled by its effect. The damping μ follows the ratio of actual to predicted decrease. Each trial is one
//! evaluation; there is no line search. No variable moves by more than a number of its typical sizes. This number grows where
//! such steps achieve their prediction, so that the first steps, when little is known, do not leap into the basin of another
//! minimum.
//!
//! Deviation: D has a lower bound, a tiny share of its largest entry; otherwise variables without effect would prevent every
//! step.

use super::scaled::{ScaledFunction, ScaledPoint, rounding_error};
use nalgebra::{Cholesky, DMatrix, DVector};

/// Initial damping.
const INITIAL_DAMPING: f64 = 1e-3;
/// Lower limit of the damping.
const MIN_DAMPING: f64 = 1e-9;
/// Damping at which steps are useless.
const MAX_DAMPING: f64 = 1e12;
/// Share of the predicted decrease that a step must achieve.
const SUFFICIENT_DECREASE: f64 = 1e-4;
/// Share of the predicted decrease from which longer steps are tried.
const EXPANSION_GAIN: f64 = 0.5;
/// Lower bound of D, as a share of its largest entry.
const MIN_DIAGONAL_SHARE: f64 = 1e-10;

/// The state of the trust region.
pub(super) struct TrustRegion {
    /// Damping μ.
    damping: f64,
    /// Factor by which μ grows when the next step fails.
    growth: f64,
    /// Diagonal D, one entry per variable.
    diagonal: DVector<f64>,
    /// Largest change of a scaled variable in a step.
    first_step: f64,
}

impl TrustRegion {
    pub fn new(size: usize, first_step: f64) -> Self {
        Self {
            damping: INITIAL_DAMPING,
            growth: 2.0,
            diagonal: DVector::zeros(size),
            first_step,
        }
    }

    /// Returns the next point; `None` where no step achieves its prediction, or evaluations run out.
    pub fn step(
        &mut self,
        scaled: &mut ScaledFunction,
        here: &ScaledPoint,
        c: &DMatrix<f64>,
    ) -> Option<ScaledPoint> {
        let n = here.z.len();
        self.diagonal = self.diagonal.sup(&c.diagonal());
        let most = self.diagonal.amax();
        if !(most > 0.0 && most.is_finite()) {
            return None;
        }
        let lower = DVector::from_fn(n, |i, _| {
            (scaled.lower(i) - here.z[i]).max(-self.first_step)
        });
        let upper = DVector::from_fn(n, |i, _| (scaled.upper(i) - here.z[i]).min(self.first_step));
        while self.damping < MAX_DAMPING && !scaled.is_spent() {
            let mut b = c.clone();
            for i in 0..n {
                b[(i, i)] += self.damping * self.diagonal[i].max(MIN_DIAGONAL_SHARE * most);
            }
            let d = minimise_in_box(&b, &here.gradient, &lower, &upper)?;
            let promised = -here.gradient.dot(&d) - 0.5 * d.dot(&(c * &d));
            if promised.is_nan() || promised <= rounding_error(here.value) {
                return None;
            }
            let next = scaled.evaluate(&here.z + &d);
            let gain = next
                .as_ref()
                .map_or(f64::NEG_INFINITY, |p| (here.value - p.value) / promised);
            if gain > SUFFICIENT_DECREASE {
                let easier = 1.0 - (2.0 * gain - 1.0).powi(3);
                self.damping = (self.damping * easier.clamp(0.1, 2.0)).max(MIN_DAMPING);
                self.growth = 2.0;
                if gain > EXPANSION_GAIN && d.amax() >= self.first_step {
                    self.first_step *= 2.0;
                }
                return next;
            }
            self.damping *= self.growth;
            self.growth *= 2.0;
        }
        None
    }
}

/// Minimises `g·d + ½ dᵀBd` over `lower ≤ d ≤ upper`, a box that contains zero, for a positive definite B; `None` where B is
/// not.
fn minimise_in_box(
    b: &DMatrix<f64>,
    g: &DVector<f64>,
    lower: &DVector<f64>,
    upper: &DVector<f64>,
) -> Option<DVector<f64>> {
    let n = g.len();
    let mut d = DVector::zeros(n);
    let mut held: Vec<bool> = (0..n)
        .map(|i| (g[i] >= 0.0 && lower[i] >= 0.0) || (g[i] <= 0.0 && upper[i] <= 0.0))
        .collect();
    // Each round fixes or frees one variable; only rounding could cause cycles.
    for _ in 0..8 * n + 8 {
        let free: Vec<usize> = (0..n).filter(|&i| !held[i]).collect();
        let slope = g + b * &d;
        let part = b.select_rows(&free).select_columns(&free);
        let rest = DVector::from_fn(free.len(), |k, _| -slope[free[k]]);
        let step = Cholesky::new(part)?.solve(&rest);
        let (mut share, mut met) = (1.0, None);
        for (&i, &s) in free.iter().zip(step.iter()) {
            let bound = if s < 0.0 { lower[i] } else { upper[i] };
            let room = (bound - d[i]) / s;
            if s != 0.0 && room < share {
                (share, met) = (room.max(0.0), Some((i, bound)));
            }
        }
        for (&i, &s) in free.iter().zip(step.iter()) {
            d[i] += share * s;
        }
        if let Some((i, bound)) = met {
            (d[i], held[i]) = (bound, true);
            continue;
        }
        let slope = g + b * &d;
        let pulls = |i: usize| {
            let away = if d[i] <= lower[i] {
                -slope[i]
            } else {
                slope[i]
            };
            let fixed = lower[i] >= upper[i];
            (held[i] && !fixed).then_some((away / b[(i, i)].sqrt(), i))
        };
        let most = (0..n).filter_map(pulls).max_by(|a, b| a.0.total_cmp(&b.0));
        match most {
            Some((away, i)) if away > 1e-12 * g.amax() => held[i] = false,
            _ => break,
        }
    }
    Some(d)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a pseudo-random number between −1 and 1.
    fn noise(seed: usize) -> f64 {
        ((seed as f64 + 1.0) * 12.9898).sin() * 43758.5453 % 1.0
    }

    /// The solution in a box meets the conditions of a minimum.
    #[test]
    fn in_box_meets_kkt() {
        for n in 1..12 {
            for seed in 0..40 {
                let l = DMatrix::from_fn(n, n, |i, j| noise(n * i + j + 97 * seed));
                let b = &l * l.transpose() + DMatrix::identity(n, n) * 1e-6;
                let g = DVector::from_fn(n, |i, _| noise(5 * i + 31 * seed));
                let lower = DVector::from_fn(n, |i, _| noise(i + 11 * seed).min(0.0));
                let upper = DVector::from_fn(n, |i, _| noise(i + 13 * seed).max(0.0));
                let d = minimise_in_box(&b, &g, &lower, &upper).unwrap();
                let slope = &g + &b * &d;
                for i in 0..n {
                    assert!(lower[i] <= d[i] && d[i] <= upper[i]);
                    let off = (d[i] - slope[i]).max(lower[i]).min(upper[i]) - d[i];
                    assert!(off.abs() < 1e-8, "{n} {seed}: {off}");
                }
            }
        }
    }
}
