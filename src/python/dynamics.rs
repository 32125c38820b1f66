// SPDX-License-Identifier: MIT OR Apache-2.0
//! `thew.Simulation`, `thew.equilibrium` and its inverse.

use super::arrays::{Whole, finite_points, from_f32, from_points, pose, vector};
use super::body::PyBody;
use super::errors::{IntoPy, detached, input, not_built};
use super::modal::PyModes;
use super::progress::with_progress;
use crate::Vec3;
use crate::body::Body;
use crate::clip::ClipError;
use crate::dynamics::{self, Method, Settings, Simulation, SimulationError};
use crate::kernel::LocalPositions;
use crate::modal::Modes;
use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Arc, Mutex, PoisonError};

/// Earth's, m/s².
pub(super) fn gravity(object: Option<&Bound<'_, PyAny>>) -> PyResult<Vec3> {
    object.map_or(Ok(Settings::default().gravity), |g| vector(g, "gravity"))
}

pub(super) fn method(name: &str) -> PyResult<Method> {
    name.parse().map_err(IntoPy::into_py)
}

/// The one integrator that is built.
pub(super) fn integrator(name: Option<&str>) -> PyResult<()> {
    match name {
        None | Some("backward_euler") => Ok(()),
        Some(name) => Err(not_built(format!(
            "the integrator '{name}' is not built; built are: 'backward_euler'"
        ))),
    }
}

pub(super) fn adapt(object: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match object {
        None => Ok(()),
        Some(_) => Err(not_built("adapt is not built yet; leave it at None")),
    }
}

/// The modes that the modal method is to use: some that were made before, so many, or the usual number.
pub(super) fn modes_for(
    py: Python<'_>,
    given: Option<&Bound<'_, PyAny>>,
    method: Method,
    body: &Arc<Body>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Option<Arc<Modes>>> {
    if method != Method::Modal {
        return match given {
            None => Ok(None),
            Some(_) => Err(input(format!(
                "modes belong to the method 'modal', not to '{}'",
                method.name()
            ))),
        };
    }
    if let Some(modes) = given.and_then(|g| g.cast::<PyModes>().ok()) {
        let modes = modes.get().0.clone();
        let nodes = body.dofs();
        if modes.body().is_none() || modes.nodes() != nodes {
            return Err(input(format!(
                "these modes are not of this body: they are of {} nodes, it has {nodes} lattice vertices",
                modes.nodes()
            )));
        }
        return Ok(Some(modes));
    }
    let count = given.map_or(Ok(dynamics::MODES), |g| g.extract::<Whole>().map(|w| w.0))?;
    let modes = with_progress(py, progress, |progress| {
        dynamics::modes_of(body, count, progress).map_err(IntoPy::into_py)
    })?;
    Ok(Some(Arc::new(modes)))
}

/// A body in motion.
///
/// rate: steps per second at least; gravity (m/s²); mass_damping (1/s) and stiffness_damping (s) act
/// relative to the skinned motion; reach: the farthest that `positions` shows flesh from its skin, as a part
/// of the body's size (None: no limit). Methods: "warped" [capell2006, §3.3, cell form], "linear", "modal" [choi2003]
/// with modes (a Modes of this body or how many, default 32), and by Newton's method "nonlinear" (St. Venant-Kirchhoff)
/// and "neohookean".
#[pyclass(name = "Simulation", module = "thew", frozen)]
pub(super) struct PySimulation(Mutex<Simulation>);

impl PySimulation {
    /// Works on the simulation without the interpreter. The lock is released before an error asks for the interpreter again: a
    /// thread that held it while waiting for the lock would wait for ever.
    fn with<T: Send, E: IntoPy + Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Simulation) -> Result<T, E> + Send,
    ) -> PyResult<T> {
        detached(py, || {
            let done = work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
            done.map_err(IntoPy::into_py)
        })
    }

    fn look<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Simulation) -> T + Send,
    ) -> PyResult<T> {
        self.with(py, |s| Ok::<T, SimulationError>(work(s)))
    }
}

#[pymethods]
impl PySimulation {
    #[new]
    #[pyo3(signature = (body, method="warped", rate=240.0, gravity=None, mass_damping=2.0,
        stiffness_damping=0.004, integrator=None, adapt=None, reach=None, modes=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        body: &PyBody,
        method: &str,
        rate: f64,
        gravity: Option<&Bound<'_, PyAny>>,
        mass_damping: f64,
        stiffness_damping: f64,
        integrator: Option<&str>,
        adapt: Option<&Bound<'_, PyAny>>,
        reach: Option<f64>,
        modes: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        self::integrator(integrator)?;
        self::adapt(adapt)?;
        let method = self::method(method)?;
        let settings = Settings {
            rate,
            gravity: self::gravity(gravity)?,
            mass_damping,
            stiffness_damping,
            reach,
        };
        let body = body.0.clone();
        let modes = self::modes_for(py, modes, method, &body, None)?;
        let simulation = detached(py, || {
            let made = match modes {
                Some(modes) => Simulation::modal(modes, settings),
                None => Simulation::new(body, method, settings),
            };
            made.map_err(IntoPy::into_py)
        })?;
        Ok(Self(Mutex::new(simulation)))
    }

    /// Starts at pose[b,4,4]: in static equilibrium, or (settled=False) in the skinned shape. The flesh has
    /// the velocity that its bones turn out to have when the first advance tells it.
    #[pyo3(signature = (pose, settled=true))]
    fn reset(&self, py: Python<'_>, pose: &Bound<'_, PyAny>, settled: bool) -> PyResult<()> {
        let pose = self::pose(pose)?;
        self.with(py, |s| s.reset(&pose, settled))
    }

    /// Advances to pose[b,4,4] over dt seconds in ceil(dt·rate) equal steps; forces[dofs,3]: generalised, N,
    /// world axes, constant over dt. When a step fails the state before it is kept.
    #[pyo3(signature = (pose, dt, forces=None))]
    fn advance(
        &self,
        py: Python<'_>,
        pose: &Bound<'_, PyAny>,
        dt: f64,
        forces: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let pose = self::pose(pose)?;
        let forces = forces.map(|f| finite_points(f, "forces")).transpose()?;
        self.with(py, |s| s.advance(&pose, dt, forces.as_deref()))
    }

    /// Positions of the vertices of a carried surface (None: the body's own), float32 [n,3].
    #[pyo3(signature = (surface=None))]
    fn positions<'py>(
        &self,
        py: Python<'py>,
        surface: Option<Whole>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let id = surface.map_or(0, |s| s.0);
        let data = self.with(py, |s| {
            let lattice = LocalPositions::new(s.lattice_positions());
            let part = s.settings().reach;
            let reach = s.pose().map(|pose| s.body().reach(pose, &lattice, part));
            let shown = s.body().shown(id, &lattice, reach.as_ref());
            Ok::<_, ClipError>(shown.ok_or(ClipError::Surface { id })??)
        })?;
        from_f32(py, data)
    }

    /// Positions of the degrees of freedom, float64 [dofs,3].
    fn lattice_positions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let positions = self.look(py, |s| s.lattice_positions().to_vec())?;
        Ok(from_points(py, &positions))
    }

    /// Velocities of the degrees of freedom, float64 [dofs,3], m/s.
    fn lattice_velocities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let velocities = self.look(py, |s| s.lattice_velocities().to_vec())?;
        Ok(from_points(py, &velocities))
    }

    /// Number of cells turned inside out at present.
    fn inverted_cells(&self, py: Python<'_>) -> PyResult<usize> {
        self.look(py, Simulation::inverted_cells)
    }

    /// The state, exactly, in a few kilobytes: to be given back to `restore`.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.look(py, Simulation::state)?))
    }

    /// Takes back a state of the same body. Raises InputError for bytes that are none; the present state then
    /// stays.
    fn restore(&self, py: Python<'_>, state: &[u8]) -> PyResult<()> {
        self.with(py, |s| s.restore(state))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = self.look(py, |s| s.method().name())?;
        Ok(format!("<thew.Simulation: {name}>"))
    }
}

/// Displacements q[dofs,3] (m) at which the flesh is in balance at pose[b,4,4] under gravity and
/// forces[dofs,3] (N, world axes) [capell2006, §3.3, eq. 10 in cell form].
#[pyfunction]
#[pyo3(signature = (body, pose, forces=None, gravity=None, method="warped"))]
pub(super) fn equilibrium<'py>(
    py: Python<'py>,
    body: &PyBody,
    pose: &Bound<'py, PyAny>,
    forces: Option<&Bound<'py, PyAny>>,
    gravity: Option<&Bound<'py, PyAny>>,
    method: &str,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let pose = self::pose(pose)?;
    let forces = forces.map(|f| finite_points(f, "forces")).transpose()?;
    let (gravity, method) = (self::gravity(gravity)?, self::method(method)?);
    let q = detached(py, || {
        dynamics::equilibrium(&body.0, &pose, forces.as_deref(), gravity, method)
            .map_err(IntoPy::into_py)
    })?;
    Ok(from_points(py, &q))
}

/// The generalised forces [dofs,3] (N, world axes; zero rows at bones) that hold the flesh at displacements
/// q[dofs,3]: the inverse of `equilibrium`.
#[pyfunction]
#[pyo3(signature = (body, pose, q, gravity=None, method="warped"))]
pub(super) fn equilibrium_forces<'py>(
    py: Python<'py>,
    body: &PyBody,
    pose: &Bound<'py, PyAny>,
    q: &Bound<'py, PyAny>,
    gravity: Option<&Bound<'py, PyAny>>,
    method: &str,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let pose = self::pose(pose)?;
    let q = finite_points(q, "q")?;
    let (gravity, method) = (self::gravity(gravity)?, self::method(method)?);
    let forces = detached(py, || {
        dynamics::equilibrium_forces(&body.0, &pose, &q, gravity, method).map_err(IntoPy::into_py)
    })?;
    Ok(from_points(py, &forces))
}
