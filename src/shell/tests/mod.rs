// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of shells.

mod derivatives;
mod invariance;
mod materials;
mod nasty;
mod plates;
mod relaxing;
mod shapes;
