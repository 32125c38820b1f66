// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.set_threads` and `thew.threads`, and the warning about a number in the environment that is none.

use super::arrays::WholeNumber;
use super::errors::{input_error, warn};
use crate::threads::{self, COUNTS, VARIABLE};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// Reads the environment before the first work. A text that is no number of threads is ignored with a warning.
pub(super) fn prepare(py: Python<'_>) -> PyResult<()> {
    static WARNED: AtomicBool = AtomicBool::new(false);
    let Some(text) = threads::ignored_text() else {
        return Ok(());
    };
    if WARNED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    warn(
        py,
        &format!(
            "{VARIABLE} is '{text}', which is not a whole number from {} to {}: {} threads are used",
            COUNTS.start(),
            COUNTS.end(),
            threads::current_count()
        ),
    )
}

/// Sets the number of threads that share the work of each call, 1 to 1024. It counts from the next call on, at any time and in the whole
/// process, in place of the environment's `THEW_THREADS`. None: that, else `RAYON_NUM_THREADS`, else one a processor. Results have the same bits
/// with any number. If it differs from the number at the first work, progress callables are called on another thread. Raises InputError.
#[pyfunction]
#[pyo3(signature = (count))]
pub(super) fn set_threads(py: Python<'_>, count: Option<WholeNumber>) -> PyResult<()> {
    let count = count.map(|count| count.0);
    if let Some(wrong) = count.filter(|count| !COUNTS.contains(count)) {
        return Err(input_error(format!(
            "the number of threads must lie between {} and {}, not {wrong}",
            COUNTS.start(),
            COUNTS.end()
        )));
    }
    prepare(py)?;
    threads::set_count(count);
    Ok(())
}

/// Returns the number of threads that share the work of each call: that of `set_threads`, of the environment's `THEW_THREADS` or
/// `RAYON_NUM_THREADS`, or one a processor.
#[pyfunction]
#[pyo3(name = "threads")]
pub(super) fn thread_count(py: Python<'_>) -> PyResult<usize> {
    prepare(py)?;
    Ok(threads::current_count())
}
