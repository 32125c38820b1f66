// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads rigs with their controls, and builds their forces at the frames of a clip.

use super::arrays::read_floats;
use super::errors::{IntoPy, input_error};
use super::progress::with_progress;
use super::rig::PyRig;
use crate::body::Body;
use crate::rig::{ForceScope, Rig, RigForces};
use pyo3::prelude::*;
use std::sync::Arc;

/// Reads a list of rigs; an item of another type is refused by its index.
pub(super) fn read_rigs(list: Vec<Bound<'_, PyAny>>) -> PyResult<Vec<Arc<Rig>>> {
    let rig = |(i, rig): (usize, Bound<'_, PyAny>)| match rig.cast::<PyRig>() {
        Ok(rig) => Ok(rig.get().0.clone()),
        Err(_) => Err(input_error(format!("rigs[{i}] is not a thew.Rig"))),
    };
    list.into_iter().enumerate().map(rig).collect()
}

/// Reads `controls[f,r]`, a row for each frame.
pub(super) fn read_controls(
    given: Option<&Bound<'_, PyAny>>,
    frames: usize,
    rigs: usize,
) -> PyResult<Option<Vec<f64>>> {
    let wanted = [Some(frames), Some(rigs)];
    let read = given.map(|c| {
        read_floats(
            c,
            "controls (a row for each frame, a column for each rig)",
            &wanted,
        )
    });
    Ok(read.transpose()?.map(|c| c.data))
}

/// Returns the forces of rigs on the functions of a scope, at the frames of a clip; `None` without rigs.
pub(super) fn build_rig_forces(
    py: Python<'_>,
    body: &Arc<Body>,
    (rigs, scope): (&[Arc<Rig>], ForceScope),
    frames: usize,
    controls: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<RigForces>> {
    let controls = read_controls(controls, frames, rigs.len())?;
    if rigs.is_empty() {
        return Ok(None);
    }
    let led = with_progress(py, None, |progress| {
        let (body, rigs) = (body.clone(), rigs.to_vec());
        let led = RigForces::with_scope(body, rigs, scope, frames, controls, progress);
        led.map_err(IntoPy::into_py)
    })?;
    Ok(Some(led))
}
