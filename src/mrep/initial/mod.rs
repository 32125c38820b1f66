// SPDX-License-Identifier: MIT OR Apache-2.0
//! Initial figures: along bones, and in bodies that have none.

pub(super) mod bend;
pub(super) mod bone_runs;
pub(super) mod bones;
pub(super) mod chain;
pub(super) mod ellipsoid;
pub(super) mod extent;
pub(super) mod limbs;
pub(super) mod line_tube;
pub(super) mod rings;
pub(super) mod skin;
pub(super) mod slab;
pub(super) mod template;
pub(super) mod tube;
