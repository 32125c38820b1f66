// SPDX-License-Identifier: MIT OR Apache-2.0
//! Volume of Ω.
//!
//! A closed surface that nowhere overlaps itself has the exact volume of signed tetrahedra. Whether it
//! overlaps is seen on columns: lines along one axis, on which the winding number is the running sum of the
//! crossings' signs. Where pieces interpenetrate the columns count the union. Open surfaces and sheets are
//! measured on a grid of signed distances. Columns and grid are good to about one percent.
use super::domain::Domain;
use super::grid::Samples;
use crate::Vec3;
use crate::progress::Silent;
use robust::{Coord, orient2d};

/// Columns across, on average over both axes.
const COLUMNS: f64 = 300.0;
/// Share of the volume that may be wound more than once, or below zero, by rounding.
const OVERLAP: f64 = 1e-3;
/// Cells of the grid along the diagonal.
const CELLS: f64 = 160.0;

/// Volume of Ω in local units.
pub(super) fn volume(vertices: &[Vec3], triangles: &[[u32; 3]], domain: &Domain) -> f64 {
    if !domain.watertight || domain.thin.is_some() {
        return by_grid(vertices, domain);
    }
    let (union, overlap) = by_columns(vertices, triangles, &domain.bodies);
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

/// Volume where the winding number is at least one, and length-weighted measure of where it is neither 0 nor 1.
fn by_columns(vertices: &[Vec3], triangles: &[[u32; 3]], chosen: &[u32]) -> (f64, f64) {
    let (lo, hi) = super::frame::bounds(vertices.iter().copied());
    let extent = hi - lo;
    let axis = extent.imin();
    let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
    let spacing = (extent[u] * extent[v])
        .sqrt()
        .max(extent[u].max(extent[v]) * 1e-3)
        / COLUMNS;
    let rows = (extent[v] / spacing) as u32 + 1;
    // An odd fraction of the spacing, so that columns do not run along the edges of modelled boxes.
    let start = [lo[u] + 0.4142 * spacing, lo[v] + 0.5858 * spacing];
    let mut crossings: Vec<(u32, f64, i32)> = Vec::new();
    for &t in chosen {
        let c = triangles[t as usize];
        let flat = c.map(|x| [vertices[x as usize][u], vertices[x as usize][v]]);
        let range = |k: usize| {
            let (a, b) = (
                flat[0][k].min(flat[1][k]).min(flat[2][k]),
                flat[0][k].max(flat[1][k]).max(flat[2][k]),
            );
            let first = ((a - start[k]) / spacing).ceil().max(0.0) as u32;
            let last = ((b - start[k]) / spacing).floor();
            first..if last < 0.0 { first } else { last as u32 + 1 }
        };
        for i in range(0) {
            for j in range(1) {
                let at = [start[0] + i as f64 * spacing, start[1] + j as f64 * spacing];
                if let Some((sign, weights)) = crossing(&c, &flat, at) {
                    let height = (0..3)
                        .map(|k| weights[k] * vertices[c[k] as usize][axis])
                        .sum();
                    crossings.push((i * rows + j, height, sign));
                }
            }
        }
    }
    crossings.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
    let (mut inside, mut odd) = (0.0, 0.0);
    for column in crossings.chunk_by(|a, b| a.0 == b.0) {
        let mut wound = 0;
        for pair in column.windows(2) {
            wound -= pair[0].2;
            let length = pair[1].1 - pair[0].1;
            if wound >= 1 {
                inside += length;
            }
            if !(0..=1).contains(&wound) {
                odd += length;
            }
        }
    }
    (inside * spacing * spacing, odd * spacing * spacing)
}

/// Direction (along the column or against it) in which a triangle is crossed, and where; exact signs with one
/// rule for both triangles of an edge, so that closed surfaces are crossed an even number of times.
fn crossing(corners: &[u32; 3], flat: &[[f64; 2]; 3], at: [f64; 2]) -> Option<(i32, [f64; 3])> {
    let coord = |p: [f64; 2]| Coord { x: p[0], y: p[1] };
    let mut weights = [0.0; 3];
    let mut signs = [0; 3];
    for k in 0..3 {
        let (i, j) = ((k + 1) % 3, (k + 2) % 3);
        let (a, b, turn) = if corners[i] < corners[j] {
            (i, j, 1.0)
        } else {
            (j, i, -1.0)
        };
        let side = orient2d(coord(flat[a]), coord(flat[b]), coord(at));
        weights[k] = turn * side;
        signs[k] = if side >= 0.0 {
            turn as i32
        } else {
            -turn as i32
        };
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

/// Volume by a grid of signed distances: each node's cell counts by how far the boundary is from its middle.
fn by_grid(vertices: &[Vec3], domain: &Domain) -> f64 {
    let (lo, hi) = super::frame::bounds(vertices.iter().copied());
    let pad = Vec3::repeat(domain.layer);
    let spacing = (hi - lo).norm() / CELLS;
    let Ok(samples) = Samples::take(domain, lo - pad, hi + pad, spacing, &Silent) else {
        return 0.0;
    };
    let inside = |d: &f32| (0.5 - *d as f64 / samples.spacing).clamp(0.0, 1.0);
    samples.values.iter().map(inside).sum::<f64>() * samples.spacing.powi(3)
}
