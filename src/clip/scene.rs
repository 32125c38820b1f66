// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bodies that touch each other, simulated together: a clip of each.

use super::forces::ForceSchedule;
use super::frame::FrameContacts;
use super::resumable::interval;
use super::run_in::run_in;
use super::{Clip, ClipError, ClipFrame, ClipSettings, FrameForces, Presenter, check, fresh};
use crate::contact::{Contact, ContactPoint, PreparedContact, Span};
use crate::dynamics::{Method, NodalForces, Scene, Simulation, SimulationError};
use crate::exclusive::Exclusive;
use crate::present::CarriedSurfaces;
use crate::progress::{Progress, step};
use crate::skeleton::{FrameMotion, Pose};
use std::sync::RwLock;

/// One body of a scene, and what moves it.
pub struct SceneMember<'a> {
    /// The body, and what it carries.
    pub surfaces: CarriedSurfaces,
    /// How it touches itself, the other bodies and colliders; these count for all bodies.
    pub contact: Contact,
    /// One pose per frame.
    pub poses: &'a [Pose],
    /// Forces at each of them; none = none.
    pub forces: Option<&'a dyn FrameForces>,
    /// How it is simulated. Frames and steps per second are those of all; so is the longest run-in.
    pub settings: ClipSettings,
}

impl Clip {
    /// Simulates bodies that touch each other side by side; gives the clip of each, in order. Frame 0 is as in
    /// [`simulate`](Self::simulate), each body by itself and then with the others. Contacts of a clip count the bodies of the scene,
    /// and after them colliders; each clip has those of its own body.
    ///
    /// # Errors
    /// As [`simulate_touching`](Self::simulate_touching), naming the body; bodies with different numbers of frames, frames per second or
    /// steps; cycles.
    pub fn simulate_scene(
        members: &[SceneMember],
        progress: &dyn Progress,
    ) -> Result<Vec<Self>, ClipError> {
        let mut bodies = Vec::with_capacity(members.len());
        for (k, member) in members.iter().enumerate() {
            let prepared = member.prepared(&members[0], k, progress);
            bodies.push(prepared.map_err(|error| ClipError::in_scene(k, error))?);
        }
        let contacts: Vec<PreparedContact> = bodies.iter().map(|(_, c)| c.clone()).collect();
        let run = SceneRun {
            scene: Scene::new(bodies)?,
            members,
            progress,
        };
        let frames = run.frames()?;
        let all = members.iter().zip(contacts).zip(frames);
        let clip = |((member, contact), frames): ((&SceneMember, _), _)| Self {
            presenter: Presenter::with_modes(member.surfaces.clone(), None, Default::default()),
            body: member.surfaces.body().clone(),
            modes: None,
            contact: Some(contact),
            parting: None,
            settings: member.settings,
            frames: RwLock::new(frames),
            run: Exclusive::new(None),
            loop_gap: None,
            texts: Default::default(),
        };
        Ok(all.map(clip).collect())
    }
}

impl SceneMember<'_> {
    /// Its simulation and its contact; `k`: which body of the scene it is.
    fn prepared(
        &self,
        first: &Self,
        k: usize,
        progress: &dyn Progress,
    ) -> Result<(Simulation, PreparedContact), ClipError> {
        self.settings.check()?;
        if self.settings.cyclic {
            return Err(ClipError::SceneCycle { body: k });
        }
        let counts = [self, first].map(|m| m.poses.len() as f64);
        let rates = [self, first].map(|m| m.settings.fps);
        for (what, [given, expected]) in [("poses", counts), ("frames per second", rates)] {
            if given != expected {
                return Err(ClipError::SceneFrames {
                    body: k,
                    what,
                    given,
                    expected,
                });
            }
        }
        let (method, body) = (self.settings.method, self.surfaces.body());
        if method == Method::Modal {
            return Err(SimulationError::ModalScene.into());
        }
        if !method.touches() {
            return Err(SimulationError::ContactMethod { method }.into());
        }
        check(body, self.poses, 0)?;
        if self.poses.is_empty() {
            return Err(ClipError::NoPoses);
        }
        self.contact.check_clip(self.poses.len())?;
        let contact = self.contact.prepare(body, progress)?;
        Ok((fresh(body, None, None, self.settings)?, contact))
    }

    fn schedule(&self) -> ForceSchedule<'_> {
        ForceSchedule {
            known: &[],
            new: self.forces,
            nodes: self.surfaces.body().nodes(),
            first: 0,
        }
    }
}

/// A scene that goes through its frames.
struct SceneRun<'a> {
    scene: Scene,
    members: &'a [SceneMember<'a>],
    progress: &'a dyn Progress,
}

impl SceneRun<'_> {
    /// The frames of each body.
    fn frames(mut self) -> Result<Vec<Vec<ClipFrame>>, ClipError> {
        let count = self.members[0].poses.len();
        let mut frames: Vec<Vec<ClipFrame>> = self.members.iter().map(|_| Vec::new()).collect();
        let (lead, runs) = self.start()?;
        self.keep(&mut frames);
        for at in 1..count {
            let done = (at - 1) as f64 / count as f64;
            let stage = format!("simulating frame {at}");
            step(self.progress, done, &stage)?;
            let span = Span::between(at - 1, at);
            let advanced = self.advance(&runs, lead + at - 1, (at, span), (done, &stage));
            advanced.map_err(|error| error.at_frame(at))?;
            self.keep(&mut frames);
        }
        step(self.progress, 1.0, "simulated")?;
        Ok(frames)
    }

    /// Settles at the first poses, or runs in to them, and takes up the bones' velocity. Gives the number of frames of run-in, and
    /// the poses of each body with those before them.
    fn start(&mut self) -> Result<(usize, Vec<Vec<Pose>>), ClipError> {
        let longest = self.members.iter().map(|m| m.settings.preroll);
        let longest = longest.max().unwrap_or(0);
        let runs = self.members.iter().map(|member| {
            let skeleton = member.surfaces.body().skeleton();
            let before = match member.poses {
                [first, second, ..] => run_in(skeleton, first, second, longest),
                _ => Vec::new(),
            };
            [&before, member.poses].concat()
        });
        let runs: Vec<Vec<Pose>> = runs.collect();
        let lead = runs[0].len() - self.members[0].poses.len();
        let stage = "starting the motion";
        let first: Vec<Pose> = runs.iter().map(|run| run[0].clone()).collect();
        let forces = self.forces(0)?;
        let forces: Vec<Option<&[crate::Vec3]>> = forces.iter().map(Option::as_deref).collect();
        let progress = self.progress;
        self.scene
            .reset(&first, true, &forces, &|_: f64, _: &str| {
                progress.report(0.0, stage)
            })?;
        if runs[0].len() > 1 {
            let motions = self.motions(&runs, 0)?;
            self.scene.move_with(&motions, 1.0 / self.fps())?;
        }
        for i in 0..lead {
            step(self.progress, 0.0, stage)?;
            let advanced = self.advance(&runs, i, (0, Span::between(0, 0)), (0.0, stage));
            advanced.map_err(|error| error.at_frame(0))?;
        }
        Ok((lead, runs))
    }

    /// Advances from pose `i` of the runs to the next, under the forces of a frame, while colliders go through a span.
    fn advance(
        &mut self,
        runs: &[Vec<Pose>],
        i: usize,
        (frame, span): (usize, Span),
        (done, stage): (f64, &str),
    ) -> Result<(), ClipError> {
        let motions = self.motions(runs, i)?;
        let forces = self.forces(frame)?;
        let forces: Vec<NodalForces> = forces.iter().map(|f| (None, f.as_deref())).collect();
        self.scene.set_collider_span(span);
        let (progress, dt) = (self.progress, 1.0 / self.fps());
        let told = |_: f64, _: &str| progress.report(done, stage);
        Ok(self.scene.advance_motions(&motions, dt, &forces, &told)?)
    }

    fn fps(&self) -> f64 {
        self.members[0].settings.fps
    }

    fn motions(&self, runs: &[Vec<Pose>], i: usize) -> Result<Vec<FrameMotion>, ClipError> {
        let all = self.members.iter().zip(runs).enumerate();
        let motion = |(k, (member, run)): (usize, (&SceneMember, &Vec<Pose>))| {
            let motion = interval(member.surfaces.body(), run, i);
            motion.map_err(|error| ClipError::in_scene(k, error))
        };
        all.map(motion).collect()
    }

    fn forces(&self, frame: usize) -> Result<Vec<super::forces::AtFrame>, ClipError> {
        let at = |(k, member): (usize, &SceneMember)| {
            let forces = member.schedule().at(frame);
            forces.map_err(|error| ClipError::in_scene(k, error))
        };
        self.members.iter().enumerate().map(at).collect()
    }

    /// Keeps a frame of each body.
    fn keep(&self, frames: &mut [Vec<ClipFrame>]) {
        let contacts = self.scene.contacts();
        for (k, (body, frames)) in self.scene.bodies().iter().zip(frames).enumerate() {
            let own = |c: &&ContactPoint| c.body as usize == k;
            let mut frame = ClipFrame::of(body);
            frame.contacts = FrameContacts {
                points: contacts.iter().filter(own).copied().collect(),
                held_cells: self.scene.held_cells(k) as u32,
            };
            frames.push(frame);
        }
    }
}

impl ClipError {
    /// What is wrong with one body of a scene.
    fn in_scene(body: usize, error: Self) -> Self {
        match error {
            Self::Cancelled(_) | Self::SceneFrames { .. } | Self::SceneCycle { .. } => error,
            error => Self::InScene {
                body,
                source: Box::new(error),
            },
        }
    }

    /// Motion that failed at a frame.
    fn at_frame(self, frame: usize) -> Self {
        match self {
            Self::Simulation(source) => Self::at(frame, source),
            error => error,
        }
    }
}
