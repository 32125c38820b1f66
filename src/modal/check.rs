// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of what a simulation is given.

use super::ModalError;
use super::oscillator::LARGEST;
use crate::Vec3;

pub(super) fn finite(what: &'static str, v: Vec3) -> Result<(), ModalError> {
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
    if given.len() != expected {
        return Err(ModalError::Length {
            what,
            per: "mode",
            expected,
            given: given.len(),
        });
    }
    match given.iter().position(|x| x.is_nan() || x.abs() >= LARGEST) {
        Some(index) => Err(ModalError::NotFinite {
            what,
            per: "mode",
            index,
        }),
        None => Ok(()),
    }
}

pub(super) fn check_nodes(
    what: &'static str,
    given: &[Vec3],
    expected: usize,
) -> Result<(), ModalError> {
    if given.len() != expected {
        return Err(ModalError::Length {
            what,
            per: "node",
            expected,
            given: given.len(),
        });
    }
    match given.iter().position(|f| !f.iter().all(|x| x.is_finite())) {
        Some(index) => Err(ModalError::NotFinite {
            what,
            per: "node",
            index,
        }),
        None => Ok(()),
    }
}
