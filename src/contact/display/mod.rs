// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is shown of contact: folds of the skin, and surfaces of modal flesh that are parted.

pub(super) mod folds;
pub(super) mod overlaps;
pub(super) mod parting;
pub(super) mod spread;
pub(super) mod ways_out;
