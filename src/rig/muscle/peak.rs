// SPDX-License-Identifier: MIT OR Apache-2.0
//! Peak displacements of muscles, which are not linear in the contraction, and the contractions that reach given ones.
//!
//! The displacement of the skin grows steadily with the contraction, up to the one at which flesh would be pressed flat. The contraction for a
//! distance is found by false position, so that it always lies between two bounds; the value of an end that is kept twice is halved (the
//! Illinois rule).

use super::CONTRACTIONS;
use crate::body::Body;
use crate::rig::compliance::skin_peak;
use crate::rig::{Rig, RigError, RigKind};

/// Error of a displacement, as a part of it, at which a contraction is found.
const TOLERANCE: f64 = 1e-9;
/// Largest number of steps.
const STEPS: usize = 60;

impl Rig {
    /// Returns the largest displacement of the skin of a body at rest at the parameters η of a muscle, m, with the sign of its contraction; `None`
    /// for another kind of rig, and for a muscle outside the flesh.
    ///
    /// # Errors
    /// Errors of [`forces`](Self::forces); a linear system that cannot be solved.
    pub(in crate::rig) fn muscle_peak(
        &self,
        body: &Body,
        eta: &[f64],
    ) -> Result<Option<f64>, RigError> {
        let RigKind::Muscle(muscle) = self.kind() else {
            return Ok(None);
        };
        match muscle.forces(body, eta) {
            Err(RigError::Outside) => Ok(None),
            Err(error) => Err(error),
            Ok(forces) => {
                let line = body.static_displacements(&forces)?;
                Ok(Some(skin_peak(body, &line).copysign(eta[0])))
            }
        }
    }

    /// Returns the contraction of a muscle at which the largest displacement of the skin of a body at rest is `wanted`, m, other parameters as in η;
    /// `None` where [`muscle_peak`](Self::muscle_peak) has none.
    ///
    /// # Errors
    /// A distance that no contraction reaches; errors of [`muscle_peak`](Self::muscle_peak).
    pub(in crate::rig) fn contraction_for_peak(
        &self,
        body: &Body,
        eta: &[f64],
        wanted: f64,
    ) -> Result<Option<f64>, RigError> {
        let (least, most) = CONTRACTIONS;
        let end = if wanted < 0.0 { least } else { most };
        let RigKind::Muscle(muscle) = self.kind() else {
            return Ok(None);
        };
        let end = match muscle.bearable_contraction(body, &self.with_strength(eta, end)) {
            Err(RigError::Outside) => return Ok(None),
            end => end?,
        };
        let miss = |contraction: f64| -> Result<f64, RigError> {
            let peak = self.muscle_peak(body, &self.with_strength(eta, contraction))?;
            Ok(peak.unwrap_or_default().abs() - wanted.abs())
        };
        let (mut low, mut at_low) = (0.0, -wanted.abs());
        let (mut high, mut at_high) = (end, miss(end)?);
        let tolerance = TOLERANCE * wanted.abs();
        if at_high.abs() <= tolerance {
            return Ok(Some(end));
        }
        if at_high < 0.0 {
            return Err(RigError::Unreachable {
                wanted,
                most: (at_high + wanted.abs()).copysign(wanted),
                contraction: end,
            });
        }
        // The values that the line goes through; that of an end that is kept twice is halved.
        let (mut from, mut to, mut last) = (at_low, at_high, 0.0);
        for _ in 0..STEPS {
            let next = low - from * (high - low) / (to - from);
            let at = miss(next)?;
            if at.abs() <= tolerance {
                return Ok(Some(next));
            }
            let is_kept_twice = at * last > 0.0;
            if at < 0.0 {
                (low, at_low, from) = (next, at, at);
                to *= if is_kept_twice { 0.5 } else { 1.0 };
            } else {
                (high, at_high, to) = (next, at, at);
                from *= if is_kept_twice { 0.5 } else { 1.0 };
            }
            last = at;
        }
        let is_low_nearer = at_low.abs() < at_high.abs();
        Ok(Some(if is_low_nearer { low } else { high }))
    }
}
