// SPDX-License-Identifier: MIT OR Apache-2.0
//! A shot: all that a simulation needs, in one file. It is made from a scene; the machine that simulates it needs only this library.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/shapes/arm.rs"));
//! # fn main() -> Result<(), Any> {
//! use thew::clip::{Clip, ClipSettings};
//! use thew::dynamics::SimulationSettings;
//! use thew::present::SurfaceId;
//! use thew::shot::Shot;
//!
//! let settings = ClipSettings::new(24.0, SimulationSettings::default());
//! // An arm of flesh (`examples/shapes/arm.rs`) whose elbow bends.
//! let poses = (0..6).map(|frame| bent(0.1 * frame as f64)).collect::<Result<Vec<_>, _>>()?;
//! let file = std::env::temp_dir().join(format!("thew-shot-{}", std::process::id()));
//! Shot::new(body()?, poses, settings).save(&file)?;
//!
//! // On another machine:
//! let (clip, _) = Shot::load(&file)?.simulate(&Silent)?;
//! clip.save(&file)?;
//! assert_eq!(Clip::load(&file)?.offsets(5, SurfaceId::OWN)?, clip.offsets(5, SurfaceId::OWN)?);
//! # std::fs::remove_file(&file)?;
//! # Ok(())
//! # }
//! ```
//!
//! There is one file, so that no part of the input of a job can be left behind. It holds the built body, so that every machine moves the same
//! lattice. A machine reads nothing but the file, and all machines compute the same bits.

mod follow;
mod part;
mod restarts;
mod stored;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod track_tests;

use crate::clip::{
    Clip, ClipError, ClipParts, ClipSettings, FrameForces, ModeSelection, PinTrack, SceneMember,
    Texts, check_tracks,
};
use crate::contact::Contact;
use crate::dynamics::SimulationError;
use crate::modal::Modes;
use crate::present::CarriedSurfaces;
use crate::progress::Progress;
use crate::rig::{Rig, RigError, RigForces, format_rigs};
use crate::skeleton::Pose;
use restarts::{PartForces, part_progress, split_at_restarts};
use std::ops::Range;
use std::sync::Arc;

/// Name of the text of a clip that holds its rigs, in the format of rig files.
pub const RIGS_TEXT: &str = "rigs";
/// Name of the text of a clip that holds the warnings about its rigs, one a line.
pub const WARNINGS_TEXT: &str = "warnings";

/// Modes that the modal method uses.
#[derive(Debug, Clone, Default)]
pub enum ShotModes {
    /// The usual number of the lowest modes, or as many as there are.
    #[default]
    Usual,
    /// Number of lowest modes to compute.
    Lowest(usize),
    /// Modes of the body supplied by the caller.
    These(Arc<Modes>),
}

/// A body, its motion, its rigs, and the settings of its simulation. All but body, poses and settings may be left out:
/// `Shot::new(body, poses, settings).contact(contact).rigs(rigs, None).simulate(&Silent)`.
#[derive(Debug, Clone)]
pub struct Shot {
    /// Name of the body in clips of a scene; may be empty.
    pub name: String,
    /// The body with its carried surfaces.
    pub surfaces: CarriedSurfaces,
    /// Poses, one per frame.
    pub poses: Vec<Pose>,
    /// Frames at which the flesh starts afresh, ascending, above 0: cuts, after which the character is elsewhere.
    pub restarts: Vec<usize>,
    /// Settings of the simulation.
    pub settings: ClipSettings,
    /// Flags: the mass and the stiffness damping of the settings are those of the body's own, which change with the body.
    pub damping_of_body: [bool; 2],
    /// Modes of the modal method.
    pub modes: ShotModes,
    /// Contact; `None`: the body passes through itself.
    pub contact: Option<Contact>,
    /// Rigs whose forces act on the flesh.
    pub rigs: Vec<Arc<Rig>>,
    /// Values of the rigs' controls, `[f * r]`, by frames; `None`: every rig at its last sample.
    pub controls: Option<Vec<f64>>,
    /// Tracks of the pins, with an entry for each pose.
    pub pins: Vec<PinTrack>,
    /// Named texts of the caller, also stored in the clip. The names "rigs" and "warnings" are reserved.
    pub texts: Texts,
}

/// Reasons why a shot could not be simulated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShotError {
    /// An error of its rigs.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// An error of its motion.
    #[error(transparent)]
    Clip(#[from] ClipError),
}

impl Shot {
    /// Builds a shot without contact, rigs and restarts.
    pub fn new(body: impl Into<CarriedSurfaces>, poses: Vec<Pose>, settings: ClipSettings) -> Self {
        Self {
            name: String::new(),
            surfaces: body.into(),
            poses,
            restarts: Vec::new(),
            settings,
            damping_of_body: [false; 2],
            modes: ShotModes::default(),
            contact: None,
            rigs: Vec::new(),
            controls: None,
            pins: Vec::new(),
            texts: Texts::new(),
        }
    }

    /// Sets the rigs whose forces act, with the values of their controls, `[f * r]`; `None`: every rig at its last sample.
    pub fn rigs(mut self, rigs: Vec<Arc<Rig>>, controls: Option<Vec<f64>>) -> Self {
        (self.rigs, self.controls) = (rigs, controls);
        self
    }

    /// Sets the tracks of the pins, with an entry for each pose.
    pub fn pins(mut self, pins: Vec<PinTrack>) -> Self {
        self.pins = pins;
        self
    }

    /// Sets contact. Modal flesh moves as without contact; its surface is parted in each frame that is shown.
    pub fn contact(mut self, contact: Contact) -> Self {
        self.contact = Some(contact);
        self
    }

    /// Sets the modes of the modal method.
    pub fn modes(mut self, modes: ShotModes) -> Self {
        self.modes = modes;
        self
    }

    /// Sets the frames at which the flesh starts afresh.
    pub fn restarts(mut self, restarts: Vec<usize>) -> Self {
        self.restarts = restarts;
        self
    }

    /// Checks its restarts and, if it has any, its contact.
    ///
    /// # Errors
    /// Restarts that do not ascend or lie outside its frames; a cycle with any; with restarts a crease method, or a collider whose motion ends before
    /// the poses do.
    pub fn check(&self) -> Result<(), ClipError> {
        self.frame_parts().map(drop)
    }

    /// Simulates the shot. Returns its clip and the warnings about its rigs.
    ///
    /// Frame 0 is the static equilibrium at the first pose under its forces, moving along with its bones. After a run-in it is the state reached
    /// there, in a cycle the state that repeats. All of the run-in has the forces of frame 0. The forces of a cycle repeat with its poses.
    ///
    /// # Errors
    /// Rigs that do not fit the body; poses of another skeleton, by frame; settings out of range; contact with a method without it, of another
    /// surface, or with colliders whose motion ends before the poses do; modes of another body or a body without free flesh; cancellation by the
    /// progress.
    pub fn simulate(&self, progress: &dyn Progress) -> Result<(Clip, Vec<String>), ShotError> {
        let led = self.driving_forces(&|_: f64, stage: &str| progress.report(0.0, stage))?;
        let forces = led.as_ref().map(|led| led as &dyn FrameForces);
        self.finish_clip(self.simulate_with_forces(forces, progress)?, led.as_ref())
    }

    /// Simulates the shot with forces of the caller in place of those of its rigs. They act at each pose and are linear in between; `None`: no
    /// forces.
    ///
    /// # Errors
    /// As [`simulate`](Self::simulate); forces that cannot be computed, by frame.
    pub fn simulate_with_forces(
        &self,
        forces: Option<&dyn FrameForces>,
        progress: &dyn Progress,
    ) -> Result<Clip, ClipError> {
        let parts = self.frame_parts()?;
        let modes = match &self.modes {
            ShotModes::These(modes) => ModeSelection::These(modes.clone()),
            ShotModes::Lowest(count) => ModeSelection::Lowest(Some(*count)),
            ShotModes::Usual => ModeSelection::Lowest(None),
        };
        let how = ClipParts {
            surfaces: self.surfaces.clone(),
            modes,
            contact: self.contact.as_ref(),
        };
        let pins_of = |part: &Range<usize>| -> Vec<PinTrack> {
            self.pins.iter().map(|pin| pin.part(part)).collect()
        };
        let pins: Vec<PinTrack> = pins_of(&parts[0]);
        let first = (&self.poses[parts[0].clone()], forces, &pins[..]);
        let progress_of = |part: &Range<usize>| part_progress(progress, part, self.poses.len());
        let clip = Clip::simulate(how, first, self.settings.clone(), &progress_of(&parts[0]))?;
        for part in &parts[1..] {
            let forces = forces.map(|whole| PartForces {
                whole,
                first: part.start,
            });
            let forces = forces.as_ref().map(|f| f as &dyn FrameForces);
            let pins: Vec<PinTrack> = pins_of(part);
            let new = (&self.poses[part.clone()], forces, &pins[..]);
            clip.append_alone(new, true, &progress_of(part))?;
        }
        Ok(clip.with_name(self.name.clone()))
    }

    /// Simulates shots together: their bodies touch each other and the colliders of all; equal colliders are one. Returns the clip of each with the
    /// warnings about its rigs. A shot without contact touches others, but not itself.
    ///
    /// # Errors
    /// As [`simulate`](Self::simulate) and [`Clip::simulate_scene`].
    pub fn simulate_together(
        shots: &[&Self],
        progress: &dyn Progress,
    ) -> Result<Vec<(Clip, Vec<String>)>, ShotError> {
        let (parts, frames) = Self::common_parts(shots)?;
        let of_first = |shot: &Self| match &parts[..] {
            [first, _, ..] => first.clone(),
            _ => 0..shot.poses.len(),
        };
        let quietly = |_: f64, stage: &str| progress.report(0.0, stage);
        let led = shots.iter().map(|shot| shot.driving_forces(&quietly));
        let led: Vec<Option<RigForces>> = led.collect::<Result<_, ShotError>>()?;
        let pins_of = |part: &Range<usize>| -> Vec<Vec<PinTrack>> {
            let of = |shot: &&Self| shot.pins.iter().map(|p| p.part(part)).collect();
            shots.iter().map(of).collect()
        };
        let first_pins = match &parts[..] {
            [first, _, ..] => pins_of(first),
            _ => shots.iter().map(|shot| shot.pins.clone()).collect(),
        };
        let each = shots.iter().zip(&led).zip(&first_pins);
        let members = each.map(|((shot, led), pins)| SceneMember {
            pins,
            name: shot.name.clone(),
            surfaces: shot.surfaces.clone(),
            contact: shot.contact.clone().unwrap_or_else(Contact::with_others),
            poses: &shot.poses[of_first(shot)],
            forces: led.as_ref().map(|led| led as &dyn FrameForces),
            settings: shot.settings.clone(),
        });
        let members: Vec<SceneMember> = members.collect();
        let progress_of = |part: &Range<usize>| part_progress(progress, part, frames);
        let clips = Clip::simulate_scene(&members, &progress_of(&parts[0]))?;
        for part in &parts[1..] {
            let forces = led.iter().map(|led| {
                let whole = led.as_ref()? as &dyn FrameForces;
                Some(PartForces {
                    whole,
                    first: part.start,
                })
            });
            let forces: Vec<Option<PartForces>> = forces.collect();
            let pins = pins_of(part);
            let new = shots.iter().zip(&forces).zip(&pins);
            let new = new.map(|((shot, forces), pins)| {
                let poses = shot.poses.get(part.clone()).unwrap_or_default();
                (
                    poses,
                    forces.as_ref().map(|f| f as &dyn FrameForces),
                    &pins[..],
                )
            });
            let clips: Vec<&Clip> = clips.iter().collect();
            Clip::append(&clips, &new.collect::<Vec<_>>(), true, &progress_of(part))?;
        }
        let all = shots.iter().zip(clips).zip(&led);
        all.map(|((shot, clip), led)| shot.finish_clip(clip, led.as_ref()))
            .collect()
    }

    /// Returns the ranges of frames of its parts; each part starts afresh.
    fn frame_parts(&self) -> Result<Vec<Range<usize>>, ClipError> {
        if self.settings.cyclic && !self.restarts.is_empty() {
            return Err(ClipError::CyclicRestart);
        }
        check_tracks(&self.pins, self.poses.len())?;
        self.settings.tracks.check_frames(self.poses.len())?;
        let parts = split_at_restarts(self.poses.len(), &self.restarts)?;
        if let (Some(contact), true) = (&self.contact, parts.len() > 1) {
            contact.check_clip(self.poses.len())?;
        }
        Ok(parts)
    }

    /// Returns the common parts of shots that are simulated together, at least one, and the number of their frames.
    fn common_parts(shots: &[&Self]) -> Result<(Vec<Range<usize>>, usize), ClipError> {
        let Some(first) = shots.first() else {
            return Err(SimulationError::EmptyScene.into());
        };
        let (mut parts, frames) = (first.frame_parts()?, first.poses.len());
        for (body, shot) in shots.iter().enumerate() {
            if shot.restarts != first.restarts {
                return Err(ClipError::SceneRestarts { body });
            }
            parts = shot.frame_parts()?;
            if parts.len() > 1 && shot.poses.len() != frames {
                return Err(ClipError::SceneFrames {
                    body,
                    what: "poses",
                    given: shot.poses.len() as f64,
                    expected: frames as f64,
                });
            }
        }
        Ok((parts, frames))
    }

    /// Returns the forces of the rigs; `None` without rigs. Refuses rigs that make flesh firm with a method whose stiffness cannot change.
    fn driving_forces(&self, progress: &dyn Progress) -> Result<Option<RigForces>, ShotError> {
        let led = self.rig_forces(progress)?;
        let method = self.settings.simulation.method;
        let leading = led.as_ref().filter(|led| led.leads_stiffness());
        let Some(leading) = leading.filter(|_| !method.follows_stiffness()) else {
            return Ok(led);
        };
        for frame in 0..self.poses.len() {
            let mut factors = vec![1.0; self.surfaces.body().lattice().cells().len()];
            leading
                .write_stiffness(frame, &mut factors)
                .map_err(|sentence| ClipError::Forces { frame, sentence })?;
            if factors.iter().any(|factor| *factor != 1.0) {
                return Err(ClipError::from(SimulationError::StiffnessMethod { method }).into());
            }
        }
        Ok(led)
    }

    /// Returns the forces of the rigs; `None` without rigs.
    fn rig_forces(&self, progress: &dyn Progress) -> Result<Option<RigForces>, RigError> {
        if self.rigs.is_empty() {
            return Ok(None);
        }
        let (body, rigs) = (self.surfaces.body().clone(), self.rigs.clone());
        RigForces::for_motion(
            (body, self.settings.simulation.adapt),
            rigs,
            self.poses.len(),
            self.controls.clone(),
            progress,
        )
        .map(Some)
    }

    fn finish_clip(
        &self,
        clip: Clip,
        led: Option<&RigForces>,
    ) -> Result<(Clip, Vec<String>), ShotError> {
        let mut texts = self.texts.clone();
        let warnings = led.map_or(Vec::new(), |led| led.warnings().to_vec());
        if !self.rigs.is_empty() {
            texts.insert(RIGS_TEXT.into(), format_rigs(&clone_rigs(&self.rigs))?);
            texts.insert(WARNINGS_TEXT.into(), warnings.join("\n"));
        }
        Ok((clip.with_texts(texts), warnings))
    }
}

/// Clones the rigs.
fn clone_rigs(rigs: &[Arc<Rig>]) -> Vec<Rig> {
    rigs.iter().map(|rig| Rig::clone(rig)).collect()
}
