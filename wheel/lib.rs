// SPDX-License-Identifier: MIT OR Apache-2.0
//! The module `thew._thew` of the wheel; all that is in it lies in the library ([`thew::python`]).

use pyo3::prelude::*;

#[pymodule]
fn _thew(module: &Bound<'_, PyModule>) -> PyResult<()> {
    thew::python::fill(module)
}
