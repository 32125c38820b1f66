// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of frames in rest space.

use super::frames::{MapArguments, read_frames, read_single_points, vertex_frames};
use crate::bake;
use crate::python::arrays::from_frames;
use crate::python::errors::IntoPy;
use crate::python::progress::with_progress;
use numpy::PyArrayMethods;
use pyo3::prelude::*;

/// Returns where vertices must be before the skeleton acts on them to appear at `frames`, and the largest miss, m.
///
/// - `frames[f,n,3]`: posed positions, m, or a list or dictionary of such clips.
/// - `matrices`: how the skeleton moves the vertices. A pair `(poses, skin_weights)`: maps of bones from rest `[f,b,4,4]` and weights
///   `[n,b]`, for linear blend skinning. Or maps of the vertices `[f,n,3,4]` or `[f,n,4,4]`. With a list or dictionary of clips, poses
///   or maps are one too.
/// - `rest[n,3]`: the plain mesh before the skeleton acts, m.
///
/// Returns `(frames, max_error)`: float32 positions in the form of the argument, and the largest distance of a vertex, moved by its
/// map again, from the given one: 0 but for rounding, except where maps flatten the skin.
#[pyfunction]
#[pyo3(signature = (frames, matrices, rest, *, progress=None))]
pub(in crate::python) fn to_rest_space<'py>(
    py: Python<'py>,
    frames: &Bound<'py, PyAny>,
    matrices: &Bound<'py, PyAny>,
    rest: &Bound<'py, PyAny>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, f64)> {
    let clips = read_frames(frames)?;
    let frames = vertex_frames(&clips)?;
    let vertices = frames.vertex_count();
    let given = MapArguments::read(Some(matrices), &clips, vertices)?;
    let maps = given.maps(&frames)?;
    let rest = read_single_points(rest, "rest")?.readonly();
    let rest = rest.as_slice()?;
    let made = with_progress(py, progress, |progress| {
        bake::to_rest_space(&frames, &maps, rest, progress).map_err(IntoPy::into_py)
    })?;
    let arrays = frames
        .split_by_clip(&made.positions, 3 * vertices)
        .map(|clip| {
            let frames = clip.len() / (3 * vertices);
            from_frames(py, (frames, vertices), clip.to_vec())
        });
    let arrays = arrays.collect::<PyResult<_>>()?;
    Ok((clips.like_argument(py, arrays)?, made.max_error))
}
