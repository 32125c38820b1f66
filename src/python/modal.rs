// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.modes`, `thew.Modes` and `thew.ModalSimulation`.

use super::arrays::{
    WholeNumber, as_array, from_points, kind_of, optional_real, read, read_finite_points,
    read_floats, read_integers, read_vector, real, text,
};
use super::body::PyBody;
use super::errors::{IntoPy, input_error, run_detached, run_locked, warn};
use super::material::PyMaterial;
use super::progress::with_progress;
use super::tets::PyTetMesh;
use crate::Vec3;
use crate::exclusive::Exclusive;
use crate::modal::{
    ConstraintAccuracy, Damping, Hold, HoldTarget, ModalError, ModalSettings, ModalSimulation,
    ModalSystem, Modes, check_modes,
};
use crate::tets::MassKind;
use numpy::ndarray::Array3;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::path::PathBuf;
use std::sync::Arc;

/// Vibration modes of a body, mass-orthonormal, by ascending frequency [choi2003, §3.2]; immutable.
#[pyclass(name = "Modes", module = "thew", frozen)]
pub(super) struct PyModes(pub Arc<Modes>);

/// Computes the `count` lowest modes of a TetMesh or of a Body: `K Φ = M Φ Λ`, `ΦᵀMΦ = 1`, `Ψ = W Φ` [choi2003, §3.2].
///
/// - `material`: that of a TetMesh; a Body has its own.
/// - `fixed`: nodes that stand still, indices or a mask [k]. Vertices of a Body that bones hold are always fixed.
/// - `mass`: "consistent" or "lumped".
/// - `tolerance`: largest residual relative to λ ‖M φ‖. None: 1e-9, or what rounding allows.
///
/// Raises ModalError, Cancelled.
#[pyfunction]
#[pyo3(signature = (body, count, material=None, fixed=None, mass="consistent", tolerance=None, progress=None))]
pub(super) fn modes(
    body: &Bound<'_, PyAny>,
    count: WholeNumber,
    material: Option<&PyMaterial>,
    fixed: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = text)] mass: &str,
    #[pyo3(from_py_with = optional_real)] tolerance: Option<f64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<PyModes> {
    let py = body.py();
    let mass: MassKind = mass.parse().map_err(IntoPy::into_py)?;
    let system = if let Ok(mesh) = body.cast::<PyTetMesh>() {
        let mesh = mesh.get().0.clone();
        let fixed = read_nodes(fixed, "fixed", mesh.vertices().len())?;
        let material = material.map(|m| m.0).unwrap_or_default();
        run_detached(py, || {
            ModalSystem::for_tets(&mesh, &material, mass, &fixed).map_err(IntoPy::into_py)
        })?
    } else if let Ok(flesh) = body.cast::<PyBody>() {
        if material.is_some() {
            return Err(input_error(
                "a body has a material already: leave material out",
            ));
        }
        let flesh = flesh.get().0.clone();
        let fixed = read_nodes(fixed, "fixed", flesh.node_count())?;
        run_detached(py, || {
            ModalSystem::for_body(&flesh, mass, &fixed).map_err(IntoPy::into_py)
        })?
    } else {
        let kind = body.get_type().name()?;
        return Err(input_error(format!(
            "modes are made of a TetMesh or of a Body, not of a {kind}"
        )));
    };
    let modes = with_progress(py, progress, |progress| {
        Modes::compute(&system, count.0, tolerance, progress).map_err(IntoPy::into_py)
    })?;
    if !modes.is_verified() {
        warn(
            py,
            "a count of the eigenvalues does not agree with the modes found: some of equal frequency may be missing",
        )?;
    }
    Ok(PyModes(Arc::new(modes)))
}

/// Reads nodes by index or by mask.
pub(super) fn read_nodes(
    object: Option<&Bound<'_, PyAny>>,
    name: &str,
    count: usize,
) -> PyResult<Vec<usize>> {
    let Some(object) = object else {
        return Ok(Vec::new());
    };
    let array = as_array(object, name)?;
    let named = if kind_of(&array)? == "b" {
        let size: usize = array.getattr("size")?.extract()?;
        if size != count {
            return Err(input_error(format!(
                "{name}: a mask must have one value per node: {count}, not {size}"
            )));
        }
        let found = array.call_method0("ravel")?.call_method0("nonzero")?;
        found.get_item(0)?
    } else {
        array
    };
    let (indices, _) = read_integers(&named, name)?;
    let index = |i: i64| {
        usize::try_from(i).map_err(|_| {
            input_error(format!(
                "{name}: node {i} does not exist: indices start at 0"
            ))
        })
    };
    indices.into_iter().map(index).collect()
}

#[pymethods]
impl PyModes {
    /// Eigenvalues Λ, 1/s², ascending, float64 [m].
    #[getter]
    fn eigenvalues<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.eigenvalues().to_vec().into_pyarray(py)
    }

    /// Undamped frequencies, Hz, float64 [m].
    #[getter]
    fn frequencies<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.frequencies().into_pyarray(py)
    }

    /// Mode shapes Φ, 1/√kg, float64 [m,k,3]; zero at fixed nodes.
    #[getter]
    fn shapes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray3<f64>> {
        stack_columns(py, self.0.shapes(), self.0.node_count())
    }

    /// Modal rotations Ψ, rotation vectors of the nodes, 1/(m √kg), float64 [m,k,3].
    #[getter]
    fn rotations<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray3<f64>> {
        stack_columns(py, self.0.rotations(), self.0.node_count())
    }

    /// Mask of the fixed nodes, bool [k].
    #[getter]
    fn fixed<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.0.fixed_mask().to_vec().into_pyarray(py)
    }

    /// Returns the displacements of the nodes at `amplitudes[m]`, float64 [k,3], metres: `R̃(Ψq) Φq`, or `Φq` with `warp=False`.
    #[pyo3(signature = (amplitudes, warp=true))]
    fn displacements<'py>(
        &self,
        py: Python<'py>,
        amplitudes: &Bound<'_, PyAny>,
        warp: bool,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let q = self::read_amplitudes(amplitudes, "amplitudes", self.0.len())?;
        let u = run_detached(py, || Ok(self.0.displacements(&q, warp)))?;
        Ok(from_points(py, &u))
    }

    /// Returns the modes of the same flesh made stiffer by `factor`: eigenvalues grow by it, shapes stay. Raises ModalError for a factor
    /// that is not positive, or with which an eigenvalue exceeds 1e100.
    fn scaled(&self, #[pyo3(from_py_with = real)] factor: f64) -> PyResult<Self> {
        let scaled = self.0.scale_stiffness(factor).map_err(IntoPy::into_py)?;
        Ok(Self(Arc::new(scaled)))
    }

    /// Returns the first `count` of these modes.
    fn first(&self, count: WholeNumber) -> PyResult<Self> {
        let first = self.0.lowest_modes(count.0).map_err(IntoPy::into_py)?;
        Ok(Self(Arc::new(first)))
    }

    /// Writes the modes to a file: versioned, checksummed, whole or not at all. With them it holds the body of flesh, or the lattice of
    /// the tetrahedra. Raises StorageError.
    fn save(&self, py: Python<'_>, #[pyo3(from_py_with = read)] path: PathBuf) -> PyResult<()> {
        run_detached(py, || self.0.save(&path).map_err(IntoPy::into_py))
    }

    /// Reads modes that `save` wrote. Raises StorageError for a file that is not Thew's, of another version or kind, damaged or refused by
    /// the disk.
    #[staticmethod]
    fn load(py: Python<'_>, #[pyo3(from_py_with = read)] path: PathBuf) -> PyResult<Self> {
        run_detached(py, || {
            let read = Modes::load(&path).map_err(IntoPy::into_py)?;
            Ok(Self(Arc::new(read)))
        })
    }

    /// True if a count of the eigenvalues below a bound agrees with those found, so that no mode is missing.
    #[getter]
    fn verified(&self) -> bool {
        self.0.is_verified()
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __copy__(me: Py<Self>) -> Py<Self> {
        me
    }

    fn __deepcopy__(me: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        me
    }

    fn __repr__(&self) -> String {
        let hertz = self.0.frequencies();
        let (low, high) = (hertz.first().unwrap_or(&0.0), hertz.last().unwrap_or(&0.0));
        format!(
            "<thew.Modes: {} modes, {low:.3} to {high:.3} Hz>",
            self.0.len()
        )
    }
}

/// Reads one finite number per mode.
pub(super) fn read_amplitudes(
    object: &Bound<'_, PyAny>,
    name: &'static str,
    modes: usize,
) -> PyResult<Vec<f64>> {
    let numbers = read_floats(object, name, &[None])?.data;
    check_modes(name, &numbers, modes).map_err(IntoPy::into_py)?;
    Ok(numbers)
}

fn stack_columns<'py>(
    py: Python<'py>,
    columns: &[Vec<Vec3>],
    nodes: usize,
) -> Bound<'py, PyArray3<f64>> {
    let shape = (columns.len(), nodes, 3);
    Array3::from_shape_fn(shape, |(m, k, axis)| columns[m][k][axis]).into_pyarray(py)
}

/// Modes in motion on a support that stands still [choi2003, §4, §5].
///
/// ModalSimulation(modes, step, integrator="exact", warp=True, gravity=None, damping=None):
///
/// - `step`: seconds.
/// - `integrator`: "exact" (for forces that are linear over the step) or "semi_implicit" (the paper's eq. 18).
/// - `warp`: False is linear modal analysis.
/// - `gravity[3]`: m/s². None: zero.
/// - `damping`: a tuple (ξ 1/s, ζ s) for `ξ + ζ λ`, or one coefficient (1/s) per mode, [m]. None: zero.
///
/// Raises ModalError.
#[pyclass(name = "ModalSimulation", module = "thew", frozen)]
pub(super) struct PyModalSimulation(Exclusive<ModalSimulation>);

impl PyModalSimulation {
    fn with_simulation<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut ModalSimulation) -> Result<T, ModalError> + Send,
    ) -> PyResult<T> {
        run_locked(py, &self.0, work)
    }
}

#[pymethods]
impl PyModalSimulation {
    #[new]
    #[pyo3(signature = (modes, step, integrator="exact", warp=true, gravity=None, damping=None))]
    fn new(
        modes: &PyModes,
        #[pyo3(from_py_with = real)] step: f64,
        #[pyo3(from_py_with = text)] integrator: &str,
        warp: bool,
        gravity: Option<&Bound<'_, PyAny>>,
        damping: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let settings = ModalSettings {
            step,
            integrator: integrator.parse().map_err(IntoPy::into_py)?,
            warp,
            gravity: gravity.map_or(Ok(Vec3::zeros()), |g| read_vector(g, "gravity"))?,
            damping: self::read_damping(damping, modes.0.len())?,
        };
        let simulation = ModalSimulation::new(modes.0.clone(), settings);
        Ok(Self(Exclusive::new(simulation.map_err(IntoPy::into_py)?)))
    }

    /// Advances by one step. `forces[k,3]`: N at the nodes, world axes, constant over the step, in addition to gravity. If it fails the
    /// state before it is kept. Constraints that cannot hold together are held in least squares, with a warning.
    #[pyo3(signature = (forces=None))]
    fn advance(&self, py: Python<'_>, forces: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let forces = forces
            .map(|f| read_finite_points(f, "forces"))
            .transpose()?;
        let held = self.with_simulation(py, |s| {
            let before = s.constraint_accuracy().overdetermined;
            s.advance(forces.as_deref())?;
            Ok((before, s.constraint_accuracy().clone()))
        })?;
        // The warning comes when this begins, not in every step.
        if let (
            false,
            ConstraintAccuracy {
                overdetermined: true,
                distance,
                angle,
                ..
            },
        ) = held
        {
            let warning = format!(
                "the constraints cannot all hold with these modes and exercised nodes: they hold in least squares, to \
                 {distance:.2e} m and {angle:.2e} rad"
            );
            warn(py, &warning)?;
        }
        Ok(())
    }

    /// Sets the state to the balance of elasticity with gravity and constant `forces[k,3]`, at rest; constraints are ignored.
    #[pyo3(signature = (forces=None))]
    fn settle(&self, py: Python<'_>, forces: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let forces = forces
            .map(|f| read_finite_points(f, "forces"))
            .transpose()?;
        self.with_simulation(py, |s| s.settle(forces.as_deref()))
    }

    /// Resets the state to rest; constraints stay.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        self.with_simulation(py, |s| {
            s.reset();
            Ok(())
        })
    }

    /// Amplitudes q, float64 [m]; can be set.
    #[getter]
    fn amplitudes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let q = self.with_simulation(py, |s| Ok(s.amplitudes().to_vec()))?;
        Ok(q.into_pyarray(py))
    }

    #[setter]
    fn set_amplitudes(&self, py: Python<'_>, amplitudes: &Bound<'_, PyAny>) -> PyResult<()> {
        let numbers = read_floats(amplitudes, "amplitudes", &[None])?.data;
        self.with_simulation(py, |s| s.set_amplitudes(&numbers))
    }

    /// Velocities q̇, 1/s, float64 [m]; can be set.
    #[getter]
    fn velocities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let v = self.with_simulation(py, |s| Ok(s.velocities().to_vec()))?;
        Ok(v.into_pyarray(py))
    }

    #[setter]
    fn set_velocities(&self, py: Python<'_>, velocities: &Bound<'_, PyAny>) -> PyResult<()> {
        let numbers = read_floats(velocities, "velocities", &[None])?.data;
        self.with_simulation(py, |s| s.set_velocities(&numbers))
    }

    /// Returns the displacements of the nodes, float64 [k,3], metres.
    fn displacements<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let u = self.with_simulation(py, |s| Ok(s.displacements()))?;
        Ok(from_points(py, &u))
    }

    /// Returns the rotation vectors Ψq of the nodes, float64 [k,3].
    fn rotations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let w = self.with_simulation(py, |s| {
            let (modes, q) = (s.modes(), s.amplitudes());
            Ok((0..modes.node_count())
                .map(|n| modes.rotation(q, n))
                .collect::<Vec<_>>())
        })?;
        Ok(from_points(py, &w))
    }

    /// Replaces all constraints.
    ///
    /// - `positions`: {node: displacement from rest[3]}. `orientations`: {node: rotation vector[3]}. Without either, no node is held.
    /// - `exercised`: nodes at which the forces act. By default these are the constrained ones and, for orientations, their neighbours.
    #[pyo3(signature = (positions=None, orientations=None, exercised=None))]
    fn constrain(
        &self,
        py: Python<'_>,
        positions: Option<&Bound<'_, PyDict>>,
        orientations: Option<&Bound<'_, PyDict>>,
        exercised: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let mut holds = Vec::new();
        read_holds(positions, "positions", HoldTarget::Position, &mut holds)?;
        read_holds(
            orientations,
            "orientations",
            HoldTarget::Orientation,
            &mut holds,
        )?;
        let count = self.with_simulation(py, |s| Ok(s.modes().node_count()))?;
        let exercised = exercised
            .map(|e| read_nodes(Some(e), "exercised", count))
            .transpose()?;
        self.with_simulation(py, |s| s.constrain(&holds, exercised.as_deref()))
    }

    /// Report of how the constraints held in the last step, a dict:
    ///
    /// - "distance": m. "angle": rad. "passes". "overdetermined".
    /// - "slowed": the motion was slowed, or the constraints would have pumped energy in.
    /// - "stopped": the body was brought to rest, as no forces within the step could hold them without hurling it about.
    /// - "forces": {node: N[3] in the node's own frame}.
    #[getter]
    fn constraints_held<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let held = self.with_simulation(py, |s| Ok(s.constraint_accuracy().clone()))?;
        let report = PyDict::new(py);
        report.set_item("distance", held.distance)?;
        report.set_item("angle", held.angle)?;
        report.set_item("passes", held.passes)?;
        report.set_item("overdetermined", held.overdetermined)?;
        report.set_item("slowed", held.slowed)?;
        report.set_item("stopped", held.stopped)?;
        let forces = PyDict::new(py);
        for (node, f) in held.forces {
            forces.set_item(node, vec![f.x, f.y, f.z].into_pyarray(py))?;
        }
        report.set_item("forces", forces)?;
        Ok(report)
    }

    /// Modes that move.
    #[getter]
    fn modes(&self, py: Python<'_>) -> PyResult<PyModes> {
        self.with_simulation(py, |s| Ok(PyModes(s.modes().clone())))
    }

    /// Length of a step, seconds.
    #[getter]
    fn step(&self, py: Python<'_>) -> PyResult<f64> {
        self.with_simulation(py, |s| Ok(s.settings().step))
    }
}

fn read_holds(
    given: Option<&Bound<'_, PyDict>>,
    name: &str,
    target: impl Fn(Vec3) -> HoldTarget,
    holds: &mut Vec<Hold>,
) -> PyResult<()> {
    for (node, value) in given.into_iter().flatten() {
        let node: WholeNumber = node.extract()?;
        let value = read_vector(&value, name)?;
        holds.push(Hold {
            node: node.0,
            target: target(value),
        });
    }
    Ok(())
}

/// Reads (ξ, ζ), or one number per mode. Default: no damping.
fn read_damping(object: Option<&Bound<'_, PyAny>>, modes: usize) -> PyResult<Damping> {
    let proportional = |mass, stiffness| Damping::Proportional { mass, stiffness };
    let Some(object) = object else {
        return Ok(proportional(0.0, 0.0));
    };
    let numbers = read_floats(object, "damping", &[None])?.data;
    // A pair given as a tuple is (ξ, ζ) even for a body of two modes.
    let pair = object.cast::<PyTuple>().is_ok() || modes != 2;
    match numbers.as_slice() {
        &[mass, stiffness] if pair => Ok(proportional(mass, stiffness)),
        _ => Ok(Damping::PerMode(numbers)),
    }
}
