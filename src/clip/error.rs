// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of clips.

use crate::contact::ContactError;
use crate::dynamics::SimulationError;
use crate::exclusive::LockError;
use crate::kernel::KernelError;
use crate::present::PresentError;
use crate::progress::Cancelled;
use crate::skeleton::SkeletonError;

/// Reasons why a clip could not be simulated or read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ClipError {
    /// A range of frames without poses, or beyond the end.
    #[error(
        "frames {first} to {end} (without the last) are not a part of a shot of {count} poses, which are numbered from 0"
    )]
    PartFrames {
        /// First frame.
        first: usize,
        /// Frame after the last one.
        end: usize,
        /// Number of poses.
        count: usize,
    },
    /// A part of a cycle.
    #[error(
        "a part of a cycle does not repeat: take all of its {count} poses, or make it no cycle (cyclic=False)"
    )]
    PartOfCycle {
        /// Number of poses.
        count: usize,
    },
    /// The caller cancelled the simulation.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The clip is in use: the call comes from within an extension of it, or from a forked process.
    #[error("the clip cannot be extended: {0}")]
    InUse(#[from] LockError),
    /// The settings of contact are invalid.
    #[error(transparent)]
    Contact(ContactError),
    /// A setting or a pose is invalid.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// The motion failed at a frame.
    #[error("frame {frame}: {source}")]
    Frame {
        /// Frame, from 0.
        frame: usize,
        /// Cause.
        source: SimulationError,
    },
    /// A pose does not fit the skeleton.
    #[error("pose {frame}: {source}")]
    Pose {
        /// Frame, from 0.
        frame: usize,
        /// Cause.
        source: SkeletonError,
    },
    /// The forces at a frame could not be computed.
    #[error("forces at frame {frame}: {sentence}")]
    Forces {
        /// Frame, from 0.
        frame: usize,
        /// Cause, as a sentence.
        sentence: String,
    },
    /// The list of poses is empty.
    #[error("there are no poses: a clip needs at least one frame")]
    NoPoses,
    /// A track of a pin has another number of frames than the clip.
    #[error(
        "the track of pin {pin} has {targets} targets and {strengths} strengths, but the clip has {frames} frames: give one of each for every frame, \
         or no strengths"
    )]
    PinTrackFrames {
        /// Index of the track.
        pin: usize,
        /// Number of its targets.
        targets: usize,
        /// Number of its strengths.
        strengths: usize,
        /// Number of frames of the clip.
        frames: usize,
    },
    /// An entry of a pin's track is invalid.
    #[error("the track of pin {pin} needs finite targets, and strengths between 0 and 1")]
    PinTrack {
        /// Index of the track.
        pin: usize,
    },
    /// Tracks for new frames are those of other points.
    #[error(
        "the clip has {expected} pins: new frames need a track of each of its points, in its order, not {given} tracks of others"
    )]
    PinPoints {
        /// Number of tracks supplied.
        given: usize,
        /// Number of tracks of the clip.
        expected: usize,
    },
    /// The frame rate is out of its range.
    #[error("frames per second must lie between 0.1 and 10000, not {0}")]
    Fps(f64),
    /// The run-in is too long.
    #[error("the run-in may last 100000 frames at most, not {0}")]
    Preroll(usize),
    /// A cyclic clip cannot be extended.
    #[error("a cyclic clip repeats and cannot be extended: simulate all its poses together")]
    CyclicExtension,
    /// Restarts do not ascend or lie outside of the clip.
    #[error(
        "the flesh cannot begin anew in frame {restart}: restarts must ascend and lie between 1 and the last frame, {last}",
        last = frames.saturating_sub(1)
    )]
    Restarts {
        /// First invalid restart.
        restart: usize,
        /// Number of frames.
        frames: usize,
    },
    /// A cyclic clip cannot have restarts.
    #[error("a cyclic clip has no cuts: leave out the restarts, or make the clip non-cyclic")]
    CyclicRestart,
    /// Bodies of a scene have different restarts.
    #[error(
        "body {body} of the scene begins anew in other frames than the first: give all bodies the same restarts"
    )]
    SceneRestarts {
        /// Index of the first body that differs.
        body: usize,
    },
    /// A clip of a scene cannot be extended alone.
    #[error(
        "a clip that was simulated together with others cannot be extended alone: extend all clips of the scene together \
         (extend_scene)"
    )]
    SceneExtension,
    /// Bodies of a scene differ in a number that they must share.
    #[error(
        "body {body} of the scene has {given} {what}, but the first has {expected}: all bodies of a scene share them"
    )]
    SceneFrames {
        /// Index of the body.
        body: usize,
        /// Name of the number.
        what: &'static str,
        /// Value of this body.
        given: f64,
        /// Value of the first body.
        expected: f64,
    },
    /// Some bodies of a scene are cycles, others are not.
    #[error(
        "body {body} of the scene {}: all bodies of a scene repeat, or none does",
        if *.cyclic { "is a cycle, but the first is not" } else { "is not a cycle, but the first is" }
    )]
    SceneCycle {
        /// Index of the body.
        body: usize,
        /// Whether this body is a cycle.
        cyclic: bool,
    },
    /// The cycles of a scene do not repeat together.
    #[error(
        "body {body} of the scene does not end as the others do: in a loop all bodies end in their first poses, all \
         moved alike, or none does"
    )]
    SceneEnds {
        /// Index of the body.
        body: usize,
    },
    /// The number of clips or lists differs from the number of bodies of the scene.
    #[error(
        "the scene has {expected} bodies, but there are {given} {what}: give one for each body, in the order of the scene"
    )]
    SceneCount {
        /// Name of the items.
        what: &'static str,
        /// Number of items.
        given: usize,
        /// Number of bodies.
        expected: usize,
    },
    /// The clips do not belong to one scene, or are in another order.
    #[error(
        "clip {clip} is not that body's clip in the scene of clip 0, or has other frames: give all clips of one \
         scene, in its order"
    )]
    SceneOrder {
        /// Index of the clip.
        clip: usize,
    },
    /// An error of one body of a scene.
    #[error("body {body} of the scene: {source}")]
    InScene {
        /// Index of the body.
        body: usize,
        /// Cause.
        source: Box<ClipError>,
    },
    /// The body does not carry the surface.
    #[error(transparent)]
    Present(PresentError),
    /// The embedding does not fit.
    #[error(transparent)]
    Kernel(#[from] KernelError),
}

impl From<ContactError> for ClipError {
    fn from(error: ContactError) -> Self {
        match error {
            ContactError::Cancelled(stop) => stop.into(),
            error => Self::Contact(error),
        }
    }
}

impl From<PresentError> for ClipError {
    fn from(error: PresentError) -> Self {
        match error {
            PresentError::Cancelled(stop) => stop.into(),
            PresentError::Kernel(error) => error.into(),
            error => Self::Present(error),
        }
    }
}

impl ClipError {
    /// Adds the frame to an error, except to a cancellation.
    pub(super) fn at_frame(frame: usize, source: SimulationError) -> Self {
        match source {
            SimulationError::Cancelled(stop) => stop.into(),
            source => Self::Frame { frame, source },
        }
    }
}
