// SPDX-License-Identifier: MIT OR Apache-2.0
//! Simulation of bodies through poses that do not repeat, as a whole or in parts.

use super::bodies::{Bodies, ClipDrive};
use super::forces::DriveAtFrame;
use super::pins::{extend_tracks, pins_at};
use super::run_in::run_in;
use super::{ClipError, ClipFrame, ClipSettings, ForceSchedule, PinTrack};
use crate::body::Body;
use crate::contact::ColliderSpan;
use crate::dynamics::{Pin, Simulation};
use crate::progress::{Progress, report_progress};
use crate::skeleton::{FrameMotion, Pose};
use std::sync::Arc;

/// State needed to extend the clip of one body.
#[derive(Debug, Clone, Default)]
pub(super) struct ResumableRun {
    /// Frame of the clip at which the run began.
    pub begun: usize,
    /// Number of frames since then.
    pub frames: usize,
    /// The last poses, at most [`MAX_RESTARTED_FRAMES`].
    pub poses: Vec<Pose>,
    /// Forces and stiffness at these poses.
    pub forces: Vec<DriveAtFrame>,
    /// Tracks of the pins, with an entry for each frame of the run.
    pub pins: Vec<PinTrack>,
    /// Exact state at the first frame whose motion depends on later poses, once there are more than [`MAX_RESTARTED_FRAMES`] frames. In a scene
    /// it is the state of all bodies.
    pub state: Arc<[u8]>,
}

impl ResumableRun {
    /// Returns an empty run that begins where this one ends.
    pub fn next_part(&self) -> Self {
        Self {
            begun: self.end_frame(),
            ..Self::default()
        }
    }

    /// Returns the number of frames of its clip.
    pub fn end_frame(&self) -> usize {
        self.begun + self.frames
    }
}

/// Number of last frames whose motion depends on later poses; the last frame counts.
pub(super) const OPEN_FRAMES: usize = FrameMotion::STENCIL + 1;

/// Number of frames up to which a clip is simulated again from its start when it is extended. It is more than the start depends on, and as many as
/// the motion of the first open frame depends on.
pub(super) const MAX_RESTARTED_FRAMES: usize = OPEN_FRAMES + FrameMotion::STENCIL;

/// One body of a run.
struct RunTrack<'a> {
    /// All known poses, preceded by those of the run-in.
    poses: Vec<Pose>,
    forces: ForceSchedule<'a>,
    /// Pins at all frames of the run.
    pins: Vec<PinTrack>,
}

/// Simulates the poses that follow, with bodies at their start. Returns for each body the new frames, preceded by those simulated again, and the
/// state to continue from.
pub(super) fn continue_run(
    runs: &[ResumableRun],
    mut bodies: Bodies,
    new: &[ClipDrive],
    settings: &ClipSettings,
    progress: &dyn Progress,
) -> Result<Vec<(Vec<ClipFrame>, ResumableRun)>, ClipError> {
    let (known, added) = (runs[0].poses.len(), new[0].0.len());
    // `at` is the pose at which the bodies are, `first` the frame of the first known pose.
    let first = runs[0].end_frame() - known;
    let mut at = known.saturating_sub(OPEN_FRAMES);
    let track = |k: usize, body: &Simulation| {
        let (run, (poses, forces, pins)) = (&runs[k], new[k]);
        Ok(RunTrack {
            poses: [&run.poses, poses].concat(),
            forces: ForceSchedule {
                known: &run.forces,
                new: forces,
                counts: counts(body.body()),
                first,
            },
            pins: extend_tracks(&run.pins, run.frames, pins, poses.len())?,
        })
    };
    let mut tracks: Vec<RunTrack> = bodies.map_bodies(track)?;
    // Frame of the run at the first known pose.
    let passed = runs[0].frames - known;
    let mut frames = vec![Vec::with_capacity(added + MAX_RESTARTED_FRAMES); tracks.len()];
    let (count, mut state) = (known + added, runs[0].state.clone());
    let mut lead = 0;
    if runs[0].frames > MAX_RESTARTED_FRAMES {
        bodies.restore(&state)?;
    } else {
        at = 0;
        lead = start_run(&mut bodies, &mut tracks, runs[0].begun, settings, progress)?;
        bodies.append_frames(&mut frames);
    }
    let begin = at;
    while at + 1 < count {
        let done = (at - begin) as f64 / (count - begin) as f64;
        let stage = format!("simulating frame {}", first + at + 1);
        report_progress(progress, done, &stage)?;
        if at + OPEN_FRAMES == count {
            state = bodies.state().into();
        }
        let motions = track_motions(&bodies, &tracks, lead + at)?;
        let forces = bodies.map_bodies(|k, _| tracks[k].forces.drive_at(at + 1))?;
        let pins = tracks.iter().map(|t| pins_at(&t.pins, passed + at + 1));
        bodies.move_pins(&pins.collect::<Vec<_>>())?;
        let span = ColliderSpan::between_entries(first + at, first + at + 1);
        let constant_progress = |_: f64, _: &str| progress.report(done, &stage);
        bodies
            .advance(
                &motions,
                (1.0 / settings.fps, span),
                &forces,
                &constant_progress,
            )
            .map_err(|source| ClipError::at_frame(first + at + 1, source))?;
        bodies.append_frames(&mut frames);
        at += 1;
    }
    report_progress(progress, 1.0, "simulated")?;
    let kept = count.saturating_sub(MAX_RESTARTED_FRAMES);
    let forces = |k: usize| {
        (kept..count)
            .map(|i| tracks[k].forces.drive_at(i))
            .collect()
    };
    let forces: Vec<Vec<DriveAtFrame>> = bodies.map_bodies(|k, _| forces(k))?;
    let ends = runs.iter().zip(&tracks).zip(forces);
    let runs = ends.map(|((run, track), forces)| ResumableRun {
        begun: run.begun,
        frames: run.frames + added,
        poses: track.poses[lead + kept..].to_vec(),
        forces,
        pins: track.pins.clone(),
        state: state.clone(),
    });
    Ok(frames.into_iter().zip(runs).collect())
}

/// Returns the numbers of functions and of cells of a body.
pub(super) fn counts(body: &Body) -> (usize, usize) {
    (body.node_count(), body.lattice().cells().len())
}

/// Settles the bodies at the first poses, those of the clip's frame `begun`, or runs in to them. The flesh starts with the velocity of its bones.
/// Returns the number of poses of the run-in.
fn start_run(
    bodies: &mut Bodies,
    tracks: &mut [RunTrack],
    begun: usize,
    settings: &ClipSettings,
    progress: &dyn Progress,
) -> Result<usize, ClipError> {
    let mut lead = 0;
    bodies.set_first_entry(begun);
    for (track, body) in tracks.iter_mut().zip(bodies.simulations()) {
        if let [first, second, ..] = &track.poses[..] {
            let before = run_in(body.body().skeleton(), first, second, settings.preroll);
            lead = before.len();
            track.poses.splice(..0, before);
        }
    }
    let (stage, dt) = ("starting the motion", 1.0 / settings.fps);
    let constant_progress = |_: f64, _: &str| progress.report(0.0, stage);
    let first: Vec<Pose> = tracks.iter().map(|t| t.poses[0].clone()).collect();
    let pins = lead_pins(bodies, tracks, 0, lead)?;
    bodies.set_pins(&pins)?;
    let forces = bodies.map_bodies(|k, _| tracks[k].forces.drive_at(0))?;
    bodies.reset(&first, &forces, &constant_progress)?;
    if tracks[0].poses.len() > 1 {
        let motions = track_motions(bodies, tracks, 0)?;
        bodies.match_bone_velocities(&motions, dt)?;
    }
    for i in 0..lead {
        report_progress(progress, 0.0, stage)?;
        let motions = track_motions(bodies, tracks, i)?;
        let pins = lead_pins(bodies, tracks, i + 1, lead)?;
        bodies.move_pins(&pins)?;
        let still = ColliderSpan::between_entries(begun, begun);
        bodies
            .advance(&motions, (dt, still), &forces, &constant_progress)
            .map_err(|source| ClipError::at_frame(begun, source))?;
    }
    Ok(lead)
}

/// Returns the pins of each body at pose `i` of a run-in of `lead` poses: those of the first frame, carried along with the bones.
fn lead_pins(
    bodies: &Bodies,
    tracks: &[RunTrack],
    i: usize,
    lead: usize,
) -> Result<Vec<Vec<Pin>>, ClipError> {
    bodies.map_bodies(|k, body| {
        let mut pins = pins_at(&tracks[k].pins, 0);
        let poses = &tracks[k].poses;
        if i < lead && !pins.is_empty() {
            body.carry_pins(&mut pins, (&poses[lead], &poses[i]))?;
        }
        Ok(pins)
    })
}

/// Returns the motion of each body's bones from pose `i` of its track to the next.
fn track_motions(
    bodies: &Bodies,
    tracks: &[RunTrack],
    i: usize,
) -> Result<Vec<FrameMotion>, ClipError> {
    bodies.map_bodies(|k, body| frame_motion(body.body(), &tracks[k].poses, i))
}

/// Returns the motion of the bones from pose `i` to the next.
fn frame_motion(body: &Body, poses: &[Pose], i: usize) -> Result<FrameMotion, ClipError> {
    if i + 1 >= poses.len() {
        return Err(ClipError::NoPoses);
    }
    FrameMotion::from_pose_series(body.skeleton(), poses, i)
        .map_err(|source| ClipError::Pose { frame: i, source })
}
