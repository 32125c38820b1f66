// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nearest of many points by a k-d tree: built in O(n log n), queried in O(log n).

use crate::Vec3;

/// Most points of a leaf. It changes the speed alone.
const LEAF_SIZE: usize = 8;

/// A k-d tree; its nodes are the medians of ranges of `order`.
pub(super) struct PointTree {
    points: Vec<Vec3>,
    /// Original index of each point.
    order: Vec<u32>,
    /// The axis that splits each range, stored at its median.
    axis: Vec<u8>,
}

impl PointTree {
    /// Builds the tree of points.
    pub fn new(points: &[Vec3]) -> Self {
        let mut order: Vec<u32> = (0..points.len() as u32).collect();
        let mut axis = vec![0; points.len()];
        split(points, &mut order, &mut axis);
        Self {
            points: order.iter().map(|&i| points[i as usize]).collect(),
            order,
            axis,
        }
    }

    /// Returns index and distance of the point nearest to `p`; ties go to the smallest index. `None` without points.
    pub fn nearest(&self, p: &Vec3) -> Option<(usize, f64)> {
        self.nearest_within(p, f64::INFINITY)
    }

    /// Returns the nearest point closer than `reach`; a smaller `reach` is quicker.
    pub fn nearest_within(&self, p: &Vec3, reach: f64) -> Option<(usize, f64)> {
        let mut best = (reach * reach, u32::MAX);
        self.search((0, self.points.len()), p, Vec3::zeros(), &mut best);
        (best.1 != u32::MAX).then(|| (best.1 as usize, best.0.sqrt()))
    }

    /// Searches a range; `beyond`: lower bound of the range's distance from `p` along each axis.
    fn search(&self, (from, to): (usize, usize), p: &Vec3, beyond: Vec3, best: &mut (f64, u32)) {
        if to - from <= LEAF_SIZE {
            for i in from..to {
                self.compare_point(i, p, best);
            }
            return;
        }
        let middle = from + (to - from) / 2;
        let axis = self.axis[middle] as usize;
        let apart = p[axis] - self.points[middle][axis];
        let (near, far) = match apart < 0.0 {
            true => ((from, middle), (middle + 1, to)),
            false => ((middle + 1, to), (from, middle)),
        };
        self.search(near, p, beyond, best);
        self.compare_point(middle, p, best);
        let mut across = beyond;
        across[axis] = apart;
        if across.norm_squared() <= best.0 {
            self.search(far, p, across, best);
        }
    }

    fn compare_point(&self, i: usize, p: &Vec3, best: &mut (f64, u32)) {
        let found = ((self.points[i] - p).norm_squared(), self.order[i]);
        if found.0 < best.0 || (found.0 == best.0 && found.1 < best.1) {
            *best = found;
        }
    }
}

/// Partitions a range about the median of its longest axis, and both halves recursively.
fn split(points: &[Vec3], order: &mut [u32], axes: &mut [u8]) {
    if order.len() <= LEAF_SIZE {
        return;
    }
    let (lo, hi) = crate::geometry::aabb::bounds(order.iter().map(|&i| &points[i as usize]));
    let axis = (hi - lo).imax();
    let middle = order.len() / 2;
    let key = |i: &u32| points[*i as usize][axis];
    order.select_nth_unstable_by(middle, |a, b| key(a).total_cmp(&key(b)).then(a.cmp(b)));
    axes[middle] = axis as u8;
    let (left, right) = order.split_at_mut(middle);
    let (left_axes, right_axes) = axes.split_at_mut(middle);
    split(points, left, left_axes);
    split(points, &mut right[1..], &mut right_axes[1..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::shapes::random_points;

    /// The tree finds the same nearest point as a search through all points; of equal points it finds the first.
    #[test]
    fn nearest_matches_brute_force() {
        let points = random_points(500, 1.0, 1);
        let tree = PointTree::new(&points);
        for p in random_points(200, 1.5, 2) {
            let all = points.iter().map(|q| (q - p).norm());
            let (index, least) = all.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            assert_eq!(tree.nearest(&p), Some((index, least)));
        }
        // Of twins the first.
        let twins = PointTree::new(&[Vec3::x(); 30]);
        assert_eq!(twins.nearest(&Vec3::zeros()), Some((0, 1.0)));
        assert_eq!(twins.nearest_within(&Vec3::zeros(), 0.9), None);
        assert_eq!(PointTree::new(&[]).nearest(&Vec3::zeros()), None);
    }
}
