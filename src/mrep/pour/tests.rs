// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limbs in whole characters.

use super::super::chain::ChainSettings;
use super::super::fit::FitSettings;
use super::*;
use crate::progress::Silent;
use crate::surface::shapes::Shape;

#[test]
fn nothing() {
    let _ = (ChainSettings::default(), FitSettings::default(), Silent);
    let _: Option<Shape> = None;
}
