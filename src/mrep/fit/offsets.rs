// SPDX-License-Identifier: MIT OR Apache-2.0
//! Last stage of a fit: offsets of a finer boundary along its normals, for detail beyond so few atoms.
//!
//! `min Σ a (t − d)² + c Σ_edges (t_i − t_j)²`, with areas a and distances d of the surface, is linear in the offsets t. It is repeated a few times,
//! as the nearest points change. [oguz2005, slide 14]

use crate::Vec3;
use crate::mrep::figures::boundary::BoundaryShape;
use crate::mrep::figures::figure::Figure;
use crate::progress::{Cancelled, Progress, report_progress};
use faer::Side;
use faer::prelude::Solve;
use faer::sparse::{SparseColMat, Triplet};

/// A target that returns its distances from a boundary one by one.
pub(super) trait ObservedTarget {
    /// Returns the distances, and the misfit of the boundary as a mean squared distance.
    fn observations(&self, shape: &BoundaryShape) -> (Vec<Observation>, f64);
}

/// One distance between target and boundary.
pub(super) struct Observation {
    /// Signed distance, positive outside of the boundary, metres.
    pub distance: f64,
    /// Weight: share of the area.
    pub weight: f64,
    /// Boundary triangle, and minus the derivatives of the distance by its corners.
    pub triangle: u32,
    pub directions: [Vec3; 3],
    /// Radius there, the unit of distances, metres.
    pub radius: f64,
}

/// Largest offset, in radii. Half and twice of it leave fits to a superquadric the same.
const MAX_OFFSET: f64 = 0.5;
/// Largest number of times that nearest points are looked up: offsets are linear between, and move points little after the first. Half and twice of
/// them leave fits to a superquadric the same.
const MAX_LOOKUPS: usize = 4;

/// Moves a boundary's vertices onto the target, along the normals of the figure. `smooth`: length of smoothing, in mean radii.
pub(super) fn minimise(
    target: &dyn ObservedTarget,
    smooth: f64,
    mut shape: BoundaryShape,
    triangles: &[[u32; 3]],
    energies: &mut Vec<f64>,
    progress: &dyn Progress,
) -> Result<BoundaryShape, Cancelled> {
    let base = shape.positions.clone();
    let edges = edges(&base, triangles);
    let mean = shape.radii.iter().sum::<f64>() / shape.radii.len() as f64;
    let mut offsets = vec![0.0; base.len()];
    let smooth = (smooth * mean).powi(2);
    let cost = |misfit: f64, offsets: &[f64]| {
        (misfit + smooth * roughness(&edges, offsets)) / (mean * mean)
    };
    let (mut seen, misfit) = target.observations(&shape);
    let mut energy = cost(misfit, &offsets);
    energies.push(energy);
    for round in 0..MAX_LOOKUPS {
        report_progress(
            progress,
            round as f64 / MAX_LOOKUPS as f64,
            "laying the skin on",
        )?;
        let Some(wanted) = solve(&seen, &edges, &offsets, &shape, triangles, smooth) else {
            break;
        };
        // Shorter steps are tried where the whole one fails.
        let mut taken = None;
        for share in [1.0, 0.5, 0.25, 0.125] {
            let next: Vec<f64> = (offsets.iter().zip(&wanted).zip(&shape.radii))
                .map(|((t, w), r)| (t + share * w).clamp(-MAX_OFFSET * r, MAX_OFFSET * r))
                .collect();
            let positions: Vec<Vec3> = (base.iter().zip(&shape.normals).zip(&next))
                .map(|((p, n), t)| p + n * *t)
                .collect();
            if has_flipped_triangle(&base, &positions, triangles) {
                continue;
            }
            let moved = BoundaryShape {
                positions,
                normals: shape.normals.clone(),
                radii: shape.radii.clone(),
            };
            let (observations, misfit) = target.observations(&moved);
            let after = cost(misfit, &next);
            if after < energy {
                taken = Some((next, moved, observations, after));
                break;
            }
        }
        let Some((next, moved, observations, after)) = taken else {
            break;
        };
        let fall = 1.0 - after / energy;
        (offsets, shape, seen, energy) = (next, moved, observations, after);
        energies.push(energy);
        if fall < 1e-3 {
            break;
        }
    }
    Ok(shape)
}

/// Returns the edges, each with the weight of a squared difference across it.
fn edges(positions: &[Vec3], triangles: &[[u32; 3]]) -> Vec<(u32, u32, f64)> {
    // Cotangent weights approximate the gradient on any triangulation.
    let mut weights = std::collections::BTreeMap::new();
    let mut whole = 0.0;
    for t in triangles {
        let corners = t.map(|v| positions[v as usize]);
        for k in 0..3 {
            let (a, b, c) = (corners[k], corners[(k + 1) % 3], corners[(k + 2) % 3]);
            let (x, y) = (b - a, c - a);
            let double = x.cross(&y).norm();
            if k == 0 {
                whole += 0.5 * double;
            }
            // No weight is negative.
            let weight = (0.5 * x.dot(&y) / double.max(1e-300)).clamp(0.05, 20.0);
            let (v, w) = (t[(k + 1) % 3], t[(k + 2) % 3]);
            *weights.entry((v.min(w), v.max(w))).or_insert(0.0) += weight;
        }
    }
    weights
        .into_iter()
        .map(|((v, w), x)| (v, w, x / whole))
        .collect()
}

/// Returns the integral of the offsets' squared gradient over the area.
fn roughness(edges: &[(u32, u32, f64)], offsets: &[f64]) -> f64 {
    let across = |v: u32, w: u32| offsets[v as usize] - offsets[w as usize];
    edges
        .iter()
        .map(|&(v, w, x)| x * across(v, w).powi(2))
        .sum()
}

/// Solves the linearised problem for the change of the offsets.
fn solve(
    seen: &[Observation],
    edges: &[(u32, u32, f64)],
    offsets: &[f64],
    shape: &BoundaryShape,
    triangles: &[[u32; 3]],
    smooth: f64,
) -> Option<Vec<f64>> {
    let n = offsets.len();
    let mut triplets = Vec::new();
    let mut right = faer::Mat::zeros(n, 1);
    let mut add = |i: u32, j: u32, x: f64| triplets.push(Triplet::new(i as usize, j as usize, x));
    for o in seen {
        let corners = triangles[o.triangle as usize];
        let along: [f64; 3] =
            std::array::from_fn(|k| o.directions[k].dot(&shape.normals[corners[k] as usize]));
        for k in 0..3 {
            if along[k] == 0.0 {
                continue;
            }
            right[(corners[k] as usize, 0)] += o.weight * along[k] * o.distance;
            for l in 0..3 {
                add(corners[k], corners[l], o.weight * along[k] * along[l]);
            }
        }
    }
    for &(v, w, x) in edges {
        let x = x * smooth;
        let difference = offsets[v as usize] - offsets[w as usize];
        right[(v as usize, 0)] -= x * difference;
        right[(w as usize, 0)] += x * difference;
        add(v, v, x);
        add(w, w, x);
        add(v, w, -x);
        add(w, v, -x);
    }
    // Vertices without observations, their own or neighbours', stay.
    let least = 1e-9 / n as f64;
    (0..n as u32).for_each(|v| add(v, v, least));
    let matrix = SparseColMat::<usize, f64>::try_new_from_triplets(n, n, &triplets).ok()?;
    matrix
        .sp_cholesky(Side::Lower)
        .ok()?
        .solve_in_place(&mut right);
    let change: Vec<f64> = (0..n).map(|i| right[(i, 0)]).collect();
    change.iter().all(|x| x.is_finite()).then_some(change)
}

/// Returns whether a triangle has turned over.
fn has_flipped_triangle(before: &[Vec3], after: &[Vec3], triangles: &[[u32; 3]]) -> bool {
    let normal = |positions: &[Vec3], t: &[u32; 3]| {
        let [a, b, c] = t.map(|v| positions[v as usize]);
        (b - a).cross(&(c - a))
    };
    triangles
        .iter()
        .any(|t| normal(before, t).dot(&normal(after, t)) < 0.0)
}

/// Returns the level of the offsets' mesh, one or two finer than that of the fit.
pub(super) fn level(figure: &Figure) -> u32 {
    if figure.kind().atom_count() * figure.kind().spoke_count() > 400 {
        2
    } else {
        3
    }
}
