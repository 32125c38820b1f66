// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lattices made by hand for Python: faces and tips read, violations as objects of `thew.Violation`.

use super::arrays::{List, WholeNumber, from_points, read_finite_points, read_vector};
use super::errors::{IntoPy, exception_class};
use crate::Vec3;
use crate::lattice::{HandSettings, Lattice, LatticeError, Tip, Violation};
use pyo3::prelude::*;

/// Reads a mesh of faces and recognises its cells.
pub(super) fn lattice_from_faces(
    vertices: &Bound<'_, PyAny>,
    faces: List<List<i64>>,
) -> PyResult<Lattice> {
    let x = read_finite_points(vertices, "vertices")?;
    let corners = |(face, list): (usize, List<i64>)| {
        let number = |vertex: i64| {
            u32::try_from(vertex).map_err(|_| LatticeError::FaceVertex {
                face,
                vertex,
                count: x.len(),
            })
        };
        list.0
            .into_iter()
            .map(number)
            .collect::<Result<Vec<u32>, _>>()
    };
    let faces: Vec<Vec<u32>> = (faces.0.into_iter().enumerate())
        .map(corners)
        .collect::<Result<_, _>>()
        .map_err(IntoPy::into_py)?;
    Lattice::from_faces(&x, &faces).map_err(|e| error_with_places(e, &x, None))
}

/// A virtual tip as Python gives it: bone, and both ends.
pub(super) type GivenTip<'py> = (WholeNumber, Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Reads the settings of `Lattice.for_character`.
pub(super) fn read_hand_settings(
    tips: Option<List<GivenTip<'_>>>,
    reach: f64,
) -> PyResult<HandSettings> {
    let tip = |(bone, head, tail): GivenTip<'_>| -> PyResult<Tip> {
        Ok(Tip {
            bone: bone.to_index(),
            ends: [read_vector(&head, "tips")?, read_vector(&tail, "tips")?],
        })
    };
    let tips = tips.unwrap_or_default().0.into_iter().map(tip);
    Ok(HandSettings {
        tips: tips.collect::<PyResult<_>>()?,
        reach,
    })
}

/// Turns an error into an exception; violations keep their places among vertices at `x` and their cells of `lattice`.
pub(super) fn error_with_places(
    error: LatticeError,
    x: &[Vec3],
    lattice: Option<&Lattice>,
) -> PyErr {
    let LatticeError::Conditions(violations) = &error else {
        return error.into_py();
    };
    Python::attach(|py| {
        let made = list_violations(py, violations, x, lattice)
            .and_then(|list| exception_class(py, "LatticeError")?.call1((error.to_string(), list)));
        made.map_or_else(|e| e, PyErr::from_value)
    })
}

/// Returns violations as objects of `thew.Violation`.
pub(super) fn list_violations<'py>(
    py: Python<'py>,
    violations: &[Violation],
    x: &[Vec3],
    lattice: Option<&Lattice>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let class = exception_class(py, "Violation")?;
    let object = |v: &Violation| {
        let cells = lattice.map_or_else(Vec::new, |lattice| v.cells(lattice));
        class.call1((
            v.condition(),
            v.kind(),
            v.to_string(),
            v.bone().unwrap_or_default(),
            cells,
            v.vertices(),
            from_points(py, &v.places(x)),
        ))
    };
    violations.iter().map(object).collect()
}
