// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the whole crate by its public interface. One program holds them, since each program of its own is linked anew with all of
//! the crate.

#[path = "../common/bar.rs"]
mod bar;
#[path = "../common/box_of_tets.rs"]
mod box_of_tets;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/warp.rs"]
mod warp;

mod eigen;
mod lattice;
mod lattice_bones;
mod lattice_by_hand;
mod lattice_roundtrip;
mod methods_agree_in_bends;
mod scale_invariance;
mod scene;
mod surface;
mod tets;
mod volume_of_bad_surfaces;
mod warp_engines;
mod warp_refusals;
