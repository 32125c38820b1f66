// SPDX-License-Identifier: MIT OR Apache-2.0
//! Range of strengths at which a rig folds no flesh, at the pose and with the other rigs of a fit.
//!
//! In balance displacements are affine in the strength, so one more solve gives the strengths at which no flesh is
//! pressed flat ([`unfolded_range`]). The range depends on the rig's placement. A round of a minimisation keeps to the range at
//! its start, and its result is clamped to the range at its end.

use super::RigFitError;
use super::options::ResolvedOptions;
use crate::Vec3;
use crate::dynamics::Equilibrium;
use crate::rig::folding::unfolded_range;
use crate::rig::{Rig, RigKind};

/// Relative distance up to which a strength counts as at its bound.
const BOUND_TOLERANCE: f64 = 1e-3;
/// Relative growth of a bound that is worth another round.
const MIN_BOUND_GROWTH: f64 = 1e-2;

/// Lower and upper bound of the strength, N/m³.
pub(super) type StrengthRange = (f64, f64);

/// Cache of the last range of strengths, with the rig and parameters it belongs to.
#[derive(Debug)]
pub(super) struct CachedStrengths {
    kind: RigKind,
    eta: Vec<f64>,
    strengths: StrengthRange,
}

/// The flesh of a fit, with the forces that act on it.
pub(super) struct FoldingLimit<'a> {
    pub rig: &'a Rig,
    pub balance: &'a mut Equilibrium,
    pub gravity: Vec3,
    pub others: Option<&'a [Vec3]>,
    /// Displacements without the rig, metres.
    pub without: &'a [Vec3],
    pub known: &'a mut Option<CachedStrengths>,
}

impl FoldingLimit<'_> {
    /// Returns the range of strengths at which flesh does not fold at η; the strength in η is ignored.
    fn strength_range(&mut self, eta: &[f64]) -> Result<StrengthRange, RigFitError> {
        let body = self.balance.body().clone();
        let usual = body.material().young() / body.size();
        let eta = self.rig.with_strength(eta, usual);
        if let Some(known) = &self.known
            && known.kind == *self.rig.kind()
            && known.eta == eta
        {
            return Ok(known.strengths);
        }
        let mut forces = self.rig.forces(&body, &eta)?;
        for (f, other) in forces.iter_mut().zip(self.others.into_iter().flatten()) {
            *f += other;
        }
        let mut line = self.balance.solve(self.gravity, None, Some(&forces))?;
        for (q, without) in line.iter_mut().zip(self.without) {
            *q -= without;
        }
        let (least, most) = unfolded_range(body.elements(), self.without, &line);
        let strengths = (least * usual, most * usual);
        *self.known = Some(CachedStrengths {
            kind: self.rig.kind().clone(),
            eta,
            strengths,
        });
        Ok(strengths)
    }

    /// Clamps the strength in η to what flesh bears, unless it is fixed; returns whether that changed it.
    pub fn clamp_strength(
        &mut self,
        resolved: &ResolvedOptions,
        eta: &mut [f64],
    ) -> Result<bool, RigFitError> {
        let Some(at) = resolved.free_strength() else {
            return Ok(false);
        };
        let (least, most) = self.strength_range(eta)?;
        let kept = eta[at].clamp(least, most);
        let changed = kept != eta[at];
        eta[at] = kept;
        Ok(changed)
    }

    /// Narrows the strength's bounds in a round that starts at η to what flesh bears there, and returns that range.
    /// [`clamp_strength`](Self::clamp_strength) must have clamped η.
    pub fn narrow_bounds(
        &mut self,
        resolved: &ResolvedOptions,
        bounds: &mut [(f64, f64)],
        eta: &[f64],
    ) -> Result<StrengthRange, RigFitError> {
        let Some(at) = resolved.free_strength() else {
            return Ok((f64::NEG_INFINITY, f64::INFINITY));
        };
        let (least, most) = self.strength_range(eta)?;
        let (lower, upper) = bounds[at];
        // A bound beyond what flesh bears stays at least at the start.
        bounds[at] = (lower.max(least).min(eta[at]), upper.min(most).max(eta[at]));
        Ok((least, most))
    }

    /// Returns whether η ended at the edge of a round's strengths, and the range at η is wider there.
    pub fn has_wider_range(
        &mut self,
        resolved: &ResolvedOptions,
        eta: &[f64],
        (least, most): StrengthRange,
    ) -> Result<bool, RigFitError> {
        let Some(at) = resolved.free_strength() else {
            return Ok(false);
        };
        let now = self.strength_range(eta)?;
        let freed = |bound: f64, now: f64| {
            eta[at] / bound > 1.0 - BOUND_TOLERANCE && now / bound > 1.0 + MIN_BOUND_GROWTH
        };
        Ok(freed(least, now.0) || freed(most, now.1))
    }

    /// Returns whether more strength at η would fold flesh.
    pub fn is_at_limit(
        &mut self,
        resolved: &ResolvedOptions,
        eta: &[f64],
    ) -> Result<bool, RigFitError> {
        let Some(at) = resolved.free_strength() else {
            return Ok(false);
        };
        let (least, most) = self.strength_range(eta)?;
        Ok(eta[at] / least > 1.0 - BOUND_TOLERANCE || eta[at] / most > 1.0 - BOUND_TOLERANCE)
    }
}
