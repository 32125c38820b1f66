// SPDX-License-Identifier: MIT OR Apache-2.0
//! One number that says whether a body will keep its shape: how far it sags sideways under its own weight.

use super::{Method, Settings, SimulationError, equilibrium};
use crate::Vec3;
use crate::body::Body;
use crate::skeleton::Pose;

/// The farthest that a vertex of the body's surface is moved by one g along x, y or z in the rest pose, as a
/// part of the body's size. Beyond a few hundredths a body is soup in any lively clip.
///
/// # Errors
/// A singular system.
pub fn softness(body: &Body) -> Result<f64, SimulationError> {
    let rest = Pose::rest(body.skeleton().len());
    let gravity = Settings::default().gravity;
    let (size, Some(embedding)) = (body.size(), body.embedding(0)) else {
        return Ok(0.0);
    };
    let mut farthest: f64 = 0.0;
    for axis in 0..3 {
        let mut pull = Vec3::zeros();
        pull[axis] = gravity.norm();
        let everywhere = vec![pull; body.dofs()];
        let forces: Vec<Vec3> = (0..body.dofs())
            .map(|v| body.mass_matrix().row_times(v, &everywhere))
            .collect();
        let q = equilibrium(body, &rest, Some(&forces), gravity, Method::Warped)?;
        for i in 0..embedding.len() {
            farthest = farthest.max(embedding.place(i, &q).norm());
        }
    }
    // With gravity as part of the rest shape the body is in balance without the extra pull.
    Ok(if size > 0.0 { farthest / size } else { 0.0 })
}
