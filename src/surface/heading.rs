// SPDX-License-Identifier: MIT OR Apache-2.0
//! Headings: a body's own axes about z, which turn with the body.
//!
//! A lattice along the world's axes depends on the direction in which a character faces; along its own axes it does
//! not.

use crate::{Mat3, Vec3};
use std::f64::consts::{FRAC_PI_2, PI};

/// Relative size of a second or fourth moment below which it gives no direction: the body is as wide as deep.
const MIN_SECOND_MOMENT: f64 = 1e-3;
/// Relative size of a third moment below which it gives no direction: residue of half-turn symmetry in single precision.
const MIN_THIRD_MOMENT: f64 = 1e-5;
/// Root mean square horizontal distance of points from their centroid, in sizes, below which they have no heading.
const MIN_HORIZONTAL_EXTENT: f64 = 0.01;
/// Angle, radians, below which a turn is rounding and the body stands along the world's axes.
const MIN_ANGLE: f64 = 1e-9;
/// Tolerance, radians, in the choice between an angle and its opposite.
const ANGLE_TOLERANCE: f64 = 1e-6;

/// A rotation about z, from a body's own axes to the world's, by its cosine and sine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Heading {
    cos: f64,
    sin: f64,
}

impl Heading {
    /// The heading of a body that stands along the world's axes.
    pub const ALIGNED: Self = Self { cos: 1.0, sin: 0.0 };

    /// Returns the heading of weighted points, given in units of a size near 1; `None` if they lie above one another.
    ///
    /// Own axes are the principal axes of the points projected along z, or those of their fourth moments if they are as
    /// wide as deep. Of the four quarter turns, the one with own −y towards the farther points is taken. All of this
    /// turns with the points. A body that is its own mirror image in x, with more towards −y, has the heading `ALIGNED`.
    pub fn from_points(points: &[(f64, Vec3)]) -> Option<Self> {
        let weight: f64 = points.iter().map(|(w, _)| w).sum();
        let middle = points.iter().map(|(w, p)| p * *w).sum::<Vec3>() / weight;
        let [mut second, mut third, mut fourth] = [PlanarSum::default(); 3];
        for (w, p) in points {
            let (x, y) = (p.x - middle.x, p.y - middle.y);
            let r2 = x * x + y * y;
            let [u, v] = [x * x - y * y, 2.0 * x * y];
            second.add(*w, [u, v], r2);
            third.add(*w, [r2 * x, r2 * y], r2 * r2.sqrt());
            // Rotated by an eighth of a turn, so that a box's direction lies along its sides.
            fourth.add(*w, [v * v - u * u, -2.0 * u * v], r2 * r2);
        }
        let upright = second.lengths <= weight * MIN_HORIZONTAL_EXTENT * MIN_HORIZONTAL_EXTENT;
        if upright || second.lengths.is_nan() {
            return None;
        }
        let angle = match (
            second.angle(MIN_SECOND_MOMENT),
            fourth.angle(MIN_SECOND_MOMENT),
        ) {
            (Some(a), _) => a / 2.0,
            (None, Some(a)) => a / 4.0,
            (None, None) => 0.0,
        };
        Some(match third.angle(MIN_THIRD_MOMENT) {
            // Own −y is a quarter turn back from own x.
            Some(a) => {
                let front = a + FRAC_PI_2;
                Self::from_angle(angle + ((front - angle) / FRAC_PI_2).round() * FRAC_PI_2)
            }
            None if angle < ANGLE_TOLERANCE - FRAC_PI_2 => Self::from_angle(angle + PI),
            None => Self::from_angle(angle),
        })
    }

    /// Returns the heading of triangles, weighted by area; `ALIGNED` if they lie above one another.
    pub fn from_triangles(vertices: &[Vec3], triangles: &[[u32; 3]]) -> Self {
        let points: Vec<(f64, Vec3)> = (triangles.iter())
            .flat_map(|t| quadrature_points(t.map(|v| vertices[v as usize])))
            .collect();
        Self::from_points(&points).unwrap_or(Self::ALIGNED)
    }

    /// Returns the rotation by an angle, radians; quarter turns are exact.
    fn from_angle(angle: f64) -> Self {
        let quarters = (angle / FRAC_PI_2).round();
        let rest = angle - quarters * FRAC_PI_2;
        let (sin, cos) = if rest.abs() < MIN_ANGLE {
            (0.0, 1.0)
        } else {
            rest.sin_cos()
        };
        // Quarter turns are exact.
        let (cos, sin) = match quarters.rem_euclid(4.0) as u8 {
            0 => (cos, sin),
            1 => (-sin, cos),
            2 => (-cos, -sin),
            _ => (sin, -cos),
        };
        Self { cos, sin }
    }

    /// Converts a vector from own axes to the world's.
    pub fn to_given(self, v: &Vec3) -> Vec3 {
        if self == Self::ALIGNED {
            return *v;
        }
        let (c, s) = (self.cos, self.sin);
        Vec3::new(c * v.x - s * v.y, s * v.x + c * v.y, v.z)
    }

    /// Returns the rotation from the world's axes to own ones.
    pub fn to_own_axes(self) -> Mat3 {
        Mat3::from_columns(&[Vec3::x(), Vec3::y(), Vec3::z()].map(|e| self.to_own(&e)))
    }

    /// Converts a vector from the world's axes to own ones.
    pub fn to_own(self, v: &Vec3) -> Vec3 {
        let back = Self {
            cos: self.cos,
            sin: -self.sin,
        };
        back.to_given(v)
    }
}

/// Returns quadrature points of a triangle, each with a third of its area: the midpoints of its edges.
fn quadrature_points([a, b, c]: [Vec3; 3]) -> [(f64, Vec3); 3] {
    let third = (b - a).cross(&(c - a)).norm() / 6.0;
    [(a, b), (b, c), (c, a)].map(|(p, q)| (third, (p + q) * 0.5))
}

/// A sum of vectors in the x-y plane, with the sum of their lengths.
#[derive(Default, Clone, Copy)]
struct PlanarSum {
    sum: [f64; 2],
    lengths: f64,
}

impl PlanarSum {
    fn add(&mut self, weight: f64, [x, y]: [f64; 2], length: f64) {
        self.sum[0] += weight * x;
        self.sum[1] += weight * y;
        self.lengths += weight * length;
    }

    /// Returns the direction of the sum, radians; `None` if its length is at most `least` times the sum of lengths.
    fn angle(&self, least: f64) -> Option<f64> {
        let [x, y] = self.sum;
        (x.hypot(y) > least * self.lengths).then(|| y.atan2(x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    fn rotate_points(points: &[(f64, Vec3)], by: Heading) -> Vec<(f64, Vec3)> {
        points.iter().map(|(w, p)| (*w, by.to_given(p))).collect()
    }

    fn unit_weight_points(of: &[[f64; 3]]) -> Vec<(f64, Vec3)> {
        of.iter().map(|p| (1.0, Vec3::from(*p))).collect()
    }

    /// The own axes of a body turn with its points.
    #[test]
    fn heading_turns_with_points() {
        let lopsided = unit_weight_points(&[
            [0.0, 0.0, 0.0],
            [1.0, 0.2, 0.5],
            [-0.4, 0.3, 1.0],
            [0.1, -2.0, 0.3],
        ]);
        let first = Heading::from_points(&lopsided).unwrap();
        for k in 1..24 {
            let turn = Heading::from_angle(TAU * f64::from(k) / 24.0 + 0.01);
            let axes = Heading::from_points(&rotate_points(&lopsided, turn)).unwrap();
            for (_, p) in &lopsided {
                let own = axes.to_own(&turn.to_given(p));
                assert!((own - first.to_own(p)).norm() < 1e-12, "{k}");
            }
        }
    }

    /// A body that stands along the axes keeps them as its own.
    #[test]
    fn heading_keeps_aligned_body() {
        let person = unit_weight_points(&[
            [1.0, 0.0, 1.4],
            [-1.0, 0.0, 1.4],
            [0.0, -1.0, 0.0],
            [0.0, 0.5, 0.0],
            [0.0, 0.5, 1.0],
        ]);
        let corners = [
            [1.0, 1.0, 0.0],
            [1.0, -1.0, 0.0],
            [-1.0, 1.0, 0.0],
            [-1.0, -1.0, 0.0],
        ];
        for straight in [person, unit_weight_points(&corners)] {
            assert_eq!(Heading::from_points(&straight), Some(Heading::ALIGNED));
        }
    }

    /// Points above one another have no heading.
    #[test]
    fn tower_has_no_heading() {
        let tower = unit_weight_points(&[[0.0, 0.0, 0.0], [1e-4, 0.0, 1.0], [0.0, 1e-4, 2.0]]);
        assert_eq!(Heading::from_points(&tower), None);
    }
}
