// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bodies of a run, advanced side by side: one alone, or those of a scene.

use super::forces::DriveAtFrame;
use super::frame::FrameShape;
use super::{ClipError, ClipFrame, FrameContacts, FrameForces, PinTrack};
use crate::Vec3;
use crate::contact::{BuriedBone, ColliderSpan, ContactPoint};
use crate::dynamics::{NodalForces, Pin, Scene, Simulation, SimulationError};
use crate::progress::Progress;
use crate::skeleton::{FrameMotion, Pose};
use nalgebra::Isometry3;

/// Input of one body: one pose per frame, the forces at each (`None`: no forces), and the tracks of its pins, empty if it has none or they stay.
pub(crate) type ClipDrive<'a> = (&'a [Pose], Option<&'a dyn FrameForces>, &'a [PinTrack]);

/// Bodies in motion. A body alone may have any method, with or without contact.
pub(super) enum Bodies {
    Alone(Box<Simulation>),
    Together(Box<Scene>),
}

impl Bodies {
    pub fn simulations(&self) -> &[Simulation] {
        match self {
            Self::Alone(simulation) => std::slice::from_ref(simulation),
            Self::Together(scene) => scene.bodies(),
        }
    }

    fn simulations_mut(&mut self) -> &mut [Simulation] {
        match self {
            Self::Alone(simulation) => std::slice::from_mut(simulation),
            Self::Together(scene) => scene.bodies_mut(),
        }
    }

    /// Replaces the pins of each body; they have the numbers 0, 1, … in order.
    pub fn set_pins(&mut self, pins: &[Vec<Pin>]) -> Result<(), SimulationError> {
        for (body, pins) in self.simulations_mut().iter_mut().zip(pins) {
            body.unpin_all();
            for pin in pins {
                body.pin(*pin)?;
            }
        }
        Ok(())
    }

    /// Moves the pins of each body, in their order.
    pub fn move_pins(&mut self, pins: &[Vec<Pin>]) -> Result<(), SimulationError> {
        for (body, pins) in self.simulations_mut().iter_mut().zip(pins) {
            for (id, pin) in (0..).zip(pins) {
                body.move_pin(id, pin.target, Some(pin.strength))?;
            }
        }
        Ok(())
    }

    /// Sets the entry of the colliders' motions and of the tracks at which resets put them.
    pub fn set_first_entry(&mut self, entry: usize) {
        for body in self.simulations_mut() {
            body.set_track_span(entry, entry, &Isometry3::identity());
        }
        match self {
            Self::Alone(simulation) => simulation.set_first_collider_entry(entry),
            Self::Together(scene) => scene.set_first_collider_entry(entry),
        }
    }

    /// Leads the stiffness of each body to the factors at a frame.
    fn set_stiffness(&mut self, drives: &[DriveAtFrame]) -> Result<(), SimulationError> {
        let bodies = self.simulations_mut().iter_mut().zip(drives);
        for (body, drive) in bodies {
            let factors = body.combine_stiffness(drive.stiffness.as_deref());
            body.set_stiffness(factors.as_deref())?;
        }
        Ok(())
    }

    /// Puts each body in equilibrium at a pose, under forces and with a stiffness.
    pub fn reset(
        &mut self,
        poses: &[Pose],
        drives: &[DriveAtFrame],
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        self.set_stiffness(drives)?;
        match self {
            Self::Alone(simulation) => {
                let forces = drives[0].forces.as_deref();
                simulation.reset_with_progress(&poses[0], true, forces, progress)
            }
            Self::Together(scene) => {
                let forces = drives.iter().map(|drive| drive.forces.as_deref());
                let forces: Vec<Option<&[Vec3]>> = forces.collect();
                scene.reset(poses, true, &forces, progress)
            }
        }
    }

    /// Sets the velocities of the flesh to those of its bones.
    pub fn match_bone_velocities(
        &mut self,
        motions: &[FrameMotion],
        dt: f64,
    ) -> Result<(), SimulationError> {
        match self {
            Self::Alone(simulation) => simulation.match_bone_velocities(&motions[0], dt),
            Self::Together(scene) => scene.match_bone_velocities(motions, dt),
        }
    }

    /// Advances through a frame of `dt` seconds to forces and stiffness at its end; colliders move through a span of their motions.
    pub fn advance(
        &mut self,
        motions: &[FrameMotion],
        (dt, span): (f64, ColliderSpan),
        drives: &[DriveAtFrame],
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        for body in self.simulations_mut() {
            body.set_track_span(span.from, span.to, &span.moved);
        }
        self.set_stiffness(drives)?;
        match self {
            Self::Alone(simulation) => {
                simulation.set_collider_span(span);
                let forces = (None, drives[0].forces.as_deref());
                simulation.advance_motion(&motions[0], dt, forces, progress)
            }
            Self::Together(scene) => {
                scene.set_collider_span(span);
                let forces = drives.iter().map(|drive| (None, drive.forces.as_deref()));
                let forces: Vec<NodalForces> = forces.collect();
                scene.advance_motions(motions, dt, &forces, progress)
            }
        }
    }

    pub fn state(&self) -> Vec<u8> {
        match self {
            Self::Alone(simulation) => simulation.state(),
            Self::Together(scene) => scene.state(),
        }
    }

    pub fn restore(&mut self, state: &[u8]) -> Result<(), SimulationError> {
        match self {
            Self::Alone(simulation) => simulation.restore(state),
            Self::Together(scene) => scene.restore(state),
        }
    }

    /// Returns the present contacts of each body.
    pub fn contacts(&self) -> Vec<FrameContacts> {
        match self {
            Self::Alone(simulation) => vec![FrameContacts {
                points: simulation.contacts().into(),
                held_cells: simulation.held_cells() as u32,
                buried: simulation.buried_bones().into(),
            }],
            Self::Together(scene) => {
                let points = scene.contacts();
                let of = |(k, buried): (usize, Vec<BuriedBone>)| {
                    let own = |c: &&ContactPoint| c.body as usize == k;
                    FrameContacts {
                        points: points.iter().filter(own).copied().collect(),
                        held_cells: scene.held_cells(k) as u32,
                        buried: buried.into(),
                    }
                };
                scene
                    .buried_bones()
                    .into_iter()
                    .enumerate()
                    .map(of)
                    .collect()
            }
        }
    }

    /// Appends the present frame of each body.
    pub fn append_frames(&self, frames: &mut [Vec<ClipFrame>]) {
        let bodies = self.simulations().iter().zip(self.contacts());
        for ((body, contacts), frames) in bodies.zip(frames) {
            let shape = FrameShape {
                positions: body.lattice_positions(),
                sway: body.sway(),
                joints: body.joint_volume(),
            };
            frames.push(ClipFrame::new(body, contacts, &shape, body.pose()));
        }
    }

    /// Computes a value for each body, by its index. An error names the body if there are several.
    pub fn map_bodies<T>(
        &self,
        of: impl Fn(usize, &Simulation) -> Result<T, ClipError>,
    ) -> Result<Vec<T>, ClipError> {
        let name_body = |k, error| match self {
            Self::Alone(_) => error,
            Self::Together(_) => ClipError::for_body(k, error),
        };
        let all = self.simulations().iter().enumerate();
        all.map(|(k, body)| of(k, body).map_err(|error| name_body(k, error)))
            .collect()
    }
}
