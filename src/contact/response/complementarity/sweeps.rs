// SPDX-License-Identifier: MIT OR Apache-2.0
//! Projected Gauss-Seidel for the forces of the rows: symmetric sweeps, accelerated along conjugate directions. [silcowitz2010]
//!
//! Sweeps alone take hundreds of rounds where friction holds strongly pressed flesh. They leave a slip in every step, and a bent elbow that is held
//! creeps. One round forwards and backwards is a symmetric preconditioner, and the change that it makes a preconditioned residual. Forces are
//! extrapolated along former changes, as in the method of conjugate gradients. A round with a larger change than the last restarts, for example when
//! rows begin or cease to push. The last round consists of sweeps alone, so that forces are within their bounds.
//!
//! Deviation: changes are measured by the compliance of the rows, `Σ (D_jj + ε) Δλ_j²`, and a round is two sweeps, so that it is symmetric.

use super::{ConstraintBlock, ConstraintRow, ProjectedGaussSeidel};
use crate::contact::response::compliance::ComplianceColumns;

/// Most rounds, and the change in a sweep, relative to the largest force, at which they end. At ten times the change an elbow that is held at 135°
/// keeps creeping by 2e-5 of the size a second. At a tenth, with three times the rounds, depths are the same and an elbow at 150° takes three times
/// as long.
const MAX_ROUNDS: usize = 30;
const FORCE_TOLERANCE: f64 = 1e-5;

/// The search direction from round to round. Vectors hold the forces, then `moved`.
#[derive(Default)]
pub(super) struct SearchDirection {
    /// Values before the present round.
    before: Vec<f64>,
    /// The direction, and the measure of the last round's change.
    direction: Vec<f64>,
    size: f64,
}

impl SearchDirection {
    fn clear(&mut self) {
        self.direction.clear();
        self.size = 0.0;
    }

    fn begin(&mut self, rows: &ProjectedGaussSeidel) {
        self.before.clear();
        let forces = rows.rows.iter().map(|row| row.force);
        self.before.extend(forces.chain(rows.moved.iter().copied()));
    }

    /// Extrapolates beyond the change of the round.
    fn extrapolate(&mut self, rows: &mut ProjectedGaussSeidel) {
        self.direction.resize(self.before.len(), 0.0);
        let ProjectedGaussSeidel { rows, moved, .. } = rows;
        let change = |(row, before): (&ConstraintRow, &f64)| {
            (row.diagonal + row.give) * (row.force - before).powi(2)
        };
        let size: f64 = rows.iter().zip(&self.before).map(change).sum();
        let part = if size < self.size {
            size / self.size
        } else {
            0.0
        };
        self.size = size;
        let now = rows.iter_mut().map(|row| &mut row.force).chain(moved);
        for ((now, before), direction) in now.zip(&self.before).zip(&mut self.direction) {
            let further = *direction * part;
            *direction = further + (*now - before);
            *now += further;
        }
    }
}

impl ProjectedGaussSeidel {
    /// Iterates the forces to convergence, from the present ones. A round visits the constraints forwards and backwards, so that the result depends
    /// less on their order.
    pub(super) fn settle(&mut self, compliances: &[ComplianceColumns]) {
        let mut way = std::mem::take(&mut self.direction);
        way.clear();
        for round in 1..=MAX_ROUNDS {
            way.begin(self);
            if self.sweep(false, compliances) || self.sweep(true, compliances) {
                break;
            }
            if round < MAX_ROUNDS {
                way.extrapolate(self);
            }
        }
        self.direction = way;
    }

    /// Sweeps once over all constraints, backwards if `back`. Returns whether the forces have converged.
    fn sweep(&mut self, back: bool, compliances: &[ComplianceColumns]) -> bool {
        let (mut largest, mut change) = (0.0_f64, 0.0_f64);
        for i in 0..self.blocks.len() {
            let i = if back { self.blocks.len() - 1 - i } else { i };
            let ConstraintBlock {
                first: j,
                friction,
                limit,
            } = self.blocks[i];
            let row = &self.rows[j];
            // A row that moves nothing can do nothing.
            if !(row.diagonal > 0.0 && row.diagonal.is_finite()) {
                continue;
            }
            let force = self.zeroing_force(j).clamp(0.0, limit);
            change = change.max(self.set_force(j, force, compliances));
            largest = largest.max(force);
            let Some(coefficient) = friction else {
                continue;
            };
            if force == 0.0 && self.rows[j + 1].force == 0.0 && self.rows[j + 2].force == 0.0 {
                continue;
            }
            let bound = coefficient * force;
            let mut across = [0.0; 2];
            if self.rows[j + 1].diagonal > 0.0 {
                across = [1, 2].map(|k| self.zeroing_force(j + k));
            }
            let size = across[0].hypot(across[1]);
            if size > bound {
                across = across.map(|t| t * (bound / size));
            }
            for (k, force) in across.into_iter().enumerate() {
                change = change.max(self.set_force(j + 1 + k, force, compliances));
            }
        }
        change <= FORCE_TOLERANCE * largest
    }
}
