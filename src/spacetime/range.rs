// SPDX-License-Identifier: MIT OR Apache-2.0
//! Valid range of times and oscillators of splines.

use super::SpacetimeError;
use super::interval::Oscillator;
use super::prepare::check_times;

/// Checks times and oscillators: at least two knots, ascending times, no overflow.
///
/// # Errors
/// [`SpacetimeError`] with the index of the knot, as a keyframe, or of the mode.
pub fn check_splines(times: &[f64], oscillators: &[Oscillator]) -> Result<(), SpacetimeError> {
    if times.len() < 2 {
        return Err(SpacetimeError::TooFew { keys: times.len() });
    }
    check_times(times, times.len())?;
    let lengths = times.windows(2).map(|pair| pair[1] - pair[0]);
    check_range(oscillators, lengths.fold(0.0, f64::max))
}

/// Checks that the parameters of oscillators over an interval do not overflow.
pub(super) fn check_range(oscillators: &[Oscillator], longest: f64) -> Result<(), SpacetimeError> {
    /// Largest `|λ| T²`.
    const MAX_STIFFNESS: f64 = 1e24;
    /// Largest `|δ| T`.
    const MAX_DAMPING: f64 = 1e12;
    let far = |o: &Oscillator| {
        let bounded = o.stiffness.abs() * longest * longest <= MAX_STIFFNESS
            && o.damping.abs() * longest <= MAX_DAMPING
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
