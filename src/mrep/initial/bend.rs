// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bend of a body: the curved sheet along which it lies, and the flat body without that bend.
//!
//! Along one axis across the longest one, the sheet is the cubic height `z = h(x, y)` nearest to the body's points. A point of the flat
//! body is (s, y, o): s is the arc length of the sheet's curve at that y, o the distance off the sheet. Curvature across, by y, is not
//! flattened: bodies to which slabs are fitted are longer than wide.

use crate::geometry::moments::BodyMoments;
use crate::mrep::error::MRepError;
use crate::mrep::figures::figure::{Figure, FigureKind};
use crate::{Mat3, Vec3};
use nalgebra::{SMatrix, SVector};

/// Exponents of x and y in the terms of the height.
const HEIGHT_EXPONENTS: [[i32; 2]; 10] = [
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
type HeightTerms = SVector<f64, 10>;

/// A bent sheet, and the map of a flat body onto it.
#[derive(Debug, Clone)]
pub(in crate::mrep) struct SheetBend {
    centre: Vec3,
    /// Columns: along, across, off the sheet.
    axes: Mat3,
    /// Unit of x, y and z, metres.
    size: f64,
    height: HeightTerms,
}

/// Returns the terms, differentiated `by[0]` times by x and `by[1]` times by y, at most once each.
fn terms(x: f64, y: f64, by: [i32; 2]) -> HeightTerms {
    let power = |p: i32, x: f64, by: i32| match by {
        0 => x.powi(p),
        _ if p == 0 => 0.0,
        _ => f64::from(p) * x.powi(p - 1),
    };
    HeightTerms::from_iterator(
        HEIGHT_EXPONENTS.map(|[p, q]| power(p, x, by[0]) * power(q, y, by[1])),
    )
}

impl SheetBend {
    /// Fits the bend of a body to weighted points. `None`: too few points, or degenerate ones.
    pub fn from_points(points: &[(Vec3, f64)]) -> Option<Self> {
        let moments = BodyMoments::from_points(points.iter().copied())?;
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
                height: HeightTerms::zeros(),
            }
            .level_about_length(points)
        });
        let (_, bend) = sheets.min_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(bend)
    }

    /// Returns the root mean square distance of the points off the sheet, in `size`, and the sheet, rolled about its length until it is
    /// level.
    fn level_about_length(mut self, points: &[(Vec3, f64)]) -> Option<(f64, Self)> {
        /// Number of rolls, fixed: a tolerance would stop at different counts for a body in other orientations.
        const ROLL_COUNT: usize = 4;
        let mut best: Option<(f64, Self)> = None;
        for _ in 0..ROLL_COUNT {
            let off = self.fit_height(points)?;
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
    fn fit_height(&mut self, points: &[(Vec3, f64)]) -> Option<f64> {
        /// Least ratio of the smallest to the largest eigenvalue of a solvable system. About half of double precision's digits are left
        /// then.
        const MIN_EIGENVALUE_RATIO: f64 = 1e-9;
        let (mut matrix, mut right) = (SMatrix::<f64, 10, 10>::zeros(), HeightTerms::zeros());
        for (p, w) in points {
            let q = self.to_sheet_axes(*p);
            let row = terms(q.x, q.y, [0, 0]);
            matrix.syger(*w, &row, &row, 1.0);
            right.axpy(w * q.z, &row, 1.0);
        }
        matrix.fill_upper_triangle_with_lower_triangle();
        let values = matrix.symmetric_eigenvalues();
        if values.min() <= MIN_EIGENVALUE_RATIO * values.max() {
            return None;
        }
        self.height = matrix.cholesky()?.solve(&right);
        let (mut squares, mut whole) = (0.0, 0.0);
        for (p, w) in points {
            let q = self.to_sheet_axes(*p);
            squares += w * (q.z - self.height_at(q.x, q.y)).powi(2);
            whole += w;
        }
        Some((squares / whole).sqrt())
    }

    /// Returns the point of the flat body for a point of the bent one.
    pub fn straighten(&self, p: Vec3) -> Vec3 {
        let q = self.to_sheet_axes(p);
        let [along, across] = self.slopes(q.x, q.y);
        let off = (q.z - self.height_at(q.x, q.y)) / (1.0 + along * along + across * across).sqrt();
        self.to_world(Vec3::new(self.arc_length(q.x, q.y), q.y, off))
    }

    /// Bends a slab in the flat body.
    ///
    /// # Errors
    /// See [`Figure::slab`].
    pub fn bend_figure(&self, flat: &Figure) -> Result<Figure, MRepError> {
        let FigureKind::Slab { rows, cols } = flat.kind() else {
            return Ok(flat.clone());
        };
        let mut atoms = flat.atoms().to_vec();
        for atom in &mut atoms {
            let q = self.to_sheet_axes(atom.hub);
            let x = self.position_at_length(q.x, q.y);
            let [along, across] = self.slopes(x, q.y);
            let off = Vec3::new(-along, -across, 1.0).normalize();
            let on = Vec3::new(1.0, 0.0, along).normalize();
            let turn = Mat3::from_columns(&[on, off.cross(&on), off]);
            atom.hub = self.to_world(Vec3::new(x, q.y, self.height_at(x, q.y)) + off * q.z);
            atom.frame = self.axes * turn * self.axes.transpose() * atom.frame;
        }
        Figure::slab(rows, cols, atoms)
    }

    fn to_sheet_axes(&self, p: Vec3) -> Vec3 {
        self.axes.tr_mul(&(p - self.centre)) / self.size
    }

    fn to_world(&self, q: Vec3) -> Vec3 {
        self.centre + self.axes * q * self.size
    }

    fn height_at(&self, x: f64, y: f64) -> f64 {
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
    fn arc_length(&self, x: f64, y: f64) -> f64 {
        /// Number of intervals of the rule, whose error falls with their fourth power. The integrand is the root of a polynomial of degree
        /// four.
        const SIMPSON_INTERVALS: usize = 16;
        let sum: f64 = (0..=SIMPSON_INTERVALS)
            .map(|k| {
                let weight = match k {
                    0 | SIMPSON_INTERVALS => 1.0,
                    _ if k % 2 == 1 => 4.0,
                    _ => 2.0,
                };
                weight * self.stretch(x * k as f64 / SIMPSON_INTERVALS as f64, y)
            })
            .sum();
        sum * x / (3 * SIMPSON_INTERVALS) as f64
    }

    /// Returns the x at which the curve at y has an arc length.
    fn position_at_length(&self, length: f64, y: f64) -> f64 {
        // The curve is no shorter than its x: bisection first, then Newton's steps.
        let (mut near, mut far) = (0.0, length);
        for _ in 0..8 {
            let middle = 0.5 * (near + far);
            if self.arc_length(middle, y).abs() < length.abs() {
                near = middle;
            } else {
                far = middle;
            }
        }
        let mut x = 0.5 * (near + far);
        for _ in 0..4 {
            x -= (self.arc_length(x, y) - length) / self.stretch(x, y);
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
        // A cubic is not a circle: the remaining bend makes the plate thicker.
        for (angle, most) in [(0.02, 0.05), (0.5, 0.05), (1.0, 0.2), (1.4, 0.5)] {
            let plain = plate(angle, &Mat3::identity(), 1.0, Vec3::zeros());
            let bend = SheetBend::from_points(&plain).unwrap();
            let flat = plain.iter().map(|(p, w)| (bend.straighten(*p), *w));
            let (_, spreads) = BodyMoments::from_points(flat).unwrap().axes();
            for (spread, half) in spreads.iter().zip([2.0, 0.7, 0.1_f64]) {
                let known = half * half / 3.0;
                let error = (spread / known - 1.0).abs();
                assert!(error < most, "{angle}: {spreads:?}");
            }
            let (turn, shift) = (rotation(), Vec3::new(3.0, -20.0, 1.0));
            let moved = SheetBend::from_points(&plate(angle, &turn, 0.02, shift)).unwrap();
            for (p, _) in &plain {
                let there = moved.straighten(turn * p * 0.02 + shift);
                let here = turn * bend.straighten(*p) * 0.02 + shift;
                assert!((there - here).norm() < 1e-9 * 0.02);
            }
        }
    }

    /// A flat body is not changed, and too few points give no bend.
    #[test]
    fn bend_keeps_flat_body() {
        let block = crate::surface::shapes::sphere(1.0, 20)
            .map_vertices(|p| Vec3::new(3.0 * p.x, 2.0 * p.y, p.z));
        let points: Vec<(Vec3, f64)> = block.vertices.iter().map(|p| (*p, 1.0)).collect();
        let bend = SheetBend::from_points(&points).unwrap();
        for (p, _) in &points {
            assert!((bend.straighten(*p) - p).norm() < 1e-9);
        }
        assert!(SheetBend::from_points(&points[..9]).is_none());
        assert!(SheetBend::from_points(&[]).is_none());
    }

    /// `position_at_length` inverts `arc_length` along the sheet.
    #[test]
    fn position_at_length_inverts_arc_length() {
        let bend = SheetBend::from_points(&plate(1.4, &rotation(), 1.0, Vec3::zeros())).unwrap();
        for p in random_points(50, 1.0, 2) {
            let (x, y) = (1.5 * p.x, 0.3 * p.y);
            let length = bend.arc_length(x, y);
            assert!(length.abs() >= x.abs());
            assert!((bend.position_at_length(length, y) - x).abs() < 1e-9);
        }
    }
}
