// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Lattice`.

use super::arrays::{
    List, WholeNumber, from_indices, from_points, read_finite_points, read_points, read_weights,
    real, text,
};
use super::csr::{Csr, scipy_arrays};
use super::errors::{IntoPy, input_error, run_detached};
use super::lattice_by_hand::{
    GivenTip, error_with_places, lattice_from_faces, list_violations, read_hand_settings,
};
use super::progress::with_progress;
use super::skeleton::PySkeleton;
use super::surface::PySurface;
use crate::lattice::{
    BoneChains, Cell, Embedding, EncloseSettings, Lattice, LatticeError, Symmetry,
};
use crate::progress::Progress;
use crate::skeleton::{Skeleton, SkinWeights};
use crate::surface::Surface;
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::sync::Arc;

/// A control lattice: tetrahedra, prisms and hexahedra around a body, bones on its edges [capell2002, §3.1].
///
/// `Lattice.enclose` builds one. Lattice(vertices, cells, used_bones=None, bone_edges=None, tip_bones=None, bone_of_vertex=None,
/// copies=None):
///
/// - `vertices[k,3]`: metres.
/// - `cells`: lists of 4, 6 or 8 vertices. Tetrahedra are positively oriented; prisms list the bottom triangle, then the top; hexahedra
///   have the order i + 2j + 4k.
/// - `used_bones`, `bone_edges`, `tip_bones`, `bone_of_vertex[k]`, `copies`: as the properties of these names. Without `bone_of_vertex` a
///   vertex on several chains follows the bone whose head it is, before one that it is inside, at the tail or at the tip of.
///
/// A lattice built from all of another's properties makes the same body. Raises InputError.
#[pyclass(name = "Lattice", module = "thew", frozen)]
pub(super) struct PyLattice(pub Arc<Lattice>);

type EmbeddingArrays<'py> = (Bound<'py, PyArray2<i32>>, Bound<'py, PyArray2<f64>>);

/// Returns an embedding as arrays: rows as wide as the longest, at least eight; shorter ones end in -1 and 0.
fn embedding_arrays(py: Python<'_>, e: Embedding) -> EmbeddingArrays<'_> {
    let width = (0..e.len()).map(|i| e.row(i).len()).max().unwrap_or(0);
    let shape = (e.len(), width.max(8));
    let (mut indices, mut weights) = (Array2::from_elem(shape, -1), Array2::zeros(shape));
    for i in 0..e.len() {
        for (k, (vertex, weight)) in e.row(i).enumerate() {
            (indices[(i, k)], weights[(i, k)]) = (vertex as i32, weight);
        }
    }
    (indices.into_pyarray(py), weights.into_pyarray(py))
}

/// Builds the bone chains of a lattice constructed from arrays.
fn build_chains(
    vertices: usize,
    used_bones: Vec<u32>,
    chains: Vec<Vec<u32>>,
    tip_bones: Vec<u32>,
    bone_of_vertex: Option<Vec<i64>>,
) -> PyResult<BoneChains> {
    if chains.len() != used_bones.len() + tip_bones.len() {
        return Err(input_error(format!(
            "bone_edges: expected {} chains, one per used bone and virtual tip, got {}",
            used_bones.len() + tip_bones.len(),
            chains.len()
        )));
    }
    if let Some(v) = chains.iter().flatten().find(|&&v| v as usize >= vertices) {
        return Err(input_error(format!(
            "bone_edges: vertex {v} does not exist, there are only {vertices}"
        )));
    }
    let mut bones = BoneChains {
        used_bones,
        chains,
        tip_bones,
        bone_of_vertex: Vec::new(),
    };
    bones.bone_of_vertex = match bone_of_vertex {
        None => bones.drivers(vertices),
        Some(given) if given.len() == vertices => given
            .into_iter()
            .map(|bone| u32::try_from(bone).ok())
            .collect(),
        Some(given) => {
            return Err(input_error(format!(
                "bone_of_vertex: expected {vertices} numbers, one per vertex, got {}",
                given.len()
            )));
        }
    };
    Ok(bones)
}

/// Builds a lattice around a surface and a skeleton, with the skin weights of the surface's vertices.
pub(super) fn enclose_surface(
    py: Python<'_>,
    (surface, skeleton): (&PySurface, &PySkeleton),
    skin_weights: Option<&Bound<'_, PyAny>>,
    progress: Option<Py<PyAny>>,
    build: impl Fn(
        &Surface,
        &Skeleton,
        Option<&SkinWeights>,
        &dyn Progress,
    ) -> Result<Lattice, LatticeError>
    + Send
    + Sync,
) -> PyResult<PyLattice> {
    let n = surface.0.vertices().len();
    let skin = skin_weights
        .map(|w| read_weights(w, "skin_weights", n, skeleton.0.len()))
        .transpose()?;
    let lattice = with_progress(py, progress, |progress| {
        build(&surface.0, &skeleton.0, skin.as_ref(), progress).map_err(IntoPy::into_py)
    })?;
    Ok(PyLattice(Arc::new(lattice)))
}

/// Reads whether a lattice is mirrored.
fn parse_symmetry(name: &str) -> PyResult<Symmetry> {
    match name {
        "auto" => Ok(Symmetry::Auto),
        "off" => Ok(Symmetry::Off),
        _ => Err(input_error(format!(
            "symmetric: expected \"auto\" or \"off\", not '{name}'"
        ))),
    }
}

#[pymethods]
impl PyLattice {
    #[new]
    #[pyo3(signature = (
        vertices,
        cells,
        used_bones=None,
        bone_edges=None,
        tip_bones=None,
        bone_of_vertex=None,
        copies=None,
    ))]
    fn new(
        vertices: &Bound<'_, PyAny>,
        cells: List<List<i64>>,
        used_bones: Option<List<WholeNumber>>,
        bone_edges: Option<List<List<WholeNumber>>>,
        tip_bones: Option<List<WholeNumber>>,
        bone_of_vertex: Option<List<i64>>,
        copies: Option<PyBackedBytes>,
    ) -> PyResult<Self> {
        let indices = |list: List<WholeNumber>| {
            list.0
                .into_iter()
                .map(WholeNumber::to_index)
                .collect::<Vec<_>>()
        };
        let cells = cells.0;
        let py = vertices.py();
        let vertices = read_points(vertices, "vertices")?;
        let count = vertices.len();
        let mut list = Vec::with_capacity(cells.len());
        for (cell, corners) in cells.iter().enumerate() {
            let ids: Vec<u32> = corners
                .0
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
        let bones = build_chains(
            count,
            indices(used_bones.unwrap_or_default()),
            bone_edges
                .unwrap_or_default()
                .0
                .into_iter()
                .map(indices)
                .collect(),
            indices(tip_bones.unwrap_or_default()),
            bone_of_vertex.map(|list| list.0),
        )?;
        let lattice = run_detached(py, || {
            let lattice = Lattice::with_bones(vertices, list, bones);
            let lattice = lattice.and_then(|lattice| match copies {
                Some(copies) => lattice.with_copies(&copies),
                None => Ok(lattice),
            });
            lattice.map_err(IntoPy::into_py)
        })?;
        Ok(Self(Arc::new(lattice)))
    }

    /// Builds a lattice around a surface and a skeleton.
    ///
    /// - `skin_weights[n,b]`: choose the bones, their virtual tips and the parts. As everywhere, each row counts by its shares and need not
    ///   sum to one.
    /// - `cells_across`: number of cells along the diagonal of the body's box, 2 to 64.
    /// - `symmetric`: "auto": if bones and skin at rest are mirror images to a thousandth of the size, the lattice is its own mirror image,
    ///   see `mirror_plane`. "off": it is built as a whole.
    ///
    /// The result is deterministic. It is built along the character's own axes, so a character turned about z gets the same lattice turned.
    /// Raises Cancelled, InputError, MotionError.
    #[staticmethod]
    #[pyo3(signature = (surface, skeleton, skin_weights=None, cells_across=12.0, progress=None, symmetric="auto"))]
    fn enclose(
        py: Python<'_>,
        surface: &PySurface,
        skeleton: &PySkeleton,
        skin_weights: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = real)] cells_across: f64,
        progress: Option<Py<PyAny>>,
        #[pyo3(from_py_with = text)] symmetric: &str,
    ) -> PyResult<Self> {
        let settings = EncloseSettings {
            cells_across,
            symmetric: parse_symmetry(symmetric)?,
        };
        enclose_surface(
            py,
            (surface, skeleton),
            skin_weights,
            progress,
            |surface, skeleton, skin, progress| {
                Lattice::enclose(surface, skeleton, skin, settings, progress)
            },
        )
    }

    /// Recognises the cells of a mesh of their faces.
    ///
    /// - `vertices[k,3]`: metres. Those without a face are left out.
    /// - `faces`: lists of 3 or 4 vertices around each face; inner faces are listed once.
    ///
    /// A closed shell of 4 triangles is a tetrahedron, of 2 triangles and 3 quadrilaterals a prism, of 6 quadrilaterals a hexahedron, unless
    /// smaller cells fill it. A hole with the faces of a cell all around reads as a cell. How faces meet decides, not where vertices are, so
    /// cells that were turned over are recognised as such. The lattice has no bones yet: see `for_character`. Raises InputError, LatticeError.
    #[staticmethod]
    fn from_faces(vertices: &Bound<'_, PyAny>, faces: List<List<i64>>) -> PyResult<Self> {
        Ok(Self(Arc::new(lattice_from_faces(vertices, faces)?)))
    }

    /// Returns a mesh of the faces of the cells, each once, that `from_faces` reads back: (vertices float64 [k,3], faces). Virtual copies
    /// are merged.
    fn face_mesh<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray2<f64>>, Vec<Vec<u32>>) {
        let (vertices, faces) = self.0.face_mesh();
        (from_points(py, &vertices), faces)
    }

    /// Returns these cells as the lattice of a character: with the bones on their edges, and cells of tetrahedra doubled where separate
    /// parts of the body share them.
    ///
    /// - `skin_weights[n,b]`: choose the bones to follow, as in `enclose`.
    /// - `tips`: virtual tips, each (bone, head, tail) in metres. A tip that is not on edges is left out, with a note.
    /// - `reach`: vertices are moved onto bones nearer than this share of their shortest edge, 0 to 0.5.
    ///
    /// The first vertices and cells are those of this lattice; copies follow. Raises Cancelled, InputError, LatticeError with every violated
    /// condition [capell2002, §3.1].
    #[pyo3(signature = (surface, skeleton, skin_weights=None, tips=None, reach=0.15, progress=None))]
    #[expect(
        clippy::too_many_arguments,
        reason = "the arguments of the Python method"
    )]
    fn for_character(
        &self,
        py: Python<'_>,
        surface: &PySurface,
        skeleton: &PySkeleton,
        skin_weights: Option<&Bound<'_, PyAny>>,
        tips: Option<List<GivenTip<'_>>>,
        #[pyo3(from_py_with = real)] reach: f64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let settings = read_hand_settings(tips, reach)?;
        let (n, bones) = (surface.0.vertices().len(), skeleton.0.len());
        let skin = skin_weights
            .map(|w| read_weights(w, "skin_weights", n, bones))
            .transpose()?;
        let lattice = with_progress(py, progress, |progress| {
            let fitted =
                self.0
                    .for_character(&surface.0, &skeleton.0, skin.as_ref(), &settings, progress);
            fitted.map_err(|e| error_with_places(e, self.0.vertices(), Some(&self.0)))
        })?;
        Ok(Self(Arc::new(lattice)))
    }

    /// Returns the same lattice with those bones of `skeleton` that are found on its edges. A bone is found as a chain of vertices from
    /// head to tail, each as near to the bone as joints are welded. Virtual tips belong to no skeleton and are not found.
    fn with_bones_of(&self, py: Python<'_>, skeleton: &PySkeleton) -> PyResult<Self> {
        let lattice = run_detached(py, || {
            let (vertices, cells) = (self.0.vertices().to_vec(), self.0.cells().to_vec());
            let bones = self.0.find_bone_chains(&skeleton.0);
            let found = Lattice::with_bones(vertices, cells, bones);
            let copies = self.0.copies();
            let found = found.and_then(|found| match copies {
                Some(copies) => found.with_copies(&copies),
                None => Ok(found),
            });
            found.map_err(IntoPy::into_py)
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

    /// Indices of the bones that the lattice follows, int32 [u].
    #[getter]
    fn used_bones<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        from_indices(py, &self.0.bones().used_bones)
    }

    /// Chains of vertices from head to tail, int32 arrays: one per used bone, then one per virtual tip.
    #[getter]
    fn bone_edges<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyArray1<i32>>> {
        self.0
            .bones()
            .chains
            .iter()
            .map(|c| from_indices(py, c))
            .collect()
    }

    /// Bone that drives each virtual tip chain, int32 [v].
    #[getter]
    fn tip_bones<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        from_indices(py, &self.0.bones().tip_bones)
    }

    /// Bone that drives each vertex, int32 [k]; -1: none.
    #[getter]
    fn bone_of_vertex<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        let bones = self.0.bones().bone_of_vertex.iter();
        let bones: Vec<i32> = bones.map(|b| b.map_or(-1, |b| b as i32)).collect();
        bones.into_pyarray(py)
    }

    /// Record of whose flesh is whose where parts of the body share the place of a cell, for the construction from arrays. It belongs to
    /// the place, the scale and the cells of this lattice. None: not known.
    #[getter]
    fn copies<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        Some(PyBytes::new(py, &self.0.copies()?))
    }

    /// Plane that mirrors the lattice onto itself: (unit normal float64 [3], offset), with `normal · x = offset` in metres. None: it was not
    /// built so. The second half of the cells are the images of the first half in the same order, with the last two vertices swapped.
    #[getter]
    fn mirror_plane<'py>(&self, py: Python<'py>) -> Option<(Bound<'py, PyArray1<f64>>, f64)> {
        let plane = self.0.mirror_plane()?;
        let normal: [f64; 3] = plane.normal.into();
        Some((normal.to_vec().into_pyarray(py), plane.offset))
    }

    /// Remarks of the construction, one sentence each.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.notes().to_vec()
    }

    /// Returns the violations of the four conditions [capell2002, §3.1], named; empty if they hold.
    fn check(
        &self,
        py: Python<'_>,
        surface: &PySurface,
        skeleton: &PySkeleton,
    ) -> PyResult<Vec<String>> {
        run_detached(py, || {
            let found = self.0.check(&surface.0, &skeleton.0);
            Ok(found.iter().map(ToString::to_string).collect())
        })
    }

    /// Returns the violations of the four conditions as objects, with cells and places; empty if they hold.
    fn find_violations<'py>(
        &self,
        py: Python<'py>,
        surface: &PySurface,
        skeleton: &PySkeleton,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let found = run_detached(py, || Ok(self.0.check(&surface.0, &skeleton.0)))?;
        list_violations(py, &found, self.0.vertices(), Some(&self.0))
    }

    /// Returns `points[p,3]` as weighted means of lattice vertices: (indices int32 [p,8], weights float64 [p,8]).
    ///
    /// Entries are -1 and 0 where a cell has fewer than eight corners. A point belongs to the first containing cell in index order;
    /// outside, it is extrapolated from the nearest cell.
    fn embed<'py>(
        &self,
        py: Python<'py>,
        points: &Bound<'py, PyAny>,
    ) -> PyResult<EmbeddingArrays<'py>> {
        let points = read_finite_points(points, "points")?;
        Ok(embedding_arrays(
            py,
            run_detached(py, || Ok(self.0.embed(&points)))?,
        ))
    }

    /// Returns the embedding of a surface's vertices (as `embed_surface`) or of `points[p,3]` (as `embed`) as a sparse matrix [p,k]: (data,
    /// indices, indptr) for scipy.sparse.csr_array. Its product with values at the lattice's k vertices gives the values at the points.
    fn embedding_matrix<'py>(
        &self,
        py: Python<'py>,
        points: &Bound<'py, PyAny>,
    ) -> PyResult<Csr<'py>> {
        let surface = points.cast::<PySurface>().ok().map(|s| s.get().0.clone());
        let embedding = match surface {
            Some(surface) => run_detached(py, || Ok(self.0.embed_surface(&surface)))?,
            None => {
                let points = read_finite_points(points, "points")?;
                run_detached(py, || Ok(self.0.embed(&points)))?
            }
        };
        scipy_arrays(py, embedding.into_matrix())
    }

    /// Returns the embedding of a surface's vertices, (indices int32 [n,8], weights float64 [n,8]), as `embed` does. Where virtual copies
    /// of a cell overlap, each vertex goes with the copy that holds its own flesh.
    fn embed_surface<'py>(
        &self,
        py: Python<'py>,
        surface: &PySurface,
    ) -> PyResult<EmbeddingArrays<'py>> {
        Ok(embedding_arrays(
            py,
            run_detached(py, || Ok(self.0.embed_surface(&surface.0)))?,
        ))
    }

    fn __copy__(me: Py<Self>) -> Py<Self> {
        me
    }

    fn __deepcopy__(me: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        me
    }

    fn __repr__(&self) -> String {
        let (k, c) = (self.0.vertices().len(), self.0.cells().len());
        format!("<thew.Lattice: {k} vertices, {c} cells>")
    }
}
