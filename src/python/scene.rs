// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Scene`, and readers of lists with an item for each body of a scene.

use super::arrays::{
    List, WholeNumber, from_points, optional_real, read_finite_points, read_pose, read_vector, real,
};
use super::body::PyBody;
use super::collider;
use super::contact::{PyContact, PyContacts};
use super::errors::{IntoPy, input_error, run_detached, run_locked};
use super::pins::{PyPin, read_point};
use super::present::{DisplayArguments, InstantReceiver, SurfaceView};
use super::progress::run_interruptible;
use super::settings::{Callee, PySimulationSettings, replace_settings};
use crate::Vec3;
use crate::contact::{Collider, Contact};
use crate::dynamics::{NodalForces, Scene, Simulation, SimulationError};
use crate::exclusive::Exclusive;
use crate::present::Presenter;
use crate::progress::Silent;
use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::Arc;

/// Reads a list of bodies; an item of another type is refused by its index.
pub(super) fn read_bodies<'py>(list: List<Bound<'py, PyAny>>) -> PyResult<Vec<PyRef<'py, PyBody>>> {
    let body = |(i, body): (usize, Bound<'py, PyAny>)| match body.cast::<PyBody>() {
        Ok(body) => Ok(body.borrow()),
        Err(_) => Err(input_error(format!("bodies[{i}] is not a thew.Body"))),
    };
    let bodies: Vec<_> = list
        .0
        .into_iter()
        .enumerate()
        .map(body)
        .collect::<PyResult<_>>()?;
    match bodies.is_empty() {
        true => Err(SimulationError::EmptyScene.into_py()),
        false => Ok(bodies),
    }
}

/// Reads the contact of each of `count` bodies: one for all or one each. Default: each touches only the others.
pub(super) fn read_contacts(
    given: Option<&Bound<'_, PyAny>>,
    count: usize,
) -> PyResult<Vec<Contact>> {
    let with_others = Contact::with_others;
    let Some(given) = given else {
        return Ok(vec![with_others(); count]);
    };
    if let Ok(one) = given.cast::<PyContact>() {
        return Ok(vec![one.get().0.clone(); count]);
    }
    let list: List<Option<Bound<'_, PyAny>>> = given.extract().map_err(|_| {
        input_error("contact: expected a thew.Contact, or a list of one (or None) for each body")
    })?;
    let one = |(i, contact): (usize, Option<Bound<'_, PyAny>>)| match contact {
        None => Ok(with_others()),
        Some(contact) => match contact.cast::<PyContact>() {
            Ok(contact) => Ok(contact.get().0.clone()),
            Err(_) => Err(input_error(format!("contact[{i}] is not a thew.Contact"))),
        },
    };
    let list: Vec<Contact> = list
        .0
        .into_iter()
        .enumerate()
        .map(one)
        .collect::<PyResult<_>>()?;
    check_count("contact", &list, count)?;
    Ok(list)
}

/// Refuses a list for another number of bodies.
pub(super) fn check_count<T>(name: &str, list: &[T], count: usize) -> PyResult<()> {
    match list.len() {
        given if given == count => Ok(()),
        given => Err(input_error(format!(
            "{name}: there must be one for each body of the scene: {count}, not {given}"
        ))),
    }
}

/// Reads an item for each body by `read`. Default: `None` for each.
pub(super) fn read_each<'py, T>(
    name: &str,
    given: Option<List<Option<Bound<'py, PyAny>>>>,
    count: usize,
    read: impl Fn(&Bound<'py, PyAny>, &str) -> PyResult<T>,
) -> PyResult<Vec<Option<T>>> {
    let Some(list) = given else {
        return Ok((0..count).map(|_| None).collect());
    };
    check_count(name, &list.0, count)?;
    let of = |(i, one): (usize, Option<Bound<'py, PyAny>>)| {
        one.map(|one| read(&one, &format!("{name}[{i}]")))
            .transpose()
    };
    list.0.into_iter().enumerate().map(of).collect()
}

/// Bodies in motion that touch each other.
///
/// Scene(bodies, contact=None, colliders=None, ...):
///
/// - `contact`: contact of each body, itself included: one `Contact` for all, or a list of one (or None) for each. None: with the others,
///   not with itself.
/// - `colliders`: `Collider`s that all bodies touch. They are at their first entry after a reset, and one entry on with every advance.
/// - `settings` and further keywords: a `SimulationSettings`, and settings by name that replace its own. Damping that is None is that of each
///   body.
///
/// Between two bodies friction is the geometric mean, thickness the mean of both sides', and compliance the largest of all. A body alone
/// moves by the same bits as its `Simulation`. Raises InputError naming the body.
#[pyclass(name = "Scene", module = "thew", frozen)]
pub(super) struct PyScene {
    scene: Exclusive<Scene>,
    presenters: Vec<Presenter>,
}

impl PyScene {
    fn read_scene<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Scene) -> T + Send,
    ) -> PyResult<T> {
        run_locked(py, &self.scene, |s| Ok::<T, SimulationError>(work(s)))
    }

    /// Returns the index of a body, or refuses it.
    fn body_index(&self, body: WholeNumber) -> PyResult<usize> {
        match self.presenters.len() {
            count if body.0 < count => Ok(body.0),
            count => Err(input_error(format!(
                "there is no body {}: the scene has {count}",
                body.0
            ))),
        }
    }

    /// Returns the result of `work` on one body.
    fn read_body<T: Send>(
        &self,
        py: Python<'_>,
        body: WholeNumber,
        work: impl FnOnce(&Simulation) -> T + Send,
    ) -> PyResult<T> {
        let body = self.body_index(body)?;
        self.read_scene(py, |s| work(&s.bodies()[body]))
    }
}

impl SurfaceView for PyScene {
    /// Index of a body.
    type InstantKey = WholeNumber;

    fn presenter(&self, body: WholeNumber) -> PyResult<&Presenter> {
        Ok(&self.presenters[self.body_index(body)?])
    }

    fn visit_instant(
        &self,
        py: Python<'_>,
        body: WholeNumber,
        show: &mut InstantReceiver<'_>,
    ) -> PyResult<()> {
        let body = self.body_index(body)?;
        run_locked(py, &self.scene, |s| {
            show(s.bodies()[body].snapshot().instant())
        })
    }
}

#[pymethods]
impl PyScene {
    #[new]
    #[pyo3(signature = (bodies, contact=None, colliders=None, *, settings=None, **keywords))]
    fn new(
        py: Python<'_>,
        bodies: List<Bound<'_, PyAny>>,
        contact: Option<&Bound<'_, PyAny>>,
        colliders: Option<List<Bound<'_, PyAny>>>,
        settings: Option<Py<PySimulationSettings>>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let function = Callee {
            name: "Scene",
            arguments: &["bodies", "contact", "colliders", "settings"],
        };
        let settings = replace_settings(&function, settings.as_ref(), keywords)?;
        let bodies = self::read_bodies(bodies)?;
        let contacts = read_contacts(contact, bodies.len())?;
        let colliders: Vec<Arc<Collider>> = collider::read_colliders(colliders)?;
        let surfaces: Vec<_> = bodies.iter().map(|b| b.surfaces().clone()).collect();
        let of: Vec<_> = bodies.iter().map(|b| b.0.clone()).collect();
        let scene = run_detached(py, || {
            let member = |(k, (body, contact)): (usize, (_, Contact))| {
                let name_body = |error| SimulationError::for_body(k, error).into_py();
                let simulation = Simulation::new(Arc::clone(body), settings.clone());
                let simulation = simulation.map_err(name_body)?;
                let contact = Contact {
                    colliders: colliders.clone(),
                    ..contact
                };
                let contact = contact.prepare(body, &Silent);
                Ok((
                    simulation,
                    contact.map_err(|error| name_body(error.into()))?,
                ))
            };
            let members = of.iter().zip(contacts).enumerate().map(member);
            let members: PyResult<Vec<_>> = members.collect();
            Scene::new(members?).map_err(IntoPy::into_py)
        })?;
        let presenter = |surfaces| Presenter::with_modes(surfaces, None, Default::default());
        Ok(Self {
            scene: Exclusive::new(scene),
            presenters: surfaces.into_iter().map(presenter).collect(),
        })
    }

    /// Starts at `poses`, a `pose[b,4,4]` of each body. Each is balanced by itself, then with the others, without friction, or
    /// (`settled=False`) starts in the skinned shape. `rest_forces`: of each body (or None), `[nodes,3]`, N, as in `Simulation.reset`.
    /// Raises InputError, MotionError naming the body.
    #[pyo3(signature = (poses, settled=true, rest_forces=None))]
    fn reset(
        &self,
        py: Python<'_>,
        poses: List<Bound<'_, PyAny>>,
        settled: bool,
        rest_forces: Option<List<Option<Bound<'_, PyAny>>>>,
    ) -> PyResult<()> {
        let count = self.presenters.len();
        let poses: Vec<_> = poses.0.iter().map(read_pose).collect::<PyResult<_>>()?;
        let rest = read_each("rest_forces", rest_forces, count, read_finite_points)?;
        run_interruptible(py, &self.scene, |s, progress| {
            let rest: Vec<Option<&[Vec3]>> = rest.iter().map(Option::as_deref).collect();
            s.reset(&poses, settled, &rest, progress)
        })
    }

    /// Advances to `poses`, a `pose[b,4,4]` of each body, over `dt` seconds in ceil(dt·rate) equal steps. `forces` and `rest_forces`: of
    /// each body (or None), `[nodes,3]`, N, as in `Simulation.advance`. Raises InputError, MotionError naming the body; the state before the
    /// call is kept.
    #[pyo3(signature = (poses, dt, forces=None, rest_forces=None))]
    fn advance(
        &self,
        py: Python<'_>,
        poses: List<Bound<'_, PyAny>>,
        #[pyo3(from_py_with = real)] dt: f64,
        forces: Option<List<Option<Bound<'_, PyAny>>>>,
        rest_forces: Option<List<Option<Bound<'_, PyAny>>>>,
    ) -> PyResult<()> {
        let count = self.presenters.len();
        let poses: Vec<_> = poses.0.iter().map(read_pose).collect::<PyResult<_>>()?;
        let forces = read_each("forces", forces, count, read_finite_points)?;
        let rest = read_each("rest_forces", rest_forces, count, read_finite_points)?;
        run_interruptible(py, &self.scene, |s, progress| {
            let all = forces.iter().zip(&rest);
            let all: Vec<NodalForces> = all.map(|(f, r)| (f.as_deref(), r.as_deref())).collect();
            s.advance(&poses, dt, &all, progress)
        })
    }

    /// Returns the positions of the vertices of a body's surface (None: its own), float32 [n,3], metres, world axes. `to` and `onto` are as
    /// in `Clip.offsets`.
    #[pyo3(signature = (body, surface=None, to=None, onto=None))]
    fn positions<'py>(
        &self,
        py: Python<'py>,
        body: WholeNumber,
        surface: Option<WholeNumber>,
        to: Option<&Bound<'py, PyAny>>,
        onto: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        self.quantity_array(
            py,
            body,
            Presenter::positions,
            DisplayArguments::new(surface, to, onto)?,
        )
    }

    /// Returns the offsets that the flesh of a body adds to the artist's own skin, float32 [n,3], metres, world axes. `to` and `onto` are
    /// as in `Clip.offsets`.
    #[pyo3(signature = (body, surface=None, to=None, onto=None))]
    fn offsets<'py>(
        &self,
        py: Python<'py>,
        body: WholeNumber,
        surface: Option<WholeNumber>,
        to: Option<&Bound<'py, PyAny>>,
        onto: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        self.quantity_array(
            py,
            body,
            Presenter::offsets,
            DisplayArguments::new(surface, to, onto)?,
        )
    }

    /// Pins a point of a body, as `Simulation.pin` does, and returns the number of the pin. Raises InputError.
    #[pyo3(signature = (body, point, target=None, strength=1.0))]
    fn pin(
        &self,
        py: Python<'_>,
        body: WholeNumber,
        point: &Bound<'_, PyAny>,
        target: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = real)] strength: f64,
    ) -> PyResult<u32> {
        let (body, point) = (self.body_index(body)?, read_point(point)?);
        let target = target.map(|t| read_vector(t, "target")).transpose()?;
        run_locked(py, &self.scene, |s| s.pin(body, point, target, strength))
    }

    /// Moves a pin of a body to `target[3]`, as `Simulation.move_pin` does. Raises InputError.
    #[pyo3(signature = (body, pin, target, strength=None))]
    fn move_pin(
        &self,
        py: Python<'_>,
        body: WholeNumber,
        pin: WholeNumber,
        target: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = optional_real)] strength: Option<f64>,
    ) -> PyResult<()> {
        let (body, target) = (self.body_index(body)?, read_vector(target, "target")?);
        run_locked(py, &self.scene, |s| {
            s.move_pin(body, pin.to_index(), target, strength)
        })
    }

    /// Removes a pin of a body. Raises InputError.
    fn unpin(&self, py: Python<'_>, body: WholeNumber, pin: WholeNumber) -> PyResult<()> {
        let body = self.body_index(body)?;
        run_locked(py, &self.scene, |s| s.unpin(body, pin.to_index()))
    }

    /// Returns the pins of a body, in the order of their numbers.
    fn pins(&self, py: Python<'_>, body: WholeNumber) -> PyResult<Vec<PyPin>> {
        self.read_body(py, body, PyPin::all)
    }

    /// Returns the positions of a body's lattice vertices, float64 [nodes,3], metres.
    fn lattice_positions<'py>(
        &self,
        py: Python<'py>,
        body: WholeNumber,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let positions = self.read_body(py, body, |s| s.lattice_positions().to_vec())?;
        Ok(from_points(py, &positions))
    }

    /// Returns the velocities of a body's lattice vertices, float64 [nodes,3], m/s.
    fn lattice_velocities<'py>(
        &self,
        py: Python<'py>,
        body: WholeNumber,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let velocities = self.read_body(py, body, |s| s.lattice_velocities().to_vec())?;
        Ok(from_points(py, &velocities))
    }

    /// Returns the present contacts. Those between two bodies are listed for both, with equal and opposite forces.
    fn contacts(&self, py: Python<'_>) -> PyResult<PyContacts> {
        self.read_scene(py, |s| PyContacts(s.contacts().into()))
    }

    /// Returns the forces on a body's lattice vertices in the last step, by contacts and by cells near inversion, float64 [nodes,3], N,
    /// world axes; 0 at vertices that hang on bones.
    fn contact_forces<'py>(
        &self,
        py: Python<'py>,
        body: WholeNumber,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let body = self.body_index(body)?;
        let forces = self.read_scene(py, |s| s.contact_forces(body).unwrap_or_default())?;
        Ok(from_points(py, &forces))
    }

    /// Returns the present number of inverted cells of a body.
    fn inverted_cells(&self, py: Python<'_>, body: WholeNumber) -> PyResult<usize> {
        self.read_body(py, body, Simulation::inverted_cells)
    }

    /// Returns the state of all bodies, exactly, for `restore`.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.read_scene(py, Scene::state)?))
    }

    /// Restores a state of the same bodies. Raises InputError for other bytes; the present state stays then.
    fn restore(&self, py: Python<'_>, state: &[u8]) -> PyResult<()> {
        run_locked(py, &self.scene, |s| s.restore(state))
    }

    fn __len__(&self) -> usize {
        self.presenters.len()
    }

    fn __repr__(&self) -> String {
        format!("<thew.Scene: {} bodies>", self.presenters.len())
    }
}
