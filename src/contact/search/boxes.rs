// SPDX-License-Identifier: MIT OR Apache-2.0
//! Axis-aligned boxes in parallel arrays, so that one is compared with many at once.

use crate::Vec3;

/// Lower and upper corner of an axis-aligned box.
pub(in crate::contact) type Bounds = (Vec3, Vec3);

/// Returns whether two boxes meet.
pub(in crate::contact) fn boxes_meet(a: &Bounds, b: &Bounds) -> bool {
    let on = |k: usize| (a.0[k] <= b.1[k]) & (a.1[k] >= b.0[k]);
    on(0) & on(1) & on(2)
}

/// Returns the box around boxes. Without boxes, or with empty ones only, the result meets nothing.
pub(in crate::contact) fn enclosing_box<'a>(all: impl Iterator<Item = &'a Bounds>) -> Bounds {
    let far = Vec3::repeat(f64::INFINITY);
    all.fold((far, -far), |(lo, hi), b| (lo.inf(&b.0), hi.sup(&b.1)))
}

/// Numbered boxes.
#[derive(Default)]
pub(in crate::contact) struct NumberedBoxes {
    all: Vec<(Bounds, u32)>,
    /// Coordinates of the lower and upper corners, rounded outwards to single precision.
    lower: [Vec<f32>; 3],
    upper: [Vec<f32>; 3],
    hits: Vec<bool>,
}

impl NumberedBoxes {
    pub fn clear(&mut self) {
        self.all.clear();
        self.lower.iter_mut().for_each(Vec::clear);
        self.upper.iter_mut().for_each(Vec::clear);
    }

    pub fn push(&mut self, bounds: &Bounds, number: u32) {
        self.all.push((*bounds, number));
        for k in 0..3 {
            self.lower[k].push((bounds.0[k] as f32).next_down());
            self.upper[k].push((bounds.1[k] as f32).next_up());
        }
    }

    /// Returns the numbers of the boxes that meet a box, in order.
    pub fn find_meeting(&mut self, with: &Bounds) -> impl Iterator<Item = u32> {
        let (lo, hi) = with;
        let (lo, hi) = (
            lo.map(|x| (x as f32).next_down()),
            hi.map(|x| (x as f32).next_up()),
        );
        let count = self.all.len();
        self.hits.clear();
        self.hits.resize(count, false);
        let [a, b, c] = self.lower.each_ref().map(|all| &all[..count]);
        let [d, e, f] = self.upper.each_ref().map(|all| &all[..count]);
        for (i, hit) in self.hits[..count].iter_mut().enumerate() {
            *hit = (a[i] <= hi.x)
                & (b[i] <= hi.y)
                & (c[i] <= hi.z)
                & (d[i] >= lo.x)
                & (e[i] >= lo.y)
                & (f[i] >= lo.z);
        }
        let near = self.hits.iter().zip(&self.all).filter(|(hit, _)| **hit);
        near.filter_map(|(_, (bounds, number))| boxes_meet(bounds, with).then_some(*number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::shapes::random_points;

    /// Boxes that share a face meet, and rounding to single precision makes no others meet.
    #[test]
    fn boxes_touching_faces_meet() {
        let unit = (Vec3::zeros(), Vec3::repeat(1.0));
        let mut boxes = NumberedBoxes::default();
        // One box touches the unit box; one is farther away by less than single precision resolves.
        for (number, x) in [(0, 1.0), (1, 1.0 + 1e-12), (2, -1.0), (3, 3.0)] {
            boxes.push(
                &(Vec3::new(x, 0.5, 0.5), Vec3::new(x + 1.0, 0.6, 0.6)),
                number,
            );
        }
        let meeting: Vec<u32> = boxes.find_meeting(&unit).collect();
        assert_eq!(meeting, [0, 2]);
    }

    /// The boxes that the search finds are those that a test of every pair finds.
    #[test]
    fn boxes_agree_with_brute_force() {
        let (at, size) = (random_points(300, 2.0, 3), random_points(300, 0.4, 4));
        let all: Vec<Bounds> = at
            .iter()
            .zip(&size)
            .map(|(x, s)| (x - s.abs(), x + s.abs()))
            .collect();
        let mut boxes = NumberedBoxes::default();
        all.iter().zip(0..).for_each(|(b, i)| boxes.push(b, i));
        let apart = |a: &Bounds, b: &Bounds| (0..3).any(|k| a.0[k] > b.1[k] || b.0[k] > a.1[k]);
        for with in &all {
            let expected: Vec<u32> = (0..300)
                .filter(|&i| !apart(&all[i as usize], with))
                .collect();
            assert_eq!(boxes.find_meeting(with).collect::<Vec<_>>(), expected);
        }
    }
}
