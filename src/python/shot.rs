// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Shot`.

use super::arguments::Arguments;
use super::arrays::{
    List, from_points, from_poses, integer, read, read_count, read_poses, real, text,
};
use super::body::PyBody;
use super::clip::PyClip;
use super::collider::{self, PyCollider};
use super::contact::PyContact;
use super::dynamics::read_modes;
use super::errors::{IntoPy, input_error, internal_error, run_detached};
use super::force_field::{PyForceField, take_tracks};
use super::modal::PyModes;
use super::pins::{PyPinTrack, read_tracks};
use super::progress::with_progress;
use super::rig::PyRig;
use super::rig_forces::{read_controls, read_rigs};
use super::settings::PySimulationSettings;
use super::shot_changes;
use crate::clip::{ClipSettings, Texts};
use crate::contact::Contact;
use crate::dynamics::{SimulationError, Tracks};
use crate::shot::{RIGS_TEXT, Shot, ShotModes, WARNINGS_TEXT};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray4};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::path::PathBuf;
use std::sync::Arc;

/// Arguments of the constructor, each of which is a property.
pub(super) const ARGUMENT_NAMES: [&str; 18] = [
    "body",
    "poses",
    "fps",
    "rigs",
    "controls",
    "preroll",
    "cyclic",
    "notes",
    "modes",
    "contact",
    "colliders",
    "name",
    "restarts",
    "pins",
    "fields",
    "gravities",
    "stiffness",
    "settings",
];
/// Number of those that may be given without a name.
const POSITIONAL_COUNT: usize = 8;

/// Everything that `simulate` needs, to be written to one file and simulated elsewhere, with the same bits.
///
/// Shot(body, poses, fps, ...): a body, `poses[f,b,4,4]` at `fps` frames per second, `rigs` with `controls[f,r]`, and further arguments as in
/// `simulate`. In addition:
///
/// - `notes`: texts by name, for the maker of the shot; its clip has them too. The names "rigs" and "warnings" are taken.
/// - `name`: name of the body, for `Clip.body_names`.
///
/// Each setting of the simulation is a property as well. Raises InputError.
#[pyclass(name = "Shot", module = "thew", frozen)]
pub(super) struct PyShot(pub Shot);

#[pymethods]
impl PyShot {
    #[new]
    #[pyo3(
        signature = (*arguments, **keywords),
        text_signature = "(body, poses, fps, rigs=None, controls=None, preroll=0, cyclic=False, notes=None, *, \
            modes=None, contact=None, colliders=None, name='', restarts=None, pins=None, fields=None, gravities=None, stiffness=None, \
            softness=None, settings=None, **keywords)"
    )]
    fn new(
        py: Python<'_>,
        arguments: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let given = Arguments::new(
            "Shot",
            &ARGUMENT_NAMES[..POSITIONAL_COUNT],
            arguments,
            keywords,
        )?;
        let texts: Texts = given.take("notes", |n| read(n))?.unwrap_or_default();
        let name = given.take("name", |n| text(n).map(str::to_owned))?;
        if let Some(taken) = [RIGS_TEXT, WARNINGS_TEXT]
            .iter()
            .find(|t| texts.contains_key(**t))
        {
            return Err(input_error(format!(
                "notes: the name '{taken}' is reserved for the clip's own notes: use another one"
            )));
        }
        Ok(Self(Shot {
            name: name.unwrap_or_default(),
            texts,
            ..read_shot(py, given)?
        }))
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
        run_detached(py, || self.0.save(&path).map_err(IntoPy::into_py))
    }

    /// Reads a shot that `save` wrote. Raises StorageError for a file that is not Thew's, of another version or kind, damaged or refused by
    /// the disk.
    #[staticmethod]
    fn load(py: Python<'_>, #[pyo3(from_py_with = read)] path: PathBuf) -> PyResult<Self> {
        run_detached(py, || Shot::load(&path).map(Self).map_err(IntoPy::into_py))
    }

    /// Body that is to move.
    #[getter]
    fn body(&self, py: Python<'_>) -> PyResult<Py<PyBody>> {
        PyBody::shared(py, &self.0.surfaces)
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

    /// Settings of the simulation, damping included. Each is a property of the shot too.
    #[getter]
    fn settings(&self) -> PySimulationSettings {
        PySimulationSettings(self.0.settings.simulation.clone())
    }

    /// Frames in which the flesh begins anew, ascending.
    #[getter]
    fn restarts(&self) -> Vec<usize> {
        self.0.restarts.clone()
    }

    /// Tracks of the pins.
    #[getter]
    fn pins(&self) -> Vec<PyPinTrack> {
        self.0.pins.iter().cloned().map(PyPinTrack).collect()
    }

    /// Force fields that accelerate the flesh.
    #[getter]
    fn fields(&self) -> Vec<PyForceField> {
        let fields = self.0.settings.tracks.fields.iter();
        fields.cloned().map(PyForceField).collect()
    }

    /// Gravity at every frame, float64 [f,3], m/s². None: that of the settings.
    #[getter]
    fn gravities<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray2<f64>>> {
        let gravity = &self.0.settings.tracks.gravity;
        (!gravity.is_empty()).then(|| from_points(py, gravity))
    }

    /// Factors on the stiffness of all flesh at every frame, float64 [f]. None: 1.
    #[getter]
    fn stiffness<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        let stiffness = &self.0.settings.tracks.stiffness;
        (!stiffness.is_empty()).then(|| stiffness.clone().into_pyarray(py))
    }

    /// Poses, float64 [f,b,4,4].
    #[getter]
    fn poses<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray4<f64>> {
        from_poses(py, &self.0.poses, self.0.surfaces.body().skeleton().len())
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
            array
                .map_err(|e| internal_error(e.to_string()))?
                .into_pyarray(py),
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

    /// Modes of the method "modal", or the number of lowest ones. None: the usual number.
    #[getter]
    fn modes<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(match &self.0.modes {
            ShotModes::Usual => None,
            ShotModes::Lowest(count) => Some(count.into_pyobject(py)?.into_any()),
            ShotModes::These(modes) => Some(Bound::new(py, PyModes(modes.clone()))?.into_any()),
        })
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
    /// properties here; damping that was left to the body is that of a new one. Rigs of another number need other controls, or none. The result equals a shot made with these values, to the bit. In
    /// addition:
    ///
    /// - `softness`: a dial, 0 to 1. The body is made again from all it was made of, as `Body` does with this softness, and other changes of its
    ///   stiffness than `with_cell_stiffness` are overruled. Modes given as such become their number.
    /// - `frames`: a range or slice of the poses, `range(10, 50)`, with their controls, pins, cuts and motion of colliders. The run-in leads
    ///   to the first of them.
    ///
    /// `copy.replace` does the same from Python 3.13 on. Raises as `Shot` does, and Cancelled.
    #[pyo3(signature = (**changes))]
    fn replace<'py>(
        slf: &Bound<'py, Self>,
        changes: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        shot_changes::replace(slf, changes)
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
        self::user_notes(py, &self.0.texts)
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
            self.0.settings.simulation.method.name()
        )
    }
}

/// Reads a shot without name and notes from the arguments of a call.
pub(super) fn read_shot(py: Python<'_>, given: Arguments<'_>) -> PyResult<Shot> {
    let body = given.require("body", |b| Ok(b.extract::<Py<PyBody>>()?))?;
    let object = body.bind(py);
    let body = object.get();
    body.remember(object)?;
    let poses = given.require("poses", |p| Ok(p.clone()))?;
    let rigs = given.take("rigs", List::from_object)?;
    let controls = given.take("controls", |c| Ok(c.clone()))?;
    let modes = given.take("modes", |m| Ok(m.clone()))?;
    let contact = given.take("contact", |c| Ok(c.extract::<Py<PyContact>>()?))?;
    let contact = contact.as_ref().map(Py::get);
    let contact = collider::contact_settings(contact, given.take("colliders", List::from_object)?)?;
    let restarts = given.take("restarts", read_frames)?.unwrap_or_default();
    let pins = given.take("pins", List::from_object)?;
    let pins = pins.map(read_tracks).transpose()?.unwrap_or_default();
    let tracks = Arc::new(take_tracks(py, &given, body)?);
    let settings = read_clip_settings(given, tracks)?;
    let method = settings.simulation.method;
    let shot = shot_from_poses(py, body, &poses, settings)?;
    let shot = add_rigs(shot, rigs, controls.as_ref())?;
    if let Some(contact) = &contact {
        let fits = contact.check(body.0.surface());
        let fits = fits.and_then(|()| contact.check_clip(shot.poses.len()));
        fits.map_err(IntoPy::into_py)?;
        if !method.supports_contact() {
            return Err(SimulationError::ContactMethod { method }.into_py());
        }
    }
    let shot = Shot {
        modes: read_modes(modes.as_ref(), method)?,
        contact,
        restarts,
        pins,
        ..shot
    };
    shot.check().map_err(IntoPy::into_py)?;
    Ok(shot)
}

/// Reads the settings of a clip from the arguments left in a call.
pub(super) fn read_clip_settings(
    given: Arguments<'_>,
    tracks: Arc<Tracks>,
) -> PyResult<ClipSettings> {
    let fps = given.require("fps", real)?;
    let preroll = given.take("preroll", |p| read_count(integer(p)?, "preroll"))?;
    let cyclic = given.take("cyclic", |c| c.extract())?;
    let settings = ClipSettings {
        preroll: preroll.unwrap_or(0),
        cyclic: cyclic.unwrap_or(false),
        tracks,
        ..ClipSettings::new(fps, given.settings()?)
    };
    settings.check().map_err(IntoPy::into_py)?;
    Ok(settings)
}

/// Makes a shot of a body from poses. It takes the body's damping for damping that is None.
pub(super) fn shot_from_poses(
    py: Python<'_>,
    body: &PyBody,
    poses: &Bound<'_, PyAny>,
    settings: ClipSettings,
) -> PyResult<Shot> {
    let poses = self::read_poses(poses, body.0.skeleton().len())?;
    let shot = Shot::new(body.surfaces().clone(), poses, settings);
    run_detached(py, || shot.with_damping_of_body().map_err(IntoPy::into_py))
}

/// Adds rigs and their controls to a shot.
pub(super) fn add_rigs(
    shot: Shot,
    rigs: Option<List<Bound<'_, PyAny>>>,
    controls: Option<&Bound<'_, PyAny>>,
) -> PyResult<Shot> {
    let rigs = read_rigs(rigs.map_or_else(Vec::new, |list| list.0))?;
    let controls = read_controls(controls, shot.poses.len(), rigs.len())?;
    Ok(shot.rigs(rigs, controls))
}

/// Reads numbers of frames: whole numbers that are not negative.
pub(super) fn read_frames(given: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    let each = given.extract::<List<Bound<'_, PyAny>>>()?.0;
    let frame = |frame: &Bound<'_, PyAny>| read_count(integer(frame)?, "restarts");
    each.iter().map(frame).collect()
}

/// Returns the texts without those that a clip writes itself.
pub(super) fn user_notes<'py>(py: Python<'py>, texts: &Texts) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, text) in texts {
        if ![RIGS_TEXT, WARNINGS_TEXT].contains(&name.as_str()) {
            dict.set_item(name, text)?;
        }
    }
    Ok(dict)
}
