// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.MRepFamily`.

use super::PyMRep;
use crate::mrep::{Figure, Statistics};
use crate::python::arrays::List;
use crate::python::errors::{IntoPy, input_error, run_detached};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;

/// Statistics of models of one kind: their mean, the modes in which they differ, and how typical another model is [fletcher2004].
///
/// MRepFamily(mreps): two models at least, with equal numbers of atoms and spokes, usually fitted from one template. Their places,
/// rotations and sizes do not matter. Raises MRepError naming the first of another kind.
#[pyclass(name = "MRepFamily", module = "thew", frozen)]
pub(in crate::python) struct PyMRepFamily {
    pub statistics: Arc<Statistics>,
    members: Vec<Figure>,
}

#[pymethods]
impl PyMRepFamily {
    #[new]
    fn new(py: Python<'_>, mreps: List<Py<PyMRep>>) -> PyResult<Self> {
        let figure = |m: &Py<PyMRep>| m.get().only_figure().cloned();
        let members = mreps.0.iter().map(figure).collect::<PyResult<Vec<_>>>()?;
        let statistics = run_detached(py, || Statistics::new(&members).map_err(IntoPy::into_py))?;
        Ok(Self {
            statistics: Arc::new(statistics),
            members,
        })
    }

    /// Mean model, of the size and at the place of the first one.
    #[getter]
    fn mean(&self) -> PyMRep {
        self.statistics.mean().clone().into()
    }

    /// Standard deviation of each mode, float64 [k], the largest first.
    #[getter]
    fn deviations<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.statistics.deviations().to_vec().into_pyarray(py)
    }

    /// Modes of unit length, float64 [k,u].
    ///
    /// For each atom they hold: displacement of the hub over r in its axes (3), log r, turn in its axes (3, radians), object angle, log of
    /// the end factor where the boundary closes, and logs of the relative lengths.
    #[getter]
    fn modes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        let modes: Vec<Vec<f64>> = (0..self.statistics.deviations().len())
            .map(|k| self.statistics.mode(k))
            .collect();
        let width = modes.first().map_or(0, Vec::len);
        Array2::from_shape_fn((modes.len(), width), |(k, i)| modes[k][i]).into_pyarray(py)
    }

    /// Returns the model at `scores[≤k]`, numbers of deviations along the first modes.
    fn sample(&self, scores: List<f64>) -> PyResult<PyMRep> {
        let count = self.statistics.deviations().len();
        if scores.0.len() > count {
            return Err(input_error(format!(
                "scores: expected at most {count}, one for each mode, got {}",
                scores.0.len()
            )));
        }
        if let Some(bad) = scores.0.iter().find(|s| s.is_nan() || s.abs() > 100.0) {
            return Err(input_error(format!(
                "scores: expected numbers of deviations up to 100, got {bad}"
            )));
        }
        Ok(self.statistics.figure(&scores.0).into())
    }

    /// Returns how far a model is from the mean: along each mode, in deviations, float64 [k], and in everything that they do not explain,
    /// as the root of the mean square. 2 or more of either is not typical. Raises MRepError.
    fn typicality<'py>(
        &self,
        py: Python<'py>,
        mrep: &PyMRep,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, f64)> {
        let scores = self
            .statistics
            .scores(mrep.only_figure()?)
            .map_err(IntoPy::into_py)?;
        Ok((scores.0.into_pyarray(py), scores.1))
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let single = |figure: &Figure| Py::new(py, PyMRep::from(figure.clone()));
        let members = self
            .members
            .iter()
            .map(single)
            .collect::<PyResult<Vec<_>>>()?;
        (members,).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        let (n, k) = (self.members.len(), self.statistics.deviations().len());
        format!("<thew.MRepFamily: {n} models, {k} modes>")
    }
}
