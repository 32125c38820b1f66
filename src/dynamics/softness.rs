// SPDX-License-Identifier: MIT OR Apache-2.0
//! One number that says whether a body will keep its shape: how far it sags sideways under its own weight.

use super::{Equilibrium, Method, Settings, SimulationError};
use crate::Vec3;
use crate::body::Body;
use std::sync::Arc;

/// The farthest that a vertex of the body's surface is moved by one g along x, y or z in the rest pose, as a
/// part of the body's size. Beyond a few hundredths a body is soup in any lively clip.
///
/// # Errors
/// A singular system.
pub fn softness(body: &Arc<Body>) -> Result<f64, SimulationError> {
    let mut balance = Equilibrium::new(body, Method::Warped)?;
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
        let q = balance.solve(gravity, Some(&forces), None)?;
        for i in 0..embedding.len() {
            farthest = farthest.max(embedding.place(i, &q).norm());
        }
    }
    // With gravity as part of the rest shape the body is in balance without the extra pull.
    Ok(if size > 0.0 { farthest / size } else { 0.0 })
}
