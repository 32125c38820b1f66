// SPDX-License-Identifier: MIT OR Apache-2.0
//! The twist of single bones as a setting of `thew.BodySettings`, by name or one per bone, and the tubes of a body.

use super::arrays::{List, real, text};
use super::errors::input_error;
use super::settings::Setting;
use crate::Vec3;
use crate::body::{Body, BoneTwist};
use numpy::{PyArray1, ToPyArray};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;

/// Twist of single bones. Bones without one have the default.
#[derive(Clone, PartialEq)]
pub(super) enum Twists {
    ByName(BTreeMap<String, BoneTwist>),
    PerBone(Vec<Option<BoneTwist>>),
}

impl Default for Twists {
    fn default() -> Self {
        Self::ByName(BTreeMap::new())
    }
}

impl Twists {
    /// Returns the twists by name for a skeleton with the bones `names`.
    pub fn by_name(self, names: &[String]) -> PyResult<BTreeMap<String, BoneTwist>> {
        match self {
            Self::ByName(twists) => Ok(twists),
            Self::PerBone(twists) if twists.len() == names.len() => {
                let pairs = names.iter().zip(twists);
                Ok(pairs.filter_map(|(n, t)| Some((n.clone(), t?))).collect())
            }
            Self::PerBone(twists) => Err(input_error(format!(
                "twist: expected {} items, one per bone, but there are {}",
                names.len(),
                twists.len()
            ))),
        }
    }
}

impl Setting for Twists {
    fn read(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        if object.is_none() {
            return Ok(Self::default());
        }
        let Ok(by_name) = object.cast::<PyDict>() else {
            let items = object.extract::<List<Bound<'_, PyAny>>>()?.0;
            let items = items.iter().enumerate();
            let read = |(i, item): (usize, &Bound<'_, PyAny>)| match item.is_none() {
                true => Ok(None),
                false => read_twist(item, &format!("{name}[{i}]")).map(Some),
            };
            return items.map(read).collect::<PyResult<_>>().map(Self::PerBone);
        };
        let mut twists = BTreeMap::new();
        for (bone, twist) in by_name {
            let bone = text(&bone)?;
            twists.insert(
                bone.to_owned(),
                read_twist(&twist, &format!("{name}['{bone}']"))?,
            );
        }
        Ok(Self::ByName(twists))
    }

    fn object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self {
            Self::ByName(twists) if twists.is_empty() => Ok(py.None()),
            Self::ByName(twists) => {
                let dict = PyDict::new(py);
                for (bone, twist) in twists {
                    dict.set_item(bone, twist_object(py, twist)?)?;
                }
                dict.into_py_any(py)
            }
            Self::PerBone(twists) => {
                let item = |t: &Option<BoneTwist>| match t {
                    Some(twist) => twist_object(py, twist)?.into_py_any(py),
                    None => Ok(py.None()),
                };
                let items: Vec<Py<PyAny>> = twists.iter().map(item).collect::<PyResult<_>>()?;
                items.into_py_any(py)
            }
        }
    }
}

/// Reads the twist of one bone; `name` is what errors call it.
fn read_twist(object: &Bound<'_, PyAny>, name: &str) -> PyResult<BoneTwist> {
    let Ok(given) = object.cast::<PyDict>() else {
        return Err(input_error(format!(
            "{name}: expected {{'radius': metres, 'strength': factor}}, got {}",
            object.get_type().name()?
        )));
    };
    let mut twist = BoneTwist::default();
    for (key, value) in given {
        match text(&key)? {
            "radius" if value.is_none() => twist.radius = None,
            "radius" => twist.radius = Some(real(&value)?),
            "strength" => twist.strength = real(&value)?,
            other => {
                return Err(input_error(format!(
                    "{name}: a twist has 'radius' and 'strength', not '{other}'"
                )));
            }
        }
    }
    Ok(twist)
}

/// Returns the twist of one bone as [`read_twist`] takes it.
fn twist_object<'py>(py: Python<'py>, twist: &BoneTwist) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("radius", twist.radius)?;
    dict.set_item("strength", twist.strength)?;
    Ok(dict)
}

/// Bone, head, tail, radius and stiffness.
pub(super) type TwistTube<'py> = (
    String,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    f64,
    f64,
);

/// Returns the tubes of flesh that turn with the bones of a body.
pub(super) fn tubes<'py>(py: Python<'py>, body: &Body) -> Vec<TwistTube<'py>> {
    let names = body.skeleton().names();
    let point = |x: &Vec3| x.as_slice().to_pyarray(py);
    let regions = body.twist_regions().iter();
    regions
        .map(|r| {
            let bone = names[r.bone as usize].clone();
            (bone, point(&r.head), point(&r.tail), r.radius, r.stiffness)
        })
        .collect()
}
