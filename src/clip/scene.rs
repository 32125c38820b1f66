// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bodies that touch each other, simulated together: one clip each, extended together.

use super::bodies::{Bodies, ClipDrive};
use super::construction::{build_simulation, run_bodies};
use super::resumable::{ResumableRun, continue_run};
use super::{Clip, ClipError, ClipSettings, FrameForces, PinTrack, Presenter, check};
use crate::contact::{Contact, PreparedContact};
use crate::dynamics::{Method, Scene, Simulation, SimulationError};
use crate::exclusive::Exclusive;
use crate::present::CarriedSurfaces;
use crate::progress::Progress;
use crate::skeleton::Pose;
use crate::store::texts;
use std::sync::{PoisonError, RwLock};

/// One body of a scene with its poses and forces.
pub struct SceneMember<'a> {
    /// Name of the body; may be empty.
    pub name: String,
    /// The body with its carried surfaces.
    pub surfaces: CarriedSurfaces,
    /// Contact of the body with itself, the other bodies and colliders. Its colliders count for all bodies; a collider that equals one of an earlier
    /// body is the same.
    pub contact: Contact,
    /// Poses, one per frame.
    pub poses: &'a [Pose],
    /// Forces at each pose; `None`: no forces.
    pub forces: Option<&'a dyn FrameForces>,
    /// Tracks of the body's pins, with an entry for each pose.
    pub pins: &'a [PinTrack],
    /// Settings of the simulation. Frames and steps per second must be equal for all bodies; the longest run-in counts for all. All bodies are
    /// cycles, or none is.
    pub settings: ClipSettings,
}

/// Index of a clip's body in its scene.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Membership {
    pub body: u32,
    /// Names of all bodies of the scene.
    #[serde(deserialize_with = "texts")]
    pub names: Vec<String>,
}

impl Membership {
    /// Describes a body alone.
    pub fn for_single_body(name: String) -> Self {
        Self {
            body: 0,
            names: vec![name],
        }
    }

    /// Returns whether the scene has other bodies.
    pub fn is_shared(&self) -> bool {
        self.names.len() > 1
    }
}

impl Clip {
    /// Simulates bodies that touch each other side by side and returns the clip of each, in order. Frame 0 is as in
    /// [`Shot::simulate`](crate::shot::Shot::simulate), each body by itself and then with the others. Contacts number the bodies of the scene, then
    /// the colliders; each clip has those of its own body. Cycles repeat together: all end in their first poses, moved alike, or none does. One body
    /// alone moves as by [`Shot::simulate`](crate::shot::Shot::simulate).
    ///
    /// # Errors
    /// As [`Shot::simulate`](crate::shot::Shot::simulate), naming the body; bodies with different numbers of frames, frames per second or steps;
    /// cycles that do not repeat together.
    pub fn simulate_scene(
        members: &[SceneMember],
        progress: &dyn Progress,
    ) -> Result<Vec<Self>, ClipError> {
        let prepared = members.iter().enumerate().map(|(k, member)| {
            let prepared = member.prepare_contact(&members[0], k, progress);
            prepared.map_err(|error| ClipError::for_body(k, error))
        });
        let contacts: Vec<PreparedContact> = prepared.collect::<Result<_, _>>()?;
        let settings: Vec<&ClipSettings> = members.iter().map(|m| &m.settings).collect();
        let surfaces = members.iter().map(|m| &m.surfaces);
        let bodies = build_scene_bodies(surfaces.zip(settings.iter().copied()).zip(&contacts))?;
        let resolved: Vec<_> = bodies
            .simulations()
            .iter()
            .map(|b| b.settings().clone())
            .collect();
        let drives: Vec<ClipDrive> = members
            .iter()
            .map(|m| (m.poses, m.forces, m.pins))
            .collect();
        let names: Vec<String> = members.iter().map(|m| m.name.clone()).collect();
        let results = run_bodies(bodies, &drives, &common_settings(&settings), progress)?;
        let all = (0u32..)
            .zip(members)
            .zip(contacts)
            .zip(resolved)
            .zip(results);
        let clip = |((((body, member), contact), simulation), result): (
            (((_, &SceneMember), _), _),
            _,
        )| {
            let (frames, run, loop_gap) = result;
            let names = names.clone();
            Self {
                presenter: Presenter::with_modes(member.surfaces.clone(), None, Default::default()),
                body: member.surfaces.body().clone(),
                membership: Membership { body, names },
                modes: None,
                contact: Some(contact),
                parting: None,
                settings: ClipSettings {
                    simulation,
                    ..member.settings.clone()
                },
                frames: RwLock::new(frames),
                run: Exclusive::new(run),
                loop_gap,
                texts: Default::default(),
            }
        };
        Ok(all.map(clip).collect())
    }

    /// Appends frames to all clips of a scene for the poses that follow, with forces at each of them, as [`extend`](Self::extend) does to one clip.
    /// The clips then equal clips simulated at once. `clips`: all clips of the scene, in its order.
    ///
    /// # Errors
    /// As [`extend`](Self::extend), naming the body; clips that are not those of one scene, in its order and of equal length. All clips then stay as
    /// they were.
    pub fn extend_scene(
        clips: &[&Self],
        new: &[(&[Pose], Option<&dyn FrameForces>)],
        progress: &dyn Progress,
    ) -> Result<(), ClipError> {
        Self::append(clips, &unpinned(new), false, progress)
    }

    /// Appends frames that start afresh to all clips of a scene, as [`restart`](Self::restart) does to one clip.
    ///
    /// # Errors
    /// As [`extend_scene`](Self::extend_scene).
    pub fn restart_scene(
        clips: &[&Self],
        new: &[(&[Pose], Option<&dyn FrameForces>)],
        progress: &dyn Progress,
    ) -> Result<(), ClipError> {
        Self::append(clips, &unpinned(new), true, progress)
    }

    /// Appends frames, which continue the clips or start afresh (`anew`).
    pub(crate) fn append(
        clips: &[&Self],
        new: &[ClipDrive],
        anew: bool,
        progress: &dyn Progress,
    ) -> Result<(), ClipError> {
        let Some(first) = clips.first() else {
            return Err(SimulationError::EmptyScene.into());
        };
        let expected = first.membership.names.len();
        for (what, given) in [("clips", clips.len()), ("lists of poses", new.len())] {
            if given != expected {
                return Err(ClipError::SceneCount {
                    what,
                    given,
                    expected,
                });
            }
        }
        let mut held = Vec::with_capacity(expected);
        for (k, clip) in clips.iter().enumerate() {
            let own = &clip.membership;
            if own.body as usize != k || own.names != first.membership.names {
                return Err(ClipError::SceneOrder { clip: k });
            }
            held.push(clip.run.lock()?);
        }
        let mut runs: Vec<ResumableRun> = Vec::with_capacity(expected);
        for (k, run) in held.iter().enumerate() {
            let run = run.as_ref().ok_or(ClipError::CyclicExtension)?;
            // Bodies of one scene are restored from the state of all of them.
            let fits = |f: &ResumableRun| {
                (f.begun, f.frames) == (run.begun, run.frames) && f.state == run.state
            };
            if !held[0].as_ref().is_none_or(fits) {
                return Err(ClipError::SceneOrder { clip: k });
            }
            runs.push(match anew {
                true => run.next_part(),
                false => run.clone(),
            });
        }
        for (k, (clip, (poses, ..))) in clips.iter().zip(new).enumerate() {
            let checked = check(&clip.body, poses, clip.len());
            checked.map_err(|error| match expected {
                1 => error,
                _ => ClipError::for_body(k, error),
            })?;
            check_equal_count(k, "poses", poses.len(), new[0].0.len())?;
        }
        if new[0].0.is_empty() {
            return Ok(());
        }
        let settings: Vec<&ClipSettings> = clips.iter().map(|c| &c.settings).collect();
        let bodies = match clips {
            [alone] => alone.build_bodies()?,
            clips => {
                let contacts = clips.iter().map(|c| c.contact.as_ref());
                let contacts: Option<Vec<&PreparedContact>> = contacts.collect();
                let contacts = contacts.ok_or(ClipError::SceneOrder { clip: 0 })?;
                let surfaces = clips.iter().map(|c| c.surfaces());
                build_scene_bodies(surfaces.zip(settings.iter().copied()).zip(contacts))?
            }
        };
        let results = continue_run(&runs, bodies, new, &common_settings(&settings), progress)?;
        for ((clip, held), (new_frames, run)) in clips.iter().zip(&mut held).zip(results) {
            let mut frames = clip.frames.write().unwrap_or_else(PoisonError::into_inner);
            frames.truncate(run.end_frame() - new_frames.len());
            frames.extend(new_frames);
            **held = Some(run);
        }
        Ok(())
    }

    /// Returns the names of the bodies by the numbers that [`contacts`](Self::contacts) uses; for a body alone its own name.
    pub fn body_names(&self) -> &[String] {
        &self.membership.names
    }

    /// Returns the index of its body among the [names](Self::body_names).
    pub fn body_index(&self) -> usize {
        self.membership.body as usize
    }

    /// Replaces the name of its body.
    pub fn with_name(mut self, name: String) -> Self {
        let own = self.membership.body as usize;
        if let Some(known) = self.membership.names.get_mut(own) {
            *known = name;
        }
        self
    }
}

/// Returns drives whose pins stay.
fn unpinned<'a>(new: &[(&'a [Pose], Option<&'a dyn FrameForces>)]) -> Vec<ClipDrive<'a>> {
    new.iter()
        .map(|&(poses, forces)| (poses, forces, &[][..]))
        .collect()
}

/// Builds the simulations of bodies that touch each other, without poses; a single body gets a simulation of its own.
fn build_scene_bodies<'a>(
    members: impl Iterator<Item = ((&'a CarriedSurfaces, &'a ClipSettings), &'a PreparedContact)>,
) -> Result<Bodies, ClipError> {
    let simulations = members
        .enumerate()
        .map(|(k, ((surfaces, settings), contact))| {
            let simulation = build_simulation(surfaces.body(), None, None, settings);
            let simulation = simulation.map_err(|error| SimulationError::for_body(k, error))?;
            Ok::<_, ClipError>((simulation, contact.clone()))
        });
    let mut simulations: Vec<(Simulation, PreparedContact)> =
        simulations.collect::<Result<_, _>>()?;
    if simulations.len() == 1
        && let Some((mut simulation, contact)) = simulations.pop()
    {
        let alone = simulation.set_contact(Some(contact));
        alone.map_err(|error| SimulationError::for_body(0, error))?;
        return Ok(Bodies::Alone(Box::new(simulation)));
    }
    Ok(Bodies::Together(Box::new(Scene::new(simulations)?)))
}

/// Returns the settings of the whole run: those of the first body, with the longest run-in.
fn common_settings(settings: &[&ClipSettings]) -> ClipSettings {
    let longest = settings.iter().map(|s| s.preroll).max();
    ClipSettings {
        preroll: longest.unwrap_or(0),
        ..settings[0].clone()
    }
}

/// Checks that a number of a body equals that of the first.
fn check_equal_count(
    body: usize,
    what: &'static str,
    given: usize,
    expected: usize,
) -> Result<(), ClipError> {
    match given == expected {
        true => Ok(()),
        false => Err(ClipError::SceneFrames {
            body,
            what,
            given: given as f64,
            expected: expected as f64,
        }),
    }
}

impl SceneMember<'_> {
    /// Checks that the member fits the scene and prepares its contact; `k` is its index.
    fn prepare_contact(
        &self,
        first: &Self,
        k: usize,
        progress: &dyn Progress,
    ) -> Result<PreparedContact, ClipError> {
        self.settings.check()?;
        if self.settings.cyclic != first.settings.cyclic {
            let cyclic = self.settings.cyclic;
            return Err(ClipError::SceneCycle { body: k, cyclic });
        }
        check_equal_count(k, "poses", self.poses.len(), first.poses.len())?;
        let [given, expected] = [self, first].map(|m| m.settings.fps);
        if given != expected {
            return Err(ClipError::SceneFrames {
                body: k,
                what: "frames per second",
                given,
                expected,
            });
        }
        let (method, body) = (self.settings.simulation.method, self.surfaces.body());
        if method == Method::Modal {
            return Err(SimulationError::ModalScene.into());
        }
        if !method.supports_contact() {
            return Err(SimulationError::ContactMethod { method }.into());
        }
        check(body, self.poses, 0)?;
        if self.poses.is_empty() {
            return Err(ClipError::NoPoses);
        }
        self.contact.check_clip(self.poses.len())?;
        Ok(self.contact.prepare(body, progress)?)
    }
}

impl ClipError {
    /// Adds the index of a body to an error, unless the error already names it.
    pub(super) fn for_body(body: usize, error: Self) -> Self {
        match error {
            Self::Cancelled(_)
            | Self::SceneFrames { .. }
            | Self::SceneCycle { .. }
            | Self::SceneEnds { .. } => error,
            error => Self::InScene {
                body,
                source: Box::new(error),
            },
        }
    }
}
