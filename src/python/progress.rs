// SPDX-License-Identifier: MIT OR Apache-2.0
//! Progress that calls a Python callable. An exception in it, or Ctrl-C, stops the work and comes out unchanged.

use super::errors::{IntoPy, guard_panics};
use super::shutdown::{WorkingCall, is_ending};
use super::{process, threads};
use crate::exclusive::Exclusive;
use crate::progress::Progress;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

struct PyReporter {
    callable: Option<Py<PyAny>>,
    error: Mutex<Option<PyErr>>,
}

impl PyReporter {
    fn keep_error(&self, error: PyErr) {
        let mut slot = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        slot.get_or_insert(error);
    }
}

impl Progress for PyReporter {
    fn report(&self, fraction: f64, stage: &str) -> bool {
        if is_ending() {
            return false;
        }
        Python::attach(|py| {
            if self
                .error
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .is_some()
            {
                return false;
            }
            let go_on = || -> PyResult<bool> {
                py.check_signals()?;
                match &self.callable {
                    Some(f) => {
                        let answer = f.bind(py).call1((fraction, stage))?;
                        // A callable that only displays progress returns None, which does not stop the work.
                        Ok(answer.is_none() || answer.is_truthy()?)
                    }
                    None => Ok(true),
                }
            };
            go_on().unwrap_or_else(|error| {
                self.keep_error(error);
                false
            })
        })
    }
}

/// Runs long work without the interpreter, reporting to `callable`.
pub(super) fn with_progress<T: Send>(
    py: Python<'_>,
    callable: Option<Py<PyAny>>,
    work: impl FnOnce(&dyn Progress) -> PyResult<T> + Send,
) -> PyResult<T> {
    threads::prepare(py)?;
    let reporter = PyReporter {
        callable,
        error: Mutex::new(None),
    };
    let call = WorkingCall::begin()?;
    let watch = || {
        if is_ending() {
            return;
        }
        if let Err(error) = Python::attach(|py| py.check_signals()) {
            reporter.keep_error(error);
        }
    };
    let result = py.detach(|| process::run_parallel(|| guard_panics(|| work(&reporter)), watch));
    drop(call);
    let error = reporter
        .error
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    match error {
        Some(error) => Err(error),
        None => result,
    }
}

/// Runs long work on a state that one thread at a time may use, without the interpreter; Ctrl-C stops it.
pub(super) fn run_interruptible<S: Send, T: Send, E: IntoPy + Send>(
    py: Python<'_>,
    state: &Exclusive<S>,
    work: impl FnOnce(&mut S, &dyn Progress) -> Result<T, E> + Send,
) -> PyResult<T> {
    run_reporting(py, None, state, work)
}

/// Runs work as [`run_interruptible`], reporting to `callable`.
pub(super) fn run_reporting<S: Send, T: Send, E: IntoPy + Send>(
    py: Python<'_>,
    callable: Option<Py<PyAny>>,
    state: &Exclusive<S>,
    work: impl FnOnce(&mut S, &dyn Progress) -> Result<T, E> + Send,
) -> PyResult<T> {
    with_progress(py, callable, |progress| {
        let done = work(&mut *state.lock().map_err(IntoPy::into_py)?, progress);
        done.map_err(IntoPy::into_py)
    })
}
