// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cell faces as bilinear patches, and their crossings with straight segments.

use crate::Vec3;
use crate::geometry::aabb::bounds;

/// Relative slack beyond the ends of a segment or a patch, and tolerance of a crossing.
const CROSSING_TOLERANCE: f64 = 1e-9;

/// Bilinear patch of four corners in order around it. For a triangle the last two corners coincide.
#[derive(Debug, Clone, Copy)]
pub(super) struct BilinearPatch([Vec3; 4]);

impl BilinearPatch {
    /// Builds a face of a cell with corners at `x`.
    pub fn new(face: &[usize], x: &[Vec3]) -> Self {
        Self(std::array::from_fn(|k| x[face[k.min(face.len() - 1)]]))
    }

    /// Returns the corners in order.
    pub fn corners(&self) -> &[Vec3; 4] {
        &self.0
    }

    /// Returns the thickness of the hull of the corners, between the patch's two diagonals. It is zero for a flat
    /// patch. The patch lies within a quarter of it around a plane.
    pub fn warp(&self) -> f64 {
        let [a, b, c, d] = self.0;
        match self.normal().try_normalize(0.0) {
            Some(n) => n.dot(&(b - a)).abs(),
            None => (a - b + c - d).norm(),
        }
    }

    /// Returns the normal, with the length of twice the patch's projected area along it.
    fn normal(&self) -> Vec3 {
        let [a, b, c, d] = self.0;
        (c - a).cross(&(d - b))
    }

    /// Splits the patch into quarters.
    fn quarters(&self) -> [Self; 4] {
        let [a, b, c, d] = self.0;
        let half = |p: Vec3, q: Vec3| (p + q) * 0.5;
        let (ab, bc, cd, da) = (half(a, b), half(b, c), half(c, d), half(d, a));
        let middle = half(ab, cd);
        [
            Self([a, ab, middle, da]),
            Self([ab, b, bc, middle]),
            Self([middle, bc, c, cd]),
            Self([da, middle, cd, d]),
        ]
    }

    /// Returns whether the hulls of two patches are separated along a coordinate axis or a normal of either
    /// patch.
    fn is_separated(&self, other: &Self) -> bool {
        let ((lo, hi), (low, high)) = (bounds(self.0), bounds(other.0));
        if (0..3).any(|k| hi[k] < low[k] || high[k] < lo[k]) {
            return true;
        }
        [self.normal(), other.normal()].iter().any(|n| {
            let range = |p: &Self| {
                let along = p.0.map(|x| n.dot(&(x - self.0[0])));
                let far = (f64::INFINITY, f64::NEG_INFINITY);
                along
                    .iter()
                    .fold(far, |(lo, hi), &d| (lo.min(d), hi.max(d)))
            };
            let ((lo, hi), (low, high)) = (range(self), range(other));
            hi < low || high < lo
        })
    }

    /// Returns where the segment from `a` to `b` crosses the patch, as shares of its length, unordered and
    /// possibly twice. A segment that runs along the patch yields nothing.
    pub fn crossings(&self, a: Vec3, b: Vec3) -> impl Iterator<Item = f64> {
        let [p, q, r, s] = self.0;
        // If a segment is parallel to one family of the patch's lines, the other family finds the crossing.
        [[p, q, r, s], [p, s, r, q]]
            .into_iter()
            .flat_map(move |corners| line_crossings(corners, a, b - a))
            .flatten()
    }

    /// Returns a point on both patches. Pieces that are bent by less than `flat` count as flat. A penetration
    /// shallower than about `flat`, without an edge of a piece crossing, is missed.
    pub fn intersection_point(&self, other: &Self, flat: f64) -> Option<Vec3> {
        if self.is_separated(other) {
            return None;
        }
        let (mine, its) = (self.warp(), other.warp());
        if mine.max(its) <= flat {
            return self
                .edge_crossing(other)
                .or_else(|| other.edge_crossing(self));
        }
        if mine >= its {
            let mut parts = self.quarters().into_iter();
            parts.find_map(|part| part.intersection_point(other, flat))
        } else {
            let mut parts = other.quarters().into_iter();
            parts.find_map(|part| self.intersection_point(&part, flat))
        }
    }

    /// Returns a point where an edge of the other patch crosses this one.
    fn edge_crossing(&self, other: &Self) -> Option<Vec3> {
        (0..4).find_map(|k| {
            let (a, b) = (other.0[k], other.0[(k + 1) % 4]);
            let at = self.crossings(a, b).next();
            at.map(|t| a + (b - a) * t)
        })
    }
}

/// Returns the crossings of the segment from `a` along `d` with the lines that lead from the first edge of a
/// patch to the opposite one.
///
/// The line at `u` starts at `e(u)` and leads along `s(u)`, both linear in `u`. It meets the segment's line where
/// the three directions `e(u) − a`, `s(u)` and `d` are coplanar: a quadratic equation in `u`.
fn line_crossings([p, q, r, s]: [Vec3; 4], a: Vec3, d: Vec3) -> [Option<f64>; 2] {
    let (e, along) = (p - a, q - p);
    let (start, turn) = (s - p, (r - q) - (s - p));
    let constant = d.dot(&e.cross(&start));
    let linear = d.dot(&(e.cross(&turn) + along.cross(&start)));
    let square = d.dot(&along.cross(&turn));
    let size = d.norm().max(along.norm()).max(start.norm());
    quadratic_roots(constant, linear, square).map(|u| {
        let u = u.filter(|u| (-CROSSING_TOLERANCE..=1.0 + CROSSING_TOLERANCE).contains(u))?;
        let (e, s) = (e + along * u, start + turn * u);
        let n = d.cross(&s);
        let n = n / n.norm_squared();
        let (v, t) = (e.cross(&d).dot(&n), e.cross(&s).dot(&n));
        let on_both = [v, t]
            .iter()
            .all(|x| (-CROSSING_TOLERANCE..=1.0 + CROSSING_TOLERANCE).contains(x))
            && (e + s * v - d * t).norm() <= CROSSING_TOLERANCE * size;
        on_both.then_some(t.clamp(0.0, 1.0))
    })
}

/// Returns the real roots of `c + b x + a x²`. A double root that rounding has made complex counts. If all
/// coefficients are zero, the result is empty or not finite.
fn quadratic_roots(c: f64, b: f64, a: f64) -> [Option<f64>; 2] {
    let discriminant = b * b - 4.0 * a * c;
    if discriminant < -1e-12 * (b * b + (4.0 * a * c).abs()) {
        return [None, None];
    }
    // The sum without cancellation, the other root by the product of the two.
    let sum = -0.5 * (b + discriminant.max(0.0).sqrt().copysign(b));
    [Some(sum / a), Some(c / sum)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::shapes::Random;

    impl BilinearPatch {
        /// Returns the point `u` along the first edge and `v` towards the opposite one.
        fn point(&self, u: f64, v: f64) -> Vec3 {
            let [a, b, c, d] = self.0;
            (a * (1.0 - u) + b * u) * (1.0 - v) + (d * (1.0 - u) + c * u) * v
        }
    }

    fn random_patch(random: &mut Random) -> BilinearPatch {
        let square = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        BilinearPatch(
            square.map(|[x, y]| {
                Vec3::new(x, y, 0.0) + Vec3::from_fn(|_, _| 0.6 * random.next() - 0.3)
            }),
        )
    }

    /// A segment through a point of a patch crosses it there, and every crossing that is found lies on the patch.
    #[test]
    fn crossings_find_segment_through_patch() {
        let mut random = Random(3);
        for i in 0..2000 {
            let mut patch = random_patch(&mut random);
            if i % 4 == 0 {
                // A triangle.
                patch.0[3] = patch.0[2];
            }
            let p = patch.point(random.next(), random.next());
            let d = Vec3::from_fn(|_, _| 2.0 * random.next() - 1.0);
            let t = 0.05 + 0.9 * random.next();
            let (a, b) = (p - d * t, p + d * (1.0 - t));
            let found: Vec<f64> = patch.crossings(a, b).collect();
            assert!(found.iter().any(|x| (x - t).abs() < 1e-6), "{t} {found:?}");
            // Every crossing found lies on the patch.
            assert!(found.iter().all(|&t| lies_on(&patch, a + (b - a) * t)));
            // A segment cut off before the crossing yields none there.
            let short = patch.crossings(a, p - d * 0.01);
            assert!(short.into_iter().all(|x| (x * (t - 0.01) - t).abs() > 1e-3));
        }
    }

    /// Returns whether a point lies on a patch, by smaller and smaller quarters.
    fn lies_on(patch: &BilinearPatch, p: Vec3) -> bool {
        let (low, high) = bounds(patch.0);
        let slack = 1e-8;
        if (0..3).any(|k| p[k] < low[k] - slack || p[k] > high[k] + slack) {
            return false;
        }
        (high - low).max() < 1e-6 || patch.quarters().iter().any(|part| lies_on(part, p))
    }

    /// A segment parallel to a line of the patch has no crossing that does not lie on the patch.
    #[test]
    fn crossings_of_parallel_segments() {
        let mut random = Random(5);
        for _ in 0..500 {
            let patch = random_patch(&mut random);
            let u = random.next();
            // A segment that is parallel to a line of the patch at some height above it.
            let (a, b) = (patch.point(u, 0.2), patch.point(u, 0.8));
            let up = patch.normal().normalize() * 0.01;
            let lifted = patch.crossings(a + up, b + up);
            for t in lifted {
                assert!(lies_on(&patch, a + up + (b - a) * t));
            }
        }
    }

    /// The four quarters of a patch reproduce it.
    #[test]
    fn quarters_reproduce_patch() {
        let mut random = Random(6);
        for _ in 0..100 {
            let patch = random_patch(&mut random);
            let (u, v) = (random.next(), random.next());
            let [a, b, c, d] = patch.quarters();
            for (part, i, j) in [(a, 0.0, 0.0), (b, 1.0, 0.0), (c, 1.0, 1.0), (d, 0.0, 1.0)] {
                let whole = patch.point(0.5 * (u + i), 0.5 * (v + j));
                assert!((part.point(u, v) - whole).norm() < 1e-14);
            }
        }
    }

    /// The warp of a patch is the distance between its diagonals.
    #[test]
    fn warp_is_diagonal_distance() {
        let at = |z: f64| {
            BilinearPatch([
                Vec3::new(0.0, 0.0, z),
                Vec3::new(2.0, 0.0, 0.0),
                Vec3::new(2.0, 1.0, z),
                Vec3::new(0.0, 1.0, 0.0),
            ])
        };
        for z in [0.0, 0.3, -2.0] {
            assert!((at(z).warp() - f64::abs(z)).abs() < 1e-15);
        }
    }

    /// The roots solve the quadratic equation, also where it is nearly linear.
    #[test]
    fn roots_solve_quadratic() {
        let mut random = Random(1);
        for i in 0..1000 {
            let [x, y, a] = [0; 3].map(|_| 4.0 * random.next() - 2.0);
            let a = if i % 3 == 0 { a * 1e-12 } else { a };
            // a (t − x) (t − y), or as good as linear.
            let (c, b) = if i % 3 == 0 {
                (-x, 1.0)
            } else {
                (a * x * y, -a * (x + y))
            };
            let found = quadratic_roots(c, b, a);
            for root in if i % 3 == 0 { vec![x] } else { vec![x, y] } {
                assert!(
                    found.iter().flatten().any(|t| (t - root).abs() < 1e-7),
                    "{root} {found:?}"
                );
            }
        }
        assert_eq!(quadratic_roots(1.0, 0.0, 1.0), [None, None]);
    }
}
