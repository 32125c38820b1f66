// SPDX-License-Identifier: MIT OR Apache-2.0
//! Methods of motion, each a stepper, and the table of their steppers.

pub(super) mod cells;
pub(super) mod flesh;
pub(super) mod hyperelastic;
pub(super) mod modal;
pub mod nonlinear;
pub(super) mod stepper;
pub(super) mod system;
pub(super) mod vertex;
pub(super) mod warped;
