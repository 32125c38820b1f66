// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grid of a body's quadrature points: its axes, middle and unit turn, move and scale with the skin.
//!
//! The axes are the principal axes of the skin's area. Bodies with equal moments, such as a ball, have them by rounding.
//! A turned copy of such a body has other points, which differ by the error of the quadrature.

use crate::geometry::aabb::{bounds, diagonal};
use crate::geometry::moments::{BodyMoments, vertex_areas};
use crate::surface::Surface;
use crate::{Mat3, Vec3};

/// Axes and middle of a grid, in which voxels are cubes.
#[derive(Debug, Clone)]
pub(super) struct PointGrid {
    /// The grid's axes as columns, in rest axes.
    axes: Mat3,
    /// Centroid of the skin, metres.
    middle: Vec3,
    /// Smallest and largest coordinates of the skin along the axes, from the middle, metres.
    bounds: (Vec3, Vec3),
}

impl PointGrid {
    /// Returns the grid of a surface.
    pub fn new(surface: &Surface) -> Self {
        let welded = surface.welded();
        let areas = vertex_areas(&welded.vertices, &welded.triangles);
        let weighted = welded.vertices.iter().copied().zip(areas);
        let moments = BodyMoments::from_points(weighted);
        let (axes, middle) = moments.map_or_else(
            || {
                (
                    Mat3::identity(),
                    welded.vertices.first().copied().unwrap_or_default(),
                )
            },
            |moments| (moments.axes().0, moments.centre),
        );
        let own = welded.vertices.iter().map(|x| axes.tr_mul(&(x - middle)));
        Self {
            axes,
            middle,
            bounds: bounds(own),
        }
    }

    /// Returns the diagonal of the skin's box along the axes, metres.
    pub fn size(&self) -> f64 {
        diagonal([&self.bounds.0, &self.bounds.1])
    }

    /// Returns the rest position of a point of the grid.
    pub fn position(&self, own: &Vec3) -> Vec3 {
        self.middle + self.axes * own
    }

    /// Returns a vector along the grid's axes in rest axes.
    pub fn vector(&self, own: Vec3) -> Vec3 {
        self.axes * own
    }

    /// Returns the box along the grid's axes, from the middle, around the part of a box in rest axes that is within a
    /// distance of the skin's box.
    pub fn own_box(&self, (lo, hi): (Vec3, Vec3), margin: f64) -> (Vec3, Vec3) {
        let centre = self.axes.tr_mul(&((lo + hi) * 0.5 - self.middle));
        let extent = self.axes.transpose().abs() * ((hi - lo) * 0.5);
        let margin = Vec3::repeat(margin);
        (
            (centre - extent).sup(&(self.bounds.0 - margin)),
            (centre + extent).inf(&(self.bounds.1 + margin)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::shapes;

    fn grid(turn: &Mat3, scale: f64, shift: Vec3) -> PointGrid {
        let shape = shapes::cuboid(Vec3::new(0.5, 2.0, 1.0));
        let shape = shape.map_vertices(|p| turn * (p + 0.2 * p.y * Vec3::z()) * scale + shift);
        PointGrid::new(&Surface::new(shape.vertices, shape.triangles).unwrap())
    }

    /// The grid turns, moves and scales with the skin; axes may point backwards.
    #[test]
    fn grid_is_carried() {
        let turn = *nalgebra::Rotation3::new(Vec3::new(0.4, -1.1, 2.0)).matrix();
        let shift = Vec3::new(50.0, -3.0, 2.0);
        let plain = grid(&Mat3::identity(), 1.0, Vec3::zeros());
        let moved = grid(&turn, 0.3, shift);
        assert!((moved.size() - 0.3 * plain.size()).abs() < 1e-12);
        assert!((moved.middle - shift - turn * plain.middle * 0.3).norm() < 1e-12);
        for k in 0..3 {
            let along = (turn * plain.axes.column(k)).dot(&moved.axes.column(k));
            assert!((along.abs() - 1.0).abs() < 1e-12);
        }
    }

    /// A box in rest axes is inside its box along the grid's axes, and no box exceeds that of the skin by more than the margin.
    #[test]
    fn boxes_are_around_boxes() {
        let grid = grid(
            nalgebra::Rotation3::new(Vec3::new(0.4, -1.1, 2.0)).matrix(),
            1.0,
            Vec3::zeros(),
        );
        let (lo, hi) = (Vec3::new(-0.3, 0.1, -0.2), Vec3::new(0.1, 0.2, 0.3));
        let (first, last) = grid.own_box((lo, hi), 0.0);
        for corner in 0..8 {
            let pick = |k: usize| if corner >> k & 1 == 0 { lo[k] } else { hi[k] };
            let own = grid
                .axes
                .tr_mul(&(Vec3::from_fn(|k, _| pick(k)) - grid.middle));
            assert!(own >= first.add_scalar(-1e-12) && own <= last.add_scalar(1e-12));
            assert!((grid.position(&own) - Vec3::from_fn(|k, _| pick(k))).norm() < 1e-12);
        }
        let everywhere = grid.own_box((Vec3::repeat(-1e9), Vec3::repeat(1e9)), 0.1);
        assert!((everywhere.0 - grid.bounds.0).add_scalar(0.1).amax() < 1e-12);
        assert!((everywhere.1 - grid.bounds.1).add_scalar(-0.1).amax() < 1e-12);
    }
}
