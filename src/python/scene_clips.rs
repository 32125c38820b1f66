// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.simulate_scene`, `thew.simulate_shots` and `thew.extend_scene`: clips of bodies that touch each other.

use super::arguments::Arguments;
use super::arrays::List;
use super::clip::PyClip;
use super::collider;
use super::errors::{IntoPy, input_error};
use super::force_field::{read_track, stiffness_factors, take_common_tracks};
use super::pins::read_tracks;
use super::progress::with_progress;
use super::scene::{check_count, read_bodies, read_contacts, read_each};
use super::shot::{PyShot, add_rigs, read_clip_settings, read_frames, shot_from_poses};
use crate::clip::{Clip, ClipSettings, FrameForces};
use crate::contact::Contact;
use crate::dynamics::Tracks;
use crate::shot::Shot;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Arc;

/// Simulates bodies that touch each other, at `fps` frames per second, and returns a Clip of each.
///
/// - `poses`: of each body `poses[f,b,4,4]`.
/// - `contact`: contact of each body, itself included: one `Contact` for all, or a list of one (or None) for each. None: with the others,
///   not with itself.
/// - `colliders`: `Collider`s that all bodies touch.
/// - `rigs`, `controls`: of each body a list of `Rig`s and `controls[f,r]`, or None.
/// - `pins`: of each body a list of `PinTrack`s, or None.
/// - `fields`: `ForceField`s that accelerate the flesh of all bodies; `gravity` of one or `[f,3]`, `gravities[f,3]`: as in `simulate`.
/// - `stiffness`, `softness`: of each body `[f]` as in `simulate`, or None.
/// - `preroll`, `cyclic`, `restarts`, `settings` and further keywords: as in `simulate`. In a loop all bodies end in their first poses, moved alike,
///   or none does.
/// - `names`: name of each body, for `Clip.body_names`.
///
/// Contacts of a clip count the bodies of the scene, and after them colliders. Clips of a scene are extended together, by `extend_scene`.
/// Raises Cancelled, InputError (naming the body), MotionError (naming frame and body).
#[pyfunction]
#[pyo3(
    signature = (*arguments, **keywords),
    text_signature = "(bodies, poses, fps, contact=None, colliders=None, rigs=None, controls=None, preroll=0, \
        progress=None, *, cyclic=False, names=None, restarts=None, pins=None, fields=None, gravities=None, stiffness=None, \
        softness=None, settings=None, **keywords)"
)]
pub(super) fn simulate_scene(
    py: Python<'_>,
    arguments: &Bound<'_, PyTuple>,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<PyClip>> {
    const ARGUMENT_NAMES: [&str; 9] = [
        "bodies",
        "poses",
        "fps",
        "contact",
        "colliders",
        "rigs",
        "controls",
        "preroll",
        "progress",
    ];
    let given = Arguments::new("simulate_scene", &ARGUMENT_NAMES, arguments, keywords)?;
    let bodies = self::read_bodies(given.require("bodies", List::from_object)?)?;
    let count = bodies.len();
    let poses: List<Bound<'_, PyAny>> = given.require("poses", List::from_object)?;
    check_count("poses", &poses.0, count)?;
    let contacts = read_contacts(given.take("contact", |c| Ok(c.clone()))?.as_ref(), count)?;
    let colliders = collider::read_colliders(given.take("colliders", List::from_object)?)?;
    let rigs = given.take("rigs", List::from_object)?;
    let rigs = read_each("rigs", rigs, count, |list, _| list.extract::<List<_>>())?;
    let controls = given.take("controls", List::from_object)?;
    let controls = read_each("controls", controls, count, |c, _| Ok(c.clone()))?;
    let names = given.take("names", List::<String>::from_object)?;
    let names = names.map_or_else(|| vec![String::new(); count], |list| list.0);
    check_count("names", &names, count)?;
    let progress = given.take("progress", |p| Ok(p.clone().unbind()))?;
    let restarts = given.take("restarts", read_frames)?.unwrap_or_default();
    let pins = given.take("pins", List::from_object)?;
    let pins = read_each("pins", pins, count, |list, _| {
        read_tracks(list.extract::<List<_>>()?)
    })?;
    let common = take_common_tracks(py, &given)?;
    let each = |name: &'static str| -> PyResult<Vec<Option<Vec<f64>>>> {
        read_each(
            name,
            given.take(name, List::from_object)?,
            count,
            read_track,
        )
    };
    let (softness, stiffness) = (each("softness")?, each("stiffness")?);
    let settings = read_clip_settings(given, Arc::new(common))?;
    let motions = poses
        .0
        .iter()
        .zip(contacts)
        .zip(rigs.into_iter().zip(controls))
        .zip(softness.into_iter().zip(stiffness));
    let mut shots = Vec::with_capacity(count);
    for (k, (body, (((poses, contact), (rigs, controls)), (softness, stiffness)))) in
        bodies.iter().zip(motions).enumerate()
    {
        let shot = stiffness_factors(py, body, softness, stiffness).and_then(|stiffness| {
            let tracks = Tracks {
                stiffness,
                ..Tracks::clone(&settings.tracks)
            };
            let settings = ClipSettings {
                tracks: Arc::new(tracks),
                ..settings.clone()
            };
            settings.check().map_err(IntoPy::into_py)?;
            shot_from_poses(py, body, poses, settings)
        });
        let shot = shot.and_then(|shot| add_rigs(shot, rigs, controls.as_ref()));
        let shot = shot.and_then(|shot| {
            let shot = shot.restarts(restarts.clone());
            shot.check().map_err(IntoPy::into_py).map(|()| shot)
        });
        let contact = Contact {
            colliders: colliders.clone(),
            ..contact
        };
        shots.push(
            shot.map_err(|error| name_body(py, k, error))?
                .contact(contact),
        );
    }
    for ((shot, name), pins) in shots.iter_mut().zip(names).zip(pins) {
        shot.name = name;
        shot.pins = pins.unwrap_or_default();
    }
    simulate_clips(py, &shots.iter().collect::<Vec<_>>(), progress)
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
        Err(_) => Err(input_error(format!("shots[{i}] is not a thew.Shot"))),
    };
    let shots: Vec<Shot> = shots
        .0
        .iter()
        .enumerate()
        .map(shot)
        .collect::<PyResult<_>>()?;
    simulate_clips(py, &shots.iter().collect::<Vec<_>>(), progress)
}

fn simulate_clips(
    py: Python<'_>,
    shots: &[&Shot],
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<PyClip>> {
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
/// - `pins`: of each clip a list of `PinTrack`s of its points at those poses, or None, as in `Clip.extend`.
///
/// Clips of cycles cannot be extended. Raises Cancelled, InputError, MotionError; all clips then stay as they were.
#[pyfunction]
#[pyo3(signature = (clips, poses, controls=None, progress=None, restart=false, pins=None))]
pub(super) fn extend_scene(
    py: Python<'_>,
    clips: List<Bound<'_, PyAny>>,
    poses: List<Bound<'_, PyAny>>,
    controls: Option<List<Option<Bound<'_, PyAny>>>>,
    progress: Option<Py<PyAny>>,
    restart: bool,
    pins: Option<List<Option<Bound<'_, PyAny>>>>,
) -> PyResult<()> {
    let clip = |(i, clip): (usize, &Bound<'_, PyAny>)| match clip.cast::<PyClip>() {
        Ok(clip) => Ok(clip.clone().unbind()),
        Err(_) => Err(input_error(format!("clips[{i}] is not a thew.Clip"))),
    };
    let clips: Vec<Py<PyClip>> = clips
        .0
        .iter()
        .enumerate()
        .map(clip)
        .collect::<PyResult<_>>()?;
    check_count("poses", &poses.0, clips.len())?;
    let controls = read_each("controls", controls, clips.len(), |c, _| Ok(c.clone()))?;
    let pins = read_each("pins", pins, clips.len(), |list, _| {
        read_tracks(list.extract::<List<_>>()?)
    })?;
    let mut motions = Vec::with_capacity(clips.len());
    for (k, (clip, given)) in clips.iter().zip(poses.0.iter().zip(&controls)).enumerate() {
        let motion = clip.get().read_motion(py, given.0, given.1.as_ref());
        motions.push(motion.map_err(|error| name_body(py, k, error))?);
    }
    with_progress(py, progress, |progress| {
        let clips: Vec<&Clip> = clips.iter().map(|clip| &**clip.get().clip()).collect();
        let new = motions.iter().zip(&pins).map(|((poses, led), pins)| {
            let forces = led.as_ref().map(|led| led as &dyn FrameForces);
            (&poses[..], forces, pins.as_deref().unwrap_or_default())
        });
        let new: Vec<_> = new.collect();
        Clip::append(&clips, &new, restart, progress).map_err(IntoPy::into_py)
    })
}

/// Returns the same error with the body of a scene named in front.
fn name_body(py: Python<'_>, body: usize, error: PyErr) -> PyErr {
    let text = format!("body {body} of the scene: {}", error.value(py));
    match error.get_type(py).call1((text,)) {
        Ok(value) => PyErr::from_value(value),
        Err(_) => error,
    }
}
