// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control lattices from figures, alone and poured into a whole character.

pub(super) mod cells;
pub(super) mod cut;
pub(super) mod flesh;
pub(super) mod pour;
