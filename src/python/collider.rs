// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Collider`.

use super::arrays::{List, check_finite, optional_real, read_floats, read_vector, real};
use super::contact::PyContact;
use super::errors::{IntoPy, input_error, run_detached};
use super::surface::PySurface;
use crate::Vec3;
use crate::contact::{Collider, ColliderMotion, Contact};
use crate::skeleton::Affine;
use nalgebra::Matrix4;
use pyo3::prelude::*;
use std::sync::Arc;

/// An object that flesh collides with: a mesh, or a `plane`.
///
/// Collider(surface, motion=None, friction=None, thickness=0.0):
///
/// - `surface`: the mesh. The facing of its triangles does not matter: what encloses a volume is solid; other triangles are sheets, which
///   flesh touches on the side where it is.
/// - `motion`: `[f,4,4]`, maps that carry its vertices, or `[f,n,3]` (m), positions of a deforming mesh. There is one entry per pose; the
///   last one stays for good. None: the mesh is still.
/// - `friction`: Coulomb's coefficient; the geometric mean with the flesh's counts. None: the flesh's.
/// - `thickness`: distance kept in addition to the flesh's own, metres.
///
/// Raises InputError.
#[pyclass(name = "Collider", module = "thew", frozen)]
pub(super) struct PyCollider(pub Arc<Collider>);

#[pymethods]
impl PyCollider {
    #[new]
    #[pyo3(signature = (surface, motion=None, friction=None, thickness=0.0))]
    fn new(
        py: Python<'_>,
        surface: &PySurface,
        motion: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = optional_real)] friction: Option<f64>,
        #[pyo3(from_py_with = real)] thickness: f64,
    ) -> PyResult<Self> {
        let motion = motion.map_or(Ok(ColliderMotion::Still), self::read_motion)?;
        let surface = surface.0.clone();
        run_detached(py, || {
            let made = Collider::mesh(surface, motion)
                .and_then(|c| c.with_properties(friction, thickness));
            made.map(|c| Self(Arc::new(c))).map_err(IntoPy::into_py)
        })
    }

    /// Builds a plane through `point[3]` (m), solid on the side that `normal[3]`, of any length, points away from. Raises InputError.
    #[staticmethod]
    #[pyo3(signature = (point, normal, friction=None, thickness=0.0))]
    fn plane(
        point: &Bound<'_, PyAny>,
        normal: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = optional_real)] friction: Option<f64>,
        #[pyo3(from_py_with = real)] thickness: f64,
    ) -> PyResult<Self> {
        let (point, normal) = (read_vector(point, "point")?, read_vector(normal, "normal")?);
        let made =
            Collider::plane(point, normal).and_then(|c| c.with_properties(friction, thickness));
        made.map(|c| Self(Arc::new(c))).map_err(IntoPy::into_py)
    }

    /// Mesh of the collider; None for a plane.
    #[getter]
    fn surface(&self) -> Option<PySurface> {
        self.0.surface().map(|s| PySurface(s.clone()))
    }

    /// Coulomb's coefficient of friction; None: that of the flesh.
    #[getter]
    fn friction(&self) -> Option<f64> {
        self.0.friction()
    }

    /// Distance kept in addition to the thickness of the flesh, metres.
    #[getter]
    fn thickness(&self) -> f64 {
        self.0.thickness()
    }

    /// Number of entries of its motion; None: it is still.
    #[getter]
    fn entries(&self) -> Option<usize> {
        self.0.entries()
    }

    fn __copy__(me: Py<Self>) -> Py<Self> {
        me
    }

    fn __deepcopy__(me: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        me
    }

    fn __repr__(&self) -> String {
        let entries = self.0.entries();
        let moving = entries.map_or("still".to_owned(), |n| format!("{n} entries of motion"));
        match self.0.surface() {
            Some(s) => format!("<thew.Collider: {} vertices, {moving}>", s.vertices().len()),
            None => "<thew.Collider: a plane>".to_owned(),
        }
    }
}

fn read_motion(object: &Bound<'_, PyAny>) -> PyResult<ColliderMotion> {
    let numbers = read_floats(object, "motion", &[None, None, None])?;
    check_finite(&numbers, "motion")?;
    let (rows, columns) = (numbers.shape[1], numbers.shape[2]);
    match (rows, columns) {
        (4, 4) => {
            let map = |(entry, m): (usize, &[f64])| {
                let map = Affine::from_matrix(&Matrix4::from_row_slice(m));
                let wrong = "is not an affine map: its last row must be 0, 0, 0, 1";
                map.ok_or_else(|| input_error(format!("motion[{entry}] {wrong}")))
            };
            let maps = numbers.data.chunks_exact(16).enumerate().map(map);
            Ok(ColliderMotion::Carried(maps.collect::<PyResult<_>>()?))
        }
        (vertices, 3) => {
            let place = |p: &[f64]| Vec3::new(p[0], p[1], p[2]);
            let entry = |e: &[f64]| e.chunks_exact(3).map(place).collect();
            let entries = numbers.data.chunks_exact((3 * vertices).max(1)).map(entry);
            Ok(ColliderMotion::Deforming(entries.collect()))
        }
        _ => Err(input_error(format!(
            "motion: expected an array of shape (entries, 4, 4) or (entries, vertices, 3), got ({}, {rows}, {columns})",
            numbers.shape[0]
        ))),
    }
}

/// Reads a list of colliders; an item of another type is refused by its index.
pub(super) fn read_colliders(
    colliders: Option<List<Bound<'_, PyAny>>>,
) -> PyResult<Vec<Arc<Collider>>> {
    let list = colliders.map_or_else(Vec::new, |list| list.0);
    let collider = |(i, c): (usize, Bound<'_, PyAny>)| match c.cast::<PyCollider>() {
        Ok(c) => Ok(c.get().0.clone()),
        Err(_) => Err(input_error(format!(
            "colliders[{i}] is not a thew.Collider"
        ))),
    };
    list.into_iter().enumerate().map(collider).collect()
}

/// Returns the contact settings of a call. Colliders without a `Contact` mean that flesh touches these and passes through itself.
pub(super) fn contact_settings(
    contact: Option<&PyContact>,
    colliders: Option<List<Bound<'_, PyAny>>>,
) -> PyResult<Option<Contact>> {
    let colliders = read_colliders(colliders)?;
    let contact = match contact {
        Some(contact) => contact.0.clone(),
        None if colliders.is_empty() => return Ok(None),
        None => Contact::with_others(),
    };
    Ok(Some(Contact {
        colliders,
        ..contact
    }))
}
