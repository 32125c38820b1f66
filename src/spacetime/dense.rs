// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dense matrices as plain data for files.

use crate::range::is_storable;
use faer::Mat;
use serde::{Deserialize, Serialize};

/// A dense matrix, by columns.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredDense {
    rows: u32,
    columns: u32,
    numbers: Vec<f64>,
}

impl StoredDense {
    pub fn new(matrix: &Mat<f64>) -> Self {
        let columns = (0..matrix.ncols()).flat_map(|j| matrix.col(j).iter().copied());
        Self {
            rows: matrix.nrows() as u32,
            columns: matrix.ncols() as u32,
            numbers: columns.collect(),
        }
    }

    /// Returns the matrix if it has this shape and sound numbers.
    pub fn into_matrix(self, (rows, columns): (usize, usize)) -> Option<Mat<f64>> {
        let fits = self.rows as usize == rows
            && self.columns as usize == columns
            && rows.checked_mul(columns) == Some(self.numbers.len())
            && self.numbers.iter().all(|&x| is_storable(x));
        fits.then(|| Mat::from_fn(rows, columns, |i, j| self.numbers[j * rows + i]))
    }

    /// Returns the number of columns as it is stored.
    pub fn columns(&self) -> usize {
        self.columns as usize
    }
}
