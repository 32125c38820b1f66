// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures with known medial sheets for tests.

use super::atom::Atom;
use super::figure::Figure;
use crate::{Mat3, Vec3};
use std::f64::consts::TAU;

/// The medial sheet of an ellipsoid with half axes a ≥ b > c, in its first two axes, by rows along b and columns along a: a square
/// grid squeezed into the ellipse, its border at `reach` of the sheet's. Spokes and end spokes reach the ellipsoid exactly.
pub fn ellipsoid([a, b, c]: [f64; 3], rows: usize, cols: usize, reach: f64) -> Figure {
    let mut atoms = Vec::new();
    for i in 0..rows {
        for j in 0..cols {
            let even = |k: usize, n: usize| 2.0 * k as f64 / (n - 1) as f64 - 1.0;
            let (s, t) = (even(j, cols), even(i, rows));
            let squeeze = |s: f64, t: f64| s * (1.0 - 0.6 * t * t / 2.0).sqrt();
            let (x, y) = (squeeze(s, t) * reach, squeeze(t, s) * reach);
            // Scaled so that the sheet's own border is the unit circle.
            let hub = Vec3::new(x * (a * a - c * c) / a, y * (b * b - c * c) / b, 0.0);
            let foot = Vec3::new(x * a, y * b, c * (1.0 - x * x - y * y).sqrt());
            let spoke = foot - hub;
            let flat = Vec3::new(spoke.x, spoke.y, 0.0);
            let b_axis = flat.try_normalize(1e-9).unwrap_or(Vec3::x());
            let n = Vec3::z();
            let r = spoke.norm();
            // How far it is from the hub along b to the ellipsoid.
            let scaled = |v: Vec3| Vec3::new(v.x / a, v.y / b, v.z / c);
            let (h, d) = (scaled(hub), scaled(b_axis));
            let (hd, dd) = (h.dot(&d), d.norm_squared());
            let far = (-hd + (hd * hd + dd * (1.0 - h.norm_squared())).sqrt()) / dd;
            atoms.push(Atom {
                end: far / r,
                ..Atom::new(
                    hub,
                    r,
                    Mat3::from_columns(&[b_axis, n.cross(&b_axis), n]),
                    (spoke.z / r).asin(),
                    2,
                )
            });
        }
    }
    Figure::slab(rows, cols, atoms).expect("an ellipsoid has a medial sheet")
}

/// A tube along a helix, its radius swelling once.
pub fn helix(atoms: usize, spokes: usize) -> Figure {
    let along = |i: usize| {
        let s = i as f64 / (atoms - 1) as f64;
        let (sin, cos) = (s * 2.0).sin_cos();
        let hub = Vec3::new(2.0 * cos, 2.0 * sin, 1.5 * s);
        let b = Vec3::new(-4.0 * sin, 4.0 * cos, 1.5).normalize();
        let n = Vec3::new(cos, sin, 0.0);
        let frame = Mat3::from_columns(&[b, n.cross(&b), n]);
        Atom::new(
            hub,
            0.5 + 0.2 * (s * TAU / 2.0).sin(),
            frame,
            TAU / 4.0,
            spokes,
        )
    };
    Figure::tube((0..atoms).map(along).collect()).expect("a helix is a tube")
}
