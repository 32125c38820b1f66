// SPDX-License-Identifier: MIT OR Apache-2.0
//! Readers of the settings of a motion through keyframes: velocities, masks, shapes, choices.

use super::arrays::{Whole, as_array, finite, finite_points, floats, integers, kind_of, text};
use super::errors::input;
use crate::Vec3;
use crate::spacetime::{Ghosts, Rests, RigidMotion, Velocity};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use std::collections::BTreeMap;

/// Reads velocities given as a number, [3] or [n,3].
pub(super) fn velocity(object: &Bound<'_, PyAny>, name: &str, nodes: usize) -> PyResult<Vec<Vec3>> {
    if object.len().is_err()
        && let Ok(number) = object.extract::<f64>()
    {
        return Ok(vec![Vec3::repeat(number); nodes]);
    }
    if let Ok(one) = floats(object, name, &[Some(3)]) {
        finite(&one, name)?;
        return Ok(vec![
            Vec3::new(one.data[0], one.data[1], one.data[2]);
            nodes
        ]);
    }
    finite_points(object, name)
}

pub(super) fn optional_velocity(
    object: &Bound<'_, PyAny>,
    name: &str,
    nodes: usize,
) -> PyResult<Option<Vec<Vec3>>> {
    match object.is_none() {
        true => Ok(None),
        false => velocity(object, name, nodes).map(Some),
    }
}

/// Reads {keyframe: velocity | (before, behind) | None}.
pub(super) fn velocities(
    object: &Bound<'_, PyAny>,
    nodes: usize,
    into: &mut BTreeMap<usize, Velocity>,
) -> PyResult<()> {
    let Ok(given) = object.cast::<PyDict>() else {
        return Err(input(
            "velocities: expected a dictionary {keyframe: velocity}",
        ));
    };
    for (key, value) in given.iter() {
        let key = key.extract::<Whole>()?.0;
        let name = format!("velocities[{key}]");
        let velocity = if value.is_none() {
            Velocity::Free
        } else if let Ok(pair) = value.cast::<PyTuple>().map(|p| (p.len(), p)) {
            match pair {
                (2, pair) => Velocity::Cut(
                    optional_velocity(&pair.get_item(0)?, &name, nodes)?,
                    optional_velocity(&pair.get_item(1)?, &name, nodes)?,
                ),
                (3, _) => Velocity::Given(velocity(&value, &name, nodes)?),
                _ => {
                    return Err(input(format!(
                        "{name}: expected a velocity or a pair (before, behind)"
                    )));
                }
            }
        } else {
            Velocity::Given(velocity(&value, &name, nodes)?)
        };
        into.insert(key, velocity);
    }
    Ok(())
}

pub(super) fn mask(object: Option<&Bound<'_, PyAny>>, nodes: usize) -> PyResult<Vec<bool>> {
    let Some(object) = object else {
        return Ok(Vec::new());
    };
    let object = &as_array(object, "fixed")?;
    if kind_of(object)? == "b" {
        let numbers = floats(object, "fixed", &[Some(nodes)])?;
        return Ok(numbers.data.iter().map(|&x| x != 0.0).collect());
    }
    let (numbers, _) = integers(object, "fixed")?;
    let mut mask = vec![false; nodes];
    for v in numbers {
        let place = usize::try_from(v).ok().and_then(|v| mask.get_mut(v));
        *place.ok_or_else(|| {
            input(format!(
                "fixed: there is no vertex {v}; there are {nodes} vertices"
            ))
        })? = true;
    }
    Ok(mask)
}

pub(super) fn frames(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<Vec<Vec3>>> {
    let numbers = floats(object, name, &[None, None, Some(3)])?;
    let shape = |data: &[f64]| {
        data.chunks_exact(3)
            .map(|p| Vec3::new(p[0], p[1], p[2]))
            .collect()
    };
    let size = 3 * numbers.shape[1];
    if size == 0 {
        return Ok(vec![Vec::new(); numbers.shape[0]]);
    }
    Ok(numbers.data.chunks_exact(size).map(shape).collect())
}

pub(super) fn damping(object: &Bound<'_, PyAny>) -> PyResult<(f64, f64)> {
    let pair = floats(object, "damping", &[Some(2)])?;
    Ok((pair.data[0], pair.data[1]))
}

pub(super) fn rests(word: &str) -> PyResult<Rests> {
    match word {
        "body" => Ok(Rests::Body),
        "keyframes" => Ok(Rests::Keyframes),
        other => Err(input(format!(
            "rest: expected \"body\" or \"keyframes\", not '{other}'"
        ))),
    }
}

pub(super) fn ghosts(object: &Bound<'_, PyAny>) -> PyResult<Ghosts> {
    if let Ok(name) = object.cast::<PyString>() {
        return match text(name)? {
            "auto" => Ok(Ghosts::Auto),
            other => Err(input(format!(
                "ghosts: expected \"auto\" or a list of (time, shape), not '{other}'"
            ))),
        };
    }
    let mut all = Vec::new();
    for (number, item) in object.try_iter()?.enumerate() {
        let (time, shape): (f64, Bound<'_, PyAny>) = item?.extract().map_err(|_: PyErr| {
            input(format!("ghosts[{number}]: expected a pair (time, shape)"))
        })?;
        all.push((time, finite_points(&shape, &format!("ghosts[{number}]"))?));
    }
    Ok(Ghosts::Given(all))
}

pub(super) fn rigid(object: &Bound<'_, PyAny>) -> PyResult<RigidMotion> {
    if let Ok(removed) = object.extract::<bool>() {
        return Ok(if removed {
            RigidMotion::Removed
        } else {
            RigidMotion::Kept
        });
    }
    match object.extract::<String>().as_deref() {
        Ok("auto") => Ok(RigidMotion::Auto),
        _ => Err(input("rigid: expected \"auto\", True or False")),
    }
}
