// SPDX-License-Identifier: MIT OR Apache-2.0
//! Volume of Ω.
//!
//! A closed surface without self-overlap has the exact volume of signed tetrahedra. Overlap is detected on
//! columns: lines along one axis, on which the winding number is the running sum of the crossings' signs. If
//! pieces interpenetrate, the columns measure the union. On open surfaces the winding number also changes
//! between crossings and is sampled there; the layer around sheets is intersected exactly. Columns are
//! processed in passes until these agree, or to the last. They are good to about one percent.
mod columns;
mod layer;
mod wound;

use super::domain::Domain;
use super::winding::WindingTree;
use crate::Vec3;
use crate::progress::{Cancelled, Progress, report_progress};
use columns::{ColumnGrid, ColumnPass, Crossing, PASS_COUNT};
use rayon::prelude::*;

/// Number of columns across the box, averaged over both axes: where crossings suffice, and where the winding number is
/// sampled.
const COLUMNS_ACROSS: [f64; 2] = [300.0, 180.0];
/// Share of the volume with a winding number other than 0 or 1 that counts as rounding.
const MAX_OVERLAP_SHARE: f64 = 1e-3;
/// Smallest number of passes.
const MIN_PASSES: usize = 9;
/// Relative standard error of the passes' mean at which no more are taken.
const PASS_TOLERANCE: f64 = 4e-3;

/// Measures the volume of Ω in local units.
pub(super) fn volume(
    vertices: &[Vec3],
    triangles: &[[u32; 3]],
    domain: &Domain,
    progress: &dyn Progress,
) -> Result<f64, Cancelled> {
    let (lo, hi) = crate::geometry::aabb::bounds(vertices);
    if !domain.watertight || domain.thin.is_some() {
        let pad = Vec3::repeat(domain.layer);
        let columns = ColumnGrid::new(lo - pad, hi + pad, COLUMNS_ACROSS[1]);
        let one = |pass| {
            (
                sampled_lengths(&columns, pass, vertices, triangles, domain, &domain.winding),
                0.0,
            )
        };
        return Ok(integrate_passes(&columns, &one, &|_| true, progress)?.0);
    }
    let columns = ColumnGrid::new(lo, hi, COLUMNS_ACROSS[0]);
    let one = |pass| wound_lengths(&columns.crossings(pass, vertices, triangles, &domain.bodies));
    // Little overlap may escape few columns.
    let plain = |overlap: f64| overlap > 10.0 * MAX_OVERLAP_SHARE;
    let (union, overlap) = integrate_passes(&columns, &one, &plain, progress)?;
    let exact: f64 = domain
        .bodies
        .iter()
        .map(|&t| {
            let [a, b, c] = triangles[t as usize].map(|v| vertices[v as usize]);
            a.dot(&b.cross(&c)) / 6.0
        })
        .sum();
    let agree = (exact - union).abs() <= 0.02 * union;
    if overlap <= MAX_OVERLAP_SHARE * union && (agree || overlap == 0.0) {
        Ok(exact)
    } else {
        Ok(union)
    }
}

/// Integrates two lengths over columns and returns them as volumes. Stops before the last pass once the passes' means
/// of the first length agree and `enough` accepts the second as a share of the first.
fn integrate_passes(
    columns: &ColumnGrid,
    one: &dyn Fn(ColumnPass) -> (f64, f64),
    enough: &dyn Fn(f64) -> bool,
    progress: &dyn Progress,
) -> Result<(f64, f64), Cancelled> {
    let (mut sums, mut taken) = ((0.0, 0.0), 0);
    let mut means = Vec::new();
    for k in 0..PASS_COUNT {
        report_progress(
            progress,
            f64::from(k) / f64::from(PASS_COUNT),
            "measuring the volume",
        )?;
        let pass = ColumnPass::from_index(k);
        let count = columns.columns_of_pass(pass).len();
        if count == 0 {
            continue;
        }
        let (length, other) = one(pass);
        sums = (sums.0 + length, sums.1 + other);
        taken += count;
        means.push(length / count as f64);
        if means.len() >= MIN_PASSES && enough(sums.1 / sums.0) && agree(&means) {
            break;
        }
    }
    report_progress(progress, 1.0, "measuring the volume")?;
    let each = columns.area() * f64::from(columns.len()) / taken.max(1) as f64;
    Ok((sums.0 * each, sums.1 * each))
}

/// Returns whether the standard error of the passes' mean is within [`PASS_TOLERANCE`].
fn agree(means: &[f64]) -> bool {
    let n = means.len() as f64;
    let mean = means.iter().sum::<f64>() / n;
    let spread: f64 = means.iter().map(|x| (x - mean).powi(2)).sum();
    (spread / (n * (n - 1.0))).sqrt() <= PASS_TOLERANCE * mean
}

/// Returns the length with a winding number of at least one, and the length where it is neither 0 nor 1.
fn wound_lengths(crossings: &[Crossing]) -> (f64, f64) {
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
    (inside, odd)
}

/// Returns the length in open bodies and in the layer around sheets.
fn sampled_lengths(
    columns: &ColumnGrid,
    pass: ColumnPass,
    vertices: &[Vec3],
    triangles: &[[u32; 3]],
    domain: &Domain,
    tree: &WindingTree,
) -> f64 {
    let crossings = columns.crossings(pass, vertices, triangles, &domain.bodies);
    let mut stays: Vec<layer::LayerInterval> = domain
        .layer_triangles()
        .par_iter()
        .flat_map_iter(|&t| {
            let x = triangles[t as usize].map(|v| vertices[v as usize]);
            layer::layer_intervals(columns, pass, &x, domain.layer)
        })
        .collect();
    stays.sort_by(|a, b| a.column.cmp(&b.column).then(a.from.total_cmp(&b.from)));
    let (bottom, top) = (columns.lo[columns.axis], columns.hi[columns.axis]);
    let lengths: Vec<f64> = columns
        .columns_of_pass(pass)
        .into_par_iter()
        .with_min_len(16)
        .map(|column| {
            let first = crossings.partition_point(|c| c.column < column);
            let own = crossings[first..].partition_point(|c| c.column == column);
            let near = stays.partition_point(|s| s.column < column);
            let near = stays[near..].iter().take_while(|s| s.column == column);
            let mut inside: Vec<(f64, f64)> = near.map(|s| (s.from, s.to)).collect();
            if !domain.bodies.is_empty() {
                let winding = |z| tree.winding_number(&columns.point(column, z));
                let open = wound::WoundColumn {
                    crossings: &crossings[first..first + own],
                    winding: (!domain.watertight).then_some(&winding),
                    diagonal: (columns.hi - columns.lo).norm(),
                };
                let shift = (f64::from(column) * 0.618_033_988_749_895).fract();
                inside.extend(open.inside_intervals(bottom, top, shift));
            }
            union_length(inside)
        })
        .collect();
    lengths.iter().sum()
}

/// Returns the length of the union of intervals.
fn union_length(mut intervals: Vec<(f64, f64)>) -> f64 {
    intervals.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut sum, mut end) = (0.0, f64::NEG_INFINITY);
    for (from, to) in intervals {
        sum += (to - from.max(end)).max(0.0);
        end = end.max(to);
    }
    sum
}
