// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of helper bones.

use super::frames::{
    read_frames, read_poses, read_single_points, read_skin_weights, vertex_frames,
};
use crate::bake::{self, HelperBones, HelperBonesSettings};
use crate::python::arrays::{from_indices, from_points, integer, optional_real, read_count};
use crate::python::errors::IntoPy;
use crate::python::progress::with_progress;
use numpy::ndarray::{Array1, Array2, Array4};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

/// Few rigid bones beside a character's own that carry the motion of its flesh: vertex v of frame f is at
/// `weights[v] @ (concatenate([poses[f], transforms[f]]) @ [*rest[v], 1])`.
#[pyclass(name = "HelperBones", module = "thew", frozen)]
pub(in crate::python) struct PyHelperBones {
    bones: HelperBones,
    /// Matrices and errors in the form of the frames: arrays, or lists of arrays.
    transforms: Py<PyAny>,
    errors: Py<PyAny>,
    /// Index of a clip and of a frame in it, for each frame.
    places: Vec<(usize, usize)>,
}

#[pymethods]
impl PyHelperBones {
    /// Number of helper bones, h: fewer than requested if more are of no use.
    #[getter]
    fn count(&self) -> usize {
        self.bones.count
    }

    /// Weights of the character's own bones, then of the helpers, float32 [n,c], c = b + h. Rows add up to 1.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f32>> {
        let width = self.bones.bone_count + self.bones.count;
        let entry = |(v, b): (usize, usize)| self.bones.weights[v * width + b];
        Array2::from_shape_fn((self.bones.weights.len() / width, width), entry).into_pyarray(py)
    }

    /// Rigid matrices of the helpers from rest to posed, float32 [f,h,4,4], m; a list or dictionary of them if frames were one.
    #[getter]
    fn transforms(&self, py: Python<'_>) -> Py<PyAny> {
        self.transforms.clone_ref(py)
    }

    /// Heads at rest [h,3], m: the centre of the skin that a helper moves.
    #[getter]
    fn heads<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        from_points(py, &self.bones.heads)
    }

    /// Tails at rest [h,3], m.
    #[getter]
    fn tails<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        from_points(py, &self.bones.tails)
    }

    /// Own bone of each helper, int32 [h]: the one that carries most of its skin; with `rest_tolerance`, the one from which it takes weight.
    #[getter]
    fn parents<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        from_indices(py, &self.bones.parents)
    }

    /// Largest distance of a vertex in a frame from where it should be seen, m, measured on the weights and matrices as they are stored.
    #[getter]
    fn max_error(&self) -> f64 {
        self.bones.worst().2.into()
    }

    /// Root of the mean square distance over all vertices and frames, m.
    #[getter]
    fn rms(&self) -> f64 {
        self.bones.rms
    }

    /// Place of the largest distance: `(clip, frame, vertex)`.
    #[getter]
    fn worst(&self) -> (usize, usize, u32) {
        let (frame, vertex, _) = self.bones.worst();
        let (clip, frame) = self.places[frame];
        (clip, frame, vertex)
    }

    /// Largest distance in each frame, m: float32 [f]; a list or dictionary of them if frames were one.
    #[getter]
    fn errors(&self, py: Python<'_>) -> Py<PyAny> {
        self.errors.clone_ref(py)
    }

    fn __repr__(&self) -> String {
        format!(
            "HelperBones({} helpers, {} frames, max_error={:.3e})",
            self.bones.count,
            self.bones.errors.len(),
            self.bones.worst().2
        )
    }
}

/// Fits few rigid bones, beside a character's own, whose blend shows the posed vertices of all frames of one or several clips.
///
/// - `rest[n,3]`: the mesh before its bones act, m.
/// - `frames[f,n,3]`, or a list or dictionary of clips: posed positions, as they should be seen, m.
/// - `poses[f,b,4,4]`, in the form of `frames`: matrices of the character's bones from rest.
/// - `skin_weights[n,b]`: weights of these bones. Those of a vertex keep their proportions, as far as they stay.
/// - `count`: largest number of helper bones, 1 to 256. Twice as many take two to three times as long: seconds for
///   16 helpers of a whole character, minutes for 256.
/// - `influences`: largest number of bones of a vertex, own ones and helpers, 1 to 8.
/// - `rest_tolerance`: largest distance from the plain skin in these poses, m, while helpers rest on their parents. A helper then takes
///   weight from its parent alone. With 0 the plain skin shows in any pose: weights of a bone and its helpers add up to the bone's in
///   `skin_weights`. With None helpers take weight from all own bones, and at rest the skin may be far off.
#[pyfunction]
#[pyo3(signature = (rest, frames, poses, skin_weights, count, influences=4, rest_tolerance=None, progress=None))]
#[expect(
    clippy::too_many_arguments,
    reason = "keywords of Python, which settings would only repeat"
)]
pub(in crate::python) fn helper_bones<'py>(
    py: Python<'py>,
    rest: &Bound<'py, PyAny>,
    frames: &Bound<'py, PyAny>,
    poses: &Bound<'py, PyAny>,
    skin_weights: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = integer)] count: i64,
    #[pyo3(from_py_with = integer)] influences: i64,
    #[pyo3(from_py_with = optional_real)] rest_tolerance: Option<f64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<PyHelperBones> {
    let clips = read_frames(frames)?;
    let frames = vertex_frames(&clips)?;
    let poses = read_poses(poses, &clips)?;
    let sizes = (frames.vertex_count(), poses.size(1)?);
    let weights = read_skin_weights(skin_weights, sizes)?;
    let rest = read_single_points(rest, "rest")?.readonly();
    let (rest, poses) = (rest.as_slice()?, poses.slices()?);
    let settings = HelperBonesSettings {
        count: read_count(count, "count")?,
        influences: read_count(influences, "influences")?,
        rest_tolerance,
    };
    let bones = with_progress(py, progress, |progress| {
        bake::helper_bones(rest, &frames, poses, &weights, &settings, progress)
            .map_err(IntoPy::into_py)
    })?;
    let count = bones.count;
    let transforms = (0..frames.clip_count()).map(|c| {
        let range = frames.clip_range(c);
        let first = range.start * count;
        let entry = |(f, h, i, j)| bones.transforms[((first + f * count + h) * 4 + i) * 4 + j];
        Array4::from_shape_fn((range.len(), count, 4, 4), entry).into_pyarray(py)
    });
    let transforms = clips.like_argument(py, transforms.collect())?.unbind();
    let errors = frames.split_by_clip(&bones.errors, 1);
    let errors = errors.map(|e| Array1::from(e.to_vec()).into_pyarray(py));
    let errors = clips.like_argument(py, errors.collect())?.unbind();
    let places = (0..frames.len()).map(|f| frames.locate(f)).collect();
    Ok(PyHelperBones {
        bones,
        transforms,
        errors,
        places,
    })
}
