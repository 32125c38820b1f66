// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of positions and gravity.

use super::SimulationError;
use crate::Vec3;
use crate::range::is_position;

/// Returns an error that names the first vertex whose position is out of range, or `None`.
pub(super) fn position_error(positions: &[Vec3]) -> Option<SimulationError> {
    let vertex = positions.iter().position(|p| !is_position(p))?;
    Some(SimulationError::NonFinite { vertex })
}

pub(super) fn check_gravity(gravity: Vec3) -> Result<(), SimulationError> {
    match gravity.iter().find(|x| x.is_nan() || x.abs() > 1e6) {
        Some(&value) => Err(SimulationError::Setting {
            what: "gravity",
            range: "finite",
            value,
        }),
        None => Ok(()),
    }
}
