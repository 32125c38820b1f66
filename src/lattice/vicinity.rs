// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far from the body the lattice follows bones.
//!
//! Rigs have bones that reach far out of their mesh: an eye hangs on the head's bone, importers give leaves
//! tails of any length. Cells along all of such a bone would outnumber the body's, and hold no flesh.

use crate::Vec3;
use crate::surface::Surface;

/// The box of the body, widened by this part of its size.
const MARGIN: f64 = 0.5;

/// The box in which bones are followed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Vicinity {
    lo: Vec3,
    hi: Vec3,
}

impl Vicinity {
    pub(crate) fn new(surface: &Surface) -> Self {
        let (lo, hi) = surface.bounds();
        let margin = Vec3::repeat(MARGIN * surface.size());
        Self {
            lo: lo - margin,
            hi: hi + margin,
        }
    }

    /// The part of a bone that lies in the box; none when all of it is far away.
    pub(crate) fn part(&self, head: Vec3, tail: Vec3) -> Option<(Vec3, Vec3)> {
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
        let at = |t: f64| match t {
            0.0 => head,
            1.0 => tail,
            t => head + d * t,
        };
        (from <= to).then(|| (at(from), at(to)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOX: Vicinity = Vicinity {
        lo: Vec3::new(-1.0, -1.0, -1.0),
        hi: Vec3::new(1.0, 2.0, 1.0),
    };

    #[test]
    fn bones_inside_stay_whole() {
        let (a, b) = (Vec3::new(0.1, -0.7, 0.3), Vec3::new(-0.2, 1.9, 0.3));
        assert_eq!(BOX.part(a, b), Some((a, b)));
        assert_eq!(BOX.part(a, a), Some((a, a)));
    }

    #[test]
    fn bones_that_leave_are_cut_at_the_box_whichever_way_they_point() {
        let (a, b) = (Vec3::new(0.0, 0.5, 0.0), Vec3::new(5.0, 0.5, 0.0));
        let cut = Vec3::new(1.0, 0.5, 0.0);
        assert_eq!(BOX.part(a, b), Some((a, cut)));
        assert_eq!(BOX.part(b, a), Some((cut, a)));
    }

    #[test]
    fn bones_far_away_have_no_part() {
        let far = Vec3::new(5.0, 5.0, 0.0);
        assert_eq!(BOX.part(far, far), None);
        assert_eq!(BOX.part(far, far + Vec3::z()), None);
        // Passes a corner without touching.
        assert_eq!(
            BOX.part(Vec3::new(0.0, 4.0, 0.0), Vec3::new(3.0, 1.0, 0.0)),
            None
        );
    }
}
