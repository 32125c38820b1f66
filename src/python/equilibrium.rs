// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Equilibrium`, and of `thew.equilibrium` and its inverse for single calls.

use super::arrays::{List, WholeNumber, from_points, read_finite_points, read_pose, text};
use super::body::PyBody;
use super::collider;
use super::contact::{PyContact, PyContacts};
use super::dynamics::{parse_method, read_gravity};
use super::errors::{IntoPy, input_error, run_detached, run_locked, warn_inverted};
use super::present::{DisplayArguments, SurfaceView};
use super::progress::{run_interruptible, with_progress};
use crate::body::Body;
use crate::dynamics::{Equilibrium, Method, SimulationError};
use crate::exclusive::Exclusive;
use crate::present::{Presenter, Snapshot};
use crate::progress::Silent;
use crate::{Mat3, Vec3};
use numpy::ndarray::Array3;
use numpy::{IntoPyArray, PyArray2, PyArray3};
use pyo3::prelude::*;

/// Balances of a body at one pose after another, at first its rest pose. The system of a pose is factored once for all forces [capell2006,
/// §4, eq. 13].
///
/// Equilibrium(body, method="warped", contact=None, colliders=None):
///
/// - `method`: "hyperelastic", "warped", "warped_vertex", "blended", "blended_printed", "linear", "nonlinear", "linearised" (the
///   same) or "neohookean".
/// - `contact`: contact of the flesh with itself, without friction. None: it passes through itself. `adjoint` and `forces` ignore it.
/// - `colliders`: `Collider`s that it also touches.
///
/// Raises InputError.
#[pyclass(name = "Equilibrium", module = "thew", frozen)]
pub(super) struct PyEquilibrium(Exclusive<EquilibriumState>, Presenter);

struct EquilibriumState {
    balance: Equilibrium,
    /// Displacements of the last solve.
    last: Option<Vec<Vec3>>,
}

impl PyEquilibrium {
    fn with_state<T: Send, E: IntoPy + Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut EquilibriumState) -> Result<T, E> + Send,
    ) -> PyResult<T> {
        run_locked(py, &self.0, work)
    }
}

#[pymethods]
impl PyEquilibrium {
    #[new]
    #[pyo3(signature = (body, method="warped", contact=None, colliders=None))]
    fn new(
        py: Python<'_>,
        body: &PyBody,
        #[pyo3(from_py_with = text)] method: &str,
        contact: Option<PyRef<'_, PyContact>>,
        colliders: Option<List<Bound<'_, PyAny>>>,
    ) -> PyResult<Self> {
        let presenter = Presenter::new(body.surfaces().clone());
        let (body, method) = (body.0.clone(), self::parse_method(method)?);
        let contact = collider::contact_settings(contact.as_deref(), colliders)?;
        let balance = run_detached(py, || {
            let mut balance = Equilibrium::new(&body, method).map_err(IntoPy::into_py)?;
            if let Some(contact) = contact {
                let contact = contact.prepare(&body, &Silent).map_err(IntoPy::into_py)?;
                balance
                    .set_contact(Some(contact))
                    .map_err(IntoPy::into_py)?;
            }
            Ok(balance)
        })?;
        let last = None;
        let state = Exclusive::new(EquilibriumState { balance, last });
        Ok(Self(state, presenter))
    }

    /// Sets the pose to `pose[b,4,4]`. Raises InputError; the pose before then stays.
    fn set_pose(&self, py: Python<'_>, pose: &Bound<'_, PyAny>) -> PyResult<()> {
        let pose = self::read_pose(pose)?;
        self.with_state(py, |s| {
            s.balance.set_pose(&pose)?;
            s.last = None;
            Ok::<_, SimulationError>(())
        })
    }

    /// Returns the displacements `q[nodes,3]` (m), float64, at which the flesh is in balance.
    ///
    /// - `forces[nodes,3]`: N, world axes.
    /// - `rest_forces[nodes,3]`: N, rest axes, turned by `turns`.
    /// - `gravity[3]`: m/s². None: earth's, along -z.
    ///
    /// Methods "nonlinear" and "neohookean" warn (RuntimeWarning) of cells that are inverted in the balance.
    #[pyo3(signature = (forces=None, rest_forces=None, gravity=None))]
    fn solve<'py>(
        &self,
        py: Python<'py>,
        forces: Option<&Bound<'py, PyAny>>,
        rest_forces: Option<&Bound<'py, PyAny>>,
        gravity: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let gravity = self::read_gravity(gravity)?;
        let [forces, rest] = read_both_forces(forces, rest_forces)?;
        let q = run_interruptible(py, &self.0, |s, progress| {
            let forces = (forces.as_deref(), rest.as_deref());
            let q = s.balance.solve_with_progress(gravity, forces, progress)?;
            s.last = Some(q.clone());
            Ok::<_, SimulationError>((q, s.balance.body().clone(), s.balance.method()))
        })?;
        let (q, body, method) = q;
        warn_of_inverted(py, &body, method, &q)?;
        Ok(from_points(py, &q))
    }

    /// Returns the contacts in the last balance.
    fn contacts(&self, py: Python<'_>) -> PyResult<PyContacts> {
        self.with_state(py, |s| {
            Ok::<_, SimulationError>(PyContacts(s.balance.contacts().into()))
        })
    }

    /// Returns A⁻ᵀ g, float64 [nodes,3], with zero rows at held vertices. It is the derivative by `forces` of a function of the balance
    /// whose derivative by q is `g[nodes,3]`; the derivative by `rest_forces` is R_iᵀ times that. Raises InputError for nonlinear methods.
    fn adjoint<'py>(
        &self,
        py: Python<'py>,
        g: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let g = read_finite_points(g, "g")?;
        let adjoint = self.with_state(py, |s| s.balance.adjoint(&g))?;
        Ok(from_points(py, &adjoint))
    }

    /// Returns the generalised forces that hold the flesh at `q[nodes,3]`, float64 [nodes,3], N, world axes, with zero rows at held vertices.
    /// It is the inverse of `solve`.
    #[pyo3(signature = (q, gravity=None))]
    fn forces<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        gravity: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (q, gravity) = (read_finite_points(q, "q")?, self::read_gravity(gravity)?);
        let forces = self.with_state(py, |s| s.balance.forces_at(gravity, &q))?;
        Ok(from_points(py, &forces))
    }

    /// Rotations R_i by which the skeleton turns the flesh and rest-axes forces at each lattice vertex, float64 [nodes,3,3].
    #[getter]
    fn turns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let turns: Vec<Mat3> =
            self.with_state(py, |s| Ok::<_, SimulationError>(s.balance.turns().to_vec()))?;
        let at = |(v, r, c): (usize, usize, usize)| turns[v][(r, c)];
        Ok(Array3::from_shape_fn((turns.len(), 3, 3), at).into_pyarray(py))
    }

    /// Pull of the bones with a twist of their own (`BodySettings.twist`) at the pose, float64 [nodes,3], N, world axes. It acts in every balance,
    /// as `forces` do; zero without such bones.
    #[getter]
    fn twist_pull<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let pull = self.with_state(py, |s| {
            let mut pull = s.balance.twist_pull().to_vec();
            pull.resize(s.balance.body().node_count(), Vec3::zeros());
            Ok::<_, SimulationError>(pull)
        })?;
        Ok(from_points(py, &pull))
    }

    /// Returns the positions of the vertices of a carried surface (None: the body's own) in the balance of the last solve, float32 [n,3],
    /// metres, world axes. They are as the lattice has them; `Body.shown` draws them as a clip does. `to` and `onto` are as in
    /// `Clip.offsets`. Raises InputError before the first solve at a pose.
    #[pyo3(signature = (surface=None, to=None, onto=None))]
    fn positions<'py>(
        &self,
        py: Python<'py>,
        surface: Option<WholeNumber>,
        to: Option<&Bound<'py, PyAny>>,
        onto: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let display = DisplayArguments::new(surface, to, onto)?;
        let snapshot = self.with_state(py, |s| {
            let body = s.balance.body();
            let snapshot = |q: &Vec<Vec3>| Snapshot::from_displacements(body, q);
            Ok::<_, SimulationError>(s.last.as_ref().map(snapshot))
        })?;
        match snapshot {
            Some(snapshot) => {
                (&self.1, &snapshot).quantity_array(py, (), Presenter::positions, display)
            }
            None => Err(input_error(
                "nothing is solved at this pose yet: call solve before positions",
            )),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = self.with_state(py, |s| Ok::<_, SimulationError>(s.balance.method().name()))?;
        Ok(format!("<thew.Equilibrium: {name}>"))
    }
}

/// Reads forces in world axes and in rest axes.
fn read_both_forces(
    forces: Option<&Bound<'_, PyAny>>,
    rest_forces: Option<&Bound<'_, PyAny>>,
) -> PyResult<[Option<Vec<Vec3>>; 2]> {
    let forces = forces.map(|f| read_finite_points(f, "forces"));
    let rest = rest_forces.map(|f| read_finite_points(f, "rest_forces"));
    Ok([forces.transpose()?, rest.transpose()?])
}

/// Returns the displacements `q[nodes,3]` (m), float64, at which the flesh is in balance at `pose[b,4,4]` [capell2006, §4, eq. 13].
///
/// - `forces[nodes,3]`: N, world axes. `rest_forces[nodes,3]`: N, rest axes, turned with the flesh.
/// - `gravity[3]`: m/s². None: earth's, along -z.
/// - `method`: by default "warped", the paper's; it is linear in forces, as fits of rigs and adjoints need it. `simulate` moves flesh by
///   "hyperelastic" by default; `method="hyperelastic"` gives the balance at which that comes to rest.
///
/// Methods "nonlinear" and "neohookean" warn (RuntimeWarning) of cells that are inverted in the balance.
#[pyfunction]
#[pyo3(signature = (body, pose, forces=None, gravity=None, method="warped", rest_forces=None))]
pub(super) fn equilibrium<'py>(
    py: Python<'py>,
    body: &PyBody,
    pose: &Bound<'py, PyAny>,
    forces: Option<&Bound<'py, PyAny>>,
    gravity: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = text)] method: &str,
    rest_forces: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let pose = self::read_pose(pose)?;
    let [forces, rest] = read_both_forces(forces, rest_forces)?;
    let (gravity, method) = (self::read_gravity(gravity)?, self::parse_method(method)?);
    let q = with_progress(py, None, |progress| {
        let solve = || {
            let mut balance = Equilibrium::new(&body.0, method)?;
            balance.set_pose(&pose)?;
            balance.solve_with_progress(gravity, (forces.as_deref(), rest.as_deref()), progress)
        };
        solve().map_err(IntoPy::into_py)
    })?;
    warn_of_inverted(py, &body.0, method, &q)?;
    Ok(from_points(py, &q))
}

/// Warns of inverted cells in a balance that Newton's method found as a minimum of energy: the load is then more than the flesh bears.
/// Cells that bones alone turn over count as well.
fn warn_of_inverted(py: Python<'_>, body: &Body, method: Method, q: &[Vec3]) -> PyResult<()> {
    if method.model().is_none() {
        return Ok(());
    }
    let rest = body.rest_shape().iter();
    let positions: Vec<Vec3> = rest.zip(q).map(|(x, q)| x + q).collect();
    match body.inverted_cell_count(&positions) {
        0 => Ok(()),
        count => warn_inverted(py, count, "cells"),
    }
}

/// Returns the generalised forces that hold the flesh at displacements `q[nodes,3]`, float64 [nodes,3], N, world axes, with zero rows at
/// bones. It is the inverse of `equilibrium`.
#[pyfunction]
#[pyo3(signature = (body, pose, q, gravity=None, method="warped"))]
pub(super) fn equilibrium_forces<'py>(
    py: Python<'py>,
    body: &PyBody,
    pose: &Bound<'py, PyAny>,
    q: &Bound<'py, PyAny>,
    gravity: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = text)] method: &str,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let pose = self::read_pose(pose)?;
    let q = read_finite_points(q, "q")?;
    let (gravity, method) = (self::read_gravity(gravity)?, self::parse_method(method)?);
    let forces = run_detached(py, || {
        crate::dynamics::equilibrium_forces(&body.0, &pose, &q, gravity, method)
            .map_err(IntoPy::into_py)
    })?;
    Ok(from_points(py, &forces))
}
