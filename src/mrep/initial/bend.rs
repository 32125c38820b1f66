// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bend of a body: the curved sheet along which it lies, and the flat body without that bend.
//!
//! Along one axis across the longest one, the sheet is the cubic height `z = h(x, y)` nearest to the body's points. A point of the flat
//! body is (s, y, o): s is the arc length of the sheet's curve at that y, o the distance off the sheet. Curvature across, by y, is not
//! flattened: bodies to which slabs are fitted are longer than wide.

use crate::geometry::moments::Moments;
use crate::mrep::error::MRepError;
use crate::mrep::figures::figure::{Figure, Kind};
use crate::{Mat3, Vec3};
use nalgebra::{SMatrix, SVector};

/// Exponents of x and y in the terms of the height.
const POWERS: [[i32; 2]; 10] = [
    [0, 0],
    [1, 0],
    [0, 1],
    [2, 0],
    [1, 1],
    [0, 2],
    [3, 0],
    [2, 1],
    [1, 2],
    [0, 3],
];
type Terms = SVector<f64, 10>;

/// A bent sheet, and the map of a flat body onto it.
#[derive(Debug, Clone)]
pub(in crate::mrep) struct Bend {
    centre: Vec3,
    /// Columns: along, across, off the sheet.
    axes: Mat3,
    /// Unit of x, y and z, metres.
    size: f64,
    height: Terms,
}

/// Returns the terms, differentiated `by[0]` times by x and `by[1]` times by y, at most once each.
fn terms(x: f64, y: f64, by: [i32; 2]) -> Terms {
    let power = |p: i32, x: f64, by: i32| match by {
        0 => x.powi(p),
        _ if p == 0 => 0.0,
        _ => f64::from(p) * x.powi(p - 1),
    };
    Terms::from_iterator(POWERS.map(|[p, q]| power(p, x, by[0]) * power(q, y, by[1])))
}

impl Bend {
    /// Fits the bend of a body to weighted points. `None`: too few points, or degenerate ones.
    pub fn of(points: &[(Vec3, f64)]) -> Option<Self> {
        let moments = Moments::of_points(points.iter().copied())?;
        let (axes, spreads) = moments.axes();
        let size = spreads[0].sqrt();
        // A bend makes a body high, so the thin direction may have the second largest spread; both are tried.
        let other = Mat3::from_columns(&[
            axes.column(0).into_owned(),
            axes.column(2).into_owned(),
            -axes.column(1).into_owned(),
        ]);
        let sheets = [axes, other].into_iter().filter_map(|axes| {
            Self {
                centre: moments.centre,
                axes,
                size,
                height: Terms::zeros(),
            }
            .rolled(points)
        });
        let (_, bend) = sheets.min_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(bend)
    }

    /// Returns the root mean square distance of the points off the sheet, in `size`, and the sheet, rolled about its length until it is
    /// level.
    fn rolled(mut self, points: &[(Vec3, f64)]) -> Option<(f64, Self)> {
        /// Number of rolls, fixed: a tolerance would stop at different counts for a body in other orientations.
        const ROLLS: usize = 4;
        let mut best: Option<(f64, Self)> = None;
        for _ in 0..ROLLS {
            let off = self.fitted(points)?;
            if best.as_ref().is_none_or(|(least, _)| off < *least) {
                best = Some((off, self.clone()));
            }
            let [_, across] = self.slopes(0.0, 0.0);
            let [along, y, z] = [0, 1, 2].map(|k| self.axes.column(k).into_owned());
            let off = (z - y * across).normalize();
            self.axes = Mat3::from_columns(&[along, off.cross(&along), off]);
        }
        best
    }

    /// Fits the sheet to the points; returns their root mean square distance, in `size`.
    fn fitted(&mut self, points: &[(Vec3, f64)]) -> Option<f64> {
        /// Least ratio of the smallest to the largest eigenvalue of a solvable system. About half of double precision's digits are left
        /// then.
        const LEAST: f64 = 1e-9;
        let (mut matrix, mut right) = (SMatrix::<f64, 10, 10>::zeros(), Terms::zeros());
        for (p, w) in points {
            let q = self.own(*p);
            let row = terms(q.x, q.y, [0, 0]);
            matrix.syger(*w, &row, &row, 1.0);
            right.axpy(w * q.z, &row, 1.0);
        }
        matrix.fill_upper_triangle_with_lower_triangle();
        let values = matrix.symmetric_eigenvalues();
        if values.min() <= LEAST * values.max() {
            return None;
        }
        self.height = matrix.cholesky()?.solve(&right);
        let (mut squares, mut whole) = (0.0, 0.0);
        for (p, w) in points {
            let q = self.own(*p);
            squares += w * (q.z - self.at(q.x, q.y)).powi(2);
            whole += w;
        }
        Some((squares / whole).sqrt())
    }

    /// Returns the point of the flat body for a point of the bent one.
    pub fn straightened(&self, p: Vec3) -> Vec3 {
        let q = self.own(p);
        let [along, across] = self.slopes(q.x, q.y);
        let off = (q.z - self.at(q.x, q.y)) / (1.0 + along * along + across * across).sqrt();
        self.placed(Vec3::new(self.length(q.x, q.y), q.y, off))
    }

    /// Bends a slab in the flat body.
    ///
    /// # Errors
    /// See [`Figure::slab`].
    pub fn bent(&self, flat: &Figure) -> Result<Figure, MRepError> {
        let Kind::Slab { rows, cols } = flat.kind() else {
            return Ok(flat.clone());
        };
        let mut atoms = flat.atoms().to_vec();
        for atom in &mut atoms {
            let q = self.own(atom.hub);
            let x = self.foot(q.x, q.y);
            let [along, across] = self.slopes(x, q.y);
            let off = Vec3::new(-along, -across, 1.0).normalize();
            let on = Vec3::new(1.0, 0.0, along).normalize();
            let turn = Mat3::from_columns(&[on, off.cross(&on), off]);
            atom.hub = self.placed(Vec3::new(x, q.y, self.at(x, q.y)) + off * q.z);
            atom.frame = self.axes * turn * self.axes.transpose() * atom.frame;
        }
        Figure::slab(rows, cols, atoms)
    }

    fn own(&self, p: Vec3) -> Vec3 {
        self.axes.tr_mul(&(p - self.centre)) / self.size
    }

    fn placed(&self, q: Vec3) -> Vec3 {
        self.centre + self.axes * q * self.size
    }

    fn at(&self, x: f64, y: f64) -> f64 {
        self.height.dot(&terms(x, y, [0, 0]))
    }

    fn slopes(&self, x: f64, y: f64) -> [f64; 2] {
        [[1, 0], [0, 1]].map(|by| self.height.dot(&terms(x, y, by)))
    }

    /// Returns the derivative of the arc length by x of the sheet's curve at y.
    fn stretch(&self, x: f64, y: f64) -> f64 {
        self.slopes(x, y)[0].hypot(1.0)
    }

    /// Returns the arc length of the sheet's curve at y from 0 to x, by Simpson's rule.
    fn length(&self, x: f64, y: f64) -> f64 {
        /// Number of intervals of the rule, whose error falls with their fourth power. The integrand is the root of a polynomial of degree
        /// four.
        const PARTS: usize = 16;
        let sum: f64 = (0..=PARTS)
            .map(|k| {
                let weight = match k {
                    0 | PARTS => 1.0,
                    _ if k % 2 == 1 => 4.0,
                    _ => 2.0,
                };
                weight * self.stretch(x * k as f64 / PARTS as f64, y)
            })
            .sum();
        sum * x / (3 * PARTS) as f64
    }

    /// Returns the x at which the curve at y has an arc length.
    fn foot(&self, length: f64, y: f64) -> f64 {
        // The curve is no shorter than its x: bisection first, then Newton's steps.
        let (mut near, mut far) = (0.0, length);
        for _ in 0..8 {
            let middle = 0.5 * (near + far);
            if self.length(middle, y).abs() < length.abs() {
                near = middle;
            } else {
                far = middle;
            }
        }
        let mut x = 0.5 * (near + far);
        for _ in 0..4 {
            x -= (self.length(x, y) - length) / self.stretch(x, y);
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::shapes::random_points;

    /// Points of a plate of half axes 2, 0.7 and 0.1, bent upward by so many radians at its ends.
    fn plate(angle: f64, turn: &Mat3, scale: f64, shift: Vec3) -> Vec<(Vec3, f64)> {
        let radius = 2.0 / angle;
        let bent = |p: Vec3| {
            let a = 2.0 * p.x / radius;
            let r = radius - 0.1 * p.z;
            Vec3::new(r * a.sin(), 0.7 * p.y, radius - r * a.cos())
        };
        let points = random_points(4000, 1.0, 5).into_iter();
        points
            .map(|p| (turn * bent(p) * scale + shift, 1.0))
            .collect()
    }

    fn rotation() -> Mat3 {
        *nalgebra::Rotation3::new(Vec3::new(0.4, 1.1, -2.0)).matrix()
    }

    /// A bent plate is flat after it is straightened, wherever it lies.
    #[test]
    fn straightened_plate_is_flat() {
        // A cubic is no circle: what is left of the bend makes the plate thicker.
        for (angle, most) in [(0.02, 0.05), (0.5, 0.05), (1.0, 0.2), (1.4, 0.5)] {
            let plain = plate(angle, &Mat3::identity(), 1.0, Vec3::zeros());
            let bend = Bend::of(&plain).unwrap();
            let flat = plain.iter().map(|(p, w)| (bend.straightened(*p), *w));
            let (_, spreads) = Moments::of_points(flat).unwrap().axes();
            for (spread, half) in spreads.iter().zip([2.0, 0.7, 0.1_f64]) {
                let known = half * half / 3.0;
                let error = (spread / known - 1.0).abs();
                assert!(error < most, "{angle}: {spreads:?}");
            }
            let (turn, shift) = (rotation(), Vec3::new(3.0, -20.0, 1.0));
            let moved = Bend::of(&plate(angle, &turn, 0.02, shift)).unwrap();
            for (p, _) in &plain {
                let there = moved.straightened(turn * p * 0.02 + shift);
                let here = turn * bend.straightened(*p) * 0.02 + shift;
                assert!((there - here).norm() < 1e-9 * 0.02);
            }
        }
    }

    /// A flat body is not changed, and too few points give no bend.
    #[test]
    fn bend_keeps_flat_body() {
        let block = crate::surface::shapes::sphere(1.0, 20)
            .mapped(|p| Vec3::new(3.0 * p.x, 2.0 * p.y, p.z));
        let points: Vec<(Vec3, f64)> = block.vertices.iter().map(|p| (*p, 1.0)).collect();
        let bend = Bend::of(&points).unwrap();
        for (p, _) in &points {
            assert!((bend.straightened(*p) - p).norm() < 1e-9);
        }
        assert!(Bend::of(&points[..9]).is_none());
        assert!(Bend::of(&[]).is_none());
    }

    /// `foot` inverts `length` along the sheet.
    #[test]
    fn bend_foot_inverts_length() {
        let bend = Bend::of(&plate(1.4, &rotation(), 1.0, Vec3::zeros())).unwrap();
        for p in random_points(50, 1.0, 2) {
            let (x, y) = (1.5 * p.x, 0.3 * p.y);
            let length = bend.length(x, y);
            assert!(length.abs() >= x.abs());
            assert!((bend.foot(length, y) - x).abs() < 1e-9);
        }
    }
}
