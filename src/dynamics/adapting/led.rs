// SPDX-License-Identifier: MIT OR Apache-2.0
//! Details that rigs need: those on which forces in rest axes act. [capell2006, §4.5]
//!
//! Forces of a frame grow linearly from those at its start to those at its end. So details on which the latter act become active when the
//! frame begins. They leave as details of strain do: when no force has acted on them for a while, and they are a good part of all.
//!
//! Rigs that act on the functions that they need alone (`Rig::functions`) thus activate the union of these.

use super::Adapting;
use crate::Vec3;
use crate::basis::ActiveSet;
use crate::dynamics::{Adaptation, Simulation, SimulationError};

/// Peak of a detail on which a force acts, in thresholds. It is forgotten, and the detail may leave, 0.4 s after the last force: a control that
/// passes through zero and comes back keeps the set.
const FORCED_PEAK: f64 = 1.5;

impl Adapting {
    /// Returns the present set with the details on which forces `[functions]` act; `None` if these are active, or not asked for.
    fn set_for_forces(&self, rest_forces: Option<&[Vec3]>) -> Option<ActiveSet> {
        if self.criterion != Adaptation::Rigs {
            return None;
        }
        let forced = (0..)
            .zip(rest_forces?)
            .filter(|(_, f)| **f != Vec3::zeros());
        let mut missing = forced.map(|(a, _)| a).filter(|&a| !self.set.contains(a));
        let first = missing.next()?;
        let mut next = self.set.clone();
        std::iter::once(first)
            .chain(missing)
            .for_each(|a| next.insert(a));
        Some(next)
    }

    /// Returns the set that forces `[functions]` at the end of a frame of `dt` seconds ask for; `None` if the present one stays.
    pub(super) fn set_without_idle(
        &mut self,
        rest_forces: Option<&[Vec3]>,
        dt: f64,
    ) -> Option<ActiveSet> {
        let count = self.whole.node_count();
        let forces = rest_forces.unwrap_or_default();
        let peak = |a| match forces.get(a) {
            Some(f) if *f != Vec3::zeros() => FORCED_PEAK,
            _ => 0.0,
        };
        self.peaks.set((0..count).map(peak));
        self.peaks.remember(&self.set, dt);
        let sets = (&*self.whole, &self.set);
        super::strain::wanted(sets, &self.peaks, &self.thresholds, true)
    }
}

impl Simulation {
    /// Activates details on which forces `[functions]` act at the end of the frame that begins, rest axes, N. Returns whether any was.
    pub(in crate::dynamics) fn activate_forced(
        &mut self,
        rest_forces: Option<&[Vec3]>,
    ) -> Result<bool, SimulationError> {
        let Some(adapting) = &self.adapting else {
            return Ok(false);
        };
        let Some(set) = adapting.set_for_forces(rest_forces) else {
            return Ok(false);
        };
        // Those on new functions grow from zero.
        let start = adapting.carry_over(self.external.rest_forces(), &set);
        self.change_shown(set, |_| Some(start))?;
        Ok(true)
    }

    /// Activates details on which forces act, before a reset.
    pub(super) fn activate_at_rest(
        &mut self,
        rest_forces: Option<&[Vec3]>,
    ) -> Result<(), SimulationError> {
        let set = self.adapting.as_ref();
        match set.and_then(|adapting| adapting.set_for_forces(rest_forces)) {
            Some(set) => self.set_active(set),
            None => Ok(()),
        }
    }
}
