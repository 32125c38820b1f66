// SPDX-License-Identifier: MIT OR Apache-2.0
//! Refinement within a frame: details become active after the step in which the strain exceeds their threshold.
//!
//! A frame without details moves far too much flesh where a pull begins. The shape of the first five frames errs by up to 7 % of the displacement if
//! functions change at the ends of frames alone (`benches/adaptation.rs`). Details leave at the ends of frames only. Contact follows the skin of
//! one body through a frame, so with contact details come at the ends of frames, too.

use crate::dynamics::{Simulation, SimulationError};
use crate::skeleton::FrameMotion;

impl Simulation {
    /// Activates details that the strain asks for after a step within a frame along a motion. Returns whether any was: forces on active
    /// functions must then be taken anew.
    pub(in crate::dynamics) fn refine_within(
        &mut self,
        motion: &FrameMotion,
    ) -> Result<bool, SimulationError> {
        let Some(set) = self.wanted_set(None) else {
            return Ok(false);
        };
        // Rest forces of the frame's start: those on new functions grow from zero until its end.
        let start = match &self.adapting {
            Some(adapting) => adapting.carry_over(self.external.rest_forces(), &set),
            None => return Ok(false),
        };
        self.update_shape()?;
        self.change_shown(set, |_| Some(start))?;
        self.resume_bending(motion)?;
        self.resume_pins(motion)?;
        Ok(true)
    }
}
