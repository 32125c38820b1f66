// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures with known medial sheets for tests.

use super::atom::Atom;
use super::figure::Figure;
use crate::{Mat3, Vec3};
use std::f64::consts::TAU;

/// The slab of an ellipsoid with half axes a ≥ b > c along x, y and z.
pub fn ellipsoid(axes: [f64; 3], rows: usize, cols: usize, reach: f64) -> Figure {
    super::ellipsoid::slab(axes, rows, cols, reach).expect("an ellipsoid has a medial sheet")
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
