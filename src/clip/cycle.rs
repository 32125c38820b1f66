// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steady state of a cycle: passes are simulated until they repeat, up to the rigid motion of a pass ([`Period`]). Bodies of a scene repeat together.

use super::bodies::{Bodies, Drive};
use super::forces::AtFrame;
use super::frame::FrameShape;
use super::period::{Period, size};
use super::{ClipError, ClipFrame, ClipSettings, ForceSchedule, FrameContacts};
use crate::Vec3;
use crate::body::Body;
use crate::contact::Span;
use crate::dynamics::Simulation;
use crate::progress::{Progress, step};
use crate::skeleton::{FrameMotion, Pose};
use nalgebra::Isometry3;
use std::sync::Arc;

/// Largest displacement of a lattice vertex between passes, in sizes of its body, at which the state repeats.
const REPEATS: f64 = 1e-4;
/// Seconds of motion after which no further pass begins.
const LONGEST: f64 = 15.0;

/// Simulates passes until they repeat. Returns for each body the frames of one pass and the largest distance of a lattice vertex between its end and
/// its beginning, metres.
pub(super) fn simulate(
    mut bodies: Bodies,
    given: &[Drive],
    settings: &ClipSettings,
    progress: &dyn Progress,
) -> Result<Vec<(Vec<ClipFrame>, f64)>, ClipError> {
    let turns = Turns::new(&bodies, given)?;
    let (period, n) = (&turns.period, turns.period.frames);
    let least = settings.preroll.div_ceil(n) + 1;
    let most = least
        .max((LONGEST * settings.fps / n as f64).ceil() as usize)
        .max(3);
    let dt = 1.0 / settings.fps;
    let told = |_: f64, _: &str| progress.report(0.0, "starting the motion");
    bodies.reset(&turns.poses(0), &turns.forces(&bodies, 0)?, &told)?;
    bodies.move_with(&turns.motions(&bodies, 0)?, dt)?;
    let mut passes = vec![Pass::default(); given.len()];
    for pass in 0..most {
        let moved = period.moved(pass as isize);
        let home = moved.inverse();
        for (pass, body) in passes.iter_mut().zip(bodies.all()) {
            pass.begin(body, &home);
        }
        for i in 0..n {
            let done = (pass as f64 + i as f64 / n as f64) / most as f64;
            let stage = format!("closing the loop, round {}, frame {i}", pass + 1);
            step(progress, done, &stage)?;
            let all = bodies.all().iter().zip(bodies.contacts());
            for ((pass, (body, contacts)), pose) in
                passes.iter_mut().zip(all).zip(turns.poses(i as isize))
            {
                pass.keep(body, &contacts, &pose, &home);
            }
            let span = Span {
                from: i,
                to: period.entry(i + 1),
                moved,
            };
            let motions = turns.motions(&bodies, (pass * n + i) as isize)?;
            let forces = turns.forces(&bodies, (i + 1) % n)?;
            let told = |_: f64, _: &str| progress.report(done, &stage);
            bodies
                .advance(&motions, (dt, span), &forces, &told)
                .map_err(|source| ClipError::at(i, source))?;
        }
        let back = period.moved(1).inverse();
        let mut repeats = true;
        for (pass, body) in passes.iter_mut().zip(bodies.all()) {
            repeats &= pass.end(body, &back) <= REPEATS * size(body.body());
        }
        if pass + 1 >= least && repeats {
            break;
        }
    }
    if period.closes {
        let last = period.moved(1);
        let poses = turns.poses(n as isize);
        for ((pass, body), pose) in passes.iter_mut().zip(bodies.all()).zip(poses) {
            pass.close(body, pose, &last);
        }
    }
    step(progress, 1.0, "simulated")?;
    Ok(passes.into_iter().map(|p| (p.frames, p.gap)).collect())
}

/// Poses and forces that drive bodies through pass after pass.
struct Turns<'a> {
    given: &'a [Drive<'a>],
    period: Period,
    schedules: Vec<ForceSchedule<'a>>,
}

impl<'a> Turns<'a> {
    fn new(bodies: &Bodies, given: &'a [Drive]) -> Result<Self, ClipError> {
        let all = || bodies.all().iter().zip(given);
        let schedule = |(body, (_, forces)): (&Simulation, &Drive<'a>)| ForceSchedule {
            known: &[],
            new: *forces,
            nodes: body.body().node_count(),
            first: 0,
        };
        let poses: Vec<(&Body, &[Pose])> = all().map(|(b, d)| (&**b.body(), d.0)).collect();
        Ok(Self {
            given,
            period: Period::of(&poses)?,
            schedules: all().map(schedule).collect(),
        })
    }

    /// Returns the poses of all bodies at pose `i`.
    fn poses(&self, i: isize) -> Vec<Pose> {
        let all = self.given.iter();
        all.map(|(poses, _)| self.period.pose(poses, i)).collect()
    }

    /// Returns the motions of all bones from pose `i` to the next.
    fn motions(&self, bodies: &Bodies, i: isize) -> Result<Vec<FrameMotion>, ClipError> {
        bodies.each(|k, body| self.period.interval(body.body(), self.given[k].0, i))
    }

    /// Returns the forces on all bodies at a frame of a pass.
    fn forces(&self, bodies: &Bodies, i: usize) -> Result<Vec<AtFrame>, ClipError> {
        bodies.each(|k, _| self.schedules[k].at(i))
    }
}

/// One body in the present pass.
#[derive(Clone, Default)]
struct Pass {
    /// Lattice vertices at the beginning of the pass, `[nodes]`, metres.
    begin: Vec<Vec3>,
    frames: Vec<ClipFrame>,
    first_sway: Option<Vec<Vec3>>,
    first_joints: Vec<Vec3>,
    gap: f64,
}

impl Pass {
    fn begin(&mut self, body: &Simulation, home: &Isometry3<f64>) {
        self.begin = body.lattice_positions().to_vec();
        self.first_sway = body.sway().map(|sway| swung(home, sway));
        self.first_joints = swung(home, body.joint_volume());
        self.frames.clear();
    }

    /// Stores the present frame, moved by `home` from the place of the pass to that of the first.
    fn keep(
        &mut self,
        body: &Simulation,
        contacts: &FrameContacts,
        pose: &Pose,
        home: &Isometry3<f64>,
    ) {
        let shown = turned(home, body.lattice_positions());
        let sway = body.sway().map(|sway| swung(home, sway));
        let joints = swung(home, body.joint_volume());
        let shape = FrameShape {
            positions: &shown,
            sway: sway.as_deref(),
            joints: &joints,
        };
        let frame = ClipFrame::new(body, contacts.moved(home), &shape, Some(pose));
        self.frames.push(frame);
    }

    /// Returns the largest distance of a lattice vertex between the end and the beginning, after removing the motion of the pass, metres.
    fn end(&mut self, body: &Simulation, back: &Isometry3<f64>) -> f64 {
        let end = turned(back, body.lattice_positions());
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
        let shown = turned(last, &points);
        let sway = self.first_sway.take().map(|sway| swung(last, &sway));
        let joints = swung(last, &self.first_joints);
        let shape = FrameShape {
            positions: &shown,
            sway: sway.as_deref(),
            joints: &joints,
        };
        let contacts = first.contacts.moved(last);
        let mut again = ClipFrame::new(body, contacts, &shape, Some(&pose));
        if let (Some(again), Some(first)) = (&mut again.modal, &first.modal) {
            *again = Arc::new(first.at(pose));
        }
        self.frames.push(again);
    }
}

fn turned(by: &Isometry3<f64>, points: &[Vec3]) -> Vec<Vec3> {
    let turn = |p: &Vec3| by.rotation * p + by.translation.vector;
    points.iter().map(turn).collect()
}

/// Rotates vectors.
fn swung(by: &Isometry3<f64>, vectors: &[Vec3]) -> Vec<Vec3> {
    vectors.iter().map(|v| by.rotation * v).collect()
}
