// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of compressed bakes.

use super::frames::{MapArguments, read_frames, read_single_points, vertex_frames};
use crate::bake::{self, CompressSettings, Packed, Quantisation, Regions};
use crate::python::arrays::{
    from_frames, optional_integer, optional_real, optional_text, read_count, read_integers,
};
use crate::python::errors::{IntoPy, input_error, warn};
use crate::python::progress::with_progress;
use numpy::ndarray::{Array1, Array2, Array3};
use numpy::{IntoPyArray, PyArray1, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyIterator;

/// Keys and curves for the frames of one or several clips: vertex v of frame f is offset by `curves[f] @ keys[:, v]`.
///
/// It unpacks as `(keys, curves, max_error)`. With all curves 0 the plain mesh is shown.
#[pyclass(name = "Compressed", module = "thew", frozen)]
pub(in crate::python) struct PyCompressed {
    packed: Packed,
    /// Curves, errors and their vertices in the form of the frames: arrays, or lists or dictionaries of arrays.
    curves: Py<PyAny>,
    errors: Py<PyAny>,
    worst_vertices: Py<PyAny>,
    /// Index of a clip and of a frame in it, for each frame.
    places: Vec<(usize, usize)>,
    quantise: Option<Quantisation>,
}

#[pymethods]
impl PyCompressed {
    /// Keys as they are stored, float32 [k,n,3], m.
    #[getter]
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let shape = (self.packed.count, self.packed.vertex_count);
        from_frames(py, shape, self.packed.keys.clone())
    }

    /// Curves from -1 to 1, float32 [f,k]; a list or dictionary of them if frames were one.
    #[getter]
    fn curves(&self, py: Python<'_>) -> Py<PyAny> {
        self.curves.clone_ref(py)
    }

    /// Largest distance of a vertex in a frame from where it should be seen, m, measured on the keys as they are stored.
    #[getter]
    fn max_error(&self) -> f64 {
        self.packed.worst().2.into()
    }

    /// Largest distance in each frame, m: float32 [f]; a list or dictionary of them if frames were one.
    #[getter]
    fn errors(&self, py: Python<'_>) -> Py<PyAny> {
        self.errors.clone_ref(py)
    }

    /// Vertex of the largest distance in each frame, uint32 [f]; a list or dictionary of them if frames were one.
    #[getter]
    fn worst_vertices(&self, py: Python<'_>) -> Py<PyAny> {
        self.worst_vertices.clone_ref(py)
    }

    /// Place of the largest distance: `(clip, frame, vertex)`, clips counted in their order.
    #[getter]
    fn worst(&self) -> (usize, usize, u32) {
        let (frame, vertex, _) = self.packed.worst();
        let (clip, frame) = self.places[frame];
        (clip, frame, vertex)
    }

    /// Root of the mean square distance over all vertices and frames, m.
    #[getter]
    fn rms(&self) -> f64 {
        self.packed.rms
    }

    /// Keys as integers, int16 [k,n,3], with quantise="int16": `keys = integers * steps[:, None, None]`. None otherwise.
    #[getter]
    fn integers<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray3<i16>>> {
        if self.quantise != Some(Quantisation::Int16) {
            return None;
        }
        let (count, vertices) = (self.packed.count, self.packed.vertex_count);
        let entry = |(k, v, i): (usize, usize, usize)| {
            let step = self.packed.steps[k];
            let x = self.packed.keys[(k * vertices + v) * 3 + i];
            if step > 0.0 {
                (x / step).round() as i16
            } else {
                0
            }
        };
        Some(Array3::from_shape_fn((count, vertices, 3), entry).into_pyarray(py))
    }

    /// Step of each key's integers, float32 [k], m; 0 without them.
    #[getter]
    fn steps<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        Array1::from(self.packed.steps.clone()).into_pyarray(py)
    }

    /// Number of bytes of keys and curves, where files store vertices of keys that are not 0 with an index of 4 bytes, and curves in 4.
    #[getter]
    fn nbytes(&self) -> usize {
        let number = if self.quantise.is_some() { 2 } else { 4 };
        let (entries, all) = (self.packed.stored_entries(), self.packed.keys.len() / 3);
        let keys = (entries * (3 * number + 4)).min(all * 3 * number);
        keys + 4 * self.packed.curves.len()
    }

    fn __len__(&self) -> usize {
        3
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        (self.keys(py)?, self.curves(py), self.max_error())
            .into_pyobject(py)?
            .try_iter()
    }

    fn __repr__(&self) -> String {
        format!(
            "Compressed({} keys, {} frames, max_error={:.3e})",
            self.packed.count,
            self.packed.errors.len(),
            self.packed.worst().2
        )
    }
}

/// Reads a number of regions, or the region of each vertex.
fn read_regions(given: &Bound<'_, PyAny>) -> PyResult<Regions> {
    if let Ok(count) = given.extract::<usize>() {
        return Ok(Regions::Count(count));
    }
    let (labels, shape) = read_integers(given, "regions")?;
    if shape.len() != 1 {
        return Err(input_error(format!(
            "regions: expected a number, or an array of shape (any,), got {shape:?}"
        )));
    }
    let label = |(v, x): (usize, i64)| {
        u32::try_from(x).map_err(|_| input_error(format!("regions[{v}] is negative or too large")))
    };
    let labels = labels.into_iter().enumerate().map(label);
    Ok(Regions::Labels(labels.collect::<PyResult<_>>()?))
}

fn read_quantisation(given: Option<&str>) -> PyResult<Option<Quantisation>> {
    match given {
        None => Ok(None),
        Some("int16") => Ok(Some(Quantisation::Int16)),
        Some("half") => Ok(Some(Quantisation::Half)),
        Some(other) => Err(input_error(format!(
            "quantise must be \"int16\", \"half\" or None, not \"{other}\""
        ))),
    }
}

/// Warns of a tolerance so large that no key is needed to keep it.
fn warn_of_no_keys(py: Python<'_>, packed: &Packed, tolerance: Option<f64>) -> PyResult<()> {
    // Without keys the error is the whole motion.
    let motion = f64::from(packed.worst().2);
    match tolerance {
        Some(t) if packed.count == 0 && motion > 0.0 && t > motion => warn(
            py,
            &format!(
                "the tolerance, {t} m, exceeds the largest motion of the frames, {:.3} mm, so there are no keys: is it in \
                 millimetres? give metres",
                1e3 * motion
            ),
        ),
        _ => Ok(()),
    }
}

/// Fits few keys, and curves for them, to all frames of one or several clips, so that no vertex in any frame is farther than
/// `tolerance` from its place.
///
/// - `frames[f,n,3]`, or a list or dictionary of clips: offsets in the space where keys act, m; positions if `rest` is given. Curves and
///   errors come back in the same form.
/// - `tolerance`: largest distance, m. None: `keys` decides. If it exceeds the largest motion, there are no keys, and a warning says so.
/// - `rest[n,3]`: the plain mesh, m.
/// - `keys`: largest number of keys (of each region). If the tolerance needs more, the error is as small as this many allow.
/// - `matrices`: how the skeleton moves the vertices after the keys, where errors are measured. A pair `(poses, skin_weights)`: maps of
///   bones from rest `[f,b,4,4]` and weights `[n,b]`, for linear blend skinning. Or maps of the vertices `[f,n,3,3]`, `[f,n,3,4]` or
///   `[f,n,4,4]`. With a list or dictionary of clips, poses or maps are one too.
/// - `regions`: a number of regions (needs `rest`), or the region of each vertex `[n]`. Keys of one region move no other: more keys,
///   smaller files.
/// - `quantise`: "int16" or "half": the precision in which keys are stored, included in the error.
#[pyfunction]
#[pyo3(signature = (frames, tolerance=None, rest=None, keys=None, matrices=None, regions=None, quantise=None, progress=None))]
#[expect(
    clippy::too_many_arguments,
    reason = "keywords of Python, which settings would only repeat"
)]
pub(in crate::python) fn compress<'py>(
    py: Python<'py>,
    frames: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = optional_real)] tolerance: Option<f64>,
    rest: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = optional_integer)] keys: Option<i64>,
    matrices: Option<&Bound<'py, PyAny>>,
    regions: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = optional_text)] quantise: Option<&str>,
    progress: Option<Py<PyAny>>,
) -> PyResult<PyCompressed> {
    let clips = read_frames(frames)?;
    let frames = vertex_frames(&clips)?;
    let given = MapArguments::read(matrices, &clips, frames.vertex_count())?;
    let maps = given.maps(&frames)?;
    let rest = rest.map(|rest| read_single_points(rest, "rest"));
    let rest = rest.transpose()?;
    let rest = rest.map(|rest| rest.readonly());
    let rest = rest.as_ref().map(|rest| rest.as_slice()).transpose()?;
    let quantise = read_quantisation(quantise)?;
    let settings = CompressSettings {
        tolerance,
        keys: keys.map(|keys| read_count(keys, "keys")).transpose()?,
        regions: regions.map(read_regions).transpose()?,
        quantise,
    };
    let packed = with_progress(py, progress, |progress| {
        bake::compress(&frames, rest, &maps, &settings, progress).map_err(IntoPy::into_py)
    })?;
    warn_of_no_keys(py, &packed, tolerance)?;
    let count = packed.count;
    let curves = (0..frames.clip_count()).map(|c| {
        let range = frames.clip_range(c);
        let entry = |(f, k): (usize, usize)| packed.curves[(range.start + f) * count + k];
        Array2::from_shape_fn((range.len(), count), entry).into_pyarray(py)
    });
    let curves = clips.like_argument(py, curves.collect())?.unbind();
    let errors = frames.split_by_clip(&packed.errors, 1);
    let errors = errors.map(|e| Array1::from(e.to_vec()).into_pyarray(py));
    let errors = clips.like_argument(py, errors.collect())?.unbind();
    let vertices = frames.split_by_clip(&packed.worst_vertices, 1);
    let vertices = vertices.map(|v| Array1::from(v.to_vec()).into_pyarray(py));
    let worst_vertices = clips.like_argument(py, vertices.collect())?.unbind();
    let places = (0..frames.len()).map(|f| frames.locate(f)).collect();
    Ok(PyCompressed {
        packed,
        curves,
        errors,
        worst_vertices,
        places,
        quantise,
    })
}
