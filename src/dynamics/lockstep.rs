// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lockstep: one or more bodies advance through a frame together, step by step.

use super::adapting::ActiveForces;
use super::body_step::{BodyStep, FrameDrive, StepInterval};
use super::firmness::body_at_ease;
use super::forces::Load;
use super::simulation::PoseHistory;
use super::touching::{ContactSystem, Failure, FleshDisplay, FrameStart, PerBody};
use super::{Simulation, SimulationError};
use crate::Vec3;
use crate::contact::ColliderSpan;
use crate::dynamics::methods::stepper::Step;
use crate::progress::{PacedProgress, Progress, report_progress};
use crate::skeleton::{FrameMotion, Pose};

impl Simulation {
    /// Advances along a frame's bone motion over `dt` seconds, with `(forces, rest_forces)` as in
    /// [`advance`](Self::advance). The motion should start in the current pose.
    ///
    /// # Errors
    /// The errors of [`advance_with_progress`](Self::advance_with_progress).
    pub fn advance_motion(
        &mut self,
        motion: &FrameMotion,
        dt: f64,
        forces: (Option<&[Vec3]>, Option<&[Vec3]>),
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        let steps = self.check_frame(dt, forces)?;
        if steps == 0 {
            return Ok(());
        }
        self.activate_forced(forces.1)?;
        let progress = PacedProgress::new(progress);
        let drive = FrameDrive {
            motion,
            forces: forces.0,
            rest_forces: forces.1,
        };
        let mut touching = self.touching.take();
        if let Some(touching) = touching.as_mut().filter(|_| self.parting.is_some()) {
            touching.advance_span();
        }
        let in_steps = self.parting.is_none();
        let done = advance(
            &mut [self],
            touching.as_deref_mut().filter(|_| in_steps),
            &[drive],
            (dt, steps),
            &progress,
        );
        self.touching = touching;
        self.update_from_modes();
        if done.is_ok() {
            self.fade(dt);
        }
        let shaped = self.update_shape();
        done.map_err(|(_, error)| error).and(shaped)?;
        self.adapt_after(forces.1, dt).map(drop)
    }

    /// Borrows this simulation's state at the start of a frame of `dt` seconds; `None`: folds are those of the motion's end at once.
    fn frame_start<'a>(
        &'a mut self,
        motion: &'a FrameMotion,
        dt: Option<f64>,
    ) -> Result<FrameStart<'a>, SimulationError> {
        let (body, to) = (body_at_ease(&self.body, &self.firmness), motion.end_pose());
        let folds = match dt {
            Some(dt) => self.shape.follow_folds(body, to, dt)?,
            None => self.shape.folds_at(body, to)?.to_vec(),
        };
        let from = self.history.as_ref().map_or(to, |history| &history.pose);
        let lifts = [
            self.shape.lifts_at(body, from)?.clone(),
            self.shape.lifts_at(body, to)?.clone(),
        ];
        Ok(FrameStart {
            shown: FleshDisplay {
                method: self.settings.method,
                separate_sway: self.shape.has_sway(),
                joints: self.settings.elastic_joints,
            },
            lifts,
            skinned: &self.now,
            positions: &self.nodes.positions,
            shape: &self.shape,
            motion,
            folds,
        })
    }

    /// Prepares the motion of the joints' own shape in a frame, for methods that add it to the sway.
    fn begin_bending(&mut self, motion: &FrameMotion) -> Result<(), SimulationError> {
        self.bend(motion, |history| &history.pose)
    }

    /// Takes the motion of the joints' own shape up within a frame, on other functions.
    pub(super) fn resume_bending(&mut self, motion: &FrameMotion) -> Result<(), SimulationError> {
        self.bend(motion, |history| &history.before)
    }

    /// Begins the motion of the joints' own shape at the pose that `start` takes from the history.
    fn bend(
        &mut self,
        motion: &FrameMotion,
        start: impl Fn(&PoseHistory) -> &Pose,
    ) -> Result<(), SimulationError> {
        let adds = self.settings.method.adds_joint_shape();
        let body = body_at_ease(&self.body, &self.firmness);
        match (self.history.as_ref().filter(|_| adds), self.shape.bends()) {
            (Some(history), Some(bends)) => {
                let ends = (start(history), motion.end_pose());
                self.bending.begin(bends, body, ends)
            }
            _ => Ok(()),
        }
    }

    /// Returns the display options of its flesh.
    fn flesh_display(&self) -> FleshDisplay {
        FleshDisplay {
            method: self.settings.method,
            separate_sway: self.shape.has_sway(),
            joints: self.settings.elastic_joints,
        }
    }

    /// Borrows this simulation for a step that ends at [`next`](Self::next).
    fn body_step<'a>(
        &'a mut self,
        drive: &FrameDrive<'a>,
        part: &StepInterval,
        progress: &'a dyn Progress,
    ) -> Result<BodyStep<'a>, SimulationError> {
        let shown = self.flesh_display();
        let history = self.history.as_ref().ok_or(SimulationError::NotReset)?;
        let (world, rest) = (drive.forces, drive.rest_forces);
        let gravity = self.gravity_at(part.end);
        let forces = self
            .external
            .world_forces(&self.next, world, rest, part.end);
        let frames = (&self.now, &self.next);
        let forces = match &mut self.driving {
            Some(driving) => {
                let at = (part.end, part.duration, self.stepper.is_relative());
                driving.step_forces(&self.body, &self.nodes, frames, at, forces)
            }
            None => forces,
        };
        let at = (part.end, part.part);
        let bending = self.bending.accelerate(frames, at, part.duration);
        let mut pins = self.pins.any().then_some(&mut self.pins);
        if let Some(pins) = &mut pins {
            pins.set_goals(&self.next, part.end);
        }
        Ok(BodyStep {
            pins,
            stepper: &mut *self.stepper,
            nodes: &mut self.nodes,
            poses: (&history.pose, &self.moving),
            shown,
            step: Step {
                body: &self.body,
                duration: part.duration,
                mass_damping: if part.damped {
                    self.settings.damping().0
                } else {
                    0.0
                },
                stiffness_damping: if part.damped {
                    self.settings.damping().1
                } else {
                    0.0
                },
                motion: drive.motion,
                end: part.end,
                part: part.part,
                from: &self.now,
                to: &self.next,
                bending,
                load: Load {
                    gravity,
                    ..Load::new(&self.body, self.settings.gravity, forces, &self.terms)
                },
                progress,
            },
        })
    }
}

/// Prepares contact for a frame of `dt` seconds in which colliders move through a span of their motions. `span` `None`: no colliders.
/// `dt` `None`: folds are those of the motions' ends at once.
pub(super) fn begin(
    bodies: &mut [&mut Simulation],
    touching: &mut ContactSystem,
    drives: &[FrameDrive],
    span: Option<&ColliderSpan>,
    dt: Option<f64>,
) -> Result<(), SimulationError> {
    let begun = bodies.iter_mut().zip(drives);
    let begun = begun.map(|(b, d)| b.frame_start(d.motion, dt));
    let begun: Vec<FrameStart> = begun.collect::<Result<_, _>>()?;
    touching.begin(&begun, span)
}

/// Takes one step of all bodies, which are then at its end. An error names the body.
pub(super) fn step_once(
    bodies: &mut [&mut Simulation],
    touching: Option<&mut ContactSystem>,
    drives: &[FrameDrive],
    part: &StepInterval,
    progress: &dyn Progress,
) -> Result<(), Failure> {
    for (k, (body, drive)) in bodies.iter_mut().zip(drives).enumerate() {
        drive.motion.write(part.end, &mut body.moving);
        // The twist's targets are those of the stiffness at the end of the step.
        let tensed = body.tense(part.end);
        let next = tensed.and_then(|()| {
            let method = body.settings.method;
            body.next.set(&body.body, method, &body.moving)
        });
        next.map_err(|error| (k, error))?;
    }
    match (touching, &mut *bodies) {
        (Some(touching), [body]) => {
            let body = body.body_step(&drives[0], part, progress);
            let mut body = body.map_err(|error| (0, error))?;
            touching.step(std::slice::from_mut(&mut body))?;
        }
        (Some(touching), bodies) => {
            let mut all = Vec::with_capacity(bodies.len());
            for (k, (body, drive)) in bodies.iter_mut().zip(drives).enumerate() {
                all.push(
                    body.body_step(drive, part, progress)
                        .map_err(|error| (k, error))?,
                );
            }
            touching.step(&mut all)?;
        }
        (None, bodies) => {
            for (k, (body, drive)) in bodies.iter_mut().zip(drives).enumerate() {
                let stepped = body.body_step(drive, part, progress);
                let stepped = stepped.and_then(|mut body| body.take());
                stepped.map_err(|error| (k, error))?;
            }
        }
    }
    for body in bodies {
        body.bending.advance();
        std::mem::swap(&mut body.now, &mut body.next);
        if let Some(history) = &mut body.history {
            std::mem::swap(&mut history.pose, &mut body.moving);
        }
    }
    Ok(())
}

/// Advances bodies through a frame of `dt` seconds in `steps` equal steps. An error names the body. After a cancellation all bodies
/// are at the end of a step. After an error of one of several bodies, the others may be a step ahead of it.
pub(super) fn advance(
    bodies: &mut [&mut Simulation],
    mut touching: Option<&mut ContactSystem>,
    drives: &[FrameDrive],
    (dt, steps): (f64, usize),
    progress: &dyn Progress,
) -> Result<(), Failure> {
    let part = 1.0 / steps as f64;
    let duration = dt / steps as f64;
    for (k, (body, drive)) in bodies.iter_mut().zip(drives).enumerate() {
        body.unconverged_before = body.unconverged_steps();
        let begun = body.stepper.begin(&body.body, drive.motion, part, duration);
        let begun = begun.and_then(|()| body.begin_bending(drive.motion));
        let begun = begun.and_then(|()| body.begin_pins(drive.motion, dt));
        begun.map_err(|error| (k, error))?;
    }
    let done = advance_steps(bodies, &mut touching, drives, (dt, steps), progress);
    bodies.iter_mut().for_each(|body| body.bending.end());
    done
}

/// Returns the forces on the active functions of each body.
fn active_forces(bodies: &[&mut Simulation], drives: &[FrameDrive]) -> PerBody<ActiveForces> {
    let all = bodies.iter().zip(drives);
    all.map(|(body, drive)| ActiveForces::of_drive(body.adapting.as_deref(), drive))
        .collect()
}

/// Returns the motion of each body with these forces.
fn active_drives<'a>(
    drives: &[FrameDrive<'a>],
    forces: &'a PerBody<ActiveForces>,
) -> PerBody<FrameDrive<'a>> {
    let all = drives.iter().zip(forces);
    all.map(|(drive, active)| active.replace(drive)).collect()
}

/// Takes the steps of a frame, as [`advance`] does.
fn advance_steps(
    bodies: &mut [&mut Simulation],
    touching: &mut Option<&mut ContactSystem>,
    drives: &[FrameDrive],
    (dt, steps): (f64, usize),
    progress: &dyn Progress,
) -> Result<(), Failure> {
    if let Some(touching) = touching {
        let span = touching.advance_span();
        if let Err(error) = begin(bodies, touching, drives, Some(&span), Some(dt)) {
            bodies
                .iter_mut()
                .for_each(|b| b.shape.scale_back_folds(0.0));
            return Err((0, error));
        }
    }
    let (mut taken, mut done) = (0, Ok(()));
    while taken < steps && done.is_ok() {
        let forces = active_forces(bodies, drives);
        let own = active_drives(drives, &forces);
        let count = (steps, &mut taken);
        done = take_steps(bodies, touching, &own, (dt, count), progress);
    }
    let forces = active_forces(bodies, drives);
    let own = active_drives(drives, &forces);
    for (body, drive) in bodies.iter_mut().zip(&own) {
        if done.is_ok() {
            body.external.set(drive.rest_forces);
            body.end_stiffness(1.0);
            body.end_pins(1.0, dt);
        } else {
            let gone = taken as f64 * (1.0 / steps as f64);
            body.external.advance_towards(drive.rest_forces, gone);
            body.end_stiffness(gone);
            body.end_pins(gone, dt);
            body.shape.scale_back_folds(gone);
        }
    }
    done
}

/// Takes steps of a frame until its end, or until functions of a body have become active. Counts the steps taken.
fn take_steps(
    bodies: &mut [&mut Simulation],
    touching: &mut Option<&mut ContactSystem>,
    drives: &[FrameDrive],
    (dt, (steps, taken)): (f64, (usize, &mut usize)),
    progress: &dyn Progress,
) -> Result<(), Failure> {
    let part = 1.0 / steps as f64;
    let duration = dt / steps as f64;
    while *taken < steps {
        let end = (*taken + 1) as f64 / steps as f64;
        let at = StepInterval {
            end,
            part,
            duration,
            damped: true,
        };
        report_progress(progress, end - part, "advancing").map_err(|stop| (0, stop.into()))?;
        step_once(bodies, touching.as_deref_mut(), drives, &at, progress)?;
        *taken += 1;
        if *taken == 1 {
            for (body, drive) in bodies.iter_mut().zip(drives) {
                if let Some(history) = &mut body.history {
                    drive.motion.write(0.0, &mut history.before);
                    history.duration = dt;
                }
            }
        }
        if touching.is_some() || *taken == steps {
            continue;
        }
        let mut changed = false;
        for (k, (body, drive)) in bodies.iter_mut().zip(drives).enumerate() {
            let refined = body.refine_within(drive.motion);
            changed |= refined.map_err(|error| (k, error))?;
        }
        if changed {
            break;
        }
    }
    Ok(())
}
