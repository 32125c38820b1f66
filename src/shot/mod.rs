// SPDX-License-Identifier: MIT OR Apache-2.0
//! A shot: all that a simulation needs, in one file. It is made from a scene; the machine that simulates it needs only this library.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/shapes/arm.rs"));
//! # fn main() -> Result<(), Any> {
//! use thew::clip::{Clip, ClipSettings};
//! use thew::dynamics::{Method, Settings};
//! use thew::present::SurfaceId;
//! use thew::shot::Shot;
//!
//! let settings = ClipSettings {
//!     fps: 24.0,
//!     method: Method::Hyperelastic,
//!     simulation: Settings::default(),
//!     preroll: 0,
//!     cyclic: false,
//! };
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
//! There is one file, so that the input of a job cannot be sent without its half. It holds the built body, so that every machine moves the same
//! lattice. A machine reads nothing but the file, and all machines compute the same bits.

mod restarts;
mod stored;
#[cfg(test)]
mod tests;

use crate::clip::{Clip, ClipError, ClipSettings, FrameForces, ModesOf, SceneMember, Texts, Ways};
use crate::contact::Contact;
use crate::dynamics::{Method, SimulationError};
use crate::modal::{DeformOptions, Modes};
use crate::present::CarriedSurfaces;
use crate::progress::Progress;
use crate::rig::{Rig, RigError, RigForces, written};
use crate::skeleton::Pose;
use restarts::{PartForces, parts, told};
use std::ops::Range;
use std::sync::Arc;

/// Name of the text of a clip that holds its rigs, in the format of rig files.
pub const RIGS: &str = "rigs";
/// Name of the text of a clip that holds the warnings about its rigs, one a line.
pub const WARNINGS: &str = "warnings";

/// Modes that the modal method uses.
#[derive(Debug, Clone, Default)]
pub enum ShotModes {
    /// The usual number of the lowest modes, or as many as there are.
    #[default]
    Usual,
    /// This number of the lowest modes.
    Lowest(usize),
    /// These modes of the body.
    These(Arc<Modes>),
}

/// A body, its motion, its rigs, and the settings of its simulation.
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
    /// Modes of the modal method.
    pub modes: ShotModes,
    /// Display settings of the modal method.
    pub show: DeformOptions,
    /// Contact; `None`: the body passes through itself.
    pub contact: Option<Contact>,
    /// Rigs whose forces act on the flesh.
    pub rigs: Vec<Arc<Rig>>,
    /// Values of the rigs' controls, `[f * r]`, by frames; `None`: every rig at its last sample.
    pub controls: Option<Vec<f64>>,
    /// Named texts for the maker of the shot, also in its clip. The names "rigs" and "warnings" are reserved.
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
            modes: ShotModes::default(),
            show: DeformOptions::default(),
            contact: None,
            rigs: Vec::new(),
            controls: None,
            texts: Texts::new(),
        }
    }

    /// Checks its restarts and, if it has any, its contact.
    ///
    /// # Errors
    /// Restarts that do not ascend or lie outside its frames; a cycle with any; with restarts a crease method, or a collider whose motion ends before
    /// the poses do.
    pub fn check(&self) -> Result<(), ClipError> {
        self.parts().map(drop)
    }

    /// Simulates the shot. Returns its clip and the warnings about its rigs.
    ///
    /// # Errors
    /// Rigs that do not fit the body, the errors of [`Clip::simulate`], cancellation by the progress.
    pub fn simulate(&self, progress: &dyn Progress) -> Result<(Clip, Vec<String>), ShotError> {
        let parts = self.parts()?;
        let led = self.led(&|_: f64, stage: &str| progress.report(0.0, stage))?;
        let forces = led.as_ref().map(|led| led as &dyn FrameForces);
        let (surfaces, settings) = (self.surfaces.clone(), self.settings);
        let modes = match &self.modes {
            ShotModes::These(modes) => ModesOf::These(modes.clone()),
            ShotModes::Lowest(count) => ModesOf::Lowest(Some(*count)),
            ShotModes::Usual => ModesOf::Lowest(None),
        };
        let ways = Ways {
            modes: (settings.method == Method::Modal).then_some(modes),
            show: self.show.clone(),
            contact: self.contact.as_ref(),
        };
        let first = (&self.poses[parts[0].clone()], forces);
        let told = |part: &Range<usize>| told(progress, part, self.poses.len());
        let clip = Clip::made(surfaces, ways, first, settings, &told(&parts[0]))?;
        for part in &parts[1..] {
            let forces = forces.map(|whole| PartForces {
                whole,
                first: part.start,
            });
            let forces = forces.as_ref().map(|f| f as &dyn FrameForces);
            clip.restart(&self.poses[part.clone()], forces, &told(part))?;
        }
        self.finished(clip.with_name(self.name.clone()), led.as_ref())
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
        let led = shots.iter().map(|shot| shot.led(&quietly));
        let led: Vec<Option<RigForces>> = led.collect::<Result<_, _>>()?;
        let members = shots.iter().zip(&led).map(|(shot, led)| SceneMember {
            name: shot.name.clone(),
            surfaces: shot.surfaces.clone(),
            contact: shot.contact.clone().unwrap_or_else(Contact::with_others),
            poses: &shot.poses[of_first(shot)],
            forces: led.as_ref().map(|led| led as &dyn FrameForces),
            settings: shot.settings,
        });
        let members: Vec<SceneMember> = members.collect();
        let told = |part: &Range<usize>| told(progress, part, frames);
        let clips = Clip::simulate_scene(&members, &told(&parts[0]))?;
        for part in &parts[1..] {
            let forces = led.iter().map(|led| {
                let whole = led.as_ref()? as &dyn FrameForces;
                Some(PartForces {
                    whole,
                    first: part.start,
                })
            });
            let forces: Vec<Option<PartForces>> = forces.collect();
            let new = shots.iter().zip(&forces).map(|(shot, forces)| {
                let poses = shot.poses.get(part.clone()).unwrap_or_default();
                (poses, forces.as_ref().map(|f| f as &dyn FrameForces))
            });
            let clips: Vec<&Clip> = clips.iter().collect();
            Clip::restart_scene(&clips, &new.collect::<Vec<_>>(), &told(part))?;
        }
        let all = shots.iter().zip(clips).zip(&led);
        all.map(|((shot, clip), led)| shot.finished(clip, led.as_ref()))
            .collect()
    }

    /// Returns the frames of its parts; each part starts afresh.
    fn parts(&self) -> Result<Vec<Range<usize>>, ClipError> {
        if self.settings.cyclic && !self.restarts.is_empty() {
            return Err(ClipError::CyclicRestart);
        }
        let parts = parts(self.poses.len(), &self.restarts)?;
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
        let (mut parts, frames) = (first.parts()?, first.poses.len());
        for (body, shot) in shots.iter().enumerate() {
            if shot.restarts != first.restarts {
                return Err(ClipError::SceneRestarts { body });
            }
            parts = shot.parts()?;
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

    /// Returns the forces of the rigs; `None` without rigs.
    fn led(&self, progress: &dyn Progress) -> Result<Option<RigForces>, RigError> {
        if self.rigs.is_empty() {
            return Ok(None);
        }
        let (body, rigs) = (self.surfaces.body().clone(), self.rigs.clone());
        RigForces::new(
            body,
            rigs,
            self.poses.len(),
            self.controls.clone(),
            progress,
        )
        .map(Some)
    }

    fn finished(
        &self,
        clip: Clip,
        led: Option<&RigForces>,
    ) -> Result<(Clip, Vec<String>), ShotError> {
        let mut texts = self.texts.clone();
        let warnings = led.map_or(Vec::new(), |led| led.warnings().to_vec());
        if !self.rigs.is_empty() {
            texts.insert(RIGS.into(), written(&plain(&self.rigs))?);
            texts.insert(WARNINGS.into(), warnings.join("\n"));
        }
        Ok((clip.with_texts(texts), warnings))
    }
}

/// Clones the rigs.
fn plain(rigs: &[Arc<Rig>]) -> Vec<Rig> {
    rigs.iter().map(|rig| Rig::clone(rig)).collect()
}
