// SPDX-License-Identifier: MIT OR Apache-2.0
//! A body driven through poses that do not repeat, in one go or in parts.

use super::forces::AtFrame;
use super::run_in::run_in;
use super::{ClipError, ClipFrame, ClipSettings, ForceSchedule, FrameForces};
use crate::body::Body;
use crate::contact::Span;
use crate::dynamics::Simulation;
use crate::progress::{Progress, step};
use crate::skeleton::{FrameMotion, Pose};

/// What is needed to go on where a clip ends.
#[derive(Debug, Clone, Default)]
pub(super) struct ResumableRun {
    /// Frames so far.
    pub frames: usize,
    /// The last poses: all while there are at most [`START`], then as many.
    pub poses: Vec<Pose>,
    /// The forces at them.
    pub forces: Vec<AtFrame>,
    /// The exact state at the first frame whose motion depends on poses to come, once there are more than [`START`].
    pub state: Vec<u8>,
}

/// Frames from the last on of which the motion depends on poses to come, itself included.
pub(super) const OPEN: usize = FrameMotion::STENCIL + 1;

/// Frames up to which a clip is started again when it is extended: more than how it starts depends on, and as many as the
/// first open frame's motion does.
pub(super) const START: usize = OPEN + FrameMotion::STENCIL;

impl ResumableRun {
    /// Simulates the poses that follow, and the forces at them, with a fresh simulation; gives their frames and, in front of them, those made again.
    pub fn go_on(
        &mut self,
        mut simulation: Simulation,
        (new, forces): (&[Pose], Option<&dyn FrameForces>),
        settings: ClipSettings,
        progress: &dyn Progress,
    ) -> Result<Vec<ClipFrame>, ClipError> {
        let body = &simulation.body().clone();
        let poses: Vec<Pose> = self.poses.iter().chain(new).cloned().collect();
        let known = self.poses.len();
        // `at` is the pose that the simulation stands in, `first` the frame of `poses[0]`.
        let (mut at, first) = (known.saturating_sub(OPEN), self.frames - known);
        let schedule = ForceSchedule {
            known: &self.forces,
            new: forces,
            nodes: body.nodes(),
            first,
        };
        let mut frames = Vec::with_capacity(new.len() + START);
        let mut lead = Vec::new();
        if self.frames > START {
            simulation.restore(&self.state)?;
        } else {
            at = 0;
            lead = start(&mut simulation, &poses, schedule, settings, progress)?;
            frames.push(ClipFrame::of(&simulation));
        }
        let begin = at;
        let run = [lead.as_slice(), &poses].concat();
        let mut state = self.state.clone();
        while at + 1 < poses.len() {
            let done = (at - begin) as f64 / (poses.len() - begin) as f64;
            let stage = format!("simulating frame {}", first + at + 1);
            step(progress, done, &stage)?;
            if at + OPEN == poses.len() {
                state = simulation.state();
            }
            let motion = interval(body, &run, lead.len() + at)?;
            let rest_forces = schedule.at(at + 1)?;
            simulation.set_collider_span(Span::between(first + at, first + at + 1));
            simulation
                .advance_motion(
                    &motion,
                    1.0 / settings.fps,
                    (None, rest_forces.as_deref()),
                    &|_: f64, _: &str| progress.report(done, &stage),
                )
                .map_err(|source| ClipError::at(first + at + 1, source))?;
            frames.push(ClipFrame::of(&simulation));
            at += 1;
        }
        step(progress, 1.0, "simulated")?;
        let kept = poses.len().saturating_sub(START);
        let forces: Result<_, ClipError> = (kept..poses.len()).map(|i| schedule.at(i)).collect();
        self.forces = forces?;
        self.frames += new.len();
        self.poses = poses[kept..].to_vec();
        self.state = state;
        Ok(frames)
    }
}

/// Settles at the first pose, or runs in to it, and takes up the bones' velocity. Gives the poses of the run-in.
fn start(
    simulation: &mut Simulation,
    poses: &[Pose],
    forces: ForceSchedule,
    settings: ClipSettings,
    progress: &dyn Progress,
) -> Result<Vec<Pose>, ClipError> {
    let body = simulation.body().clone();
    let before = match poses {
        [first, second, ..] => run_in(body.skeleton(), first, second, settings.preroll),
        _ => Vec::new(),
    };
    let run: Vec<Pose> = before
        .iter()
        .chain(poses)
        .take(before.len() + START)
        .cloned()
        .collect();
    let forces = |i: usize| forces.at(i.saturating_sub(before.len()));
    simulation.reset_watched(&run[0], true, forces(0)?.as_deref(), &|_: f64, _: &str| {
        progress.report(0.0, "starting the motion")
    })?;
    if run.len() > 1 {
        simulation.move_with(&interval(&body, &run, 0)?, 1.0 / settings.fps)?;
    }
    for i in 0..before.len() {
        step(progress, 0.0, "starting the motion")?;
        let motion = interval(&body, &run, i)?;
        simulation.set_collider_span(Span::between(0, 0));
        simulation
            .advance_motion(
                &motion,
                1.0 / settings.fps,
                (None, forces(i + 1)?.as_deref()),
                &|_: f64, _: &str| progress.report(0.0, "starting the motion"),
            )
            .map_err(|source| ClipError::at(0, source))?;
    }
    Ok(before)
}

/// The bones' motion from pose `i` to the next.
pub(super) fn interval(body: &Body, poses: &[Pose], i: usize) -> Result<FrameMotion, ClipError> {
    if i + 1 >= poses.len() {
        return Err(ClipError::NoPoses);
    }
    FrameMotion::through(body.skeleton(), poses, i)
        .map_err(|source| ClipError::Pose { frame: i, source })
}
