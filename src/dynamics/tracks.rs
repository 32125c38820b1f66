// SPDX-License-Identifier: MIT OR Apache-2.0
//! Inputs of a motion that change from frame to frame and that no pose gives: force fields, gravity, and the stiffness of all flesh.

use super::{Method, SimulationError};
use crate::Vec3;
use crate::body::STIFFNESS_FACTORS;
use crate::force_fields::ForceField;

/// Largest acceleration of gravity, m/s², as in the settings.
const MAX_GRAVITY: f64 = 1e6;

/// Force fields, gravity and stiffness at the frames of a clip. Entries are looked up by the frame; the last one stays.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Tracks {
    /// Force fields that accelerate the flesh.
    pub fields: Vec<ForceField>,
    /// Acceleration of gravity at every frame, m/s²; empty: that of the settings. A model that already sags does so under that of the settings.
    pub gravity: Vec<Vec3>,
    /// Factors on the stiffness of all flesh at every frame; empty: 1.
    pub stiffness: Vec<f64>,
}

/// Returns the entry at a frame; the last one beyond its end. `None`: there are none.
fn entry_at<T: Copy>(track: &[T], frame: usize) -> Option<T> {
    track.get(frame).or(track.last()).copied()
}

impl Tracks {
    /// Returns whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.gravity.is_empty() && self.stiffness.is_empty()
    }

    /// Checks all numbers, and that the method can follow them.
    ///
    /// # Errors
    /// A field, gravity or factor out of its range; changing stiffness with a method that cannot follow it.
    pub fn check(&self, method: Method) -> Result<(), SimulationError> {
        for field in &self.fields {
            field.check()?;
        }
        let mut gravity = self.gravity.iter().flat_map(Vec3::iter);
        if let Some(&value) = gravity.find(|x| x.is_nan() || x.abs() > MAX_GRAVITY) {
            return Err(SimulationError::Setting {
                what: "gravity",
                range: "finite",
                value,
            });
        }
        let (least, most) = STIFFNESS_FACTORS;
        let mut stiffness = self.stiffness.iter().copied();
        if let Some(value) = stiffness.find(|x| !(least..=most).contains(x)) {
            return Err(SimulationError::Setting {
                what: "stiffness",
                range: "factors between 0.1 and 100",
                value,
            });
        }
        if self.stiffness.iter().any(|x| *x != 1.0) && !method.follows_stiffness() {
            return Err(SimulationError::StiffnessMethod { method });
        }
        Ok(())
    }

    /// Checks that each track has one entry, or one for each of `frames` frames at least.
    ///
    /// # Errors
    /// Another number of entries.
    pub fn check_frames(&self, frames: usize) -> Result<(), SimulationError> {
        for field in &self.fields {
            field.check_frames(frames)?;
        }
        let lengths = [
            ("gravity", self.gravity.len()),
            ("stiffness", self.stiffness.len()),
        ];
        for (what, given) in lengths {
            if given > 1 && given < frames {
                return Err(SimulationError::TrackFrames {
                    what,
                    given,
                    frames,
                });
            }
        }
        Ok(())
    }

    /// Returns gravity at a frame; `None`: that of the settings.
    pub(super) fn gravity_at(&self, frame: usize) -> Option<Vec3> {
        entry_at(&self.gravity, frame)
    }

    /// Returns the factor on the stiffness of all flesh at a frame.
    pub(super) fn stiffness_at(&self, frame: usize) -> f64 {
        entry_at(&self.stiffness, frame).unwrap_or(1.0)
    }
}
