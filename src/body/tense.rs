// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bodies of which single cells are stiffer than at ease, as around a tense muscle.
//!
//! The elastic stiffness of a cell is multiplied by a factor, both moduli alike, so that Poisson's ratio stays. Mass and gravity stay as well.
//! The twist energy, which stands for the hold of bones on all flesh, is multiplied by the factor that all cells share: of the range of the factors
//! the one nearest to 1. Where any cell is at ease it stays, so tension in a part leaves the hold elsewhere. With one factor for all cells the body
//! is that of so many times its Young's modulus. Stiffnesses of the twist's regions stay those at ease.

use super::compliance::RestFactors;
use super::nodal::CachedNodalForm;
use super::{Body, BodyError, TwistLoad};
use crate::solve::ScalarMatrix;
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
        self.set_twist_stiffness(at_ease, common_factor(factors));
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

    /// Sets the twist energy to that of `at_ease` times a factor.
    fn set_twist_stiffness(&mut self, at_ease: &Self, factor: f64) {
        let Self {
            twist,
            twist_loads,
            own_twist,
            ..
        } = self;
        set_scaled(twist, &at_ease.twist, factor);
        let scaled = |load: &TwistLoad| load.scaled(factor);
        twist_loads.clear();
        twist_loads.extend(at_ease.twist_loads.iter().map(scaled));
        if let (Some(own), Some(other)) = (own_twist, &at_ease.own_twist) {
            set_scaled(&mut own.matrix, &other.matrix, factor);
            own.loads.clear();
            own.loads.extend(other.loads.iter().map(scaled));
        }
    }
}

/// Sets the values of a matrix to those of one of the same pattern times a factor.
fn set_scaled(matrix: &mut ScalarMatrix, other: &ScalarMatrix, factor: f64) {
    for (value, other) in matrix.data_mut().iter_mut().zip(other.data()) {
        *value = other * factor;
    }
}

/// Returns the factor nearest to 1 in the range of factors; 1 without any.
fn common_factor(factors: &[f64]) -> f64 {
    let least = factors.iter().copied().reduce(f64::min).unwrap_or(1.0);
    let most = factors.iter().copied().reduce(f64::max).unwrap_or(1.0);
    1.0_f64.min(most).max(least)
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
