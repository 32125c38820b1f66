// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of muscles: rigs of the kind "muscle".

use super::arrays::{integer, read_count, read_finite_points, read_poses, real, text};
use super::body::PyBody;
use super::errors::{IntoPy, input_error, run_detached};
use super::guide::PyBoneGuide;
use super::rig::PyRig;
use super::rig_samples::read_samples;
use crate::rig::{Guide, MusclePlace, MuscleRig, Rig, RigError, RigKind};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use std::sync::Arc;

/// Largest number of points of a line.
const MAX_POINTS: usize = 1_000_000;

/// Returns a rig of a muscle between two places on bones. Its belly gets wider, and as much shorter as its volume at rest stays.
///
/// - `origin`, `insertion`: its ends; the tilt of the guides does not count.
/// - `radius`: in its middle, metres; it narrows to its ends.
/// - `contraction` c: −0.5 to 0.7. Its belly gets 1/√(1 − c) times as wide, as that of a free muscle that shortens by c, or as far as no flesh is
///   pressed flat.
/// - `bow`: distance of its middle from the straight line between its ends, away from the bones, metres.
/// - `samples`: as of `Rig`. None: no contraction at control 0 and the whole at 1.
///
/// Bones bear what its forces do not balance. Raises RigError.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // keywords of Python
#[pyo3(signature = (origin, insertion, radius, contraction=0.3, bow=0.0, samples=None, name="Muscle"))]
pub(super) fn muscle(
    origin: &PyBoneGuide,
    insertion: &PyBoneGuide,
    #[pyo3(from_py_with = real)] radius: f64,
    #[pyo3(from_py_with = real)] contraction: f64,
    #[pyo3(from_py_with = real)] bow: f64,
    samples: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = text)] name: &str,
) -> PyResult<PyRig> {
    let (origin, insertion) = (read_place(origin)?, read_place(insertion)?);
    let made = MuscleRig::new(origin, insertion, [contraction, radius, bow]);
    let made = made.map_err(RigError::into_py)?;
    let plain = Rig::muscle(name, made.clone(), Vec::new()).map_err(RigError::into_py)?;
    let samples = match samples {
        Some(samples) => read_samples(&plain, Some(samples))?,
        None => made.full_samples(),
    };
    let rig = Rig::muscle(name, made, samples).map_err(RigError::into_py)?;
    Ok(PyRig(Arc::new(rig)))
}

/// Returns the muscles that a character has: biceps and triceps of its arms, quadriceps and calves of its legs, and pectorals and trapezius of an
/// upright trunk. They are found by shape and rig, whatever the bones' names. Each is named with its side, does nothing at control 0, and contracts
/// by 0.3 at 1. The list is empty where the character's front is unknown.
#[pyfunction]
pub(super) fn muscles(py: Python<'_>, body: &PyBody) -> PyResult<Vec<PyRig>> {
    let rigs = run_detached(py, || Ok(crate::rig::muscles(&body.0)))?;
    Ok(rigs.into_iter().map(|rig| PyRig(Arc::new(rig))).collect())
}

/// Returns by which share of its rest length a muscle is shorter in each of `poses[f,b,4,4]`, between its ends as their bones carry them, float64
/// [f]; negative where a pose stretches it. Divided by the muscle's contraction it is a control at which the muscle follows its own length. Raises
/// InputError for another kind of rig, RigError.
#[pyfunction]
pub(super) fn muscle_shortening<'py>(
    py: Python<'py>,
    rig: &PyRig,
    body: &PyBody,
    poses: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let poses = read_poses(poses, body.0.skeleton().len())?;
    let muscle = find_muscle(rig)?;
    let shorter = run_detached(py, || {
        let each = poses.iter().map(|pose| muscle.shortening(&body.0, pose));
        each.collect::<Result<Vec<f64>, _>>()
            .map_err(IntoPy::into_py)
    })?;
    Ok(shorter.into_pyarray(py))
}

/// Returns points along a muscle at rest, from its origin, and its radius at each, float64 [n,4] for `count` points, metres. Raises InputError for
/// another kind of rig, RigError.
#[pyfunction]
#[pyo3(signature = (rig, body, count=17))]
pub(super) fn muscle_line<'py>(
    py: Python<'py>,
    rig: &PyRig,
    body: &PyBody,
    #[pyo3(from_py_with = integer)] count: i64,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let count = read_count(count, "count")?;
    if count > MAX_POINTS {
        return Err(input_error(format!(
            "count is {count}, but a line has at most {MAX_POINTS} points"
        )));
    }
    let line = find_muscle(rig)?.line(&body.0, count);
    let line = line.map_err(RigError::into_py)?;
    let at = |(k, axis): (usize, usize)| match axis {
        3 => line[k].1,
        _ => line[k].0[axis],
    };
    Ok(Array2::from_shape_fn((line.len(), 4), at).into_pyarray(py))
}

/// Returns the growth of a muscle's volume, as a part of it, under displacements `q[nodes,3]` of a body's nodes from rest, metres. Raises
/// InputError for another kind of rig, RigError.
#[pyfunction]
pub(super) fn muscle_growth(
    py: Python<'_>,
    rig: &PyRig,
    body: &PyBody,
    q: &Bound<'_, PyAny>,
) -> PyResult<f64> {
    let q = read_finite_points(q, "q")?;
    let muscle = find_muscle(rig)?;
    run_detached(py, || {
        muscle.volume_growth(&body.0, &q).map_err(IntoPy::into_py)
    })
}

fn read_place(guide: &PyBoneGuide) -> PyResult<MusclePlace> {
    match &guide.0 {
        Guide::Bone {
            bone,
            values: [along, angle, distance, _],
        } => Ok(MusclePlace {
            bone: bone.clone(),
            values: [*along, *angle, *distance],
        }),
        _ => Err(input_error("a muscle's end is a thew.BoneGuide")),
    }
}

fn find_muscle(rig: &PyRig) -> PyResult<&MuscleRig> {
    match rig.0.kind() {
        RigKind::Muscle(muscle) => Ok(muscle),
        kind => Err(input_error(format!(
            "the rig '{}' is of the kind '{}', not a muscle",
            rig.0.name(),
            kind.name()
        ))),
    }
}
