// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Volume`.

use crate::Vec3;
use crate::mrep::Volume;
use crate::python::arrays::{read_floats, read_vector};
use crate::python::errors::IntoPy;
use numpy::ndarray::Array3;
use numpy::{IntoPyArray, PyArray1, PyArray3};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;

/// A picture in three dimensions: grey values or labels on a grid of voxels.
///
/// Volume(values, spacing=(1.0, 1.0, 1.0), origin=(0.0, 0.0, 0.0)):
///
/// - `values[i,j,k]`: numbers of any type.
/// - `spacing[3]`: distances between the centres of voxels along each axis, metres.
/// - `origin[3]`: centre of the first voxel, metres.
///
/// Raises MRepError naming the first voxel that is not a number.
#[pyclass(name = "Volume", module = "thew", frozen)]
pub(in crate::python) struct PyVolume(pub Arc<Volume>);

#[pymethods]
impl PyVolume {
    #[new]
    #[pyo3(
        signature = (values, spacing=None, origin=None),
        text_signature = "(values, spacing=(1.0, 1.0, 1.0), origin=(0.0, 0.0, 0.0))"
    )]
    fn new(
        values: &Bound<'_, PyAny>,
        spacing: Option<&Bound<'_, PyAny>>,
        origin: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let numbers = read_floats(values, "values", &[None, None, None])?;
        let spacing = spacing.map(|x| read_vector(x, "spacing")).transpose()?;
        let origin = origin.map(|x| read_vector(x, "origin")).transpose()?;
        let volume = Volume::new(
            numbers.data.iter().map(|x| *x as f32).collect(),
            [numbers.shape[0], numbers.shape[1], numbers.shape[2]],
            spacing.unwrap_or(Vec3::repeat(1.0)),
            origin.unwrap_or(Vec3::zeros()),
        );
        Ok(Self(Arc::new(volume.map_err(IntoPy::into_py)?)))
    }

    /// Values, float32 [i,j,k].
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray3<f32>> {
        let [n, m, l] = self.0.shape();
        let values = self.0.values();
        Array3::from_shape_fn((n, m, l), |(i, j, k)| values[(i * m + j) * l + k]).into_pyarray(py)
    }

    /// Distances between the centres of voxels along each axis, float64 [3], metres.
    #[getter]
    fn spacing<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.spacing().as_slice().to_vec().into_pyarray(py)
    }

    /// Centre of the first voxel, float64 [3], metres.
    #[getter]
    fn origin<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.origin().as_slice().to_vec().into_pyarray(py)
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        (self.values(py), self.spacing(py), self.origin(py)).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        let [n, m, l] = self.0.shape();
        format!("<thew.Volume: {n} x {m} x {l} voxels>")
    }
}
