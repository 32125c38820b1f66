// SPDX-License-Identifier: MIT OR Apache-2.0
//! Elliptical s-reps, resampled on grids.
//!
//! Crest point `i` of `C` is at the angle `φ = 2πi/C` on the fold; the first and the middle one are at the ends of the long axis. Straight
//! lines lead from the spine (τ = 0) to the fold (τ = 1). In the unit disc (the unstretched sheet) they go from `(k cos φ, 0)` to
//! `(cos φ, sin φ)`, with k the spine's length over the fold's. A place (x, y) of the squeezed grid therefore has the τ that solves
//! `x²/(k + (1 − k)τ)² + y²/τ² = 1`. Opposite lines share the spine, where either will do.
//!
//! Splines over crest points and steps interpolate hubs, the mean of both spokes, and the direction and square of half their difference: for
//! an ellipsoid half the difference is a root at the fold, its square a polynomial. The end spoke follows the spokes' bisector, up to where
//! the curve of crest tips is nearest to it.

use super::SkeletalPoint;
use crate::Vec3;
use crate::mrep::initial::ellipsoid;
use crate::mrep::spline::Spline;
use std::f64::consts::TAU;

/// Position of the grid's border, from the centre (0) to the fold (1): at the fold spokes have no angle between them. At 0.8 an ellipsoid has 0.6 of
/// its half thickness.
const GRID_EXTENT: f64 = 0.8;

/// Resamples an elliptical sheet at the places of a squeezed grid, with rows along its short side and columns along its long one.
pub(super) fn resample(
    points: &[SkeletalPoint],
    around: usize,
    steps: usize,
    rows: usize,
    cols: usize,
) -> Result<Vec<SkeletalPoint>, String> {
    if around < 4 || !around.is_multiple_of(2) {
        return Err(format!(
            "'CrestPoints' is {around}: it must be an even number, at least 4"
        ));
    }
    let fold = |c: usize| &points[c * (steps + 1) + steps];
    if let Some(c) = (0..around).find(|&c| fold(c).crest.is_none()) {
        return Err(format!(
            "row {c}, column {steps} of 'Skeleton' is on the fold, but has no 'CrestSpoke'"
        ));
    }
    let spine = |c: usize| points[c * (steps + 1)].hub;
    let long = (fold(around / 2).hub - fold(0).hub).norm();
    let share = (spine(around / 2) - spine(0)).norm() / long;
    if !share.is_finite() {
        return Err("the first and the middle crest point coincide".into());
    }
    let sheet = EllipticalSheet {
        points,
        steps,
        share: share.clamp(0.0, 0.98),
        round: Spline::periodic(around),
        out: Spline::not_a_knot(
            &(0..=steps)
                .map(|s| s as f64 / steps as f64)
                .collect::<Vec<_>>(),
        ),
    };
    let places = (0..rows * cols).map(|k| {
        let (i, j) = (k / cols, k % cols);
        let border = i == 0 || j == 0 || i + 1 == rows || j + 1 == cols;
        sheet.sample(
            ellipsoid::squeeze_into_circle([i, j], [rows, cols], GRID_EXTENT),
            border,
        )
    });
    Ok(places.collect())
}

struct EllipticalSheet<'a> {
    points: &'a [SkeletalPoint],
    steps: usize,
    /// Length of the spine over that of the fold.
    share: f64,
    round: Spline,
    out: Spline,
}

impl EllipticalSheet<'_> {
    /// Returns (φ, τ) of a place in the unit disc.
    fn polar_coordinates(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let wide = |tau: f64| self.share + (1.0 - self.share) * tau;
        let beyond = |tau: f64| (x / wide(tau)).powi(2) + (y / tau).powi(2) > 1.0;
        let (mut low, mut high) = (1e-12, 1.0);
        // Bisection down to rounding.
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            *(if beyond(middle) { &mut low } else { &mut high }) = middle;
        }
        let cos = (x / wide(high)).clamp(-1.0, 1.0);
        let sin = (1.0 - cos * cos).sqrt().copysign(y);
        [sin.atan2(cos).rem_euclid(TAU), high]
    }

    fn sample(&self, place: [f64; 2], border: bool) -> SkeletalPoint {
        let [angle, tau] = self.polar_coordinates(place);
        let (round, out) = (self.round.weights(angle, 0), self.out.weights(tau, 0));
        let mix = |of: &dyn Fn(&SkeletalPoint) -> Vec3| -> Vec3 {
            let lines = self.points.chunks(self.steps + 1).zip(&round);
            lines
                .map(|(line, w)| {
                    let steps = line.iter().zip(&out);
                    steps.map(|(p, o)| of(p) * *o).sum::<Vec3>() * *w
                })
                .sum()
        };
        let half = |p: &SkeletalPoint| (p.up - p.down) * 0.5;
        let across = mix(&|p| half(p).try_normalize(0.0).unwrap_or_default());
        let square = mix(&|p| Vec3::new(half(p).norm_squared(), 0.0, 0.0)).x;
        let across = across.try_normalize(0.0).unwrap_or_default() * square.max(0.0).sqrt();
        let (hub, mean) = (mix(&|p| p.hub), mix(&|p| (p.up + p.down) * 0.5));
        let (up, down) = (mean + across, mean - across);
        SkeletalPoint {
            hub,
            up,
            down,
            crest: border.then(|| self.end_spoke(hub, up, down, angle)),
        }
    }

    /// Returns the point at an angle of the curve through the crest spokes' tips.
    fn crest_point(&self, angle: f64) -> Vec3 {
        let weights = self.round.weights(angle.rem_euclid(TAU), 0);
        let lines = self.points.chunks(self.steps + 1).zip(&weights);
        let tip = |line: &[SkeletalPoint]| {
            line[self.steps].hub + line[self.steps].crest.unwrap_or_default()
        };
        lines.map(|(line, w)| tip(line) * *w).sum()
    }

    /// Returns the end spoke from a hub; it leads to the tip at its own angle where its spokes have no bisector.
    fn end_spoke(&self, hub: Vec3, up: Vec3, down: Vec3, angle: f64) -> Vec3 {
        let own = self.crest_point(angle) - hub;
        let sum =
            up.try_normalize(0.0).unwrap_or_default() + down.try_normalize(0.0).unwrap_or_default();
        let Some(b) = sum.try_normalize(super::MIN_SPOKE_SUM) else {
            return own;
        };
        if own.dot(&b) <= 0.0 {
            return own;
        }
        let off = |a: f64| {
            let way = self.crest_point(a) - hub;
            let along = way.dot(&b);
            if along > 0.0 {
                (way - b * along).norm_squared()
            } else {
                f64::INFINITY
            }
        };
        // Searches within an eighth of a turn: coarse steps, then ternary search.
        let width = TAU / 8.0;
        let steps = (-16..=16).map(|i| angle + width * f64::from(i) / 16.0);
        let nearest = steps
            .min_by(|p, q| off(*p).total_cmp(&off(*q)))
            .unwrap_or(angle);
        let (mut low, mut high) = (nearest - width / 16.0, nearest + width / 16.0);
        for _ in 0..60 {
            let third = (high - low) / 3.0;
            if off(low + third) < off(high - third) {
                high -= third;
            } else {
                low += third;
            }
        }
        let way = self.crest_point(0.5 * (low + high)) - hub;
        b * way.dot(&b)
    }
}
