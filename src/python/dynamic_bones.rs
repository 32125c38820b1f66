// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.follow_bones`.

use super::arguments::Arguments;
use super::arrays::{from_poses, real};
use super::errors::{IntoPy, warn};
use super::pose_fit::read_bones;
use super::progress::with_progress;
use super::shot::read_shot;
use crate::dynamics::DynamicBoneSettings;
use numpy::PyArray4;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

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
/// - `rigs`, `controls[f,r]`, `preroll`, `cyclic`, `contact`, `colliders`, `restarts`, `pins`, `fields`, `gravities`, `stiffness`, `softness`: as in
///   `simulate`. In a cycle the poses are those of the state that repeats.
/// - `settings` and further keywords: a `SimulationSettings`, and settings by name.
///
/// Raises InputError: an unknown bone, bones without another one to hang on, the methods "modal", "blended", "blended_printed" and
/// "warped_vertex".
#[pyfunction]
#[pyo3(
    signature = (*arguments, **keywords),
    text_signature = "(body, poses, fps, bones, firmness=8.0, limit=None, progress=None, *, rigs=None, controls=None, preroll=0, \
        cyclic=False, contact=None, colliders=None, restarts=None, pins=None, fields=None, gravities=None, stiffness=None, \
        softness=None, settings=None, **keywords)"
)]
pub(super) fn follow_bones<'py>(
    py: Python<'py>,
    arguments: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyArray4<f64>>> {
    const NAMES: [&str; 7] = [
        "body", "poses", "fps", "bones", "firmness", "limit", "progress",
    ];
    let given = Arguments::new("follow_bones", &NAMES, arguments, keywords)?;
    let progress = given.progress()?;
    let bones = given.require("bones", |bones| Ok(bones.clone()))?;
    let firmness = given.take("firmness", real)?;
    let limit = given.take("limit", real)?;
    let shot = read_shot(py, given)?;
    let skeleton = shot.surfaces.body().skeleton().clone();
    let settings = DynamicBoneSettings {
        firmness: firmness.unwrap_or(DynamicBoneSettings::FIRMNESS),
        limit: limit.unwrap_or(f64::INFINITY),
        ..DynamicBoneSettings::new(read_bones(&skeleton, &bones)?, shot.settings.fps)
    };
    let (followed, warnings) = with_progress(py, progress, |progress| {
        shot.follow_bones(&settings, progress)
            .map_err(IntoPy::into_py)
    })?;
    for warning in &warnings {
        warn(py, warning)?;
    }
    Ok(from_poses(py, &followed, skeleton.len()))
}
