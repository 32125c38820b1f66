// SPDX-License-Identifier: MIT OR Apache-2.0
//! Intervals of a column inside an open surface. The winding number jumps where the column crosses a triangle.
//! Without its jumps it changes slowly, so it is evaluated at few points and interpolated between them.
use super::columns::Crossing;

/// Initial number of pieces per column.
const INITIAL_PIECES: u32 = 4;
/// Shortest piece, as a fraction of the diagonal.
const MIN_PIECE_LENGTH: f64 = 0.02;
/// Allowed deviation of the winding number from linear interpolation between two samples, in addition to their difference.
const MAX_LINE_DEVIATION: f64 = 0.1;
/// Share of a piece that may be in doubt about its side of one half.
const MAX_DOUBTFUL_SHARE: f64 = 0.1;

/// A column, its crossings in ascending order, and the winding number on it.
pub(super) struct WoundColumn<'a> {
    pub crossings: &'a [Crossing],
    /// `None` if it is an integer everywhere off the surface: the crossings suffice then.
    pub winding: Option<&'a dyn Fn(f64) -> f64>,
    /// Diagonal of the box.
    pub diagonal: f64,
}

/// A point of a column, and its winding number less all jumps below it.
#[derive(Clone, Copy)]
struct WindingSample {
    at: f64,
    slow: f64,
}

impl WoundColumn<'_> {
    /// Returns the intervals between two heights in which the winding number exceeds one half, in ascending order.
    /// `shift` (0 to 1) moves the first points, so that they differ between columns.
    pub fn inside_intervals(&self, bottom: f64, top: f64, shift: f64) -> Vec<(f64, f64)> {
        let mut found = Vec::new();
        let step = (top - bottom) / f64::from(INITIAL_PIECES);
        let places = (0..INITIAL_PIECES).map(|k| bottom + (f64::from(k) + shift) * step);
        let mut last = self.sample(bottom);
        for z in places.chain([top]).filter(|&z| z > bottom) {
            let next = self.sample(z);
            self.refine_between(last, next, &mut found);
            last = next;
        }
        found
    }

    fn sample(&self, z: f64) -> WindingSample {
        // Avoid points on a triangle, where rounding would decide the side.
        let near = 1e-9 * self.diagonal;
        let on = |c: &&Crossing| (c.height - z).abs() < near;
        let from = self.crossings.partition_point(|c| c.height < z - near);
        let off = self.crossings[from..].iter().take_while(on).last();
        let at = off.map_or(z, |c| c.height + 2.0 * near);
        let below = self.crossings.partition_point(|c| c.height < at);
        let jumps: i32 = self.crossings[..below].iter().map(|c| -c.sign).sum();
        WindingSample {
            at,
            slow: self.winding.map_or(0.0, |w| w(at) - f64::from(jumps)),
        }
    }

    fn refine_between(&self, a: WindingSample, b: WindingSample, found: &mut Vec<(f64, f64)>) {
        if b.at <= a.at {
            return;
        }
        let below = self.crossings.partition_point(|c| c.height < a.at);
        let here = self.crossings[below..].partition_point(|c| c.height < b.at);
        let here = &self.crossings[below..below + here];
        let mut jumps: i32 = self.crossings[..below].iter().map(|c| -c.sign).sum();
        let margin = MAX_LINE_DEVIATION + (b.slow - a.slow).abs();
        let (mut doubt, start, mut from) = (0.0, found.len(), a.at);
        let ends = here.iter().map(|c| (c.height, -c.sign));
        for (to, jump) in ends.chain([(b.at, 0)]) {
            // Excess over one half at either end, on the line between the known values.
            let over = |z: f64| {
                let t = (z - a.at) / (b.at - a.at);
                a.slow + (b.slow - a.slow) * t + f64::from(jumps) - 0.5
            };
            let (low, high) = (over(from), over(to));
            if low.abs().min(high.abs()) <= margin || (low > 0.0) != (high > 0.0) {
                doubt += to - from;
            }
            let turn = from + (to - from) * (low / (low - high)).clamp(0.0, 1.0);
            match (low > 0.0, high > 0.0) {
                (true, true) => found.push((from, to)),
                (true, false) => found.push((from, turn)),
                (false, true) => found.push((turn, to)),
                (false, false) => {}
            }
            jumps += jump;
            from = to;
        }
        if doubt > MAX_DOUBTFUL_SHARE * (b.at - a.at)
            && b.at - a.at > MIN_PIECE_LENGTH * self.diagonal
        {
            found.truncate(start);
            let middle = self.sample((a.at + b.at) / 2.0);
            self.refine_between(a, middle, found);
            self.refine_between(middle, b, found);
        }
    }
}
