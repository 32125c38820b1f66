// SPDX-License-Identifier: MIT OR Apache-2.0
//! Balances of flesh with contact, by dynamic relaxation. [docs/methods/contact.md]
//!
//! Solved at once, a fold inverts cells and loses flesh; and if contact forces are dropped for one solve, flesh falls
//! through itself. The body is therefore walked from its rest pose to the requested one, a few degrees at a time, by steps that
//! each start from rest, without damping and friction. At the pose, motion runs freely and is stopped whenever its energy begins
//! to fall, until nothing moves. The result depends on the pose and the forces alone. Flesh that would not touch stays in its plain
//! balance, bit for bit.

use super::body_step::{FrameDrive, StepInterval};
use super::forces::NodalForces;
use super::lockstep;
use super::simulation::PoseHistory;
use super::touching::{ContactSystem, Failure};
use super::{Simulation, SimulationError};
use crate::Vec3;
use crate::contact::BOX_MARGIN;
use crate::progress::{Progress, report_progress};
use crate::skeleton::{FrameMotion, Pose, Skeleton, polar};
use crate::solve::NodeMatrix;

/// Step of the relaxation, s: that of usual motion. With half the value an elbow at 120° still moves by 5 % of the size when
/// motion goes on, with twice one at 148° by 0.5 % instead of 0.06.
const RELAXATION_STEP: f64 = 1.0 / 240.0;
/// Turn of a joint in one step, rad, and the maximum number of steps from the rest pose. Half and twice of both values leave elbows at 120° and
/// 136° the same to 0.12 % of the size; with twice the turn one at 148° came to rest with 171 vertices in other flesh instead of 66.
const MAX_TURN_PER_STEP: f64 = 0.04;
const MAX_BENDING_STEPS: usize = 64;
/// Change in a step, relative to the body's size, below which flesh is at rest, and the maximum number of steps until then. Half and
/// twice of both values leave elbows the same to 0.04 % of the size.
const REST_TOLERANCE: f64 = 2e-7;
const MAX_RELAXATION_STEPS: usize = 300;

/// Bodies that come to rest together, often just one.
struct Relaxation<'a, 'b> {
    bodies: &'a mut [&'b mut Simulation],
    touching: &'a mut ContactSystem,
    forces: &'a [NodalForces<'a>],
    progress: &'a dyn Progress,
}

impl Simulation {
    /// Moves flesh from its balance without contact at the current pose to rest with contact. On an error positions are lost.
    pub(super) fn settle_touching(
        &mut self,
        forces: NodalForces,
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        let Some(mut touching) = self.touching.take() else {
            return Ok(());
        };
        // Crease methods act in steps only.
        let settled = match touching.creases() {
            Some(_) => Ok(()),
            None => without_friction(&mut touching, |touching| {
                let mut relaxation = Relaxation {
                    bodies: &mut [self],
                    touching,
                    forces: &[forces],
                    progress,
                };
                relaxation.settle_alone()
            }),
        };
        self.touching = Some(touching);
        settled.map_err(|(_, error)| error)
    }
}

/// Moves bodies, each at rest by itself, to rest together. An error names the body, and positions are then lost.
pub(super) fn settle_together(
    bodies: &mut [&mut Simulation],
    touching: &mut ContactSystem,
    forces: &[NodalForces],
    progress: &dyn Progress,
) -> Result<(), Failure> {
    without_friction(touching, |touching| {
        let mut relaxation = Relaxation {
            bodies,
            touching,
            forces,
            progress,
        };
        let poses = relaxation.poses()?;
        let stand = relaxation.motions(&poses, &poses)?;
        match relaxation.would_touch(&stand, true)? {
            true => relaxation.relax_to_rest(&poses, &stand, 0),
            false => relaxation.update_shapes(),
        }
    })
}

/// Runs `work` without friction, hence without contact history.
fn without_friction<T>(
    touching: &mut ContactSystem,
    work: impl FnOnce(&mut ContactSystem) -> T,
) -> T {
    touching.clear();
    touching.set_friction(false);
    let done = work(touching);
    touching.set_friction(true);
    done
}

impl Relaxation<'_, '_> {
    fn poses(&self) -> Result<Vec<Pose>, Failure> {
        let histories = self.bodies.iter().map(|b| b.history.as_ref());
        let poses = histories.map(|h| h.map(|h| h.pose.clone()));
        let poses: Option<_> = poses.collect();
        poses.ok_or((0, SimulationError::NotReset))
    }

    fn motions(&self, from: &[Pose], to: &[Pose]) -> Result<Vec<FrameMotion>, Failure> {
        let all = self.bodies.iter().zip(from.iter().zip(to)).enumerate();
        let motion = |(k, (body, (from, to))): (usize, (&&mut Simulation, (&Pose, &Pose)))| {
            let motion = FrameMotion::from_endpoints(body.body.skeleton(), from, to);
            motion.map_err(|error| (k, error.into()))
        };
        all.map(motion).collect()
    }

    fn zero_velocities(&mut self) {
        for body in &mut *self.bodies {
            body.nodes.velocities.fill(Vec3::zeros());
        }
    }

    fn update_shapes(&mut self) -> Result<(), Failure> {
        for (k, body) in self.bodies.iter_mut().enumerate() {
            body.update_shape().map_err(|error| (k, error))?;
        }
        Ok(())
    }

    fn node_positions(&self) -> Vec<Vec<Vec3>> {
        let places = self.bodies.iter().map(|b| b.nodes.positions.clone());
        places.collect()
    }

    /// Settles one body, from its rest pose if necessary.
    fn settle_alone(&mut self) -> Result<(), Failure> {
        let poses = self.poses()?;
        let stand = self.motions(&poses, &poses)?;
        let itself = self.would_touch(&stand, false)?;
        let colliders = self.would_touch(&stand, true)?;
        let steps = match (itself, colliders) {
            (true, _) => self.bend(&poses)?,
            (false, true) => 0,
            (false, false) => return self.update_shapes(),
        };
        self.relax_to_rest(&poses, &stand, steps)
    }

    /// Returns whether anything would touch at the bodies' positions.
    fn would_touch(&mut self, stand: &[FrameMotion], colliders: bool) -> Result<bool, Failure> {
        let free = self.node_positions();
        self.relax(stand, colliders)?;
        let touched = self.touching.was_displaced();
        for (body, free) in self.bodies.iter_mut().zip(&free) {
            body.nodes.positions.clone_from(free);
            body.nodes.velocities.fill(Vec3::zeros());
        }
        self.touching.clear();
        Ok(touched)
    }

    /// Returns whether all bodies are near enough to `places` for the contact pairs found there to be complete: each has moved by at most half
    /// the margin of the search boxes, so two bodies together by at most all of it.
    fn are_near(&self, places: &[Vec<Vec3>]) -> bool {
        let mut all = self.bodies.iter().zip(places).enumerate();
        all.all(|(k, (body, places))| {
            let (skin, _) = self.touching.body_contact(k);
            body.max_distance_from(places) <= 0.5 * BOX_MARGIN * skin.cell_size()
        })
    }

    /// Lets motion run until nothing moves; `begun`: number of steps taken before.
    fn relax_to_rest(
        &mut self,
        poses: &[Pose],
        stand: &[FrameMotion],
        begun: usize,
    ) -> Result<(), Failure> {
        let all = (begun + MAX_RELAXATION_STEPS) as f64;
        self.zero_velocities();
        let mut energy = 0.0;
        let mut searched: Option<Vec<Vec<Vec3>>> = None;
        for i in begun..begun + MAX_RELAXATION_STEPS {
            self.report(i as f64 / all)?;
            let before = self.node_positions();
            if searched.as_ref().is_none_or(|at| !self.are_near(at)) {
                self.search(stand, true)?;
                searched = Some(before.clone());
            }
            self.step(stand)?;
            if self.bodies.iter().zip(&before).all(|(b, p)| b.is_still(p)) {
                break;
            }
            let now: f64 = self.bodies.iter().map(|b| b.motion_energy()).sum();
            energy = if now < energy {
                self.zero_velocities();
                0.0
            } else {
                now
            };
        }
        self.zero_velocities();
        for (body, pose) in self.bodies.iter_mut().zip(poses) {
            body.history = Some(resting_history(pose));
        }
        self.update_shapes()
    }

    /// Bends one body from its rest pose, without colliders, and returns the number of steps taken.
    fn bend(&mut self, poses: &[Pose]) -> Result<usize, Failure> {
        let (pose, body) = (&poses[0], &mut *self.bodies[0]);
        let of = body.body.clone();
        let skeleton = of.skeleton();
        let rest = Pose::rest(skeleton.len());
        let whole =
            FrameMotion::from_endpoints(skeleton, &rest, pose).map_err(first_body_failure)?;
        body.now
            .set(&of, body.settings.method, &rest)
            .map_err(first_body_failure)?;
        let places = of.rest_shape();
        body.nodes.positions.copy_from_slice(places);
        body.history = Some(resting_history(&rest));
        let steps = (largest_turn(skeleton, pose) / MAX_TURN_PER_STEP).ceil() as usize;
        let steps = steps.clamp(1, MAX_BENDING_STEPS);
        let all = (steps + MAX_RELAXATION_STEPS) as f64;
        let mut from = rest;
        for i in 1..=steps {
            self.report(i as f64 / all)?;
            let to = whole.pose_at(i as f64 / steps as f64);
            self.zero_velocities();
            let motion =
                FrameMotion::from_endpoints(skeleton, &from, &to).map_err(first_body_failure)?;
            self.relax(&[motion], false)?;
            from = to;
        }
        Ok(steps)
    }

    fn report(&self, done: f64) -> Result<(), Failure> {
        report_progress(self.progress, done, "settling what touches").map_err(first_body_failure)
    }

    /// Takes one step along motions that start in the current poses.
    fn relax(&mut self, motions: &[FrameMotion], colliders: bool) -> Result<(), Failure> {
        self.search(motions, colliders)?;
        self.step(motions)
    }

    /// Searches for contact pairs along motions.
    fn search(&mut self, motions: &[FrameMotion], colliders: bool) -> Result<(), Failure> {
        self.update_shapes()?;
        let span = self.touching.resting_span();
        let span = colliders.then_some(&span);
        let drives = frame_drives(self.forces, motions);
        lockstep::begin(self.bodies, self.touching, &drives, span, None).map_err(first_body_failure)
    }

    fn step(&mut self, motions: &[FrameMotion]) -> Result<(), Failure> {
        let drives = frame_drives(self.forces, motions);
        let part = StepInterval {
            end: 1.0,
            part: 1.0,
            duration: RELAXATION_STEP,
            damped: false,
        };
        let touching = Some(&mut *self.touching);
        lockstep::step_once(self.bodies, touching, &drives, &part, self.progress)
    }
}

fn frame_drives<'a>(forces: &[NodalForces<'a>], motions: &'a [FrameMotion]) -> Vec<FrameDrive<'a>> {
    let all = motions.iter().zip(forces);
    let drive = |(motion, forces): (&'a FrameMotion, &NodalForces<'a>)| FrameDrive {
        motion,
        forces: forces.0,
        rest_forces: forces.1,
    };
    all.map(drive).collect()
}

impl Simulation {
    /// Returns whether the largest movement from these places is below [`REST_TOLERANCE`] sizes of the body.
    fn is_still(&self, before: &[Vec3]) -> bool {
        self.max_distance_from(before) <= REST_TOLERANCE * self.body.size()
    }

    /// Returns the largest distance of the vertices from these places, metres.
    fn max_distance_from(&self, before: &[Vec3]) -> f64 {
        let moved = before.iter().zip(&self.nodes.positions);
        moved.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
    }

    /// Returns twice the kinetic energy, J.
    fn motion_energy(&self) -> f64 {
        let body = &self.body;
        let now = self.nodes.velocities.iter().enumerate();
        if body.basis().levels() == 0 {
            let energy = |(v, u): (usize, &Vec3)| body.carried_mass(v) * u.norm_squared();
            return now.map(energy).sum();
        }
        let (mass, all) = (body.mass_matrix(), &self.nodes.velocities);
        now.map(|(v, u)| u.dot(&mass.row_times(v, all))).sum()
    }
}

/// Attributes an error to the first body.
fn first_body_failure(error: impl Into<SimulationError>) -> Failure {
    (0, error.into())
}

fn resting_history(pose: &Pose) -> PoseHistory {
    PoseHistory {
        before: pose.clone(),
        pose: pose.clone(),
        duration: 0.0,
    }
}

/// Returns the largest angle by which a pose turns a bone relative to its parent, rad.
fn largest_turn(skeleton: &Skeleton, pose: &Pose) -> f64 {
    let turns: Vec<_> = pose.maps().iter().map(|m| polar(&m.linear).0).collect();
    let joints = skeleton.parents().iter().enumerate();
    let angle = |(b, parent): (usize, &Option<u32>)| {
        parent.map_or(0.0, |p| turns[p as usize].angle_to(&turns[b]))
    };
    joints.map(angle).fold(0.0, f64::max)
}
