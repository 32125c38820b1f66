// SPDX-License-Identifier: MIT OR Apache-2.0
//! Inputs and state of one body in a frame and in a step of it.

use super::pins::PinSystem;
use super::touching::FleshDisplay;
use crate::Vec3;
use crate::dynamics::methods::stepper::{NodalState, Step, Stepper};
use crate::skeleton::{FrameMotion, Pose};

/// Motion and forces of one body in a frame.
#[derive(Clone, Copy)]
pub(super) struct FrameDrive<'a> {
    pub motion: &'a FrameMotion,
    /// Generalised forces on lattice vertices, N, in world axes, constant over the frame.
    pub forces: Option<&'a [Vec3]>,
    /// Generalised forces on lattice vertices, N, in rest axes, at the frame's end.
    pub rest_forces: Option<&'a [Vec3]>,
}

/// One body in one step.
pub(super) struct BodyStep<'a> {
    pub stepper: &'a mut dyn Stepper,
    pub nodes: &'a mut NodalState,
    pub step: Step<'a>,
    /// Pins, with their goals set for the step; `None`: no pins.
    pub pins: Option<&'a mut PinSystem>,
    /// Poses at the step's start and end.
    pub poses: (&'a Pose, &'a Pose),
    /// Display options of the flesh.
    pub shown: FleshDisplay,
}

/// Position of a step in its frame, and its duration.
#[derive(Clone, Copy)]
pub(super) struct StepInterval {
    /// End of the step, and its length, as shares of the frame.
    pub end: f64,
    pub part: f64,
    /// Duration, s.
    pub duration: f64,
    /// True: damping as in the settings; false: undamped.
    pub damped: bool,
}
