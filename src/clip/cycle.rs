// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steady state of a cycle. Passes are simulated until they repeat, up to the rigid motion of a pass ([`Period`]). Bodies of a scene repeat together.

use super::bodies::{Bodies, ClipDrive};
use super::forces::DriveAtFrame;
use super::frame::FrameShape;
use super::period::{Period, lattice_diagonal};
use super::pins::{check_tracks, pins_at};
use super::resumable::counts;
use super::{ClipError, ClipFrame, ClipSettings, ForceSchedule, FrameContacts};
use crate::Vec3;
use crate::body::Body;
use crate::contact::ColliderSpan;
use crate::dynamics::{Pin, Simulation};
use crate::progress::{Progress, report_progress};
use crate::skeleton::{FrameMotion, Pose};
use nalgebra::Isometry3;
use std::sync::Arc;

/// Largest displacement of a lattice vertex between passes, in sizes of its body, at which the state repeats.
const REPEAT_TOLERANCE: f64 = 1e-4;
/// Seconds of motion after which no further pass begins.
const MAX_CYCLE_SECONDS: f64 = 15.0;

/// Simulates passes until they repeat. Returns for each body the frames of one pass and the largest distance of a lattice vertex between its end and
/// its beginning, metres.
pub(super) fn simulate(
    mut bodies: Bodies,
    drives: &[ClipDrive],
    settings: &ClipSettings,
    progress: &dyn Progress,
) -> Result<Vec<(Vec<ClipFrame>, f64)>, ClipError> {
    let motion = CyclicMotion::new(&bodies, drives)?;
    let (period, n) = (&motion.period, motion.period.frames);
    let min_passes = settings.preroll.div_ceil(n) + 1;
    let max_passes = min_passes
        .max((MAX_CYCLE_SECONDS * settings.fps / n as f64).ceil() as usize)
        .max(3);
    let dt = 1.0 / settings.fps;
    let constant_progress = |_: f64, _: &str| progress.report(0.0, "starting the motion");
    bodies.set_pins(&motion.pins(0))?;
    bodies.reset(
        &motion.poses(0),
        &motion.forces(&bodies, 0)?,
        &constant_progress,
    )?;
    bodies.match_bone_velocities(&motion.motions(&bodies, 0)?, dt)?;
    let mut passes = vec![CyclePass::default(); drives.len()];
    for pass in 0..max_passes {
        let moved = period.pass_motion(pass as isize);
        let home = moved.inverse();
        for (pass, body) in passes.iter_mut().zip(bodies.simulations()) {
            pass.begin(body, &home);
        }
        for i in 0..n {
            let done = (pass as f64 + i as f64 / n as f64) / max_passes as f64;
            let stage = format!("closing the loop, round {}, frame {i}", pass + 1);
            report_progress(progress, done, &stage)?;
            let all = bodies.simulations().iter().zip(bodies.contacts());
            for ((pass, (body, contacts)), pose) in
                passes.iter_mut().zip(all).zip(motion.poses(i as isize))
            {
                pass.append_frame(body, &contacts, &pose, &home);
            }
            let span = ColliderSpan {
                from: i,
                to: period.collider_entry(i + 1),
                moved,
            };
            let motions = motion.motions(&bodies, (pass * n + i) as isize)?;
            let forces = motion.forces(&bodies, (i + 1) % n)?;
            bodies.move_pins(&motion.pins(pass * n + i + 1))?;
            let constant_progress = |_: f64, _: &str| progress.report(done, &stage);
            bodies
                .advance(&motions, (dt, span), &forces, &constant_progress)
                .map_err(|source| ClipError::at_frame(i, source))?;
        }
        let back = period.pass_motion(1).inverse();
        let mut repeats = true;
        for (pass, body) in passes.iter_mut().zip(bodies.simulations()) {
            repeats &=
                pass.measure_gap(body, &back) <= REPEAT_TOLERANCE * lattice_diagonal(body.body());
        }
        if pass + 1 >= min_passes && repeats {
            break;
        }
    }
    if period.closes {
        let last = period.pass_motion(1);
        let poses = motion.poses(n as isize);
        for ((pass, body), pose) in passes.iter_mut().zip(bodies.simulations()).zip(poses) {
            pass.close(body, pose, &last);
        }
    }
    report_progress(progress, 1.0, "simulated")?;
    Ok(passes.into_iter().map(|p| (p.frames, p.gap)).collect())
}

/// Poses and forces that drive bodies through pass after pass.
struct CyclicMotion<'a> {
    drives: &'a [ClipDrive<'a>],
    period: Period,
    schedules: Vec<ForceSchedule<'a>>,
}

impl<'a> CyclicMotion<'a> {
    fn new(bodies: &Bodies, drives: &'a [ClipDrive]) -> Result<Self, ClipError> {
        let all = || bodies.simulations().iter().zip(drives);
        let schedule = |(body, (_, forces, _)): (&Simulation, &ClipDrive<'a>)| ForceSchedule {
            known: &[],
            new: *forces,
            counts: counts(body.body()),
            first: 0,
        };
        for (poses, _, pins) in drives {
            check_tracks(pins, poses.len())?;
        }
        let poses: Vec<(&Body, &[Pose])> = all().map(|(b, d)| (&**b.body(), d.0)).collect();
        Ok(Self {
            drives,
            period: Period::for_bodies(&poses)?,
            schedules: all().map(schedule).collect(),
        })
    }

    /// Returns the poses of all bodies at pose `i`.
    fn poses(&self, i: isize) -> Vec<Pose> {
        let all = self.drives.iter();
        all.map(|(poses, ..)| self.period.pose(poses, i)).collect()
    }

    /// Returns the motions of all bones from pose `i` to the next.
    fn motions(&self, bodies: &Bodies, i: isize) -> Result<Vec<FrameMotion>, ClipError> {
        bodies.map_bodies(|k, body| self.period.frame_motion(body.body(), self.drives[k].0, i))
    }

    /// Returns the pins of all bodies at pose `i`, which move on with the passes.
    fn pins(&self, i: usize) -> Vec<Vec<Pin>> {
        let (pass, frame) = (i / self.period.frames, i % self.period.frames);
        let moved = self.period.pass_motion(pass as isize);
        let of = |(.., tracks): &ClipDrive| {
            let mut pins = pins_at(tracks, frame);
            for pin in &mut pins {
                pin.target = moved.rotation * pin.target + moved.translation.vector;
            }
            pins
        };
        self.drives.iter().map(of).collect()
    }

    /// Returns the forces on all bodies at a frame of a pass.
    fn forces(&self, bodies: &Bodies, i: usize) -> Result<Vec<DriveAtFrame>, ClipError> {
        bodies.map_bodies(|k, _| self.schedules[k].drive_at(i))
    }
}

/// One body in the present pass.
#[derive(Clone, Default)]
struct CyclePass {
    /// Lattice vertices at the beginning of the pass, `[nodes]`, metres.
    begin: Vec<Vec3>,
    frames: Vec<ClipFrame>,
    /// Sway and [`Simulation::joint_volume`] of the first frame, `[nodes]`, metres.
    first_sway: Option<Vec<Vec3>>,
    first_joints: Vec<Vec3>,
    /// Largest distance of a lattice vertex between end and beginning, metres.
    gap: f64,
}

impl CyclePass {
    fn begin(&mut self, body: &Simulation, home: &Isometry3<f64>) {
        self.begin = body.lattice_positions().to_vec();
        self.first_sway = body.sway().map(|sway| rotate_vectors(home, sway));
        self.first_joints = rotate_vectors(home, body.joint_volume());
        self.frames.clear();
    }

    /// Stores the present frame, moved by `home` from the place of the pass to that of the first.
    fn append_frame(
        &mut self,
        body: &Simulation,
        contacts: &FrameContacts,
        pose: &Pose,
        home: &Isometry3<f64>,
    ) {
        let shown = transform_nodes(home, body.body(), body.lattice_positions());
        let sway = body.sway().map(|sway| rotate_vectors(home, sway));
        let joints = rotate_vectors(home, body.joint_volume());
        let shape = FrameShape {
            positions: &shown,
            sway: sway.as_deref(),
            joints: &joints,
        };
        let frame = ClipFrame::new(body, contacts.transform(home), &shape, Some(pose));
        self.frames.push(frame);
    }

    /// Returns the largest distance of a lattice vertex between the end and the beginning, after removing the motion of the pass, metres.
    fn measure_gap(&mut self, body: &Simulation, back: &Isometry3<f64>) -> f64 {
        let end = transform_nodes(back, body.body(), body.lattice_positions());
        let pairs = self.begin.iter().zip(&end);
        self.gap = pairs.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        self.gap
    }

    /// Appends the last pose, which is the first of the next pass: the same shape, moved on.
    fn close(&mut self, body: &Simulation, pose: Pose, last: &Isometry3<f64>) {
        let Some(first) = self.frames.first() else {
            return;
        };
        let points: Vec<Vec3> = (0..body.body().node_count())
            .map(|v| first.lattice.world(v))
            .collect();
        let shown = transform_nodes(last, body.body(), &points);
        let sway = self
            .first_sway
            .take()
            .map(|sway| rotate_vectors(last, &sway));
        let joints = rotate_vectors(last, &self.first_joints);
        let shape = FrameShape {
            positions: &shown,
            sway: sway.as_deref(),
            joints: &joints,
        };
        let contacts = first.contacts.transform(last);
        let mut again = ClipFrame::new(body, contacts, &shape, Some(&pose));
        if let (Some(again), Some(first)) = (&mut again.modal, &first.modal) {
            *again = Arc::new(first.with_pose(pose));
        }
        self.frames.push(again);
    }
}

/// Moves the nodes of a body; details only turn.
fn transform_nodes(by: &Isometry3<f64>, body: &Body, nodes: &[Vec3]) -> Vec<Vec3> {
    let turn = |(v, p): (usize, &Vec3)| match body.is_detail(v) {
        true => by.rotation * p,
        false => by.rotation * p + by.translation.vector,
    };
    nodes.iter().enumerate().map(turn).collect()
}

/// Rotates vectors.
fn rotate_vectors(by: &Isometry3<f64>, vectors: &[Vec3]) -> Vec<Vec3> {
    vectors.iter().map(|v| by.rotation * v).collect()
}
