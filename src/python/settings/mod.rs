// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.SimulationSettings`. The names, types and docs of the settings are those of the table in [`crate::dynamics`]. The
//! part that it shares with other classes of settings is in [`class`].

mod class;

pub(super) use class::{Callee, Setting, Settings, as_dict, replaced, settings_class, written};

use super::arguments::name_argument;
use super::arrays::{self, read_vector, real, text};
use super::errors::IntoPy;
use crate::dynamics::{Kind, SettingField, SimulationSettings, Value};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCFunction, PyDict, PyTuple};

/// Keyword for the device of the engine "gpu": not a setting of its own.
pub(super) const DEVICE_KEYWORD: &str = "device";

/// Settings of a simulation, which never change: SimulationSettings(method="warped", rate=480.0, ...). Each is a keyword here and a property.
///
/// `Simulation`, `simulate`, `Scene`, `simulate_scene` and `Shot` take them as `settings`, or as keywords of their own. A keyword beside `settings`
/// replaces that setting. `engine="gpu", device="NAME"` is `engine="gpu:NAME"`. Settings are equal, and hashed, by their values. Raises InputError
/// for a value out of range, TypeError for an unknown name.
#[pyclass(name = "SimulationSettings", module = "thew", frozen, eq)]
#[derive(PartialEq)]
pub(super) struct PySimulationSettings(pub SimulationSettings);

#[pymethods]
impl PySimulationSettings {
    #[new]
    #[pyo3(signature = (**keywords))]
    fn new(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let function = Callee {
            name: "SimulationSettings",
            arguments: &[],
        };
        replace_settings(&function, None, keywords).map(Self)
    }

    /// Returns other settings with some changed: `settings.replace(rate=480.0)`. `copy.replace` does the same from Python 3.13 on. Raises as
    /// `SimulationSettings` does.
    #[pyo3(signature = (**changes))]
    fn replace(slf: Py<Self>, changes: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let function = Callee {
            name: "replace",
            arguments: &[],
        };
        replace_settings(&function, Some(&slf), changes).map(Self)
    }

    /// Implements `copy.replace` of Python 3.13.
    #[pyo3(signature = (**changes))]
    fn __replace__(slf: Py<Self>, changes: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Self::replace(slf, changes)
    }

    /// Returns all settings by name, as the keywords that make them: `SimulationSettings(**settings.as_dict())` is equal.
    fn as_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self::as_dict(&self.0, py)
    }

    /// Returns a hash of all settings, 16 bytes, for keys of caches: equal in every session and on every machine, unlike `hash`. A setting that
    /// later versions add changes it only where it differs from its default.
    fn digest<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.digest())
    }

    fn __hash__(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0.digest();
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
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
        written(&self.0, py)
    }
}

impl Settings for SimulationSettings {
    const CLASS: &'static str = "SimulationSettings";
    const OWNER: &'static str = "a simulation";

    fn names() -> Vec<&'static str> {
        Self::FIELDS.iter().map(|field| field.name).collect()
    }

    fn values(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        self.values().iter().map(|v| object(py, v)).collect()
    }

    fn changes(&self) -> Vec<bool> {
        let values = self.values().into_iter();
        let all = values.zip(Self::default().values());
        all.map(|(value, default)| value != default).collect()
    }

    fn set_named(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Some(field) = Self::FIELDS.iter().find(|field| field.name == name) else {
            return Ok(false);
        };
        let value = read_setting(field, value)?;
        self.set(field.name, value).map_err(IntoPy::into_py)?;
        Ok(true)
    }
}

/// Returns checked settings (default: the usual ones) with the values of keywords in place of their own.
pub(super) fn replace_settings(
    function: &Callee<'_>,
    settings: Option<&Py<PySimulationSettings>>,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<SimulationSettings> {
    let settings = settings.map_or_else(Default::default, |s| s.get().0.clone());
    let Some(keywords) = keywords else {
        return Ok(settings);
    };
    let others = keywords.copy()?;
    let device = keywords.get_item(DEVICE_KEYWORD)?.map(|value| {
        let read = arrays::read::<Option<String>>(&value);
        read.map_err(|error| name_argument(value.py(), DEVICE_KEYWORD, error))
    });
    if device.is_some() {
        others.del_item(DEVICE_KEYWORD)?;
    }
    let mut settings = replaced(function, settings, Some(&others))?;
    if let Some(device) = device.transpose()?.flatten() {
        settings.engine = settings.engine.with_device(&device);
    }
    settings.check().map_err(IntoPy::into_py)?;
    Ok(settings)
}

/// Reads the value of a setting. None is the default where there is no such value.
fn read_setting(field: &SettingField, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    match field.kind {
        Kind::Optional if value.is_none() => Ok(Value::None),
        Kind::Number | Kind::Optional => real(value).map(Value::Number),
        Kind::Vector if value.is_none() => Ok(default(field)),
        Kind::Vector => read_vector(value, field.name).map(|v| Value::Vector(v.into())),
        Kind::Name => text(value).map(|name| Value::Name(name.to_owned())),
    }
}

fn default(of: &SettingField) -> Value {
    let values = SimulationSettings::default().values();
    let mut all = SimulationSettings::FIELDS.iter().zip(values);
    let found = all.find(|(field, _)| field.name == of.name);
    found.map_or(Value::None, |(_, value)| value)
}

fn object(py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
    match value {
        Value::None => Ok(py.None()),
        Value::Number(number) => number.into_py_any(py),
        Value::Vector([x, y, z]) => (*x, *y, *z).into_py_any(py),
        Value::Name(name) => name.into_py_any(py),
    }
}

/// Adds a property for each setting to the class, and to another whose objects have `settings`.
pub(super) fn add_properties(py: Python<'_>, others: &[Bound<'_, PyAny>]) -> PyResult<()> {
    let property = py.import("builtins")?.getattr("property")?;
    let class = py.get_type::<PySimulationSettings>();
    for (index, field) in SimulationSettings::FIELDS.iter().enumerate() {
        let own = PyCFunction::new_closure(py, None, None, move |args, _| {
            let me = args.get_item(0)?.extract::<Py<PySimulationSettings>>()?;
            object(args.py(), &me.get().0.values()[index])
        })?;
        let doc = field.doc.trim();
        class.setattr(
            field.name,
            property.call1((own, py.None(), py.None(), doc))?,
        )?;
        let through = PyCFunction::new_closure(py, None, None, move |args, _| {
            let settings = args.get_item(0)?.getattr("settings")?;
            settings.getattr(field.name).map(Bound::unbind)
        })?;
        for other in others {
            let doc = (&through, py.None(), py.None(), doc);
            other.setattr(field.name, property.call1(doc)?)?;
        }
    }
    Ok(())
}
