// SPDX-License-Identifier: MIT OR Apache-2.0
//! Volume of Ω.
//!
//! A closed surface that nowhere overlaps itself has the exact volume of signed tetrahedra. Whether it
//! overlaps is seen on columns: lines along one axis, on which the winding number is the running sum of the
//! crossings' signs. Where pieces interpenetrate the columns count the union. On open surfaces and sheets
//! the winding number also changes between crossings: there the columns are cut into short pieces and Ω is
//! asked in the middle of each. Columns are good to about one percent.
use super::domain::Domain;
use crate::Vec3;
use rayon::prelude::*;
use robust::{Coord, orient2d};

/// Columns across, on average over both axes: where crossings say all, and where pieces are asked.
const COLUMNS: [f64; 2] = [300.0, 180.0];
/// Longest piece, as a fraction of the diagonal.
const PIECE: f64 = 0.02;
/// Share of the volume that may be wound more than once, or below zero, by rounding.
const OVERLAP: f64 = 1e-3;

/// Volume of Ω in local units.
pub(super) fn volume(vertices: &[Vec3], triangles: &[[u32; 3]], domain: &Domain) -> f64 {
    let (lo, hi) = super::frame::bounds(vertices.iter().copied());
    if !domain.watertight || domain.thin.is_some() {
        let pad = Vec3::repeat(domain.layer);
        let columns = Columns::new(lo - pad, hi + pad, COLUMNS[1]);
        let crossings = columns.crossings(vertices, triangles, &domain.bodies);
        return columns.asked(crossings, domain);
    }
    let columns = Columns::new(lo, hi, COLUMNS[0]);
    let crossings = columns.crossings(vertices, triangles, &domain.bodies);
    let (union, overlap) = columns.wound(crossings);
    let exact: f64 = domain
        .bodies
        .iter()
        .map(|&t| {
            let [a, b, c] = triangles[t as usize].map(|v| vertices[v as usize]);
            a.dot(&b.cross(&c)) / 6.0
        })
        .sum();
    let agree = (exact - union).abs() <= 0.02 * union;
    if overlap <= OVERLAP * union && (agree || overlap == 0.0) {
        exact
    } else {
        union
    }
}

/// Parallel lines through a box, along its shortest axis.
struct Columns {
    lo: Vec3,
    hi: Vec3,
    axis: usize,
    /// Between columns, along the next two axes.
    spacing: [f64; 2],
    /// Number of columns along the next two axes.
    count: [u32; 2],
}

/// Where a column meets a triangle.
struct Crossing {
    column: u32,
    height: f64,
    /// +1 where the column leaves, −1 where it enters.
    sign: i32,
}

impl Columns {
    fn new(lo: Vec3, hi: Vec3, across: f64) -> Self {
        let extent = hi - lo;
        let axis = extent.imin();
        let [a, b] = [extent[(axis + 1) % 3], extent[(axis + 2) % 3]];
        let spacing = (a * b).sqrt().max(a.max(b) * 1e-3) / across;
        let count = [a, b].map(|x| (x / spacing).ceil().max(1.0) as u32);
        Self {
            lo,
            hi,
            axis,
            spacing: [a / count[0] as f64, b / count[1] as f64],
            count,
        }
    }

    /// Place of a column along the axis after (0) or before (1) its own. Not quite the middle, so that
    /// columns keep off the edges of modelled boxes and the plane of symmetry.
    fn place(&self, k: usize, i: u32) -> f64 {
        self.lo[(self.axis + 1 + k) % 3] + (i as f64 + [0.4897, 0.5123][k]) * self.spacing[k]
    }

    /// Area that one column stands for.
    fn area(&self) -> f64 {
        self.spacing[0] * self.spacing[1]
    }

    /// Crossings with the chosen triangles, by column and height.
    fn crossings(
        &self,
        vertices: &[Vec3],
        triangles: &[[u32; 3]],
        chosen: &[u32],
    ) -> Vec<Crossing> {
        let (u, v) = ((self.axis + 1) % 3, (self.axis + 2) % 3);
        let mut found = Vec::new();
        for &t in chosen {
            let corners = triangles[t as usize];
            let flat = corners.map(|x| [vertices[x as usize][u], vertices[x as usize][v]]);
            let range = |k: usize| {
                let low = flat[0][k].min(flat[1][k]).min(flat[2][k]);
                let high = flat[0][k].max(flat[1][k]).max(flat[2][k]);
                let column = |x: f64| (x - self.place(k, 0)) / self.spacing[k];
                let first = column(low).ceil().max(0.0) as u32;
                let end = (column(high).floor() + 1.0).max(0.0) as u32;
                first..end.min(self.count[k])
            };
            for i in range(0) {
                for j in range(1) {
                    let at = [self.place(0, i), self.place(1, j)];
                    let Some((sign, weights)) = crossing(&corners, &flat, at) else {
                        continue;
                    };
                    let height = |k: usize| weights[k] * vertices[corners[k] as usize][self.axis];
                    found.push(Crossing {
                        column: i * self.count[1] + j,
                        height: height(0) + height(1) + height(2),
                        sign,
                    });
                }
            }
        }
        found.sort_by(|a, b| {
            let by_height = a.height.total_cmp(&b.height);
            a.column
                .cmp(&b.column)
                .then(by_height)
                .then(a.sign.cmp(&b.sign))
        });
        found
    }

    /// Volume with a winding number of at least one, and volume where it is neither 0 nor 1.
    fn wound(&self, crossings: Vec<Crossing>) -> (f64, f64) {
        let (mut inside, mut odd) = (0.0, 0.0);
        for column in crossings.chunk_by(|a, b| a.column == b.column) {
            let mut wound = 0;
            for pair in column.windows(2) {
                wound -= pair[0].sign;
                let length = pair[1].height - pair[0].height;
                if wound >= 1 {
                    inside += length;
                }
                if !(0..=1).contains(&wound) {
                    odd += length;
                }
            }
        }
        (inside * self.area(), odd * self.area())
    }

    /// Volume by asking in the middle of pieces that end at crossings and at even steps, shifted from column to
    /// column so that flat layers are not all missed or all hit.
    fn asked(&self, crossings: Vec<Crossing>, domain: &Domain) -> f64 {
        let (bottom, top) = (self.lo[self.axis], self.hi[self.axis]);
        let longest = PIECE * (self.hi - self.lo).norm();
        let length_inside = |column: u32| {
            let first = crossings.partition_point(|c| c.column < column);
            let own = crossings[first..].iter().take_while(|c| c.column == column);
            let shift = (column as f64 * 0.618_033_988_749_895).fract();
            let steps = (0..).map(|k| bottom + (k as f64 + shift) * longest);
            let mut ends: Vec<f64> = own.map(|c| c.height.clamp(bottom, top)).collect();
            ends.extend(steps.take_while(|&z| z < top));
            ends.extend([bottom, top]);
            ends.sort_by(f64::total_cmp);
            let mut p = Vec3::zeros();
            p[(self.axis + 1) % 3] = self.place(0, column / self.count[1]);
            p[(self.axis + 2) % 3] = self.place(1, column % self.count[1]);
            let mut inside = 0.0;
            for pair in ends.windows(2).filter(|pair| pair[1] > pair[0]) {
                p[self.axis] = 0.5 * (pair[0] + pair[1]);
                if domain.contains(&p) {
                    inside += pair[1] - pair[0];
                }
            }
            inside
        };
        let lengths: Vec<f64> = (0..self.count[0] * self.count[1])
            .into_par_iter()
            .with_min_len(64)
            .map(length_inside)
            .collect();
        lengths.iter().sum::<f64>() * self.area()
    }
}

/// Direction (along the column or against it) in which a triangle is crossed, and the weights of its corners
/// there. The signs are exact, with one rule for both triangles of an edge: closed surfaces are entered as
/// often as they are left.
fn crossing(corners: &[u32; 3], flat: &[[f64; 2]; 3], at: [f64; 2]) -> Option<(i32, [f64; 3])> {
    let coord = |p: [f64; 2]| Coord { x: p[0], y: p[1] };
    let mut weights = [0.0; 3];
    let mut signs = [0; 3];
    for k in 0..3 {
        let (i, j) = ((k + 1) % 3, (k + 2) % 3);
        let forward = corners[i] < corners[j];
        let (a, b) = if forward { (i, j) } else { (j, i) };
        let side = orient2d(coord(flat[a]), coord(flat[b]), coord(at));
        weights[k] = if forward { side } else { -side };
        signs[k] = if (side >= 0.0) == forward { 1 } else { -1 };
    }
    if signs[0] != signs[1] || signs[1] != signs[2] {
        return None;
    }
    let total: f64 = weights.iter().sum();
    let weights = if total == 0.0 {
        [1.0 / 3.0; 3]
    } else {
        weights.map(|w| w / total)
    };
    Some((signs[0], weights))
}
