// SPDX-License-Identifier: MIT OR Apache-2.0
//! Poses as plain data for files: the maps of all bones, twelve numbers each.

use super::{Affine, Pose};
use crate::{Mat3, Vec3};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A map: the matrix by columns, then the translation.
type AffineNumbers = [f64; 12];

impl Serialize for Pose {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let numbers = |m: &Affine| -> AffineNumbers {
            let (linear, moved) = (m.linear.as_slice(), m.translation.as_slice());
            std::array::from_fn(|i| if i < 9 { linear[i] } else { moved[i - 9] })
        };
        serializer.collect_seq(self.maps().iter().map(numbers))
    }
}

impl<'de> Deserialize<'de> for Pose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let maps = Vec::<AffineNumbers>::deserialize(deserializer)?;
        let map = |m: AffineNumbers| Affine {
            linear: Mat3::from_column_slice(&m[..9]),
            translation: Vec3::from_column_slice(&m[9..]),
        };
        Pose::new(maps.into_iter().map(map).collect()).map_err(serde::de::Error::custom)
    }
}
