// SPDX-License-Identifier: MIT OR Apache-2.0
//! Poses of a cycle, continued without end.
//!
//! A cycle may travel. When the last pose is the first moved rigidly as a whole by D, each pass happens D further. A last pose that equals the first,
//! or the first moved by D, counts once. Otherwise the first pose follows the last after one frame. Bodies of a scene repeat together, all by the
//! same D.

use super::ClipError;
use crate::Vec3;
use crate::body::Body;
use crate::geometry::aabb;
use crate::skeleton::{Affine, FrameMotion, Pose};
use nalgebra::{Isometry3, Rotation3, Translation3, UnitQuaternion};

/// Largest deviation of a bone, in sizes of the body, at which a rigid motion still leads to a pose.
const POSE_TOLERANCE: f64 = 1e-3;
/// Least ratio of the distance from the last pose to the first to the largest step, at which a body travels on from its end.
const MIN_LEAP_RATIO: f64 = 1.5;

/// Length of a cycle of some bodies, and the rigid motion of a pass.
pub(super) struct Period {
    /// Poses of a pass, without the closing one.
    pub frames: usize,
    /// Whether one more pose closes the pass; the next pass begins with it.
    pub closes: bool,
    /// Rigid motion D of a pass.
    step: Isometry3<f64>,
}

impl Period {
    /// Finds the period of bodies that have the same number of poses.
    ///
    /// # Errors
    /// A body that does not end as the others do.
    pub fn for_bodies(bodies: &[(&Body, &[Pose])]) -> Result<Self, ClipError> {
        let (frames, whole) = (bodies[0].1.len(), Isometry3::identity());
        let own = |&(body, poses): &(&Body, &[Pose])| match poses {
            [first, .., last] if frames > 2 => rigid_step(body, first, last),
            _ => None,
        };
        let leads = |by: &Isometry3<f64>, &(body, poses): &(&Body, &[Pose])| {
            is_rigid_motion(body, &poses[0], &poses[frames - 1], by)
        };
        let stays = |body: &(&Body, &[Pose])| leads(&whole, body);
        let step = own(&bodies[0]).filter(|step| bodies.iter().all(|body| leads(step, body)));
        // A body with a single bone always seems to travel on, so a scene travels only with a leap. A body on its own is assumed to travel.
        let travels = || bodies.len() == 1 || bodies.iter().any(is_leap);
        if let Some(step) = step
            && (bodies.iter().all(stays) || travels())
        {
            return Ok(Self {
                frames: frames - 1,
                closes: true,
                step,
            });
        }
        // A body that stands still ends in its first pose in any case.
        let moves = |&(_, poses): &(&Body, &[Pose])| poses.iter().any(|pose| *pose != poses[0]);
        let ends = |body| moves(body) && (stays(body) || own(body).is_some() && is_leap(body));
        match bodies
            .iter()
            .position(|body| bodies.len() > 1 && ends(body))
        {
            Some(body) => Err(ClipError::SceneEnds { body }),
            None => Ok(Self {
                frames,
                closes: false,
                step: whole,
            }),
        }
    }

    /// Returns the entry of the colliders' motion at a frame of a pass: in a cycle that closes the frame itself, otherwise the frame modulo the
    /// length.
    pub fn collider_entry(&self, i: usize) -> usize {
        match self.closes {
            true => i,
            false => i % self.frames,
        }
    }

    /// Returns the rigid motion from the first pass to pass number `pass`.
    pub fn pass_motion(&self, pass: isize) -> Isometry3<f64> {
        let one = if pass < 0 {
            self.step.inverse()
        } else {
            self.step
        };
        (0..pass.abs()).fold(Isometry3::identity(), |sum, _| sum * one)
    }

    /// Returns pose `i` of a body, continued over all passes.
    pub fn pose(&self, poses: &[Pose], i: isize) -> Pose {
        let n = self.frames as isize;
        let (pass, i) = (i.div_euclid(n), i.rem_euclid(n));
        let pose = &poses[i as usize];
        if self.step == Isometry3::identity() {
            return pose.clone();
        }
        let by = self.pass_motion(pass);
        pose.apply_map(&Affine {
            linear: by.rotation.to_rotation_matrix().into_inner(),
            translation: by.translation.vector,
        })
    }

    /// Returns the motion of the bones from pose `i` to the next.
    ///
    /// # Errors
    /// Poses without a motion between them.
    pub fn frame_motion(
        &self,
        body: &Body,
        poses: &[Pose],
        i: isize,
    ) -> Result<FrameMotion, ClipError> {
        let around = FrameMotion::STENCIL as isize;
        let around: Vec<Pose> = (-around..=around + 1)
            .map(|k| self.pose(poses, i + k))
            .collect();
        FrameMotion::from_pose_series(body.skeleton(), &around, FrameMotion::STENCIL).map_err(
            |source| ClipError::Pose {
                frame: i.rem_euclid(self.frames as isize) as usize,
                source,
            },
        )
    }
}

/// Returns the rigid motion that takes all bones from one pose to another; `None` if no such motion exists.
fn rigid_step(body: &Body, from: &Pose, to: &Pose) -> Option<Isometry3<f64>> {
    let (a, b) = (from.maps().first()?, to.maps().first()?);
    let turn = b.linear * a.linear.try_inverse()?;
    let orthogonal = (turn.transpose() * turn - crate::Mat3::identity()).norm() < 1e-4;
    if !orthogonal || turn.determinant() < 0.0 {
        return None;
    }
    let rotation = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(turn));
    let shift = b.translation - rotation * a.translation;
    let by = Isometry3::from_parts(Translation3::from(shift), rotation);
    is_rigid_motion(body, from, to, &by).then_some(by)
}

/// Returns whether the way from the last pose to the first exceeds [`MIN_LEAP_RATIO`] times the largest step.
fn is_leap(&(body, poses): &(&Body, &[Pose])) -> bool {
    let way = |from: &Pose, to: &Pose| max_bone_distance(body, from, to, &Isometry3::identity());
    let steps = poses.windows(2).map(|pair| way(&pair[0], &pair[1]));
    way(&poses[poses.len() - 1], &poses[0]) > MIN_LEAP_RATIO * steps.fold(0.0, f64::max)
}

/// Returns whether a rigid motion takes all bones from one pose to another.
fn is_rigid_motion(body: &Body, from: &Pose, to: &Pose, by: &Isometry3<f64>) -> bool {
    max_bone_distance(body, from, to, by) < POSE_TOLERANCE * lattice_diagonal(body)
}

/// Returns the largest distance between bones of a pose moved by a rigid motion and those of another, metres.
fn max_bone_distance(body: &Body, from: &Pose, to: &Pose, by: &Isometry3<f64>) -> f64 {
    let (size, rest) = (lattice_diagonal(body), body.lattice().vertices());
    let off = |bone: usize| {
        let (a, b) = (&from.maps()[bone], &to.maps()[bone]);
        let end = |x: Vec3| (by.rotation * a.apply(x) + by.translation.vector - b.apply(x)).norm();
        let head = body.skeleton().heads()[bone];
        let corner = rest.first().copied().unwrap_or(head);
        end(head)
            .max(end(corner))
            .max(end(head + Vec3::repeat(size)))
    };
    let bones = 0..body.skeleton().len();
    bones.map(off).fold(0.0, f64::max)
}

/// Returns the diagonal of a body's lattice at rest, metres.
pub(super) fn lattice_diagonal(body: &Body) -> f64 {
    aabb::diagonal(body.lattice().vertices())
}
