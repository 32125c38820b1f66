// SPDX-License-Identifier: MIT OR Apache-2.0
//! Headings: the own axes of a body about z, which turn as it is turned.
//!
//! A lattice along the world's axes differs from one direction in which a character stands to another; along its own axes it is the
//! same.

use crate::{Mat3, Vec3};
use std::f64::consts::{FRAC_PI_2, PI};

/// Moments below this part of what they could be are no direction: of second order, a body as wide as deep.
const ROUND: f64 = 1e-3;
/// The same of third order: what is left of a body that is its own image turned by half, in files of single precision.
const EVEN: f64 = 1e-5;
/// Points that reach less far from one another than this part of the size, seen along z, face nowhere.
const UPRIGHT: f64 = 0.01;
/// Radians: so little is what rounding leaves of a body that stands along the world's axes.
const STRAIGHT: f64 = 1e-9;
/// Radians by which a half turn is told from its opposite.
const HALF: f64 = 1e-6;

/// A rotation about z, by its cosine and sine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Heading {
    cos: f64,
    sin: f64,
}

impl Heading {
    /// The heading of a body which stands along the world's axes.
    pub const ALONG: Self = Self { cos: 1.0, sin: 0.0 };

    /// The turn from own axes to the world's of weighted points, in units of a size near 1; none where they lie above one
    /// another.
    ///
    /// Own axes are the principal ones of the points seen along z, or those of their fourth moments where they are
    /// as wide as deep; of the quarters that have them, own −y is where points lie farther out. All of that turns with
    /// the points. What is its own mirror image in x, and has more towards −y, stands along its axes already.
    pub fn of(points: &[(f64, Vec3)]) -> Option<Self> {
        let weight: f64 = points.iter().map(|(w, _)| w).sum();
        let middle = points.iter().map(|(w, p)| p * *w).sum::<Vec3>() / weight;
        let [mut second, mut third, mut fourth] = [Planar::default(); 3];
        for (w, p) in points {
            let (x, y) = (p.x - middle.x, p.y - middle.y);
            let r2 = x * x + y * y;
            let [u, v] = [x * x - y * y, 2.0 * x * y];
            second.add(*w, [u, v], r2);
            third.add(*w, [r2 * x, r2 * y], r2 * r2.sqrt());
            // Turned by an eighth: a box's is along its sides then.
            fourth.add(*w, [v * v - u * u, -2.0 * u * v], r2 * r2);
        }
        let upright = second.lengths <= weight * UPRIGHT * UPRIGHT;
        if upright || second.lengths.is_nan() {
            return None;
        }
        let angle = match (second.angle(ROUND), fourth.angle(ROUND)) {
            (Some(a), _) => a / 2.0,
            (None, Some(a)) => a / 4.0,
            (None, None) => 0.0,
        };
        Some(match third.angle(EVEN) {
            // Own −y, a quarter back from own x.
            Some(a) => {
                let front = a + FRAC_PI_2;
                Self::by(angle + ((front - angle) / FRAC_PI_2).round() * FRAC_PI_2)
            }
            None if angle < HALF - FRAC_PI_2 => Self::by(angle + PI),
            None => Self::by(angle),
        })
    }

    /// The same of triangles, by their area; along the world's axes where they face nowhere.
    pub fn of_skin(vertices: &[Vec3], triangles: &[[u32; 3]]) -> Self {
        let points: Vec<(f64, Vec3)> = (triangles.iter())
            .flat_map(|t| over(t.map(|v| vertices[v as usize])))
            .collect();
        Self::of(&points).unwrap_or(Self::ALONG)
    }

    fn by(angle: f64) -> Self {
        let quarters = (angle / FRAC_PI_2).round();
        let rest = angle - quarters * FRAC_PI_2;
        let (sin, cos) = if rest.abs() < STRAIGHT {
            (0.0, 1.0)
        } else {
            rest.sin_cos()
        };
        // Quarters are exact.
        let (cos, sin) = match quarters.rem_euclid(4.0) as u8 {
            0 => (cos, sin),
            1 => (-sin, cos),
            2 => (-cos, -sin),
            _ => (sin, -cos),
        };
        Self { cos, sin }
    }

    /// A vector along own axes, along the world's.
    pub fn to_given(self, v: &Vec3) -> Vec3 {
        if self == Self::ALONG {
            return *v;
        }
        let (c, s) = (self.cos, self.sin);
        Vec3::new(c * v.x - s * v.y, s * v.x + c * v.y, v.z)
    }

    /// The rotation from the world's axes to own ones.
    pub fn to_own_axes(self) -> Mat3 {
        Mat3::from_columns(&[Vec3::x(), Vec3::y(), Vec3::z()].map(|e| self.to_own(&e)))
    }

    /// A vector along the world's axes, along own ones.
    pub fn to_own(self, v: &Vec3) -> Vec3 {
        let back = Self {
            cos: self.cos,
            sin: -self.sin,
        };
        back.to_given(v)
    }
}

/// Points that stand for a triangle, each with a third of its area: the middles of its edges.
fn over([a, b, c]: [Vec3; 3]) -> [(f64, Vec3); 3] {
    let third = (b - a).cross(&(c - a)).norm() / 6.0;
    [(a, b), (b, c), (c, a)].map(|(p, q)| (third, (p + q) * 0.5))
}

/// A sum in the plane of x and y, beside the sum of its terms' lengths.
#[derive(Default, Clone, Copy)]
struct Planar {
    sum: [f64; 2],
    lengths: f64,
}

impl Planar {
    fn add(&mut self, weight: f64, [x, y]: [f64; 2], length: f64) {
        self.sum[0] += weight * x;
        self.sum[1] += weight * y;
        self.lengths += weight * length;
    }

    /// Its direction, radians; none where it is no more than a part of the lengths.
    fn angle(&self, least: f64) -> Option<f64> {
        let [x, y] = self.sum;
        (x.hypot(y) > least * self.lengths).then(|| y.atan2(x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    fn turned(points: &[(f64, Vec3)], by: Heading) -> Vec<(f64, Vec3)> {
        points.iter().map(|(w, p)| (*w, by.to_given(p))).collect()
    }

    fn points(of: &[[f64; 3]]) -> Vec<(f64, Vec3)> {
        of.iter().map(|p| (1.0, Vec3::from(*p))).collect()
    }

    #[test]
    fn own_axes_turn_with_the_points() {
        let lopsided = points(&[
            [0.0, 0.0, 0.0],
            [1.0, 0.2, 0.5],
            [-0.4, 0.3, 1.0],
            [0.1, -2.0, 0.3],
        ]);
        let first = Heading::of(&lopsided).unwrap();
        for k in 1..24 {
            let turn = Heading::by(TAU * f64::from(k) / 24.0 + 0.01);
            let axes = Heading::of(&turned(&lopsided, turn)).unwrap();
            for (_, p) in &lopsided {
                let own = axes.to_own(&turn.to_given(p));
                assert!((own - first.to_own(p)).norm() < 1e-12, "{k}");
            }
        }
    }

    #[test]
    fn what_stands_along_the_axes_is_left_as_it_is() {
        let person = points(&[
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
        for straight in [person, points(&corners)] {
            assert_eq!(Heading::of(&straight), Some(Heading::ALONG));
        }
    }

    #[test]
    fn points_above_one_another_face_nowhere() {
        let tower = points(&[[0.0, 0.0, 0.0], [1e-4, 0.0, 1.0], [0.0, 1e-4, 2.0]]);
        assert_eq!(Heading::of(&tower), None);
    }
}
