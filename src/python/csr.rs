// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversion of sparse matrices for scipy.

use super::errors::input_error;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use sprs::CsMatI;

/// Arrays `(data, indices, indptr)` of `scipy.sparse.csr_array`.
pub(super) type Csr<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<i32>>,
);

/// Returns the arrays of a matrix in compressed rows; its numbers are moved, not copied.
pub(super) fn scipy_arrays(py: Python<'_>, matrix: CsMatI<f64, u32>) -> PyResult<Csr<'_>> {
    let (starts, columns, data) = matrix.into_raw_storage();
    Ok((
        data.into_pyarray(py),
        to_signed(columns)?.into_pyarray(py),
        to_signed(starts)?.into_pyarray(py),
    ))
}

fn to_signed(indices: Vec<u32>) -> PyResult<Vec<i32>> {
    let signed: Result<Vec<i32>, _> = indices.into_iter().map(i32::try_from).collect();
    signed.map_err(|_| {
        input_error("the matrix has more than 2,147,483,647 entries, which scipy's 32-bit indices cannot count")
    })
}
