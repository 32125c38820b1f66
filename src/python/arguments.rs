// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of calls that also take the settings of a simulation: those left over are settings.

use super::settings::{PySimulationSettings, changed};
use crate::dynamics::SimulationSettings;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Arguments of a call, by name.
pub(super) struct Arguments<'py> {
    function: &'static str,
    given: Bound<'py, PyDict>,
}

impl<'py> Arguments<'py> {
    /// Names the positional arguments by `names`. Raises TypeError for too many of them and for an argument given twice.
    pub fn new(
        function: &'static str,
        names: &[&str],
        positional: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Self> {
        let (count, most) = (positional.len(), names.len());
        if count > most {
            return Err(PyTypeError::new_err(format!(
                "{function}() takes at most {most} positional arguments, not {count}"
            )));
        }
        let given = match keywords {
            Some(keywords) => keywords.copy()?,
            None => PyDict::new(positional.py()),
        };
        for (name, value) in names.iter().zip(positional) {
            if given.contains(name)? {
                return Err(PyTypeError::new_err(format!(
                    "{function}() got multiple values for argument '{name}'"
                )));
            }
            given.set_item(name, value)?;
        }
        Ok(Self { function, given })
    }

    /// Reads an argument; `None` if it is not given, or None.
    pub fn take<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<T>,
    ) -> PyResult<Option<T>> {
        let Some(value) = self.given.get_item(name)? else {
            return Ok(None);
        };
        self.given.del_item(name)?;
        if value.is_none() {
            return Ok(None);
        }
        let py = value.py();
        read(&value)
            .map(Some)
            .map_err(|error| of_argument(py, name, error))
    }

    /// Reads an argument that must be given.
    pub fn need<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<T>,
    ) -> PyResult<T> {
        let function = self.function;
        self.take(name, read)?.ok_or_else(|| {
            PyTypeError::new_err(format!(
                "{function}() missing the required argument '{name}'"
            ))
        })
    }

    /// Reads `settings` and, as settings, all arguments that were not taken.
    pub fn settings(self) -> PyResult<SimulationSettings> {
        let settings = self.take("settings", |s| Ok(s.extract::<Py<PySimulationSettings>>()?))?;
        changed(self.function, settings.as_ref(), Some(&self.given))
    }
}

/// Returns an error of an argument's type with the argument named in front.
pub(super) fn of_argument(py: Python<'_>, name: &str, error: PyErr) -> PyErr {
    if error.get_type(py).is(py.get_type::<PyTypeError>()) {
        PyTypeError::new_err(format!("argument '{name}': {}", error.value(py)))
    } else {
        error
    }
}
