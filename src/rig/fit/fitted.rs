// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results of a fit, and the sensitivities from which it computes them.

use crate::Vec3;

/// Result of a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct RigFitResult {
    /// η: all of the rig's parameters in order.
    pub parameters: Vec<f64>,
    /// C at η, m².
    pub cost: f64,
    /// Number of integrations of the forces and their derivatives.
    pub evaluations: usize,
    /// Share of the distance from start to targets that was covered, 0 to 1; distances are roots of sums of squares.
    pub reached: f64,
    /// `true`: more strength would fold flesh.
    pub folding: bool,
}

impl RigFitResult {
    pub(super) fn new(parameters: Vec<f64>, cost: f64, evaluations: usize) -> Self {
        Self {
            parameters,
            cost,
            evaluations,
            reached: 0.0,
            folding: false,
        }
    }
}

/// Displacement of a point along x, y and z per N on each lattice vertex, rest axes, `[3][nodes]`, m/N.
pub(super) type Sensitivities = [Vec<Vec3>; 3];
