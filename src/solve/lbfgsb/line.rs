// SPDX-License-Identifier: MIT OR Apache-2.0
//! Line search for a point that satisfies the strong Wolfe conditions. [byrd1995, §6]

use super::scaled::{ScaledFunction, ScaledPoint, rounding_error};
use nalgebra::DVector;

/// Wolfe: share of the predicted decrease that a step must achieve.
const SUFFICIENT_DECREASE: f64 = 1e-4;
/// Wolfe: share of the slope that may remain after a step.
const WOLFE_CURVATURE: f64 = 0.9;
/// Maximum number of evaluations of one line search.
const MAX_TRIALS: usize = 30;

/// Value and slope at one step along a line.
#[derive(Debug, Clone, Copy)]
struct Trial {
    step: f64,
    value: f64,
    slope: f64,
}

impl Trial {
    /// Returns the minimum of the cubic through this trial and a worse one, kept away from both ends.
    fn cubic_minimum(&self, other: &Trial) -> f64 {
        let width = other.step - self.step;
        if !other.value.is_finite() {
            return self.step + 0.25 * width;
        }
        let theta = 3.0 * (self.value - other.value) / width + self.slope + other.slope;
        let root = theta * theta - self.slope * other.slope;
        let part = if root >= 0.0 {
            let gamma = root.sqrt().copysign(width);
            (gamma - self.slope + theta) / (2.0 * gamma - self.slope + other.slope)
        } else {
            0.5
        };
        let part = if part.is_finite() { part } else { 0.5 };
        self.step + part.clamp(0.1, 0.9) * width
    }
}

/// Returns a point along d that satisfies the strong Wolfe conditions, or one with sufficient decrease where the
/// box or the trials end the search; `None` where it finds neither.
pub(super) fn search_line(
    scaled: &mut ScaledFunction,
    here: &ScaledPoint,
    d: &DVector<f64>,
    blind: bool,
) -> Option<ScaledPoint> {
    let slope = d.dot(&here.gradient);
    if slope >= 0.0 || !slope.is_finite() {
        return None;
    }
    let longest = scaled.max_step(&here.z, d);
    // A blind model gives no length for d: at most one typical size.
    let most = if blind { 1.0 / d.amax() } else { 1.0 };
    let mut step = most.min(1.0).min(longest);
    let noise = rounding_error(here.value);
    let mut low = Trial {
        step: 0.0,
        value: here.value,
        slope,
    };
    let (mut found, mut high) = (None, None::<Trial>);
    for _ in 0..MAX_TRIALS {
        if scaled.is_spent() {
            break;
        }
        let point = scaled.evaluate(&here.z + d * step);
        let trial = Trial {
            step,
            value: point.as_ref().map_or(f64::INFINITY, |p| p.value),
            slope: point.as_ref().map_or(0.0, |p| d.dot(&p.gradient)),
        };
        let promised = here.value + SUFFICIENT_DECREASE * step * slope + noise;
        if trial.value > promised || (low.step > 0.0 && trial.value > low.value) {
            high = Some(trial);
        } else {
            let flat = trial.slope.abs() <= -WOLFE_CURVATURE * slope;
            if flat || (trial.slope < 0.0 && step >= longest) {
                return point;
            }
            if trial.slope * (high.map_or(f64::INFINITY, |h| h.step) - step) >= 0.0 {
                high = Some(low);
            }
            (low, found) = (trial, point);
        }
        let next = match high {
            Some(high) => low.cubic_minimum(&high),
            None => (step * 4.0).min(longest),
        };
        if next == step || (next - low.step).abs() * d.amax() <= f64::MIN_POSITIVE {
            break;
        }
        step = next;
    }
    found
}
