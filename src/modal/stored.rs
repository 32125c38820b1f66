// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modes of a body and their display options as plain data, for files that also hold the body.

use super::DeformSettings;
use super::modes::{ModeShapes, Modes};
use crate::Vec3;
use crate::body::Body;
use crate::range::{all_storable, is_storable};
use crate::store::Text;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::Arc;

/// [`Modes`] without their body.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredModes {
    fixed: Vec<bool>,
    eigenvalues: Vec<f64>,
    verified: bool,
    shapes: Vec<Vec<Vec3>>,
    rotations: Vec<Vec<Vec3>>,
    momenta: Vec<Vec<Vec3>>,
    neighbours: Vec<Vec<u32>>,
    masses: Vec<f64>,
}

impl StoredModes {
    pub fn new(modes: &Modes) -> Self {
        let basis = &modes.basis;
        Self {
            fixed: modes.fixed.clone(),
            eigenvalues: modes.eigenvalues.clone(),
            verified: modes.verified,
            shapes: basis.shapes.clone(),
            rotations: basis.rotations.clone(),
            momenta: basis.packed.momenta(modes.len(), modes.node_count()),
            neighbours: basis.neighbours.clone(),
            masses: basis.masses.clone(),
        }
    }

    /// Restores the modes for a body of flesh; `None` where they do not fit it.
    pub fn into_modes(self, body: &Arc<Body>) -> Option<Modes> {
        let (nodes, modes) = (body.node_count(), self.eigenvalues.len());
        let fits = |columns: &Vec<Vec<Vec3>>| {
            let sound =
                |column: &Vec<Vec3>| column.len() == nodes && column.iter().all(all_storable);
            columns.len() == modes && columns.iter().all(sound)
        };
        let mut held = vec![false; nodes];
        body.held_vertices().for_each(|v| held[v as usize] = true);
        let near = |row: &Vec<u32>| row.iter().all(|&v| (v as usize) < nodes);
        let good = modes > 0
            && self.fixed == held
            && self.eigenvalues.iter().all(|&l| is_storable(l))
            && [&self.shapes, &self.rotations, &self.momenta]
                .into_iter()
                .all(fits)
            && self.neighbours.len() == nodes
            && self.neighbours.iter().all(near)
            && self.masses.len() == nodes
            && self.masses.iter().all(|&m| is_storable(m));
        good.then(|| Modes {
            functions: body.basis().clone(),
            body: Some(body.clone()),
            fixed: self.fixed,
            eigenvalues: self.eigenvalues,
            verified: self.verified,
            basis: Arc::new(ModeShapes::new(
                self.rotations,
                self.momenta,
                self.shapes,
                self.neighbours,
                self.masses,
            )),
        })
    }
}

impl Serialize for DeformSettings {
    /// Serialises by the names of the interface.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (form, precision) = (self.form.name(), self.precision.name());
        (form, precision, &self.engine).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DeformSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (Text(form), Text(precision), Text(engine)) = Deserialize::deserialize(deserializer)?;
        Self::from_names(&form, &precision, &engine, None).map_err(serde::de::Error::custom)
    }
}
