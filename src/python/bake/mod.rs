// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of bakes, one file per form.

mod frames;
mod rest_space;

use pyo3::prelude::*;

/// Adds the names of bakes to the module.
pub(super) fn fill(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(rest_space::to_rest_space, m)?)?;
    Ok(())
}
