// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts of a shot, and shots with another softness: what a table of jobs changes.

use super::{Shot, ShotError, ShotModes};
use crate::clip::ClipError;
use crate::contact::Contact;
use crate::dynamics::{SimulationSettings, resoften};
use crate::progress::Progress;
use std::ops::Range;
use std::sync::Arc;

impl Shot {
    /// Returns the shot of a range of its poses, with their controls, pins, cuts and the motion of colliders: as if it had been made of these alone.
    /// Its run-in leads to the first pose of the range.
    ///
    /// # Errors
    /// A range without poses or beyond the end; a part of a cycle, which does not repeat.
    pub fn part(&self, frames: &Range<usize>) -> Result<Self, ClipError> {
        let (first, end, count) = (frames.start, frames.end, self.poses.len());
        if first >= end || end > count {
            return Err(ClipError::PartFrames { first, end, count });
        }
        if self.settings.cyclic && frames.len() != count {
            return Err(ClipError::PartOfCycle { count });
        }
        let rigs = self.rigs.len();
        let controls = self.controls.as_ref();
        let contact = self.contact.as_ref().map(|contact| Contact {
            colliders: contact
                .colliders
                .iter()
                .map(|collider| Arc::new(collider.part(frames)))
                .collect(),
            ..contact.clone()
        });
        let mut settings = self.settings.clone();
        settings.tracks = Arc::new(settings.tracks.part(frames, settings.fps));
        let inside = self.restarts.iter().filter(|&&r| first < r && r < end);
        Ok(Self {
            poses: self.poses[frames.clone()].to_vec(),
            controls: controls.map(|c| c[first * rigs..end * rigs].to_vec()),
            restarts: inside.map(|r| r - first).collect(),
            pins: self.pins.iter().map(|pin| pin.part(frames)).collect(),
            contact,
            settings,
            ..self.clone()
        })
    }

    /// Returns the shot with its body made again with the softness of a dial, 0 to 1: the bits of a shot of a body made so from the beginning. Damping
    /// that was the body's is that of the new body. Modes are computed again, as many.
    ///
    /// # Errors
    /// A dial out of range; a body of which bones were freed; cancellation by the progress.
    pub fn with_softness(&self, dial: f64, progress: &dyn Progress) -> Result<Self, ShotError> {
        let soft = resoften(self.surfaces.body(), dial, progress).map_err(ClipError::from)?;
        let surfaces = self.surfaces.with_body(Arc::new(soft));
        let mut settings = self.settings.clone();
        settings.simulation = self
            .settings_as_given()
            .for_body(surfaces.body())
            .map_err(ClipError::from)?;
        Ok(Self {
            modes: match &self.modes {
                ShotModes::These(modes) => ShotModes::Lowest(modes.len()),
                other => other.clone(),
            },
            surfaces,
            settings,
            ..self.clone()
        })
    }

    /// Returns the settings of the simulation without damping that was the body's.
    pub fn settings_as_given(&self) -> SimulationSettings {
        let mut settings = self.settings.simulation.clone();
        let [mass, stiffness] = self.damping_of_body;
        if mass {
            settings.mass_damping = None;
        }
        if stiffness {
            settings.stiffness_damping = None;
        }
        settings
    }

    /// Fills damping that is `None` with that of the body, and remembers it.
    ///
    /// # Errors
    /// The system of the body is singular.
    pub fn with_damping_of_body(mut self) -> Result<Self, ClipError> {
        let settings = &self.settings.simulation;
        self.damping_of_body[0] |= settings.mass_damping.is_none();
        self.damping_of_body[1] |= settings.stiffness_damping.is_none();
        self.settings.simulation = settings.clone().for_body(self.surfaces.body())?;
        Ok(self)
    }
}
