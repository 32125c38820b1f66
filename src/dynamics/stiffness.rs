// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stiffness of warped flesh at a pose, for systems that add terms of their own to it. [capell2006, §3.3]

use super::{Method, SimulationError, SkinnedLattice};
use crate::Mat3;
use crate::body::Body;
use crate::dynamics::methods::flesh::add_cells;
use crate::skeleton::Pose;
use crate::solve::Assembly;

/// The stiffness `A = Σ_c R_c S_c R_cᵀ + Mt` of a body at a pose, with the rotations R_c of its cells by the skeleton.
pub struct PosedStiffness<'a> {
    body: &'a Body,
    skinned: SkinnedLattice,
}

impl<'a> PosedStiffness<'a> {
    /// Takes a body at a pose.
    ///
    /// # Errors
    /// The pose does not fit the skeleton or leads out of the range of numbers.
    pub fn new(body: &'a Body, pose: &Pose) -> Result<Self, SimulationError> {
        let mut skinned = SkinnedLattice::new(body)?;
        skinned.set(body, Method::Warped, pose)?;
        Ok(Self { body, skinned })
    }

    /// Returns the body.
    pub fn body(&self) -> &'a Body {
        self.body
    }

    /// Adds A to an assembly in the body's own functions.
    pub fn add_to(&self, into: &mut Assembly) {
        add_cells(self.body, self.skinned.cell_turns.iter(), into);
        into.add_scalars(self.body.twist_matrix());
    }

    /// Returns R_i, `[nodes]`, the rotation that turns a force in rest axes at each node.
    pub fn turns(&self) -> &[Mat3] {
        &self.skinned.turns
    }
}
