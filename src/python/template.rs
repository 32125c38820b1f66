// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Template`; parameters by name and frames, which rigs and guides share.

use super::arrays::{finite, finite_points, floats, from_points, text};
use super::errors::{IntoPy, detached, input};
use crate::rig::{GuideFrame, ParameterKind, RigError, Template, TemplateKind};
use crate::{Mat4, Vec3};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A force field in a frame of its own. The largest force equals `strength` (N/m³); a negative one turns it around.
///
/// - Template("bump", radius, strength) pushes along the frame's Z.
/// - Template("radial", radius, strength) pushes away from its origin.
/// - Template("bulge", radius, strength) squeezes along Z and widens across.
/// - Template("torus", ring_radius, tube_radius, strength) pushes away from a circle about Z.
///
/// Parameters are given by name; lengths are metres. Fields are compact and once continuously differentiable. Raises RigError.
#[pyclass(name = "Template", module = "thew", frozen)]
pub(super) struct PyTemplate(pub Template);

#[pymethods]
impl PyTemplate {
    #[new]
    #[pyo3(signature = (kind, **parameters))]
    fn new(
        #[pyo3(from_py_with = text)] kind: &str,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let kind: TemplateKind = kind.parse().map_err(RigError::into_py)?;
        let named = parameters.map(named_numbers).transpose()?;
        let named = named.unwrap_or_default();
        let values = all_of(kind.parameter_names(), &named)?;
        Template::new(kind, &values)
            .map(Self)
            .map_err(IntoPy::into_py)
    }

    /// Kind of field: "bump", "radial", "bulge" or "torus".
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind().name()
    }

    /// Parameters by name.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        by_name(py, self.0.kind().parameter_names(), self.0.parameters())
    }

    /// Unit of each parameter, {name: unit}.
    #[getter]
    fn units<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        units_of(
            py,
            self.0.kind().parameter_names(),
            self.0.kind().parameter_kinds(),
        )
    }

    /// Distance from the frame's origin beyond which there is no force, metres.
    #[getter]
    fn support_radius(&self) -> f64 {
        self.0.support_radius()
    }

    /// Returns the force at `points[p,3]` with the template in `frame[4,4]`, float64 [p,3], N/m³.
    fn force<'py>(
        &self,
        py: Python<'py>,
        points: &Bound<'py, PyAny>,
        frame: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let points = finite_points(points, "points")?;
        let frame = rigid(frame, "frame")?;
        let force = |x: &Vec3| frame.rotation * self.0.force(&frame.local(x));
        let forces: Vec<Vec3> = detached(py, || Ok(points.iter().map(force).collect()))?;
        Ok(from_points(py, &forces))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __copy__(me: Py<Self>) -> Py<Self> {
        me
    }

    fn __deepcopy__(me: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        me
    }

    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<((&'static str,), Bound<'py, PyDict>)> {
        Ok(((self.kind(),), self.parameters(py)?))
    }

    fn __repr__(&self) -> String {
        let named = named(self.0.kind().parameter_names(), self.0.parameters());
        format!("thew.Template('{}', {named})", self.kind())
    }
}

/// Reads numbers by name, in the order given.
pub(super) fn named_numbers(dict: &Bound<'_, PyDict>) -> PyResult<Vec<(String, f64)>> {
    dict.iter()
        .map(|(name, value)| {
            let name = name
                .extract::<String>()
                .map_err(|_| input("parameters: expected {name: value}"))?;
            let value = value
                .extract::<f64>()
                .map_err(|_| input(format!("the parameter '{name}' must be a number")))?;
            Ok((name, value))
        })
        .collect()
}

/// Returns every parameter of a template, each of which has to be given.
pub(super) fn all_of(names: &[&'static str], given: &[(String, f64)]) -> PyResult<Vec<f64>> {
    if let Some((name, _)) = given.iter().find(|(n, _)| !names.contains(&n.as_str())) {
        return Err(RigError::unknown(name, names).into_py());
    }
    names
        .iter()
        .map(|&name| {
            let value = given.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
            value.ok_or_else(|| RigError::Missing { name }.into_py())
        })
        .collect()
}

pub(super) fn by_name<'py>(
    py: Python<'py>,
    names: &[&str],
    values: &[f64],
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in names.iter().zip(values) {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

pub(super) fn units_of<'py>(
    py: Python<'py>,
    names: &[&str],
    kinds: &[ParameterKind],
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, kind) in names.iter().zip(kinds) {
        dict.set_item(name, kind.unit())?;
    }
    Ok(dict)
}

pub(super) fn named(names: &[&str], values: &[f64]) -> String {
    let pairs = names.iter().zip(values);
    let pairs: Vec<String> = pairs.map(|(n, v)| format!("{n}={v}")).collect();
    pairs.join(", ")
}

pub(super) fn rigid(object: &Bound<'_, PyAny>, name: &str) -> PyResult<GuideFrame> {
    let numbers = floats(object, name, &[Some(4), Some(4)])?;
    finite(&numbers, name)?;
    GuideFrame::from_matrix(&Mat4::from_row_slice(&numbers.data)).map_err(IntoPy::into_py)
}

pub(super) fn from_matrix<'py>(py: Python<'py>, m: &Mat4) -> Bound<'py, PyArray2<f64>> {
    Array2::from_shape_fn((4, 4), |(i, k)| m[(i, k)]).into_pyarray(py)
}
