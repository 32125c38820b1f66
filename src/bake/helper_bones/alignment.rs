// SPDX-License-Identifier: MIT OR Apache-2.0
//! Axes that move with the character: each frame is turned and moved onto the rest shape as nearly as a rigid motion can, in units of
//! the character's size.
//!
//! In these axes a character's way through the world, its size and its orientation change nothing but rounding.

use crate::geometry::rotation::best_rotation;
use crate::{Mat3, Vec3};

/// An affine map `x ↦ B x + t`, the rows of `[B | t]`.
pub(super) type Map = [f64; 12];

/// Returns the image of a point.
#[inline]
pub(super) fn apply(map: &Map, p: &[f64; 3]) -> [f64; 3] {
    let row = |i: usize| map[i] * p[0] + map[i + 1] * p[1] + map[i + 2] * p[2] + map[i + 3];
    [row(0), row(4), row(8)]
}

/// Returns the scalar product.
#[inline]
pub(super) fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Returns the map with a linear part and a translation.
pub(super) fn to_map(linear: &Mat3, translation: &Vec3) -> Map {
    std::array::from_fn(|i| match i % 4 {
        3 => translation[i / 4],
        column => linear[(i / 4, column)],
    })
}

/// Returns the linear part and the translation of a map.
pub(super) fn from_map(map: &Map) -> (Mat3, Vec3) {
    let linear = Mat3::from_fn(|i, j| map[4 * i + j]);
    (linear, Vec3::new(map[3], map[7], map[11]))
}

/// Rigid motion of a frame onto the rest shape: `x ↦ R (x − c)`, then in units of the size.
#[derive(Debug, Clone)]
pub(super) struct Alignment {
    rotation: Mat3,
    centre: Vec3,
}

/// Centre and size of the rest shape, m.
#[derive(Debug, Clone)]
pub(super) struct RestFrame {
    pub centre: Vec3,
    pub size: f64,
}

impl RestFrame {
    /// Measures the mean of the vertices, and the root of their mean square distance from it.
    pub(super) fn new(rest: &[f32]) -> Self {
        let count = (rest.len() / 3) as f64;
        let centre = rest.chunks_exact(3).map(point).sum::<Vec3>() / count;
        let square: f64 = rest
            .chunks_exact(3)
            .map(|p| (point(p) - centre).norm_squared())
            .sum();
        let size = (square / count).sqrt();
        // A single point has no size; any unit does.
        let size = if size > 0.0 { size } else { 1.0 };
        Self { centre, size }
    }

    /// Returns a vertex of the rest shape in these axes and units.
    pub(super) fn local(&self, p: &[f32]) -> [f64; 3] {
        ((point(p) - self.centre) / self.size).into()
    }
}

impl Alignment {
    /// Fits the motion of a frame.
    pub(super) fn new(frame: &[f32], rest: &[f32], rest_frame: &RestFrame) -> Self {
        let count = (frame.len() / 3) as f64;
        let centre = frame.chunks_exact(3).map(point).sum::<Vec3>() / count;
        let mut covariance = Mat3::zeros();
        for (to, from) in rest.chunks_exact(3).zip(frame.chunks_exact(3)) {
            covariance += (point(to) - rest_frame.centre) * (point(from) - centre).transpose();
        }
        let rotation = best_rotation(&covariance).unwrap_or_else(Mat3::identity);
        Self { rotation, centre }
    }

    /// Returns a point of the frame in the axes of the rest shape, in units of its size.
    pub(super) fn local(&self, p: &[f32], size: f64) -> [f64; 3] {
        (self.rotation * (point(p) - self.centre) / size).into()
    }

    /// Returns a map from rest to this frame as one between local points.
    pub(super) fn local_map(&self, linear: &Mat3, translation: &Vec3, rest: &RestFrame) -> Map {
        let moved = self.rotation * (linear * rest.centre + translation - self.centre) / rest.size;
        to_map(&(self.rotation * linear), &moved)
    }

    /// Returns a map between local points as one from rest to this frame.
    pub(super) fn world_map(&self, map: &Map, rest: &RestFrame) -> (Mat3, Vec3) {
        let (linear, translation) = from_map(map);
        let linear = self.rotation.transpose() * linear;
        let moved = self.rotation.transpose() * translation * rest.size;
        (linear, moved + self.centre - linear * rest.centre)
    }
}

fn point(p: &[f32]) -> Vec3 {
    Vec3::new(p[0].into(), p[1].into(), p[2].into())
}
