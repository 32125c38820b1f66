// SPDX-License-Identifier: MIT OR Apache-2.0
//! Intervals of lines within a distance of a triangle. That region is convex, so a line has one
//! interval.
use super::columns::{ColumnGrid, ColumnPass};
use crate::Vec3;

/// Interval in which a column is near a triangle.
#[derive(Debug, Clone, Copy)]
pub(super) struct LayerInterval {
    pub column: u32,
    pub from: f64,
    pub to: f64,
}

/// Finds the intervals of a pass in the layer of half thickness `reach` around a triangle.
pub(super) fn layer_intervals(
    columns: &ColumnGrid,
    pass: ColumnPass,
    x: &[Vec3; 3],
    reach: f64,
) -> Vec<LayerInterval> {
    let flat = x.map(|x| columns.project(&x));
    let mut found = Vec::new();
    columns.visit_columns_near(pass, &flat, reach, |column, _| {
        let along = Vec3::ith(columns.axis, 1.0);
        let inside = layer_interval(x, reach, columns.point(column, 0.0), along);
        found.extend(inside.map(|(from, to)| LayerInterval { column, from, to }));
    });
    found
}

/// Returns the parameters of a line from `p` along a unit vector that are within `reach` of a
/// triangle.
fn layer_interval(x: &[Vec3; 3], reach: f64, p: Vec3, along: Vec3) -> Option<(f64, f64)> {
    let parts = [
        prism_interval(x, reach, p, along),
        capsule_interval(x[0], x[1], reach, p, along),
        capsule_interval(x[1], x[2], reach, p, along),
        capsule_interval(x[2], x[0], reach, p, along),
    ];
    parts
        .into_iter()
        .flatten()
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// Clips an interval of parameters to `a + b t ≥ 0`.
fn clip_interval(range: Option<(f64, f64)>, a: f64, b: f64) -> Option<(f64, f64)> {
    let (from, to) = range?;
    let (from, to) = if b > 0.0 {
        (from.max(-a / b), to)
    } else if b < 0.0 {
        (from, to.min(-a / b))
    } else if a >= 0.0 {
        (from, to)
    } else {
        return None;
    };
    (from <= to).then_some((from, to))
}

const FULL_LINE: Option<(f64, f64)> = Some((f64::NEG_INFINITY, f64::INFINITY));

/// Returns the interval of the line directly above and below the triangle.
fn prism_interval(x: &[Vec3; 3], reach: f64, p: Vec3, along: Vec3) -> Option<(f64, f64)> {
    let n = (x[1] - x[0]).cross(&(x[2] - x[0])).try_normalize(0.0)?;
    let (height, slope) = (n.dot(&(p - x[0])), n.dot(&along));
    let mut range = clip_interval(FULL_LINE, reach - height, -slope);
    range = clip_interval(range, reach + height, slope);
    for k in 0..3 {
        let inward = n.cross(&(x[(k + 1) % 3] - x[k]));
        range = clip_interval(range, inward.dot(&(p - x[k])), inward.dot(&along));
    }
    range.filter(|r| r.0.is_finite() && r.1.is_finite())
}

/// Returns the interval of the line within `reach` of an edge.
fn capsule_interval(a: Vec3, b: Vec3, reach: f64, p: Vec3, along: Vec3) -> Option<(f64, f64)> {
    let ball = |centre: Vec3| {
        let from = p - centre;
        let middle = -from.dot(&along);
        let left = reach * reach - (from + along * middle).norm_squared();
        (left >= 0.0).then(|| (middle - left.sqrt(), middle + left.sqrt()))
    };
    let tube = || {
        let axis = (b - a).try_normalize(0.0)?;
        let (w, run) = (p - a, axis.dot(&along));
        let across = along - axis * run;
        let off = w - axis * axis.dot(&w);
        let (square, half) = (across.norm_squared(), across.dot(&off));
        let mut range = if square > 1e-20 {
            let root = half * half - square * (off.norm_squared() - reach * reach);
            (root >= 0.0).then(|| {
                (
                    (-half - root.sqrt()) / square,
                    (root.sqrt() - half) / square,
                )
            })
        } else {
            FULL_LINE.filter(|_| off.norm_squared() <= reach * reach)
        };
        range = clip_interval(range, axis.dot(&w), run);
        clip_interval(range, (b - a).norm() - axis.dot(&w), -run)
    };
    [ball(a), ball(b), tube()]
        .into_iter()
        .flatten()
        .filter(|r| r.0.is_finite() && r.1.is_finite())
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

#[cfg(test)]
mod tests {
    use super::super::super::nearest::TriangleHierarchy;
    use super::super::super::shapes::random_points;
    use super::*;

    /// The interval of a line in a layer ends where its distance to the triangle equals the reach.
    #[test]
    fn layer_interval_ends_at_reach() {
        let points = random_points(600, 1.0, 5);
        let (mut met, mut missed) = (0, 0);
        for p in points.chunks_exact(5) {
            let x = [p[0], p[1], p[2]];
            let along = (p[4] - p[3]).normalize();
            let nearest = TriangleHierarchy::new(&x, &[[0, 1, 2]], vec![0]);
            let far = |t: f64| {
                let found = nearest.closest(&(p[3] + along * t), f64::INFINITY);
                found.expect("a triangle").distance
            };
            let reach = 0.15;
            match layer_interval(&x, reach, p[3], along) {
                Some((from, to)) => {
                    met += 1;
                    assert!((far(from) - reach).abs() < 1e-9 && (far(to) - reach).abs() < 1e-9);
                    assert!(far((from + to) / 2.0) <= reach);
                }
                None => {
                    missed += 1;
                    assert!((-400..=400).all(|i| far(f64::from(i) / 100.0) > reach));
                }
            }
        }
        assert!(met > 10 && missed > 10, "{met} {missed}");
    }
}
