// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings of surface fits, and their checks.

use super::error::SurfaceFitError;
use crate::Vec3;
use crate::dynamics::Method;
use crate::range::is_sound;

/// Largest number of samples on the way.
const MAX_STEPS: u32 = 100;

/// Settings of a surface fit.
#[derive(Debug, Clone, PartialEq)]
pub struct SurfaceFitSettings {
    /// Name of the rig.
    pub name: String,
    /// Selection of each vertex, 0 (holds still) to 1; `None`: all skin.
    pub select: Option<Vec<f64>>,
    /// Weight κ by which unselected skin holds still, as a share of the weight of selected skin.
    pub hold: f64,
    /// Smoothness η; `None`: the largest that leaves hardly more distance than the lattice must.
    pub smoothness: Option<f64>,
    /// Number of samples on the way from rest, the last at the pose.
    pub steps: u32,
    /// Control of the whole shape; at 0 there is none of it.
    pub control: f64,
    /// Share of the correction that the points of the rig may miss.
    pub tolerance: f64,
    /// Gravity, m/s².
    pub gravity: Vec3,
    /// Forces of other rigs, `[nodes]`, N, rest axes.
    pub rest_forces: Option<Vec<Vec3>>,
    /// Method of the balance, and of the flesh that the rig is to move.
    pub method: Method,
}

impl Default for SurfaceFitSettings {
    fn default() -> Self {
        Self {
            name: "Sculpt".into(),
            select: None,
            hold: 0.05,
            smoothness: None,
            steps: 1,
            control: 1.0,
            tolerance: 0.01,
            gravity: Vec3::new(0.0, 0.0, -9.81),
            rest_forces: None,
            method: Method::Warped,
        }
    }
}

impl SurfaceFitSettings {
    pub(super) fn check(&self) -> Result<(), SurfaceFitError> {
        let range = |name, value, range| Err(SurfaceFitError::Range { name, value, range });
        if !(0.0..=1.0).contains(&self.hold) {
            return range("hold", self.hold, "between 0 and 1");
        }
        if let Some(value) = self.smoothness
            && !(1e-9..=1e9).contains(&value)
        {
            return range("smoothness", value, "between 1e-9 and 1e9");
        }
        if !(1..=MAX_STEPS).contains(&self.steps) {
            return range("steps", f64::from(self.steps), "between 1 and 100");
        }
        if !is_sound(self.control) || self.control == 0.0 {
            return range(
                "control",
                self.control,
                "a finite number other than 0, where the rig has no effect",
            );
        }
        if !(self.tolerance > 0.0 && self.tolerance <= 1.0) {
            return range("tolerance", self.tolerance, "above 0 and at most 1");
        }
        match self.method {
            Method::Linear | Method::Modal => {
                let method = self.method;
                Err(SurfaceFitError::Method { method })
            }
            _ => Ok(()),
        }
    }
}
