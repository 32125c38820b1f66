// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bodies of which single cells are stiffer than at ease, as around a tense muscle.
//!
//! The elastic stiffness of a cell is multiplied by a factor, both moduli alike, so that Poisson's ratio stays. Mass, gravity and the twist
//! energy, which stands for the hold of bones on the flesh, stay as well. With one factor for all cells the elastic energy is that of a body of
//! so many times its Young's modulus.

use super::compliance::RestFactors;
use super::nodal::CachedNodalForm;
use super::{Body, BodyError};
use std::sync::Arc;

/// Range of the factors on the stiffness of cells. Below, flesh that a lattice cuts thin folds under its own weight. Above, a cell is as good
/// as rigid, and the systems of steps lose digits.
pub const STIFFNESS_FACTORS: (f64, f64) = (0.1, 100.0);

impl Body {
    /// Returns the same body with the elastic stiffness of each cell of the lattice multiplied by a factor, `factors[cells]`.
    ///
    /// # Errors
    /// Another number of factors; one outside [`STIFFNESS_FACTORS`].
    pub fn with_cell_stiffness(&self, factors: &[f64]) -> Result<Self, BodyError> {
        check_factors(self, factors)?;
        let mut tense = self.with_scaled_stiffness(1.0)?;
        tense.set_cell_stiffness(self, factors);
        if let Some(recipe) = tense.recipe.as_mut() {
            Arc::make_mut(recipe).cell_stiffness.push(factors.to_vec());
        }
        Ok(tense)
    }

    /// Sets the stiffness to that of the body `at_ease`, of which this is a copy, times factors that have been checked.
    pub(crate) fn set_cell_stiffness(&mut self, at_ease: &Self, factors: &[f64]) {
        let Self {
            basis,
            blocks,
            elements,
            ..
        } = self;
        for (cell, &factor) in (0..).zip(factors) {
            for element in basis.elements(cell) {
                let element = element as usize;
                blocks.set_scaled_stiffness(&at_ease.blocks, element, factor);
                elements.set_scaled_moduli(element, &at_ease.elements, element, factor);
            }
        }
        self.compliance = RestFactors::default();
        self.nodal = CachedNodalForm::default();
    }
}

/// Refuses factors of another number, or out of range.
pub(crate) fn check_factors(body: &Body, factors: &[f64]) -> Result<(), BodyError> {
    let cells = body.lattice().cells().len();
    if factors.len() != cells {
        return Err(BodyError::Length {
            what: "stiffness",
            per: "cell of the lattice",
            expected: cells,
            given: factors.len(),
        });
    }
    let (least, most) = STIFFNESS_FACTORS;
    match factors.iter().position(|f| !(least..=most).contains(f)) {
        Some(index) => Err(BodyError::Value {
            what: "stiffness",
            per: "cell",
            index,
            value: factors[index],
            range: "between 0.1 and 100 times that at ease",
        }),
        None => Ok(()),
    }
}
