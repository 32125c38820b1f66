// SPDX-License-Identifier: MIT OR Apache-2.0
//! Peak displacements of muscles, which are not linear in the contraction, and the contractions that reach given ones.
//!
//! The displacement of the skin grows steadily with the contraction, up to the one at which flesh would be pressed flat. The contraction for a distance is found
//! by false position, with the kept end's value halved (the Illinois rule), so that it always lies between two bounds.

use super::CONTRACTIONS;
use crate::body::Body;
use crate::rig::compliance::skin_peak;
use crate::rig::{Rig, RigError, RigKind};

/// Error of a displacement, as a part of it, at which a contraction is found.
const TOLERANCE: f64 = 1e-9;
/// Largest number of steps; six to ten are usual.
const ROUNDS: usize = 60;

impl Rig {
    /// Returns the largest displacement of the skin of a body at rest at the parameters η of a muscle, m, with the sign of its contraction; `None` for another
    /// kind of rig, and for a muscle outside the flesh.
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
        if at_high < -TOLERANCE * wanted.abs() {
            return Err(RigError::Unreachable {
                wanted,
                most: (at_high + wanted.abs()).copysign(wanted),
                contraction: end,
            });
        }
        for _ in 0..ROUNDS {
            let next = low - at_low * (high - low) / (at_high - at_low);
            let at = miss(next)?;
            if at.abs() <= TOLERANCE * wanted.abs() {
                return Ok(Some(next));
            }
            if at < 0.0 {
                (low, at_low, at_high) = (next, at, 0.5 * at_high);
            } else {
                (high, at_high, at_low) = (next, at, 0.5 * at_low);
            }
        }
        Ok(Some(if at_high.abs() < at_low.abs() {
            high
        } else {
            low
        }))
    }
}
