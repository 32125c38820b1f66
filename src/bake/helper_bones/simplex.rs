// SPDX-License-Identifier: MIT OR Apache-2.0
//! Least squares over few weights that are not negative, in groups whose weights add up to given totals.

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
    /// Group of each column. Columns are all in one group, of total 1, unless this is changed.
    pub groups: [usize; MAX_WEIGHTS],
    /// Sum of the weights of each group.
    pub totals: [f64; MAX_WEIGHTS],
    pub gram: [[f64; MAX_WEIGHTS]; MAX_WEIGHTS],
    pub right: [f64; MAX_WEIGHTS],
}

impl SmallSystem {
    /// Returns a system of zeros.
    pub(super) fn zeros(count: usize) -> Self {
        Self {
            count,
            groups: [0; MAX_WEIGHTS],
            totals: [1.0; MAX_WEIGHTS],
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
    /// A group keeps at least one.
    pub(super) fn solve(&self) -> [f64; MAX_WEIGHTS] {
        let mut passive: [usize; MAX_WEIGHTS] = std::array::from_fn(|i| i);
        let mut count = self.count;
        loop {
            let w = self.solve_sums(&passive[..count]);
            let alone = |i: usize| {
                let group = self.groups[passive[i]];
                !(0..count).any(|j| j != i && self.groups[passive[j]] == group)
            };
            let least = (0..count)
                .filter(|&i| w[i] < MIN_WEIGHT && !alone(i))
                .min_by(|&i, &j| w[i].total_cmp(&w[j]));
            let Some(at) = least else {
                let mut all = [0.0; MAX_WEIGHTS];
                (0..count).for_each(|i| all[passive[i]] = w[i]);
                return all;
            };
            passive.copy_within(at + 1..count, at);
            count -= 1;
        }
    }

    /// Solves for weights of given columns that add up to the totals of their groups, of any sign.
    fn solve_sums(&self, columns: &[usize]) -> [f64; MAX_WEIGHTS] {
        let g = &self.gram;
        // The first column of each group takes what the others leave.
        let first = |c: usize| {
            let same = |d: &usize| self.groups[*d] == self.groups[c];
            columns.iter().position(same).unwrap_or(0)
        };
        let mut w = [0.0; MAX_WEIGHTS];
        let mut free = [(0, 0); MAX_WEIGHTS];
        let mut n = 0;
        for (i, &c) in columns.iter().enumerate() {
            match first(c) {
                at if at == i => w[i] = self.totals[self.groups[c]],
                at => {
                    free[n] = (i, at);
                    n += 1;
                }
            }
        }
        let mut a = [[0.0; MAX_WEIGHTS]; MAX_WEIGHTS];
        let mut x = [0.0; MAX_WEIGHTS];
        for (i, &(at, reference)) in free[..n].iter().enumerate() {
            let (p, r) = (columns[at], columns[reference]);
            x[i] = self.right[p] - self.right[r];
            for (&c, total) in columns.iter().zip(w) {
                x[i] -= total * (g[p][c] - g[r][c]);
            }
            for (j, &(at, reference)) in free[..=i].iter().enumerate() {
                let (q, s) = (columns[at], columns[reference]);
                a[i][j] = g[p][q] - g[p][s] - g[r][q] + g[r][s];
            }
        }
        solve_cholesky(&mut a, &mut x, n, RIDGE, g[columns[0]][columns[0]]);
        for (x, &(at, reference)) in x.iter().zip(&free[..n]) {
            w[at] = *x;
            w[reference] -= x;
        }
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
