// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Contact` and of the contacts that are reported.

use super::arrays::{from_points, read_floats, real, text};
use super::errors::{IntoPy, input_error};
use crate::Vec3;
use crate::contact::{Contact, ContactError, ContactPoint, ContactSettings};
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use std::sync::Arc;

/// Settings of the contact of flesh with itself and with others.
///
/// Contact(self_contact=True, thickness=0.0, friction=0.3, regions=None, compliance=0.03, response="complementarity"):
///
/// - `self_contact`: True if a body touches itself.
/// - `thickness`: distance kept between skins, metres.
/// - `friction`: Coulomb's coefficient.
/// - `regions[n]`: one number per vertex of the mesh, of which 0 touches nothing, or a mask, True where skin may touch. None: all may
///   touch.
/// - `compliance`: how far contacts give, as a part of what the flesh itself gives there.
/// - `response`: "complementarity" (contacts push and never pull). For comparison also "creases" [capell2006, §3.4] as printed, and
///   "released_creases" without its pulling forces; both begin at `Simulation.find_crease_seeds` and ignore thickness, friction and
///   compliance.
///
/// With the method "modal" overlaps are parted on the shown surface, frame by frame, without forces; friction and compliance mean nothing
/// then. Raises InputError.
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
        let regions = regions.map(self::read_regions).transpose()?;
        let options = ContactSettings {
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

    /// True if a body touches itself.
    #[getter]
    fn self_contact(&self) -> bool {
        self.0.options.self_contact
    }

    /// Distance kept between skins, metres.
    #[getter]
    fn thickness(&self) -> f64 {
        self.0.options.thickness
    }

    /// Coulomb's coefficient of friction.
    #[getter]
    fn friction(&self) -> f64 {
        self.0.options.friction
    }

    /// Give of contacts, as a part of what the flesh itself gives there.
    #[getter]
    fn compliance(&self) -> f64 {
        self.0.options.compliance
    }

    /// Method that keeps flesh from passing through itself: "complementarity", "creases" or "released_creases".
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

    /// Returns the arguments of the constructor.
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

/// Reads one number per vertex, or a mask of the vertices that may touch.
fn read_regions(given: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    let numbers = read_floats(
        given,
        "regions (a number for each vertex, or a mask)",
        &[None],
    )?;
    let number = |&x: &f64| {
        (x.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&x)).then_some(x as u32)
    };
    let all: Option<Vec<u32>> = numbers.data.iter().map(number).collect();
    all.ok_or_else(|| {
        input_error(
            "regions must be whole numbers, zero or positive, or a mask: True where skin may touch",
        )
    })
}

/// Contacts at one instant; `len()` is their number c.
///
/// Each contact is a vertex of the skin, `vertices[c]` of the body `bodies[c]`, at the skin or collider `other_bodies[c]` near its vertex
/// `other_vertices[c]`.
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

    /// Points of contact, float64 [c,3], metres, world axes.
    #[getter]
    fn points<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        self.vectors(py, |c| c.point)
    }

    /// Outward normals of the touched skins and colliders, float64 [c,3].
    #[getter]
    fn normals<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        self.vectors(py, |c| c.normal)
    }

    /// Gaps, float64 [c], metres; negative: overlap.
    #[getter]
    fn gaps<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let gaps: Vec<f64> = self.0.iter().map(|c| c.gap).collect();
        gaps.into_pyarray(py)
    }

    /// Forces on the vertices that touch, float64 [c,3], N.
    #[getter]
    fn forces<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        self.vectors(py, |c| c.force)
    }

    /// Bodies whose vertices touch, int32 [c].
    #[getter]
    fn bodies<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        self.indices(py, |c| c.body)
    }

    /// Vertices that touch, int32 [c].
    #[getter]
    fn vertices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        self.indices(py, |c| c.vertex)
    }

    /// Bodies that are touched, int32 [c]; colliders are counted after them.
    #[getter]
    fn other_bodies<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        self.indices(py, |c| c.other_body)
    }

    /// Vertices of `other_bodies` nearest to the contacts, int32 [c].
    #[getter]
    fn other_vertices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        self.indices(py, |c| c.other_vertex)
    }

    /// True for contacts that no force parts, bool [c]: bones alone move both sides, or the side that touches a collider.
    #[getter]
    fn kinematic<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        let all: Vec<bool> = self.0.iter().map(|c| c.kinematic).collect();
        all.into_pyarray(py)
    }

    fn __repr__(&self) -> String {
        let deepest = self.0.iter().map(|c| c.gap).fold(0.0, f64::min);
        format!(
            "<thew.Contacts: {} points, deepest {:.2} mm>",
            self.0.len(),
            // The subtraction never gives −0.
            0.0 - 1e3 * deepest
        )
    }
}
