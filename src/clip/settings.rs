// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings of a clip, and their form in files.

use super::ClipError;
use crate::Vec3;
use crate::dynamics::{Method, SimulationSettings, Solver, Tracks, Value};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::{Error as _, SerializeTuple};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::Arc;

/// Largest number of frames of run-in: each is stored as a pose.
const MAX_PREROLL: usize = 100_000;

/// Settings of a simulated clip.
#[derive(Debug, Clone, PartialEq)]
pub struct ClipSettings {
    /// Frames per second, `fps / fps_base` of the scene.
    pub fps: f64,
    /// Settings of the simulation.
    pub simulation: SimulationSettings,
    /// Frames of run-in before the first. In the run-in the joints come from a standstill and reach the first pose with its velocity, while the
    /// character as a whole travels on. Without run-in the clip starts in static equilibrium.
    pub preroll: usize,
    /// `true`: the poses are a cycle, and the clip is the steady state that repeats with them.
    pub cyclic: bool,
    /// Force fields, gravity and stiffness that change from frame to frame, by the frames of the clip.
    pub tracks: Arc<Tracks>,
}

impl ClipSettings {
    /// Builds settings without run-in, of poses that are not a cycle.
    pub fn new(fps: f64, simulation: SimulationSettings) -> Self {
        Self {
            fps,
            simulation,
            preroll: 0,
            cyclic: false,
            tracks: Arc::default(),
        }
    }

    /// Checks the ranges of all settings.
    ///
    /// # Errors
    /// A frame rate or a run-in out of its range; settings of the simulation.
    pub fn check(&self) -> Result<(), ClipError> {
        if !(0.1..=1e4).contains(&self.fps) {
            return Err(ClipError::Fps(self.fps));
        }
        if self.preroll > MAX_PREROLL {
            return Err(ClipError::Preroll(self.preroll));
        }
        self.simulation.check()?;
        Ok(self.tracks.check(self.simulation.method)?)
    }
}

/// Form of the settings in files. It never changes: later settings are in `end`. How modes are shown is stored beside it.
#[derive(Serialize, Deserialize)]
struct StoredClipSettings {
    fps: f64,
    method: Method,
    rate: f64,
    gravity: Vec3,
    mass_damping: f64,
    stiffness_damping: f64,
    max_offset: Option<f64>,
    solver: Solver,
    elastic_joints: f64,
    preroll: usize,
    end: SettingsTail,
}

/// End of the stored settings: a byte with bits for `cyclic` and for the presence of later settings, then these.
struct SettingsTail {
    cyclic: bool,
    later: Vec<(String, Value)>,
    tracks: Arc<Tracks>,
}

/// Bit in the byte of [`SettingsTail`]: later settings follow.
const LATER_SETTINGS_BIT: u8 = 2;
/// The same: tracks follow.
const TRACKS_BIT: u8 = 4;

impl Serialize for SettingsTail {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bit = |there: bool, bit: u8| if there { bit } else { 0 };
        let later = bit(!self.later.is_empty(), LATER_SETTINGS_BIT);
        let tracks = bit(!self.tracks.is_empty(), TRACKS_BIT);
        let count = 1 + usize::from(later != 0) + usize::from(tracks != 0);
        let mut tuple = serializer.serialize_tuple(count)?;
        tuple.serialize_element(&(u8::from(self.cyclic) | later | tracks))?;
        if later != 0 {
            tuple.serialize_element(&self.later)?;
        }
        if tracks != 0 {
            tuple.serialize_element(&*self.tracks)?;
        }
        tuple.end()
    }
}

impl<'de> Deserialize<'de> for SettingsTail {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SettingsTailVisitor;

        impl<'de> Visitor<'de> for SettingsTailVisitor {
            type Value = SettingsTail;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the end of the settings")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<SettingsTail, A::Error> {
                let bits: u8 = seq.next_element()?.unwrap_or(u8::MAX);
                if bits > 1 + LATER_SETTINGS_BIT + TRACKS_BIT {
                    return Err(A::Error::custom(
                        "it says both that it is a cycle and that it is not",
                    ));
                }
                let later = match bits & LATER_SETTINGS_BIT {
                    0 => None,
                    _ => seq.next_element()?,
                };
                let tracks: Option<Tracks> = match bits & TRACKS_BIT {
                    0 => None,
                    _ => seq.next_element()?,
                };
                Ok(SettingsTail {
                    cyclic: bits & 1 == 1,
                    later: later.unwrap_or_default(),
                    tracks: Arc::new(tracks.unwrap_or_default()),
                })
            }
        }

        deserializer.deserialize_tuple(3, SettingsTailVisitor)
    }
}

impl Serialize for ClipSettings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let s = &self.simulation;
        let (Some(mass_damping), Some(stiffness_damping)) = (s.mass_damping, s.stiffness_damping)
        else {
            return Err(S::Error::custom("the damping of its body is not known"));
        };
        let stored = StoredClipSettings {
            fps: self.fps,
            method: s.method,
            rate: s.rate,
            gravity: s.gravity,
            mass_damping,
            stiffness_damping,
            max_offset: s.max_offset,
            solver: s.solver,
            elastic_joints: s.elastic_joints,
            preroll: self.preroll,
            end: SettingsTail {
                cyclic: self.cyclic,
                later: s.later(),
                tracks: self.tracks.clone(),
            },
        };
        stored.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ClipSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = StoredClipSettings::deserialize(deserializer)?;
        let mut simulation = SimulationSettings {
            method: stored.method,
            rate: stored.rate,
            gravity: stored.gravity,
            mass_damping: Some(stored.mass_damping),
            stiffness_damping: Some(stored.stiffness_damping),
            max_offset: stored.max_offset,
            solver: stored.solver,
            elastic_joints: stored.elastic_joints,
            ..SimulationSettings::default()
        };
        for (name, value) in stored.end.later {
            simulation.set(&name, value).map_err(D::Error::custom)?;
        }
        let tracks = stored.end.tracks;
        simulation.check().map_err(D::Error::custom)?;
        tracks.check(simulation.method).map_err(D::Error::custom)?;
        Ok(Self {
            tracks,
            fps: stored.fps,
            simulation,
            preroll: stored.preroll,
            cyclic: stored.end.cyclic,
        })
    }
}
