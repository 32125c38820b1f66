// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties of the room as a whole.
