// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.belt`.

use super::arrays::{read_floats, read_poses, real};
use super::body::PyBody;
use super::errors::{IntoPy, run_detached};
use super::pins::PyPinTrack;
use super::pose_fit::read_bone;
use crate::clip::{Belt, BeltSettings};
use pyo3::prelude::*;

/// Returns the pins of a belt, a list of `PinTrack` for `simulate`: a ring of skin around a bone, held at a girth, that follows the bone
/// [capell2006, Fig. 10].
///
/// - `bone`: name or number of the bone.
/// - `poses[f,b,4,4]`: those of the clip.
/// - `along`: height along the bone, 0 at its head and 1 at its tail.
/// - `girth`: share of the girth at rest. Less is tighter; flesh gives way by no more than six tenths of its thickness.
/// - `width`: of the belt, metres. 0: one row of vertices.
/// - `strengths[f]`: 0 (off) to 1 (held) at every frame. None: 1.
///
/// The ring is held at as many vertices as its cells tell apart. Raises InputError: a bone that is unknown or without skin around it there, a
/// ring that bones hold, numbers out of range.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // keywords of Python
#[pyo3(signature = (body, bone, poses, along=0.5, girth=1.0, width=0.0, strengths=None))]
pub(super) fn belt(
    py: Python<'_>,
    body: &PyBody,
    bone: &Bound<'_, PyAny>,
    poses: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = real)] along: f64,
    #[pyo3(from_py_with = real)] girth: f64,
    #[pyo3(from_py_with = real)] width: f64,
    strengths: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<PyPinTrack>> {
    let bone = read_bone(body.0.skeleton(), bone)?;
    let poses = read_poses(poses, body.0.skeleton().len())?;
    let strengths = strengths.map(|s| read_floats(s, "strengths", &[Some(poses.len())]));
    let strengths = strengths.transpose()?.map_or(Vec::new(), |s| s.data);
    let settings = BeltSettings {
        along,
        girth,
        width,
        ..BeltSettings::default()
    };
    let tracks = run_detached(py, || {
        let belt = Belt::new(&body.0, bone, &settings).map_err(IntoPy::into_py)?;
        belt.tracks(&body.0, &poses, &strengths)
            .map_err(IntoPy::into_py)
    })?;
    tracks.into_iter().map(PyPinTrack::checked).collect()
}
