// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the skeleton says at one instant: where flesh frozen to its bones would be, and how it is turned.

use super::standin::{BonePoses, Pose};
use super::{Method, SimulationError, lost};
use crate::body::Body;
use crate::{Mat3, Vec3};

/// The frozen flesh at one pose; buffers allocated once.
#[derive(Debug, Clone)]
pub(super) struct Frames {
    /// T(x) of each lattice vertex; bone vertices by the full affine map of their bone.
    pub places: Vec<Vec3>,
    /// The blended rotation at each lattice vertex.
    pub turns: Vec<Mat3>,
    /// The rotation that each cell's stiffness is warped by.
    pub cell_turns: Vec<Mat3>,
    /// `Σ_β (Mt_β T_β(x))` of each lattice vertex: what the twist pulls with.
    pub twist_loads: Vec<Vec3>,
}

impl Frames {
    pub fn new(body: &Body) -> Self {
        let k = body.dofs();
        Self {
            places: vec![Vec3::zeros(); k],
            turns: vec![Mat3::identity(); k],
            cell_turns: vec![Mat3::identity(); body.blocks().len()],
            twist_loads: vec![Vec3::zeros(); k],
        }
    }

    /// Takes a pose.
    pub fn set(&mut self, body: &Body, method: Method, pose: &Pose) -> Result<(), SimulationError> {
        let bones = body.skeleton().len();
        if pose.maps().len() != bones {
            return Err(SimulationError::PoseLength {
                bones,
                given: pose.maps().len(),
            });
        }
        let poses = BonePoses::new(body.skeleton(), pose);
        let rest = body.lattice().vertices();
        let weights = body.region_weights();
        for v in 0..body.dofs() {
            match body.bone_of_vertex()[v] {
                Some(bone) => self.places[v] = affine(pose, bone, rest[v]),
                None => {
                    self.places[v] = poses.place(weights.row(v), rest[v]);
                    self.turns[v] = poses.rotation(weights.row(v));
                }
            }
        }
        if method == Method::Warped {
            for (c, turn) in self.cell_turns.iter_mut().enumerate() {
                *turn = poses.rotation(body.cell_weights().row(c));
            }
        }
        self.twist_loads.fill(Vec3::zeros());
        for load in body.twist_loads() {
            let map = &pose.maps()[load.bone as usize];
            let linear = map.fixed_view::<3, 3>(0, 0);
            let shift = map.fixed_view::<3, 1>(0, 3);
            self.twist_loads[load.vertex as usize] += linear * load.moment + shift * load.sum;
        }
        lost(&self.places).map_or(Ok(()), Err)
    }
}

/// A bone's own map, stretch included.
fn affine(pose: &Pose, bone: u32, x: Vec3) -> Vec3 {
    let map = &pose.maps()[bone as usize];
    map.fixed_view::<3, 3>(0, 0) * x + map.fixed_view::<3, 1>(0, 3)
}
