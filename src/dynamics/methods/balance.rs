// SPDX-License-Identifier: MIT OR Apache-2.0
//! Static balance at a pose, by each method.

use crate::Vec3;
use crate::body::Body;
use crate::dynamics::forces::Load;
use crate::dynamics::methods::linear_balance::linear_balance;
use crate::dynamics::methods::{hyperelastic, nonlinear};
use crate::dynamics::{Method, SimulationError, SkinnedLattice};
use crate::progress::Progress;
use crate::skeleton::Pose;

/// Returns the positions in balance by a method other than the modal one, as its steps represent them.
pub(in crate::dynamics) fn balanced_positions(
    body: &Body,
    method: Method,
    pose: &Pose,
    skinned: &SkinnedLattice,
    load: &Load,
    progress: &dyn Progress,
) -> Result<Vec<Vec3>, SimulationError> {
    match (method, method.model()) {
        (_, Some(model)) => {
            nonlinear::balanced_positions(body, (method, model), (pose, skinned), load, progress)
        }
        (Method::Hyperelastic, _) => {
            let sway = hyperelastic::balance(body, skinned, load, progress)?;
            Ok(skinned
                .places
                .iter()
                .zip(&sway)
                .map(|(p, u)| p + u)
                .collect())
        }
        (_, None) => linear_balance(body, method, skinned, load),
    }
}
