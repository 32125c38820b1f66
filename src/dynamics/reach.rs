// SPDX-License-Identifier: MIT OR Apache-2.0
//! A soft limit on how far flesh is shown from where skinning alone would put it.
//!
//! Linearised flesh has no end to its stretch: a blow of fifty g carries it as far as it likes. The limit acts
//! on what is shown, never on the motion itself: a distance d from the skinned place becomes `d` up to half
//! the limit L, and beyond `L/2 (1 + tanh(2d/L − 1))`, which never passes L and is C¹. It is stateless, so
//! frames keep their independence, and monotone, so stronger motion still looks stronger.

use super::{Frames, Simulation, SimulationError};
use crate::Vec3;
use crate::body::Body;
use crate::skeleton::Pose;

/// Draws positions softly towards their skinned places, none farther than `limit` metres.
fn limited(places: &[Vec3], positions: &[Vec3], limit: f64) -> Vec<Vec3> {
    let half = limit / 2.0;
    let draw = |(t, p): (&Vec3, &Vec3)| {
        let away = p - t;
        let d = away.norm();
        if d > half {
            t + away * (half * (1.0 + (d / half - 1.0).tanh()) / d)
        } else {
            *p
        }
    };
    places.iter().zip(positions).map(draw).collect()
}

impl Simulation {
    /// Positions of the lattice's vertices as they are shown: within the settings' reach.
    pub fn shown_positions(&self) -> Vec<Vec3> {
        match self.settings.reach {
            Some(reach) => limited(&self.now.places, &self.positions, reach * self.size),
            None => self.positions.clone(),
        }
    }
}

/// Positions at a pose as they are shown within `reach`, a part of the body's size.
///
/// # Errors
/// A pose of another skeleton, a reach that is not positive.
pub fn shown(
    body: &Body,
    pose: &Pose,
    positions: &[Vec3],
    reach: f64,
) -> Result<Vec<Vec3>, SimulationError> {
    check(Some(reach))?;
    let mut frames = Frames::new(body)?;
    frames.set(body, super::Method::Warped, pose)?;
    Ok(limited(&frames.places, positions, reach * body.size()))
}

/// Refuses a reach that is no length.
pub(super) fn check(reach: Option<f64>) -> Result<(), SimulationError> {
    match reach {
        Some(value) if !(value > 0.0 && value.is_finite()) => Err(SimulationError::Setting {
            what: "reach",
            range: "a positive part of the body's size",
            value,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_distances_stay_and_large_ones_saturate_monotonically() {
        let at = |d: f64| limited(&[Vec3::zeros()], &[Vec3::new(0.0, d, 0.0)], 0.2)[0].y;
        assert_eq!(at(0.07), 0.07);
        let mut last = 0.0;
        for i in 1..400 {
            let shown = at(f64::from(i) * 0.005);
            assert!(shown >= last && shown <= 0.2);
            last = shown;
        }
        assert!(last > 0.199);
        // The slope has no jump at half the limit.
        let slope = |d: f64| (at(d + 1e-6) - at(d - 1e-6)) / 2e-6;
        assert!((slope(0.0999) - slope(0.1001)).abs() < 1e-4);
    }
}
