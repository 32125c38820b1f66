// SPDX-License-Identifier: MIT OR Apache-2.0
//! Range of strengths at which a rig folds no flesh, at the pose and with the other rigs of a fit.
//!
//! In balance displacements are affine in the strength, so one more solve gives the strengths at which no flesh is
//! pressed flat ([`room`]). The range depends on the rig's placement. A round of a minimisation keeps to the range at
//! its start, and its result is clamped to the range at its end.

use super::FitError;
use super::options::ResolvedOptions;
use crate::Vec3;
use crate::dynamics::Equilibrium;
use crate::rig::folding::room;
use crate::rig::{Rig, RigKind};

/// Relative distance up to which a strength counts as at its bound, and relative growth of a bound that is worth
/// another round.
const EDGE: f64 = 1e-3;
const WIDER: f64 = 1e-2;

/// Lower and upper bound of the strength, N/m³.
pub(super) type Strengths = (f64, f64);

/// Cache of the last range of strengths, with the rig and parameters it belongs to.
#[derive(Debug)]
pub(super) struct Known {
    kind: RigKind,
    eta: Vec<f64>,
    strengths: Strengths,
}

/// The flesh of a fit, with the forces that act on it.
pub(super) struct Whole<'a> {
    pub rig: &'a Rig,
    pub balance: &'a mut Equilibrium,
    pub gravity: Vec3,
    pub others: Option<&'a [Vec3]>,
    /// Displacements without the rig, metres.
    pub without: &'a [Vec3],
    pub known: &'a mut Option<Known>,
}

impl Whole<'_> {
    /// Returns the range of strengths at which flesh does not fold at η; the strength in η is ignored.
    fn strengths(&mut self, eta: &[f64]) -> Result<Strengths, FitError> {
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
        let (least, most) = room(body.elements(), self.without, &line);
        let strengths = (least * usual, most * usual);
        *self.known = Some(Known {
            kind: self.rig.kind().clone(),
            eta,
            strengths,
        });
        Ok(strengths)
    }

    /// Clamps the strength in η to what flesh bears, unless it is fixed; returns whether that changed it.
    pub fn keep(&mut self, resolved: &ResolvedOptions, eta: &mut [f64]) -> Result<bool, FitError> {
        let Some(at) = resolved.free_strength() else {
            return Ok(false);
        };
        let (least, most) = self.strengths(eta)?;
        let kept = eta[at].clamp(least, most);
        let changed = kept != eta[at];
        eta[at] = kept;
        Ok(changed)
    }

    /// Narrows the strength's bounds in a round that starts at η to what flesh bears there, and returns that range.
    /// [`keep`](Self::keep) must have clamped η.
    pub fn narrow(
        &mut self,
        resolved: &ResolvedOptions,
        bounds: &mut [(f64, f64)],
        eta: &[f64],
    ) -> Result<Strengths, FitError> {
        let Some(at) = resolved.free_strength() else {
            return Ok((f64::NEG_INFINITY, f64::INFINITY));
        };
        let (least, most) = self.strengths(eta)?;
        let (lower, upper) = bounds[at];
        // A bound beyond what flesh bears stays at least at the start.
        bounds[at] = (lower.max(least).min(eta[at]), upper.min(most).max(eta[at]));
        Ok((least, most))
    }

    /// Returns whether η ended at the edge of a round's strengths, and the range at η is wider there.
    pub fn is_freed(
        &mut self,
        resolved: &ResolvedOptions,
        eta: &[f64],
        (least, most): Strengths,
    ) -> Result<bool, FitError> {
        let Some(at) = resolved.free_strength() else {
            return Ok(false);
        };
        let now = self.strengths(eta)?;
        let freed =
            |bound: f64, now: f64| eta[at] / bound > 1.0 - EDGE && now / bound > 1.0 + WIDER;
        Ok(freed(least, now.0) || freed(most, now.1))
    }

    /// Returns whether more strength at η would fold flesh.
    pub fn is_at_edge(
        &mut self,
        resolved: &ResolvedOptions,
        eta: &[f64],
    ) -> Result<bool, FitError> {
        let Some(at) = resolved.free_strength() else {
            return Ok(false);
        };
        let (least, most) = self.strengths(eta)?;
        Ok(eta[at] / least > 1.0 - EDGE || eta[at] / most > 1.0 - EDGE)
    }
}
