// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times and oscillators that splines can be made of.

use super::SpacetimeError;
use super::interval::Oscillator;
use super::prepare::check_times;

/// Refuses times and oscillators that no splines can be made of: fewer than two knots, times that do not rise, numbers that would
/// overflow.
///
/// # Errors
/// [`SpacetimeError`] naming the knot, as a keyframe, or the mode.
pub fn check_splines(times: &[f64], oscillators: &[Oscillator]) -> Result<(), SpacetimeError> {
    if times.len() < 2 {
        return Err(SpacetimeError::TooFew { keys: times.len() });
    }
    check_times(times, times.len())?;
    let lengths = times.windows(2).map(|pair| pair[1] - pair[0]);
    check_range(oscillators, lengths.fold(0.0, f64::max))
}

/// Refuses oscillators whose numbers over an interval would overflow.
pub(super) fn check_range(oscillators: &[Oscillator], longest: f64) -> Result<(), SpacetimeError> {
    /// Largest `|λ| T²`.
    const STIFF: f64 = 1e24;
    /// Largest `|δ| T`.
    const DAMPED: f64 = 1e12;
    let far = |o: &Oscillator| {
        let bounded = o.stiffness.abs() * longest * longest <= STIFF
            && o.damping.abs() * longest <= DAMPED
            && crate::range::is_sound(o.gravity);
        !bounded
    };
    match oscillators.iter().position(far) {
        Some(mode) => Err(SpacetimeError::TooStiff {
            mode,
            length: longest,
        }),
        None => Ok(()),
    }
}
