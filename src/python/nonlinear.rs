// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.nonlinear_equilibrium` and `thew.NonlinearSimulation`: the reference, on tetrahedral bodies.

use super::arguments::Arguments;
use super::arrays::{from_points, read_nodal, read_vector, real, text};
use super::errors::{IntoPy, input_error, run_detached, run_locked, warn_inverted};
use super::material::PyMaterial;
use super::modal::read_nodes;
use super::progress::with_progress;
use super::tets::PyTetMesh;
use crate::Vec3;
use crate::dynamics::SimulationError;
use crate::dynamics::nonlinear::{
    NonlinearIntegrator, NonlinearSettings, NonlinearSimulation, equilibrium,
};
use crate::elasticity::ElasticModel;
use crate::exclusive::Exclusive;
use crate::modal;
use crate::progress::Silent;
use crate::solve::Newton;
use crate::tets::MassKind;
use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Arc;

/// Returns the displacements, float64 [k,3] (m), at which elastic forces balance `forces[k,3]` (N at the nodes, world axes, constant).
///
/// The solver is Newton's method with line search.
///
/// - `fixed`: nodes that stay, indices or a mask [k].
/// - `model`: "stvk" (St. Venant-Kirchhoff), "neohookean", "yeoh" or "linear".
/// - `prescribed[k,3]`: displacements to which the fixed nodes are moved.
///
/// Warns (RuntimeWarning) of tetrahedra that are inverted in the balance. Raises InputError, MotionError, Cancelled.
#[pyfunction]
#[pyo3(signature = (tets, material, fixed, forces, model="stvk", prescribed=None, progress=None))]
pub(super) fn nonlinear_equilibrium<'py>(
    tets: &PyTetMesh,
    material: &PyMaterial,
    fixed: &Bound<'py, PyAny>,
    forces: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = text)] model: &str,
    prescribed: Option<&Bound<'_, PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let py = fixed.py();
    let model: ElasticModel = model.parse().map_err(IntoPy::into_py)?;
    let mesh = tets.0.clone();
    let k = mesh.vertices().len();
    let fixed = read_mask(fixed, k)?;
    let forces = read_nodal(forces, "forces", k)?;
    let prescribed = prescribed
        .map(|p| read_nodal(p, "prescribed", k))
        .transpose()?;
    let material = material.0;
    let balance = with_progress(py, progress, |progress| {
        let elements = mesh.elements(&material);
        let (rest, options) = (mesh.vertices(), Newton::default());
        let supports = (&fixed[..], prescribed.as_deref());
        equilibrium(
            &elements, rest, model, supports, &forces, &options, progress,
        )
        .map_err(IntoPy::into_py)
    })?;
    if balance.inverted > 0 {
        warn_inverted(py, balance.inverted, "tetrahedra")?;
    }
    Ok(from_points(py, &balance.displacements))
}

fn read_mask(fixed: &Bound<'_, PyAny>, count: usize) -> PyResult<Vec<bool>> {
    let named = read_nodes(Some(fixed), "fixed", count)?;
    modal::node_mask(count, &named).map_err(IntoPy::into_py)
}

/// A tetrahedral body in fully nonlinear motion. Every step is a minimisation by Newton's method.
///
/// NonlinearSimulation(tets, material, fixed, step, integrator="backward_euler", gravity=None, damping=None, model="stvk",
/// mass="consistent"):
///
/// - `fixed`: nodes that stay, indices or a mask [k].
/// - `step`: seconds.
/// - `integrator`: "backward_euler" or "midpoint" (second order, undamped).
/// - `gravity[3]`: m/s². None: zero.
/// - `damping`: (α 1/s, β s). None: zero.
/// - `model`: as in `nonlinear_equilibrium`. `mass`: "consistent" or "lumped".
///
/// Raises InputError, MotionError.
#[pyclass(name = "NonlinearSimulation", module = "thew", frozen)]
pub(super) struct PyNonlinearSimulation {
    simulation: Exclusive<NonlinearSimulation>,
    nodes: usize,
}

#[pymethods]
impl PyNonlinearSimulation {
    #[new]
    #[pyo3(
        signature = (*arguments, **keywords),
        text_signature = "(tets, material, fixed, step, integrator='backward_euler', gravity=None, damping=None, model='stvk', mass='consistent')"
    )]
    fn new(
        py: Python<'_>,
        arguments: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        const NAMES: [&str; 9] = [
            "tets",
            "material",
            "fixed",
            "step",
            "integrator",
            "gravity",
            "damping",
            "model",
            "mass",
        ];
        let given = Arguments::new("NonlinearSimulation", &NAMES, arguments, keywords)?;
        let mesh = given.require("tets", |t| {
            Ok(t.extract::<Py<PyTetMesh>>()?.get().0.clone())
        })?;
        let material = given.require("material", |m| Ok(m.extract::<Py<PyMaterial>>()?.get().0))?;
        let kind = given.take("mass", |m| text(m)?.parse().map_err(IntoPy::into_py))?;
        let kind: MassKind = kind.unwrap_or(MassKind::Consistent);
        let fixed = given.require("fixed", |f| read_mask(f, mesh.vertices().len()))?;
        let settings = settings(&given)?;
        given.finish()?;
        run_detached(py, || {
            let elements = Arc::new(mesh.elements(&material));
            let (mass, rest) = (mesh.mass_matrix(&material, kind), mesh.vertices());
            let made = NonlinearSimulation::new(elements, mass, rest, &fixed, settings);
            Ok(Self {
                simulation: Exclusive::new(made.map_err(IntoPy::into_py)?),
                nodes: rest.len(),
            })
        })
    }

    /// Advances by one step. `forces[k,3]`: N at the nodes, in addition to gravity. If it fails the state before it is kept.
    #[pyo3(signature = (forces=None))]
    fn advance(&self, py: Python<'_>, forces: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let zero = || Ok(vec![Vec3::zeros(); self.nodes]);
        let all = forces.map_or_else(zero, |f| read_nodal(f, "forces", self.nodes))?;
        run_locked(py, &self.simulation, |s| {
            s.step(&all, None, &Silent).map(|_| ())
        })
    }

    /// Returns the displacements of the nodes, float64 [k,3], metres.
    fn displacements<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let u = self.read_simulation(py, |s| s.displacements().to_vec())?;
        Ok(from_points(py, &u))
    }

    /// Returns the velocities of the nodes, float64 [k,3], m/s.
    fn velocities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let v = self.read_simulation(py, |s| s.velocities().to_vec())?;
        Ok(from_points(py, &v))
    }

    /// Sets another state: `displacements[k,3]` (m) and `velocities[k,3]` (m/s).
    fn set_state(
        &self,
        py: Python<'_>,
        displacements: &Bound<'_, PyAny>,
        velocities: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let k = self.nodes;
        let (u, v) = (
            read_nodal(displacements, "displacements", k)?,
            read_nodal(velocities, "velocities", k)?,
        );
        run_locked(py, &self.simulation, |s| s.set_state(&u, &v))
    }
}

/// Reads the settings of a simulation from the arguments of a call.
fn settings(given: &Arguments<'_>) -> PyResult<NonlinearSettings> {
    let model = given.take("model", |m| text(m)?.parse().map_err(IntoPy::into_py))?;
    let integrator = given.take("integrator", |name| match text(name)? {
        "backward_euler" => Ok(NonlinearIntegrator::BackwardEuler),
        "midpoint" => Ok(NonlinearIntegrator::Midpoint),
        other => Err(input_error(format!(
            "there is no integrator '{other}'; there are: 'backward_euler', 'midpoint'"
        ))),
    })?;
    let damping = given.take("damping", |d| d.extract::<[f64; 2]>())?;
    let [mass_damping, stiffness_damping] = damping.unwrap_or_default();
    let gravity = given.take("gravity", |g| read_vector(g, "gravity"))?;
    Ok(NonlinearSettings {
        model: model.unwrap_or(ElasticModel::StVenantKirchhoff),
        integrator: integrator.unwrap_or(NonlinearIntegrator::BackwardEuler),
        step: given.require("step", real)?,
        mass_damping,
        stiffness_damping,
        gravity: gravity.unwrap_or_default(),
        ..NonlinearSettings::default()
    })
}

impl PyNonlinearSimulation {
    fn read_simulation<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&NonlinearSimulation) -> T + Send,
    ) -> PyResult<T> {
        run_locked(py, &self.simulation, |s| Ok::<T, SimulationError>(work(s)))
    }
}
