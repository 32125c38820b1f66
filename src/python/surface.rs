// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Surface` and its report.

use super::arrays::{
    from_points, read_finite_points, read_points, read_triangles, read_vector, real,
};
use super::errors::{IntoPy, guard_panics, run_detached};
use super::progress::with_progress;
use super::scan::{ClosestArrays, QueryHit, Ray, into_arrays, read_rays};
use crate::Vec3;
use crate::surface::{Surface, SurfaceReport};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rayon::prelude::*;
use std::sync::Arc;

/// Vertices, girth and centre of a ring of skin.
type RingArrays<'py> = (Bound<'py, PyArray1<i32>>, f64, Bound<'py, PyArray1<f64>>);

/// A triangle surface as it comes: kept as given, welded and oriented inside for the physics.
///
/// Surface(vertices, triangles):
///
/// - `vertices[n,3]`: positions, metres.
/// - `triangles[t,3]`: indices of vertices.
///
/// Raises InputError naming the first vertex that is not finite, or the first triangle that names a vertex that does not exist.
#[pyclass(name = "Surface", module = "thew", frozen)]
pub(super) struct PySurface(pub Arc<Surface>);

impl PySurface {
    /// Returns a point found on the welded surface with its triangle's index in the surface as given.
    fn to_given_triangle(&self, found: QueryHit) -> QueryHit {
        QueryHit {
            triangle: self.0.welded().source[found.triangle as usize] as i32,
            ..found
        }
    }
}

#[pymethods]
impl PySurface {
    #[new]
    fn new(
        py: Python<'_>,
        vertices: &Bound<'_, PyAny>,
        triangles: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let vertices = read_points(vertices, "vertices")?;
        let triangles = self::read_triangles(triangles, "triangles")?;
        let surface = run_detached(py, || {
            Surface::new(vertices, triangles).map_err(IntoPy::into_py)
        })?;
        Ok(Self(Arc::new(surface)))
    }

    /// Vertices as given, float64 [n,3], metres.
    #[getter]
    fn vertices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        from_points(py, self.0.vertices())
    }

    /// Triangles as given, int32 [t,3].
    #[getter]
    fn triangles<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<i32>> {
        let t = self.0.triangles();
        Array2::from_shape_fn((t.len(), 3), |(i, k)| t[i][k] as i32).into_pyarray(py)
    }

    /// Enclosed volume, m³. Inside is where the winding number exceeds one half; triangles that enclose nothing count as a thin layer.
    #[getter]
    fn volume(&self, py: Python<'_>) -> PyResult<f64> {
        self.measure_volume(py, None)
    }

    /// Returns `volume`, with `progress(fraction, stage)`, which may return False to cancel. The volume is measured once; further calls are
    /// quick. Raises Cancelled.
    #[pyo3(signature = (progress=None))]
    fn measure_volume(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<f64> {
        with_progress(py, progress, |progress| {
            let volume = self.0.measure_volume(progress);
            volume.map_err(IntoPy::into_py)
        })
    }

    /// Diagonal of the bounding box along the surface's own horizontal axes, metres. It is the same however the surface is turned about z.
    #[getter]
    fn size(&self) -> f64 {
        self.0.size()
    }

    /// Returns the same surface without cavities: the volume that its inner walls enclose counts as inside. Triangles of inner walls are
    /// turned outward; a surface without inner walls is returned as it is.
    fn filled(&self, py: Python<'_>) -> PyResult<Self> {
        run_detached(py, || Ok(Self(Arc::new(self.0.fill_cavities()))))
    }

    /// Returns the findings about the surface as a SurfaceReport; `str()` of it is sentences.
    fn report(&self, py: Python<'_>) -> PyResult<PySurfaceReport> {
        run_detached(py, || Ok(PySurfaceReport(self.0.report())))
    }

    /// Returns the generalised winding number at `points[p,3]` of the surface welded and oriented outward, float64 [p] [jacobson2013;
    /// barill2018].
    fn winding_number<'py>(
        &self,
        py: Python<'py>,
        points: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let points = read_finite_points(points, "points")?;
        let numbers = run_detached(py, || Ok(self.0.winding_numbers(&points)))?;
        Ok(numbers.into_pyarray(py))
    }

    /// Returns the nearest points of the surface to `points[p,3]`: (points float64 [p,3], distances float64 [p], triangles int32 [p]).
    fn closest_point<'py>(
        &self,
        py: Python<'py>,
        points: &Bound<'py, PyAny>,
    ) -> PyResult<ClosestArrays<'py>> {
        let points = read_finite_points(points, "points")?;
        let nearest = |&p: &Vec3| Some(self.to_given_triangle(self.0.closest_point(p).into()));
        let found: Vec<_> = run_detached(py, || Ok(points.par_iter().map(nearest).collect()))?;
        let (points, distances, triangles, _) = into_arrays(py, &found);
        Ok((points, distances, triangles))
    }

    /// Returns the ring of skin around a point in the plane across `axis`: (vertices int32 [k], girth in metres, centre float64 [3]), or None where
    /// no skin goes around the point. The vertices are those within half of `width` (metres) of the plane that hang together with the section,
    /// and at any width the nearer end of each edge that the plane cuts. Of several skins around the point the longest counts.
    #[pyo3(signature = (point, axis, width=0.0))]
    fn ring<'py>(
        &self,
        py: Python<'py>,
        point: &Bound<'py, PyAny>,
        axis: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = real)] width: f64,
    ) -> PyResult<Option<RingArrays<'py>>> {
        let (point, axis) = (read_vector(point, "point")?, read_vector(axis, "axis")?);
        let ring = run_detached(py, || Ok(self.0.ring(point, axis, width)))?;
        Ok(ring.map(|ring| {
            let vertices: Vec<i32> = ring.vertices.iter().map(|&v| v as i32).collect();
            let centre: Vec<f64> = ring.centre.iter().copied().collect();
            (
                vertices.into_pyarray(py),
                ring.girth,
                centre.into_pyarray(py),
            )
        }))
    }

    /// Returns the first points, front or back, where rays meet the surface.
    ///
    /// Rays start at `origins[p,3]` and go along `directions[p,3]` of any length. The result is (points float64 [p,3], distances float64
    /// [p], triangles int32 [p]); a ray that meets nothing has NaN, infinity and -1.
    fn cast_rays<'py>(
        &self,
        py: Python<'py>,
        origins: &Bound<'py, PyAny>,
        directions: &Bound<'py, PyAny>,
    ) -> PyResult<ClosestArrays<'py>> {
        let rays = read_rays(origins, directions)?;
        let cast = |&(origin, direction): &Ray| {
            let hit = self.0.intersect_ray(origin, direction)?;
            Some(self.to_given_triangle(hit.into()))
        };
        let found: Vec<_> = run_detached(py, || Ok(rays.par_iter().map(cast).collect()))?;
        let (points, distances, triangles, _) = into_arrays(py, &found);
        Ok((points, distances, triangles))
    }

    fn __copy__(me: Py<Self>) -> Py<Self> {
        me
    }

    fn __deepcopy__(me: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        me
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        (self.vertices(py), self.triangles(py)).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        let (n, t) = (self.0.vertices().len(), self.0.triangles().len());
        format!("<thew.Surface: {n} vertices, {t} triangles>")
    }
}

/// Findings about a surface, in numbers; `str()` of it is sentences for an artist.
#[pyclass(name = "SurfaceReport", module = "thew", frozen)]
pub(super) struct PySurfaceReport(SurfaceReport);

#[pymethods]
impl PySurfaceReport {
    /// True if no edge belongs to one triangle only.
    #[getter]
    fn closed(&self) -> bool {
        self.0.closed
    }

    /// True if no edge belongs to more than two triangles.
    #[getter]
    fn manifold(&self) -> bool {
        self.0.manifold
    }

    /// True if neighbouring triangles were all turned the same way.
    #[getter]
    fn oriented(&self) -> bool {
        self.0.oriented
    }

    /// Number of connected pieces.
    #[getter]
    fn components(&self) -> usize {
        self.0.components
    }

    /// Number of edges of one triangle only.
    #[getter]
    fn boundary_edges(&self) -> usize {
        self.0.boundary_edges
    }

    /// Number of edges of more than two triangles.
    #[getter]
    fn non_manifold_edges(&self) -> usize {
        self.0.non_manifold_edges
    }

    /// Number of used vertices that coincide with an earlier one.
    #[getter]
    fn duplicate_vertices(&self) -> usize {
        self.0.duplicate_vertices
    }

    /// Number of triangles with a repeated corner or without area, left out of the physics.
    #[getter]
    fn degenerate_triangles(&self) -> usize {
        self.0.degenerate_triangles
    }

    /// Number of triangles over the same vertices as an earlier one, left out of the physics.
    #[getter]
    fn duplicate_triangles(&self) -> usize {
        self.0.duplicate_triangles
    }

    /// Number of triangles that were turned round for the physics.
    #[getter]
    fn flipped_triangles(&self) -> usize {
        self.0.flipped_triangles
    }

    /// Number of vertices that no triangle uses.
    #[getter]
    fn unused_vertices(&self) -> usize {
        self.0.unused_vertices
    }

    /// Number of triangles inside the flesh, which do not bound it.
    #[getter]
    fn interior_triangles(&self) -> usize {
        self.0.interior_triangles
    }

    /// Number of triangles that enclose nothing and are given a thin layer.
    #[getter]
    fn thin_triangles(&self) -> usize {
        self.0.thin_triangles
    }

    /// Findings, one sentence each.
    #[getter]
    fn sentences(&self) -> Vec<String> {
        self.0.sentences()
    }

    fn __str__(&self) -> PyResult<String> {
        guard_panics(|| Ok(self.0.to_string()))
    }
}
