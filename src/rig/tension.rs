// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stiffness led by rigs: a tense muscle is firmer. [capell2006, §6, future work]
//!
//! In a frame with controls γ_a the elastic stiffness of a cell of the lattice is multiplied by `1 + Σ_a f_a γ_a σ_a`. σ_a in 0..1 is the rig's
//! share of tense flesh, the mean over the cell's flesh; f_a is the rig's firmness. A template's share is its own window W at the parameters of
//! the control: 1 in its middle, 0 where its force ends. A muscle's tension is its contraction times the share of muscle. A sum beyond [`STIFFNESS_FACTORS`] counts as the nearest end of that range.
//!
//! [`crate::dynamics::Simulation::set_stiffness`] takes the factors.

use super::{Rig, RigError, RigKind};
use crate::body::{Body, STIFFNESS_FACTORS};
use crate::range::is_sound;

impl Rig {
    /// Returns the firmness: how many times its own stiffness tense flesh gains per unit of the control. It is 0 at first.
    pub fn firmness(&self) -> f64 {
        self.firmness
    }

    /// Returns the rig with another firmness; a negative one softens.
    ///
    /// # Errors
    /// A firmness that is not finite; one other than 0 for a sculpted rig, which makes no flesh tense.
    pub fn with_firmness(self, firmness: f64) -> Result<Self, RigError> {
        if !is_sound(firmness) {
            let (name, value) = ("firmness", firmness);
            return Err(RigError::NonFinite { name, value });
        }
        match self.kind {
            RigKind::Sculpted(_) if firmness != 0.0 => Err(RigError::NoTension),
            _ => Ok(Self { firmness, ..self }),
        }
    }

    /// Returns how tense the rig makes the flesh of each cell of the lattice at a control, `[cells]`: γ σ. `None`: no flesh is tense.
    ///
    /// # Errors
    /// A control that is not finite; a bone or face that the body does not have.
    pub fn tension(&self, body: &Body, gamma: f64) -> Result<Option<Vec<f64>>, RigError> {
        if !gamma.is_finite() {
            return Err(RigError::Control { value: gamma });
        }
        match &self.kind {
            RigKind::Force(force) => force.tension(body, gamma, &self.parameters(gamma)),
            RigKind::Sculpted(_) => Ok(None),
            RigKind::Muscle(muscle) => match muscle.tension(body, &self.parameters(gamma)) {
                Err(RigError::Outside) => Ok(None),
                tension => tension.map(Some),
            },
        }
    }

    /// Adds what the rig adds to the factors on the stiffness of the cells at a control, `out[cells]`.
    ///
    /// # Errors
    /// Errors of [`tension`](Self::tension); an array of another length.
    pub fn add_stiffness(&self, body: &Body, gamma: f64, out: &mut [f64]) -> Result<(), RigError> {
        if self.firmness == 0.0 {
            return Ok(());
        }
        if let Some(tension) = self.tension(body, gamma)? {
            add_scaled(self.firmness, &tension, out);
        }
        Ok(())
    }
}

pub(super) fn add_scaled(factor: f64, tension: &[f64], out: &mut [f64]) {
    for (sum, tension) in out.iter_mut().zip(tension) {
        *sum += factor * tension;
    }
}

/// Brings sums of factors into their range.
pub(super) fn clamp_factors(factors: &mut [f64]) {
    for factor in factors {
        *factor = factor.clamp(STIFFNESS_FACTORS.0, STIFFNESS_FACTORS.1);
    }
}

/// Returns the factors of rigs on the stiffness of each cell at their controls, `[cells]`; rigs outside the flesh change nothing.
///
/// # Errors
/// Numbers of controls and rigs that differ; errors of [`Rig::tension`], naming the rig.
pub fn sum_stiffness(rigs: &[Rig], body: &Body, controls: &[f64]) -> Result<Vec<f64>, RigError> {
    if rigs.len() != controls.len() {
        return Err(RigError::Controls {
            rigs: rigs.len(),
            given: controls.len(),
        });
    }
    let mut factors = vec![1.0; body.lattice().cells().len()];
    for (rig, &gamma) in rigs.iter().zip(controls) {
        rig.add_stiffness(body, gamma, &mut factors)
            .map_err(|e| e.in_rig(rig.name()))?;
    }
    clamp_factors(&mut factors);
    Ok(factors)
}
