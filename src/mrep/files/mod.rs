// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of models.

pub(super) mod file;
pub(super) mod srep;
