// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of models: TOML of our own, and the s-reps of SlicerSALT.

pub(super) mod file;
pub(super) mod srep;
