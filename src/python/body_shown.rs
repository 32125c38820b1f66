// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Body.shown`: a surface at displacements of the flesh.

use super::arguments::Arguments;
use super::arrays::{WholeNumber, read_nodal, read_pose, real};
use super::errors::{IntoPy, input_error, run_detached};
use super::present::{DisplayArguments, SurfaceView, posed_snapshot};
use crate::dynamics::SimulationSettings;
use crate::present::{CarriedSurfaces, Presenter, Snapshot};
use numpy::PyArray2;
use pyo3::prelude::*;

/// Names of the arguments, in order.
pub(super) const NAMES: [&str; 7] = [
    "q",
    "pose",
    "max_offset",
    "surface",
    "elastic_joints",
    "to",
    "onto",
];

/// Returns the positions of a surface of a body by the arguments of a call.
pub(super) fn positions<'py>(
    py: Python<'py>,
    surfaces: &CarriedSurfaces,
    given: Arguments<'py>,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let body = surfaces.body();
    let q = given.require("q", |q| read_nodal(q, "q", body.node_count()))?;
    let pose = given.any("pose")?;
    let max_offset = given.take("max_offset", real)?;
    let surface = given.take("surface", |s| s.extract::<WholeNumber>())?;
    let elastic_joints = given.take("elastic_joints", real)?.unwrap_or(1.0);
    let (to, onto) = (given.any("to")?, given.any("onto")?);
    given.finish()?;
    let settings = SimulationSettings {
        max_offset,
        elastic_joints,
        ..SimulationSettings::default()
    };
    settings.check().map_err(IntoPy::into_py)?;
    let pose = pose.as_ref().map(read_pose).transpose()?;
    if pose.is_none() && max_offset.is_some() {
        return Err(input_error(
            "max_offset limits flesh around the skin of a pose: give the pose too",
        ));
    }
    if let Some(pose) = &pose {
        pose.check(body.skeleton()).map_err(IntoPy::into_py)?;
    }
    let presenter = Presenter::new(surfaces.clone());
    let display = DisplayArguments::new(surface, to.as_ref(), onto.as_ref())?;
    let snapshot = run_detached(py, || match &pose {
        None => Ok(Snapshot::from_displacements(body, &q)),
        Some(pose) => posed_snapshot(body, &q, pose, settings.display_settings()),
    })?;
    (&presenter, &snapshot).quantity_array(py, (), Presenter::positions, display)
}
