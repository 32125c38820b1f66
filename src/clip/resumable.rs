// SPDX-License-Identifier: MIT OR Apache-2.0
//! Simulation of bodies through poses that do not repeat, at once or in parts.

use super::bodies::{Bodies, Drive};
use super::forces::AtFrame;
use super::run_in::run_in;
use super::{ClipError, ClipFrame, ClipSettings, ForceSchedule};
use crate::body::Body;
use crate::contact::Span;
use crate::progress::{Progress, step};
use crate::skeleton::{FrameMotion, Pose};
use std::sync::Arc;

/// State needed to extend the clip of one body.
#[derive(Debug, Clone, Default)]
pub(super) struct ResumableRun {
    /// Frame of the clip at which the run began.
    pub begun: usize,
    /// Number of frames since then.
    pub frames: usize,
    /// The last poses: all of them up to [`START`], then that number.
    pub poses: Vec<Pose>,
    /// Forces at these poses.
    pub forces: Vec<AtFrame>,
    /// Exact state at the first frame whose motion depends on later poses, once there are more than [`START`] frames. In a scene it is the state of
    /// all bodies.
    pub state: Arc<[u8]>,
}

impl ResumableRun {
    /// Returns an empty run that begins at a frame of its clip.
    pub fn at(begun: usize) -> Self {
        Self {
            begun,
            ..Self::default()
        }
    }

    /// Returns the number of frames of its clip.
    pub fn end(&self) -> usize {
        self.begun + self.frames
    }
}

/// Number of last frames whose motion depends on later poses; the last frame counts.
pub(super) const OPEN: usize = FrameMotion::STENCIL + 1;

/// Number of frames up to which a clip is simulated again from its start when it is extended. It is more than the start depends on, and as many as
/// the motion of the first open frame depends on.
pub(super) const START: usize = OPEN + FrameMotion::STENCIL;

/// One body of a run.
struct Track<'a> {
    /// All known poses, preceded by those of the run-in.
    poses: Vec<Pose>,
    forces: ForceSchedule<'a>,
}

/// Simulates the poses that follow, with bodies at their start. Returns for each body the new frames, preceded by those simulated again, and the
/// state to continue from.
pub(super) fn go_on(
    runs: &[ResumableRun],
    mut bodies: Bodies,
    new: &[Drive],
    settings: &ClipSettings,
    progress: &dyn Progress,
) -> Result<Vec<(Vec<ClipFrame>, ResumableRun)>, ClipError> {
    let (known, added) = (runs[0].poses.len(), new[0].0.len());
    // `at` is the pose at which the bodies are, `first` the frame of the first known pose.
    let first = runs[0].end() - known;
    let mut at = known.saturating_sub(OPEN);
    let given = runs.iter().zip(new).zip(bodies.all());
    let tracks = given.map(|((run, (poses, forces)), body)| Track {
        poses: [&run.poses, *poses].concat(),
        forces: ForceSchedule {
            known: &run.forces,
            new: *forces,
            nodes: body.body().node_count(),
            first,
        },
    });
    let mut tracks: Vec<Track> = tracks.collect();
    let mut frames = vec![Vec::with_capacity(added + START); tracks.len()];
    let (count, mut state) = (known + added, runs[0].state.clone());
    let mut lead = 0;
    if runs[0].frames > START {
        bodies.restore(&state)?;
    } else {
        at = 0;
        lead = start(&mut bodies, &mut tracks, runs[0].begun, settings, progress)?;
        bodies.keep(&mut frames);
    }
    let begin = at;
    while at + 1 < count {
        let done = (at - begin) as f64 / (count - begin) as f64;
        let stage = format!("simulating frame {}", first + at + 1);
        step(progress, done, &stage)?;
        if at + OPEN == count {
            state = bodies.state().into();
        }
        let motions = motions(&bodies, &tracks, lead + at)?;
        let forces = bodies.each(|k, _| tracks[k].forces.at(at + 1))?;
        let span = Span::between(first + at, first + at + 1);
        let told = |_: f64, _: &str| progress.report(done, &stage);
        bodies
            .advance(&motions, (1.0 / settings.fps, span), &forces, &told)
            .map_err(|source| ClipError::at(first + at + 1, source))?;
        bodies.keep(&mut frames);
        at += 1;
    }
    step(progress, 1.0, "simulated")?;
    let kept = count.saturating_sub(START);
    let forces = |k: usize| (kept..count).map(|i| tracks[k].forces.at(i)).collect();
    let forces: Vec<Vec<AtFrame>> = bodies.each(|k, _| forces(k))?;
    let ends = runs.iter().zip(&tracks).zip(forces);
    let runs = ends.map(|((run, track), forces)| ResumableRun {
        begun: run.begun,
        frames: run.frames + added,
        poses: track.poses[lead + kept..].to_vec(),
        forces,
        state: state.clone(),
    });
    Ok(frames.into_iter().zip(runs).collect())
}

/// Settles the bodies at the first poses, those of the clip's frame `begun`, or runs in to them, and gives the flesh the velocity of the bones.
/// Returns the number of poses of the run-in.
fn start(
    bodies: &mut Bodies,
    tracks: &mut [Track],
    begun: usize,
    settings: &ClipSettings,
    progress: &dyn Progress,
) -> Result<usize, ClipError> {
    let mut lead = 0;
    bodies.begin_colliders_at(begun);
    for (track, body) in tracks.iter_mut().zip(bodies.all()) {
        if let [first, second, ..] = &track.poses[..] {
            let before = run_in(body.body().skeleton(), first, second, settings.preroll);
            lead = before.len();
            track.poses.splice(..0, before);
        }
    }
    let (stage, dt) = ("starting the motion", 1.0 / settings.fps);
    let told = |_: f64, _: &str| progress.report(0.0, stage);
    let first: Vec<Pose> = tracks.iter().map(|t| t.poses[0].clone()).collect();
    let forces = bodies.each(|k, _| tracks[k].forces.at(0))?;
    bodies.reset(&first, &forces, &told)?;
    if tracks[0].poses.len() > 1 {
        let motions = motions(bodies, tracks, 0)?;
        bodies.move_with(&motions, dt)?;
    }
    for i in 0..lead {
        step(progress, 0.0, stage)?;
        let motions = motions(bodies, tracks, i)?;
        let still = Span::between(begun, begun);
        bodies
            .advance(&motions, (dt, still), &forces, &told)
            .map_err(|source| ClipError::at(begun, source))?;
    }
    Ok(lead)
}

/// Returns the motion of each body's bones from pose `i` of its track to the next.
fn motions(bodies: &Bodies, tracks: &[Track], i: usize) -> Result<Vec<FrameMotion>, ClipError> {
    bodies.each(|k, body| interval(body.body(), &tracks[k].poses, i))
}

/// Returns the motion of the bones from pose `i` to the next.
fn interval(body: &Body, poses: &[Pose], i: usize) -> Result<FrameMotion, ClipError> {
    if i + 1 >= poses.len() {
        return Err(ClipError::NoPoses);
    }
    FrameMotion::through(body.skeleton(), poses, i)
        .map_err(|source| ClipError::Pose { frame: i, source })
}
