// SPDX-License-Identifier: MIT OR Apache-2.0
//! What touches, and how.

use super::ContactError;
use crate::range::is_sound;

/// How flesh touches itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactOptions {
    /// Whether a body touches itself.
    pub self_contact: bool,
    /// What is kept between skins, metres.
    pub thickness: f64,
    /// Coulomb's coefficient.
    pub friction: f64,
    /// How far contacts give, as a part of what the flesh itself gives there.
    pub compliance: f64,
}

impl Default for ContactOptions {
    fn default() -> Self {
        Self {
            self_contact: true,
            thickness: 0.0,
            friction: 0.3,
            compliance: 0.03,
        }
    }
}

impl ContactOptions {
    /// Refuses what nothing can touch with.
    ///
    /// # Errors
    /// A number out of its range, by name.
    pub fn check(&self) -> Result<(), ContactError> {
        let positive = "zero or positive";
        for (what, value, range, good) in [
            ("thickness", self.thickness, positive, self.thickness >= 0.0),
            ("friction", self.friction, positive, self.friction >= 0.0),
            (
                "compliance",
                self.compliance,
                "between 1e-6 and 10",
                (1e-6..=10.0).contains(&self.compliance),
            ),
        ] {
            if !good || !is_sound(value) {
                return Err(ContactError::Setting { what, range, value });
            }
        }
        Ok(())
    }
}
