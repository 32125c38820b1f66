// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.simulate_scene`, `thew.simulate_shots` and `thew.extend_scene`: clips of bodies that touch each other.

use super::arrays::{List, integer, optional_real, real, text};
use super::clip::PyClip;
use super::collider;
use super::errors::{IntoPy, input};
use super::progress::with_progress;
use super::scene::{bodies, contacts, counted, each};
use super::shot::PyShot;
use crate::clip::{Clip, FrameForces};
use crate::contact::Contact;
use crate::shot::Shot;
use pyo3::prelude::*;

/// Simulates bodies that touch each other, at `fps` frames per second, and returns a Clip of each.
///
/// - `poses`: of each body `poses[f,b,4,4]`.
/// - `contact`: contact of each body, itself included: one `Contact` for all, or a list of one (or None) for each. None: with the others,
///   not with itself.
/// - `colliders`: `Collider`s that all bodies touch.
/// - `rigs`, `controls`: of each body a list of `Rig`s and `controls[f,r]`, or None.
/// - `preroll`, `cyclic`, `restarts` and further settings: those of `simulate`. In a loop all bodies end in their first poses, moved alike,
///   or none does.
/// - `names`: name of each body, for `Clip.body_names`.
///
/// Contacts of a clip count the bodies of the scene, and after them colliders. Clips of a scene are extended together, by `extend_scene`.
/// Raises Cancelled, InputError (naming the body), MotionError (naming frame and body).
#[pyfunction]
#[pyo3(signature = (bodies, poses, fps, contact=None, colliders=None, rigs=None, controls=None, preroll=0, progress=None,
    method="hyperelastic", rate=240.0, gravity=None, mass_damping=None, stiffness_damping=None, max_offset=None,
    solver="auto", elastic_joints=1.0, cyclic=false, names=None, *, restarts=None))]
#[allow(clippy::too_many_arguments)]
pub(super) fn simulate_scene(
    py: Python<'_>,
    bodies: List<Bound<'_, PyAny>>,
    poses: List<Bound<'_, PyAny>>,
    #[pyo3(from_py_with = real)] fps: f64,
    contact: Option<&Bound<'_, PyAny>>,
    colliders: Option<List<Bound<'_, PyAny>>>,
    rigs: Option<List<Option<Bound<'_, PyAny>>>>,
    controls: Option<List<Option<Bound<'_, PyAny>>>>,
    #[pyo3(from_py_with = integer)] preroll: i64,
    progress: Option<Py<PyAny>>,
    #[pyo3(from_py_with = text)] method: &str,
    #[pyo3(from_py_with = real)] rate: f64,
    gravity: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = optional_real)] mass_damping: Option<f64>,
    #[pyo3(from_py_with = optional_real)] stiffness_damping: Option<f64>,
    #[pyo3(from_py_with = optional_real)] max_offset: Option<f64>,
    #[pyo3(from_py_with = text)] solver: &str,
    #[pyo3(from_py_with = real)] elastic_joints: f64,
    cyclic: bool,
    names: Option<List<String>>,
    restarts: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<PyClip>> {
    let bodies = self::bodies(bodies)?;
    let count = bodies.len();
    counted("poses", &poses.0, count)?;
    let contacts = contacts(contact, count)?;
    let colliders = collider::list(colliders)?;
    let rigs = each("rigs", rigs, count, |list, _| list.extract::<List<_>>())?;
    let controls = each("controls", controls, count, |c, _| Ok(c.clone()))?;
    let names = names.map_or_else(|| vec![String::new(); count], |list| list.0);
    counted("names", &names, count)?;
    let given = poses
        .0
        .into_iter()
        .zip(contacts)
        .zip(rigs.into_iter().zip(controls));
    let mut shots = Vec::with_capacity(count);
    for (k, (body, ((poses, contact), (rigs, controls)))) in bodies.iter().zip(given).enumerate() {
        let shot = PyShot::new(
            py,
            body,
            &poses,
            fps,
            rigs,
            controls.as_ref(),
            preroll,
            cyclic,
            None,
            method,
            rate,
            gravity,
            mass_damping,
            stiffness_damping,
            max_offset,
            None,
            "auto",
            None,
            "embedded",
            "f32",
            solver,
            elastic_joints,
            None,
            None,
            "",
            restarts,
        );
        let shot = shot.map_err(|error| named(py, k, error))?;
        let contact = Contact {
            colliders: colliders.clone(),
            ..contact
        };
        shots.push(Shot {
            contact: Some(contact),
            ..shot.0
        });
    }
    for (shot, name) in shots.iter_mut().zip(names) {
        shot.name = name;
    }
    together(py, &shots.iter().collect::<Vec<_>>(), progress)
}

/// Simulates shots together and returns a Clip of each. Their bodies touch each other, and the colliders of all of them.
///
/// A shot without contact touches the others, but not itself. All shots have the same number of poses, frames and steps per second. The
/// longest run-in is that of all. All are cyclic or none, and all begin anew in the same frames. Equal colliders of several shots are one.
/// Raises as `simulate_scene`.
#[pyfunction]
#[pyo3(signature = (shots, progress=None))]
pub(super) fn simulate_shots(
    py: Python<'_>,
    shots: List<Bound<'_, PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<PyClip>> {
    let shot = |(i, shot): (usize, &Bound<'_, PyAny>)| match shot.cast::<PyShot>() {
        Ok(shot) => Ok(shot.get().0.clone()),
        Err(_) => Err(input(format!("shots[{i}] is not a thew.Shot"))),
    };
    let shots: Vec<Shot> = shots
        .0
        .iter()
        .enumerate()
        .map(shot)
        .collect::<PyResult<_>>()?;
    together(py, &shots.iter().collect::<Vec<_>>(), progress)
}

fn together(py: Python<'_>, shots: &[&Shot], progress: Option<Py<PyAny>>) -> PyResult<Vec<PyClip>> {
    let clips = with_progress(py, progress, |progress| {
        Shot::simulate_together(shots, progress).map_err(IntoPy::into_py)
    })?;
    let all = clips.into_iter().zip(shots);
    let clip =
        |((clip, warnings), shot): ((_, _), &&Shot)| PyClip::new(clip, shot.rigs.clone(), warnings);
    Ok(all.map(clip).collect())
}

/// Extends all clips of a scene, in its order, by `poses[f,b,4,4]` of each after the last frame, as `Clip.extend` does with one alone.
/// Clips made in parts equal those made at once.
///
/// - `controls`: of each clip `controls[f,r]` of its rigs at those poses, or None.
/// - `restart`: True begins all clips anew there, each as a clip of its own.
///
/// Clips of cycles cannot be extended. Raises Cancelled, InputError, MotionError; all clips then stay as they were.
#[pyfunction]
#[pyo3(signature = (clips, poses, controls=None, progress=None, restart=false))]
pub(super) fn extend_scene(
    py: Python<'_>,
    clips: List<Bound<'_, PyAny>>,
    poses: List<Bound<'_, PyAny>>,
    controls: Option<List<Option<Bound<'_, PyAny>>>>,
    progress: Option<Py<PyAny>>,
    restart: bool,
) -> PyResult<()> {
    let clip = |(i, clip): (usize, &Bound<'_, PyAny>)| match clip.cast::<PyClip>() {
        Ok(clip) => Ok(clip.clone().unbind()),
        Err(_) => Err(input(format!("clips[{i}] is not a thew.Clip"))),
    };
    let clips: Vec<Py<PyClip>> = clips
        .0
        .iter()
        .enumerate()
        .map(clip)
        .collect::<PyResult<_>>()?;
    counted("poses", &poses.0, clips.len())?;
    let controls = each("controls", controls, clips.len(), |c, _| Ok(c.clone()))?;
    let mut motions = Vec::with_capacity(clips.len());
    for (k, (clip, given)) in clips.iter().zip(poses.0.iter().zip(&controls)).enumerate() {
        let motion = clip.get().motion(py, given.0, given.1.as_ref());
        motions.push(motion.map_err(|error| named(py, k, error))?);
    }
    with_progress(py, progress, |progress| {
        let clips: Vec<&Clip> = clips.iter().map(|clip| &**clip.get().clip()).collect();
        let new = motions
            .iter()
            .map(|(poses, led)| (&poses[..], led.as_ref().map(|led| led as &dyn FrameForces)));
        let new: Vec<_> = new.collect();
        let append = if restart {
            Clip::restart_scene
        } else {
            Clip::extend_scene
        };
        append(&clips, &new, progress).map_err(IntoPy::into_py)
    })
}

/// Returns the same error with the body of a scene named in front.
fn named(py: Python<'_>, body: usize, error: PyErr) -> PyErr {
    let text = format!("body {body} of the scene: {}", error.value(py));
    match error.get_type(py).call1((text,)) {
        Ok(value) => PyErr::from_value(value),
        Err(_) => error,
    }
}
