// SPDX-License-Identifier: MIT OR Apache-2.0
//! What counts as a number where something comes in.
//!
//! Beyond these bounds squares and products of what is computed would overflow, in f32 where surfaces are shown and in f64
//! elsewhere, and no more than rounding would be left of it in any case.

use crate::{Mat3, Vec3};

/// Farthest position, metres: its cube is finite in f32.
pub(crate) const FARTHEST: f64 = 1e12;
/// Largest number of any other kind: its cube is finite in f64.
pub(crate) const LARGEST: f64 = 1e100;
/// Largest number that files may hold of what was computed: what fills all places, 1e36 m³, weighs less, and squares of squares are
/// finite in f64.
const LARGEST_KEPT: f64 = 1e50;

/// Finite, and not too large to be computed with.
pub(crate) fn is_sound(x: f64) -> bool {
    x.abs() <= LARGEST
}

/// The same of a number that a file holds.
pub(crate) fn is_kept(x: f64) -> bool {
    x.abs() <= LARGEST_KEPT
}

/// A vector of such numbers.
pub(crate) fn all_kept(v: &Vec3) -> bool {
    v.iter().all(|x| is_kept(*x))
}

/// The largest size of an entry, infinite where one is no number; `amax` forgets an infinity after a NaN.
pub(crate) fn largest(m: &Mat3) -> f64 {
    let larger = |most: f64, x: &f64| match x.is_nan() {
        true => f64::INFINITY,
        false => most.max(x.abs()),
    };
    m.iter().fold(0.0, larger)
}

/// A vector of such numbers.
pub(crate) fn all_sound(v: &Vec3) -> bool {
    v.iter().all(|x| is_sound(*x))
}

/// A position that can be computed with.
pub(crate) fn is_place(x: &Vec3) -> bool {
    x.iter().all(|x| x.abs() <= FARTHEST)
}
