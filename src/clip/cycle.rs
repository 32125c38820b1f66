// SPDX-License-Identifier: MIT OR Apache-2.0
//! The steady state of a cycle: it is run through until it repeats.
//!
//! A cycle may travel: when the last pose is the first moved rigidly as a whole by D, each pass happens D
//! further, and the state repeats up to D. When the last pose is the first, or the first moved so, it counts
//! once; otherwise the first follows the last after one frame.

use super::{ClipError, ClipFrame, ClipSettings, ForceSchedule, FrameForces};
use crate::Vec3;
use crate::aabb;
use crate::body::Body;
use crate::contact::Span;
use crate::dynamics::Simulation;
use crate::progress::{Progress, step};
use crate::skeleton::{Affine, FrameMotion, Pose};
use nalgebra::{Isometry3, Rotation3, Translation3, UnitQuaternion};
use std::sync::Arc;

/// The state repeats when no lattice vertex is off by more than this share of the body's size.
const REPEATS: f64 = 1e-4;
/// Seconds of motion after which no more passes are begun.
const LONGEST: f64 = 15.0;

/// Frames of one pass, and the largest distance of a lattice vertex between the end and the beginning.
pub(super) fn simulate(
    mut simulation: Simulation,
    poses: &[Pose],
    forces: Option<&dyn FrameForces>,
    settings: ClipSettings,
    progress: &dyn Progress,
) -> Result<(Vec<ClipFrame>, f64), ClipError> {
    let body = &simulation.body().clone();
    let size = size(body);
    let cycle = Cycle::new(body, poses, size);
    let n = cycle.period as isize;
    let least = settings.preroll.div_ceil(cycle.period) + 1;
    let most = least
        .max((LONGEST * settings.fps / n as f64).ceil() as usize)
        .max(3);
    let schedule = ForceSchedule {
        known: &[],
        new: forces,
        nodes: body.nodes(),
        first: 0,
    };
    simulation.reset_watched(
        &cycle.pose(0),
        true,
        schedule.at(0)?.as_deref(),
        &|_: f64, _: &str| progress.report(0.0, "starting the motion"),
    )?;
    simulation.move_with(&cycle.interval(body, 0)?, 1.0 / settings.fps)?;
    let (mut frames, mut gap, mut first_sway) = (Vec::new(), f64::INFINITY, None);
    for pass in 0..most as isize {
        let begin = simulation.lattice_positions().to_vec();
        let home = cycle.moved(pass).inverse();
        frames.clear();
        for i in 0..n {
            let done = (pass as f64 + i as f64 / n as f64) / most as f64;
            let stage = format!("closing the loop, round {}, frame {i}", pass + 1);
            step(progress, done, &stage)?;
            let shown = turned(&home, simulation.lattice_positions());
            let sway = simulation.sway().map(|sway| swung(&home, sway));
            let shape = (shown.as_slice(), sway.as_deref());
            if i == 0 {
                first_sway.clone_from(&sway);
            }
            let mut frame = ClipFrame::new(&simulation, shape, Some(&cycle.pose(i)));
            frame.contacts = frame.contacts.moved(&home);
            frames.push(frame);
            simulation.set_collider_span(Span {
                from: i as usize,
                to: cycle.entry(i + 1),
                moved: cycle.moved(pass),
            });
            simulation
                .advance_motion(
                    &cycle.interval(body, pass * n + i)?,
                    1.0 / settings.fps,
                    (
                        None,
                        schedule.at((i + 1).rem_euclid(n) as usize)?.as_deref(),
                    ),
                    &|_: f64, _: &str| progress.report(done, &stage),
                )
                .map_err(|source| ClipError::at(i as usize, source))?;
        }
        let end = turned(&cycle.step.inverse(), simulation.lattice_positions());
        let pairs = begin.iter().zip(&end);
        gap = pairs.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        if pass + 1 >= least as isize && gap <= REPEATS * size {
            break;
        }
    }
    if cycle.period < poses.len() {
        // The last pose is the first of the next pass: the same shape, moved on.
        let last = cycle.moved(1);
        let first: Vec<Vec3> = match frames.first() {
            Some(f) => (0..body.nodes()).map(|v| f.lattice.world(v)).collect(),
            None => Vec::new(),
        };
        let pose = cycle.pose(cycle.period as isize);
        let shown = turned(&last, &first);
        let sway = first_sway.map(|sway: Vec<Vec3>| swung(&last, &sway));
        let shape = (shown.as_slice(), sway.as_deref());
        let mut again = ClipFrame::new(&simulation, shape, Some(&pose));
        if let Some(begin) = frames.first() {
            again.contacts = begin.contacts.moved(&last);
        }
        let begin = frames.first().and_then(|f| f.modal.as_ref());
        if let (Some(again), Some(begin)) = (&mut again.modal, begin) {
            *again = Arc::new(begin.at(pose));
        }
        frames.push(again);
    }
    step(progress, 1.0, "simulated")?;
    Ok((frames, gap))
}

/// Poses without end.
struct Cycle<'a> {
    poses: &'a [Pose],
    period: usize,
    /// How far a pass leads.
    step: Isometry3<f64>,
}

impl<'a> Cycle<'a> {
    fn new(body: &Body, poses: &'a [Pose], size: f64) -> Self {
        let closing = match poses {
            [first, .., last] if poses.len() > 2 => rigid_step(body, first, last, size),
            _ => None,
        };
        Self {
            poses,
            period: poses.len() - usize::from(closing.is_some()),
            step: closing.unwrap_or_default(),
        }
    }

    /// The entry of the motion of colliders at a frame of a pass: in a cycle whose end is its beginning moved on, the one there.
    fn entry(&self, i: isize) -> usize {
        match self.poses.len() > self.period {
            true => i as usize,
            false => i as usize % self.period,
        }
    }

    /// Where pass number `pass` happens.
    fn moved(&self, pass: isize) -> Isometry3<f64> {
        let one = if pass < 0 {
            self.step.inverse()
        } else {
            self.step
        };
        (0..pass.abs()).fold(Isometry3::identity(), |sum, _| sum * one)
    }

    fn pose(&self, i: isize) -> Pose {
        let n = self.period as isize;
        let (pass, i) = (i.div_euclid(n), i.rem_euclid(n));
        let pose = &self.poses[i as usize];
        if self.step == Isometry3::identity() {
            return pose.clone();
        }
        let by = self.moved(pass);
        pose.moved(&Affine {
            linear: by.rotation.to_rotation_matrix().into_inner(),
            translation: by.translation.vector,
        })
    }

    fn interval(&self, body: &Body, i: isize) -> Result<FrameMotion, ClipError> {
        let max_offset = FrameMotion::STENCIL as isize;
        let around: Vec<Pose> = (-max_offset..=max_offset + 1)
            .map(|k| self.pose(i + k))
            .collect();
        FrameMotion::through(body.skeleton(), &around, FrameMotion::STENCIL).map_err(|source| {
            ClipError::Pose {
                frame: i.rem_euclid(self.period as isize) as usize,
                source,
            }
        })
    }
}

/// The rigid motion that takes all bones from one pose to the other, if there is one.
fn rigid_step(body: &Body, from: &Pose, to: &Pose, size: f64) -> Option<Isometry3<f64>> {
    let (a, b) = (from.maps().first()?, to.maps().first()?);
    let turn = b.linear * a.linear.try_inverse()?;
    let orthogonal = (turn.transpose() * turn - crate::Mat3::identity()).norm() < 1e-4;
    if !orthogonal || turn.determinant() < 0.0 {
        return None;
    }
    let rotation = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(turn));
    let shift = b.translation - rotation * a.translation;
    let by = Isometry3::from_parts(Translation3::from(shift), rotation);
    let rest = body.lattice().vertices();
    let near = |bone: usize| {
        let (a, b) = (&from.maps()[bone], &to.maps()[bone]);
        let end = |x: Vec3| (rotation * a.apply(x) + shift - b.apply(x)).norm();
        let head = body.skeleton().heads()[bone];
        let corner = rest.first().copied().unwrap_or(head);
        end(head)
            .max(end(corner))
            .max(end(head + Vec3::repeat(size)))
            < 1e-3 * size
    };
    (0..body.skeleton().len()).all(near).then_some(by)
}

fn turned(by: &Isometry3<f64>, points: &[Vec3]) -> Vec<Vec3> {
    let turn = |p: &Vec3| by.rotation * p + by.translation.vector;
    points.iter().map(turn).collect()
}

/// Vectors turned along.
fn swung(by: &Isometry3<f64>, vectors: &[Vec3]) -> Vec<Vec3> {
    vectors.iter().map(|v| by.rotation * v).collect()
}

fn size(body: &Body) -> f64 {
    aabb::diagonal(body.lattice().vertices())
}
