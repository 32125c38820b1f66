// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of point caches.

use super::frames::{ClipArrays, read_frames, vertex_frames};
use crate::bake;
use crate::python::arrays::{from_frames, read, real};
use crate::python::errors::{IntoPy, input_error, run_detached};
use crate::python::progress::with_progress;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Reads `frames[f,n,3]`, which may be a list of one clip.
fn read_clip<'py>(frames: &Bound<'py, PyAny>) -> PyResult<ClipArrays<'py>> {
    let clips = read_frames(frames)?;
    match clips.slices()?.len() {
        0 | 1 => Ok(clips),
        count => Err(input_error(format!(
            "frames: a cache holds one clip, and these are {count}: write a file for each"
        ))),
    }
}

/// Writes positions to a PC2 file, whole or not at all.
///
/// - `frames[f,n,3]`: positions of the vertices, written as float32 in the axes and units given.
/// - `start`: frame of the first sample.
/// - `rate`: frames between two samples.
///
/// Raises StorageError for a file that cannot be written; earlier content then stays.
#[pyfunction]
#[pyo3(signature = (path, frames, start=0.0, rate=1.0, *, progress=None))]
pub(in crate::python) fn write_pc2(
    py: Python<'_>,
    #[pyo3(from_py_with = read)] path: PathBuf,
    frames: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = real)] start: f64,
    #[pyo3(from_py_with = real)] rate: f64,
    progress: Option<Py<PyAny>>,
) -> PyResult<()> {
    let clip = read_clip(frames)?;
    let frames = vertex_frames(&clip)?;
    with_progress(py, progress, |progress| {
        bake::write_pc2(&path, &frames, (start, rate), progress).map_err(IntoPy::into_py)
    })
}

/// Writes positions to an MDD file, whole or not at all.
///
/// - `frames[f,n,3]`: positions of the vertices, written as float32 in the axes and units given.
/// - `fps`: frames per second; frame i is at i / fps seconds.
///
/// Raises StorageError for a file that cannot be written; earlier content then stays.
#[pyfunction]
#[pyo3(signature = (path, frames, fps, *, progress=None))]
pub(in crate::python) fn write_mdd(
    py: Python<'_>,
    #[pyo3(from_py_with = read)] path: PathBuf,
    frames: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = real)] fps: f64,
    progress: Option<Py<PyAny>>,
) -> PyResult<()> {
    let clip = read_clip(frames)?;
    let frames = vertex_frames(&clip)?;
    with_progress(py, progress, |progress| {
        bake::write_mdd(&path, &frames, fps, progress).map_err(IntoPy::into_py)
    })
}

/// Reads a PC2 file -> (frames[f,n,3], start, rate): float32 positions, the frame of the first sample, and the frames between two.
/// Raises StorageError for a file of another format or version, cut off or damaged.
#[pyfunction]
pub(in crate::python) fn read_pc2<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = read)] path: PathBuf,
) -> PyResult<(Bound<'py, PyAny>, f64, f64)> {
    let cache = run_detached(py, || bake::read_pc2(&path).map_err(IntoPy::into_py))?;
    let frames = cache.positions.len() / (3 * cache.vertices);
    let array = from_frames(py, (frames, cache.vertices), cache.positions)?;
    Ok((array.into_any(), cache.start.into(), cache.rate.into()))
}

/// Reads an MDD file -> (frames[f,n,3], times[f]): float32 positions, and the time of each frame in seconds. Raises StorageError for a
/// file that is cut off or damaged.
#[pyfunction]
pub(in crate::python) fn read_mdd<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = read)] path: PathBuf,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyArray1<f32>>)> {
    let cache = run_detached(py, || bake::read_mdd(&path).map_err(IntoPy::into_py))?;
    let array = from_frames(py, (cache.times.len(), cache.vertices), cache.positions)?;
    Ok((array.into_any(), cache.times.into_pyarray(py)))
}
