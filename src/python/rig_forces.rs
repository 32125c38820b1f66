// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads rigs with their controls, builds their forces at the frames of a clip, and sums their factors on the stiffness.

use super::arrays::{List, read_floats};
use super::body::PyBody;
use super::errors::{IntoPy, input_error, run_detached};
use super::progress::with_progress;
use super::rig::PyRig;
use crate::body::Body;
use crate::dynamics::Adaptation;
use crate::rig::{Rig, RigForces, sum_stiffness};
use numpy::{IntoPyArray, PyArray1};
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

/// Returns the forces of rigs at the frames of a clip of a body that adapts; `None` without rigs.
pub(super) fn build_rig_forces(
    py: Python<'_>,
    (body, adaptation): (&Arc<Body>, Adaptation),
    rigs: &[Arc<Rig>],
    frames: usize,
    controls: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<RigForces>> {
    let controls = read_controls(controls, frames, rigs.len())?;
    if rigs.is_empty() {
        return Ok(None);
    }
    let led = with_progress(py, None, |progress| {
        let motion = (body.clone(), adaptation);
        let led = RigForces::for_motion(motion, rigs.to_vec(), frames, controls, progress);
        led.map_err(IntoPy::into_py)
    })?;
    Ok(Some(led))
}

/// Returns the factors of rigs on the elastic stiffness of each cell of a body's lattice at `controls[r]`, float64 [c], between 0.1 and
/// 100: 1 + Σ firmness · tension. `simulate` applies them by itself; `Simulation.set_stiffness` and `Body.with_cell_stiffness` take them.
/// Raises RigError.
#[pyfunction]
pub(super) fn rig_stiffness<'py>(
    py: Python<'py>,
    rigs: &Bound<'py, PyAny>,
    body: &PyBody,
    controls: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let refused = |_| input_error("rigs: expected a list of thew.Rig");
    let List(rigs) = rigs.extract::<List<Bound<'_, PyAny>>>().map_err(refused)?;
    let rigs: Vec<Rig> = read_rigs(rigs)?.iter().map(|rig| Rig::clone(rig)).collect();
    let controls = read_floats(controls, "controls (one for each rig)", &[Some(rigs.len())])?;
    let factors = run_detached(py, || {
        sum_stiffness(&rigs, &body.0, &controls.data).map_err(IntoPy::into_py)
    })?;
    Ok(factors.into_pyarray(py))
}
