// SPDX-License-Identifier: MIT OR Apache-2.0
//! Further energy terms, those that callers add, in a linearised step or balance.

use crate::Vec3;
use crate::solve::{Configuration, EnergyTerm};
use std::sync::Arc;

/// Further energy terms, the positions at which they are linearised, and the factor of their Hessians.
#[derive(Clone, Copy)]
pub(in crate::dynamics) struct LinearisedTerms<'a> {
    pub terms: &'a [Arc<dyn EnergyTerm>],
    /// Positions, `[nodes]`.
    pub positions: &'a [Vec3],
    pub factor: f64,
}

impl LinearisedTerms<'_> {
    pub const EMPTY: LinearisedTerms<'static> = LinearisedTerms {
        terms: &[],
        positions: &[],
        factor: 1.0,
    };

    pub fn configuration(&self) -> Configuration<'_> {
        Configuration {
            origin: None,
            displacements: self.positions,
            increment: None,
        }
    }
}
