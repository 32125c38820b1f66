// SPDX-License-Identifier: MIT OR Apache-2.0
//! Least squares over few weights that are not negative and add up to 1.

/// Largest number of weights.
pub(super) const MAX_WEIGHTS: usize = 9;

/// Weights below this are left out: a twentieth of what 8 bits hold.
pub(super) const MIN_WEIGHT: f64 = 2e-4;

/// Part of the diagonal that is added to it, where columns are nearly equal.
const RIDGE: f64 = 1e-9;

/// Gram matrix and right side of few columns: the square distance is `wᵀ G w − 2 bᵀ w` and a constant.
#[derive(Debug, Clone)]
pub(super) struct SmallSystem {
    pub count: usize,
    pub gram: [[f64; MAX_WEIGHTS]; MAX_WEIGHTS],
    pub right: [f64; MAX_WEIGHTS],
}

impl SmallSystem {
    /// Returns a system of zeros.
    pub(super) fn zeros(count: usize) -> Self {
        Self {
            count,
            gram: [[0.0; MAX_WEIGHTS]; MAX_WEIGHTS],
            right: [0.0; MAX_WEIGHTS],
        }
    }

    /// Gathers columns from functions of their indices.
    pub(super) fn gather(
        columns: &[usize],
        gram: impl Fn(usize, usize) -> f64,
        right: impl Fn(usize) -> f64,
    ) -> Self {
        let mut system = Self::zeros(columns.len());
        for (i, &a) in columns.iter().enumerate() {
            system.right[i] = right(a);
            for (j, &b) in columns[..=i].iter().enumerate() {
                let x = gram(a, b);
                system.gram[i][j] = x;
                system.gram[j][i] = x;
            }
        }
        system
    }

    /// Returns `wᵀ G w − 2 bᵀ w`.
    pub(super) fn value(&self, w: &[f64; MAX_WEIGHTS]) -> f64 {
        let mut sum = 0.0;
        for i in 0..self.count {
            let row: f64 = (0..self.count).map(|j| self.gram[i][j] * w[j]).sum();
            sum += w[i] * (row - 2.0 * self.right[i]);
        }
        sum
    }

    /// Returns the weights of least distance, where weights that would be negative are left out one by one, the most negative first.
    pub(super) fn solve(&self) -> [f64; MAX_WEIGHTS] {
        let mut passive: [usize; MAX_WEIGHTS] = std::array::from_fn(|i| i);
        let mut count = self.count;
        loop {
            let w = self.solve_sum(&passive[..count]);
            let least = (0..count).min_by(|&i, &j| w[i].total_cmp(&w[j]));
            match least {
                Some(at) if w[at] < MIN_WEIGHT && count > 1 => {
                    passive.copy_within(at + 1..count, at);
                    count -= 1;
                }
                _ => {
                    let mut all = [0.0; MAX_WEIGHTS];
                    (0..count).for_each(|i| all[passive[i]] = w[i]);
                    return all;
                }
            }
        }
    }

    /// Solves for weights of given columns that add up to 1, of any sign.
    fn solve_sum(&self, columns: &[usize]) -> [f64; MAX_WEIGHTS] {
        let (n, r) = (columns.len() - 1, columns[0]);
        let g = &self.gram;
        let mut a = [[0.0; MAX_WEIGHTS]; MAX_WEIGHTS];
        let mut x = [0.0; MAX_WEIGHTS];
        for i in 0..n {
            let p = columns[i + 1];
            x[i] = self.right[p] - self.right[r] - g[p][r] + g[r][r];
            for j in 0..=i {
                let q = columns[j + 1];
                a[i][j] = g[p][q] - g[p][r] - g[r][q] + g[r][r];
            }
        }
        solve_cholesky(&mut a, &mut x, n, RIDGE, g[r][r]);
        let rest = 1.0 - x[..n].iter().sum::<f64>();
        let mut w = [0.0; MAX_WEIGHTS];
        w[0] = rest;
        w[1..=n].copy_from_slice(&x[..n]);
        w
    }
}

/// Returns by how much the square distance falls on the way towards a column, by its slope and the square length of the way.
pub(super) fn gain_towards(slope: f64, length: f64) -> f64 {
    let step = (slope.max(0.0) / length.max(f64::MIN_POSITIVE)).min(1.0);
    step * (2.0 * slope - step * length)
}

/// Solves `A x = b` in place for the lower triangle of a symmetric positive matrix, with `ridge` of each diagonal entry added to it
/// and pivots of at least 1e-13 of `scale`.
fn solve_cholesky(
    a: &mut [[f64; MAX_WEIGHTS]; MAX_WEIGHTS],
    b: &mut [f64; MAX_WEIGHTS],
    n: usize,
    ridge: f64,
    scale: f64,
) {
    let floor = 1e-13 * scale + f64::MIN_POSITIVE;
    for i in 0..n {
        for j in 0..i {
            let sum: f64 = (0..j).map(|k| a[i][k] * a[j][k]).sum();
            a[i][j] = (a[i][j] - sum) / a[j][j];
        }
        let square: f64 = (0..i).map(|k| a[i][k] * a[i][k]).sum();
        a[i][i] = (a[i][i] * (1.0 + ridge) - square).max(floor).sqrt();
        let sum: f64 = (0..i).map(|k| a[i][k] * b[k]).sum();
        b[i] = (b[i] - sum) / a[i][i];
    }
    for i in (0..n).rev() {
        let sum: f64 = (i + 1..n).map(|k| a[k][i] * b[k]).sum();
        b[i] = (b[i] - sum) / a[i][i];
    }
}
