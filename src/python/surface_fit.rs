// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.fit_surface` and of its report.

use super::arguments::Arguments;
use super::arrays::{integer, read_floats, read_nodal, read_points, read_pose, real, text};
use super::body::PyBody;
use super::dynamics::{parse_method, read_gravity};
use super::errors::{IntoPy, input_error};
use super::progress::with_progress;
use super::rig::PyRig;
use super::surface::PySurface;
use crate::Vec3;
use crate::rig::{SurfaceFitReport, SurfaceFitSettings, SurfaceTarget, fit_surface};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Arc;

/// Report of `fit_surface`. Distances are root mean squares over the selected skin, metres.
#[pyclass(name = "SurfaceFitReport", module = "thew", frozen)]
pub(super) struct PySurfaceFitReport(pub SurfaceFitReport);

#[pymethods]
impl PySurfaceFitReport {
    /// Distance of the skin from the target without the rig, metres.
    #[getter]
    fn start(&self) -> f64 {
        self.0.start
    }

    /// Distance of the skin from the target with the rig, metres.
    #[getter]
    fn left(&self) -> f64 {
        self.0.left
    }

    /// Distance that the body's lattice cannot show, metres: a finer lattice (`cells_across`, `levels`) shows more.
    #[getter]
    fn bound(&self) -> f64 {
        self.0.bound
    }

    /// Smoothness of the correction: given, or found.
    #[getter]
    fn smoothness(&self) -> f64 {
        self.0.smoothness
    }

    /// Number of lattice cells that are inverted in balance with the rig.
    #[getter]
    fn inverted(&self) -> usize {
        self.0.inverted
    }

    fn __repr__(&self) -> String {
        let SurfaceFitReport {
            start,
            left,
            bound,
            smoothness,
            inverted,
        } = self.0;
        format!(
            "<thew.SurfaceFitReport: {start:.3e} m to {left:.3e} m, bound {bound:.3e} m, smoothness {smoothness:.1e}, {inverted} inverted>"
        )
    }
}

enum Target {
    Vertices(Vec<Vec3>),
    Surface(Py<PySurface>),
}

/// Returns a sculpted rig that brings the skin of a body, in balance at `pose[b,4,4]`, to a target: a corrective shape that lives in moving
/// flesh [capell2006, §4.3].
///
/// - `target[n,3]`: place of every vertex of the body's own surface, metres, world axes; or a `Surface` of any mesh (a scan), to whose nearest
///   points the skin goes. Some selected skin must be within a tenth of the body's size of it.
/// - `select[n]`: 1 where the target counts, 0 where skin holds still. None: everywhere. `hold`: weight of unselected skin, a share.
/// - `smoothness`: of the correction, without unit. None: the largest that leaves at most 0.01 of the start above what the lattice cannot show.
/// - `steps`: samples on the way from rest to the pose. Each holds its share of the shape at its share of the pose. `control`: value of the
///   control at the whole shape; at 0 there is none of it.
/// - `tolerance`: share of the correction that the points of the rig may miss. None: 0.01.
/// - `gravity[3]`: m/s². None: earth's, along -z. `rest_forces[nodes,3]`: forces of other rigs, N, rest axes.
/// - `method`: of the balance and of `report.left`, by default "warped"; the correction is that of linear flesh.
///
/// The rig keeps the wanted offsets of points of the skin in rest axes, with the pose. So it serves any lattice and mesh of the character:
/// its forces are those that bring that body's skin there. `rig.report` tells how near it comes, and the bound.
///
/// Raises InputError, RigError, MotionError, Cancelled.
#[pyfunction(name = "fit_surface")]
#[pyo3(
    signature = (*arguments, **keywords),
    text_signature = "(body, pose, target, select=None, hold=0.05, smoothness=None, steps=1, control=1.0, tolerance=None, gravity=None, rest_forces=None, method='warped', progress=None, name='Sculpt')"
)]
pub(super) fn py_fit_surface<'py>(
    py: Python<'py>,
    arguments: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<PyRig> {
    const NAMES: [&str; 14] = [
        "body",
        "pose",
        "target",
        "select",
        "hold",
        "smoothness",
        "steps",
        "control",
        "tolerance",
        "gravity",
        "rest_forces",
        "method",
        "progress",
        "name",
    ];
    let given = Arguments::new("fit_surface", &NAMES, arguments, keywords)?;
    let body = given.require("body", |b| Ok(b.extract::<Py<PyBody>>()?))?;
    let body = body.get();
    let pose = given.require("pose", read_pose)?;
    let target = given.require("target", |object| match object.cast::<PySurface>() {
        Ok(surface) => Ok(Target::Surface(surface.clone().unbind())),
        Err(_) => Ok(Target::Vertices(read_points(object, "target")?)),
    })?;
    let progress = given.progress()?;
    let settings = read_settings(&given, body.0.node_count())?;
    given.finish()?;
    let target = match &target {
        Target::Vertices(places) => SurfaceTarget::Vertices(places),
        Target::Surface(surface) => SurfaceTarget::Surface(&surface.get().0),
    };
    let rig = with_progress(py, progress, |progress| {
        fit_surface(&body.0, &pose, target, &settings, progress).map_err(IntoPy::into_py)
    })?;
    Ok(PyRig(Arc::new(rig)))
}

/// Reads the settings among the arguments of a call, for a body of some nodes.
fn read_settings(given: &Arguments<'_>, nodes: usize) -> PyResult<SurfaceFitSettings> {
    let default = SurfaceFitSettings::default();
    let select = given.take("select", |s| {
        let numbers = read_floats(s, "select", &[None])?;
        Ok(numbers.data)
    })?;
    let steps = given.take("steps", integer)?.map(|steps| {
        u32::try_from(steps)
            .map_err(|_| input_error(format!("steps must be a positive number, not {steps}")))
    });
    let gravity = given.any("gravity")?;
    let method = given.take("method", |m| parse_method(text(m)?))?;
    Ok(SurfaceFitSettings {
        select,
        hold: given.take("hold", real)?.unwrap_or(default.hold),
        smoothness: given.take("smoothness", real)?,
        steps: steps.transpose()?.unwrap_or(default.steps),
        control: given.take("control", real)?.unwrap_or(default.control),
        tolerance: given.take("tolerance", real)?.unwrap_or(default.tolerance),
        gravity: read_gravity(gravity.as_ref())?,
        rest_forces: given.take("rest_forces", |f| read_nodal(f, "rest_forces", nodes))?,
        method: method.unwrap_or(default.method),
        name: given
            .take("name", |n| text(n).map(str::to_owned))?
            .unwrap_or(default.name),
    })
}
