// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Shell`.

use super::arrays::{
    from_points, optional_real, read, read_floats, read_nodal, read_points, read_triangles, real,
};
use super::csr::{Csr, scipy_arrays};
use super::errors::{IntoPy, input_error, run_detached};
use super::progress::with_progress;
use crate::Vec3;
use crate::shell::{Shell, ShellMaterial, ShellParameter};
use crate::solve::NodeMatrix;
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// A triangle mesh with an elastic energy: discrete shells [grinspun2003; hildebrandt2012, §5].
///
/// Shell(vertices, triangles, stretching=1.0, area=1.0, bending=1.0, density=1.0, unit=None):
///
/// - `vertices[n,3]`, `triangles[t,3]`: the mesh at rest, metres. Any mesh will do, with borders, fins or loose parts.
/// - `stretching`, `area`, `bending`: resistance of lengths of edges, areas of triangles and angles between triangles. Each is a number or
///   a map on the vertices, [n].
/// - `density`: mass per area, kg/m², a number or a map [n].
/// - `unit`: length in metres that counts as one for the weights. None takes a tenth of the diameter of the mesh, so that a body and its
///   enlarged copy move alike; 1 gives the printed energy of the coordinates as they are.
///
/// Raises InputError naming the first vertex or triangle that makes no shell.
#[pyclass(name = "Shell", module = "thew", frozen)]
pub(super) struct PyShell(pub Arc<Shell>);

/// Reads a number or one per vertex. Default: 1.
fn read_painted(object: Option<&Bound<'_, PyAny>>, name: &str) -> PyResult<ShellParameter> {
    let Some(object) = object else {
        return Ok(1.0.into());
    };
    // `extract` alone would take an array of one number, too.
    if object.len().is_err()
        && let Ok(number) = object.extract::<f64>()
    {
        return Ok(number.into());
    }
    Ok(read_floats(object, name, &[None])?.data.into())
}

impl PyShell {
    /// Reads the positions of all vertices; fails unless the energy can be computed at them.
    fn read_places(&self, x: &Bound<'_, PyAny>) -> PyResult<Vec<Vec3>> {
        let x = read_nodal(x, "x", self.0.node_count())?;
        self.0.check(&x, "x").map_err(IntoPy::into_py)?;
        Ok(x)
    }
}

#[pymethods]
impl PyShell {
    #[new]
    #[pyo3(
        signature = (vertices, triangles, stretching=None, area=None, bending=None, density=None, unit=None),
        text_signature = "(vertices, triangles, stretching=1.0, area=1.0, bending=1.0, density=1.0, unit=None)"
    )]
    fn new(
        vertices: &Bound<'_, PyAny>,
        triangles: &Bound<'_, PyAny>,
        stretching: Option<&Bound<'_, PyAny>>,
        area: Option<&Bound<'_, PyAny>>,
        bending: Option<&Bound<'_, PyAny>>,
        density: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = optional_real)] unit: Option<f64>,
    ) -> PyResult<Self> {
        let (py, vertices) = (vertices.py(), read_points(vertices, "vertices")?);
        let triangles = self::read_triangles(triangles, "triangles")?;
        let material = ShellMaterial {
            stretching: read_painted(stretching, "stretching")?,
            area: read_painted(area, "area")?,
            bending: read_painted(bending, "bending")?,
            density: read_painted(density, "density")?,
            unit,
        };
        let shell = run_detached(py, || {
            Shell::new(vertices, triangles, &material).map_err(IntoPy::into_py)
        })?;
        Ok(Self(Arc::new(shell)))
    }

    /// Vertices at rest, float64 [n,3], metres.
    #[getter]
    fn vertices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        from_points(py, self.0.rest())
    }

    /// Triangles as given, int32 [t,3].
    #[getter]
    fn triangles<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<i32>> {
        let t = self.0.triangles();
        Array2::from_shape_fn((t.len(), 3), |(i, k)| t[i][k] as i32).into_pyarray(py)
    }

    /// Mass of each vertex, kg, float64 [n], above zero: density times a third of the area of each triangle around it.
    #[getter]
    fn mass<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.masses().to_vec().into_pyarray(py)
    }

    /// Length that counts as one in the energy, metres: as given, or a tenth of the diameter of the mesh.
    #[getter]
    fn unit(&self) -> f64 {
        self.0.unit()
    }

    /// Returns the elastic energy with the vertices at `x[n,3]`.
    fn energy(&self, py: Python<'_>, x: &Bound<'_, PyAny>) -> PyResult<f64> {
        let x = self.read_places(x)?;
        run_detached(py, || Ok(self.0.energy(&x)))
    }

    /// Returns the derivative of `energy` with respect to `x`, float64 [n,3].
    fn gradient<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let places = self.read_places(x)?;
        let forces = run_detached(x.py(), || {
            let mut forces = vec![Vec3::zeros(); places.len()];
            self.0.gradient(&places, &mut forces);
            Ok(forces)
        })?;
        Ok(from_points(x.py(), &forces))
    }

    /// Returns the Hessian of `energy`, 3·n square, xyz interleaved: (data, indices, indptr). Its structure is the same for every `x`.
    fn hessian<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Csr<'py>> {
        let places = self.read_places(x)?;
        let matrix = run_detached(x.py(), || Ok(self.0.hessian(&places).expand()))?;
        scipy_arrays(x.py(), matrix)
    }

    /// Returns the positions `y[n,3]` near `x[n,3]` at which the energy plus weight · Σ mass |y − x|² is lowest: a sculpt with less strain
    /// in it [hildebrandt2012, §6]. The larger `weight`, the less the vertices move; those marked in `fixed[n]` (True or False) stay.
    /// Raises InputError, Cancelled.
    #[pyo3(signature = (x, weight, fixed=None, progress=None))]
    fn relax<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = real)] weight: f64,
        fixed: Option<&Bound<'py, PyAny>>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let places = self.read_places(x)?;
        let held = fixed.map(|fixed| self.read_held(fixed)).transpose()?;
        let relaxed = with_progress(x.py(), progress, |progress| {
            let relaxed = self.0.relax(&places, weight, held.as_deref(), progress);
            relaxed.map_err(IntoPy::into_py)
        })?;
        Ok(from_points(x.py(), &relaxed.positions))
    }

    /// Writes the shell to a file: versioned, checksummed, whole or not at all. Raises StorageError.
    fn save(&self, py: Python<'_>, #[pyo3(from_py_with = read)] path: PathBuf) -> PyResult<()> {
        run_detached(py, || self.0.save(&path).map_err(IntoPy::into_py))
    }

    /// Reads a shell that `save` wrote. Raises StorageError for a file that is not Thew's, of another version or kind, damaged or refused by
    /// the disk.
    #[staticmethod]
    fn load(py: Python<'_>, #[pyo3(from_py_with = read)] path: PathBuf) -> PyResult<Self> {
        run_detached(py, || {
            let read = Shell::load(&path).map_err(IntoPy::into_py)?;
            Ok(Self(Arc::new(read)))
        })
    }

    /// Returns the findings about the mesh, one sentence each: slivers, edges of more than two triangles, loose parts.
    fn report(&self) -> Vec<String> {
        self.0.report()
    }

    fn __copy__(me: Py<Self>) -> Py<Self> {
        me
    }

    fn __deepcopy__(me: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        me
    }

    fn __repr__(&self) -> String {
        let (n, t) = (self.0.node_count(), self.0.triangles().len());
        format!("<thew.Shell: {n} vertices, {t} triangles>")
    }
}

impl PyShell {
    /// Reads True or False for each vertex; refuses other numbers, as vertex indices might be given by mistake.
    fn read_held(&self, fixed: &Bound<'_, PyAny>) -> PyResult<Vec<bool>> {
        let numbers = read_floats(fixed, "fixed", &[Some(self.0.node_count())])?;
        if let Some(at) = numbers.data.iter().position(|&x| x != 0.0 && x != 1.0) {
            return Err(input_error(format!(
                "fixed[{at}] is {}: give True or False for each vertex",
                numbers.data[at]
            )));
        }
        Ok(numbers.data.iter().map(|&x| x == 1.0).collect())
    }
}
