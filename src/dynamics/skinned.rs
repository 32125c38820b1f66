// SPDX-License-Identifier: MIT OR Apache-2.0
//! The skeleton's action on a lattice at one pose: positions and rotations of flesh frozen to its bones.

use super::{Method, SimulationError, position_error};
use crate::body::Body;
use crate::skeleton::{BonePoses, Pose};
use crate::solve::NodeMatrix;
use crate::{Mat3, Vec3};

/// Flesh frozen to its bones at one pose; buffers are allocated once.
#[derive(Debug, Clone)]
pub(super) struct SkinnedLattice {
    /// T(x) of each lattice vertex, metres, and zero for details. Bone vertices follow the full affine map of their bone; held ones
    /// without a dominant bone follow the artist's skin (blended linearly).
    pub places: Vec<Vec3>,
    /// Blended rotation at each node's centre.
    pub turns: Vec<Mat3>,
    /// Skeleton's rotation at each element, which warps its stiffness and turns its share of gravity.
    pub cell_turns: Vec<Mat3>,
    /// Rotation of each bone; set with the blended methods only.
    pub bone_turns: Vec<Mat3>,
    /// `Σ_β (Mt_β T_β(x))` of each lattice vertex: the target of the twist. Bones with a twist of their own hold flesh about T(x)
    /// here, and the rest is in `twist_pull`.
    pub twist_loads: Vec<Vec3>,
    /// Pull of the bones with a [twist of their own](crate::body::OwnTwist), N, world axes; empty without such bones.
    pub twist_pull: Vec<Vec3>,
    poses: BonePoses,
}

impl SkinnedLattice {
    /// Creates the lattice at the rest pose.
    pub fn new(body: &Body) -> Result<Self, SimulationError> {
        let k = body.node_count();
        let rest = Pose::rest(body.skeleton().len());
        let mut skinned = Self {
            places: vec![Vec3::zeros(); k],
            turns: vec![Mat3::identity(); k],
            cell_turns: vec![Mat3::identity(); body.blocks().len()],
            bone_turns: vec![Mat3::identity(); body.skeleton().len()],
            twist_loads: vec![Vec3::zeros(); k],
            twist_pull: vec![Vec3::zeros(); if body.own_twist().is_some() { k } else { 0 }],
            poses: BonePoses::new(body.skeleton(), &rest)?,
        };
        skinned.set(body, Method::Linear, &rest)?;
        Ok(skinned)
    }

    /// Sets the pose.
    pub fn set(&mut self, body: &Body, method: Method, pose: &Pose) -> Result<(), SimulationError> {
        self.poses.set(body.skeleton(), pose)?;
        let rest = body.rest_shape();
        let weights = body.region_weights();
        for (v, (&x, bone)) in rest.iter().zip(body.bone_of_vertex()).enumerate() {
            match bone {
                Some(bone) => {
                    self.places[v] = carried_position(body, &self.poses, pose, v, x);
                    let turn = self.poses.bone_rotation(*bone as usize);
                    self.turns[v] = turn.to_rotation_matrix().into_inner();
                }
                None => (self.places[v], self.turns[v]) = self.poses.frame(weights.row(v), x),
            }
            if body.is_detail(v) {
                self.places[v] = Vec3::zeros();
            }
        }
        if method != Method::Linear {
            for (c, turn) in self.cell_turns.iter_mut().enumerate() {
                let rotation = self.poses.rotation(body.cell_weights().row(c));
                *turn = rotation.to_rotation_matrix().into_inner();
            }
        }
        if method.has_regions() {
            for (bone, turn) in self.bone_turns.iter_mut().enumerate() {
                *turn = self
                    .poses
                    .bone_rotation(bone)
                    .to_rotation_matrix()
                    .into_inner();
            }
        }
        self.twist_loads.fill(Vec3::zeros());
        for load in body.twist_loads() {
            let map = &pose.maps()[load.bone as usize];
            self.twist_loads[load.vertex as usize] +=
                map.linear * load.moment + map.translation * load.sum;
        }
        self.set_twist_pull(body, pose);
        position_error(&self.places).map_or(Ok(()), Err)
    }

    /// Moves the pull of the bones with a twist of their own out of the twist's target.
    fn set_twist_pull(&mut self, body: &Body, pose: &Pose) {
        let Some(own) = body.own_twist() else {
            return;
        };
        self.twist_pull.fill(Vec3::zeros());
        for load in &own.loads {
            let map = &pose.maps()[load.bone as usize];
            self.twist_pull[load.vertex as usize] +=
                map.linear * load.moment + map.translation * load.sum;
        }
        for (v, pull) in self.twist_pull.iter_mut().enumerate() {
            *pull -= own.matrix.row_times(v, &self.places);
            self.twist_loads[v] -= *pull;
        }
    }

    /// Returns the bones at the present pose.
    pub fn bones(&self) -> &BonePoses {
        &self.poses
    }

    /// Returns the position to which bones carry a point of the flesh around a lattice vertex; `pose` must be the present pose.
    pub fn carried_position(&self, body: &Body, pose: &Pose, v: usize, x: Vec3) -> Vec3 {
        carried_position(body, &self.poses, pose, v, x)
    }

    /// Returns the position to which flesh at `p` of lattice vertex `v` moves if it is frozen to its bones up to the later pose of
    /// `to`.
    pub fn carry(&self, to: &SkinnedLattice, v: usize, p: Vec3) -> Vec3 {
        to.places[v] + to.turns[v] * self.turns[v].tr_mul(&(p - self.places[v]))
    }
}

/// Returns the position to which bones carry a rest point of the flesh around a lattice vertex: by the map of the bone that holds
/// the vertex, as the artist's skin if several bones hold it, and by blended rigid motions if it is free. The coefficient of a detail
/// only turns.
pub(super) fn carried_position(
    body: &Body,
    poses: &BonePoses,
    pose: &Pose,
    v: usize,
    x: Vec3,
) -> Vec3 {
    let weights = body.region_weights().row(v);
    match body.bone_of_vertex()[v] {
        _ if body.is_detail(v) => poses.rotation(weights) * x,
        Some(_) if body.is_skinned(v) => poses.linear_blend(weights, x),
        Some(bone) => pose.maps()[bone as usize].apply(x),
        None => poses.place(weights, x),
    }
}
