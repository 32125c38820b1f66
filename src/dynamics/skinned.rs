// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the skeleton says at one instant: where flesh frozen to its bones would be, and how it is turned.

use super::{Method, SimulationError, lost};
use crate::body::Body;
use crate::skeleton::{BonePoses, Pose};
use crate::{Mat3, Vec3};

/// The frozen flesh at one pose; buffers allocated once.
#[derive(Debug, Clone)]
pub(super) struct SkinnedLattice {
    /// T(x) of each lattice vertex; bone vertices by the full affine map of their bone, held ones that no bone
    /// dominates as the artist's skin (blended linearly).
    pub places: Vec<Vec3>,
    /// The blended rotation at each lattice vertex.
    pub turns: Vec<Mat3>,
    /// The skeleton's rotation at each cell, by which its stiffness is warped and its share of gravity turned.
    pub cell_turns: Vec<Mat3>,
    /// `Σ_β (Mt_β T_β(x))` of each lattice vertex: what the twist pulls with.
    pub twist_loads: Vec<Vec3>,
    poses: BonePoses,
}

impl SkinnedLattice {
    /// Those of the rest pose.
    pub fn new(body: &Body) -> Result<Self, SimulationError> {
        let k = body.nodes();
        let rest = Pose::rest(body.skeleton().len());
        let mut skinned = Self {
            places: vec![Vec3::zeros(); k],
            turns: vec![Mat3::identity(); k],
            cell_turns: vec![Mat3::identity(); body.blocks().len()],
            twist_loads: vec![Vec3::zeros(); k],
            poses: BonePoses::new(body.skeleton(), &rest)?,
        };
        skinned.set(body, Method::Linear, &rest)?;
        Ok(skinned)
    }

    /// Takes a pose.
    pub fn set(&mut self, body: &Body, method: Method, pose: &Pose) -> Result<(), SimulationError> {
        self.poses.set(body.skeleton(), pose)?;
        let rest = body.lattice().vertices();
        let weights = body.region_weights();
        for (v, (&x, bone)) in rest.iter().zip(body.bone_of_vertex()).enumerate() {
            match bone {
                Some(bone) => {
                    self.places[v] = place(body, &self.poses, pose, v, x);
                    let turn = self.poses.bone_rotation(*bone as usize);
                    self.turns[v] = turn.to_rotation_matrix().into_inner();
                }
                None => (self.places[v], self.turns[v]) = self.poses.frame(weights.row(v), x),
            }
        }
        if method != Method::Linear {
            for (c, turn) in self.cell_turns.iter_mut().enumerate() {
                let rotation = self.poses.rotation(body.cell_weights().row(c));
                *turn = rotation.to_rotation_matrix().into_inner();
            }
        }
        self.twist_loads.fill(Vec3::zeros());
        for load in body.twist_loads() {
            let map = &pose.maps()[load.bone as usize];
            self.twist_loads[load.vertex as usize] +=
                map.linear * load.moment + map.translation * load.sum;
        }
        lost(&self.places).map_or(Ok(()), Err)
    }

    /// The bones as they stand.
    pub fn bones(&self) -> &BonePoses {
        &self.poses
    }

    /// Where the bones of `pose`, which these frames are of, carry a point of the flesh around a lattice vertex.
    pub fn place(&self, body: &Body, pose: &Pose, v: usize, x: Vec3) -> Vec3 {
        place(body, &self.poses, pose, v, x)
    }

    /// Where flesh at `p` of lattice vertex `v` would be at the later frames `to` if it were frozen to its
    /// bones.
    pub fn carry(&self, to: &SkinnedLattice, v: usize, p: Vec3) -> Vec3 {
        to.places[v] + to.turns[v] * self.turns[v].tr_mul(&(p - self.places[v]))
    }
}

/// Where bones carry a rest point of the flesh around a lattice vertex: by the map of the one that holds the vertex,
/// as the artist's skin where it is held by no single one, blended as rigid motions where it is free.
pub(super) fn place(body: &Body, poses: &BonePoses, pose: &Pose, v: usize, x: Vec3) -> Vec3 {
    let weights = body.region_weights().row(v);
    match body.bone_of_vertex()[v] {
        Some(_) if body.is_skinned(v) => poses.linear_blend(weights, x),
        Some(bone) => pose.maps()[bone as usize].apply(x),
        None => poses.place(weights, x),
    }
}
