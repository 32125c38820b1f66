// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exact states as bytes: sections for the pose history, for the stepper's state and, if any act, for forces in rest axes.

use super::firmness::body_at_ease;
use super::pins::PinSystem;
use super::sections::{MAGIC, SectionKind, SectionReader, SectionWriter};
use super::simulation::PoseHistory;
use super::{Simulation, SimulationError};
use crate::Mat3;
use crate::body::check_factors;
use crate::skeleton::{Affine, Pose};

/// Duration, then the maps of the previous and of the current pose: 12 numbers a bone, matrix by columns and translation.
pub(super) const POSES: SectionKind = SectionKind::required("pose history", 1);
pub(super) const REST_FORCES: SectionKind = SectionKind::required("rest forces", 1);
/// Factors on the stiffness of the cells.
const STIFFNESS: SectionKind = SectionKind::required("stiffness", 1);
/// Extra share of the joints' elastic shape at each lattice vertex, 0 to 1.
const FOLDS: SectionKind = SectionKind::required("folds", 1);
/// ẇ of the joints' own elastic shape over the last step, m/s.
const BENDING: SectionKind = SectionKind::required("bending", 1);

impl Simulation {
    /// Returns the exact state. Its length in bytes is `120 + 48 nodes + 192 bones`, with the modal method
    /// `120 + 16 modes + 24 nodes + 192 bones`. Before the first reset it is shorter by 40 and the bones' part. It is longer by
    /// `32 + 24 nodes` with the hyperelastic method after the first step, `32 + 24 nodes` while forces in rest axes act, `32 + 8 cells` once
    /// the stiffness is led, `40 + 144 pins` with pins, `32 + 96 contacts` while flesh touches, `32 + 8 nodes` while its skin folds, `32 + 40 creases` with the crease methods, and 40
    /// with colliders. Crease seeds are not part of it.
    pub fn state(&self) -> Vec<u8> {
        let mut state = SectionWriter::new();
        if let Some(history) = &self.history {
            let maps = history.before.maps().iter().chain(history.pose.maps());
            let maps = maps.flat_map(|m| m.linear.iter().chain(&m.translation));
            let numbers = std::iter::once(history.duration).chain(maps.copied());
            state.add_numbers(POSES, numbers);
        }
        self.save_adaptation(&mut state);
        self.stepper.save(&self.nodes, &mut state);
        if self.external.is_nonzero() {
            state.add_vectors(REST_FORCES, self.external.rest_forces());
        }
        if let Some(factors) = self.stiffness() {
            state.add_numbers(STIFFNESS, factors.iter().copied());
        }
        if let Some(rate) = self.bending.rate() {
            state.add_vectors(BENDING, rate);
        }
        if !self.shape.folds.is_empty() {
            state.add_numbers(FOLDS, self.shape.folds.iter().copied());
        }
        self.pins.save(&mut state);
        if let Some(touching) = &self.touching {
            touching.save(&mut state);
        }
        state.finish()
    }

    /// Restores a [`state`](Self::state) of this body.
    ///
    /// # Errors
    /// [`SimulationError::State`] or another error of a saved state; the present state stays.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), SimulationError> {
        if self.adapting.is_none() {
            return self.restore_active(bytes);
        }
        let former = self.state();
        let done = self.restore_active(bytes);
        if done.is_err() {
            // The present set of functions comes back with the present state.
            self.restore_active(&former)?;
        }
        done
    }

    /// Restores a state. On an error the state stays, but its functions may have changed.
    fn restore_active(&mut self, bytes: &[u8]) -> Result<(), SimulationError> {
        let mut state = match bytes.get(..MAGIC.len()) {
            None => return Err(SimulationError::State("it is too short")),
            Some(magic) if magic == MAGIC => SectionReader::read(bytes)?,
            Some(_) => return Err(SimulationError::State("it is of another kind or version")),
        };
        let faded = self.restore_adaptation(&mut state)?;
        let nodes = self.body.node_count();
        let history = match state.take_numbers(POSES)? {
            Some(numbers) => Some(read_history(&numbers, self.body.skeleton().len())?),
            None => None,
        };
        let rest_forces = state.take_optional_vectors(REST_FORCES, nodes)?;
        let stiffness = state.take_numbers(STIFFNESS)?;
        if let Some(factors) = &stiffness {
            check_factors(self.body(), factors)?;
            self.lead_stiffness()?;
        }
        let bending = state.take_optional_vectors(BENDING, nodes)?;
        let folds = state.take_numbers(FOLDS)?.unwrap_or_default();
        let is_fold = |fold: &f64| (0.0..=1.0).contains(fold);
        if !(folds.is_empty() || folds.len() == nodes && folds.iter().all(is_fold)) {
            return Err(SimulationError::State(
                "its folds belong to another lattice",
            ));
        }
        let pins = PinSystem::read(body_at_ease(&self.body, &self.firmness), &mut state)?;
        let touching = self.touching.as_ref();
        let kept = touching.map(|t| t.read(&mut state)).transpose()?;
        if let Some(history) = &history {
            self.next
                .set(&self.body, self.settings.method, &history.pose)?;
        }
        self.stepper.restore(&mut self.nodes, state)?;
        if history.is_some() {
            std::mem::swap(&mut self.now, &mut self.next);
        }
        self.history = history;
        self.pins = pins;
        self.bending.set_rate(bending);
        self.external.set(rest_forces.as_deref());
        self.restore_stiffness(stiffness.as_deref())?;
        if let Some((touching, kept)) = self.touching.as_mut().zip(kept) {
            touching.restore(kept);
        }
        self.set_faded(faded);
        self.update_from_modes();
        self.shape.set_folds(Some(folds));
        self.update_shape()
    }
}

fn read_history(numbers: &[f64], bones: usize) -> Result<PoseHistory, SimulationError> {
    let (Some((&duration, maps)), true) = (numbers.split_first(), numbers.len() == 1 + 24 * bones)
    else {
        return Err(SimulationError::State("it has another number of bones"));
    };
    if duration < 0.0 {
        return Err(SimulationError::State("a time in it is negative"));
    }
    let (before, pose) = maps.split_at(12 * bones);
    Ok(PoseHistory {
        before: read_pose(before)?,
        pose: read_pose(pose)?,
        duration,
    })
}

fn read_pose(numbers: &[f64]) -> Result<Pose, SimulationError> {
    let maps = numbers.chunks_exact(12).map(|m| Affine {
        linear: Mat3::from_column_slice(&m[..9]),
        translation: crate::Vec3::from_column_slice(&m[9..]),
    });
    Ok(Pose::new(maps.collect())?)
}
