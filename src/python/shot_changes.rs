// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `Shot.replace`: a shot with some of its arguments changed.

use super::arguments::name_argument;
use super::arrays::{List, read, real};
use super::body::PyBody;
use super::errors::{IntoPy, input_error};
use super::progress::with_progress;
use super::settings::{Callee, DEVICE_KEYWORD, PySimulationSettings, Settings};
use super::shot::{ARGUMENT_NAMES, PyShot};
use crate::dynamics::SimulationSettings;
use crate::shot::Shot;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyRange, PyRangeMethods, PySlice, PySliceMethods};
use std::ops::Range;

/// Changes that are no arguments of `Shot`.
const OWN_CHANGES: [&str; 2] = ["softness", "frames"];

/// Returns another shot with changes.
pub(super) fn replace<'py>(
    shot: &Bound<'py, PyShot>,
    changes: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = shot.py();
    let changes = changes.map_or_else(|| Ok(PyDict::new(py)), |changes| changes.copy())?;
    check_names(&changes)?;
    add_controls(&shot.get().0, &changes)?;
    let shot = change_body_and_frames(py, shot.get().0.clone(), &changes)?;
    let settings = PySimulationSettings(shot.settings_as_given());
    let (base, given) = (Bound::new(py, PyShot(shot))?, PyDict::new(py));
    for name in ARGUMENT_NAMES {
        given.set_item(name, base.getattr(name)?)?;
    }
    given.set_item("settings", Bound::new(py, settings)?)?;
    // Modes belong to one method alone.
    if changes.contains("method")? && !changes.contains("modes")? {
        given.set_item("modes", py.None())?;
    }
    if changes.contains("gravity")? && !changes.contains("gravities")? {
        given.set_item("gravities", py.None())?;
    }
    given.update(changes.as_mapping())?;
    py.get_type::<PyShot>().call((), Some(&given))
}

/// Refuses changes of what a shot does not have, before any work.
fn check_names(changes: &Bound<'_, PyDict>) -> PyResult<()> {
    let arguments: Vec<&str> = ARGUMENT_NAMES.into_iter().chain(OWN_CHANGES).collect();
    let settings = SimulationSettings::names();
    for name in changes.keys() {
        let name = read::<String>(&name)?;
        let known = [&arguments[..], &settings, &[DEVICE_KEYWORD]];
        if !known.iter().any(|names| names.contains(&name.as_str())) {
            let function = Callee {
                name: "Shot.replace",
                arguments: &arguments,
            };
            return Err(function.unknown_keyword::<SimulationSettings>(&name));
        }
    }
    Ok(())
}

/// Adds the controls that follow from other rigs: none where there are no rigs. The controls of a shot fit no other number of rigs.
fn add_controls(shot: &Shot, changes: &Bound<'_, PyDict>) -> PyResult<()> {
    let Some(rigs) = changes.get_item("rigs")? else {
        return Ok(());
    };
    if shot.controls.is_none() || changes.contains("controls")? {
        return Ok(());
    }
    let rigs: Option<List<Bound<'_, PyAny>>> = rigs.extract()?;
    let rigs = rigs.map_or_else(Vec::new, |list| list.0);
    let (before, after) = (shot.rigs.len(), rigs.len());
    if after == 0 {
        changes.set_item("controls", changes.py().None())?;
    } else if after != before {
        return Err(input_error(format!(
            "rigs: controls have a column for each rig, those of the shot {before}, and there would be {after}: give controls too, or None for the \
             last sample of each rig"
        )));
    }
    // An iterator is read once.
    changes.set_item("rigs", rigs)
}

/// Takes those changes that are no arguments of `Shot`, with the body that they change, out of `changes`, and returns the shot with them.
fn change_body_and_frames(
    py: Python<'_>,
    mut shot: Shot,
    changes: &Bound<'_, PyDict>,
) -> PyResult<Shot> {
    let take = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
        let value = changes.get_item(name)?;
        if value.is_some() {
            changes.del_item(name)?;
        }
        Ok(value.filter(|value| !value.is_none()))
    };
    let (frames, softness) = (take("frames")?, take("softness")?);
    if let Some(frames) = frames {
        if changes.contains("poses")? {
            return Err(input_error(
                "frames are a part of the shot's own poses: give either these or other poses",
            ));
        }
        if let Some(cyclic) = changes.get_item("cyclic")? {
            shot.settings.cyclic = cyclic.extract()?;
        }
        let frames = read_range(&frames, shot.poses.len())?;
        shot = shot.part(&frames).map_err(IntoPy::into_py)?;
    }
    if let Some(softness) = softness {
        let dial = real(&softness).map_err(|error| name_argument(py, "softness", error))?;
        if let Some(body) = take("body")? {
            shot.surfaces = body.extract::<Py<PyBody>>()?.get().surfaces().clone();
        }
        shot = with_progress(py, None, |progress| {
            shot.with_softness(dial, progress).map_err(IntoPy::into_py)
        })?;
    }
    Ok(shot)
}

/// Reads a range of `count` poses.
fn read_range(given: &Bound<'_, PyAny>, count: usize) -> PyResult<Range<usize>> {
    let refused = || {
        let shown = given
            .repr()
            .map_or_else(|_| String::new(), |s| s.to_string());
        input_error(format!(
            "frames: expected a range of the shot's {count} poses in steps of 1, such as range(10, 50) or slice(10, None), not {shown}"
        ))
    };
    let (start, stop, step) = if let Ok(range) = given.cast::<PyRange>() {
        (range.start()?, range.stop()?, range.step()?)
    } else if let Ok(slice) = given.cast::<PySlice>() {
        let indices = slice.indices(count as isize)?;
        (indices.start, indices.stop, indices.step)
    } else {
        return Err(refused());
    };
    let whole = |number: isize| usize::try_from(number).map_err(|_| refused());
    if step != 1 {
        return Err(refused());
    }
    Ok(whole(start)?..whole(stop)?)
}
