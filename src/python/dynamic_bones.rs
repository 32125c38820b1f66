// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.follow_bones`.

use super::arrays::{List, from_poses, optional_real, read_poses, real};
use super::body::PyBody;
use super::errors::{IntoPy, input_error};
use super::pose_fit::read_bone;
use super::progress::with_progress;
use super::settings::{PySimulationSettings, replace_settings};
use crate::dynamics::{DynamicBoneSettings, follow_bones as follow};
use numpy::PyArray4;
use pyo3::prelude::*;
use pyo3::types::PyDict;

// The default in the signature below, which Python shows.
const _: () = assert!(DynamicBoneSettings::FIRMNESS == 8.0);

/// Returns the poses in which bones follow their flesh, float64 [f,b,4,4]: a tail, an ear, a pigtail [capell2006, §6].
///
/// The bones named, with all below them, are freed; the flesh around them is elastic about the shape that `poses` give it, and is simulated. Each
/// of these bones then turns about its head as its flesh has turned as a whole. Poses of other bones come back as they are. Play them on an
/// armature, in an engine, or `simulate` them, so that flesh sways on the moved bones.
///
/// - `poses[f,b,4,4]`: the animation.
/// - `bones`: names or numbers.
/// - `firmness`: factor on the stiffness of the flesh around them, 0.1 to 100.
/// - `limit`: largest turn of a bone against the one above beyond the animated one, radians. None: no limit.
/// - `settings` and further keywords: a `SimulationSettings`, and settings by name.
///
/// Raises InputError: an unknown bone, bones without another one to hang on, the methods "modal", "blended", "blended_printed" and
/// "warped_vertex".
#[pyfunction]
#[allow(clippy::too_many_arguments)] // keywords of Python
#[pyo3(signature = (body, poses, fps, bones, firmness=8.0, limit=None, progress=None, *, settings=None, **keywords))]
pub(super) fn follow_bones<'py>(
    py: Python<'py>,
    body: &PyBody,
    poses: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = real)] fps: f64,
    bones: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = real)] firmness: f64,
    #[pyo3(from_py_with = optional_real)] limit: Option<f64>,
    progress: Option<Py<PyAny>>,
    settings: Option<Py<PySimulationSettings>>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyArray4<f64>>> {
    let skeleton = body.0.skeleton();
    let poses = read_poses(poses, skeleton.len())?;
    let refused = |_| input_error("bones: expected a list of names or numbers of bones");
    let List(bones) = bones.extract::<List<Bound<'_, PyAny>>>().map_err(refused)?;
    let bones = bones.iter().map(|bone| read_bone(skeleton, bone));
    let settings = DynamicBoneSettings {
        firmness,
        limit: limit.unwrap_or(f64::INFINITY),
        simulation: replace_settings("follow_bones", settings.as_ref(), keywords)?,
        ..DynamicBoneSettings::new(bones.collect::<PyResult<_>>()?, fps)
    };
    let followed = with_progress(py, progress, |progress| {
        follow(&body.0, &poses, &settings, progress).map_err(IntoPy::into_py)
    })?;
    Ok(from_poses(py, &followed, skeleton.len()))
}
