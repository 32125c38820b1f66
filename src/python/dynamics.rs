// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Simulation`.

use super::arrays::{
    List, WholeNumber, from_indices, from_points, optional_real, optional_text, read_finite_points,
    read_floats, read_integers, read_pose, read_poses, read_vector, real,
};
use super::body::PyBody;
use super::collider;
use super::contact::{PyContact, PyContacts};
use super::errors::{IntoPy, input_error, run_detached, run_locked};
use super::modal::PyModes;
use super::pins::{PyPin, read_point};
use super::present::{DisplayArguments, InstantReceiver, SurfaceView};
use super::progress::run_interruptible;
use super::settings::{Callee, PySimulationSettings, replace_settings};
use crate::Vec3;
use crate::dynamics::{self, Method, Simulation, SimulationError, SimulationSettings};
use crate::exclusive::Exclusive;
use crate::modal::Modes;
use crate::present::{Instant, PresentError, Presenter};
use crate::progress::Silent;
use crate::shot::ShotModes;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::Arc;

/// Reads gravity, m/s². Default: earth's.
pub(super) fn read_gravity(object: Option<&Bound<'_, PyAny>>) -> PyResult<Vec3> {
    object.map_or(Ok(SimulationSettings::default().gravity), |g| {
        read_vector(g, "gravity")
    })
}

pub(super) fn parse_method(name: &str) -> PyResult<Method> {
    name.parse().map_err(IntoPy::into_py)
}

/// Reads the modes of the modal method, or their number. Other methods have none.
pub(super) fn read_modes(given: Option<&Bound<'_, PyAny>>, method: Method) -> PyResult<ShotModes> {
    let Some(given) = given else {
        return Ok(ShotModes::Usual);
    };
    if method != Method::Modal {
        return Err(input_error(format!(
            "modes belong to the method 'modal', not to '{}'",
            method.name()
        )));
    }
    if let Ok(modes) = given.cast::<PyModes>() {
        return Ok(ShotModes::These(modes.get().0.clone()));
    }
    Ok(ShotModes::Lowest(given.extract::<WholeNumber>()?.0))
}

/// A body in motion.
///
/// Simulation(body, method="hyperelastic", ...):
///
/// - `method`, `settings` and further keywords: a `SimulationSettings`, and settings by name that replace its own. Damping that is None is that
///   of `default_damping`.
/// - `modes`: for "modal", a Modes of this body, which sets the stiffness, or a number of modes (None: 32).
/// - `contact`: contact of the flesh with itself, for the methods "hyperelastic", "warped", "warped_vertex", "blended", "linear" and
///   "linearised"; with "modal" the surface alone is parted. None: flesh passes through itself.
/// - `colliders`: `Collider`s that it also touches. They are at their first entry after a reset, and one entry on with every advance.
///
/// Methods by Newton raise MotionError if a step does not converge, and keep the state before it. Raises InputError.
#[pyclass(name = "Simulation", module = "thew", frozen)]
pub(super) struct PySimulation {
    simulation: Exclusive<Simulation>,
    presenter: Presenter,
}

impl PySimulation {
    fn with_simulation<T: Send, E: IntoPy + Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Simulation) -> Result<T, E> + Send,
    ) -> PyResult<T> {
        run_locked(py, &self.simulation, work)
    }

    fn read_simulation<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Simulation) -> T + Send,
    ) -> PyResult<T> {
        self.with_simulation(py, |s| Ok::<T, SimulationError>(work(s)))
    }
}

impl SurfaceView for PySimulation {
    type InstantKey = ();

    fn presenter(&self, (): ()) -> PyResult<&Presenter> {
        Ok(&self.presenter)
    }

    fn visit_instant(
        &self,
        py: Python<'_>,
        (): (),
        show: &mut InstantReceiver<'_>,
    ) -> PyResult<()> {
        self.with_simulation(py, |s| {
            let Some(posed) = s.amplitudes().zip(s.pose()) else {
                return show(s.snapshot().instant());
            };
            let max_offset = s.settings().max_offset;
            let parted = s.part_surface(&self.presenter)?;
            show(match &parted {
                Some(parted) => Instant::Parted(posed, max_offset, &parted.moves),
                None => Instant::Modal(posed, max_offset),
            })
        })
    }
}

/// Returns (mass_damping 1/s, stiffness_damping s), the damping that simulations take by default. With it the slowest swing of the body's
/// flesh falls to a twentieth within about a second and a quarter. Where five of its own periods are shorter, it falls within these. This
/// holds at any size and softness. Raises MotionError.
#[pyfunction]
pub(super) fn default_damping(py: Python<'_>, body: &PyBody) -> PyResult<(f64, f64)> {
    run_detached(py, || {
        dynamics::default_damping(&body.0).map_err(IntoPy::into_py)
    })
}

#[pymethods]
impl PySimulation {
    #[new]
    #[pyo3(signature = (body, method=None, *, modes=None, contact=None, colliders=None, settings=None, **keywords))]
    fn new(
        body: &Bound<'_, PyBody>,
        #[pyo3(from_py_with = optional_text)] method: Option<&str>,
        modes: Option<&Bound<'_, PyAny>>,
        contact: Option<PyRef<'_, PyContact>>,
        colliders: Option<List<Bound<'_, PyAny>>>,
        settings: Option<Py<PySimulationSettings>>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let function = Callee {
            name: "Simulation",
            arguments: &["body", "modes", "contact", "colliders", "settings"],
        };
        let mut settings = replace_settings(&function, settings.as_ref(), keywords)?;
        if let Some(name) = method {
            settings.method = self::parse_method(name)?;
        }
        let (py, body) = (body.py(), body.get());
        let (body, surfaces) = (body.0.clone(), body.surfaces().clone());
        let modes = self::read_modes(modes, settings.method)?;
        let contact = collider::contact_settings(contact.as_deref(), colliders)?;
        let show = settings.deform_settings();
        let simulation = run_detached(py, || {
            let made = match modes {
                ShotModes::These(modes) => Simulation::with_modes(body, modes, settings),
                ShotModes::Lowest(count) => Modes::for_body(&body, count, &Silent)
                    .map_err(SimulationError::from)
                    .and_then(|modes| Simulation::with_modes(body, Arc::new(modes), settings)),
                ShotModes::Usual => Simulation::new(body, settings),
            };
            let mut made = made.map_err(IntoPy::into_py)?;
            if let Some(contact) = contact {
                let contact = contact.prepare(made.body(), &Silent);
                let contact = contact.map_err(IntoPy::into_py)?;
                made.set_contact(Some(contact)).map_err(IntoPy::into_py)?;
            }
            Ok(made)
        })?;
        let modes = simulation.modes().cloned();
        Ok(Self {
            simulation: Exclusive::new(simulation),
            presenter: Presenter::with_modes(surfaces, modes, show),
        })
    }

    /// Settings, damping included.
    #[getter]
    fn settings(&self, py: Python<'_>) -> PyResult<PySimulationSettings> {
        self.read_simulation(py, |s| PySimulationSettings(s.settings().clone()))
    }

    /// Starts at `pose[b,4,4]`: in static equilibrium, or (`settled=False`) in the skinned shape. The velocity of the flesh is that of its
    /// bones, known at the first advance. `rest_forces[nodes,3]`: generalised forces, N, in rest axes, turned with the flesh. Raises
    /// InputError, MotionError.
    #[pyo3(signature = (pose, settled=true, rest_forces=None))]
    fn reset(
        &self,
        py: Python<'_>,
        pose: &Bound<'_, PyAny>,
        settled: bool,
        rest_forces: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let pose = self::read_pose(pose)?;
        let rest = rest_forces.map(|f| read_finite_points(f, "rest_forces"));
        let rest = rest.transpose()?;
        run_interruptible(py, &self.simulation, |s, progress| {
            s.reset_with_progress(&pose, settled, rest.as_deref(), progress)
        })
    }

    /// Advances to `pose[b,4,4]` over `dt` seconds in ceil(dt·rate) equal steps.
    ///
    /// - `forces[nodes,3]`: generalised forces, N, world axes, constant over `dt`.
    /// - `rest_forces[nodes,3]`: generalised forces, N, in rest axes at the end of `dt`, turned with the flesh. They go there linearly from
    ///   those of the call before. None: zero.
    ///
    /// Raises MotionError when the motion is no longer finite or a step fails; the state before that step is kept.
    #[pyo3(signature = (pose, dt, forces=None, rest_forces=None))]
    fn advance(
        &self,
        py: Python<'_>,
        pose: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = real)] dt: f64,
        forces: Option<&Bound<'_, PyAny>>,
        rest_forces: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let pose = self::read_pose(pose)?;
        let forces = forces
            .map(|f| read_finite_points(f, "forces"))
            .transpose()?;
        let rest = rest_forces.map(|f| read_finite_points(f, "rest_forces"));
        let rest = rest.transpose()?;
        run_interruptible(py, &self.simulation, |s, progress| {
            s.advance_with_progress(&pose, dt, (forces.as_deref(), rest.as_deref()), progress)
        })
    }

    /// Leads the stiffness of the flesh: the elastic stiffness of each cell of the lattice is multiplied by `factors[cells]`, between 0.1 and 100,
    /// as around a tense muscle. The next advance goes there linearly, and a reset at once. None: flesh at ease. Factors belong to a state.
    ///
    /// Raises InputError, and nothing changes: another number of factors, one out of range, a body with details, and the methods "modal",
    /// "blended", "blended_printed" and "warped_vertex".
    fn set_stiffness(&self, py: Python<'_>, factors: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let factors = factors.map(|f| read_floats(f, "factors", &[None]));
        let factors = factors.transpose()?.map(|f| f.data);
        self.with_simulation(py, |s| s.set_stiffness(factors.as_deref()))
    }

    /// Present factors on the stiffness of the cells, float64 [c]; None: it has never been led.
    #[getter]
    fn stiffness<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let factors = self.read_simulation(py, |s| s.stiffness().map(<[f64]>::to_vec))?;
        Ok(factors.map(|factors| factors.into_pyarray(py)))
    }

    /// Pins a point of the flesh from now on and returns the number of the pin [capell2002, §4.4].
    ///
    /// - `point`: a vertex of the body's surface, held where it is shown, or a place `[3]` in the flesh at rest, m.
    /// - `target[3]`: where the point is at the end of the next advance, m, world axes; `reset` puts it there at once. None: where it is.
    /// - `strength`: 1 holds the point. Less is a spring that, at rest, pulls the point this part of the way from where it would rest
    ///   without the pin. 0 is off.
    ///
    /// Pins belong to a state. A point that other pins hold already is no further constraint (`Pin.superfluous`); one that they hold at another place is
    /// refused by the next advance. Raises InputError: a point outside the flesh or held by a bone, more pins than free lattice vertices, the method
    /// "modal".
    #[pyo3(signature = (point, target=None, strength=1.0))]
    fn pin(
        &self,
        py: Python<'_>,
        point: &Bound<'_, PyAny>,
        target: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = real)] strength: f64,
    ) -> PyResult<u32> {
        let point = read_point(point)?;
        let target = target.map(|t| read_vector(t, "target")).transpose()?;
        self.with_simulation(py, |s| s.pin_point(point, target, strength))
    }

    /// Moves a pin to `target[3]` (m, world axes) by the end of the next advance, with another `strength` (None: the same). Raises InputError.
    #[pyo3(signature = (pin, target, strength=None))]
    fn move_pin(
        &self,
        py: Python<'_>,
        pin: WholeNumber,
        target: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = optional_real)] strength: Option<f64>,
    ) -> PyResult<()> {
        let target = read_vector(target, "target")?;
        self.with_simulation(py, |s| s.move_pin(pin.to_index(), target, strength))
    }

    /// Removes a pin; its point goes on with its velocity. Raises InputError.
    fn unpin(&self, py: Python<'_>, pin: WholeNumber) -> PyResult<()> {
        self.with_simulation(py, |s| s.unpin(pin.to_index()))
    }

    /// Returns all pins, in the order of their numbers.
    fn pins(&self, py: Python<'_>) -> PyResult<Vec<PyPin>> {
        self.read_simulation(py, PyPin::all)
    }

    /// Returns the present position of a point as pins count it, float64 [3], m: where a vertex is shown, or the place in the lattice of a
    /// place `[3]` at rest. Raises InputError.
    fn point_position<'py>(
        &self,
        py: Python<'py>,
        point: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let point = read_point(point)?;
        let place = self.with_simulation(py, |s| s.point_position(point))?;
        Ok(vec![place.x, place.y, place.z].into_pyarray(py))
    }

    /// Returns the positions of the vertices of a carried surface (None: the body's own), float32 [n,3], metres, world axes. `to` and
    /// `onto` are as in `Clip.offsets`.
    #[pyo3(signature = (surface=None, to=None, onto=None))]
    fn positions<'py>(
        &self,
        py: Python<'py>,
        surface: Option<WholeNumber>,
        to: Option<&Bound<'py, PyAny>>,
        onto: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        self.quantity_array(
            py,
            (),
            Presenter::positions,
            DisplayArguments::new(surface, to, onto)?,
        )
    }

    /// Returns the offsets that the flesh adds to the artist's own skin, float32 [n,3], metres, world axes: `positions` less the skin. `to`
    /// and `onto` are as in `Clip.offsets`.
    #[pyo3(signature = (surface=None, to=None, onto=None))]
    fn offsets<'py>(
        &self,
        py: Python<'py>,
        surface: Option<WholeNumber>,
        to: Option<&Bound<'py, PyAny>>,
        onto: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        self.quantity_array(
            py,
            (),
            Presenter::offsets,
            DisplayArguments::new(surface, to, onto)?,
        )
    }

    /// Returns the positions of the lattice vertices, float64 [nodes,3], metres.
    fn lattice_positions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let positions = self.read_simulation(py, |s| s.lattice_positions().to_vec())?;
        Ok(from_points(py, &positions))
    }

    /// Returns the velocities of the lattice vertices, float64 [nodes,3], m/s.
    fn lattice_velocities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let velocities = self.read_simulation(py, |s| s.lattice_velocities().to_vec())?;
        Ok(from_points(py, &velocities))
    }

    /// Number of the body's functions that are active at present: all of them, unless the simulation adapts (`adapt`).
    #[getter]
    fn active_functions(&self, py: Python<'_>) -> PyResult<usize> {
        self.read_simulation(py, |s| s.active_functions())
    }

    /// Amplitudes of the method "modal", float64 [m]; None with other methods.
    #[getter]
    fn amplitudes<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let q = self.read_simulation(py, |s| s.amplitudes().map(<[f64]>::to_vec))?;
        Ok(q.map(|q| q.into_pyarray(py)))
    }

    /// Returns the present contacts and their forces. With the method "modal" these are the overlaps parted on the surface, without forces.
    fn contacts(&self, py: Python<'_>) -> PyResult<PyContacts> {
        self.with_simulation(py, |s| {
            let parted = s.part_surface(&self.presenter)?;
            let points = parted.map_or_else(|| s.contacts().into(), |parted| parted.points);
            Ok::<_, PresentError>(PyContacts(points))
        })
    }

    /// Finds where creases begin, in slow motion from rest to each of `poses[p,b,4,4]` in `seconds` each, and returns these pairs of
    /// vertices, int32 [s,2].
    ///
    /// From now on creases are looked for at them, in place of the former pairs; the present state stays. It is for contacts of a crease
    /// response [capell2006, §3.4.1]. Raises InputError, MotionError.
    #[pyo3(signature = (poses, seconds=4.0))]
    fn find_crease_seeds<'py>(
        &self,
        py: Python<'py>,
        poses: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = real)] seconds: f64,
    ) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let bones = self.read_simulation(py, |s| s.body().skeleton().len())?;
        let poses = self::read_poses(poses, bones)?;
        run_interruptible(py, &self.simulation, |s, progress| {
            s.find_crease_seeds(&poses, seconds, progress)
        })?;
        self.crease_seeds(py)
    }

    /// Looks for creases at `pairs[s,2]` of vertices from now on, in place of the former pairs. Raises InputError.
    fn set_crease_seeds(&self, py: Python<'_>, pairs: &Bound<'_, PyAny>) -> PyResult<()> {
        let (numbers, shape) = read_integers(pairs, "pairs")?;
        if !numbers.is_empty() && (shape.len() != 2 || shape[1] != 2) {
            return Err(input_error("pairs must have the shape [s, 2]"));
        }
        let vertex = |&n: &i64| u32::try_from(n).unwrap_or(u32::MAX);
        let pairs: Vec<[u32; 2]> = numbers
            .chunks_exact(2)
            .map(|pair| [vertex(&pair[0]), vertex(&pair[1])])
            .collect();
        self.with_simulation(py, |s| s.set_crease_seeds(&pairs))
    }

    /// Pairs of vertices at which creases are looked for, int32 [s,2]; they do not belong to a state.
    #[getter]
    fn crease_seeds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let seeds = self.read_simulation(py, |s| s.crease_seeds().concat())?;
        let count = seeds.len() / 2;
        from_indices(py, &seeds).reshape([count, 2])
    }

    /// Number of steps of the hyperelastic method whose minimisation stopped short of its tolerance; the flesh went on from the best point
    /// found.
    #[getter]
    fn unconverged_steps(&self, py: Python<'_>) -> PyResult<usize> {
        self.read_simulation(py, Simulation::unconverged_steps)
    }

    /// Returns the present number of inverted cells.
    fn inverted_cells(&self, py: Python<'_>) -> PyResult<usize> {
        self.read_simulation(py, Simulation::inverted_cells)
    }

    /// Returns the state, exactly, in a few kilobytes, for `restore`.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(
            py,
            &self.read_simulation(py, Simulation::state)?,
        ))
    }

    /// Restores a state of the same body. Raises InputError for other bytes; the present state stays then.
    fn restore(&self, py: Python<'_>, state: &[u8]) -> PyResult<()> {
        self.with_simulation(py, |s| s.restore(state))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = self.read_simulation(py, |s| s.method().name())?;
        Ok(format!("<thew.Simulation: {name}>"))
    }
}
