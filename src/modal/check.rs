// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of the input of a simulation.

use super::ModalError;
use super::oscillator::MAX_AMPLITUDE;
use crate::Vec3;

pub(super) fn check_finite(what: &'static str, v: Vec3) -> Result<(), ModalError> {
    match v.iter().find(|x| !x.is_finite()) {
        Some(&value) => Err(ModalError::Setting {
            what,
            range: "finite",
            value,
        }),
        None => Ok(()),
    }
}

pub(crate) fn check_modes(
    what: &'static str,
    given: &[f64],
    expected: usize,
) -> Result<(), ModalError> {
    let good = |x: &f64| !x.is_nan() && x.abs() < MAX_AMPLITUDE;
    check_each((what, "mode"), given, expected, good)
}

pub(super) fn check_nodes(
    what: &'static str,
    given: &[Vec3],
    expected: usize,
) -> Result<(), ModalError> {
    let good = |f: &Vec3| f.iter().all(|x| x.is_finite());
    check_each((what, "node"), given, expected, good)
}

fn check_each<T>(
    (what, per): (&'static str, &'static str),
    given: &[T],
    expected: usize,
    good: impl Fn(&T) -> bool,
) -> Result<(), ModalError> {
    if given.len() != expected {
        let given = given.len();
        return Err(ModalError::Length {
            what,
            per,
            expected,
            given,
        });
    }
    match given.iter().position(|x| !good(x)) {
        Some(index) => Err(ModalError::NotFinite { what, per, index }),
        None => Ok(()),
    }
}
