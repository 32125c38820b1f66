// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.TetMesh`.

use super::arrays::{WholeNumber, from_points, optional_real, read, text};
use super::arrays::{read_count, read_integers, read_points};
use super::csr::{Csr, scipy_arrays};
use super::elasticity;
use super::errors::{IntoPy, input_error, run_detached};
use super::lattice::PyLattice;
use super::material::PyMaterial;
use super::progress::with_progress;
use super::surface::PySurface;
use crate::elasticity::Material;
use crate::solve::NodeMatrix;
use crate::tets::{FillSettings, MassKind, MeshRepairs, TetError, TetMesh, WriteSettings};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray2};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// A tetrahedral body without a skeleton.
///
/// TetMesh(vertices, tets, orient=False, drop_unused=False):
///
/// - `vertices[k,3]`: metres, each in at least one tetrahedron.
/// - `tets[e,4]`: tetrahedra, positively oriented, each with volume.
/// - `orient`: True turns inverted tetrahedra round.
/// - `drop_unused`: True leaves out vertices of no element.
///
/// Raises TetError naming the first tetrahedron or vertex that makes no body.
#[pyclass(name = "TetMesh", module = "thew", frozen)]
pub(super) struct PyTetMesh(pub Arc<TetMesh>);

/// Reads elements of N corners; the error for an index that does not fit names its element.
fn read_elements<const N: usize>(
    object: &Bound<'_, PyAny>,
    name: &str,
    count: usize,
) -> PyResult<Vec<[u32; N]>> {
    let (data, shape) = read_integers(object, name)?;
    if !(shape.len() == 2 && shape[1] == N || data.is_empty()) {
        return Err(input_error(format!(
            "{name}: expected an array of shape (any, {N}), got {shape:?}"
        )));
    }
    let corner = |at: usize| {
        u32::try_from(data[at]).map_err(|_| {
            let (tet, vertex) = (at / N, data[at]);
            TetError::OutOfRange { tet, vertex, count }.into_py()
        })
    };
    (0..data.len() / N)
        .map(|e| {
            let mut corners = [0; N];
            for (k, c) in corners.iter_mut().enumerate() {
                *c = corner(N * e + k)?;
            }
            Ok(corners)
        })
        .collect()
}

fn read_indices<'py, const N: usize>(
    py: Python<'py>,
    rows: &[[u32; N]],
) -> Bound<'py, PyArray2<i32>> {
    Array2::from_shape_fn((rows.len(), N), |(i, k)| rows[i][k] as i32).into_pyarray(py)
}

fn read_material(given: Option<&PyMaterial>) -> Material {
    given.map_or_else(Material::default, |m| m.0)
}

#[pymethods]
impl PyTetMesh {
    #[new]
    #[pyo3(signature = (vertices, tets, orient=false, drop_unused=false))]
    fn new(
        py: Python<'_>,
        vertices: &Bound<'_, PyAny>,
        tets: &Bound<'_, PyAny>,
        orient: bool,
        drop_unused: bool,
    ) -> PyResult<Self> {
        let vertices = read_points(vertices, "vertices")?;
        let tets = read_elements::<4>(tets, "tets", vertices.len())?;
        let mend = MeshRepairs {
            orient,
            drop_unused,
        };
        let mesh = run_detached(py, || {
            TetMesh::with_repairs(vertices, tets, mend).map_err(IntoPy::into_py)
        })?;
        Ok(Self(Arc::new(mesh)))
    }

    /// Builds a mesh from `vertices[k,3]` (m) and `cubes[c,8]` with corners in the order i + 2j + 4k. Each cube is split into six
    /// tetrahedra so that neighbours agree.
    #[staticmethod]
    fn from_cubes(
        py: Python<'_>,
        vertices: &Bound<'_, PyAny>,
        cubes: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let vertices = read_points(vertices, "vertices")?;
        let cubes = read_elements::<8>(cubes, "cubes", vertices.len())?;
        let mesh = run_detached(py, || {
            TetMesh::from_cubes(vertices, cubes).map_err(IntoPy::into_py)
        })?;
        Ok(Self(Arc::new(mesh)))
    }

    /// Builds a bar from the origin: `counts` (nx, ny, nz) cubes over `lengths` (x, y, z) metres, six tetrahedra each. Vertex (i, j, k) has
    /// the number (i·(ny + 1) + j)·(nz + 1) + k.
    #[staticmethod]
    fn grid(
        py: Python<'_>,
        #[pyo3(from_py_with = read)] counts: [i64; 3],
        #[pyo3(from_py_with = read)] lengths: [f64; 3],
    ) -> PyResult<Self> {
        let mut n = [0; 3];
        for (n, &c) in n.iter_mut().zip(&counts) {
            *n = read_count(c, "counts")?;
        }
        let mesh = run_detached(py, || TetMesh::grid(n, lengths).map_err(IntoPy::into_py))?;
        Ok(Self(Arc::new(mesh)))
    }

    /// Fills a surface with tetrahedra, the boundary on the surface, its volume kept [labelle2007].
    ///
    /// - `cells_across`: cells along the diagonal of the body's box, 2 to 200. None: 12, or as many as fill nearly all of the surface, up
    ///   to 40.
    /// - `nodes`: wanted number of nodes, in place of `cells_across`.
    ///
    /// `notes` reports separate pieces and parts that are too thin. Raises TetError where nothing is enclosed, Cancelled.
    #[staticmethod]
    #[pyo3(signature = (surface, cells_across=None, nodes=None, progress=None))]
    fn fill(
        py: Python<'_>,
        surface: &PySurface,
        #[pyo3(from_py_with = optional_real)] cells_across: Option<f64>,
        nodes: Option<WholeNumber>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let options = FillSettings {
            cells_across,
            nodes: nodes.map(|n| n.0),
        };
        let mesh = with_progress(py, progress, |progress| {
            TetMesh::fill(&surface.0, options, progress).map_err(IntoPy::into_py)
        })?;
        Ok(Self(Arc::new(mesh)))
    }

    /// Reads .node/.ele (TetGen), .mesh (Medit, ASCII) or .veg (Vega, tetrahedra or cubes). A TetGen mesh is named by either file, or by a
    /// path without ending.
    ///
    /// A mesh whose tetrahedra are all inverted follows the other convention and is turned round. `orient` and `drop_unused` are as for
    /// TetMesh. Raises TetFileError naming the line, StorageError where the disk refuses.
    #[staticmethod]
    #[pyo3(signature = (path, orient=false, drop_unused=false))]
    fn read(
        py: Python<'_>,
        #[pyo3(from_py_with = read)] path: PathBuf,
        orient: bool,
        drop_unused: bool,
    ) -> PyResult<Self> {
        let mend = MeshRepairs {
            orient,
            drop_unused,
        };
        let mesh = run_detached(py, || TetMesh::read(&path, mend).map_err(IntoPy::into_py))?;
        Ok(Self(Arc::new(mesh)))
    }

    /// Writes the mesh in the format of the path's ending (.node or .ele: both files), whole or not at all.
    ///
    /// - `elements`: "tet", or "cubic" for the cubes of a mesh made of them (.veg only).
    /// - `material`: the material named in a .veg file.
    ///
    /// Raises TetError, StorageError.
    #[pyo3(signature = (path, elements="tet", material=None))]
    fn write(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = read)] path: PathBuf,
        #[pyo3(from_py_with = text)] elements: &str,
        material: Option<&PyMaterial>,
    ) -> PyResult<()> {
        let options = WriteSettings {
            elements: elements.parse().map_err(|e: TetError| e.into_py())?,
            material: self::read_material(material),
        };
        run_detached(py, || self.0.write(&path, options).map_err(IntoPy::into_py))
    }

    /// Vertices, float64 [k,3], metres.
    #[getter]
    fn vertices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        from_points(py, self.0.vertices())
    }

    /// Tetrahedra, int32 [e,4].
    #[getter]
    fn tets<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<i32>> {
        read_indices(py, self.0.tets())
    }

    /// Cubes that the tetrahedra were split from, int32 [c,8], six tetrahedra of each in order; empty for other meshes.
    #[getter]
    fn cubes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<i32>> {
        read_indices(py, self.0.cubes())
    }

    /// Volume, m³.
    #[getter]
    fn volume(&self) -> f64 {
        self.0.volume()
    }

    /// Diagonal of the bounding box, metres.
    #[getter]
    fn size(&self) -> f64 {
        self.0.size()
    }

    /// Number of pieces that share no vertex.
    #[getter]
    fn components(&self) -> usize {
        self.0.components()
    }

    /// Remarks of the construction, one sentence each.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.notes().to_vec()
    }

    /// Faces of one tetrahedron only, counter-clockwise seen from outside, int32 [t,3].
    #[getter]
    fn surface_triangles<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<i32>> {
        read_indices(py, &self.0.surface_triangles())
    }

    /// Returns the same cells as a lattice without bones, to embed points and surfaces.
    fn lattice(&self, py: Python<'_>) -> PyResult<PyLattice> {
        let lattice = run_detached(py, || self.0.lattice().map_err(IntoPy::into_py))?;
        Ok(PyLattice(Arc::new(lattice)))
    }

    /// Returns the mass matrix, kg, 3·k square, xyz interleaved: (data, indices, indptr) for scipy.sparse.csr_array. `kind` is "consistent"
    /// or "lumped" (diagonal).
    #[pyo3(signature = (material=None, kind="consistent"))]
    fn mass<'py>(
        &self,
        py: Python<'py>,
        material: Option<&PyMaterial>,
        #[pyo3(from_py_with = text)] kind: &str,
    ) -> PyResult<Csr<'py>> {
        let kind: MassKind = kind.parse().map_err(|e: TetError| e.into_py())?;
        let material = self::read_material(material);
        let csr = run_detached(py, || {
            let mass = self.0.mass_matrix(&material, kind);
            Ok(mass.expand())
        })?;
        scipy_arrays(py, csr)
    }

    /// Returns the linear stiffness matrix, N/m, 3·k square, xyz interleaved: (data, indices, indptr) for scipy.sparse.csr_array.
    #[pyo3(signature = (material=None))]
    fn stiffness<'py>(&self, py: Python<'py>, material: Option<&PyMaterial>) -> PyResult<Csr<'py>> {
        let material = self::read_material(material);
        let csr = run_detached(py, || {
            Ok(self.0.elements(&material).stiffness_matrix().expand())
        })?;
        scipy_arrays(py, csr)
    }

    /// Returns the elastic energy (J) at displacements `q[k,3]` (m) from rest. Models are as in `Body.energy`: "linear", "stvk" (St.
    /// Venant-Kirchhoff), "neohookean" (stable), "yeoh". Raises InputError for others.
    #[pyo3(signature = (q, material=None, model="stvk"))]
    fn energy(
        &self,
        q: &Bound<'_, PyAny>,
        material: Option<&PyMaterial>,
        #[pyo3(from_py_with = text)] model: &str,
    ) -> PyResult<f64> {
        elasticity::energy(&self.0.elements(&self::read_material(material)), q, model)
    }

    /// Returns the derivative of `energy` with respect to `q`, N, float64 [k,3].
    #[pyo3(signature = (q, material=None, model="stvk"))]
    fn gradient<'py>(
        &self,
        q: &Bound<'py, PyAny>,
        material: Option<&PyMaterial>,
        #[pyo3(from_py_with = text)] model: &str,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let elements = self.0.elements(&self::read_material(material));
        let forces = elasticity::gradient(&elements, q, model)?;
        Ok(from_points(q.py(), &forces))
    }

    /// Returns the Hessian of `energy`, N/m, 3·k square, xyz interleaved: (data, indices, indptr).
    #[pyo3(signature = (q, material=None, model="stvk"))]
    fn hessian<'py>(
        &self,
        q: &Bound<'py, PyAny>,
        material: Option<&PyMaterial>,
        #[pyo3(from_py_with = text)] model: &str,
    ) -> PyResult<Csr<'py>> {
        let elements = self.0.elements(&self::read_material(material));
        scipy_arrays(q.py(), elasticity::hessian(&elements, q, model)?)
    }

    fn __copy__(me: Py<Self>) -> Py<Self> {
        me
    }

    fn __deepcopy__(me: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        me
    }

    fn __repr__(&self) -> String {
        let (k, e) = (self.0.vertices().len(), self.0.tets().len());
        format!("<thew.TetMesh: {k} vertices, {e} tetrahedra>")
    }
}
