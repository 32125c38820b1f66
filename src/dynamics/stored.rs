// SPDX-License-Identifier: MIT OR Apache-2.0
//! Methods and settings as plain data for files: methods and solvers by name, numbers with the usual checks.

use super::{Method, Settings};
use crate::Vec3;
use crate::store::text;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

impl Serialize for Method {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.name().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Method {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = text(deserializer)?;
        name.parse().map_err(D::Error::custom)
    }
}

#[derive(Serialize, Deserialize)]
struct Plain {
    rate: f64,
    gravity: Vec3,
    mass_damping: f64,
    stiffness_damping: f64,
    max_offset: Option<f64>,
    #[serde(deserialize_with = "text")]
    solver: String,
    elastic_joints: f64,
}

impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let plain = Plain {
            rate: self.rate,
            gravity: self.gravity,
            mass_damping: self.mass_damping,
            stiffness_damping: self.stiffness_damping,
            max_offset: self.max_offset,
            solver: self.solver.name().to_owned(),
            elastic_joints: self.elastic_joints,
        };
        plain.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let plain = Plain::deserialize(deserializer)?;
        let settings = Self {
            rate: plain.rate,
            gravity: plain.gravity,
            mass_damping: plain.mass_damping,
            stiffness_damping: plain.stiffness_damping,
            max_offset: plain.max_offset,
            solver: plain.solver.parse().map_err(D::Error::custom)?,
            elastic_joints: plain.elastic_joints,
        };
        settings.check().map_err(D::Error::custom)?;
        Ok(settings)
    }
}
