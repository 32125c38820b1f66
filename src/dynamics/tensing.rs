// SPDX-License-Identifier: MIT OR Apache-2.0
//! Simulations whose stiffness is led from frame to frame ([`super::firmness`]).

use super::firmness::Firmness;
use super::{Method, Simulation, SimulationError};
use crate::body::check_factors;
use std::sync::Arc;

impl Method {
    /// Returns whether the stiffness of the flesh may change in motion.
    pub fn follows_stiffness(self) -> bool {
        !matches!(
            self,
            Self::Modal | Self::Blended | Self::BlendedPrinted | Self::WarpedVertex
        )
    }
}

impl Simulation {
    /// Leads the stiffness of the flesh: from the next advance on, each cell of the lattice has its elastic stiffness times a factor,
    /// `factors[cells]`, in [`STIFFNESS_FACTORS`](crate::body::STIFFNESS_FACTORS). The next advance goes there linearly, and a reset at once.
    /// `None`: flesh at ease. The factors are part of a [`state`](Self::state).
    ///
    /// # Errors
    /// The method's matrices never change (the modal one and the blended ones) or are its own (the vertex form); a body with details, whole or
    /// adapting; another number of factors; one out of range. Nothing has changed then.
    pub fn set_stiffness(&mut self, factors: Option<&[f64]>) -> Result<(), SimulationError> {
        let Some(factors) = factors else {
            if let Some(firmness) = &mut self.firmness {
                firmness.end.fill(1.0);
            }
            return Ok(());
        };
        check_factors(self.body(), factors)?;
        let firmness = self.lead_stiffness()?;
        firmness.end.copy_from_slice(factors);
        Ok(())
    }

    /// Returns the present factors on the stiffness of the cells, `[cells]`; `None`: it has never been led.
    pub fn stiffness(&self) -> Option<&[f64]> {
        self.firmness.as_ref().map(|firmness| &firmness.now[..])
    }

    /// Returns the factors, made on first use with a copy of the body whose stiffness follows them.
    pub(super) fn lead_stiffness(&mut self) -> Result<&mut Firmness, SimulationError> {
        let method = self.method();
        if !method.follows_stiffness() {
            return Err(SimulationError::StiffnessMethod { method });
        }
        if self.adapting.is_some() || self.body.basis().levels() > 0 {
            return Err(SimulationError::StiffnessDetails);
        }
        let firmness = match self.firmness.take() {
            Some(firmness) => firmness,
            None => {
                let copy = Arc::new(self.body.with_scaled_stiffness(1.0)?);
                let ease = std::mem::replace(&mut self.body, copy);
                self.stepper.lead_stiffness(&ease);
                Box::new(Firmness::at_ease(ease))
            }
        };
        Ok(self.firmness.insert(firmness))
    }

    /// Sets the stiffness of the body at hand to that at a share of the frame.
    pub(super) fn tense(&mut self, share: f64) -> Result<(), SimulationError> {
        let Some(firmness) = &mut self.firmness else {
            return Ok(());
        };
        if !firmness.set_instant(share) {
            return Ok(());
        }
        match Arc::get_mut(&mut self.body) {
            Some(body) => body.set_cell_stiffness(&firmness.ease, &firmness.instant),
            None => self.body = Arc::new(firmness.ease.with_cell_stiffness(&firmness.instant)?),
        }
        firmness.at_hand.copy_from_slice(&firmness.instant);
        self.stepper.follow_stiffness(&self.body);
        Ok(())
    }

    /// Ends a call of which a share has gone by: its factors are the present ones.
    pub(super) fn end_stiffness(&mut self, gone: f64) {
        if let Some(firmness) = &mut self.firmness {
            firmness.set_instant(gone);
            firmness.now.copy_from_slice(&firmness.instant);
        }
    }

    /// Takes factors read from a state; `None`: the stiffness was never led.
    pub(super) fn restore_stiffness(
        &mut self,
        factors: Option<&[f64]>,
    ) -> Result<(), SimulationError> {
        if factors.is_some() || self.firmness.is_some() {
            self.set_stiffness(factors)?;
            self.end_stiffness(1.0);
        }
        Ok(())
    }
}
