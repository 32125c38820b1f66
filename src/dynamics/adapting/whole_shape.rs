// SPDX-License-Identifier: MIT OR Apache-2.0
//! The displayed shape of a simulation that adapts.

use crate::Vec3;

/// Displayed shape, with an entry per function of the whole body.
#[derive(Default)]
pub(in crate::dynamics) struct WholeShape {
    pub places: Vec<Vec3>,
    /// Empty if not computed.
    pub sway: Vec<Vec3>,
    pub joints: Vec<Vec3>,
    pub folds: Vec<f64>,
    pub velocities: Vec<Vec3>,
    pub carried: Vec<Vec3>,
}

impl WholeShape {
    /// Returns positions, sway and joints.
    pub fn parts(&self) -> [&[Vec3]; 3] {
        [&self.places, &self.sway, &self.joints]
    }

    /// Returns the same, to be changed.
    pub fn parts_mut(&mut self) -> [&mut Vec<Vec3>; 3] {
        [&mut self.places, &mut self.sway, &mut self.joints]
    }
}
