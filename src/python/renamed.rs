// SPDX-License-Identifier: MIT OR Apache-2.0
//! Former names: they work, and Python warns of each once wherever it is used.

use super::errors::input;
use pyo3::exceptions::PyDeprecationWarning;
use pyo3::prelude::*;
use std::ffi::CString;

/// Warns that `old` is now `name`.
pub(super) fn warn(py: Python<'_>, old: &str, name: &str) -> PyResult<()> {
    let text = CString::new(format!("{old} is now called {name}"))?;
    let category = py.get_type::<PyDeprecationWarning>();
    PyErr::warn(py, &category, &text, 1)
}

/// Returns the argument `max_offset`, formerly `reach`.
pub(super) fn max_offset(now: Option<f64>, former: Option<f64>) -> PyResult<Option<f64>> {
    if former.is_none() {
        return Ok(now);
    }
    if now.is_some() {
        return Err(input("reach is max_offset's former name: give one of them"));
    }
    Python::attach(|py| warn(py, "reach", "max_offset"))?;
    Ok(former)
}
