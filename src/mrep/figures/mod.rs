// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures: atoms, the volume and the boundary that they imply, coordinates in them, and models of several.

pub(super) mod atom;
pub(super) mod blend;
pub(super) mod boundary;
pub(super) mod coordinates;
pub(super) mod correspondence;
mod fan;
pub(super) mod figure;
pub(super) mod legality;
pub(super) mod model;
pub(super) mod pieces;
pub(super) mod sites;
