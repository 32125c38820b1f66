// SPDX-License-Identifier: MIT OR Apache-2.0
//! Initial figures: along bones, and in bodies that have none.

pub(super) mod along;
pub(super) mod around;
pub(super) mod bend;
pub(super) mod bones;
pub(super) mod chain;
pub(super) mod ellipsoid;
pub(super) mod extent;
pub(super) mod limbs;
pub(super) mod rings;
pub(super) mod runs;
pub(super) mod skin;
pub(super) mod template;
pub(super) mod tube;
