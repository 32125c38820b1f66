// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bounds of numbers at the inputs.
//!
//! Beyond these bounds squares and products would overflow, in f32 where surfaces are displayed and in f64 elsewhere. Results would
//! in any case be nothing but rounding.

use crate::{Mat3, Vec3};

/// Largest coordinate, metres: its cube is finite in f32.
pub(crate) const MAX_COORDINATE: f64 = 1e12;
/// Largest magnitude of any other number: its cube is finite in f64.
pub(crate) const MAX_NUMBER: f64 = 1e100;
/// Largest magnitude of a computed number in a file. Flesh that fills all positions, 1e36 m³, weighs less, and fourth powers are
/// finite in f64.
const MAX_STORED_NUMBER: f64 = 1e50;

/// Returns whether a number is finite and at most [`MAX_NUMBER`] in magnitude.
pub(crate) fn is_sound(x: f64) -> bool {
    x.abs() <= MAX_NUMBER
}

/// Returns whether a number from a file is finite and at most [`MAX_STORED_NUMBER`] in magnitude.
pub(crate) fn is_storable(x: f64) -> bool {
    x.abs() <= MAX_STORED_NUMBER
}

/// Returns whether all components pass [`is_storable`].
pub(crate) fn all_storable(v: &Vec3) -> bool {
    v.iter().all(|x| is_storable(*x))
}

/// Returns the largest magnitude of an entry, infinite if one is NaN; `amax` forgets an infinity after a NaN.
pub(crate) fn max_abs_entry(m: &Mat3) -> f64 {
    let larger = |most: f64, x: &f64| match x.is_nan() {
        true => f64::INFINITY,
        false => most.max(x.abs()),
    };
    m.iter().fold(0.0, larger)
}

/// Returns whether all components pass [`is_sound`].
pub(crate) fn all_sound(v: &Vec3) -> bool {
    v.iter().all(|x| is_sound(*x))
}

/// Returns whether a position is finite and within [`MAX_COORDINATE`].
pub(crate) fn is_position(x: &Vec3) -> bool {
    x.iter().all(|x| x.abs() <= MAX_COORDINATE)
}
