// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Body.parts`: the parts of a body as a table of arrays.

use crate::body::BodyPart;
use numpy::IntoPyArray;
use numpy::ndarray::Array2;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns the patches and shares of parts by their names.
pub(super) fn table(py: Python<'_>, found: Vec<BodyPart>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for part in found {
        let mut patches = Array2::zeros((part.patches.len(), 4));
        for (mut row, (centre, radius)) in patches.outer_iter_mut().zip(&part.patches) {
            for k in 0..3 {
                row[k] = centre[k];
            }
            row[3] = *radius;
        }
        let arrays = (patches.into_pyarray(py), part.share.into_pyarray(py));
        dict.set_item(part.name.name(), arrays)?;
    }
    Ok(dict)
}
