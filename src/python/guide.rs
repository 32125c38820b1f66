// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.BoneGuide`, `thew.SkinGuide` and `thew.FreeGuide`.

use super::arrays::{WholeNumber, read_floats, real, text};
use super::errors::IntoPy;
use super::template::{format_named, from_matrix, rigid_matrix, values_by_name};
use crate::rig::{BoneRef, Guide, GuideFrame};
use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

/// A frame beside a bone.
///
/// BoneGuide(bone, along=0.5, angle=0.0, distance=0.0, tilt=0.0):
///
/// - `bone`: the bone's name, or its number.
/// - `along`: place along the bone, 0 head, 1 tail.
/// - `angle`: around the bone, radians; 0 towards world −Y, or +Z for bones along Y.
/// - `distance`: from the bone, metres.
/// - `tilt`: of the template's Z from outward (0) to head→tail (π/2), radians.
///
/// Raises RigError.
#[pyclass(name = "BoneGuide", module = "thew", frozen)]
pub(super) struct PyBoneGuide(pub Guide);

#[pymethods]
impl PyBoneGuide {
    #[new]
    #[pyo3(signature = (bone, along=0.5, angle=0.0, distance=0.0, tilt=0.0))]
    fn new(
        bone: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = real)] along: f64,
        #[pyo3(from_py_with = real)] angle: f64,
        #[pyo3(from_py_with = real)] distance: f64,
        #[pyo3(from_py_with = real)] tilt: f64,
    ) -> PyResult<Self> {
        let bone = match bone.is_instance_of::<PyString>() {
            true => BoneRef::Name(text(bone)?.to_owned()),
            false => BoneRef::Index(bone.extract::<WholeNumber>()?.to_index()),
        };
        Guide::bone(bone, [along, angle, distance, tilt])
            .map(Self)
            .map_err(IntoPy::into_py)
    }

    /// Name of the bone, or its number.
    #[getter]
    fn bone<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.0 {
            Guide::Bone { bone, .. } => bone_object(py, bone),
            _ => Ok(py.None().into_bound(py)),
        }
    }

    /// Continuous parameters by name.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        values_by_name(py, &self.0.spec().parameter_names(), self.0.values())
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

    #[allow(clippy::type_complexity)]
    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<((Bound<'py, PyAny>,), Bound<'py, PyDict>)> {
        Ok(((self.bone(py)?,), self.parameters(py)?))
    }

    fn __repr__(&self) -> String {
        let bone = match &self.0 {
            Guide::Bone {
                bone: BoneRef::Name(name),
                ..
            } => format!("{name:?}"),
            Guide::Bone {
                bone: BoneRef::Index(index),
                ..
            } => index.to_string(),
            _ => String::new(),
        };
        let named = format_named(&self.0.spec().parameter_names(), self.0.values());
        format!("thew.BoneGuide({bone}, {named})")
    }
}

/// A frame under the body's own surface as given.
///
/// SkinGuide(face, barycentric=None, depth=0.0, roll=0.0, tilt=0.0):
///
/// - `face`: index of a face. `barycentric[3]`: weights of its corners. None: its middle.
/// - `depth`: below the face, metres.
/// - `roll`: about the face's normal, radians; 0: X along the face's first edge.
/// - `tilt`: of Z from outward (0) to X (π/2), radians.
///
/// Raises RigError.
#[pyclass(name = "SkinGuide", module = "thew", frozen)]
pub(super) struct PySkinGuide(pub Guide);

#[pymethods]
impl PySkinGuide {
    #[new]
    #[pyo3(signature = (face, barycentric=None, depth=0.0, roll=0.0, tilt=0.0))]
    fn new(
        face: WholeNumber,
        barycentric: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = real)] depth: f64,
        #[pyo3(from_py_with = real)] roll: f64,
        #[pyo3(from_py_with = real)] tilt: f64,
    ) -> PyResult<Self> {
        let barycentric = match barycentric {
            Some(weights) => {
                let w = read_floats(weights, "barycentric", &[Some(3)])?.data;
                [w[0], w[1], w[2]]
            }
            None => [1.0 / 3.0; 3],
        };
        Guide::skin(face.to_index(), barycentric, [depth, roll, tilt])
            .map(Self)
            .map_err(IntoPy::into_py)
    }

    /// Index of the face.
    #[getter]
    fn face(&self) -> u32 {
        match &self.0 {
            Guide::Skin { face, .. } => *face,
            _ => u32::MAX,
        }
    }

    /// Weights of the face's corners.
    #[getter]
    fn barycentric(&self) -> (f64, f64, f64) {
        match &self.0 {
            Guide::Skin { barycentric, .. } => (*barycentric).into(),
            _ => (0.0, 0.0, 0.0),
        }
    }

    /// Continuous parameters by name.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        values_by_name(py, &self.0.spec().parameter_names(), self.0.values())
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

    #[allow(clippy::type_complexity)]
    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<((u32, (f64, f64, f64)), Bound<'py, PyDict>)> {
        Ok(((self.face(), self.barycentric()), self.parameters(py)?))
    }

    fn __repr__(&self) -> String {
        let named = format_named(&self.0.spec().parameter_names(), self.0.values());
        format!(
            "thew.SkinGuide({}, {:?}, {named})",
            self.face(),
            self.barycentric()
        )
    }
}

/// A frame anywhere.
///
/// FreeGuide(matrix, x=0.0, y=0.0, z=0.0, rx=0.0, ry=0.0, rz=0.0): `matrix[4,4]` in rest space is a position and a rotation; a uniform
/// scale is taken out. The parameters x, y, z (m) and the rotation vector rx, ry, rz (radians) act after it and are zero by default. Raises
/// RigError.
#[pyclass(name = "FreeGuide", module = "thew", frozen)]
pub(super) struct PyFreeGuide(pub Guide);

#[pymethods]
impl PyFreeGuide {
    #[new]
    #[pyo3(signature = (matrix, x=0.0, y=0.0, z=0.0, rx=0.0, ry=0.0, rz=0.0))]
    fn new(
        matrix: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = real)] x: f64,
        #[pyo3(from_py_with = real)] y: f64,
        #[pyo3(from_py_with = real)] z: f64,
        #[pyo3(from_py_with = real)] rx: f64,
        #[pyo3(from_py_with = real)] ry: f64,
        #[pyo3(from_py_with = real)] rz: f64,
    ) -> PyResult<Self> {
        let frame = rigid_matrix(matrix, "matrix")?;
        Guide::free(frame, [x, y, z, rx, ry, rz])
            .map(Self)
            .map_err(IntoPy::into_py)
    }

    /// Frame with all parameters zero, float64 [4,4].
    #[getter]
    fn matrix<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        let frame = match &self.0 {
            Guide::Free { frame, .. } => *frame,
            _ => GuideFrame::identity(),
        };
        from_matrix(py, &frame.matrix())
    }

    /// Continuous parameters by name.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        values_by_name(py, &self.0.spec().parameter_names(), self.0.values())
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

    #[allow(clippy::type_complexity)]
    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<((Bound<'py, PyArray2<f64>>,), Bound<'py, PyDict>)> {
        Ok(((self.matrix(py),), self.parameters(py)?))
    }

    fn __repr__(&self) -> String {
        let named = format_named(&self.0.spec().parameter_names(), self.0.values());
        format!("<thew.FreeGuide: {named}>")
    }
}

fn bone_object<'py>(py: Python<'py>, bone: &BoneRef) -> PyResult<Bound<'py, PyAny>> {
    Ok(match bone {
        BoneRef::Name(name) => PyString::new(py, name).into_any(),
        BoneRef::Index(index) => index.into_pyobject(py)?.into_any(),
    })
}
