// SPDX-License-Identifier: MIT OR Apache-2.0
//! `thew.Simulation`.

use super::arrays::{
    List, Whole, finite_points, from_indices, from_points, integers, optional_real, optional_text,
    pose, poses, real, text, vector,
};
use super::body::PyBody;
use super::collider;
use super::contact::{PyContact, PyContacts};
use super::errors::{IntoPy, detached, input, locked, not_built};
use super::modal::PyModes;
use super::present::Asked;
use super::progress::watched;
use crate::Vec3;
use crate::body::Body;
use crate::dynamics::{self, Method, Settings, Simulation, SimulationError};
use crate::exclusive::Exclusive;
use crate::modal::{DeformOptions, Modes};
use crate::present::{Instant, PresentError, Presenter, SurfaceId, Target};
use crate::progress::Silent;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;

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

/// The modes that the modal method is to use.
pub(super) enum ModeSelection {
    /// Some that were made before.
    These(Arc<Modes>),
    /// The lowest ones.
    Lowest(usize),
    /// The usual number of lowest ones, or as many as there are.
    Usual,
}

pub(super) fn modes_for(
    given: Option<&Bound<'_, PyAny>>,
    method: Method,
) -> PyResult<Option<ModeSelection>> {
    let Some(given) = given else {
        return Ok((method == Method::Modal).then_some(ModeSelection::Usual));
    };
    if method != Method::Modal {
        return Err(input(format!(
            "modes belong to the method 'modal', not to '{}'",
            method.name()
        )));
    }
    if let Ok(modes) = given.cast::<PyModes>() {
        return Ok(Some(ModeSelection::These(modes.get().0.clone())));
    }
    Ok(Some(ModeSelection::Lowest(given.extract::<Whole>()?.0)))
}

/// A body in motion.
///
/// rate: steps per second at least, within 1 %; gravity (m/s²); mass_damping (1/s) and stiffness_damping (s) act
/// relative to the skinned motion (None: those of `default_damping`); max_offset: the farthest that `positions` shows flesh from its skin, as a part
/// of the body's size (None: no limit); elastic_joints (0 to 1): which part of the joints' own shape is shown in place of the
/// plain skin (0: the skin as it is, plus sway; 1: with hyperelastic joints that are round and keep their volume, with others the flesh that bones bend). Methods: "hyperelastic" (Yeoh's flesh carried by the skeleton: the warped method for small
/// motion, and sound for any), "warped" [capell2006, §3.3, cell form], "warped_vertex" (vertex form), "linear", "modal" [choi2003]
/// with modes (a Modes of this body, which say how stiff it is, or how many, default 32), and by Newton's method "nonlinear" (St. Venant-Kirchhoff)
/// and "neohookean". contact: how the flesh touches itself (None: it passes through itself); colliders:
/// `Collider`s that it touches besides, at their first entry after a reset and on by one with every advance. solver: how hyperelastic and warped steps are solved: "direct", "cg", or by what is quicker for the body "auto".
#[pyclass(name = "Simulation", module = "thew", frozen)]
pub(super) struct PySimulation {
    simulation: Exclusive<Simulation>,
    presenter: Presenter,
}

impl PySimulation {
    fn with<T: Send, E: IntoPy + Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Simulation) -> Result<T, E> + Send,
    ) -> PyResult<T> {
        locked(py, &self.simulation, work)
    }

    /// An array of what a presenter makes of the present state.
    fn shown<'py>(
        &self,
        py: Python<'py>,
        asked: Asked<'py>,
        show: impl FnOnce(
            &Presenter,
            SurfaceId,
            Instant<'_>,
            &Target,
            &mut [f32],
        ) -> Result<(), PresentError>
        + Send,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let presenter = &self.presenter;
        asked.array(
            py,
            |id| presenter.vertices(id),
            |id, target, out| {
                self.with(py, |s| {
                    if let Some(posed) = s.amplitudes().zip(s.pose()) {
                        let max_offset = s.settings().max_offset;
                        let parted = s.parted(presenter)?;
                        let at = match &parted {
                            Some(parted) => Instant::Parted(posed, max_offset, &parted.moves),
                            None => Instant::Modal(posed, max_offset),
                        };
                        return show(presenter, id, at, target, out);
                    }
                    show(presenter, id, s.snapshot().instant(), target, out)
                })
            },
        )
    }

    fn look<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Simulation) -> T + Send,
    ) -> PyResult<T> {
        self.with(py, |s| Ok::<T, SimulationError>(work(s)))
    }
}

/// Returns (mass_damping, stiffness_damping): those that are given, else the body's own.
pub(super) fn damping(
    py: Python<'_>,
    body: &Arc<Body>,
    (mass, stiffness): (Option<f64>, Option<f64>),
) -> PyResult<(f64, f64)> {
    if let (Some(mass), Some(stiffness)) = (mass, stiffness) {
        return Ok((mass, stiffness));
    }
    let usual = detached(py, || {
        dynamics::default_damping(body).map_err(IntoPy::into_py)
    })?;
    Ok((mass.unwrap_or(usual.0), stiffness.unwrap_or(usual.1)))
}

/// default_damping(body) -> (mass_damping 1/s, stiffness_damping s): at which the slowest swing of its flesh falls to a twentieth
/// within about a second and a quarter, or within five of its own periods where these are shorter, at any size and softness. What
/// simulations take where none is given.
#[pyfunction]
pub(super) fn default_damping(py: Python<'_>, body: &PyBody) -> PyResult<(f64, f64)> {
    damping(py, &body.0, (None, None))
}

#[pymethods]
impl PySimulation {
    #[new]
    #[pyo3(signature = (body, method="hyperelastic", rate=240.0, gravity=None, mass_damping=None,
        stiffness_damping=None, integrator=None, adapt=None, max_offset=None, modes=None,
        engine="auto", device=None, form="embedded", precision="f32", solver="auto", elastic_joints=1.0,
        contact=None, colliders=None, *, reach=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        body: &PyBody,
        #[pyo3(from_py_with = text)] method: &str,
        #[pyo3(from_py_with = real)] rate: f64,
        gravity: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = optional_real)] mass_damping: Option<f64>,
        #[pyo3(from_py_with = optional_real)] stiffness_damping: Option<f64>,
        #[pyo3(from_py_with = optional_text)] integrator: Option<&str>,
        adapt: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = optional_real)] max_offset: Option<f64>,
        modes: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = text)] engine: &str,
        #[pyo3(from_py_with = optional_text)] device: Option<&str>,
        #[pyo3(from_py_with = text)] form: &str,
        #[pyo3(from_py_with = text)] precision: &str,
        #[pyo3(from_py_with = text)] solver: &str,
        #[pyo3(from_py_with = real)] elastic_joints: f64,
        contact: Option<PyRef<'_, PyContact>>,
        colliders: Option<List<Bound<'_, PyAny>>>,
        #[pyo3(from_py_with = optional_real)] reach: Option<f64>,
    ) -> PyResult<Self> {
        let max_offset = super::renamed::max_offset(max_offset, reach)?;
        self::integrator(integrator)?;
        self::adapt(adapt)?;
        let method = self::method(method)?;
        let damping = (mass_damping, stiffness_damping);
        let (mass_damping, stiffness_damping) = self::damping(py, &body.0, damping)?;
        let settings = Settings {
            rate,
            gravity: self::gravity(gravity)?,
            mass_damping,
            stiffness_damping,
            max_offset,
            solver: solver.parse().map_err(SimulationError::into_py)?,
            elastic_joints,
        };
        let (body, surfaces) = (body.0.clone(), body.surfaces().clone());
        let modes = self::modes_for(modes, method)?;
        let contact = collider::asked(contact.as_deref(), colliders)?;
        let simulation = detached(py, || {
            let made = match modes {
                Some(ModeSelection::These(modes)) => Simulation::modal(body, modes, settings),
                Some(ModeSelection::Lowest(count)) => Modes::of_body(&body, count, &Silent)
                    .map_err(SimulationError::from)
                    .and_then(|modes| Simulation::modal(body, Arc::new(modes), settings)),
                Some(ModeSelection::Usual) | None => Simulation::new(body, method, settings),
            };
            let mut made = made.map_err(IntoPy::into_py)?;
            if let Some(contact) = contact {
                let contact = contact.prepare(made.body(), &Silent);
                let contact = contact.map_err(IntoPy::into_py)?;
                made.set_contact(Some(contact)).map_err(IntoPy::into_py)?;
            }
            Ok(made)
        })?;
        let show =
            DeformOptions::named(form, precision, engine, device).map_err(IntoPy::into_py)?;
        let modes = simulation.modes().cloned();
        Ok(Self {
            simulation: Exclusive::new(simulation),
            presenter: Presenter::with_modes(surfaces, modes, show),
        })
    }

    /// Starts at pose[b,4,4]: in static equilibrium, or (settled=False) in the skinned shape. The flesh has
    /// the velocity that its bones turn out to have when the first advance tells it. rest_forces[dofs,3]: generalised
    /// forces, N, in rest axes, that turn with the flesh.
    #[pyo3(signature = (pose, settled=true, rest_forces=None))]
    fn reset(
        &self,
        py: Python<'_>,
        pose: &Bound<'_, PyAny>,
        settled: bool,
        rest_forces: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let pose = self::pose(pose)?;
        let rest = rest_forces.map(|f| finite_points(f, "rest_forces"));
        let rest = rest.transpose()?;
        watched(py, &self.simulation, |s, progress| {
            s.reset_watched(&pose, settled, rest.as_deref(), progress)
        })
    }

    /// Advances to pose[b,4,4] over dt seconds in ceil(dt·rate) equal steps; forces[dofs,3]: generalised, N,
    /// world axes, constant over dt; rest_forces[dofs,3]: in rest axes at the end of dt, where they go linearly from
    /// those of the call before (None: none), and turned with the flesh. When a step fails the state before it is kept.
    #[pyo3(signature = (pose, dt, forces=None, rest_forces=None))]
    fn advance(
        &self,
        py: Python<'_>,
        pose: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = real)] dt: f64,
        forces: Option<&Bound<'_, PyAny>>,
        rest_forces: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let pose = self::pose(pose)?;
        let forces = forces.map(|f| finite_points(f, "forces")).transpose()?;
        let rest = rest_forces.map(|f| finite_points(f, "rest_forces"));
        let rest = rest.transpose()?;
        watched(py, &self.simulation, |s, progress| {
            s.advance_watched(&pose, dt, (forces.as_deref(), rest.as_deref()), progress)
        })
    }

    /// Positions of the vertices of a carried surface (None: the body's own), float32 [n,3], metres, world axes; to, onto: as of
    /// `Clip.offsets`.
    #[pyo3(signature = (surface=None, to=None, onto=None))]
    fn positions<'py>(
        &self,
        py: Python<'py>,
        surface: Option<Whole>,
        to: Option<&Bound<'py, PyAny>>,
        onto: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let asked = Asked::new(surface, to, onto)?;
        self.shown(py, asked, |presenter, id, at, target, out| {
            presenter.positions(id, at, target, out)
        })
    }

    /// What the flesh adds to the artist's own skin, float32 [n,3], world axes, metres: `positions` less the skin. to, onto: as
    /// of `Clip.offsets`.
    #[pyo3(signature = (surface=None, to=None, onto=None))]
    fn offsets<'py>(
        &self,
        py: Python<'py>,
        surface: Option<Whole>,
        to: Option<&Bound<'py, PyAny>>,
        onto: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let asked = Asked::new(surface, to, onto)?;
        self.shown(py, asked, |presenter, id, at, target, out| {
            presenter.offsets(id, at, target, out)
        })
    }

    /// Positions of the lattice vertices, float64 [dofs,3].
    fn lattice_positions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let positions = self.look(py, |s| s.lattice_positions().to_vec())?;
        Ok(from_points(py, &positions))
    }

    /// Velocities of the lattice vertices, float64 [dofs,3], m/s.
    fn lattice_velocities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let velocities = self.look(py, |s| s.lattice_velocities().to_vec())?;
        Ok(from_points(py, &velocities))
    }

    /// Amplitudes of the method 'modal', float64 [m]; None with other methods.
    #[getter]
    fn amplitudes<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let q = self.look(py, |s| s.amplitudes().map(<[f64]>::to_vec))?;
        Ok(q.map(|q| q.into_pyarray(py)))
    }

    /// What touches at present; of the method 'modal' what was parted on the surface, without forces.
    fn contacts(&self, py: Python<'_>) -> PyResult<PyContacts> {
        self.with(py, |s| {
            let parted = s.parted(&self.presenter)?;
            let points = parted.map_or_else(|| s.contacts().into(), |parted| parted.points);
            Ok::<_, PresentError>(PyContacts(points))
        })
    }

    /// Finds where creases begin, in slow motion from rest to each of poses[p,b,4,4], seconds each, and looks there from now on,
    /// in place of where it did: pairs of vertices int32[s,2]. For contacts of a crease response [capell2006, §3.4.1].
    #[pyo3(signature = (poses, seconds=4.0))]
    fn find_crease_seeds<'py>(
        &self,
        py: Python<'py>,
        poses: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = real)] seconds: f64,
    ) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let bones = self.look(py, |s| s.body().skeleton().len())?;
        let poses = self::poses(poses, bones)?;
        watched(py, &self.simulation, |s, progress| {
            s.find_crease_seeds(&poses, seconds, progress)
        })?;
        self.crease_seeds(py)
    }

    /// Looks for creases at pairs[s,2] of vertices from now on, in place of where it did.
    fn set_crease_seeds(&self, py: Python<'_>, pairs: &Bound<'_, PyAny>) -> PyResult<()> {
        let (numbers, shape) = integers(pairs, "pairs")?;
        if !numbers.is_empty() && (shape.len() != 2 || shape[1] != 2) {
            return Err(input("pairs must have the shape [s, 2]"));
        }
        let vertex = |&n: &i64| u32::try_from(n).unwrap_or(u32::MAX);
        let pairs: Vec<[u32; 2]> = numbers
            .chunks_exact(2)
            .map(|pair| [vertex(&pair[0]), vertex(&pair[1])])
            .collect();
        self.with(py, |s| s.set_crease_seeds(&pairs))
    }

    /// Pairs of vertices at which creases are looked for, int32[s,2].
    #[getter]
    fn crease_seeds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let seeds = self.look(py, |s| s.crease_seeds().concat())?;
        let count = seeds.len() / 2;
        from_indices(py, &seeds).reshape([count, 2])
    }

    /// Steps so far, of the hyperelastic method, whose minimisation stopped short of its tolerance: the flesh goes on from the best
    /// point that was found.
    #[getter]
    fn unconverged_steps(&self, py: Python<'_>) -> PyResult<usize> {
        self.look(py, Simulation::unconverged_steps)
    }

    /// Number of inverted cells at present.
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
