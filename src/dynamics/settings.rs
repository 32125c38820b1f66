// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a simulation runs: what all methods share.

use super::{SimulationError, Solver, check_gravity};
use crate::Vec3;
use crate::present::Showing;
use crate::range::is_sound;

/// How a simulation runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Steps per second at least; a frame holds a whole number of steps.
    pub rate: f64,
    /// Acceleration of gravity, m/s².
    pub gravity: Vec3,
    /// Damping α of all motion relative to the bones, 1/s. Default: what [`default_damping`](super::default_damping) gives a body of two metres as
    /// soft as the dial's middle.
    pub mass_damping: f64,
    /// Damping β of deformation, s, what the steps themselves damp included. Default: as α.
    pub stiffness_damping: f64,
    /// Farthest that flesh is shown from its skin, as a part of the body's size; none = no limit.
    pub max_offset: Option<f64>,
    /// How steps of the hyperelastic method and the warped ones are solved.
    pub solver: Solver,
    /// Elastic Joints s, 0 to 1: which part of the joints' own shape is shown in place of the plain skin. 0 is the skin as it is. 1 is,
    /// with the hyperelastic method, joints that are round and keep their volume; with others, the flesh that bones bend. Sway is shown
    /// whole.
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
    /// Refuses what nothing can run with.
    ///
    /// # Errors
    /// A value out of its range.
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

    /// How surfaces are shown.
    pub fn showing(&self) -> Showing {
        Showing {
            elastic_joints: self.elastic_joints,
            max_offset: self.max_offset,
        }
    }
}
