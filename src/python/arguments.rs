// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of calls that take many, or that also take settings: arguments that the call does not read are settings.

use super::settings::{Callee, PySimulationSettings, Settings, replace_settings, replaced};
use crate::dynamics::SimulationSettings;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pyclass::PyClass;
use pyo3::types::{PyDict, PyTuple};
use std::cell::RefCell;

/// Arguments of a call, by name.
pub(super) struct Arguments<'py> {
    function: &'static str,
    given: Bound<'py, PyDict>,
    /// Names that the call has read, in order, for the error of a name that it does not know.
    read: RefCell<Vec<String>>,
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
        let read = RefCell::default();
        Ok(Self {
            function,
            given,
            read,
        })
    }

    /// Removes an argument and reads it; `None` if it is missing or Python's None.
    pub fn take<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<T>,
    ) -> PyResult<Option<T>> {
        match self.object(name)? {
            Some(value) if !value.is_none() => read(&value)
                .map(Some)
                .map_err(|error| name_argument(value.py(), name, error)),
            _ => Ok(None),
        }
    }

    /// Removes an argument and returns it, Python's None included; `None` if it is missing.
    pub fn object(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut read = self.read.borrow_mut();
        if !read.iter().any(|known| known == name) {
            read.push(name.to_owned());
        }
        let value = self.given.get_item(name)?;
        if value.is_some() {
            self.given.del_item(name)?;
        }
        Ok(value)
    }

    /// Adds an argument, or replaces it.
    pub fn put(&self, name: &str, value: impl IntoPyObject<'py>) -> PyResult<()> {
        self.given.set_item(name, value)
    }

    /// Drops arguments that are Python's None, which stand for the values of `settings`.
    pub fn drop_none(&self, names: &[&str]) -> PyResult<()> {
        for name in names {
            if let Some(value) = self.object(name)?.filter(|value| !value.is_none()) {
                self.given.set_item(name, value)?;
            }
        }
        Ok(())
    }

    /// Removes an argument and returns it; `None` if it is missing or Python's None.
    pub fn any(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.take(name, |value| Ok(value.clone()))
    }

    /// Removes the argument `progress` and returns it.
    pub fn progress(&self) -> PyResult<Option<Py<PyAny>>> {
        Ok(self.any("progress")?.map(Bound::unbind))
    }

    /// Removes a required argument and reads it.
    pub fn require<T>(
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

    /// Reads `settings`, with all arguments that are left as further settings.
    pub fn settings(self) -> PyResult<SimulationSettings> {
        let settings = self.take("settings", |s| Ok(s.extract::<Py<PySimulationSettings>>()?))?;
        self.with_callee::<SimulationSettings, _>(|function| {
            replace_settings(function, settings.as_ref(), Some(&self.given))
        })
    }

    /// Reads `settings` of a class, with all arguments that are left as further settings.
    pub fn settings_of<S: Settings + PyClass + Clone + Default>(self) -> PyResult<S> {
        let settings = self.take("settings", |s| Ok(s.extract::<PyRef<'py, S>>()?.clone()))?;
        self.with_callee::<S, _>(|function| {
            replaced(function, settings.unwrap_or_default(), Some(&self.given))
        })
    }

    /// Refuses arguments that are left.
    pub fn finish(self) -> PyResult<()> {
        match self.given.keys().iter().next() {
            Some(name) => Err(PyTypeError::new_err(format!(
                "{}() got an unexpected keyword argument '{name}'; its arguments are {}",
                self.function,
                self.read.borrow().join(", ")
            ))),
            None => Ok(()),
        }
    }

    /// Calls `read` with the function, whose arguments are those that were read and are no settings.
    fn with_callee<S: Settings, T>(&self, read: impl FnOnce(&Callee<'_>) -> T) -> T {
        let names = S::names();
        let own = self.read.borrow();
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let arguments: Vec<&str> = own.into_iter().filter(|n| !names.contains(n)).collect();
        read(&Callee {
            name: self.function,
            arguments: &arguments,
        })
    }
}

/// Returns an error of an argument's type with the argument named in front.
pub(super) fn name_argument(py: Python<'_>, name: &str, error: PyErr) -> PyErr {
    if error.get_type(py).is(py.get_type::<PyTypeError>()) {
        PyTypeError::new_err(format!("argument '{name}': {}", error.value(py)))
    } else {
        error
    }
}
