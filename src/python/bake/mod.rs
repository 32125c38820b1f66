// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of bakes, one file per form.

mod compress;
mod frames;
mod rest_space;

use pyo3::prelude::*;

/// Adds the names of bakes to the module.
pub(super) fn fill(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<compress::PyCompressed>()?;
    m.add_function(wrap_pyfunction!(compress::compress, m)?)?;
    m.add_function(wrap_pyfunction!(rest_space::to_rest_space, m)?)?;
    Ok(())
}
