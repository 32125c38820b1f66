// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of vertex animation textures.

use super::frames::{ClipArrays, read_frames, read_single_points, vertex_frames};
use crate::bake::{self, TextureFormat, TextureSettings, TextureSpace, VertexTexture};
use crate::python::arrays::{
    List, from_frames, integer, optional_text, read, read_count, real, text,
};
use crate::python::errors::{IntoPy, input_error, run_detached};
use crate::python::progress::with_progress;
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// A vertex animation texture that `write_vertex_texture` has written.
#[pyclass(name = "VertexTexture", module = "thew", frozen)]
pub(in crate::python) struct PyVertexTexture(VertexTexture);

#[pymethods]
impl PyVertexTexture {
    /// Path of the image.
    #[getter]
    fn texture(&self) -> PathBuf {
        self.0.texture.clone()
    }

    /// Path of the JSON file beside it, which tells programs how to play it.
    #[getter]
    fn description(&self) -> PathBuf {
        self.0.description.clone()
    }

    /// Space of the positions: "rest" or "posed".
    #[getter]
    fn space(&self) -> &'static str {
        self.0.space.name()
    }

    /// Number of columns.
    #[getter]
    fn width(&self) -> usize {
        self.0.width
    }

    /// Number of rows.
    #[getter]
    fn height(&self) -> usize {
        self.0.height
    }

    /// Rows of each frame: more than one where the vertices are more than the columns.
    #[getter]
    fn rows_per_frame(&self) -> usize {
        self.0.rows_per_frame
    }

    /// Largest distance of a decoded position from the given one, in units of the positions, measured on the values that are written.
    #[getter]
    fn max_error(&self) -> f64 {
        self.0.max_error
    }

    /// Largest difference of a decoded tension from the given one; None without tension.
    #[getter]
    fn tension_error(&self) -> Option<f64> {
        self.0.tension_error
    }

    /// Texture coordinates of each vertex in the first frame, float32 [n,2]: the centre of its texel, u from the left, v from the bottom, as
    /// in Blender's UV layers.
    #[getter]
    fn texels<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f32>> {
        let texels = &self.0.texels;
        Array2::from_shape_fn((texels.len() / 2, 2), |(v, k)| texels[2 * v + k]).into_pyarray(py)
    }

    /// Step of v, from the bottom, from one frame to the next: negative, as frames run down from the top.
    #[getter]
    fn frame_step(&self) -> f64 {
        -(self.0.rows_per_frame as f64) / self.0.height as f64
    }

    fn __repr__(&self) -> String {
        let (width, height) = (self.0.width, self.0.height);
        let path = self.0.texture.display();
        format!("<thew.VertexTexture: {width} x {height} texels in {path}>")
    }
}

fn read_format(name: &str) -> PyResult<TextureFormat> {
    name.parse()
        .map_err(|()| input_error(format!("format: expected \"exr\" or \"png\", got {name:?}")))
}

fn read_space(name: &str) -> PyResult<TextureSpace> {
    name.parse().map_err(|()| {
        input_error(format!(
            "space: expected \"rest\" or \"posed\", got {name:?}"
        ))
    })
}

/// Reads a length of units, one for all axes or one for each.
fn unit(object: &Bound<'_, PyAny>) -> PyResult<[f64; 3]> {
    match object.extract::<f64>() {
        Ok(one) => Ok([one; 3]),
        Err(_) => object.extract().map_err(|_| {
            input_error("metres_per_unit: expected a number, or one for each of three axes")
        }),
    }
}

/// Writes a vertex animation texture and a JSON file that tells how to play it, whole or not at all.
///
/// - `folder`: created if it is missing, in an existing one.
/// - `clips`: positions [f,n,3] by name, metres or units of the mesh; also one array, or a list of them, named clip0, clip1 and so on.
/// - `rest[n,3]`: the plain mesh before the skeleton acts, in the same unit. Offsets from it are stored.
/// - `fps`: frames per second.
/// - `format`: "exr", half floats; "png", 16 bits between the bounds of all offsets.
/// - `name`: name of both files, without ending.
/// - `max_size`: largest number of columns and rows, at most 16384. More vertices than columns are wrapped over several rows a frame.
/// - `space`: "rest" for positions before the skeleton acts, such as `to_rest_space` returns: the shader adds offsets before the bones act.
///   "posed" for positions as they are seen: engines show the mesh without its skeleton. The JSON file states it.
/// - `metres_per_unit`: length of a unit in metres, one number or one for each axis, 1 if it is not given: what the JSON file tells engines.
/// - `clip_fps`: frames per second of each clip, where clips differ.
/// - `tension`: values [f,n] of the clips, in the form of `clips`, such as `thew.tension` returns. They are written to the alpha channel.
///
/// The texture has 6 bytes a vertex and frame (8 with tension) before compression, no mipmaps, and no colour space: import it as data. Raises StorageError
/// for files that cannot be written; earlier files then stay.
#[pyfunction]
#[pyo3(signature = (folder, clips, rest, fps, format="exr", *, name="offsets", max_size=8192, space="rest", metres_per_unit=None, clip_fps=None, tension=None, progress=None))]
#[allow(clippy::too_many_arguments)] // keywords of Python
pub(in crate::python) fn write_vertex_texture(
    py: Python<'_>,
    #[pyo3(from_py_with = read)] folder: PathBuf,
    clips: &Bound<'_, PyAny>,
    rest: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = real)] fps: f64,
    #[pyo3(from_py_with = text)] format: &str,
    #[pyo3(from_py_with = text)] name: &str,
    #[pyo3(from_py_with = integer)] max_size: i64,
    #[pyo3(from_py_with = text)] space: &str,
    metres_per_unit: Option<Bound<'_, PyAny>>,
    #[pyo3(from_py_with = read)] clip_fps: Option<List<f64>>,
    tension: Option<&Bound<'_, PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<PyVertexTexture> {
    let clips = read_frames(clips)?;
    let names = clips.names();
    let frames = vertex_frames(&clips)?;
    let tension = tension
        .map(|given| {
            let wanted = [None, Some(frames.vertex_count())];
            ClipArrays::read_beside(given, "tension", &wanted, &clips)
        })
        .transpose()?;
    let tension = tension.as_ref().map(ClipArrays::slices).transpose()?;
    let rest = read_single_points(rest, "rest")?.readonly();
    let rest = rest.as_slice()?;
    let settings = TextureSettings {
        name: name.to_owned(),
        fps,
        format: read_format(format)?,
        max_size: read_count(max_size, "max_size")?,
        metres_per_unit: metres_per_unit.map_or(Ok([1.0; 3]), |each| unit(&each))?,
        clip_fps: clip_fps.unwrap_or_default().0,
        space: read_space(space)?,
    };
    let written = with_progress(py, progress, |progress| {
        let (clips, tension) = ((&names[..], &frames), tension.as_deref());
        bake::write_vertex_texture(&folder, clips, rest, tension, &settings, progress)
            .map_err(IntoPy::into_py)
    })?;
    Ok(PyVertexTexture(written))
}

/// Reads a texture that `write_vertex_texture` has written, by the path of its JSON file or of its folder.
///
/// - `content`: "offsets", a dictionary of the clips' offsets from rest, float32 [f,n,3], in the unit in which they were written, by name;
///   "tension", one of their tension, float32 [f,n], empty where the texture has none.
/// - `space`: "rest" or "posed", to refuse a texture of the other space; None takes both.
///
/// Raises StorageError for files that are damaged or do not belong together.
#[pyfunction]
#[pyo3(signature = (path, *, content="offsets", space=None))]
pub(in crate::python) fn read_vertex_texture<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = read)] path: PathBuf,
    #[pyo3(from_py_with = text)] content: &str,
    #[pyo3(from_py_with = optional_text)] space: Option<&str>,
) -> PyResult<Bound<'py, PyDict>> {
    let space = space.map(read_space).transpose()?;
    let wants_tension = match content {
        "offsets" => false,
        "tension" => true,
        _ => {
            return Err(input_error(format!(
                "content: expected \"offsets\" or \"tension\", got {content:?}"
            )));
        }
    };
    let texture = run_detached(py, || {
        bake::read_vertex_texture(&path).map_err(IntoPy::into_py)
    })?;
    if let Some(space) = space.filter(|space| *space != texture.space) {
        return Err(input_error(format!(
            "space: “{}” holds {} positions, not {} ones; read it with space={:?} and move vertices as its JSON file tells",
            path.display(),
            texture.space.name(),
            space.name(),
            texture.space.name()
        )));
    }
    let (clips, vertices) = (PyDict::new(py), texture.vertices);
    if !wants_tension {
        for (name, offsets) in texture.clips {
            let frames = offsets.len() / (3 * vertices);
            clips.set_item(name, from_frames(py, (frames, vertices), offsets)?)?;
        }
        return Ok(clips);
    }
    let tension = texture.tension.unwrap_or_default();
    for ((name, _), values) in texture.clips.into_iter().zip(tension) {
        let shape = (values.len() / vertices, vertices);
        let array = Array2::from_shape_vec(shape, values);
        let array = array.map_err(|e| input_error(e.to_string()))?;
        clips.set_item(name, array.into_pyarray(py))?;
    }
    Ok(clips)
}
