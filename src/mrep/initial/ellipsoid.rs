// SPDX-License-Identifier: MIT OR Apache-2.0
//! The slab of an ellipsoid: a flat body whose medial sheet is known exactly.

use crate::mrep::error::MRepError;
use crate::mrep::figures::atom::Atom;
use crate::mrep::figures::figure::Figure;
use crate::{Mat3, Vec3};

/// Amount by which the corners of a square grid are pulled in to lie in the ellipse: a square's border in a circle would have corners of nearly
/// 180°, which fold. With half and twice of it no slab goes into a superquadric.
const CORNER_ROUNDING: f64 = 0.6;

/// Returns a place of an even grid squeezed into the unit circle, as \[across the columns, across the rows\]. The border is at `reach`, and a little
/// beyond at the corners.
pub(in crate::mrep) fn squeeze_into_circle(
    [i, j]: [usize; 2],
    [rows, cols]: [usize; 2],
    reach: f64,
) -> [f64; 2] {
    let even = |k: usize, n: usize| 2.0 * k as f64 / (n.max(2) - 1) as f64 - 1.0;
    let (s, t) = (even(j, cols), even(i, rows));
    let squeeze = |s: f64, t: f64| s * (1.0 - CORNER_ROUNDING * t * t / 2.0).sqrt() * reach;
    [squeeze(s, t), squeeze(t, s)]
}

/// Builds the slab on the medial sheet of an ellipsoid with half axes a ≥ b > c along x, y and z. Rows run along y, columns along x, and the border
/// is at `reach` of the sheet's. Spokes and end spokes reach the ellipsoid exactly.
///
/// # Errors
/// Axes or numbers of atoms that do not form a slab.
pub(in crate::mrep) fn slab(
    [a, b, c]: [f64; 3],
    rows: usize,
    cols: usize,
    reach: f64,
) -> Result<Figure, MRepError> {
    crate::mrep::figures::figure::FigureKind::Slab { rows, cols }.check()?;
    let mut atoms = Vec::new();
    for i in 0..rows {
        for j in 0..cols {
            let [x, y] = squeeze_into_circle([i, j], [rows, cols], reach);
            // Scaled so that the sheet's own border is the unit circle.
            let hub = Vec3::new(x * (a * a - c * c) / a, y * (b * b - c * c) / b, 0.0);
            let foot = Vec3::new(x * a, y * b, c * (1.0 - x * x - y * y).sqrt());
            let spoke = foot - hub;
            let flat = Vec3::new(spoke.x, spoke.y, 0.0);
            let b_axis = flat.try_normalize(1e-9 * a).unwrap_or(Vec3::x());
            let n = Vec3::z();
            let r = spoke.norm();
            // Distance from the hub along b to the ellipsoid.
            let scaled = |v: Vec3| Vec3::new(v.x / a, v.y / b, v.z / c);
            let (h, d) = (scaled(hub), scaled(b_axis));
            let (hd, dd) = (h.dot(&d), d.norm_squared());
            let far = (-hd + (hd * hd + dd * (1.0 - h.norm_squared())).sqrt()) / dd;
            let frame = Mat3::from_columns(&[b_axis, n.cross(&b_axis), n]);
            atoms.push(Atom {
                end: far / r,
                ..Atom::new(hub, r, frame, (spoke.z / r).clamp(-1.0, 1.0).asin(), 2)
            });
        }
    }
    Figure::slab(rows, cols, atoms)
}
