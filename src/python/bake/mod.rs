// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of bakes, one file per form.

mod caches;
mod compress;
mod frames;
mod helper_bones;
mod rest_space;
mod tension;
mod texture;

use pyo3::prelude::*;

/// Adds the names of bakes to the module.
pub(super) fn fill(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<compress::PyCompressed>()?;
    m.add_function(wrap_pyfunction!(compress::compress, m)?)?;
    m.add_class::<helper_bones::PyHelperBones>()?;
    m.add_function(wrap_pyfunction!(helper_bones::helper_bones, m)?)?;
    m.add_function(wrap_pyfunction!(rest_space::to_rest_space, m)?)?;
    m.add_function(wrap_pyfunction!(caches::write_pc2, m)?)?;
    m.add_function(wrap_pyfunction!(caches::read_pc2, m)?)?;
    m.add_function(wrap_pyfunction!(caches::write_mdd, m)?)?;
    m.add_function(wrap_pyfunction!(caches::read_mdd, m)?)?;
    m.add_class::<texture::PyVertexTexture>()?;
    m.add_function(wrap_pyfunction!(texture::write_vertex_texture, m)?)?;
    m.add_function(wrap_pyfunction!(texture::read_vertex_texture, m)?)?;
    m.add_function(wrap_pyfunction!(tension::tension, m)?)?;
    Ok(())
}
