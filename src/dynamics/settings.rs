// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings that all methods of motion share.

use super::{SimulationError, Solver, check_gravity};
use crate::Vec3;
use crate::present::Showing;
use crate::range::is_sound;

/// Settings of a simulation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Minimum number of steps per second; a frame holds a whole number of steps.
    pub rate: f64,
    /// Acceleration of gravity, m/s².
    pub gravity: Vec3,
    /// Mass damping α of all motion relative to the bones, 1/s. Default: the value of [`default_damping`](super::default_damping) for a
    /// body of two metres at the middle of the softness dial.
    pub mass_damping: f64,
    /// Stiffness damping β of deformation, s, including the numerical damping of the steps. Default: as for α.
    pub stiffness_damping: f64,
    /// Largest distance at which flesh is shown from its skin, relative to the body's size. `None`: unlimited.
    pub max_offset: Option<f64>,
    /// Solver for the steps of the hyperelastic and the warped methods.
    pub solver: Solver,
    /// Elastic Joints s, 0 to 1: the share of the joints' own shape that is shown in place of the plain skin. 0 shows the plain skin.
    /// 1 shows, with the hyperelastic method, round joints that keep their volume, and with other methods the flesh that bones
    /// bend. Sway is always shown in full.
    pub elastic_joints: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rate: 240.0,
            gravity: Vec3::new(0.0, 0.0, -9.81),
            mass_damping: 4.4,
            stiffness_damping: 0.004,
            max_offset: None,
            solver: Solver::Automatic,
            elastic_joints: 1.0,
        }
    }
}

impl Settings {
    /// Checks that every setting is in its range.
    ///
    /// # Errors
    /// A value is out of its range.
    pub fn check(&self) -> Result<(), SimulationError> {
        let check = |what, value: f64, good: bool, range| {
            if good && is_sound(value) {
                Ok(())
            } else {
                Err(SimulationError::Setting { what, range, value })
            }
        };
        check(
            "rate",
            self.rate,
            (1.0..=1e5).contains(&self.rate),
            "between 1 and 100000 steps per second",
        )?;
        check(
            "mass_damping",
            self.mass_damping,
            self.mass_damping >= 0.0,
            "zero or positive",
        )?;
        check(
            "stiffness_damping",
            self.stiffness_damping,
            self.stiffness_damping >= 0.0,
            "zero or positive",
        )?;
        check_gravity(self.gravity)?;
        let positive = |max_offset: f64| max_offset > 0.0 && max_offset.is_finite();
        check(
            "max_offset",
            self.max_offset.unwrap_or(1.0),
            self.max_offset.is_none_or(positive),
            "a positive part of the body's size",
        )?;
        check(
            "elastic_joints",
            self.elastic_joints,
            (0.0..=1.0).contains(&self.elastic_joints),
            "between 0 (the plain skin) and 1",
        )
    }

    /// Returns the settings with which surfaces are shown.
    pub fn showing(&self) -> Showing {
        Showing {
            elastic_joints: self.elastic_joints,
            max_offset: self.max_offset,
        }
    }
}
