// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places of models as arrays: boundaries, figural coordinates, correspondence.

use crate::mrep::{Coordinates, Correspondence, Figure, Model, site_coordinates, site_radii};
use crate::python::arrays::{from_points, read_finite_points, read_floats, read_vector};
use crate::python::errors::{IntoPy, input_error, run_detached};
use crate::python::progress::with_progress;
use crate::python::surface::PySurface;
use crate::surface::Surface;
use crate::{Mat3, Vec3};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use std::sync::Arc;

/// Reads the level of a subdivision.
fn read_level(level: i64) -> PyResult<u32> {
    let refused = |_| input_error(format!("level: expected 0 or a small number, got {level}"));
    u32::try_from(level).map_err(refused)
}

/// Returns rows of four numbers as an array.
pub(super) fn from_coordinates<'py>(
    py: Python<'py>,
    rows: &[[f64; 4]],
) -> Bound<'py, PyArray2<f64>> {
    Array2::from_shape_fn((rows.len(), 4), |(i, k)| rows[i][k]).into_pyarray(py)
}

/// Returns the boundary around all figures.
pub(super) fn boundary(
    py: Python<'_>,
    model: &Model,
    level: i64,
    blend: f64,
    progress: Option<Py<PyAny>>,
) -> PyResult<PySurface> {
    let level = self::read_level(level)?;
    let surface = with_progress(py, progress, |progress| {
        let (vertices, triangles) = model
            .boundary(level, blend, progress)
            .map_err(IntoPy::into_py)?;
        Surface::new(vertices, triangles).map_err(IntoPy::into_py)
    })?;
    Ok(PySurface(Arc::new(surface)))
}

/// Returns the coordinates of the boundary's vertices.
pub(super) fn boundary_coordinates<'py>(
    py: Python<'py>,
    figure: &Figure,
    level: i64,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let level = self::read_level(level)?;
    let found = run_detached(py, || {
        site_coordinates(figure, level).map_err(IntoPy::into_py)
    })?;
    Ok(from_coordinates(py, &found))
}

/// Returns the uncertainty of the boundary at its vertices.
pub(super) fn tolerance<'py>(
    py: Python<'py>,
    figure: &Figure,
    level: i64,
    ratio: f64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    if !(0.0..=1e6).contains(&ratio) {
        return Err(input_error(format!(
            "ratio: expected a number that is not negative, got {ratio}"
        )));
    }
    let level = self::read_level(level)?;
    let radii = with_progress(py, None, |progress| {
        site_radii(figure, level, progress).map_err(IntoPy::into_py)
    })?;
    let all: Vec<f64> = radii.into_iter().map(|r| r * ratio).collect();
    Ok(all.into_pyarray(py))
}

/// Returns the figural coordinates of points.
pub(super) fn coordinates<'py>(
    points: &Bound<'py, PyAny>,
    figure: &Coordinates,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let places = read_finite_points(points, "points")?;
    let found = run_detached(points.py(), || Ok(figure.at_points(&places)))?;
    Ok(from_coordinates(points.py(), &found))
}

/// Returns the points of figural coordinates.
pub(super) fn points<'py>(
    coordinates: &Bound<'py, PyAny>,
    figure: &Coordinates,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let numbers = read_floats(coordinates, "coordinates", &[None, Some(4)])?;
    let rows = numbers.data.chunks_exact(4);
    let rows: Vec<[f64; 4]> = rows.map(|c| [c[0], c[1], c[2], c[3]]).collect();
    let found = run_detached(coordinates.py(), || {
        figure.points(&rows).map_err(IntoPy::into_py)
    })?;
    Ok(from_points(coordinates.py(), &found))
}

/// Returns the points of one figure that correspond to points of another.
pub(super) fn correspond<'py>(
    from: &Figure,
    to: &Figure,
    points: &Bound<'py, PyAny>,
    mirrored: bool,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let places = read_finite_points(points, "points")?;
    let found = run_detached(points.py(), || {
        let there = Correspondence::new(from, to, mirrored).map_err(IntoPy::into_py)?;
        there.points(&places).map_err(IntoPy::into_py)
    })?;
    Ok(from_points(points.py(), &found))
}

/// Returns a model after a similarity.
pub(super) fn transformed(
    model: &Model,
    scale: f64,
    rotation: Option<&Bound<'_, PyAny>>,
    translation: Option<&Bound<'_, PyAny>>,
) -> PyResult<Model> {
    let turn = rotation
        .map(|r| read_floats(r, "rotation", &[Some(3), Some(3)]))
        .transpose()?;
    let turn = turn.map_or(Mat3::identity(), |r| Mat3::from_row_slice(&r.data));
    let shift = translation
        .map(|t| read_vector(t, "translation"))
        .transpose()?;
    model
        .apply_similarity(scale, &turn, shift.unwrap_or(Vec3::zeros()))
        .map_err(IntoPy::into_py)
}
