// SPDX-License-Identifier: MIT OR Apache-2.0
//! The prior on atoms: from the template, or from figures fitted before.

mod neighbours;
mod trained;

use super::unknowns::AtomUnknowns;
use crate::mrep::error::MRepError;
use crate::mrep::figures::figure::Figure;
use crate::mrep::statistics::Statistics;
use faer::Mat;

/// Source of the prior.
#[derive(Clone, Copy)]
pub(super) enum Prior<'a> {
    /// Each atom relates to its neighbours as in this figure.
    Template(&'a Figure),
    /// The figure belongs to this family.
    Family(&'a Statistics),
}

impl<'a> Prior<'a> {
    /// Builds the prior of a family if given, else of the template.
    pub fn new(template: &'a Figure, family: Option<&'a Statistics>) -> Result<Self, MRepError> {
        let Some(family) = family else {
            return Ok(Self::Template(template));
        };
        family.check(template)?;
        Ok(Self::Family(family))
    }

    /// Returns minus the logarithm of the prior.
    pub fn energy(self, figure: &Figure, unknowns: &AtomUnknowns) -> f64 {
        match self {
            Self::Template(template) => neighbours::residuals(figure, template, unknowns)
                .iter()
                .map(|r| 0.5 * r.value * r.value)
                .sum(),
            Self::Family(family) => trained::energy(figure, family),
        }
    }

    /// Adds `factor` times the derivatives, with Gauss-Newton second ones.
    pub fn add_derivatives(
        self,
        figure: &Figure,
        unknowns: &AtomUnknowns,
        factor: f64,
        gradient: &mut [f64],
        hessian: &mut Mat<f64>,
    ) {
        match self {
            Self::Template(template) => {
                for residual in neighbours::residuals(figure, template, unknowns) {
                    for &(i, a) in &residual.slopes {
                        gradient[i] += factor * residual.value * a;
                        for &(j, b) in &residual.slopes {
                            hessian[(i, j)] += factor * a * b;
                        }
                    }
                }
            }
            Self::Family(family) => {
                trained::add_derivatives(figure, unknowns, family, factor, gradient, hessian)
            }
        }
    }
}
