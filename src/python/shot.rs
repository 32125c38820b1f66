// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Shot`.

use super::arrays::{List, integer, optional_real, optional_text, poses, read, real, text, whole};
use super::body::PyBody;
use super::clip::{PyClip, controls, rigs};
use super::collider::{self, PyCollider};
use super::contact::PyContact;
use super::dynamics::{ModeSelection, damping, gravity, method, modes_for};
use super::errors::{IntoPy, detached, input, internal};
use super::modal::PyModes;
use super::progress::with_progress;
use super::rig::PyRig;
use crate::clip::{ClipSettings, Texts};
use crate::contact::Contact;
use crate::dynamics::{Settings, SimulationError};
use crate::kernel::EngineChoice;
use crate::modal::DeformOptions;
use crate::shot::{RIGS, Shot, ShotModes, WARNINGS};
use numpy::ndarray::{Array2, Array4};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray4};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// Arguments of the constructor, each of which is a property.
const SETTINGS: [&str; 24] = [
    "body",
    "poses",
    "fps",
    "rigs",
    "controls",
    "preroll",
    "cyclic",
    "notes",
    "method",
    "rate",
    "gravity",
    "mass_damping",
    "stiffness_damping",
    "max_offset",
    "modes",
    "engine",
    "form",
    "precision",
    "solver",
    "elastic_joints",
    "contact",
    "colliders",
    "name",
    "restarts",
];

/// Everything that `simulate` needs, to be written to one file and simulated elsewhere, with the same bits.
///
/// Shot(body, poses, fps, ...): a body, `poses[f,b,4,4]` at `fps` frames per second, `rigs` with `controls[f,r]`, and settings as in
/// `simulate`. In addition:
///
/// - `notes`: texts by name, for the maker of the shot; its clip has them too. The names "rigs" and "warnings" are taken.
/// - `name`: name of the body, for `Clip.body_names`.
///
/// Raises InputError.
#[pyclass(name = "Shot", module = "thew", frozen)]
pub(super) struct PyShot(pub Shot);

#[pymethods]
impl PyShot {
    #[new]
    #[pyo3(signature = (body, poses, fps, rigs=None, controls=None, preroll=0, cyclic=false, notes=None,
        method="hyperelastic", rate=240.0, gravity=None, mass_damping=None, stiffness_damping=None,
        max_offset=None, modes=None, engine="auto", device=None, form="embedded",
        precision="f32", solver="auto", elastic_joints=1.0, contact=None,
        colliders=None, name="", *, restarts=None))]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn new(
        py: Python<'_>,
        body: &PyBody,
        poses: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = real)] fps: f64,
        rigs: Option<List<Bound<'_, PyAny>>>,
        controls: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = integer)] preroll: i64,
        cyclic: bool,
        #[pyo3(from_py_with = read)] notes: Option<Texts>,
        #[pyo3(from_py_with = text)] method: &str,
        #[pyo3(from_py_with = real)] rate: f64,
        gravity: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = optional_real)] mass_damping: Option<f64>,
        #[pyo3(from_py_with = optional_real)] stiffness_damping: Option<f64>,
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
        #[pyo3(from_py_with = text)] name: &str,
        restarts: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let damping = (mass_damping, stiffness_damping);
        let (mass_damping, stiffness_damping) = self::damping(py, &body.0, damping)?;
        let settings = ClipSettings {
            fps,
            preroll: whole(preroll, "preroll")?,
            cyclic,
            method: self::method(method)?,
            simulation: Settings {
                rate,
                gravity: self::gravity(gravity)?,
                mass_damping,
                stiffness_damping,
                max_offset,
                solver: solver.parse().map_err(SimulationError::into_py)?,
                elastic_joints,
            },
        };
        settings.check().map_err(IntoPy::into_py)?;
        let poses = self::poses(poses, body.0.skeleton().len())?;
        let show =
            DeformOptions::named(form, precision, engine, device).map_err(IntoPy::into_py)?;
        let modes = match modes_for(modes, settings.method)? {
            Some(ModeSelection::These(modes)) => ShotModes::These(modes),
            Some(ModeSelection::Lowest(count)) => ShotModes::Lowest(count),
            Some(ModeSelection::Usual) | None => ShotModes::Usual,
        };
        let contact = collider::asked(contact.as_deref(), colliders)?;
        if let Some(contact) = &contact {
            let fits = contact.check(body.0.surface());
            let fits = fits.and_then(|()| contact.check_clip(poses.len()));
            fits.map_err(IntoPy::into_py)?;
            if !settings.method.touches() {
                let method = settings.method;
                return Err(SimulationError::ContactMethod { method }.into_py());
            }
        }
        let restarts = frames(restarts, "restarts")?;
        let rigs = self::rigs(rigs.map_or_else(Vec::new, |list| list.0))?;
        let controls = self::controls(controls, poses.len(), rigs.len())?;
        let texts = notes.unwrap_or_default();
        if let Some(taken) = [RIGS, WARNINGS].iter().find(|t| texts.contains_key(**t)) {
            return Err(input(format!(
                "notes: the name '{taken}' is taken, for what the clip says itself: use another one"
            )));
        }
        let shot = Shot {
            name: name.to_owned(),
            restarts,
            modes,
            show,
            contact,
            rigs,
            controls,
            texts,
            ..Shot::new(body.surfaces().clone(), poses, settings)
        };
        shot.check().map_err(IntoPy::into_py)?;
        Ok(Self(shot))
    }

    /// Simulates the shot as `simulate` does and returns the clip. Raises Cancelled, InputError (poses and rigs by name), MotionError.
    #[pyo3(signature = (progress=None))]
    pub(super) fn simulate(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<PyClip> {
        let (clip, warnings) = with_progress(py, progress, |progress| {
            self.0.simulate(progress).map_err(IntoPy::into_py)
        })?;
        Ok(PyClip::new(clip, self.0.rigs.clone(), warnings))
    }

    /// Writes the shot with its body to a file: versioned, checksummed, whole or not at all. It takes 96 bytes per bone of every pose, in
    /// addition to the body. Raises StorageError.
    fn save(&self, py: Python<'_>, #[pyo3(from_py_with = read)] path: PathBuf) -> PyResult<()> {
        detached(py, || self.0.save(&path).map_err(IntoPy::into_py))
    }

    /// Reads a shot that `save` wrote. Raises StorageError for a file that is not Thew's, of another version or kind, damaged or refused by
    /// the disk.
    #[staticmethod]
    fn load(py: Python<'_>, #[pyo3(from_py_with = read)] path: PathBuf) -> PyResult<Self> {
        detached(py, || Shot::load(&path).map(Self).map_err(IntoPy::into_py))
    }

    /// Body that is to move.
    #[getter]
    fn body(&self) -> PyBody {
        PyBody::carrying(self.0.surfaces.clone())
    }

    /// Name of the body.
    #[getter]
    fn name(&self) -> String {
        self.0.name.clone()
    }

    /// Frames per second.
    #[getter]
    fn fps(&self) -> f64 {
        self.0.settings.fps
    }

    /// Method of motion.
    #[getter]
    fn method(&self) -> &'static str {
        self.0.settings.method.name()
    }

    /// Frames in which the flesh begins anew, ascending.
    #[getter]
    fn restarts(&self) -> Vec<usize> {
        self.0.restarts.clone()
    }

    /// Poses, float64 [f,b,4,4].
    #[getter]
    fn poses<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray4<f64>> {
        let maps = self.0.poses.iter().flat_map(|pose| pose.maps());
        let rows = maps.flat_map(|map| {
            map.to_matrix()
                .transpose()
                .iter()
                .copied()
                .collect::<Vec<_>>()
        });
        let shape = (
            self.0.poses.len(),
            self.0.surfaces.body().skeleton().len(),
            4,
            4,
        );
        let poses: Vec<f64> = rows.collect();
        Array4::from_shape_fn(shape, |(f, b, i, k)| {
            poses[((f * shape.1 + b) * 4 + i) * 4 + k]
        })
        .into_pyarray(py)
    }

    /// Rigs that push the flesh.
    #[getter]
    fn rigs(&self) -> Vec<PyRig> {
        self.0.rigs.iter().cloned().map(PyRig).collect()
    }

    /// Controls of the rigs, float64 [f,r]. None: each at its last sample.
    #[getter]
    fn controls<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let Some(controls) = &self.0.controls else {
            return Ok(None);
        };
        let shape = (self.0.poses.len(), self.0.rigs.len());
        let array = Array2::from_shape_vec(shape, controls.clone());
        Ok(Some(
            array.map_err(|e| internal(e.to_string()))?.into_pyarray(py),
        ))
    }

    /// Frames simulated before the first one, or rounds of a cycle.
    #[getter]
    fn preroll(&self) -> usize {
        self.0.settings.preroll
    }

    /// True if the poses repeat.
    #[getter]
    fn cyclic(&self) -> bool {
        self.0.settings.cyclic
    }

    /// Steps per second, at least.
    #[getter]
    fn rate(&self) -> f64 {
        self.0.settings.simulation.rate
    }

    /// Gravity, float64 [3], m/s².
    #[getter]
    fn gravity<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.0.settings.simulation.gravity.iter().copied())
    }

    /// Damping by mass, 1/s.
    #[getter]
    fn mass_damping(&self) -> f64 {
        self.0.settings.simulation.mass_damping
    }

    /// Damping by stiffness, s.
    #[getter]
    fn stiffness_damping(&self) -> f64 {
        self.0.settings.simulation.stiffness_damping
    }

    /// Largest distance from its skin at which flesh is shown, as a part of the body's size. None: no limit.
    #[getter]
    fn max_offset(&self) -> Option<f64> {
        self.0.settings.simulation.max_offset
    }

    /// Part of the joints' own shape that is shown, 0 to 1.
    #[getter]
    fn elastic_joints(&self) -> f64 {
        self.0.settings.simulation.elastic_joints
    }

    /// Solver of the steps.
    #[getter]
    fn solver(&self) -> &'static str {
        self.0.settings.simulation.solver.name()
    }

    /// Modes of the method "modal", or the number of lowest ones. None: the usual number.
    #[getter]
    fn modes<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(match &self.0.modes {
            ShotModes::Usual => None,
            ShotModes::Lowest(count) => Some(count.into_pyobject(py)?.into_any()),
            ShotModes::These(modes) => Some(Bound::new(py, PyModes(modes.clone()))?.into_any()),
        })
    }

    /// Engine that shows the method "modal": "auto", "cpu", "gpu" or "gpu:NAME".
    #[getter]
    fn engine(&self) -> String {
        match &self.0.show.engine {
            EngineChoice::Auto => "auto".into(),
            EngineChoice::Cpu => "cpu".into(),
            EngineChoice::Gpu => "gpu".into(),
            EngineChoice::Adapter(name) => format!("gpu:{name}"),
        }
    }

    /// Form in which modes are warped.
    #[getter]
    fn form(&self) -> &'static str {
        self.0.show.form.name()
    }

    /// Precision in which modes are stored.
    #[getter]
    fn precision(&self) -> &'static str {
        self.0.show.precision.name()
    }

    /// Contact of the flesh. None: it passes through itself.
    #[getter]
    fn contact(&self) -> Option<PyContact> {
        let contact = self.0.contact.as_ref()?;
        Some(PyContact(Contact {
            colliders: Vec::new(),
            ..contact.clone()
        }))
    }

    /// Colliders that the flesh also touches.
    #[getter]
    fn colliders(&self) -> Vec<PyCollider> {
        let contact = self.0.contact.iter();
        let all = contact.flat_map(|contact| contact.colliders.iter().cloned());
        all.map(PyCollider).collect()
    }

    /// Returns another shot with some arguments of `Shot` changed: `shot.replace(poses=poses, rate=480.0)`. All others are as their
    /// properties here: damping stays the number that it had become, also for another body. `copy.replace` does the same from Python 3.13
    /// on. Raises as `Shot` does.
    #[pyo3(signature = (**changes))]
    fn replace<'py>(
        slf: &Bound<'py, Self>,
        changes: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let given = PyDict::new(py);
        for name in SETTINGS {
            given.set_item(name, slf.getattr(name)?)?;
        }
        if let Some(changes) = changes {
            // Modes belong to one method alone.
            if changes.contains("method")? && !changes.contains("modes")? {
                given.set_item("modes", py.None())?;
            }
            given.update(changes.as_mapping())?;
        }
        py.get_type::<Self>().call((), Some(&given))
    }

    /// Implements `copy.replace` of Python 3.13.
    #[pyo3(signature = (**changes))]
    fn __replace__<'py>(
        slf: &Bound<'py, Self>,
        changes: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::replace(slf, changes)
    }

    /// Names of the rigs that push the flesh.
    #[getter]
    fn rig_names(&self) -> Vec<String> {
        let rigs = self.0.rigs.iter();
        rigs.map(|rig| rig.name().to_owned()).collect()
    }

    /// Texts that travel with the shot, by name.
    #[getter]
    fn notes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self::notes(py, &self.0.texts)
    }

    fn __len__(&self) -> usize {
        self.0.poses.len()
    }

    fn __copy__(me: Py<Self>) -> Py<Self> {
        me
    }

    fn __deepcopy__(me: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        me
    }

    fn __repr__(&self) -> String {
        format!(
            "<thew.Shot: {} frames at {} fps, method '{}'>",
            self.0.poses.len(),
            self.0.settings.fps,
            self.0.settings.method.name()
        )
    }
}

/// Reads numbers of frames: whole numbers that are not negative. Default: empty.
fn frames(given: Option<&Bound<'_, PyAny>>, what: &'static str) -> PyResult<Vec<usize>> {
    let Some(given) = given else {
        return Ok(Vec::new());
    };
    let each = given.extract::<List<Bound<'_, PyAny>>>()?.0;
    let frame = |frame: &Bound<'_, PyAny>| whole(integer(frame)?, what);
    each.iter().map(frame).collect()
}

/// Returns the texts without those that a clip writes itself.
pub(super) fn notes<'py>(py: Python<'py>, texts: &Texts) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, text) in texts {
        if ![RIGS, WARNINGS].contains(&name.as_str()) {
            dict.set_item(name, text)?;
        }
    }
    Ok(dict)
}
