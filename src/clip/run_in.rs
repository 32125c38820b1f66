// SPDX-License-Identifier: MIT OR Apache-2.0
//! Poses before the first, so that flesh does not start with a jerk: the joints accelerate from a standstill while the whole body travels on. Plain
//! extrapolation of the motion would soon bend joints where no character bends them.

use crate::skeleton::{Affine, Pose, Skeleton, polar};
use crate::{Mat3, Vec3};
use nalgebra::UnitQuaternion;

/// Builds the poses of `frames` frames of run-in, in order. Every joint accelerates from a standstill to its speed between `first` and `second`. The
/// roots together travel on by their mean step between the two.
pub(super) fn run_in(skeleton: &Skeleton, first: &Pose, second: &Pose, frames: usize) -> Vec<Pose> {
    let (from, to) = (
        RelativePose::from_pose(skeleton, first),
        RelativePose::from_pose(skeleton, second),
    );
    let roots: Vec<usize> = (0..skeleton.len())
        .filter(|&b| skeleton.parents()[b].is_none())
        .collect();
    let travel = roots.iter().map(|&b| to.places[b] - from.places[b]);
    let travel = travel.sum::<Vec3>() / roots.len().max(1) as f64;
    let before = (1..=frames).rev().map(|i| {
        let t = i as f64;
        let eased = t - 0.5 * t * t / frames as f64;
        let mut joints = from.extrapolate_back(&to, eased);
        for &root in &roots {
            joints.places[root] -= travel * (t - eased);
        }
        joints.to_pose(skeleton, first)
    });
    before.collect()
}

/// Bones relative to their parents, in the parents' turned frames; roots in world axes.
struct RelativePose {
    turns: Vec<UnitQuaternion<f64>>,
    /// Heads, relative to the parents' heads, metres.
    places: Vec<Vec3>,
}

impl RelativePose {
    fn from_pose(skeleton: &Skeleton, pose: &Pose) -> Self {
        let maps = pose.maps();
        let turn: Vec<_> = maps.iter().map(|map| polar(&map.linear).0).collect();
        let heads = skeleton.heads().iter().zip(maps);
        let head: Vec<Vec3> = heads.map(|(&x, map)| map.apply(x)).collect();
        let relative = skeleton.parents().iter().enumerate().map(|(b, parent)| {
            parent.map_or((turn[b], head[b]), |p| {
                let back = turn[p as usize].inverse();
                (back * turn[b], back * (head[b] - head[p as usize]))
            })
        });
        let (turns, places) = relative.unzip();
        Self { turns, places }
    }

    /// Extrapolates backwards by `steps` times the step from here to `next`.
    fn extrapolate_back(&self, next: &Self, steps: f64) -> Self {
        let turns = self.turns.iter().zip(&next.turns);
        let places = self.places.iter().zip(&next.places);
        Self {
            turns: turns
                .map(|(a, b)| (b * a.inverse()).powf(-steps) * a)
                .collect(),
            places: places.map(|(a, b)| a - (b - a) * steps).collect(),
        }
    }

    /// Builds the pose, with the stretch of the bones of another pose.
    fn to_pose(&self, skeleton: &Skeleton, like: &Pose) -> Pose {
        let (mut turn, mut head) = (self.turns.clone(), self.places.clone());
        let mut pose = like.clone();
        for &b in skeleton.topological_order() {
            let b = b as usize;
            if let Some(p) = skeleton.parents()[b].map(|p| p as usize) {
                turn[b] = turn[p] * turn[b];
                head[b] = head[p] + turn[p] * head[b];
            }
            let stretch = polar(&like.maps()[b].linear).1;
            let linear: Mat3 = turn[b].to_rotation_matrix().into_inner() * stretch;
            pose.maps_mut()[b] = Affine {
                linear,
                translation: head[b] - linear * skeleton.heads()[b],
            };
        }
        pose
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES: usize = 4;

    fn skeleton() -> Skeleton {
        let (heads, tails) = (0..3)
            .map(f64::from)
            .map(|z| (Vec3::new(0.0, 0.0, z), Vec3::new(0.0, 0.0, z + 1.0)))
            .unzip();
        let names = ["hip", "knee", "foot"].map(String::from).to_vec();
        Skeleton::new(names, vec![None, Some(0), Some(1)], heads, tails).unwrap()
    }

    /// Returns a chain whose joints all turn about x by `t`, and whose root moves by `t` times a step.
    fn chain(t: f64, step: Vec3) -> Pose {
        let skeleton = skeleton();
        let mut maps = Vec::new();
        let (mut turn, mut head) = (UnitQuaternion::identity(), step * t);
        for b in 0..3 {
            turn *= UnitQuaternion::from_scaled_axis(Vec3::new(t, 0.0, 0.0));
            let linear = turn.to_rotation_matrix().into_inner();
            let translation = head - linear * skeleton.heads()[b];
            let map = Affine {
                linear,
                translation,
            };
            head = map.apply(skeleton.tails()[b]);
            maps.push(map);
        }
        Pose::new(maps).unwrap()
    }

    fn max_distance(a: &Pose, b: &Pose) -> f64 {
        let maps = a.maps().iter().zip(b.maps());
        maps.map(|(a, b)| (a.to_matrix() - b.to_matrix()).norm())
            .fold(0.0, f64::max)
    }

    /// The run-in begins at a standstill and accelerates evenly to the clip's first motion.
    #[test]
    fn run_in_starts_still() {
        let made = run_in(
            &skeleton(),
            &chain(0.5, Vec3::zeros()),
            &chain(0.7, Vec3::zeros()),
            FRAMES,
        );
        assert_eq!(made.len(), FRAMES);
        for (i, pose) in (1..=FRAMES).rev().zip(&made) {
            let t = i as f64;
            let angle = 0.5 - 0.2 * (t - t * t / 8.0);
            assert!(
                max_distance(pose, &chain(angle, Vec3::zeros())) < 1e-12,
                "{i}"
            );
        }
        // The last step before the first pose is nearly as large as the first of the motion; the first step is nearly zero.
        let step = |a: &Pose, b: &Pose| {
            max_distance(a, b)
                / max_distance(&chain(0.5, Vec3::zeros()), &chain(0.7, Vec3::zeros()))
        };
        assert!(step(&made[3], &chain(0.5, Vec3::zeros())) > 0.8);
        assert!(step(&made[0], &made[1]) < 0.2);
    }

    /// Bones stay connected at their joints throughout the run-in.
    #[test]
    fn run_in_keeps_joints() {
        let step = Vec3::new(0.1, -0.3, 0.2);
        for pose in run_in(&skeleton(), &chain(0.5, step), &chain(0.9, step), FRAMES) {
            for b in 1..3 {
                let (parent, child) = (&pose.maps()[b - 1], &pose.maps()[b]);
                let joint = skeleton().heads()[b];
                assert!((parent.apply(joint) - child.apply(joint)).norm() < 1e-12);
            }
        }
    }

    /// A character that travels as a whole travels with the same velocity during the run-in.
    #[test]
    fn run_in_continues_travel() {
        let step = Vec3::new(0.1, -0.3, 0.2);
        let at = |i: f64| {
            Pose::rest(3).apply_map(&Affine {
                linear: Mat3::identity(),
                translation: step * i,
            })
        };
        for (i, pose) in run_in(&skeleton(), &at(0.0), &at(1.0), FRAMES)
            .iter()
            .enumerate()
        {
            assert!(max_distance(pose, &at(i as f64 - FRAMES as f64)) < 1e-12);
        }
    }
}
