// SPDX-License-Identifier: MIT OR Apache-2.0
//! Quasi-Newton model of the function's curvature from the last steps. [byrd1995, §3]

use nalgebra::{DMatrix, DVector};
use std::collections::VecDeque;

/// The matrix of the quadratic model, from stored pairs.
pub(super) struct QuadraticModel {
    /// Pairs (step, gradient change), oldest first.
    pairs: VecDeque<(DVector<f64>, DVector<f64>)>,
    memory: usize,
    size: usize,
}

impl QuadraticModel {
    pub fn new(size: usize, memory: usize) -> Self {
        Self {
            pairs: VecDeque::new(),
            memory,
            size,
        }
    }

    /// Returns whether the function's curvature is unknown.
    pub fn is_blind(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Discards all pairs, which may be misleading.
    pub fn discard_pairs(&mut self) {
        self.pairs.clear();
    }

    /// Returns B.
    pub fn matrix(&self) -> DMatrix<f64> {
        let theta = self.pairs.back().map_or(1.0, |(s, y)| y.dot(y) / s.dot(y));
        let mut b = DMatrix::identity(self.size, self.size) * theta;
        for (s, y) in &self.pairs {
            let bs = &b * s;
            let (sbs, sy) = (s.dot(&bs), s.dot(y));
            b.ger(-1.0 / sbs, &bs, &bs, 1.0);
            b.ger(1.0 / sy, y, y, 1.0);
        }
        b
    }

    /// Stores a pair, unless it would make B indefinite.
    pub fn store_pair(&mut self, s: DVector<f64>, y: DVector<f64>) {
        let sy = s.dot(&y);
        let usable = sy > 1e-12 * s.norm() * y.norm() && sy >= f64::MIN_POSITIVE;
        if !usable {
            return;
        }
        self.pairs.push_back((s, y));
        if self.pairs.len() > self.memory {
            self.pairs.pop_front();
        }
    }
}
