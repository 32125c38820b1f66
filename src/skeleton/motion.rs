// SPDX-License-Identifier: MIT OR Apache-2.0
//! C¹ motion of bones within a frame.
//!
//! Bones that move on straight lines between frames jolt the flesh at every frame's end; a motion with continuous
//! velocity does not. Each bone's rest head, rotation (as a quaternion) and stretch follow cubic Hermite curves.
//! Their slopes at a frame are shared with the neighbouring interval:
//! `m_i = (8 (p_{i+1} − p_{i−1}) − (p_{i+2} − p_{i−2}))/12`. The error is O(h⁴) inside a frame of length h, so the
//! motion hardly depends on the sampling rate. At an end and next to it the slopes are the one-sided ones of third
//! order, or of second order with only three poses \[catmull1974\]; between two poses the line is straight.
//!
//! Quaternions take the sign nearer to the previous frame's and are normalised after interpolation, so the curve's
//! direction is continuous too. Since rotation and stretch are interpolated instead of matrices, a turning bone does not
//! shrink.

use super::pose::{Affine, Pose, polar};
use super::{Skeleton, SkeletonError};
use crate::{Mat3, Vec3};
use nalgebra::{Quaternion, SVector, UnitQuaternion, Vector4};

/// Head (3), quaternion (4) and the upper triangle of the stretch (6) of one bone.
type BoneCoordinates = SVector<f64, 13>;

/// Motion of all bones over one frame.
#[derive(Debug, Clone)]
pub struct FrameMotion {
    from: Pose,
    to: Pose,
    bones: Vec<BoneCurve>,
}

/// Hermite data of one bone: ends, and slopes per frame.
#[derive(Debug, Clone)]
struct BoneCurve {
    rest_head: Vec3,
    start: BoneCoordinates,
    end: BoneCoordinates,
    start_slope: BoneCoordinates,
    end_slope: BoneCoordinates,
}

impl FrameMotion {
    /// Number of poses before and after a frame on which its motion depends.
    pub const STENCIL: usize = 2;

    /// Builds the motion from pose `i` to the next of a series of poses at equal time steps, as part of the motion
    /// through all.
    ///
    /// It depends on up to two poses before and two after it ([`STENCIL`](Self::STENCIL)).
    ///
    /// # Errors
    /// Fails if a pose has another number of bones, or if pose `i + 1` does not exist.
    pub fn from_pose_series(
        skeleton: &Skeleton,
        poses: &[Pose],
        i: usize,
    ) -> Result<Self, SkeletonError> {
        let first = i.saturating_sub(Self::STENCIL);
        let last = (i + 2 + Self::STENCIL).min(poses.len());
        let around = poses.get(first..last).unwrap_or_default();
        let at = i - first;
        let (Some(from), Some(to)) = (around.get(at), around.get(at + 1)) else {
            return Err(SkeletonError::Motion {
                frame: i,
                poses: poses.len(),
            });
        };
        for pose in around {
            pose.check(skeleton)?;
        }
        let curve = |(b, &rest_head): (usize, &Vec3)| {
            let mut tracks = Vec::with_capacity(around.len());
            for pose in around {
                let next = bone_coordinates(&pose.maps()[b], rest_head);
                tracks.push(
                    tracks
                        .last()
                        .map_or(next, |former| align_quaternion(next, former)),
                );
            }
            BoneCurve {
                rest_head,
                start: tracks[at],
                end: tracks[at + 1],
                start_slope: slope(&tracks, at),
                end_slope: slope(&tracks, at + 1),
            }
        };
        Ok(Self {
            from: from.clone(),
            to: to.clone(),
            bones: skeleton.heads().iter().enumerate().map(curve).collect(),
        })
    }

    /// Builds the motion between two poses without further context: heads on straight lines, rotations along the
    /// shortest arcs.
    ///
    /// # Errors
    /// Fails if a pose has another number of bones.
    pub fn from_endpoints(
        skeleton: &Skeleton,
        from: &Pose,
        to: &Pose,
    ) -> Result<Self, SkeletonError> {
        Self::from_pose_series(skeleton, &[from.clone(), to.clone()], 0)
    }

    /// Continues `former` to a new pose when later poses are unknown. The motion starts with the velocity at which the
    /// former one ended, and ends with its own mean velocity.
    ///
    /// `ratio` is this frame's duration over the former's.
    ///
    /// # Errors
    /// Fails if a pose has another number of bones.
    pub fn continue_from(
        skeleton: &Skeleton,
        former: &FrameMotion,
        to: &Pose,
        ratio: f64,
    ) -> Result<Self, SkeletonError> {
        to.check(skeleton)?;
        former.to.check(skeleton)?;
        let ratio = if ratio.is_finite() {
            ratio.max(0.0)
        } else {
            0.0
        };
        let curve = |(b, old): (usize, &BoneCurve)| {
            let start = old.end;
            let end = align_quaternion(bone_coordinates(&to.maps()[b], old.rest_head), &start);
            BoneCurve {
                rest_head: old.rest_head,
                start,
                end,
                start_slope: old.end_slope * ratio,
                end_slope: end - start,
            }
        };
        Ok(Self {
            from: former.to.clone(),
            to: to.clone(),
            bones: former.bones.iter().enumerate().map(curve).collect(),
        })
    }

    /// Returns the pose at the start.
    pub fn start_pose(&self) -> &Pose {
        &self.from
    }

    /// Returns the pose at the end.
    pub fn end_pose(&self) -> &Pose {
        &self.to
    }

    /// Returns the pose at `s` from 0 to 1; at the ends exactly the poses of the motion.
    pub fn pose_at(&self, s: f64) -> Pose {
        let mut pose = self.from.clone();
        self.write(s, &mut pose);
        pose
    }

    /// Writes the [pose](Self::pose_at) at `s` into an existing pose. Allocates only if that pose has too few bones.
    pub fn write(&self, s: f64, pose: &mut Pose) {
        let maps = pose.maps_mut();
        maps.clear();
        if s < 1.0 && s > 0.0 {
            maps.extend(self.bones.iter().map(|c| c.evaluate(s)));
        } else {
            let end = if s >= 1.0 { &self.to } else { &self.from };
            maps.extend_from_slice(end.maps());
        }
    }
}

impl BoneCurve {
    /// Returns the bone's map at `s` from 0 to 1.
    fn evaluate(&self, s: f64) -> Affine {
        let (s2, s3) = (s * s, s * s * s);
        let up = 3.0 * s2 - 2.0 * s3;
        // The ends enter by their difference, so that a bone at rest stays exactly in place.
        let track = self.start
            + (self.end - self.start) * up
            + self.start_slope * (s3 - 2.0 * s2 + s)
            + self.end_slope * (s3 - s2);
        affine_map(&track, self.rest_head)
    }
}

/// Decomposes a map into the coordinates that are interpolated.
fn bone_coordinates(map: &Affine, rest_head: Vec3) -> BoneCoordinates {
    let (rotation, u) = polar(&map.linear);
    let (head, q) = (map.apply(rest_head), rotation.coords);
    BoneCoordinates::from_column_slice(&[
        head.x, head.y, head.z, q.x, q.y, q.z, q.w, u.m11, u.m22, u.m33, u.m12, u.m13, u.m23,
    ])
}

/// Recomposes a map from interpolated coordinates; inverse of [`bone_coordinates`].
fn affine_map(t: &BoneCoordinates, rest_head: Vec3) -> Affine {
    let q = Vector4::new(t[3], t[4], t[5], t[6]);
    let rotation = UnitQuaternion::new_normalize(Quaternion::from(q));
    let (u12, u13, u23) = (t[10], t[11], t[12]);
    let stretch = Mat3::new(t[7], u12, u13, u12, t[8], u23, u13, u23, t[9]);
    let linear = rotation.to_rotation_matrix().into_inner() * stretch;
    Affine {
        linear,
        translation: Vec3::new(t[0], t[1], t[2]) - linear * rest_head,
    }
}

/// Returns the coordinates `track` with the sign of their quaternion that is nearer to that of `other`.
fn align_quaternion(mut track: BoneCoordinates, other: &BoneCoordinates) -> BoneCoordinates {
    let dot: f64 = (3..7).map(|i| track[i] * other[i]).sum();
    if dot < 0.0 {
        for i in 3..7 {
            track[i] = -track[i];
        }
    }
    track
}

/// Returns the slope per frame at pose `i`. `tracks` holds one bone's coordinates in successive poses.
fn slope(tracks: &[BoneCoordinates], i: usize) -> BoneCoordinates {
    let at = |k: isize| i.checked_add_signed(k).and_then(|i| tracks.get(i));
    let here = &tracks[i];
    match [at(-3), at(-2), at(-1), at(1), at(2), at(3)] {
        [_, Some(a), Some(b), Some(c), Some(d), _] => ((c - b) * 8.0 - (d - a)) / 12.0,
        [_, None, Some(b), Some(c), Some(d), _] => (c * 6.0 - here * 3.0 - b * 2.0 - d) / 6.0,
        [_, Some(a), Some(b), Some(c), None, _] => (here * 3.0 - b * 6.0 + c * 2.0 + a) / 6.0,
        [_, _, Some(b), Some(c), _, _] => (c - b) * 0.5,
        [_, _, None, Some(c), Some(d), Some(e)] => {
            ((c - here) * 18.0 - (d - here) * 9.0 + (e - here) * 2.0) / 6.0
        }
        [Some(a), Some(b), Some(c), None, _, _] => {
            ((here - c) * 18.0 - (here - b) * 9.0 + (here - a) * 2.0) / 6.0
        }
        [_, _, None, Some(c), Some(d), None] => (c - here) * 2.0 - (d - here) * 0.5,
        [None, Some(a), Some(b), None, _, _] => (here - b) * 2.0 - (here - a) * 0.5,
        [_, _, None, Some(c), None, _] => c - here,
        [_, None, Some(b), None, _, _] => here - b,
        [_, _, None, None, _, _] => BoneCoordinates::zeros(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skeleton() -> Skeleton {
        let names = vec!["a".to_string(), "b".to_string()];
        let heads = vec![Vec3::new(0.3, 0.0, 1.0), Vec3::new(-2.0, 0.5, 0.0)];
        let tails = heads.iter().map(|h| h + Vec3::x()).collect();
        Skeleton::new(names, vec![None, Some(0)], heads, tails).unwrap()
    }

    /// Returns the pose of a smooth motion with turns past a full circle, stretch and travel.
    fn pose(t: f64) -> Pose {
        let bone = |k: f64| {
            let turn =
                UnitQuaternion::from_axis_angle(&Vec3::z_axis(), 3.0 * t + 0.5 * (k + t).sin())
                    * UnitQuaternion::from_axis_angle(&Vec3::x_axis(), (2.0 * t + k).sin());
            let stretch = Vec3::new(1.0 + 0.2 * (3.0 * t + k).sin(), 1.0, 1.0 + 0.1 * t.cos());
            Affine {
                linear: turn.to_rotation_matrix().into_inner() * Mat3::from_diagonal(&stretch),
                translation: Vec3::new((2.0 * t).sin(), k * t.cos(), 0.3 * t),
            }
        };
        Pose::new(vec![bone(0.0), bone(1.0)]).unwrap()
    }

    fn difference(a: &Pose, b: &Pose) -> f64 {
        let pairs = a.maps().iter().zip(b.maps());
        pairs
            .map(|(a, b)| (a.to_matrix() - b.to_matrix()).norm())
            .fold(0.0, f64::max)
    }

    fn frame(h: f64, i: i32) -> FrameMotion {
        let poses: Vec<Pose> = (-2..=3).map(|j| pose(h * f64::from(i + j))).collect();
        FrameMotion::from_pose_series(&skeleton(), &poses, 2).unwrap()
    }

    /// The ends of the motion are the given poses, bit for bit.
    #[test]
    fn motion_ends_keep_bits() {
        let m = frame(0.1, 3);
        assert_eq!(m.pose_at(0.0), pose(0.1 * 3.0));
        assert_eq!(m.pose_at(1.0), pose(0.1 * 4.0));
        assert_eq!(m.pose_at(-1.0), m.pose_at(0.0));
        assert_eq!(m.pose_at(2.0), m.pose_at(1.0));
        assert_eq!(m.pose_at(f64::NAN), m.pose_at(0.0));
        assert!(difference(&m.pose_at(1e-13), m.start_pose()) < 1e-11);
        assert!(difference(&m.pose_at(1.0 - 1e-13), m.end_pose()) < 1e-11);
    }

    /// The velocity is continuous from one frame to the next.
    #[test]
    fn velocity_is_continuous() {
        let e = 1e-5;
        let slope = |m: &FrameMotion, s: f64| {
            let (a, b) = (m.pose_at(s - 0.5 * e), m.pose_at(s + 0.5 * e));
            let pairs = a.maps().iter().zip(b.maps());
            pairs
                .map(|(a, b)| (b.to_matrix() - a.to_matrix()) / e)
                .collect::<Vec<_>>()
        };
        let still = FrameMotion::from_endpoints(&skeleton(), &pose(-0.3), &pose(-0.3)).unwrap();
        let mut stream = FrameMotion::continue_from(&skeleton(), &still, &pose(-0.1), 1.0).unwrap();
        for i in 0..30 {
            let (a, b) = (frame(0.2, i), frame(0.2, i + 1));
            let next =
                FrameMotion::continue_from(&skeleton(), &stream, &pose(0.2 * f64::from(i)), 1.0)
                    .unwrap();
            for (a, b) in [(&a, &b), (&stream, &next)] {
                let jump = slope(a, 1.0 - e).into_iter().zip(slope(b, e));
                let jump = jump.map(|(x, y)| (x - y).norm()).fold(0.0, f64::max);
                assert!(jump < 2e-3, "{jump}");
            }
            stream = next;
        }
    }

    /// The error of the interpolation falls with the fourth power of the frame's length.
    #[test]
    fn motion_is_fourth_order() {
        let error = |h: f64| {
            let n = (2.0 / h).round() as i32;
            let at = |i: i32| {
                let s = [0.2, 0.5, 0.8];
                s.map(|s| difference(&frame(h, i).pose_at(s), &pose(h * (f64::from(i) + s))))
            };
            (0..n).flat_map(at).fold(0.0, f64::max)
        };
        let (coarse, fine) = (error(0.08), error(0.04));
        assert!(coarse / fine > 14.0, "{coarse} {fine}");
        // Straight interpolation is far worse.
        let straight = FrameMotion::from_endpoints(&skeleton(), &pose(0.0), &pose(0.04)).unwrap();
        assert!(difference(&straight.pose_at(0.5), &pose(0.02)) > 10.0 * fine);
    }

    /// At the first and last frame uniformly accelerated travel is exact.
    #[test]
    fn one_sided_ends_are_exact() {
        let at = |t: f64| {
            Pose::rest(2).apply_map(&Affine {
                linear: Mat3::identity(),
                translation: Vec3::new(t, t * t, 1.0),
            })
        };
        let s = skeleton();
        let first = FrameMotion::from_pose_series(&s, &[0.0, 1.0, 2.0].map(at), 0).unwrap();
        let last = FrameMotion::from_pose_series(&s, &[-1.0, 0.0, 1.0].map(at), 1).unwrap();
        for motion in [first, last] {
            for t in [0.1, 0.4, 0.9] {
                assert!(difference(&motion.pose_at(t), &at(t)) < 1e-13);
            }
        }
    }

    /// If all poses are moved rigidly, the motion is moved with them.
    #[test]
    fn motion_is_rigidly_invariant() {
        let turn = UnitQuaternion::from_scaled_axis(Vec3::new(0.5, -2.0, 0.3));
        let by = Affine {
            linear: turn.to_rotation_matrix().into_inner(),
            translation: Vec3::new(4.0, 5.0, -6.0),
        };
        let p = |i: i32| pose(0.2 * f64::from(i)).apply_map(&by);
        for i in 0..20 {
            let poses: Vec<Pose> = (i - 2..=i + 3).map(p).collect();
            let m = FrameMotion::from_pose_series(&skeleton(), &poses, 2).unwrap();
            for s in [0.3, 0.6] {
                assert!(
                    difference(&m.pose_at(s), &frame(0.2, i).pose_at(s).apply_map(&by)) < 1e-12
                );
            }
        }
    }

    /// Standstill and uniform travel are exact, also for frames of unequal length.
    #[test]
    fn uniform_travel_is_exact() {
        let s = skeleton();
        let still = pose(0.7);
        let m = FrameMotion::from_pose_series(&s, &vec![still.clone(); 6], 2).unwrap();
        let held = FrameMotion::continue_from(&s, &m, &still, 1.0).unwrap();
        for x in [0.25, 0.5] {
            assert!(difference(&m.pose_at(x), &still) < 1e-14);
            assert!(difference(&held.pose_at(x), &still) < 1e-14);
        }
        let at = |t: f64| {
            still.apply_map(&Affine {
                linear: Mat3::identity(),
                translation: Vec3::new(t, 2.0 * t, 0.0),
            })
        };
        // Frames of unequal length: half as long after the first.
        let a = FrameMotion::from_endpoints(&s, &at(0.0), &at(1.0)).unwrap();
        let b = FrameMotion::continue_from(&s, &a, &at(1.5), 0.5).unwrap();
        assert!(difference(&b.pose_at(0.5), &at(1.25)) < 1e-13);
    }

    /// Mirrored and vanished bones give finite motion.
    #[test]
    fn wild_poses_stay_finite() {
        let s = skeleton();
        let zero = Affine {
            linear: Mat3::zeros(),
            translation: Vec3::zeros(),
        };
        let mirror = Affine {
            linear: Mat3::from_diagonal(&Vec3::new(-1.0, 1.0, 1.0)),
            translation: Vec3::zeros(),
        };
        let poses = [
            Pose::rest(2),
            Pose::new(vec![zero, mirror]).unwrap(),
            Pose::new(vec![mirror, zero]).unwrap(),
            pose(1.0),
        ];
        for a in &poses {
            for b in &poses {
                let around = [a, b, a, b, b, a].map(Pose::clone);
                let m = FrameMotion::from_pose_series(&s, &around, 2).unwrap();
                for i in 0..=10 {
                    let p = m.pose_at(f64::from(i) / 10.0);
                    assert!(p.maps().iter().all(Affine::is_finite));
                }
            }
        }
    }
}
