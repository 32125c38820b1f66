// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can go wrong with clips.

use crate::contact::ContactError;
use crate::dynamics::SimulationError;
use crate::exclusive::InUse;
use crate::kernel::KernelError;
use crate::present::PresentError;
use crate::progress::Cancelled;
use crate::skeleton::SkeletonError;

/// Why a clip could not be simulated or read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ClipError {
    /// The caller stopped.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The clip is being extended by the work that asks for more.
    #[error("the clip cannot be extended: {0}")]
    InUse(#[from] InUse),
    /// What is asked of contact cannot be had.
    #[error(transparent)]
    Contact(ContactError),
    /// A setting or a pose is wrong.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// The motion failed at a frame.
    #[error("frame {frame}: {source}")]
    Frame {
        /// The frame, from 0.
        frame: usize,
        /// What went wrong.
        source: SimulationError,
    },
    /// A pose that does not fit the skeleton.
    #[error("pose {frame}: {source}")]
    Pose {
        /// The frame, from 0.
        frame: usize,
        /// What is wrong.
        source: SkeletonError,
    },
    /// Forces at a frame cannot be had.
    #[error("forces at frame {frame}: {sentence}")]
    Forces {
        /// The frame, from 0.
        frame: usize,
        /// What is wrong.
        sentence: String,
    },
    /// Nothing to simulate.
    #[error("there are no poses: a clip needs at least one frame")]
    NoPoses,
    /// An impossible frame rate.
    #[error("frames per second must lie between 0.1 and 10000, not {0}")]
    Fps(f64),
    /// A run-in without end.
    #[error("the run-in may last 100000 frames at most, not {0}")]
    Preroll(usize),
    /// A cycle that is to go on.
    #[error("a cyclic clip repeats and cannot be extended: simulate all its poses together")]
    CyclicExtension,
    /// Frames that do not part a clip.
    #[error(
        "the flesh cannot begin anew in frame {restart}: restarts ascend and lie between 1 and the last frame, {last}",
        last = frames.saturating_sub(1)
    )]
    Restarts {
        /// The first frame that does not.
        restart: usize,
        /// How many frames there are.
        frames: usize,
    },
    /// A cycle that is to begin anew.
    #[error("a cyclic clip has no cuts: give no restarts, or let it not be cyclic")]
    CyclicRestart,
    /// Bodies of a scene that begin anew in different frames.
    #[error(
        "body {body} of the scene begins anew in other frames than the first: give all the same restarts"
    )]
    SceneRestarts {
        /// Which.
        body: usize,
    },
    /// A clip of a scene that is to go on by itself.
    #[error(
        "a clip that was simulated together with others cannot be extended alone: extend all clips of the scene together \
         (extend_scene)"
    )]
    SceneExtension,
    /// Bodies of a scene whose frames do not go together.
    #[error(
        "body {body} of the scene has {given} {what}, the first {expected}: all bodies of a scene share them"
    )]
    SceneFrames {
        /// Which.
        body: usize,
        /// Of what.
        what: &'static str,
        /// What it has.
        given: f64,
        /// What the first body has.
        expected: f64,
    },
    /// A scene of which some bodies are cycles.
    #[error(
        "body {body} of the scene {}: all bodies of a scene repeat, or none does",
        if *.cyclic { "is a cycle, but the first is not" } else { "is no cycle, but the first is" }
    )]
    SceneCycle {
        /// Which.
        body: usize,
        /// Whether it is one.
        cyclic: bool,
    },
    /// Cycles that do not repeat together.
    #[error(
        "body {body} of the scene does not end as the others do: in a loop all bodies end in their first poses, all \
         moved alike, or none does"
    )]
    SceneEnds {
        /// Which.
        body: usize,
    },
    /// More or fewer than a scene has bodies.
    #[error(
        "the scene has {expected} bodies, but there are {given} {what}: give one of each body, in the order of the scene"
    )]
    SceneCount {
        /// Of what.
        what: &'static str,
        /// So many.
        given: usize,
        /// Bodies.
        expected: usize,
    },
    /// Clips that were not made together, or lie in another order.
    #[error(
        "clip {clip} is not the one of that body of the scene of clip 0, or has other frames: give all clips of one scene, in \
         its order"
    )]
    SceneOrder {
        /// Which.
        clip: usize,
    },
    /// What is wrong with one body of a scene.
    #[error("body {body} of the scene: {source}")]
    InScene {
        /// Which.
        body: usize,
        /// What.
        source: Box<ClipError>,
    },
    /// A surface that the body does not carry.
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
    /// What went wrong at a frame; a stop by the caller is the frame's fault no more than any other's.
    pub(super) fn at(frame: usize, source: SimulationError) -> Self {
        match source {
            SimulationError::Cancelled(stop) => stop.into(),
            source => Self::Frame { frame, source },
        }
    }
}
