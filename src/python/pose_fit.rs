// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.fit_pose`, and the options of fits of a pose.

use super::arrays::{List, WholeNumber, from_pose, read_pose, text};
use super::body::PyBody;
use super::dynamics::{parse_method, read_gravity};
use super::errors::{IntoPy, input_error};
use super::fit::read_targets;
use super::progress::with_progress;
use crate::rig::fit;
use crate::skeleton::{PoseFitSettings, Skeleton};
use numpy::PyArray3;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Reads the start and the bones of a fit of a pose.
pub(super) fn read_pose_fit<'py>(
    skeleton: &Skeleton,
    start: Option<&Bound<'py, PyAny>>,
    bones: Option<List<Bound<'py, PyAny>>>,
) -> PyResult<PoseFitSettings> {
    let start = start.map(read_pose).transpose()?;
    let read = |List(bones)| bones.iter().map(|b| read_bone(skeleton, b)).collect();
    let bones = bones.map(read).transpose()?;
    Ok(PoseFitSettings { start, bones })
}

/// Reads a bone by its name or index.
pub(super) fn read_bone(skeleton: &Skeleton, bone: &Bound<'_, PyAny>) -> PyResult<u32> {
    if !bone.is_instance_of::<PyString>() {
        return Ok(bone.extract::<WholeNumber>()?.to_index());
    }
    let name = text(bone)?;
    let found = skeleton.names().iter().position(|n| n == name);
    found
        .map(|b| b as u32)
        .ok_or_else(|| input_error(format!("bones: the skeleton has no bone '{name}'")))
}

/// Returns the pose at which flesh in balance brings points of the skin nearest to their targets, float64 [b,4,4] [capell2006, §4.3.1, eq. 22].
///
/// `points` are [(vertex of the body's own surface, world target[3]), ...], metres. Positions are those of the lattice in balance under
/// `gravity[3]` (m/s²; None: earth's, along -z), as `Equilibrium.positions` has them. `start` and `bones` are as in `Skeleton.fit_pose`, which
/// this repeats with the displacement of the flesh at the last pose until that changes by less than 1e-5 of the size.
///
/// - `method`: as in `equilibrium`.
///
/// Raises InputError: fewer than three points, points or targets in a line. Raises Cancelled.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // keywords of Python
#[pyo3(signature = (body, points, gravity=None, method="warped", start=None, bones=None, progress=None))]
pub(super) fn fit_pose<'py>(
    py: Python<'py>,
    body: &PyBody,
    points: &Bound<'py, PyAny>,
    gravity: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = text)] method: &str,
    start: Option<&Bound<'py, PyAny>>,
    bones: Option<List<Bound<'py, PyAny>>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyArray3<f64>>> {
    let points = read_targets(points)?;
    let (gravity, method) = (self::read_gravity(gravity)?, self::parse_method(method)?);
    let settings = read_pose_fit(body.0.skeleton(), start, bones)?;
    let pose = with_progress(py, progress, |progress| {
        fit::fit_pose(&body.0, method, &points, gravity, &settings, progress)
            .map_err(IntoPy::into_py)
    })?;
    Ok(from_pose(py, &pose))
}
