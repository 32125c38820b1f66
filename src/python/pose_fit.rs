// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.fit_pose`, and the options of fits of a pose.

use super::arrays::{List, WholeNumber, from_pose, read_floats, read_pose, real, text};
use super::body::PyBody;
use super::dynamics::{parse_method, read_gravity};
use super::errors::{IntoPy, input_error, warn};
use super::fit::read_targets;
use super::progress::with_progress;
use crate::Mat3;
use crate::rig::fit;
use crate::skeleton::{PoseFitSettings, Skeleton};
use numpy::PyArray3;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Distance of the features from their targets, in sizes of the body, above which an unsettled fit is told: the error that a pose may have.
const TOLD_MISS: f64 = 1e-3;

/// Reads the start, the bones, the cost of turns and the metrics of a fit of a pose.
pub(super) fn read_pose_fit<'py>(
    skeleton: &Skeleton,
    (start, bones): (Option<&Bound<'py, PyAny>>, Option<&Bound<'py, PyAny>>),
    (turn_cost, metrics): (f64, Option<&Bound<'py, PyAny>>),
) -> PyResult<PoseFitSettings> {
    let start = start.map(read_pose).transpose()?;
    let bones = bones.map(|bones| read_bones(skeleton, bones)).transpose()?;
    let metrics = metrics.map(read_metrics).transpose()?;
    Ok(PoseFitSettings {
        start,
        bones,
        turn_cost,
        metrics,
    })
}

/// Reads symmetric matrices [p,3,3].
fn read_metrics(object: &Bound<'_, PyAny>) -> PyResult<Vec<Mat3>> {
    let metrics = read_floats(object, "metrics", &[None, Some(3), Some(3)])?;
    Ok(metrics
        .data
        .chunks_exact(9)
        .map(Mat3::from_row_slice)
        .collect())
}

/// Reads a list of bones by their names or indices.
pub(super) fn read_bones(skeleton: &Skeleton, bones: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    let refused = |_| input_error("bones: expected a list of names or numbers of bones");
    let List(bones) = bones.extract::<List<Bound<'_, PyAny>>>().map_err(refused)?;
    bones.iter().map(|bone| read_bone(skeleton, bone)).collect()
}

/// Reads a bone by its name or index.
pub(super) fn read_bone(skeleton: &Skeleton, bone: &Bound<'_, PyAny>) -> PyResult<u32> {
    if !bone.is_instance_of::<PyString>() {
        let refused = |_| {
            let shown = bone.str().map(|s| s.to_string()).unwrap_or_default();
            input_error(format!(
                "bones: expected the name or the number of a bone, got {shown}"
            ))
        };
        return Ok(bone.extract::<WholeNumber>().map_err(refused)?.to_index());
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
/// `gravity[3]` (m/s²; None: earth's, along -z), as `Equilibrium.positions` has them. `start`, `bones`, `turn_cost` and `metrics` are as in
/// `Skeleton.fit_pose`, which this repeats with the displacement of the flesh at the last pose until that changes by less than 2e-6 of the size.
/// Rough targets turn bones far that move little flesh: a `turn_cost` of 1e-3 keeps these near `start`.
///
/// - `method`: as in `equilibrium`.
///
/// Where bones move little flesh the pose need not come to rest; the nearest one comes back, and a RuntimeWarning tells how far the features stay.
///
/// Raises InputError: fewer than three points, points or targets in a line, a `turn_cost` that is not above 0 and finite, metrics that are
/// not symmetric and positive semidefinite. Raises Cancelled.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // keywords of Python
#[pyo3(signature = (body, points, gravity=None, method="warped", start=None, bones=None, progress=None, turn_cost=1e-7, metrics=None))]
pub(super) fn fit_pose<'py>(
    py: Python<'py>,
    body: &PyBody,
    points: &Bound<'py, PyAny>,
    gravity: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = text)] method: &str,
    start: Option<&Bound<'py, PyAny>>,
    bones: Option<&Bound<'py, PyAny>>,
    progress: Option<Py<PyAny>>,
    #[pyo3(from_py_with = real)] turn_cost: f64,
    metrics: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyArray3<f64>>> {
    let points = read_targets(points)?;
    let (gravity, method) = (self::read_gravity(gravity)?, self::parse_method(method)?);
    let settings = read_pose_fit(body.0.skeleton(), (start, bones), (turn_cost, metrics))?;
    let found = with_progress(py, progress, |progress| {
        fit::fit_pose(&body.0, method, &points, gravity, &settings, progress)
            .map_err(IntoPy::into_py)
    })?;
    if !found.is_settled && found.missed > TOLD_MISS * body.0.size() {
        warn(py, &unsettled_sentence(found.missed))?;
    }
    Ok(from_pose(py, &found.pose))
}

/// Returns a sentence about a pose that is not quite found.
fn unsettled_sentence(missed: f64) -> String {
    format!(
        "the features stay {:.1} mm from their targets (root mean square), as some bones move little flesh: pass a start near the pose with \
         a turn_cost of 1e-3, leave such bones out, or use Skeleton.fit_pose on the skin",
        1e3 * missed
    )
}
