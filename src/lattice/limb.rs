// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells for tests: lattices that follow a bent and twisted limb, and single cells pushed out of shape.

use super::Cell;
use crate::Vec3;
use crate::surface::shapes::Random;

/// Shape of a limb: a straight grid that is twisted, bent and jittered.
#[derive(Debug, Clone, Copy)]
pub struct LimbShape {
    /// Turn about its axis from end to end, radians.
    pub twist: f64,
    /// Turn of the axis from end to end, radians.
    pub bend: f64,
    /// Largest random displacement of a vertex in each direction, as a part of a cell.
    pub jitter: f64,
    pub seed: u64,
}

/// Cells along an edge of the cross-section, and along the limb.
const CELL_COUNTS: [usize; 2] = [3, 6];

impl LimbShape {
    /// Builds vertices and hexahedra; in columns of cells for which `prisms` holds, two prisms replace each hexahedron.
    pub fn lattice(self, prisms: impl Fn(usize) -> bool) -> (Vec<Vec3>, Vec<Cell>) {
        let [n, m] = CELL_COUNTS;
        let mut random = Random(self.seed);
        let mut vertices = Vec::new();
        for k in 0..=m {
            for j in 0..=n {
                for i in 0..=n {
                    let moved = Vec3::from_fn(|_, _| (2.0 * random.next() - 1.0) * self.jitter);
                    let p = Vec3::new(i as f64, j as f64, k as f64) + moved;
                    vertices.push(self.map_point(p - Vec3::new(1.5, 1.5, 0.0)));
                }
            }
        }
        let at = |i: usize, j: usize, k: usize| (i + (n + 1) * (j + (n + 1) * k)) as u32;
        let mut cells = Vec::new();
        for c in 0..n * n * m {
            let (i, j, k) = (c % n, c / n % n, c / (n * n));
            let h: [u32; 8] =
                std::array::from_fn(|b| at(i + (b & 1), j + (b >> 1 & 1), k + (b >> 2)));
            if prisms(c % (n * n)) {
                cells.push(Cell::Prism([0, 1, 3, 4, 5, 7].map(|b| h[b])));
                cells.push(Cell::Prism([0, 3, 2, 4, 7, 6].map(|b| h[b])));
            } else {
                cells.push(Cell::Hexahedron(h));
            }
        }
        (vertices, cells)
    }

    /// Maps a point of the straight limb, whose axis is z, to the twisted and bent one.
    fn map_point(self, p: Vec3) -> Vec3 {
        let along = p.z / CELL_COUNTS[1] as f64;
        let turned = nalgebra::Rotation3::from_axis_angle(&Vec3::z_axis(), self.twist * along) * p;
        if self.bend == 0.0 {
            return turned;
        }
        let radius = CELL_COUNTS[1] as f64 / self.bend;
        let (sin, cos) = (self.bend * along).sin_cos();
        let out = radius - turned.x;
        Vec3::new(radius - out * cos, turned.y, out * sin)
    }
}

/// Builds a cell with corners 0, 1, 2, …, of the kind that `kind % 3` selects. Each corner is displaced by up to `jitter`
/// in each direction from that of a regular cell of edge one.
pub fn crumpled_cell(kind: usize, jitter: f64, random: &mut Random) -> (Cell, Vec<Vec3>) {
    let cube = |i: usize| Vec3::new((i & 1) as f64, (i >> 1 & 1) as f64, (i >> 2) as f64);
    let (cell, regular): (Cell, Vec<Vec3>) = match kind % 3 {
        0 => (
            Cell::Hexahedron(std::array::from_fn(|i| i as u32)),
            (0..8).map(cube).collect(),
        ),
        1 => (
            Cell::Prism(std::array::from_fn(|i| i as u32)),
            [0, 1, 2, 4, 5, 6].map(cube).to_vec(),
        ),
        _ => (
            Cell::Tetrahedron([0, 1, 2, 3]),
            [0, 1, 2, 4].map(cube).to_vec(),
        ),
    };
    let mut push = || Vec3::from_fn(|_, _| (2.0 * random.next() - 1.0) * jitter);
    let x = regular.into_iter().map(|p| p + push()).collect();
    (cell, x)
}
