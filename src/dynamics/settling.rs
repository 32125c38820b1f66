// SPDX-License-Identifier: MIT OR Apache-2.0
//! Balances of flesh that touches, by dynamic relaxation. [contact.md]
//!
//! Solved at once, a fold turns cells over and loses flesh; and where forces of contact are let go of for one solve, flesh falls
//! through itself. So the body is walked from its rest pose to the one that is asked for, a few degrees at a time, by steps that
//! each start from rest, without damping and friction. At the pose motion is let run, and stopped whenever its energy begins to fall,
//! until nothing moves. Where the flesh is then depends on the pose and on the forces alone. Flesh that would not touch is
//! left in its plain balance, bit for bit.

use super::forces::Load;
use super::simulation::PoseHistory;
use super::stepper::Step;
use super::touching::Shown;
use super::{Simulation, SimulationError};
use crate::Vec3;
use crate::contact::Span;
use crate::progress::{Progress, step};
use crate::skeleton::{FrameMotion, Pose, Skeleton, polar};
use crate::solve::NodeMatrix;

/// Seconds that a step of the relaxation lasts.
const LASTING: f64 = 1.0 / 240.0;
/// Radians that a joint turns by in one, and how many steps there are from the rest pose at most.
const TURN: f64 = 0.04;
const ON_THE_WAY: usize = 64;
/// The change in a step, in sizes of the body, at which flesh stands still; and how many steps there are until then at most.
const STILL: f64 = 2e-7;
const AT_LAST: usize = 300;

impl Simulation {
    /// Flesh that is in balance at the present pose as if it passed through itself comes to rest where it does not. On an error
    /// positions are lost.
    pub(super) fn settle_touching(
        &mut self,
        forces: (Option<&[Vec3]>, Option<&[Vec3]>),
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        let (Some(touching), Some(history)) = (&mut self.touching, &self.history) else {
            return Ok(());
        };
        // Creases are held in steps alone.
        if touching.creases().is_some() {
            return Ok(());
        }
        touching.restore(Vec::new(), Vec::new());
        touching.set_friction(false);
        let pose = history.pose.clone();
        let settled = self.walk(&pose, forces, progress);
        if let Some(touching) = &mut self.touching {
            touching.set_friction(true);
        }
        self.nodes.velocities.fill(Vec3::zeros());
        settled
    }

    fn walk(
        &mut self,
        pose: &Pose,
        forces: (Option<&[Vec3]>, Option<&[Vec3]>),
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        let body = self.body.clone();
        let (skeleton, free) = (body.skeleton(), self.nodes.positions.clone());
        let stand = FrameMotion::between(skeleton, pose, pose)?;
        // Whether it would touch itself, and if not, colliders.
        let mut touched = [false; 2];
        for (touched, colliders) in touched.iter_mut().zip([false, true]) {
            self.relax(&stand, colliders, forces, progress)?;
            *touched = self.touching.as_ref().is_some_and(|t| t.has_touched());
            self.nodes.positions.clone_from(&free);
            if let Some(touching) = &mut self.touching {
                touching.restore(Vec::new(), Vec::new());
            }
        }
        let mut steps = 0;
        if touched[0] {
            steps = self.bend(pose, forces, progress)?;
        } else if !touched[1] {
            return self.take_shape();
        }
        let all = (steps + AT_LAST) as f64;
        self.nodes.velocities.fill(Vec3::zeros());
        let (still, mut energy) = (STILL * body.size(), 0.0);
        for i in steps..steps + AT_LAST {
            step(progress, i as f64 / all, "settling what touches")?;
            let before = self.nodes.positions.clone();
            self.relax(&stand, true, forces, progress)?;
            let moved = before.iter().zip(&self.nodes.positions);
            if moved.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max) <= still {
                break;
            }
            let now = self.nodes.velocities.iter().enumerate();
            let now = now.map(|(v, u)| body.mass_matrix().row_sum(v) * u.norm_squared());
            let now: f64 = now.sum();
            energy = if now < energy {
                self.nodes.velocities.fill(Vec3::zeros());
                0.0
            } else {
                now
            };
        }
        self.history = Some(at_rest(pose));
        self.take_shape()
    }

    /// Bends the body from its rest pose, past no collider; gives the number of steps that this took.
    fn bend(
        &mut self,
        pose: &Pose,
        forces: (Option<&[Vec3]>, Option<&[Vec3]>),
        progress: &dyn Progress,
    ) -> Result<usize, SimulationError> {
        let body = self.body.clone();
        let skeleton = body.skeleton();
        let rest = Pose::rest(skeleton.len());
        let motion = FrameMotion::between(skeleton, &rest, pose)?;
        self.now.set(&body, self.method, &rest)?;
        self.nodes
            .positions
            .copy_from_slice(body.lattice().vertices());
        self.history = Some(at_rest(&rest));
        let steps = (largest_turn(skeleton, pose) / TURN).ceil() as usize;
        let steps = steps.clamp(1, ON_THE_WAY);
        let all = (steps + AT_LAST) as f64;
        let mut from = rest;
        for i in 1..=steps {
            step(progress, i as f64 / all, "settling what touches")?;
            let to = motion.at(i as f64 / steps as f64);
            self.nodes.velocities.fill(Vec3::zeros());
            let motion = FrameMotion::between(skeleton, &from, &to)?;
            self.relax(&motion, false, forces, progress)?;
            from = to;
        }
        Ok(steps)
    }

    /// One step along a motion that starts in the present pose.
    fn relax(
        &mut self,
        motion: &FrameMotion,
        colliders: bool,
        (forces, rest_forces): (Option<&[Vec3]>, Option<&[Vec3]>),
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        self.take_shape()?;
        let shown = self.shown();
        let history = self.history.as_mut().ok_or(SimulationError::NotReset)?;
        let (Some(touching), Some(stepper)) = (&mut self.touching, self.stepper.in_parts()) else {
            return Ok(());
        };
        let shape = &self.shape;
        let bent = |v: usize| shape.places[v] - shape.sway[v];
        let bent = shown.parted.then_some(&bent as &dyn Fn(usize) -> Vec3);
        let at = &self.now;
        let span = Span::between(0, 0);
        let span = colliders.then_some(&span);
        let positions = &self.nodes.positions;
        touching.begin((&self.body, shown), at, motion, positions, bent, span)?;
        self.next.set(&self.body, self.method, motion.to())?;
        let forces = self
            .external
            .turned(&self.next.turns, forces, rest_forces, 1.0);
        let step = Step {
            body: &self.body,
            duration: LASTING,
            mass_damping: 0.0,
            stiffness_damping: 0.0,
            motion,
            end: 1.0,
            part: 1.0,
            from: &self.now,
            to: &self.next,
            load: &Load::new(&self.body, self.settings.gravity, forces, &self.terms),
            progress,
        };
        let poses = (&history.pose, motion.to());
        touching.step(stepper, &step, shown, poses, &mut self.nodes)?;
        std::mem::swap(&mut self.now, &mut self.next);
        history.pose.clone_from(motion.to());
        Ok(())
    }

    /// How its flesh is shown.
    pub(super) fn shown(&self) -> Shown {
        Shown {
            method: self.method,
            parted: self.shape.is_parted(),
            joints: self.settings.elastic_joints,
        }
    }
}

fn at_rest(pose: &Pose) -> PoseHistory {
    PoseHistory {
        before: pose.clone(),
        pose: pose.clone(),
        duration: 0.0,
    }
}

/// The largest angle by which a pose turns a bone against its parent, radians.
fn largest_turn(skeleton: &Skeleton, pose: &Pose) -> f64 {
    let turns: Vec<_> = pose.maps().iter().map(|m| polar(&m.linear).0).collect();
    let joints = skeleton.parents().iter().enumerate();
    let angle = |(b, parent): (usize, &Option<u32>)| {
        parent.map_or(0.0, |p| turns[p as usize].angle_to(&turns[b]))
    };
    joints.map(angle).fold(0.0, f64::max)
}
