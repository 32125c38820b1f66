// SPDX-License-Identifier: MIT OR Apache-2.0
//! The response to contacts: rows, their complementarity problem on factored flesh, and shortened corrections.

pub(super) mod cells;
pub(super) mod complementarity;
pub(super) mod compliance;
pub(super) mod rows;
pub(super) mod shorten;
