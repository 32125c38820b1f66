// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sweeps by which the forces of rows settle: projected Gauss-Seidel, there and back, along conjugate directions. [silcowitz2010]
//!
//! Sweeps alone take hundreds of rounds where friction holds flesh that is pressed hard: what they leave is a slip in every step, and a bent
//! elbow that is held creeps. One round there and back is a symmetric preconditioner, and what it changes a preconditioned residual:
//! forces go on along what former rounds changed, as in the method of conjugate gradients. A round that changes more than the one
//! before begins anew, as where rows come to push or let go. The last round is one of sweeps alone, so that forces are within their bounds.
//!
//! Deviation: changes are measured by what rows give, `Σ (D_jj + ε) Δλ_j²`, and a round is two sweeps, so that it is symmetric.

use super::{Block, Row, Rows};

/// Rounds at most, and the change (of the largest force) in a sweep at which they end. With ten times the change an elbow that is held at 135°
/// goes on creeping by 2e-5 of the size a second; with a tenth, and three times the rounds, depths are the same, and one at 150° takes three times as long.
const ROUNDS: usize = 30;
const SETTLED: f64 = 1e-5;

/// Where forces go from round to round: each with what the forces move.
#[derive(Default)]
pub(super) struct Way {
    /// Before the present round.
    before: Vec<f64>,
    /// The direction so far, and the size of the last round's change.
    direction: Vec<f64>,
    size: f64,
}

impl Way {
    fn clear(&mut self) {
        self.direction.clear();
        self.size = 0.0;
    }

    fn begin(&mut self, rows: &Rows) {
        self.before.clear();
        let forces = rows.rows.iter().map(|row| row.force);
        self.before.extend(forces.chain(rows.moved.iter().copied()));
    }

    /// Goes on beyond what the round has changed.
    fn go_on(&mut self, rows: &mut Rows) {
        self.direction.resize(self.before.len(), 0.0);
        let Rows { rows, moved, .. } = rows;
        let change =
            |(row, before): (&Row, &f64)| (row.own + row.give) * (row.force - before).powi(2);
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

impl Rows {
    /// Settles the forces from those at hand. A round goes in the order of the constraints and back: what comes first in one sweep
    /// comes last in the next, so that where they end tells less of that order.
    pub(super) fn settle(&mut self) {
        let mut way = std::mem::take(&mut self.way);
        way.clear();
        for round in 1..=ROUNDS {
            way.begin(self);
            if self.sweep(false) || self.sweep(true) {
                break;
            }
            if round < ROUNDS {
                way.go_on(self);
            }
        }
        self.way = way;
    }

    /// Sweeps once over all constraints; true: nothing changes any more, to speak of.
    fn sweep(&mut self, back: bool) -> bool {
        let (mut largest, mut change) = (0.0_f64, 0.0_f64);
        for i in 0..self.blocks.len() {
            let i = if back { self.blocks.len() - 1 - i } else { i };
            let Block {
                first: j,
                friction,
                limit,
            } = self.blocks[i];
            let row = &self.rows[j];
            // A row that moves nothing can do nothing.
            if !(row.own > 0.0 && row.own.is_finite()) {
                continue;
            }
            let force = self.wanted(j).clamp(0.0, limit);
            change = change.max(self.set(j, force));
            largest = largest.max(force);
            let Some(coefficient) = friction else {
                continue;
            };
            if force == 0.0 && self.rows[j + 1].force == 0.0 && self.rows[j + 2].force == 0.0 {
                continue;
            }
            let bound = coefficient * force;
            let mut across = [0.0; 2];
            if self.rows[j + 1].own > 0.0 {
                across = [1, 2].map(|k| self.wanted(j + k));
            }
            let size = across[0].hypot(across[1]);
            if size > bound {
                across = across.map(|t| t * (bound / size));
            }
            for (k, force) in across.into_iter().enumerate() {
                change = change.max(self.set(j + 1 + k, force));
            }
        }
        change <= SETTLED * largest
    }
}
