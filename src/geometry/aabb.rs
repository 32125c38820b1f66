// SPDX-License-Identifier: MIT OR Apache-2.0
//! Axis-aligned bounding boxes of points.

use crate::Vec3;
use parry3d_f64::bounding_volume::Aabb;
use parry3d_f64::math::Vector;
use parry3d_f64::partitioning::{Bvh, BvhBuildStrategy};
use std::borrow::Borrow;

/// Converts a box to parry's type.
pub(crate) fn to_parry(lo: &Vec3, hi: &Vec3) -> Aabb {
    let corner = |v: &Vec3| Vector::new(v.x, v.y, v.z);
    Aabb::new(corner(lo), corner(hi))
}

/// Builds a bounding volume hierarchy of boxes.
pub(crate) fn hierarchy(boxes: impl ExactSizeIterator<Item = (Vec3, Vec3)>) -> Bvh {
    let boxes = boxes.map(|(lo, hi)| to_parry(&lo, &hi));
    Bvh::from_iter(BvhBuildStrategy::Binned, boxes.enumerate())
}

/// Returns the smallest and largest coordinates; (+∞, −∞) without points.
pub(crate) fn bounds<P: Borrow<Vec3>>(points: impl IntoIterator<Item = P>) -> (Vec3, Vec3) {
    let far = Vec3::repeat(f64::INFINITY);
    points.into_iter().fold((far, -far), |(lo, hi), p| {
        (lo.inf(p.borrow()), hi.sup(p.borrow()))
    })
}

/// Returns the length of the bounding box's diagonal; 0 without points.
pub(crate) fn diagonal<P: Borrow<Vec3>>(points: impl IntoIterator<Item = P>) -> f64 {
    let (lo, hi) = bounds(points);
    if lo.x <= hi.x { (hi - lo).norm() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The box holds all points, and the box of no points has size zero.
    #[test]
    fn bounds_hold_all_points() {
        let points = [Vec3::new(1.0, -2.0, 0.5), Vec3::new(-1.0, 0.0, 0.5)];
        let (lo, hi) = bounds(points);
        assert_eq!(
            (lo, hi),
            (Vec3::new(-1.0, -2.0, 0.5), Vec3::new(1.0, 0.0, 0.5))
        );
        assert_eq!(diagonal(points), 8f64.sqrt());
        assert_eq!(diagonal(Vec::<Vec3>::new()), 0.0);
    }
}
