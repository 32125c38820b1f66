// SPDX-License-Identifier: MIT OR Apache-2.0
//! Force fields of a scene, such as wind: accelerations of flesh at points of the world.
//!
//! A field has a place, whose z axis is its direction, and numbers. All may change from frame to frame. It accelerates flesh, whatever its mass:
//! strength 1 is 1 m/s², so that a field of 9.81 weighs as much as gravity. Mass was chosen over exposed area because the answer then depends
//! neither on the mesh nor on what hides what, and all kinds have one unit. Distances are in units of a length of its own ([`ForceField::unit`]).
//!
//! With r from the field to the point, ẑ its axis, f its falloff and s its strength, the acceleration is
//!
//! | kind | acceleration |
//! | --- | --- |
//! | wind | `s f ẑ` |
//! | force | `s f r/‖r‖`, away from the point, line or plane; with `gravitation` over ‖r‖² |
//! | vortex | `s f ẑ × r`, along circles around the axis |
//! | turbulence | `s f n(r / size)`, n smooth noise of three components between −1 and 1 that is zero on average |
//! | drag | `−f (linear + quadratic ‖v‖) v` |
//!
//! `f = (1 + d − min)^−power` between the least distance, up to which it is 1, and the largest, beyond which it is 0. The falloff's shape decides
//! what counts as d: the distance from the place, or along the axis together with the distance from it (tube) or the angle to it (cone, degrees).
//! `flow` turns any kind but drag into moving air: it adds `−f flow v`, so that flesh that follows is pushed less. Drag and flow are implicit
//! in a step, which they can never make unstable.
//!
//! `noise` varies the strength in time, smoothly, [`NOISE_RATE`] times a second. Turbulence and noise are gradient noise, the same for equal seeds on every machine.

mod evaluate;
mod noise;
#[cfg(test)]
mod tests;

pub(crate) use evaluate::FieldState;

use crate::range::is_position;
use nalgebra::Isometry3;
use noise::noise_1d;
use std::ops::Range;

/// Changes of the strength per second that `noise` makes; an animator's gust, slower than the swing of flesh.
pub const NOISE_RATE: f64 = 2.0;
/// Largest magnitude of a number of a field.
const MAX_FIELD_NUMBER: f64 = 1e9;
/// Number of numbers of a field.
pub const NUMBER_COUNT: usize = 12;

/// Reasons why a field cannot act.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldError {
    /// A number is out of its range.
    #[error(
        "the force field '{field}': its {number} at entry {entry} must be {range}, not {value}"
    )]
    Number {
        /// Name of the field.
        field: String,
        /// Name of the number.
        number: &'static str,
        /// Index of the entry.
        entry: usize,
        /// Allowed range.
        range: &'static str,
        /// Value.
        value: f64,
    },
    /// A place is not finite, or there is none.
    #[error("the force field '{field}' has a place that is not finite at entry {entry}")]
    Place {
        /// Name of the field.
        field: String,
        /// Index of the entry.
        entry: usize,
    },
    /// A track has another number of entries than the clip has frames.
    #[error(
        "the force field '{field}' has {given} entries of {what}, but the clip has {frames} frames: give one, or one for each frame"
    )]
    Entries {
        /// Name of the field.
        field: String,
        /// Name of the track.
        what: &'static str,
        /// Number of its entries.
        given: usize,
        /// Number of frames.
        frames: usize,
    },
    /// The unit is out of range.
    #[error("the force field '{field}': its unit must be a positive length in metres, not {unit}")]
    Unit {
        /// Name of the field.
        field: String,
        /// Value.
        unit: f64,
    },
}

/// Declares an enum whose variants have names.
macro_rules! named_choice {
    ($(#[$about:meta])* $Name:ident { $($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $Name {$(
            $(#[doc = $doc])+
            $variant,
        )+}

        impl $Name {
            /// All of them, in order.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// Returns the one of a name; `None` for an unknown name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|each| each.name() == name)
            }
        }
    };
}

named_choice! {
    /// Kind of a field.
    FieldKind {
        /// Constant along the axis.
        Wind = "wind",
        /// Away from its place.
        Force = "force",
        /// Around its axis.
        Vortex = "vortex",
        /// Random in space.
        Turbulence = "turbulence",
        /// Against the motion.
        Drag = "drag",
    }
}

named_choice! {
    /// Shape from which distances count.
    FieldShape {
        /// The place itself.
        Point = "point",
        /// The line along the axis.
        Line = "line",
        /// The plane across the axis.
        Plane = "plane",
    }
}

named_choice! {
    /// Shape of the falloff.
    Falloff {
        /// By the distance.
        Sphere = "sphere",
        /// Along the axis and by the distance from it.
        Tube = "tube",
        /// Along the axis and by the angle to it.
        Cone = "cone",
    }
}

named_choice! {
    /// Side of the plane across the axis on which a field acts.
    FieldSide {
        /// On both.
        Both = "both",
        /// On the side to which the axis points.
        Positive = "positive",
        /// On the other side.
        Negative = "negative",
    }
}

/// A number of a field, by its place in [`ForceField::numbers`].
#[derive(Debug, Clone, Copy)]
pub struct NumberSpec {
    /// Name.
    pub name: &'static str,
    /// Value unless set.
    pub default: f64,
    /// Smallest value; `f64::NEG_INFINITY`: none.
    pub least: f64,
    /// Allowed range, as it follows "must be".
    pub range: &'static str,
}

/// Declares the numbers with their indices.
macro_rules! numbers {
    ($($index:ident: $name:literal = $default:expr, $least:expr, $range:literal;)+) => {
        /// All numbers of a field, in order.
        pub const NUMBERS: [NumberSpec; NUMBER_COUNT] = [$(
            NumberSpec { name: $name, default: $default, least: $least, range: $range },
        )+];
        numbers!(@index 0usize; $($index)+);
    };
    (@index $at:expr; $index:ident $($rest:ident)*) => {
        pub(crate) const $index: usize = $at;
        numbers!(@index $at + 1; $($rest)*);
    };
    (@index $at:expr;) => {};
}

numbers! {
    STRENGTH: "strength" = 1.0, f64::NEG_INFINITY, "a finite number of m/s²";
    FLOW: "flow" = 0.0, 0.0, "zero or positive, 1/s";
    NOISE: "noise" = 0.0, 0.0, "zero or positive, m/s²";
    SIZE: "size" = 1.0, 1e-6, "positive";
    LINEAR: "linear_drag" = 0.0, 0.0, "zero or positive, 1/s";
    QUADRATIC: "quadratic_drag" = 0.0, 0.0, "zero or positive, 1/m";
    POWER: "power" = 0.0, 0.0, "zero or positive";
    RADIAL_POWER: "radial_power" = 0.0, 0.0, "zero or positive";
    MIN_DISTANCE: "min_distance" = 0.0, 0.0, "zero or positive";
    MAX_DISTANCE: "max_distance" = f64::INFINITY, 0.0, "zero or positive";
    MIN_RADIUS: "min_radius" = 0.0, 0.0, "zero or positive";
    MAX_RADIUS: "max_radius" = f64::INFINITY, 0.0, "zero or positive";
}

/// A force field with its place and numbers at the frames of a clip.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ForceField {
    /// Name, for sentences.
    #[serde(deserialize_with = "crate::store::text")]
    pub name: String,
    /// Kind.
    pub kind: FieldKind,
    /// Shape from which distances count.
    pub shape: FieldShape,
    /// Shape of the falloff.
    pub falloff: Falloff,
    /// Side on which it acts.
    pub side: FieldSide,
    /// Flag: a force falls with the square of the distance in addition.
    pub gravitation: bool,
    /// Flag: turbulence stays in the world instead of moving with the field.
    pub global: bool,
    /// Seed of noise and turbulence.
    pub seed: u32,
    /// Length in which distances count, m.
    pub unit: f64,
    /// Time of frame 0, s, for noise.
    pub start: f64,
    /// Places: one, or one per frame. The z axis is the direction.
    pub places: Vec<Isometry3<f64>>,
    /// Values of each of [`NUMBERS`]: none (the default), one, or one per frame.
    pub numbers: [Vec<f64>; NUMBER_COUNT],
}

/// Returns the entry at a frame; the last one beyond its end. `None`: there are none.
fn entry_at<T>(track: &[T], frame: usize) -> Option<&T> {
    track.get(frame).or(track.last())
}

/// Returns the entries of some of the frames; a track of one entry stays.
pub(crate) fn part_of_track<T: Clone>(track: &[T], frames: &Range<usize>) -> Vec<T> {
    let end = frames.end.min(track.len());
    let start = frames.start.min(end.saturating_sub(1));
    match track.len() {
        0 | 1 => track.to_vec(),
        _ => track[start..end].to_vec(),
    }
}

impl ForceField {
    /// Creates a field of strength 1 at the origin, whose axis is z.
    pub fn new(kind: FieldKind) -> Self {
        Self {
            name: kind.name().to_owned(),
            kind,
            shape: FieldShape::Point,
            falloff: Falloff::Sphere,
            side: FieldSide::Both,
            gravitation: false,
            global: false,
            seed: 0,
            unit: 1.0,
            start: 0.0,
            places: vec![Isometry3::identity()],
            numbers: Default::default(),
        }
    }

    /// Sets the values of the number of that name; an unknown name changes nothing.
    pub fn with_number(mut self, name: &str, values: &[f64]) -> Self {
        if let Some(at) = NUMBERS.iter().position(|spec| spec.name == name) {
            self.numbers[at] = values.to_vec();
        }
        self
    }

    /// Checks its places and numbers.
    ///
    /// # Errors
    /// A number or place that is not finite or out of its range.
    pub fn check(&self) -> Result<(), FieldError> {
        let field = || self.name.clone();
        if !(1e-9..=MAX_FIELD_NUMBER).contains(&self.unit) {
            return Err(FieldError::Unit {
                field: field(),
                unit: self.unit,
            });
        }
        let sound = |place: &Isometry3<f64>| {
            let turn = place.rotation.quaternion();
            is_position(&place.translation.vector) && (turn.norm() - 1.0).abs() < 1e-6
        };
        let wrong = self.places.iter().position(|place| !sound(place));
        if let Some(entry) = wrong.or(self.places.is_empty().then_some(0)) {
            return Err(FieldError::Place {
                field: field(),
                entry,
            });
        }
        for (spec, values) in NUMBERS.iter().zip(&self.numbers) {
            let good = |x: f64| {
                let unlimited = spec.default == f64::INFINITY && x == f64::INFINITY;
                x >= spec.least && (x.abs() <= MAX_FIELD_NUMBER || unlimited)
            };
            if let Some(entry) = values.iter().position(|x| !good(*x)) {
                return Err(FieldError::Number {
                    field: field(),
                    number: spec.name,
                    entry,
                    range: spec.range,
                    value: values[entry],
                });
            }
        }
        if self.start.is_nan() || self.start.abs() > MAX_FIELD_NUMBER {
            return Err(FieldError::Number {
                field: field(),
                number: "start",
                entry: 0,
                range: "a finite number of seconds",
                value: self.start,
            });
        }
        Ok(())
    }

    /// Checks that its tracks have one entry, or one for each of `frames` frames at least.
    ///
    /// # Errors
    /// Another number of entries.
    pub fn check_frames(&self, frames: usize) -> Result<(), FieldError> {
        let numbers = NUMBERS.iter().zip(&self.numbers);
        let numbers = numbers.map(|(spec, values)| (spec.name, values.len()));
        for (what, given) in numbers.chain([("its place", self.places.len())]) {
            if given > 1 && given < frames {
                return Err(FieldError::Entries {
                    field: self.name.clone(),
                    what,
                    given,
                    frames,
                });
            }
        }
        Ok(())
    }

    /// Returns the field at some of the frames of a clip of `fps` frames per second, its noise included.
    #[must_use]
    pub fn part(&self, frames: &Range<usize>, fps: f64) -> Self {
        Self {
            start: self.start + frames.start as f64 / fps,
            places: part_of_track(&self.places, frames),
            numbers: self
                .numbers
                .each_ref()
                .map(|values| part_of_track(values, frames)),
            ..self.clone()
        }
    }

    /// Returns place and numbers at a frame of a clip of `fps` frames per second, the noise of that time included.
    pub(crate) fn state_at(&self, frame: usize, fps: f64) -> FieldState {
        let mut numbers = [0.0; NUMBER_COUNT];
        for ((number, spec), values) in numbers.iter_mut().zip(&NUMBERS).zip(&self.numbers) {
            *number = entry_at(values, frame).copied().unwrap_or(spec.default);
        }
        if numbers[NOISE] != 0.0 {
            let time = self.start + frame as f64 / fps;
            numbers[STRENGTH] += numbers[NOISE] * noise_1d(self.seed, time * NOISE_RATE);
        }
        FieldState {
            place: entry_at(&self.places, frame).copied().unwrap_or_default(),
            numbers,
        }
    }
}
