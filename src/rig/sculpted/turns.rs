// SPDX-License-Identifier: MIT OR Apache-2.0
//! Poses as turns of single bones against their parents, by name, so that another skeleton of the same bones can take them.
//!
//! Stiffness at a pose depends on the rotations of the bones alone, so that places and stretches are left out.

use crate::geometry::rotation_vector::rotation;
use crate::rig::RigError;
use crate::skeleton::{Affine, Pose, Skeleton, polar};
use crate::{Mat3, Vec3};

/// Turn below which a bone counts as at rest, rad: poses in single precision are that exact.
const MIN_TURN: f64 = 1e-6;

/// Turn of a bone against its parent: its name, and a rotation vector in rest axes, rad.
pub type BoneTurn = (String, Vec3);

/// Returns the turns of the bones that are not at rest, in the order of the skeleton.
pub(in crate::rig) fn own_turns(skeleton: &Skeleton, pose: &Pose) -> Vec<BoneTurn> {
    let world: Vec<_> = pose.maps().iter().map(|map| polar(&map.linear).0).collect();
    let own = skeleton.parents().iter().enumerate().map(|(b, parent)| {
        let above = parent.map_or_else(Default::default, |p| world[p as usize]);
        (
            skeleton.names()[b].clone(),
            (above.inverse() * world[b]).scaled_axis(),
        )
    });
    own.filter(|(_, turn)| turn.norm() > MIN_TURN).collect()
}

/// Returns the pose in which bones are turned, each about its head and along with its parent.
///
/// # Errors
/// The skeleton lacks one of the bones.
pub(in crate::rig) fn turned_pose(
    skeleton: &Skeleton,
    turns: &[BoneTurn],
) -> Result<Pose, RigError> {
    let mut own = vec![Mat3::identity(); skeleton.len()];
    for (name, turn) in turns {
        own[bone_index(skeleton, name)?] = rotation(turn);
    }
    let mut maps = vec![Affine::identity(); skeleton.len()];
    for &b in skeleton.topological_order() {
        let b = b as usize;
        let above = skeleton.parents()[b].map_or_else(Affine::identity, |p| maps[p as usize]);
        let (head, linear) = (skeleton.heads()[b], above.linear * own[b]);
        maps[b] = Affine {
            linear,
            translation: above.apply(head) - linear * head,
        };
    }
    Pose::new(maps).map_err(|_| RigError::TooFar)
}

/// Returns the index of a bone.
///
/// # Errors
/// The skeleton lacks it.
pub(in crate::rig) fn bone_index(skeleton: &Skeleton, name: &str) -> Result<usize, RigError> {
    let found = skeleton.names().iter().position(|n| n == name);
    found.ok_or_else(|| RigError::ForeignBone {
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pose of turns has the rotations of the pose that they were read from, whatever its places and stretches.
    #[test]
    fn turns_restore_rotations() {
        let names = ["hip", "thigh", "shin", "toe"].map(String::from).to_vec();
        let at = |i: usize| Vec3::new(0.1 * i as f64, -0.2, 0.4 * i as f64);
        let heads = (0..4).map(at).collect();
        let tails = (1..5).map(at).collect();
        let parents = vec![None, Some(0), Some(1), Some(2)];
        let skeleton = Skeleton::new(names, parents, heads, tails).unwrap();
        let turns = [
            [0.3, 0.1, 0.0],
            [1.2, -0.4, 0.2],
            [-2.0, 0.0, 0.9],
            [-2.0, 0.0, 0.9],
        ];
        let world = turns.map(|w| rotation(&Vec3::from(w)));
        let stretch = Mat3::new(1.3, 0.1, 0.0, 0.1, 0.9, 0.0, 0.0, 0.0, 1.1);
        let map = |r: &Mat3| Affine {
            linear: r * stretch,
            translation: Vec3::new(3.0, -1.0, 0.5),
        };
        let pose = Pose::new(world.iter().map(map).collect()).unwrap();
        let read = own_turns(&skeleton, &pose);
        // The toe turns along with the shin alone.
        let named: Vec<&str> = read.iter().map(|(name, _)| &name[..]).collect();
        assert_eq!(named, ["hip", "thigh", "shin"]);
        let again = turned_pose(&skeleton, &read).unwrap();
        for (map, r) in again.maps().iter().zip(&world) {
            assert!((map.linear - r).norm() < 1e-12);
        }
        // Bones stay joined.
        for b in 1..4 {
            let [own, above] = [b, b - 1].map(|i| again.maps()[i].apply(at(b)));
            assert!((own - above).norm() < 1e-12);
        }
        let foreign = vec![("fin".to_owned(), Vec3::x())];
        let error = turned_pose(&skeleton, &foreign).unwrap_err();
        assert_eq!(error, RigError::ForeignBone { name: "fin".into() });
    }
}
