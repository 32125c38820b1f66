// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Schur complement of pins on a factored step.
//!
//! With r active pins it holds the columns `A⁻¹ Cᵀ`, `[3 free, 3 r]`, and the Cholesky factor of `C A⁻¹ Cᵀ + D`. The cost of a step is
//! its factor, 3 r substitutions and r³ operations. Buffers grow to the largest number of pins and stay.

use crate::contact::FlexibleBody;
use crate::{Mat3, Vec3};
use std::ops::Range;

/// Pivot, as a share of its diagonal entry, below which a direction counts as held by the others: rounding.
const MIN_PIVOT_SHARE: f64 = 1e-14;

/// Active pins of a step and their Schur complement.
#[derive(Default)]
pub(super) struct PinSolver {
    /// Entries of C, all pins in turn: free node and value.
    entries: Vec<(u32, f64)>,
    spans: Vec<Range<usize>>,
    /// D by pins, m/N.
    gives: Vec<Mat3>,
    /// `A⁻¹ Cᵀ`: three columns a pin, one vector per free node.
    columns: Vec<Vec3>,
    free: usize,
    /// Lower Cholesky factor, by rows; a zero pivot marks a direction that does not act.
    factor: Vec<f64>,
    /// Right-hand sides and multipliers, N.
    numbers: Vec<f64>,
}

impl PinSolver {
    /// Sets the active pins: the free functions with their values at each, and its D.
    pub fn set_active<'a>(&mut self, active: impl Iterator<Item = (&'a [(u32, f64)], Mat3)>) {
        self.entries.clear();
        self.spans.clear();
        self.gives.clear();
        for (row, give) in active {
            let start = self.entries.len();
            self.entries.extend_from_slice(row);
            self.spans.push(start..self.entries.len());
            self.gives.push(give);
        }
    }

    /// Returns the number of active pins.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns an active pin's row on vectors of the free nodes.
    fn row_times(&self, pin: usize, x: &[Vec3]) -> Vec3 {
        let entries = self.entries[self.spans[pin].clone()].iter();
        entries.map(|&(node, value)| x[node as usize] * value).sum()
    }

    /// Computes the columns and the factor for flesh of `free` free nodes.
    pub fn factor(&mut self, flesh: &mut dyn FlexibleBody, free: usize) {
        let count = 3 * self.len();
        self.free = free;
        self.columns.clear();
        self.columns.resize(count * free, Vec3::zeros());
        for pin in 0..self.len() {
            for k in 0..3 {
                let column = &mut self.columns[(3 * pin + k) * free..][..free];
                for &(node, value) in &self.entries[self.spans[pin].clone()] {
                    column[node as usize][k] += value;
                }
                flesh.displace(column);
            }
        }
        self.factor.clear();
        self.factor.resize(count * count, 0.0);
        for j in 0..count {
            for pin in j / 3..self.len() {
                let moved = self.row_times(pin, &self.columns[j * free..][..free]);
                for k in 0..3 {
                    self.factor[(3 * pin + k) * count + j] = moved[k];
                }
            }
            for k in 0..3 {
                self.factor[(j - j % 3 + k) * count + j] += self.gives[j / 3][(k, j % 3)];
            }
        }
        self.cholesky(count);
    }

    /// Factors the lower triangle in place.
    fn cholesky(&mut self, n: usize) {
        let l = &mut self.factor;
        for j in 0..n {
            let before: f64 = l[j * n..j * n + j].iter().map(|x| x * x).sum();
            let (own, pivot) = (l[j * n + j], l[j * n + j] - before);
            let pivot = match pivot > MIN_PIVOT_SHARE * own {
                true => pivot.sqrt(),
                false => 0.0,
            };
            l[j * n + j] = pivot;
            let (upper, lower) = l.split_at_mut((j + 1) * n);
            let row = &upper[j * n..j * n + j];
            for other in lower.chunks_exact_mut(n) {
                let dot: f64 = row.iter().zip(&other[..j]).map(|(a, b)| a * b).sum();
                other[j] = match pivot > 0.0 {
                    true => (other[j] - dot) / pivot,
                    false => 0.0,
                };
            }
        }
    }

    /// Solves with the factor in place.
    fn substitute(factor: &[f64], x: &mut [f64]) {
        let n = x.len();
        let apply = |x: &mut [f64], i: usize, sum: f64| {
            let pivot = factor[i * n + i];
            x[i] = if pivot > 0.0 {
                (x[i] - sum) / pivot
            } else {
                0.0
            };
        };
        for i in 0..n {
            let row = &factor[i * n..i * n + i];
            let sum = row.iter().zip(&x[..i]).map(|(l, x)| l * x).sum();
            apply(x, i, sum);
        }
        for i in (0..n).rev() {
            let sum = (i + 1..n).map(|k| factor[k * n + i] * x[k]).sum();
            apply(x, i, sum);
        }
    }

    /// Computes the multipliers, N, three a pin, that close gaps given as `gap(pin)`, m.
    pub fn multipliers(&mut self, gap: impl Fn(usize) -> Vec3) -> &[f64] {
        self.numbers.clear();
        for pin in 0..self.spans.len() {
            self.numbers.extend(gap(pin).iter());
        }
        Self::substitute(&self.factor, &mut self.numbers);
        &self.numbers
    }

    /// Adds the displacements `A⁻¹ Cᵀ λ` of the last multipliers to `moved`, one vector per free node.
    pub fn add_displacements(&self, moved: &mut [Vec3]) {
        if self.free == 0 {
            return;
        }
        for (column, &force) in self.columns.chunks_exact(self.free).zip(&self.numbers) {
            for (moved, x) in moved.iter_mut().zip(column) {
                *moved += x * force;
            }
        }
    }

    /// Adds the forces `Cᵀ λ` to `forces[nodes]`, N; `vertices` are the lattice's vertices of the free nodes.
    pub fn add_forces(&self, multipliers: &[f64], vertices: &[u32], forces: &mut [Vec3]) {
        for (span, force) in self.spans.iter().zip(multipliers.chunks_exact(3)) {
            let force = Vec3::new(force[0], force[1], force[2]);
            for &(node, value) in &self.entries[span.clone()] {
                forces[vertices[node as usize] as usize] += force * value;
            }
        }
    }

    /// Takes from displacements by forces what pins take back: `x − A⁻¹ Cᵀ (C A⁻¹ Cᵀ + D)⁻¹ C x`.
    pub fn hold(&mut self, x: &mut [Vec3]) {
        self.numbers.clear();
        for pin in 0..self.spans.len() {
            let moved = self.row_times(pin, x);
            self.numbers.extend((-moved).iter());
        }
        Self::substitute(&self.factor, &mut self.numbers);
        self.add_displacements(x);
    }
}
