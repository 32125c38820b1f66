// SPDX-License-Identifier: MIT OR Apache-2.0
//! Classes of settings: the part that all share, and the macro that makes one from a table of rows.

use crate::python::arguments::name_argument;
use crate::python::arrays::{
    self, ShapedNumbers, WholeNumber, integer, numbers, read_count, read_floats,
    read_optional_floats, read_vector, real,
};
use numpy::{PyArrayMethods, ToPyArray};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Settings by name.
pub(in crate::python) trait Settings: Sized {
    /// Name of the class.
    const CLASS: &'static str;
    /// Owner, to follow "the settings of".
    const OWNER: &'static str;

    /// Returns the names, in order.
    fn names() -> Vec<&'static str>;

    /// Returns the values, in order, as keywords take them.
    fn values(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>>;

    /// Returns for each value, in order, whether it differs from the default.
    fn changes(&self) -> Vec<bool>;

    /// Sets a value by name; returns whether there is such a setting.
    fn set_named(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool>;
}

/// Function that takes settings as keywords, for its errors.
pub(in crate::python) struct Callee<'a> {
    pub name: &'a str,
    /// Arguments that are no settings.
    pub arguments: &'a [&'a str],
}

impl Callee<'_> {
    /// Returns the error for a keyword that is neither an argument nor one of the settings `S`.
    pub fn unknown_keyword<S: Settings>(&self, keyword: &str) -> PyErr {
        let (function, owner, names) = (self.name, S::OWNER, S::names().join(", "));
        let others = match self.arguments {
            [] => String::new(),
            all => format!("; its other arguments are {}", all.join(", ")),
        };
        PyTypeError::new_err(format!(
            "{function}() got an unexpected keyword argument '{keyword}'; the settings of {owner} are {names}{others}"
        ))
    }
}

/// Returns settings with the values of keywords in place of their own.
pub(in crate::python) fn replaced<S: Settings>(
    function: &Callee<'_>,
    mut settings: S,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<S> {
    for (name, value) in keywords.into_iter().flatten() {
        let name = arrays::read::<String>(&name)?;
        let known = settings.set_named(&name, &value);
        if !known.map_err(|error| name_argument(value.py(), &name, error))? {
            return Err(function.unknown_keyword::<S>(&name));
        }
    }
    Ok(settings)
}

/// Returns all settings by name.
pub(in crate::python) fn as_dict<'py, S: Settings>(
    settings: &S,
    py: Python<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in S::names().into_iter().zip(settings.values(py)?) {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

/// Writes the settings that differ from their defaults.
pub(in crate::python) fn written<S: Settings>(settings: &S, py: Python<'_>) -> PyResult<String> {
    let all = S::names().into_iter().zip(settings.values(py)?);
    let changed = all.zip(settings.changes()).filter(|(_, changed)| *changed);
    let one = |((name, value), _): ((&str, Py<PyAny>), bool)| {
        Ok(format!("{name}={}", value.bind(py).repr()?))
    };
    let written: Vec<String> = changed.map(one).collect::<PyResult<_>>()?;
    Ok(format!("thew.{}({})", S::CLASS, written.join(", ")))
}

/// Type of a setting.
pub(in crate::python) trait Setting: Sized {
    /// Reads a value; an error may name the setting.
    fn read(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Self>;

    /// Returns the value as an object that [`read`](Self::read) takes.
    fn object(&self, py: Python<'_>) -> PyResult<Py<PyAny>>;
}

impl Setting for bool {
    fn read(value: &Bound<'_, PyAny>, _name: &str) -> PyResult<Self> {
        value.extract()
    }

    fn object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.into_py_any(py)
    }
}

impl Setting for f64 {
    fn read(value: &Bound<'_, PyAny>, _name: &str) -> PyResult<Self> {
        real(value)
    }

    fn object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.into_py_any(py)
    }
}

impl Setting for usize {
    fn read(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        read_count(integer(value)?, name)
    }

    fn object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.into_py_any(py)
    }
}

impl Setting for WholeNumber {
    fn read(value: &Bound<'_, PyAny>, _name: &str) -> PyResult<Self> {
        value.extract()
    }

    fn object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.0.into_py_any(py)
    }
}

/// A pair; None is zero.
impl Setting for (f64, f64) {
    fn read(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        if value.is_none() {
            return Ok((0.0, 0.0));
        }
        let pair = read_floats(value, name, &[Some(2)])?;
        Ok((pair.data[0], pair.data[1]))
    }

    fn object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.into_py_any(py)
    }
}

/// A vector; None is zero.
impl Setting for (f64, f64, f64) {
    fn read(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        if value.is_none() {
            return Ok((0.0, 0.0, 0.0));
        }
        let [[x, y, z]] = read_vector(value, name)?.data.0;
        Ok((x, y, z))
    }

    fn object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.into_py_any(py)
    }
}

impl Setting for Vec<f64> {
    fn read(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        Ok(read_optional_floats(Some(value), name)?.unwrap_or_default())
    }

    fn object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.to_pyarray(py).into_py_any(py)
    }
}

/// An array of any shape.
impl Setting for ShapedNumbers {
    fn read(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        numbers(value, name)
    }

    fn object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let array = self.data.to_pyarray(py);
        array.reshape(self.shape.clone())?.into_py_any(py)
    }
}

impl<T: Setting> Setting for Option<T> {
    fn read(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        match value.is_none() {
            true => Ok(None),
            false => T::read(value, name).map(Some),
        }
    }

    fn object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.as_ref()
            .map_or_else(|| Ok(py.None()), |value| value.object(py))
    }
}

/// Makes a class of settings from rows `name: type = default;`. Each name stands here alone.
macro_rules! settings_class {
    (
        $(#[doc = $about:tt])+
        pub struct $Class:ident = $class:tt of $owner:literal {$(
            $(#[doc = $doc:tt])+
            $name:ident: $type:ty = $default:expr;
        )+}
    ) => {
        $(#[doc = $about])+
        #[pyclass(name = $class, module = "thew", frozen, eq)]
        #[derive(Clone, PartialEq)]
        pub(in crate::python) struct $Class {$(
            pub $name: $type,
        )+}

        impl Default for $Class {
            fn default() -> Self {
                Self {$($name: $default,)+}
            }
        }

        impl $crate::python::settings::Settings for $Class {
            const CLASS: &'static str = $class;
            const OWNER: &'static str = $owner;

            fn names() -> Vec<&'static str> {
                vec![$(stringify!($name)),+]
            }

            fn values(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
                use $crate::python::settings::Setting;
                Ok(vec![$(self.$name.object(py)?),+])
            }

            fn changes(&self) -> Vec<bool> {
                let usual = Self::default();
                vec![$(self.$name != usual.$name),+]
            }

            fn set_named(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
                use $crate::python::settings::Setting;
                match name {
                    $(stringify!($name) => self.$name = Setting::read(value, name)?,)+
                    _ => return Ok(false),
                }
                Ok(true)
            }
        }

        #[pymethods]
        impl $Class {
            #[new]
            #[pyo3(signature = (**keywords))]
            fn new(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
                let function = $crate::python::settings::Callee { name: $class, arguments: &[] };
                $crate::python::settings::replaced(&function, Self::default(), keywords)
            }

            $(
                $(#[doc = $doc])+
                #[getter]
                fn $name(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                    $crate::python::settings::Setting::object(&self.$name, py)
                }
            )+

            /// Returns other settings with some changed. `copy.replace` does the same from Python 3.13 on. Raises as the class does.
            #[pyo3(signature = (**changes))]
            fn replace(&self, changes: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
                let function = $crate::python::settings::Callee { name: "replace", arguments: &[] };
                $crate::python::settings::replaced(&function, self.clone(), changes)
            }

            /// Implements `copy.replace` of Python 3.13.
            #[pyo3(signature = (**changes))]
            fn __replace__(&self, changes: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
                self.replace(changes)
            }

            /// Returns all settings by name, as the keywords that make them.
            fn as_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
                $crate::python::settings::as_dict(self, py)
            }

            fn __copy__(me: Py<Self>) -> Py<Self> {
                me
            }

            fn __deepcopy__(me: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
                me
            }

            /// Returns the arguments of the constructor.
            fn __getnewargs_ex__<'py>(
                &self,
                py: Python<'py>,
            ) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
                Ok((PyTuple::empty(py), self.as_dict(py)?))
            }

            /// Writes the settings that differ from their defaults.
            fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                $crate::python::settings::written(self, py)
            }
        }
    };
}

pub(in crate::python) use settings_class;
