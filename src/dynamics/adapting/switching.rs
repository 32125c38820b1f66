// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changes of the active functions of a simulation: after a frame, at a reset, from a saved state.

use super::contact::{free_pushes, nodal_pushes};
use super::fading::Fading;
use super::{ACTIVE, Adapting, PEAKS, strain};
use crate::Vec3;
use crate::basis::{ActiveSet, MAX_LEVELS};
use crate::dynamics::bends::BendMotion;
use crate::dynamics::forces::{ExternalForces, NodalForces};
use crate::dynamics::methods;
use crate::dynamics::methods::stepper::NodalState;
use crate::dynamics::sections::{SectionReader, SectionWriter};
use crate::dynamics::shape::FleshShape;
use crate::dynamics::{Adaptation, Simulation, SimulationError, SkinnedLattice};
use crate::progress::Progress;
use crate::skeleton::Pose;

impl Simulation {
    /// Returns the number of active functions: all of the body's, or those that adaptation keeps at present.
    pub fn active_functions(&self) -> usize {
        self.body.node_count()
    }

    /// Returns the number of cells that are inverted with the body's nodes at `positions`. Details that are not active do not count.
    pub(crate) fn inverted_cells_at(&self, positions: &[Vec3]) -> usize {
        match &self.adapting {
            Some(adapting) => {
                let active = adapting.gather(positions);
                self.body.inverted_cell_count(&active)
            }
            None => self.body.inverted_cell_count(positions),
        }
    }

    /// Sets what others see, after the shape.
    pub(in crate::dynamics) fn show_whole(&mut self) {
        if let Some(adapting) = &mut self.adapting {
            adapting.show((&self.shape, &self.nodes), &self.now);
        }
    }

    /// Activates the functions of level 0 alone, before a reset.
    pub(in crate::dynamics) fn coarsen(&mut self) -> Result<(), SimulationError> {
        let Some(adapting) = &mut self.adapting else {
            return Ok(());
        };
        adapting.fading.clear();
        adapting.peaks.set_remembered(0, std::iter::empty());
        let coarse = adapting.whole.basis().coarse_set();
        self.set_active(coarse)
    }

    /// Activates details where flesh at rest is strained; returns whether any was.
    pub(in crate::dynamics) fn refine_at_rest(&mut self) -> Result<bool, SimulationError> {
        let wanted = self.wanted_set(None);
        match wanted {
            Some(set) => self.set_active(set).map(|()| true),
            None => Ok(false),
        }
    }

    /// Changes the set of active functions at the end of a frame if the strain or the forces ask for it. `rest_forces` are those that
    /// act then, of the whole body; `dt` is the frame's duration, s. Returns whether it has
    /// changed.
    pub(in crate::dynamics) fn adapt_after(
        &mut self,
        rest_forces: Option<&[Vec3]>,
        dt: f64,
    ) -> Result<bool, SimulationError> {
        let set = match &mut self.adapting {
            Some(adapting) if adapting.criterion == Adaptation::Rigs => {
                adapting.set_without_idle(rest_forces, dt)
            }
            _ => self.wanted_set(Some(dt)),
        };
        let Some(set) = set else {
            return Ok(false);
        };
        let active = |adapting: &Adapting| rest_forces.map(|f| adapting.gather(f));
        self.change_shown(set, active).map(|()| true)
    }

    /// Replaces the set at an instant and stores the change of the displayed shape as fading. `rest_forces` gives those of the new set.
    pub(super) fn change_shown(
        &mut self,
        set: ActiveSet,
        rest_forces: impl FnOnce(&Adapting) -> Option<Vec<Vec3>>,
    ) -> Result<(), SimulationError> {
        let Some(adapting) = &mut self.adapting else {
            return Ok(());
        };
        let before = std::mem::take(&mut adapting.shown);
        let changed = self.set_active(set);
        if let Some(adapting) = &mut self.adapting {
            if changed.is_err() {
                adapting.shown = before;
                return changed;
            }
            let active = rest_forces(adapting);
            self.external.set(active.as_deref());
        }
        self.update_shape()?;
        if let Some(adapting) = &mut self.adapting {
            let (whole, bones) = (&adapting.whole, self.now.bones());
            adapting
                .fading
                .add_difference(&before, &adapting.shown, whole, bones);
        }
        self.show_whole();
        Ok(())
    }

    /// Fades what former details displaced, by a frame of `dt` seconds.
    pub(in crate::dynamics) fn fade(&mut self, dt: f64) {
        if let Some(adapting) = &mut self.adapting {
            adapting.fading.decay(dt, adapting.whole.size());
        }
    }

    /// Returns the set that the present strain asks for; `None` if the present one stays. `frame`: the duration of a frame, s, at
    /// whose end details may leave.
    pub(super) fn wanted_set(&mut self, frame: Option<f64>) -> Option<ActiveSet> {
        let adapting = self.adapting.as_deref_mut()?;
        if adapting.criterion != Adaptation::Strain {
            return None;
        }
        let relative = self.settings.method.adds_joint_shape();
        let known = adapting.known.iter().find(|k| k.set == adapting.set)?;
        let bodies = (&*adapting.whole, &*self.body, &known.measure);
        let coarsen = frame.is_some();
        let least = strain::least_strain(adapting.thresholds[0], coarsen);
        let shape = (&self.nodes.positions[..], &self.now);
        adapting.peaks.find(bodies, shape, (relative, least));
        if let Some(dt) = frame {
            adapting.peaks.remember(&adapting.set, dt);
        }
        strain::wanted(
            (&adapting.whole, &adapting.set),
            &adapting.peaks,
            &adapting.thresholds,
            coarsen,
        )
    }

    /// Replaces the body by one with other active functions, and carries the state over. On an error nothing has changed.
    pub(super) fn set_active(&mut self, set: ActiveSet) -> Result<(), SimulationError> {
        let Some(adapting) = &mut self.adapting else {
            return Ok(());
        };
        if set == adapting.set {
            return Ok(());
        }
        let body = adapting.body_of(&set)?;
        let settings = &self.settings;
        let mut next = [SkinnedLattice::new(&body)?, SkinnedLattice::new(&body)?];
        if let Some(history) = &self.history {
            next[0].set(&body, settings.method, &history.pose)?;
        }
        let shape = FleshShape::new(
            &body,
            settings.method,
            settings.solver,
            settings.elastic_joints,
        )?;
        let stepper = methods::build_stepper(&body, None, settings)?;
        let contact = adapting.contact.as_ref().map(|c| c.with_body(&body));
        let pinned = self.pins.points_on(&body)?;

        adapting.unconverged += self.stepper.unconverged_steps();
        let over = |values: &[Vec3]| adapting.carry_over(values, &set);
        self.nodes = NodalState {
            positions: over(&self.nodes.positions),
            velocities: over(&self.nodes.velocities),
        };
        let rate = self.bending.rate().map(over);
        self.bending = BendMotion::new(body.node_count());
        self.bending.set_rate(rate);
        let folds = adapting.carry_over(&self.shape.folds, &set);
        self.external = ExternalForces::zero(body.node_count());
        if let (Some(touching), Some(contact)) = (&mut self.touching, &contact) {
            let pushes = over(&nodal_pushes(&self.body, touching.pushes(0)));
            touching.replace_skin(0, contact.skin(), free_pushes(&body, &pushes))?;
        }
        self.pins.replace_points(pinned);
        self.shape = shape;
        self.stepper = stepper;
        let [now, next] = next;
        (self.now, self.next) = (now, next);
        self.body = body;
        adapting.set = set;
        if let Some(contact) = &contact {
            self.enable_folds(contact);
        }
        self.shape.set_folds(Some(folds));
        Ok(())
    }

    /// Writes the active functions and what is fading.
    pub(in crate::dynamics) fn save_adaptation(&self, state: &mut SectionWriter) {
        if let Some(adapting) = &self.adapting {
            let coarse = adapting.whole.basis().coarse_len() as u32;
            let details = || adapting.set.functions().filter(|&a| a >= coarse);
            state.add_numbers(ACTIVE, details().map(f64::from));
            let peaks = details().map(|a| adapting.peaks.remembered(a));
            state.add_numbers(PEAKS, peaks);
            adapting.fading.save(state);
        }
    }

    /// Activates the functions of a saved state. Returns what is fading in it, for [`set_faded`](Self::set_faded).
    pub(in crate::dynamics) fn restore_adaptation(
        &mut self,
        state: &mut SectionReader,
    ) -> Result<(Fading, Vec<(u32, f64)>), SimulationError> {
        let Some(adapting) = &self.adapting else {
            return Ok(Default::default());
        };
        let numbers = state.take_numbers(ACTIVE)?.ok_or(SimulationError::State(
            "it has no active details: it comes from a run that did not adapt",
        ))?;
        let fault = SimulationError::State("its details belong to another body");
        if numbers
            .iter()
            .any(|x| x.fract() != 0.0 || !(0.0..4e9).contains(x))
        {
            return Err(fault);
        }
        let details = || numbers.iter().map(|&x| x as u32);
        let peaks = state.take_numbers(PEAKS)?.unwrap_or_default();
        if peaks.len() != numbers.len() || peaks.iter().any(|p| !(*p >= 0.0 && p.is_finite())) {
            return Err(fault);
        }
        let peaks = details().zip(peaks).collect();
        let set = adapting
            .whole
            .basis()
            .coarse_set()
            .with_details(details())
            .ok_or(fault)?;
        let fading = Fading::read(state, adapting.whole.node_count())?;
        self.set_active(set)?;
        Ok((fading, peaks))
    }

    /// Sets what is fading, and the remembered peaks of details.
    pub(in crate::dynamics) fn set_faded(&mut self, (fading, peaks): (Fading, Vec<(u32, f64)>)) {
        if let Some(adapting) = &mut self.adapting {
            adapting.fading = fading;
            let count = adapting.whole.node_count();
            adapting.peaks.set_remembered(count, peaks.into_iter());
        }
    }

    /// Resets a simulation that adapts: with the functions of level 0 and those on which rigs act, and again with the details that strain at
    /// rest asks for, level by level. On an error the former state stays.
    pub(in crate::dynamics) fn reset_adapting(
        &mut self,
        pose: &Pose,
        settled: bool,
        forces: NodalForces,
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        let former = self.state();
        let done = self.reset_by_levels(pose, settled, forces, progress);
        if done.is_err() {
            self.restore(&former)?;
        }
        done
    }

    fn reset_by_levels(
        &mut self,
        pose: &Pose,
        settled: bool,
        forces: NodalForces,
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        self.coarsen()?;
        self.activate_at_rest(forces.1)?;
        self.reset_active(pose, settled, forces, progress)?;
        for _ in 0..MAX_LEVELS {
            if !settled || !self.refine_at_rest()? {
                break;
            }
            self.reset_active(pose, settled, forces, progress)?;
        }
        Ok(())
    }
}
