// SPDX-License-Identifier: MIT OR Apache-2.0
//! Macro that builds a struct of settings from a table of rows, and the values of settings of any type.

use crate::Vec3;
use crate::dynamics::{Adaptation, Method, SimulationError, Solver};
use crate::kernel::{EngineChoice, Precision, WarpForm};
use serde::{Deserialize, Serialize};

/// Row of the table.
#[derive(Debug, Clone, Copy)]
pub struct SettingField {
    /// Name, in all languages.
    pub name: &'static str,
    /// Type of its values.
    pub kind: Kind,
    /// Unit; empty for names and plain numbers.
    pub unit: &'static str,
    /// Valid range, to follow "must be"; empty for names.
    pub range: &'static str,
    /// Description.
    pub doc: &'static str,
}

/// Type of the values of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number,
    /// A number or `None`.
    Optional,
    /// Three numbers.
    Vector,
    /// One of several names.
    Name,
}

/// Value of a setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// `None`.
    None,
    /// A number.
    Number(f64),
    /// Three numbers.
    Vector([f64; 3]),
    /// A name.
    Name(String),
}

impl Value {
    /// Returns the numbers of the value.
    pub fn numbers(&self) -> &[f64] {
        match self {
            Self::Number(number) => std::slice::from_ref(number),
            Self::Vector(numbers) => numbers,
            Self::None | Self::Name(_) => &[],
        }
    }
}

/// Type of a setting.
pub(super) trait Setting: Sized {
    const KIND: Kind;

    fn value(&self) -> Value;

    /// Reads a value; `None` if it is of another kind.
    fn read(value: Value) -> Option<Result<Self, SimulationError>>;
}

impl Setting for f64 {
    const KIND: Kind = Kind::Number;

    fn value(&self) -> Value {
        Value::Number(*self)
    }

    fn read(value: Value) -> Option<Result<Self, SimulationError>> {
        match value {
            Value::Number(number) => Some(Ok(number)),
            _ => None,
        }
    }
}

impl Setting for Option<f64> {
    const KIND: Kind = Kind::Optional;

    fn value(&self) -> Value {
        self.map_or(Value::None, Value::Number)
    }

    fn read(value: Value) -> Option<Result<Self, SimulationError>> {
        match value {
            Value::None => Some(Ok(None)),
            Value::Number(number) => Some(Ok(Some(number))),
            _ => None,
        }
    }
}

impl Setting for Vec3 {
    const KIND: Kind = Kind::Vector;

    fn value(&self) -> Value {
        Value::Vector((*self).into())
    }

    fn read(value: Value) -> Option<Result<Self, SimulationError>> {
        match value {
            Value::Vector(numbers) => Some(Ok(numbers.into())),
            _ => None,
        }
    }
}

/// Implements [`Setting`] for types that have names.
macro_rules! named {
    ($($type:ty: $name:expr, $parse:expr;)+) => {$(
        impl Setting for $type {
            const KIND: Kind = Kind::Name;

            fn value(&self) -> Value {
                let name: fn(&Self) -> String = $name;
                Value::Name(name(self))
            }

            fn read(value: Value) -> Option<Result<Self, SimulationError>> {
                let parse: fn(&str) -> Result<Self, SimulationError> = $parse;
                match value {
                    Value::Name(name) => Some(parse(&name)),
                    _ => None,
                }
            }
        }
    )+};
}

named! {
    Method: |it| it.name().into(), str::parse;
    Solver: |it| it.name().into(), str::parse;
    Adaptation: |it| it.name().into(), str::parse;
    WarpForm: |it| it.name().into(), |name| Ok(crate::modal::parse_form(name)?);
    Precision: |it| it.name().into(), |name| Ok(crate::modal::parse_precision(name)?);
    EngineChoice: ToString::to_string, |name| Ok(crate::modal::parse_engine(name)?);
}

/// Hash of a stream of bytes: FNV-1a of 128 bits, the same on every machine.
pub(super) struct Digest(u128);

impl Digest {
    pub fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn add_bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 ^= u128::from(byte);
            self.0 = self
                .0
                .wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }

    /// Adds a text with its length, so that different sequences of texts give different bytes.
    fn add_text(&mut self, text: &str) {
        self.add_bytes(&(text.len() as u64).to_le_bytes());
        self.add_bytes(text.as_bytes());
    }

    pub fn add(&mut self, name: &str, value: &Value) {
        self.add_text(name);
        match value {
            Value::Name(name) => self.add_text(name),
            numbers => {
                self.add_bytes(&[numbers.numbers().len() as u8]);
                for x in numbers.numbers() {
                    // 0 and -0 are equal.
                    self.add_bytes(&(x + 0.0).to_bits().to_le_bytes());
                }
            }
        }
    }

    pub fn sum(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }
}

/// Makes a struct of settings from rows `name: type = default, unit, check of a number, range;`. A row is the only place that lists a setting.
macro_rules! settings {
    (
        $(#[$about:meta])*
        pub struct $Settings:ident {$(
            $(#[doc = $doc:literal])+
            $name:ident: $type:ty = $default:expr, $unit:literal, $good:expr, $range:literal;
        )+}
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $Settings {$(
            $(#[doc = $doc])+
            pub $name: $type,
        )+}

        impl Default for $Settings {
            fn default() -> Self {
                Self {$($name: $default,)+}
            }
        }

        impl $Settings {
            /// The table, in order.
            pub const FIELDS: &[$crate::dynamics::SettingField] = &[$(
                $crate::dynamics::SettingField {
                    name: stringify!($name),
                    kind: <$type as $crate::dynamics::settings::table::Setting>::KIND,
                    unit: $unit,
                    range: $range,
                    doc: concat!($($doc),+),
                },
            )+];

            /// Returns the value of each setting, in the order of the table.
            pub fn values(&self) -> Vec<$crate::dynamics::Value> {
                use $crate::dynamics::settings::table::Setting;
                vec![$(self.$name.value()),+]
            }

            /// Sets one setting by name.
            ///
            /// # Errors
            /// An unknown name, a value of another kind, an unknown name of a method, solver, form, precision or engine. [`check`](Self::check)
            /// checks ranges.
            pub fn set(
                &mut self,
                name: &str,
                value: $crate::dynamics::Value,
            ) -> Result<(), $crate::dynamics::SimulationError> {
                use $crate::dynamics::settings::table::Setting;
                let other = |what| $crate::dynamics::SimulationError::SettingKind { what };
                match name {
                    $(stringify!($name) => {
                        self.$name = Setting::read(value).ok_or(other(stringify!($name)))??;
                    })+
                    _ => return Err($crate::dynamics::SimulationError::UnknownSetting {
                        name: name.to_owned(),
                        known: [$(stringify!($name)),+].join(", "),
                    }),
                }
                Ok(())
            }

            /// Checks that every setting is in its range.
            ///
            /// # Errors
            /// A value is out of its range.
            pub fn check(&self) -> Result<(), $crate::dynamics::SimulationError> {
                use $crate::dynamics::settings::table::Setting;
                $(
                    let good: fn(f64) -> bool = $good;
                    for &value in self.$name.value().numbers() {
                        if !(good(value) && $crate::range::is_sound(value)) {
                            let (what, range) = (stringify!($name), $range);
                            return Err($crate::dynamics::SimulationError::Setting { what, range, value });
                        }
                    }
                )+
                Ok(())
            }

            /// Returns the settings after the first [`FORMER`] that differ from their defaults, by name.
            pub(crate) fn later(&self) -> Vec<(String, $crate::dynamics::Value)> {
                let values = self.values().into_iter().zip(Self::default().values());
                let all = Self::FIELDS.iter().zip(values).skip(FORMER);
                all.filter(|(_, (value, default))| value != default)
                    .map(|(field, (value, _))| (field.name.to_owned(), value))
                    .collect()
            }

            /// Returns a hash of all settings, equal in every session, version and machine.
            pub fn digest(&self) -> [u8; 16] {
                let mut digest = $crate::dynamics::settings::table::Digest::new();
                for (field, value) in Self::FIELDS.iter().zip(self.values()).take(FORMER) {
                    digest.add(field.name, &value);
                }
                for (name, value) in self.later() {
                    digest.add(&name, &value);
                }
                digest.sum()
            }
        }
    };
}

pub(super) use settings;
