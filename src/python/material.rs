// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Material`.

use super::arrays::real;
use super::errors::IntoPy;
use crate::elasticity::Material;
use pyo3::prelude::*;

/// Isotropic flesh.
///
/// Material(young=20000.0, poisson=0.4, density=1000.0): Young's modulus (Pa), Poisson's ratio, density (kg/m³). Raises InputError for
/// impossible values.
#[pyclass(name = "Material", module = "thew", frozen)]
pub(super) struct PyMaterial(pub Material);

#[pymethods]
impl PyMaterial {
    #[new]
    #[pyo3(signature = (young=20e3, poisson=0.4, density=1000.0))]
    fn new(
        #[pyo3(from_py_with = real)] young: f64,
        #[pyo3(from_py_with = real)] poisson: f64,
        #[pyo3(from_py_with = real)] density: f64,
    ) -> PyResult<Self> {
        Material::new(young, poisson, density)
            .map(Self)
            .map_err(IntoPy::into_py)
    }

    /// Young's modulus, Pa.
    #[getter]
    fn young(&self) -> f64 {
        self.0.young()
    }

    /// Poisson's ratio.
    #[getter]
    fn poisson(&self) -> f64 {
        self.0.poisson()
    }

    /// Density, kg/m³.
    #[getter]
    fn density(&self) -> f64 {
        self.0.density()
    }

    fn __copy__(me: Py<Self>) -> Py<Self> {
        me
    }

    fn __deepcopy__(me: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        me
    }

    fn __getnewargs__(&self) -> (f64, f64, f64) {
        (self.0.young(), self.0.poisson(), self.0.density())
    }

    fn __repr__(&self) -> String {
        let m = &self.0;
        format!(
            "thew.Material(young={}, poisson={}, density={})",
            m.young(),
            m.poisson(),
            m.density()
        )
    }
}
