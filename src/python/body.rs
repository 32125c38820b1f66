// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Body`.

use super::arguments::Arguments;
use super::arrays::{from_indices, from_points, read, read_floats, read_nodal, real, text};
use super::body_settings::build_body;
use super::csr::{Csr, scipy_arrays};
use super::errors::{IntoPy, run_detached, warn};
use super::lattice::PyLattice;
use super::material::PyMaterial;
use super::skeleton::PySkeleton;
use super::surface::PySurface;
use super::{body_parts, body_shown, elasticity, twist};
use crate::body::Body;
use crate::dynamics;
use crate::present::CarriedSurfaces;
use crate::store::{self, StoreError};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Usual sizes, metres, from an insect to a giant. A size outside mostly means another unit.
const USUAL_SIZES: std::ops::RangeInclusive<f64> = 0.005..=60.0;

/// Everything precomputed for one character [capell2002, §3.3, §4.3, §4.6]; immutable.
///
/// Body(surface, skeleton, lattice, material, region_weights=None, ...):
///
/// - `region_weights[n,b]`, `settings` and further keywords: a `BodySettings`, and settings by name that replace its own.
///
/// Raises InputError, Cancelled.
#[pyclass(name = "Body", module = "thew", frozen, weakref)]
pub(super) struct PyBody(pub Arc<Body>, CarriedSurfaces);

impl PyBody {
    /// Wraps a body with all surfaces that it carries.
    pub(super) fn from_surfaces(surfaces: impl Into<CarriedSurfaces>) -> Self {
        let surfaces = surfaces.into();
        Self(surfaces.body().clone(), surfaces)
    }

    /// Wraps softer or firmer flesh of this body, which carries the same surfaces.
    fn with_flesh(&self, body: Body) -> Self {
        Self::from_surfaces(self.1.with_body(Arc::new(body)))
    }

    /// Returns the bytes of the body's file.
    pub(super) fn to_bytes(&self, name: &Path) -> Result<Vec<u8>, StoreError> {
        store::to_bytes(name, BODY_FILE_KIND, &self.1)
    }

    /// Reads the bytes of [`to_bytes`](Self::to_bytes).
    pub(super) fn from_bytes(name: &Path, bytes: &[u8]) -> Result<Self, StoreError> {
        let surfaces = store::from_bytes::<CarriedSurfaces>(name, BODY_FILE_KIND, bytes)?;
        Ok(Self::from_surfaces(surfaces))
    }

    /// Borrows the carried surfaces, shared with everything that shows them.
    pub(super) fn surfaces(&self) -> &CarriedSurfaces {
        &self.1
    }
}

/// Kind in the header of a body's file.
const BODY_FILE_KIND: &str = "body";

#[pymethods]
impl PyBody {
    #[new]
    #[pyo3(
        signature = (*arguments, **keywords),
        text_signature = "(surface, skeleton, lattice, material, region_weights=None, *, progress=None, settings=None, **keywords)"
    )]
    fn new(
        py: Python<'_>,
        arguments: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        const NAMES: [&str; 5] = [
            "surface",
            "skeleton",
            "lattice",
            "material",
            "region_weights",
        ];
        let given = Arguments::new("Body", &NAMES, arguments, keywords)?;
        let surface = given.require("surface", |s| Ok(s.extract::<Py<PySurface>>()?))?;
        let skeleton = given.require("skeleton", |s| Ok(s.extract::<Py<PySkeleton>>()?))?;
        let lattice = given.require("lattice", |l| Ok(l.extract::<Py<PyLattice>>()?))?;
        let material = given.require("material", |m| Ok(m.extract::<Py<PyMaterial>>()?))?;
        let (surface, skeleton) = (&surface.get().0, &skeleton.get().0);
        let (lattice, material) = (&lattice.get().0, material.get().0);
        let body = build_body(
            py,
            given,
            (&**surface, &**skeleton),
            |settings, progress| {
                Body::new(surface, skeleton, lattice, material, settings, progress)
            },
        )?;
        let size = body.size();
        if !USUAL_SIZES.contains(&size) {
            let hint = format!(
                "the mesh is {size:.3} m across: lengths are metres; if it was modelled in another unit, scale it and the skeleton"
            );
            warn(py, &hint)?;
        }
        Ok(Self::from_surfaces(body))
    }

    /// Returns the body of the same surface, skeleton and lattice with another material and other settings, bit for bit as `Body` builds it. It
    /// is quicker by what these do not change: where flesh is and, while weights, flesh, kind and hard parts stay, how thick it is. Further
    /// surfaces are not carried along. Raises InputError.
    #[pyo3(
        signature = (*arguments, **keywords),
        text_signature = "($self, material, region_weights=None, *, progress=None, settings=None, **keywords)"
    )]
    fn rebuilt(
        &self,
        py: Python<'_>,
        arguments: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        const NAMES: [&str; 2] = ["material", "region_weights"];
        let given = Arguments::new("Body.rebuilt", &NAMES, arguments, keywords)?;
        let material = given.require("material", |m| Ok(m.extract::<Py<PyMaterial>>()?))?;
        let (former, material) = (&self.0, material.get().0);
        let parts = (&**former.surface(), &**former.skeleton());
        let body = build_body(py, given, parts, |settings, progress| {
            former.rebuilt(material, settings, progress)
        })?;
        Ok(Self::from_surfaces(body))
    }

    /// Number of nodes: the functions in which the flesh deforms, which have three degrees of freedom each. Those of the lattice's vertices
    /// come first, then the details of each level.
    #[getter]
    fn node_count(&self) -> usize {
        self.0.node_count()
    }

    /// Number of nodes, as `node_count`: displacements and forces have one row of three for each.
    #[getter]
    fn dofs(&self) -> usize {
        self.0.node_count()
    }

    /// Levels of details beyond the functions of the lattice's vertices: `basis_levels` of its settings.
    #[getter]
    fn basis_levels(&self) -> usize {
        self.0.basis().levels()
    }

    /// Level of each node, int32 [k], ascending: 0 for the lattice's vertices.
    #[getter]
    fn level_of_node<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        let basis = self.0.basis();
        let levels: Vec<u32> = (0..basis.len()).map(|a| basis.level_of(a) as u32).collect();
        from_indices(py, &levels)
    }

    /// Points at rest around which the nodes' functions live, float64 [k,3], metres.
    #[getter]
    fn node_centres<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        from_points(py, self.0.basis().centres())
    }

    /// Functions of each level before and after the choice, int32 [l+1,2]: one for each new vertex of the subdivided lattice, and
    /// those kept, which are independent on the flesh and zero on the bones.
    #[getter]
    fn functions_of_levels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let basis = self.0.basis();
        let both = basis
            .candidate_counts()
            .into_iter()
            .zip(basis.level_counts());
        let counts: Vec<u32> = both
            .flat_map(|(all, kept)| [all as u32, kept as u32])
            .collect();
        from_indices(py, &counts).reshape([basis.levels() + 1, 2])
    }

    /// Lattice vertices held by bones, int32 [j], ascending.
    #[getter]
    fn bone_vertices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        from_indices(py, &self.0.bone_vertices().collect::<Vec<_>>())
    }

    /// Lattice vertices whose motion the pose prescribes, int32 [h]: `bone_vertices`, and those of loose parts that follow their skin
    /// weights. All others are free.
    #[getter]
    fn held_vertices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        let held: Vec<u32> = self.0.held_vertices().collect();
        from_indices(py, &held)
    }

    /// Bone that drives each of `bone_vertices`, int32 [j].
    #[getter]
    fn bone_of_vertex<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        let bone = |v: u32| self.0.bone_of_vertex()[v as usize];
        let bones: Vec<u32> = self.0.bone_vertices().filter_map(bone).collect();
        from_indices(py, &bones)
    }

    /// Weights of the bones that each node follows, float64 [k,b]; rows sum to one.
    #[getter]
    fn region_weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (weights, bones) = (self.0.region_weights(), self.0.skeleton().len());
        let table = weights.to_dense().into_pyarray(py);
        table.reshape([weights.len(), bones])
    }

    /// Returns the farthest that one g sideways moves a vertex of the surface at rest, as a part of the body's size. Beyond a few
    /// hundredths lively clips need stiffer flesh.
    fn softness(&self, py: Python<'_>) -> PyResult<f64> {
        run_detached(py, || dynamics::softness(&self.0).map_err(IntoPy::into_py))
    }

    /// Returns the same body, as soft as a dial says, 0 (firm) to 1 (soft), whatever its size. In the middle one g sideways moves its
    /// softest flesh by 1.8 % of its size, at the ends by a seventeenth and seventeen times of that. The motion stays below half of the
    /// thickness of its trunk. Raises InputError.
    fn with_softness(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = real)] softness: f64,
    ) -> PyResult<Self> {
        let body = run_detached(py, || {
            dynamics::soften(&self.0, softness).map_err(IntoPy::into_py)
        })?;
        Ok(self.with_flesh(body))
    }

    /// Returns the factors on the body's stiffness that give it the softness of each of `dials[n]`, 0 to 1, as in `with_softness`, float64 [n].
    /// `simulate` takes them as `stiffness`. Raises InputError.
    fn softness_factors<'py>(
        &self,
        py: Python<'py>,
        dials: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let dials = read_floats(dials, "dials", &[None])?.data;
        let factors = run_detached(py, || {
            dynamics::softness_factors(&self.0, &dials).map_err(IntoPy::into_py)
        })?;
        Ok(factors.into_pyarray(py))
    }

    /// Returns the `young` of `with_softness`, Pa. `with_young` gives it to a painted body, whose unpainted places are then as soft as in
    /// `with_softness` of the same body without paint. Raises InputError.
    fn young_of_softness(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = real)] softness: f64,
    ) -> PyResult<f64> {
        run_detached(py, || {
            dynamics::young_of_softness(&self.0, softness).map_err(IntoPy::into_py)
        })
    }

    /// Map of flesh at the surface's vertices, float64 [n]: 0 is the skin as it is, 1 as soft as it gets.
    #[getter]
    fn flesh<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let n = self.0.surface().vertices().len();
        let map = self.0.flesh().map(|map| map.flesh.clone());
        map.unwrap_or_else(|| vec![1.0; n]).into_pyarray(py)
    }

    /// Returns the parts of the body found by shape and rig alone: name -> (patches float64 [k,4], share float64 [n]).
    ///
    /// A patch is a centre and a radius, metres; a paired part has two. `share` is how much each vertex of the surface belongs to the part,
    /// 0 to 1. Names are "belly", "chest" (breasts), "buttocks", "tail", "cheeks", "jowls", "ears"; parts that cannot be recognised are
    /// missing.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        body_parts::table(py, run_detached(py, || Ok(self.0.anatomy().parts()))?)
    }

    /// Thickness of the flesh at the surface's vertices, float64 [n], metres: the distance at rest to the bones that carry the vertex, past
    /// the ends of last bones too, smoothed over the skin. It is infinite where no bone carries the vertex, and everywhere on a body that
    /// was made without `region_weights`.
    #[getter]
    fn thickness<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let n = self.0.surface().vertices().len();
        let map = self.0.flesh().map(|map| map.thickness.clone());
        map.unwrap_or_else(|| vec![f64::INFINITY; n])
            .into_pyarray(py)
    }

    /// Returns the same body with another Young's modulus of its material, Pa. Raises InputError.
    fn with_young(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = real)] young: f64,
    ) -> PyResult<Self> {
        let body = run_detached(py, || self.0.with_young(young).map_err(IntoPy::into_py))?;
        Ok(self.with_flesh(body))
    }

    /// Returns the same body with the elastic stiffness of each cell of the lattice times `factors[cells]`, between 0.1 and 100: tense muscles.
    /// `rig_stiffness` gives those of rigs. Mass stays, and the twist energy takes what all factors share: of their range
    /// the factor nearest to 1.
    /// `Simulation.set_stiffness` changes them in motion. Raises InputError.
    fn with_cell_stiffness(&self, py: Python<'_>, factors: &Bound<'_, PyAny>) -> PyResult<Self> {
        let factors = read_floats(factors, "factors", &[None])?;
        let body = run_detached(py, || {
            self.0
                .with_cell_stiffness(&factors.data)
                .map_err(IntoPy::into_py)
        })?;
        Ok(self.with_flesh(body))
    }

    /// Returns the same body with flesh that is stiffer by `factor`.
    fn stiffened(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = real)] factor: f64,
    ) -> PyResult<Self> {
        let body = run_detached(py, || {
            self.0
                .with_scaled_stiffness(factor)
                .map_err(IntoPy::into_py)
        })?;
        Ok(self.with_flesh(body))
    }

    /// Surface of the body itself.
    #[getter]
    fn surface(&self) -> PySurface {
        PySurface(self.0.surface().clone())
    }

    /// Skeleton that moves the body.
    #[getter]
    fn skeleton(&self) -> PySkeleton {
        PySkeleton(self.0.skeleton().clone())
    }

    /// Lattice around surface and skeleton.
    #[getter]
    fn lattice(&self) -> PyLattice {
        PyLattice(self.0.lattice().clone())
    }

    /// Material before paint.
    #[getter]
    fn material(&self) -> PyMaterial {
        PyMaterial(self.0.material())
    }

    /// Volume of the flesh, m³.
    #[getter]
    fn volume(&self) -> f64 {
        self.0.volume()
    }

    /// Parts with flesh that no bone holds, one sentence each. They follow one bone rigidly, or their skin weights.
    #[getter]
    fn loose_parts(&self) -> Vec<String> {
        self.0
            .loose_parts()
            .iter()
            .map(|p| p.sentence.clone())
            .collect()
    }

    /// Tubes of flesh that turn with the bones, at rest: (bone, head [3], tail [3], radius, stiffness), m and N/m⁴ before paint. A bone without one
    /// carries no flesh [capell2002, §4.6].
    #[getter]
    fn twist_tubes<'py>(&self, py: Python<'py>) -> Vec<twist::TwistTube<'py>> {
        twist::tubes(py, &self.0)
    }

    /// Returns the mass matrix, kg, 3·nodes square, xyz interleaved: (data, indices, indptr) for scipy.sparse.csr_array. Floor and bone rows
    /// are included [capell2002, §3.3].
    fn mass<'py>(&self, py: Python<'py>) -> PyResult<Csr<'py>> {
        scipy_arrays(py, run_detached(py, || Ok(self.0.mass()))?)
    }

    /// Returns the stiffness matrix at rest, N/m, 3·nodes square, xyz interleaved: (data, indices, indptr). `twist` adds the Hessian of the
    /// twist energy.
    #[pyo3(signature = (twist=false))]
    fn stiffness<'py>(&self, py: Python<'py>, twist: bool) -> PyResult<Csr<'py>> {
        scipy_arrays(py, run_detached(py, || Ok(self.0.stiffness(twist)))?)
    }

    /// Returns the elastic energy (J) at displacements `q[nodes,3]` (m) from rest, without twist and gravity.
    ///
    /// Models are "linear", "stvk" (St. Venant-Kirchhoff), "neohookean" (stable: flat and inverted flesh is driven back) and "yeoh" (the
    /// same, stiffening with stretch). Raises InputError for others.
    #[pyo3(signature = (q, model="stvk"))]
    fn energy(
        &self,
        q: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = text)] model: &str,
    ) -> PyResult<f64> {
        elasticity::energy(self.0.elements(), q, model)
    }

    /// Returns the derivative of `energy` with respect to `q`, N, float64 [nodes,3].
    #[pyo3(signature = (q, model="stvk"))]
    fn gradient<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = text)] model: &str,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let forces = elasticity::gradient(self.0.elements(), q, model)?;
        Ok(from_points(py, &forces))
    }

    /// Returns the Hessian of `energy`, N/m, 3·nodes square, xyz interleaved: (data, indices, indptr).
    #[pyo3(signature = (q, model="stvk"))]
    fn hessian<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = text)] model: &str,
    ) -> PyResult<Csr<'py>> {
        scipy_arrays(py, elasticity::hessian(self.0.elements(), q, model)?)
    }

    /// Makes the body carry another surface (clothes, eyes) and returns its id for `positions`. A `max_offset` limits its motion around a
    /// skin blended with the weights of the lattice around it.
    fn embed_surface(&self, py: Python<'_>, surface: &PySurface) -> PyResult<usize> {
        run_detached(py, || Ok(self.1.carry(&surface.0).number()))
    }

    /// Returns a surface (None: the body's own) at displacements `q[nodes,3]` (m), float32 [n,3], metres.
    ///
    /// With a `pose[b,4,4]` it is shown as `Simulation` and `simulate` show the default method there: in proportion to the flesh, and
    /// within `max_offset`, a part of the body's size. `elastic_joints` is as in `simulate`, `to` and `onto` as in `Clip.offsets`.
    #[pyo3(
        signature = (*arguments, **keywords),
        text_signature = "($self, q, pose=None, max_offset=None, surface=None, elastic_joints=1.0, to=None, onto=None)"
    )]
    fn shown<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let given = Arguments::new("shown", &body_shown::NAMES, arguments, keywords)?;
        body_shown::positions(py, &self.1, given)
    }

    /// Returns the number of inverted cells with the lattice vertices at `positions[nodes,3]`.
    fn inverted_cells(&self, py: Python<'_>, positions: &Bound<'_, PyAny>) -> PyResult<usize> {
        let positions = read_nodal(positions, "positions", self.0.node_count())?;
        run_detached(py, || Ok(self.0.inverted_cell_count(&positions)))
    }

    /// Writes the body to a file: versioned, checksummed, whole or not at all. Raises StorageError.
    fn save(&self, py: Python<'_>, #[pyo3(from_py_with = read)] path: PathBuf) -> PyResult<()> {
        run_detached(py, || {
            store::save(&path, BODY_FILE_KIND, &self.1).map_err(IntoPy::into_py)
        })
    }

    /// Reads a body that `save` wrote. Raises StorageError for a file that is not Thew's, of another version, damaged or refused by the
    /// disk.
    #[staticmethod]
    fn load(py: Python<'_>, #[pyo3(from_py_with = read)] path: PathBuf) -> PyResult<Self> {
        let surfaces = run_detached(py, || {
            store::load::<CarriedSurfaces>(&path, BODY_FILE_KIND).map_err(IntoPy::into_py)
        })?;
        Ok(Self::from_surfaces(surfaces))
    }

    fn __copy__(me: Py<Self>) -> Py<Self> {
        me
    }

    fn __deepcopy__(me: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        me
    }

    fn __repr__(&self) -> String {
        format!(
            "<thew.Body: {} nodes, {:.4} m³>",
            self.0.node_count(),
            self.0.volume()
        )
    }
}
