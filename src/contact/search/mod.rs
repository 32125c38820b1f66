// SPDX-License-Identifier: MIT OR Apache-2.0
//! The search for contacts: boxes over a frame, points in cells at each step, bones and colliders.

pub(super) mod boxes;
pub(super) mod broad;
pub(super) mod buried;
pub(super) mod collider_candidates;
pub(super) mod narrow;
pub(super) mod path;
pub(super) mod warped_cells;
