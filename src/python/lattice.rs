// SPDX-License-Identifier: MIT OR Apache-2.0
//! `thew.Lattice`.

use super::arrays::{Whole, finite_points, from_indices, from_points, points, weights};
use super::errors::{IntoPy, detached, input};
use super::progress::with_progress;
use super::skeleton::PySkeleton;
use super::surface::PySurface;
use crate::lattice::{BoneChains, Cell, Embedding, EncloseSettings, Lattice, LatticeError};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use std::sync::Arc;

/// A control lattice: tetrahedra, prisms and hexahedra around a body, bones on its edges
/// [capell2002, §3.1].
///
/// Lattice(vertices[k,3], cells): cells as lists of 4, 6 or 8 vertices; tetrahedra positively oriented,
/// prisms bottom triangle then top, hexahedra in the order i + 2j + 4k. used_bones, bone_edges, tip_bones: as the
/// properties of these names; a vertex on several chains follows the bone of the first. `Lattice.enclose` builds
/// one.
#[pyclass(name = "Lattice", module = "thew", frozen)]
pub(super) struct PyLattice(pub Arc<Lattice>);

type Arrays<'py> = (Bound<'py, PyArray2<i32>>, Bound<'py, PyArray2<f64>>);

fn embedding(py: Python<'_>, e: Embedding) -> Arrays<'_> {
    let n = e.len();
    let indices = Array2::from_shape_fn((n, 8), |(i, k)| e.indices[i][k]);
    let weights = Array2::from_shape_fn((n, 8), |(i, k)| e.weights[i][k]);
    (indices.into_pyarray(py), weights.into_pyarray(py))
}

/// The bones on a lattice that is given; each vertex follows the first chain that it lies on.
fn chains(
    vertices: usize,
    used_bones: Vec<u32>,
    chains: Vec<Vec<u32>>,
    tip_bones: Vec<u32>,
) -> PyResult<BoneChains> {
    if chains.len() != used_bones.len() + tip_bones.len() {
        return Err(input(format!(
            "bone_edges: expected {} chains, one per used bone and virtual tip, got {}",
            used_bones.len() + tip_bones.len(),
            chains.len()
        )));
    }
    let mut bone_of_vertex = vec![None; vertices];
    for (chain, bone) in chains.iter().zip(used_bones.iter().chain(&tip_bones)) {
        for &v in chain {
            let held: Option<&mut Option<u32>> = bone_of_vertex.get_mut(v as usize);
            let Some(held) = held else {
                return Err(input(format!(
                    "bone_edges: vertex {v} does not exist, there are only {vertices}"
                )));
            };
            held.get_or_insert(*bone);
        }
    }
    Ok(BoneChains {
        used_bones,
        chains,
        tip_bones,
        bone_of_vertex,
    })
}

#[pymethods]
impl PyLattice {
    #[new]
    #[pyo3(signature = (vertices, cells, used_bones=None, bone_edges=None, tip_bones=None))]
    fn new(
        py: Python<'_>,
        vertices: &Bound<'_, PyAny>,
        cells: Vec<Vec<i64>>,
        used_bones: Option<Vec<Whole>>,
        bone_edges: Option<Vec<Vec<Whole>>>,
        tip_bones: Option<Vec<Whole>>,
    ) -> PyResult<Self> {
        let indices = |list: Vec<Whole>| list.into_iter().map(Whole::index).collect::<Vec<_>>();
        let vertices = points(vertices, "vertices")?;
        let count = vertices.len();
        let mut list = Vec::with_capacity(cells.len());
        for (cell, corners) in cells.iter().enumerate() {
            let ids: Vec<u32> = corners
                .iter()
                .map(|&vertex| {
                    u32::try_from(vertex).map_err(|_| LatticeError::OutOfRange {
                        cell,
                        vertex,
                        count,
                    })
                })
                .collect::<Result<_, _>>()
                .map_err(IntoPy::into_py)?;
            let error = LatticeError::Corners {
                cell,
                corners: ids.len(),
            };
            list.push(Cell::from_corners(&ids).ok_or_else(|| error.into_py())?);
        }
        let bones = chains(
            count,
            indices(used_bones.unwrap_or_default()),
            bone_edges
                .unwrap_or_default()
                .into_iter()
                .map(indices)
                .collect(),
            indices(tip_bones.unwrap_or_default()),
        )?;
        let lattice = detached(py, || {
            Lattice::with_bones(vertices, list, bones).map_err(IntoPy::into_py)
        })?;
        Ok(Self(Arc::new(lattice)))
    }

    /// Builds a lattice around a surface and a skeleton.
    ///
    /// skin_weights[n,b] choose the bones, their virtual tips and the parts; cells_across is the number of
    /// cells along the diagonal of the body's box, 2 to 64. Deterministic. Raises Cancelled, InputError, MotionError.
    #[staticmethod]
    #[pyo3(signature = (surface, skeleton, skin_weights=None, cells_across=12.0, progress=None))]
    fn enclose(
        py: Python<'_>,
        surface: &PySurface,
        skeleton: &PySkeleton,
        skin_weights: Option<&Bound<'_, PyAny>>,
        cells_across: f64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let n = surface.0.vertices().len();
        let skin = skin_weights
            .map(|w| weights(w, "skin_weights", n, skeleton.0.len()))
            .transpose()?;
        let lattice = with_progress(py, progress, |progress| {
            let settings = EncloseSettings { cells_across };
            Lattice::enclose(&surface.0, &skeleton.0, skin.as_ref(), settings, progress)
                .map_err(IntoPy::into_py)
        })?;
        Ok(Self(Arc::new(lattice)))
    }

    /// Lattice vertices at rest, float64 [k,3], metres.
    #[getter]
    fn vertices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        from_points(py, self.0.vertices())
    }

    /// Cells as lists of 4, 6 or 8 vertices.
    #[getter]
    fn cells(&self) -> Vec<Vec<u32>> {
        self.0
            .cells()
            .iter()
            .map(|c| c.corners().to_vec())
            .collect()
    }

    /// Indices of the bones that the lattice follows, int32.
    #[getter]
    fn used_bones<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        from_indices(py, &self.0.bones().used_bones)
    }

    /// Chains of vertices head to tail: one per used bone, then one per virtual tip.
    #[getter]
    fn bone_edges<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyArray1<i32>>> {
        self.0
            .bones()
            .chains
            .iter()
            .map(|c| from_indices(py, c))
            .collect()
    }

    /// For each virtual tip chain, the bone that drives it, int32.
    #[getter]
    fn tip_bones<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        from_indices(py, &self.0.bones().tip_bones)
    }

    /// What the construction has to say, one sentence each.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.notes().to_vec()
    }

    /// Violations of the four conditions [capell2002, §3.1], named; empty when they hold.
    fn check(
        &self,
        py: Python<'_>,
        surface: &PySurface,
        skeleton: &PySkeleton,
    ) -> PyResult<Vec<String>> {
        detached(py, || {
            let found = self.0.check(&surface.0, &skeleton.0);
            Ok(found.iter().map(ToString::to_string).collect())
        })
    }

    /// Points[p,3] as weighted means of lattice vertices -> (indices int32 [p,8], weights [p,8]), -1 and 0
    /// where a cell has fewer than eight corners: the first containing cell in index order; outside, the
    /// nearest cell, extrapolated.
    fn embed<'py>(&self, py: Python<'py>, points: &Bound<'py, PyAny>) -> PyResult<Arrays<'py>> {
        let points = finite_points(points, "points")?;
        Ok(embedding(py, detached(py, || Ok(self.0.embed(&points)))?))
    }

    /// Like `embed` for a surface's vertices; where virtual copies of a cell overlap, each vertex goes with
    /// the copy that holds its own flesh.
    fn embed_surface<'py>(&self, py: Python<'py>, surface: &PySurface) -> PyResult<Arrays<'py>> {
        Ok(embedding(
            py,
            detached(py, || Ok(self.0.embed_surface(&surface.0)))?,
        ))
    }

    fn __repr__(&self) -> String {
        let (k, c) = (self.0.vertices().len(), self.0.cells().len());
        format!("<thew.Lattice: {k} vertices, {c} cells>")
    }
}
