// SPDX-License-Identifier: MIT OR Apache-2.0
//! The small banded system for the unknowns at the [knots](super::knots) of a spline.
//!
//! The energies of the [intervals](super::interval) are assembled like elements. With all values given the system is tridiagonal in the
//! slopes. In a cyclic spline the first knot, which is also the last, closes the band: its unknowns form a border at the end.

use super::interval::{Interval, IntervalElement};
use super::knots::{KnotData, KnotJoint, KnotLayout};

/// Pivot, as a share of the diagonal before elimination, below which it is rounding: free vibrations that pass all knots.
const SINGULAR_PIVOT_RATIO: f64 = 1e-14;

/// An attraction of a value: `weight (ω − wanted)²` at a knot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ValueAttraction {
    pub knot: usize,
    pub weight: f64,
    pub wanted: f64,
}

/// The factored system of one mode.
#[derive(Debug, Clone)]
pub(super) struct SplineSystem {
    inner: usize,
    width: usize,
    /// Rows of the lower band, diagonal last.
    band: Vec<f64>,
    /// Rows of the border over the band, the same times the band's inverse, and the border's own factored block.
    border: Vec<Vec<f64>>,
    coupled: Vec<Vec<f64>>,
    corner: Vec<f64>,
    /// Half the energy's derivative with respect to each unknown, with all unknowns zero.
    pub slope: Vec<f64>,
}

// Entries of bands and triangles are addressed by index.
#[allow(clippy::needless_range_loop)]
impl SplineSystem {
    /// Assembles and factors the system. Entries of `given` that are not given are ignored.
    pub fn new(
        layout: &KnotLayout,
        intervals: &[Interval],
        given: &KnotData,
        pulls: &[ValueAttraction],
    ) -> Self {
        let (n, w, p) = (layout.inner, layout.width, layout.border);
        let mut system = Self {
            inner: n,
            width: w,
            band: vec![0.0; n * (w + 1)],
            border: vec![vec![0.0; n]; p],
            coupled: Vec::new(),
            corner: vec![0.0; p * p],
            slope: vec![0.0; n + p],
        };
        for (k, interval) in intervals.iter().enumerate() {
            let (element, own) = (interval.interval_element(), layout.interval_unknowns(k));
            let known = given.element_values(k);
            for (i, row) in own.iter().enumerate() {
                let Some(row) = *row else { continue };
                system.slope[row] += element.load[i];
                for (j, column) in own.iter().enumerate() {
                    match *column {
                        Some(column) => system.add(row, column, element.matrix[i][j]),
                        None => system.slope[row] += element.matrix[i][j] * known[j],
                    }
                }
            }
        }
        for (knot, interval, side) in uncancelled_sides(layout) {
            let own = &layout.unknowns[knot];
            let slope = if side > 0.0 {
                own.incoming
            } else {
                own.outgoing
            };
            let element = intervals[interval].interval_element();
            if let Some(slope) = slope {
                let assembled = element.matrix[1][1];
                // With heavy damping rounding hides the stiffness of a natural start.
                let free = intervals[interval]
                    .free_slope_coefficient(side)
                    .max(SINGULAR_PIVOT_RATIO * assembled);
                system.add(slope, slope, free - assembled);
            }
            if let Some(value) = own.value {
                let o = intervals[interval].oscillator();
                let twice = 2.0 * side * o.damping;
                system.add(value, value, twice * o.stiffness);
                system.slope[value] += twice * o.gravity;
            }
        }
        for pull in pulls {
            if let Some(value) = layout.value_unknown(pull.knot) {
                system.add(value, value, pull.weight);
                system.slope[value] -= pull.weight * pull.wanted;
            }
        }
        system.factor();
        system
    }

    fn add(&mut self, row: usize, column: usize, number: f64) {
        let n = self.inner;
        match (row < n, column < n) {
            (true, true) if column <= row => {
                self.band[row * (self.width + 1) + self.width + column - row] += number;
            }
            (true, true) | (true, false) => {}
            (false, true) => self.border[row - n][column] += number,
            (false, false) => self.corner[(row - n) * self.border.len() + column - n] += number,
        }
    }

    /// Factors as `L D Lᵀ` in place. Pivots lost to rounding are kept away from zero.
    fn factor(&mut self) {
        let (n, w) = (self.inner, self.width);
        let stride = w + 1;
        for i in 0..n {
            let own = i * stride;
            let first = i.saturating_sub(w);
            let before = self.band[own + w].abs();
            for j in first..i {
                let other = j * stride;
                let mut sum = self.band[own + w + j - i];
                for k in first.max(j.saturating_sub(w))..j {
                    sum -= self.band[own + w + k - i] * self.band[other + w + k - j];
                }
                self.band[own + w + j - i] = sum;
            }
            let mut pivot = self.band[own + w];
            for j in first..i {
                let entry = self.band[own + w + j - i];
                let scaled = entry / self.band[j * stride + w];
                pivot -= entry * scaled;
                self.band[own + w + j - i] = scaled;
            }
            self.band[own + w] = floor_pivot(pivot, before);
        }
        self.coupled = self.border.clone();
        let mut coupled = std::mem::take(&mut self.coupled);
        coupled.iter_mut().for_each(|row| self.solve_band(row));
        let p = self.border.len();
        for r in 0..p {
            for c in 0..p {
                let sum: f64 = self.border[r]
                    .iter()
                    .zip(&coupled[c])
                    .map(|(a, b)| a * b)
                    .sum();
                self.corner[r * p + c] -= sum;
            }
        }
        self.coupled = coupled;
        // At most three rows.
        for r in 0..p {
            let before = self.corner[r * p + r].abs();
            for c in 0..r {
                let mut sum = self.corner[r * p + c];
                for k in 0..c {
                    sum -= self.corner[r * p + k] * self.corner[c * p + k] * self.corner[k * p + k];
                }
                self.corner[r * p + c] = sum / self.corner[c * p + c];
            }
            let mut pivot = self.corner[r * p + r];
            for k in 0..r {
                let l = self.corner[r * p + k];
                pivot -= l * l * self.corner[k * p + k];
            }
            self.corner[r * p + r] = floor_pivot(pivot, before);
        }
    }

    fn solve_band(&self, x: &mut [f64]) {
        let (n, w) = (self.inner, self.width);
        let stride = w + 1;
        for i in 0..n {
            let mut sum = x[i];
            for j in i.saturating_sub(w)..i {
                sum -= self.band[i * stride + w + j - i] * x[j];
            }
            x[i] = sum;
        }
        for i in 0..n {
            x[i] /= self.band[i * stride + w];
        }
        for i in (0..n).rev() {
            let value = x[i];
            for j in i.saturating_sub(w)..i {
                x[j] -= self.band[i * stride + w + j - i] * value;
            }
        }
    }

    /// Solves in place.
    pub fn solve(&self, x: &mut [f64]) {
        let (n, p) = (self.inner, self.border.len());
        let (inner, last) = x.split_at_mut(n);
        self.solve_band(inner);
        if p == 0 {
            return;
        }
        for (row, last) in self.border.iter().zip(last.iter_mut()) {
            *last -= row
                .iter()
                .zip(inner.iter())
                .map(|(a, b)| a * b)
                .sum::<f64>();
        }
        for r in 0..p {
            for k in 0..r {
                last[r] -= self.corner[r * p + k] * last[k];
            }
        }
        for r in 0..p {
            last[r] /= self.corner[r * p + r];
        }
        for r in (0..p).rev() {
            for k in 0..r {
                last[k] -= self.corner[r * p + k] * last[r];
            }
        }
        for (row, &last) in self.coupled.iter().zip(last.iter()) {
            inner
                .iter_mut()
                .zip(row)
                .for_each(|(x, row)| *x -= row * last);
        }
    }

    /// Returns the unknowns that minimise the energy.
    pub fn minimise(&self) -> Vec<f64> {
        let mut x: Vec<f64> = self.slope.iter().map(|s| -s).collect();
        self.solve(&mut x);
        x
    }
}

fn floor_pivot(pivot: f64, before: f64) -> f64 {
    let least = (SINGULAR_PIVOT_RATIO * before).max(f64::MIN_POSITIVE / SINGULAR_PIVOT_RATIO);
    if pivot > least { pivot } else { least }
}

/// Returns the sides of knots at which the boundary term of an interval does not cancel with its neighbour's: (knot, interval, +1 at
/// its end or −1 at its start).
fn uncancelled_sides(layout: &KnotLayout) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
    let last = layout.interval_count();
    (0..=last).flat_map(move |k| {
        let cut = matches!(layout.knots()[k].joint, KnotJoint::Cut { .. });
        let inside = k > 0 && k < last;
        // The knot that closes a cycle is visited once, as the first.
        let (before, behind) = match (inside, layout.is_cyclic()) {
            (true, _) => (cut, cut),
            (false, false) => (k == last, k == 0),
            (false, true) => (cut && k == 0, cut && k == 0),
        };
        let end = before.then(|| (k, if k == 0 { last - 1 } else { k - 1 }, 1.0));
        let begin = behind.then_some((k, if k == last { 0 } else { k }, -1.0));
        end.into_iter().chain(begin)
    })
}

/// Writes unknowns to their places in the knot data.
pub(super) fn scatter_unknowns(layout: &KnotLayout, x: &[f64], into: &mut KnotData) {
    for (k, own) in layout.unknowns.iter().enumerate() {
        let places = [
            (own.value, &mut into.values[k]),
            (own.incoming, &mut into.incoming[k]),
            (own.outgoing, &mut into.outgoing[k]),
        ];
        for (unknown, place) in places {
            if let Some(unknown) = unknown {
                *place = x[unknown];
            }
        }
    }
}

/// Returns `∫ r²` of one mode.
pub(super) fn mode_cost(layout: &KnotLayout, intervals: &[Interval], data: &KnotData) -> f64 {
    let mut sum = 0.0;
    for (k, interval) in intervals.iter().enumerate() {
        let IntervalElement {
            matrix,
            load,
            constant,
        } = interval.interval_element();
        let u = data.element_values(k);
        sum += constant;
        for i in 0..4 {
            let row: f64 = (0..4).map(|j| matrix[i][j] * u[j]).sum();
            sum += u[i] * (row + 2.0 * load[i]);
        }
    }
    for (knot, interval, side) in uncancelled_sides(layout) {
        let o = intervals[interval].oscillator();
        let y = data.values[knot];
        let v = if side > 0.0 {
            data.incoming[knot]
        } else {
            data.outgoing[knot]
        };
        sum += 2.0 * side * o.damping * (v * v + o.stiffness * y * y + 2.0 * o.gravity * y);
    }
    sum.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::floor_pivot;

    /// A pivot stays positive and divisible, however much of it is lost.
    #[test]
    fn floored_pivots_are_divisible() {
        for before in [0.0, f64::MIN_POSITIVE, 1.0, 1e200] {
            for pivot in [0.0, -1.0, -1e-200, 1e-300] {
                let kept = floor_pivot(pivot, before);
                assert!(kept > 0.0 && (1.0 / kept).is_finite(), "{pivot} {before}");
                assert!(kept <= 1e-12 * before.max(1e-270), "{pivot} {before}");
            }
        }
        assert_eq!(floor_pivot(3.0, 5.0), 3.0);
    }
}
