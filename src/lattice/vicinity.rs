// SPDX-License-Identifier: MIT OR Apache-2.0
//! Box around the body in which the lattice follows bones.
//!
//! Rigs have bones that reach far out of their mesh: an eye hangs on the head's bone, importers give leaves
//! tails of any length. Cells along such a whole bone would outnumber the body's, and hold no flesh.

use crate::Vec3;
use crate::geometry::tetrahedron::closest_on_segment;
use crate::surface::{Heading, Surface};

/// Margin of the box around the body, as a share of the body's size.
const BOX_MARGIN: f64 = 0.5;
/// Largest distance from the box, in sizes, at which a bone outside it is followed, over a piece as long as the
/// margin.
const MAX_BOX_DISTANCE: f64 = 3.0;

/// Box in which bones are followed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Vicinity {
    /// Axes of the box.
    heading: Heading,
    lo: Vec3,
    hi: Vec3,
    size: f64,
}

impl Vicinity {
    /// Builds the vicinity of a body, a box along the body's own axes.
    pub(crate) fn new(surface: &Surface, heading: Heading) -> Self {
        let (lo, hi) = surface.box_along(heading);
        let size = (hi - lo).norm();
        let margin = Vec3::repeat(BOX_MARGIN * size);
        Self {
            heading,
            lo: lo - margin,
            hi: hi + margin,
            size,
        }
    }

    /// Returns the part of a bone that is followed: its part in the box, or a piece near it; `None` if the bone
    /// is far away.
    pub(crate) fn followed_part(&self, head: Vec3, tail: Vec3) -> Option<(Vec3, Vec3)> {
        let [a, b] = [head, tail].map(|x| self.heading.to_own(&x));
        let (from, to) = self.range_inside(a, b).or_else(|| self.range_near(a, b))?;
        let at = |t: f64| match t {
            0.0 => head,
            1.0 => tail,
            t => head + (tail - head) * t,
        };
        Some((at(from), at(to)))
    }

    fn range_inside(&self, head: Vec3, tail: Vec3) -> Option<(f64, f64)> {
        let d = tail - head;
        let (mut from, mut to) = (0.0f64, 1.0f64);
        for k in 0..3 {
            if d[k] == 0.0 {
                if head[k] < self.lo[k] || head[k] > self.hi[k] {
                    return None;
                }
                continue;
            }
            let (a, b) = ((self.lo[k] - head[k]) / d[k], (self.hi[k] - head[k]) / d[k]);
            from = from.max(a.min(b));
            to = to.min(a.max(b));
        }
        (from <= to).then_some((from, to))
    }

    fn range_near(&self, head: Vec3, tail: Vec3) -> Option<(f64, f64)> {
        // The point nearest to the box: alternating projection converges between a segment and a convex body.
        let (mut p, mut t) = closest_on_segment(head, tail, (self.lo + self.hi) / 2.0);
        for _ in 0..64 {
            (p, t) = closest_on_segment(head, tail, p.sup(&self.lo).inf(&self.hi));
        }
        let beyond = (p - p.sup(&self.lo).inf(&self.hi)).norm();
        let half = 0.5 * BOX_MARGIN * self.size / (tail - head).norm();
        let piece = || ((t - half).max(0.0), (t + half).min(1.0));
        (beyond <= MAX_BOX_DISTANCE * self.size).then(|| {
            if half.is_finite() {
                piece()
            } else {
                (0.0, 1.0)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST_VICINITY: Vicinity = Vicinity {
        heading: Heading::ALIGNED,
        lo: Vec3::new(-1.0, -1.0, -1.0),
        hi: Vec3::new(1.0, 2.0, 1.0),
        size: 2.0,
    };

    /// Bones inside the box stay whole.
    #[test]
    fn part_keeps_inner_bones() {
        let (a, b) = (Vec3::new(0.1, -0.7, 0.3), Vec3::new(-0.2, 1.9, 0.3));
        assert_eq!(TEST_VICINITY.followed_part(a, b), Some((a, b)));
        assert_eq!(TEST_VICINITY.followed_part(a, a), Some((a, a)));
    }

    /// Bones that leave the box are cut at its side, whichever way they point.
    #[test]
    fn part_cuts_leaving_bones() {
        let (a, b) = (Vec3::new(0.0, 0.5, 0.0), Vec3::new(5.0, 0.5, 0.0));
        let cut = Vec3::new(1.0, 0.5, 0.0);
        assert_eq!(TEST_VICINITY.followed_part(a, b), Some((a, cut)));
        assert_eq!(TEST_VICINITY.followed_part(b, a), Some((cut, a)));
    }

    /// A bone that passes outside the box keeps the piece that is nearest to it.
    #[test]
    fn part_keeps_nearest_outer_piece() {
        // Passes a corner of the box without touching it.
        let (a, b) = (Vec3::new(-6.0, 12.5, 0.0), Vec3::new(12.0, -5.5, 0.0));
        let (p, q) = TEST_VICINITY.followed_part(a, b).expect("near");
        assert!((p + q - Vec3::new(5.5, 7.5, 0.0)).norm() < 1e-9, "{p} {q}");
        assert!(((p - q).norm() - 1.0).abs() < 1e-9);
        // A short one, and a point, stay whole.
        let out = Vec3::new(4.0, 0.0, 0.0);
        assert_eq!(TEST_VICINITY.followed_part(out, out), Some((out, out)));
        let tail = out + Vec3::x() * 0.3;
        assert_eq!(TEST_VICINITY.followed_part(out, tail), Some((out, tail)));
    }

    /// Bones far away from the box are dropped.
    #[test]
    fn part_drops_far_bones() {
        let far = Vec3::new(15.0, 15.0, 0.0);
        assert_eq!(TEST_VICINITY.followed_part(far, far), None);
        assert_eq!(TEST_VICINITY.followed_part(far, far + Vec3::z()), None);
    }
}
