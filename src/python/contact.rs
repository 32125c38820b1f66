// SPDX-License-Identifier: MIT OR Apache-2.0
//! `thew.Contact`, and what is reported of contacts.

use super::arrays::{floats, from_points, real, text};
use super::errors::{IntoPy, input};
use crate::Vec3;
use crate::contact::{Contact, ContactError, ContactOptions, ContactPoint};
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use std::sync::Arc;

/// How flesh touches: itself (self_contact), with thickness (m) kept between skins, Coulomb's friction, and compliance, how far
/// contacts give as a part of what the flesh itself gives there. regions[n]: one number per vertex of the mesh, 0 touches
/// nothing, or a mask; None: all may touch. response: "complementarity", or for comparison "creases" [capell2006, §3.4] as printed and
/// "released_creases", which begin at `Simulation.find_crease_seeds`. With the method 'modal' what overlaps is parted on the surface
/// that is shown, without forces: friction and compliance mean nothing then. Raises InputError.
#[pyclass(name = "Contact", module = "thew", frozen)]
pub(super) struct PyContact(pub Contact);

#[pymethods]
impl PyContact {
    #[new]
    #[pyo3(signature = (self_contact=true, thickness=0.0, friction=0.3, regions=None, compliance=0.03,
        response="complementarity"))]
    fn new(
        self_contact: bool,
        #[pyo3(from_py_with = real)] thickness: f64,
        #[pyo3(from_py_with = real)] friction: f64,
        regions: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = real)] compliance: f64,
        #[pyo3(from_py_with = text)] response: &str,
    ) -> PyResult<Self> {
        let regions = regions.map(self::regions).transpose()?;
        let options = ContactOptions {
            self_contact,
            thickness,
            friction,
            compliance,
            response: response.parse().map_err(ContactError::into_py)?,
        };
        options.check().map_err(IntoPy::into_py)?;
        let regions = regions.map(Arc::from);
        Ok(Self(Contact {
            options,
            regions,
            colliders: Vec::new(),
        }))
    }

    /// Whether a body touches itself.
    #[getter]
    fn self_contact(&self) -> bool {
        self.0.options.self_contact
    }

    /// What is kept between skins, metres.
    #[getter]
    fn thickness(&self) -> f64 {
        self.0.options.thickness
    }

    /// Coulomb's coefficient.
    #[getter]
    fn friction(&self) -> f64 {
        self.0.options.friction
    }

    /// How far contacts give.
    #[getter]
    fn compliance(&self) -> f64 {
        self.0.options.compliance
    }

    /// What keeps flesh from passing through itself.
    #[getter]
    fn response(&self) -> &'static str {
        self.0.options.response.name()
    }

    fn __copy__(me: Py<Self>) -> Py<Self> {
        me
    }

    fn __deepcopy__(me: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        me
    }

    /// Arguments of the constructor.
    #[allow(clippy::type_complexity)]
    fn __getnewargs__<'py>(
        &self,
        py: Python<'py>,
    ) -> (
        bool,
        f64,
        f64,
        Option<Bound<'py, PyArray1<u32>>>,
        f64,
        &'static str,
    ) {
        let options = &self.0.options;
        let regions = (self.0.regions.as_deref()).map(|r| r.to_vec().into_pyarray(py));
        (
            options.self_contact,
            options.thickness,
            options.friction,
            regions,
            options.compliance,
            options.response.name(),
        )
    }

    fn __repr__(&self) -> String {
        let o = &self.0.options;
        let itself = if o.self_contact { "True" } else { "False" };
        format!(
            "thew.Contact(self_contact={itself}, thickness={}, friction={}, compliance={}, \
             response='{}')",
            o.thickness, o.friction, o.compliance, o.response
        )
    }
}

/// One number per vertex, or whether it may touch: a mask.
fn regions(given: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    let numbers = floats(
        given,
        "regions (a number for each vertex, or a mask)",
        &[None],
    )?;
    let number = |&x: &f64| {
        (x.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&x)).then_some(x as u32)
    };
    let all: Option<Vec<u32>> = numbers.data.iter().map(number).collect();
    all.ok_or_else(|| {
        input(
            "regions must be whole numbers, zero or positive, or a mask: True where skin may touch",
        )
    })
}

/// What touches at one instant: points[c,3], normals[c,3] (outward of what is touched), gaps[c] (m, negative: overlap),
/// forces[c,3] (N, on bodies[c] at vertices[c]), what is touched others[c] (bodies, after them
/// colliders) and its vertices partners[c]; held[c]: bones alone hold both sides, which no force parts.
#[pyclass(name = "Contacts", module = "thew", frozen)]
pub(super) struct PyContacts(pub Arc<[ContactPoint]>);

impl PyContacts {
    fn vectors<'py>(
        &self,
        py: Python<'py>,
        of: impl Fn(&ContactPoint) -> Vec3,
    ) -> Bound<'py, PyArray2<f64>> {
        let all: Vec<Vec3> = self.0.iter().map(of).collect();
        from_points(py, &all)
    }

    fn indices<'py>(
        &self,
        py: Python<'py>,
        of: impl Fn(&ContactPoint) -> u32,
    ) -> Bound<'py, PyArray1<i32>> {
        let all: Vec<i32> = self.0.iter().map(|c| of(c) as i32).collect();
        all.into_pyarray(py)
    }
}

#[pymethods]
impl PyContacts {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Where, metres, world axes.
    #[getter]
    fn points<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        self.vectors(py, |c| c.point)
    }

    /// Outward normals of what is touched.
    #[getter]
    fn normals<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        self.vectors(py, |c| c.normal)
    }

    /// Metres; negative: overlap.
    #[getter]
    fn gaps<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let gaps: Vec<f64> = self.0.iter().map(|c| c.gap).collect();
        gaps.into_pyarray(py)
    }

    /// N, on the vertices.
    #[getter]
    fn forces<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        self.vectors(py, |c| c.force)
    }

    /// Bodies whose vertices touch.
    #[getter]
    fn bodies<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        self.indices(py, |c| c.body)
    }

    /// Vertices that touch.
    #[getter]
    fn vertices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        self.indices(py, |c| c.vertex)
    }

    /// Bodies that are touched.
    #[getter]
    fn others<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        self.indices(py, |c| c.other)
    }

    /// Vertices near which they are touched.
    #[getter]
    fn partners<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        self.indices(py, |c| c.partner)
    }

    /// Whether bones alone hold both sides, or what touches a collider, so that no force parts them.
    #[getter]
    fn held<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        let held: Vec<bool> = self.0.iter().map(|c| c.held).collect();
        held.into_pyarray(py)
    }

    fn __repr__(&self) -> String {
        let deepest = self.0.iter().map(|c| c.gap).fold(0.0, f64::min);
        format!(
            "<thew.Contacts: {} points, deepest {:.2} mm>",
            self.0.len(),
            // Never −0.
            0.0 - 1e3 * deepest
        )
    }
}
