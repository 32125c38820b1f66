// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Template` and of the table of templates and guides; parameters by name and frames, which rigs and
//! guides share.

use super::arrays::{check_finite, from_points, read_finite_points, read_floats, real, text};
use super::errors::{IntoPy, input_error, run_detached};
use crate::rig::{
    Guide, GuideFrame, Parameter, ParameterKind, RigError, RigKind, Spec, Template, TemplateKind,
};
use crate::{Mat4, Vec3};
use numpy::ndarray::{Array2, Array3};
use numpy::{IntoPyArray, PyArray2, PyArray3};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A force field in a frame of its own. The largest force equals `strength` (N/m³); a negative one turns it around.
///
/// Template(kind, **parameters): `templates()` lists the kinds and their parameters; `Template("bump", radius=0.1, strength=2e4)` pushes along
/// the frame's Z.
///
/// Parameters are given by name; lengths are metres. Fields are compact and once continuously differentiable. Raises RigError.
#[pyclass(name = "Template", module = "thew", frozen)]
pub(super) struct PyTemplate(pub Template);

impl PyTemplate {
    fn names(&self) -> Vec<&'static str> {
        self.0.kind().spec().parameter_names()
    }
}

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
        let values = complete_parameters(&kind.spec().parameter_names(), &named)?;
        Template::new(kind, &values)
            .map(Self)
            .map_err(IntoPy::into_py)
    }

    /// Builds a template of usual proportions that reaches as far as `reach`, metres; strength in N/m³. Raises RigError.
    #[staticmethod]
    fn sized(
        #[pyo3(from_py_with = text)] kind: &str,
        #[pyo3(from_py_with = real)] reach: f64,
        #[pyo3(from_py_with = real)] strength: f64,
    ) -> PyResult<Self> {
        let kind: TemplateKind = kind.parse().map_err(RigError::into_py)?;
        Template::with_reach(kind, reach, strength)
            .map(Self)
            .map_err(IntoPy::into_py)
    }

    /// Kind of field, one of `templates()`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind().name()
    }

    /// Parameters by name.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        values_by_name(py, &self.names(), self.0.parameters())
    }

    /// Unit of each parameter, {name: unit}.
    #[getter]
    fn units<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let kinds = self.0.kind().spec().parameter_kinds();
        parameter_units(py, &self.names(), &kinds)
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
        let points = read_finite_points(points, "points")?;
        let frame = rigid_matrix(frame, "frame")?;
        let force = |x: &Vec3| frame.rotation * self.0.force(&frame.to_local(x));
        let forces: Vec<Vec3> = run_detached(py, || Ok(points.iter().map(force).collect()))?;
        Ok(from_points(py, &forces))
    }

    /// Depth of flesh that the template fills below a skin, metres.
    #[getter]
    fn depth(&self) -> f64 {
        self.0.depth()
    }

    /// Returns lines that show where the field ends and which way it pushes, in its frame, float64 [m,2,3], metres.
    fn outline<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray3<f64>> {
        let lines = self.0.outline();
        Array3::from_shape_fn((lines.len(), 2, 3), |(i, end, axis)| lines[i][end][axis])
            .into_pyarray(py)
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
        let named = format_named(&self.names(), self.0.parameters());
        format!("thew.Template('{}', {named})", self.kind())
    }
}

/// One parameter of a template or a guide, as an interface shows it.
#[pyclass(name = "ParameterSpec", module = "thew", frozen)]
pub(super) struct PyParameterSpec(&'static Parameter);

#[pymethods]
impl PyParameterSpec {
    /// Name in code and files.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.name
    }

    /// Kind: "radius" (a positive length), "distance" (a length, zero or more), "offset" (a signed length), "share" (of a bone's length),
    /// "angle" or "strength".
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind.name()
    }

    /// SI unit; empty for a share.
    #[getter]
    fn unit(&self) -> &'static str {
        self.0.kind.unit()
    }

    /// Name on a slider.
    #[getter]
    fn label(&self) -> &'static str {
        self.0.label
    }

    /// Meaning.
    #[getter]
    fn doc(&self) -> &'static str {
        self.0.doc
    }

    /// Value of a new rig.
    #[getter]
    fn default(&self) -> f64 {
        self.0.default
    }

    /// Ends of a slider; values beyond are valid.
    #[getter]
    fn range(&self) -> (f64, f64) {
        self.0.range
    }

    fn __repr__(&self) -> String {
        let Parameter { name, default, .. } = self.0;
        format!("<thew.ParameterSpec {name}: {default} {}>", self.unit())
    }
}

/// One kind of template, guide or rig, as an interface shows it.
#[pyclass(name = "RigSpec", module = "thew", frozen)]
pub(super) struct PyRigSpec {
    spec: &'static Spec,
    tilt: f64,
}

#[pymethods]
impl PyRigSpec {
    /// Name in code and files.
    #[getter]
    fn name(&self) -> &'static str {
        self.spec.name
    }

    /// Name in a menu.
    #[getter]
    fn label(&self) -> &'static str {
        self.spec.label
    }

    /// Effect and use.
    #[getter]
    fn doc(&self) -> &'static str {
        self.spec.doc
    }

    /// Blender's name of an icon.
    #[getter]
    fn icon(&self) -> &'static str {
        self.spec.icon
    }

    /// Parameters in order.
    #[getter]
    fn parameters(&self) -> Vec<PyParameterSpec> {
        self.spec.parameters.iter().map(PyParameterSpec).collect()
    }

    /// Usual tilt of a template at a bone, radians; zero for a guide.
    #[getter]
    fn tilt(&self) -> f64 {
        self.tilt
    }

    fn __repr__(&self) -> String {
        let names = self.spec.parameter_names().join(", ");
        format!("<thew.RigSpec {}: {names}>", self.spec.name)
    }
}

/// Returns the kinds of templates with their parameters.
#[pyfunction]
pub(super) fn templates() -> Vec<PyRigSpec> {
    let of = |kind: &TemplateKind| PyRigSpec {
        spec: kind.spec(),
        tilt: kind.tilt(),
    };
    TemplateKind::ALL.iter().map(of).collect()
}

/// Returns the kinds of guides with their parameters.
#[pyfunction]
pub(super) fn guides() -> Vec<PyRigSpec> {
    let of = |spec| PyRigSpec { spec, tilt: 0.0 };
    Guide::SPECS.iter().map(of).collect()
}

/// Returns the kinds of rigs that are no template on a guide, with their parameters: "sculpted" and "muscle".
#[pyfunction]
pub(super) fn rig_kinds() -> Vec<PyRigSpec> {
    let of = |spec: &&'static Spec| PyRigSpec { spec, tilt: 0.0 };
    RigKind::specs().iter().map(of).collect()
}

/// Reads numbers by name, in the order given.
pub(super) fn named_numbers(dict: &Bound<'_, PyDict>) -> PyResult<Vec<(String, f64)>> {
    dict.iter()
        .map(|(name, value)| {
            let name = name
                .extract::<String>()
                .map_err(|_| input_error("parameters: expected {name: value}"))?;
            let value = value
                .extract::<f64>()
                .map_err(|_| input_error(format!("the parameter '{name}' must be a number")))?;
            Ok((name, value))
        })
        .collect()
}

/// Returns every parameter of a template, each of which has to be given.
pub(super) fn complete_parameters(
    names: &[&'static str],
    given: &[(String, f64)],
) -> PyResult<Vec<f64>> {
    if let Some((name, _)) = given.iter().find(|(n, _)| !names.contains(&n.as_str())) {
        return Err(RigError::unknown_parameter(name, names).into_py());
    }
    names
        .iter()
        .map(|&name| {
            let value = given.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
            value.ok_or_else(|| RigError::Missing { name }.into_py())
        })
        .collect()
}

pub(super) fn values_by_name<'py>(
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

pub(super) fn parameter_units<'py>(
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

pub(super) fn format_named(names: &[&str], values: &[f64]) -> String {
    let pairs = names.iter().zip(values);
    let pairs: Vec<String> = pairs.map(|(n, v)| format!("{n}={v}")).collect();
    pairs.join(", ")
}

pub(super) fn rigid_matrix(object: &Bound<'_, PyAny>, name: &str) -> PyResult<GuideFrame> {
    let numbers = read_floats(object, name, &[Some(4), Some(4)])?;
    check_finite(&numbers, name)?;
    GuideFrame::from_matrix(&Mat4::from_row_slice(&numbers.data)).map_err(IntoPy::into_py)
}

pub(super) fn from_matrix<'py>(py: Python<'py>, m: &Mat4) -> Bound<'py, PyArray2<f64>> {
    Array2::from_shape_fn((4, 4), |(i, k)| m[(i, k)]).into_pyarray(py)
}
