// SPDX-License-Identifier: MIT OR Apache-2.0
//! A start in motion: the flesh begins with the velocity of its bones.

use super::{Simulation, SimulationError};
use crate::skeleton::FrameMotion;

/// Share of the frame over which the starting velocity is measured.
const SHORT: f64 = 1e-4;

impl Simulation {
    /// Gives the flesh the velocity with which the bones enter a motion over `dt` seconds, as if frozen to
    /// them: `v = Ṫ(x) + Ṙ Rᵀ (p − T(x))`. To be called between [`reset`](Self::reset) at the motion's start and
    /// [`advance_motion`](Self::advance_motion) along it; without it the flesh starts at rest and is
    /// jerked.
    ///
    /// # Errors
    /// No reset before, a time that is not positive, a motion of another skeleton.
    pub fn launch(&mut self, motion: &FrameMotion, dt: f64) -> Result<(), SimulationError> {
        if self.pose().is_none() {
            return Err(SimulationError::NotReset);
        }
        if !(dt > 0.0 && dt <= 1e4) {
            return Err(SimulationError::Setting {
                what: "dt",
                range: "positive, up to 10000 seconds",
                value: dt,
            });
        }
        motion.write(SHORT, &mut self.moving);
        self.next.set(&self.body, self.method, &self.moving)?;
        for (v, velocity) in self.velocities.iter_mut().enumerate() {
            let own = self.positions[v] - self.now.places[v];
            let turned = self.next.turns[v] * (self.now.turns[v].transpose() * own);
            let moved = self.next.places[v] + turned - self.positions[v];
            *velocity = moved / (SHORT * dt);
        }
        Ok(())
    }
}
