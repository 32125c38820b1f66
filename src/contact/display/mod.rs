// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contact on the displayed surface: folds of the skin, and the parting of the surfaces of modal flesh.

pub(super) mod folds;
pub(super) mod overlaps;
pub(super) mod parting;
pub(super) mod parting_field;
pub(super) mod ways_out;
