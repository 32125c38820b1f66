// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.cast_rays` and `thew.closest_points`, and points found on a surface as arrays.

use super::arrays::{from_points, read_finite_points, read_points, real};
use super::errors::{input_error, run_detached};
use crate::Vec3;
use crate::surface::{self, ClosestPoint, RayHit};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;

/// Arrays (points, distances, triangles).
pub(super) type ClosestArrays<'py> = (
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<i32>>,
);

pub(super) type Ray = (Vec3, Vec3);

/// A point of a triangle, or the placeholders of a query without an answer.
#[derive(Clone, Copy)]
pub(super) struct QueryHit {
    pub point: Vec3,
    pub distance: f64,
    pub triangle: i32,
    pub barycentric: [f64; 3],
}

impl QueryHit {
    const NO_HIT: Self = Self {
        point: Vec3::new(f64::NAN, f64::NAN, f64::NAN),
        distance: f64::INFINITY,
        triangle: -1,
        barycentric: [f64::NAN; 3],
    };
}

impl From<RayHit> for QueryHit {
    fn from(hit: RayHit) -> Self {
        Self {
            point: hit.point,
            distance: hit.distance,
            triangle: hit.triangle as i32,
            barycentric: hit.barycentric,
        }
    }
}

impl From<ClosestPoint> for QueryHit {
    fn from(closest: ClosestPoint) -> Self {
        Self {
            point: closest.point,
            distance: closest.distance,
            triangle: closest.triangle as i32,
            barycentric: closest.barycentric,
        }
    }
}

/// Arrays (points, distances, triangles, barycentric).
pub(super) type QueryHitArrays<'py> = (
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray2<f64>>,
);

pub(super) fn into_arrays<'py>(py: Python<'py>, found: &[Option<QueryHit>]) -> QueryHitArrays<'py> {
    let found: Vec<QueryHit> = found
        .iter()
        .map(|f| f.unwrap_or(QueryHit::NO_HIT))
        .collect();
    let column = |i: usize, k: usize| found[i].barycentric[k];
    (
        from_points(py, &found.iter().map(|f| f.point).collect::<Vec<_>>()),
        PyArray1::from_iter(py, found.iter().map(|f| f.distance)),
        PyArray1::from_iter(py, found.iter().map(|f| f.triangle)),
        Array2::from_shape_fn((found.len(), 3), |(i, k)| column(i, k)).into_pyarray(py),
    )
}

pub(super) fn read_rays(
    origins: &Bound<'_, PyAny>,
    directions: &Bound<'_, PyAny>,
) -> PyResult<Vec<Ray>> {
    let origins = read_finite_points(origins, "origins")?;
    let directions = read_finite_points(directions, "directions")?;
    if origins.len() != directions.len() {
        return Err(input_error(format!(
            "directions: expected one for each of {} origins, got {}",
            origins.len(),
            directions.len()
        )));
    }
    Ok(origins.into_iter().zip(directions).collect())
}

/// Reads vertices, finite or not, and triangles; fails if a triangle names a vertex that does not exist.
fn read_shape(
    vertices: &Bound<'_, PyAny>,
    triangles: &Bound<'_, PyAny>,
) -> PyResult<(Vec<Vec3>, Vec<[u32; 3]>)> {
    let vertices = read_points(vertices, "vertices")?;
    let triangles = super::arrays::read_triangles(triangles, "triangles")?;
    let beyond = |t: &[u32; 3]| t.iter().any(|&v| v as usize >= vertices.len());
    match triangles.iter().position(beyond) {
        None => Ok((vertices, triangles)),
        Some(at) => Err(input_error(format!(
            "triangles[{at}] names a vertex that does not exist: there are {} vertices",
            vertices.len()
        ))),
    }
}

/// Returns the first points, front or back, where rays meet triangles farther than `min_distance` away.
///
/// No hierarchy is built, which suits a shape with few queries; `Surface.cast_rays` builds one first. Takes `vertices[n,3]`,
/// `triangles[t,3]`, `origins[p,3]`, `directions[p,3]` of any length. The result is (points float64 [p,3], distances float64 [p], triangles
/// int32 [p], barycentric float64 [p,3]); a ray that meets nothing has NaN, infinity, -1 and NaN. No ray meets a triangle with a corner
/// that is not finite. A ray does not slip through an edge [woop2013]. Raises InputError.
#[pyfunction]
#[pyo3(signature = (vertices, triangles, origins, directions, min_distance=0.0))]
pub(super) fn cast_rays<'py>(
    py: Python<'py>,
    vertices: &Bound<'py, PyAny>,
    triangles: &Bound<'py, PyAny>,
    origins: &Bound<'py, PyAny>,
    directions: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = real)] min_distance: f64,
) -> PyResult<QueryHitArrays<'py>> {
    if min_distance < 0.0 || min_distance.is_nan() {
        return Err(input_error("min_distance is negative or not a number"));
    }
    let (vertices, triangles) = read_shape(vertices, triangles)?;
    let rays = read_rays(origins, directions)?;
    let cast = |&(origin, direction): &Ray| {
        let hit = surface::cast_ray(&vertices, &triangles, origin, direction, min_distance)?;
        Some(hit.into())
    };
    let found: Vec<_> = run_detached(py, || Ok(rays.iter().map(cast).collect()))?;
    Ok(into_arrays(py, &found))
}

/// Returns the nearest points of triangles to `points[p,3]`.
///
/// No hierarchy is built, which suits a shape with few queries; `Surface.closest_point` builds one first. Takes `vertices[n,3]`,
/// `triangles[t,3]`. The result is (points float64 [p,3], distances float64 [p], triangles int32 [p], barycentric float64 [p,3]); a point
/// without an answer has NaN, infinity, -1 and NaN. Raises InputError.
#[pyfunction]
pub(super) fn closest_points<'py>(
    py: Python<'py>,
    vertices: &Bound<'py, PyAny>,
    triangles: &Bound<'py, PyAny>,
    points: &Bound<'py, PyAny>,
) -> PyResult<QueryHitArrays<'py>> {
    let (vertices, triangles) = read_shape(vertices, triangles)?;
    let points = read_finite_points(points, "points")?;
    let nearest = |&point: &Vec3| {
        let closest = surface::closest_point(&vertices, &triangles, point)?;
        Some(closest.into())
    };
    let found: Vec<_> = run_detached(py, || Ok(points.iter().map(nearest).collect()))?;
    Ok(into_arrays(py, &found))
}
