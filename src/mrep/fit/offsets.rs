// SPDX-License-Identifier: MIT OR Apache-2.0
//! Last stage: what no figure of so few atoms can show, as offsets of a finer boundary along its normals.
//!
//! `min Σ a (t − d)² + c Σ_edges (t_i − t_j)²`, with areas a and distances d of the surface, is linear in the offsets t; as the
//! nearest places change it is repeated a few times. [oguz2005, slide 14]

use super::super::boundary::Shape;
use super::super::figure::Figure;
use crate::Vec3;
use crate::progress::{Cancelled, Progress, step};
use faer::Side;
use faer::prelude::Solve;
use faer::sparse::{SparseColMat, Triplet};

/// A target whose distances from a boundary are asked for one by one.
pub(super) trait Seen {
    /// Distances, and how far the boundary misses on the whole, as a squared distance.
    fn observations(&self, shape: &Shape) -> (Vec<Observation>, f64);
}

/// One comparison.
pub(super) struct Observation {
    /// Signed distance, outside of the boundary positive, metres.
    pub distance: f64,
    /// Weight: share of the area.
    pub weight: f64,
    /// Boundary triangle, and minus the derivatives of the distance by its corners.
    pub triangle: u32,
    pub directions: [Vec3; 3],
    /// Radius there that distances are measured by.
    pub radius: f64,
}

/// Offsets stay below this share of the radius. Half and twice of it leave fits to a superquadric the same.
const FARTHEST: f64 = 0.5;
/// Times that the nearest places are looked up anew: offsets are linear between, and move places little after the first. Half and twice of them leave
/// fits to a superquadric the same.
const ROUNDS: usize = 4;

/// Moves a boundary's vertices onto the target, along the normals of the figure. Offsets may differ by as much as they err over
/// `smooth` times the mean radius.
pub(super) fn minimise(
    target: &dyn Seen,
    smooth: f64,
    mut shape: Shape,
    triangles: &[[u32; 3]],
    energies: &mut Vec<f64>,
    progress: &dyn Progress,
) -> Result<Shape, Cancelled> {
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
    for round in 0..ROUNDS {
        step(progress, round as f64 / ROUNDS as f64, "laying the skin on")?;
        let Some(wanted) = solve(&seen, &edges, &offsets, &shape, triangles, smooth) else {
            break;
        };
        // Shorter where the whole step is too much.
        let mut taken = None;
        for share in [1.0, 0.5, 0.25, 0.125] {
            let next: Vec<f64> = (offsets.iter().zip(&wanted).zip(&shape.radii))
                .map(|((t, w), r)| (t + share * w).clamp(-FARTHEST * r, FARTHEST * r))
                .collect();
            let positions: Vec<Vec3> = (base.iter().zip(&shape.normals).zip(&next))
                .map(|((p, n), t)| p + n * *t)
                .collect();
            if turned(&base, &positions, triangles) {
                continue;
            }
            let moved = Shape {
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

/// Edges with the weight of a squared difference across them.
fn edges(positions: &[Vec3], triangles: &[[u32; 3]]) -> Vec<(u32, u32, f64)> {
    // Cotangents make differences a gradient, whatever the triangles are like.
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
            // No edge pushes apart.
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

/// Integral of the offsets' squared gradient over the area.
fn roughness(edges: &[(u32, u32, f64)], offsets: &[f64]) -> f64 {
    let across = |v: u32, w: u32| offsets[v as usize] - offsets[w as usize];
    edges
        .iter()
        .map(|&(v, w, x)| x * across(v, w).powi(2))
        .sum()
}

/// The change of offsets that the linearised problem asks for.
fn solve(
    seen: &[Observation],
    edges: &[(u32, u32, f64)],
    offsets: &[f64],
    shape: &Shape,
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
    // Where nothing is seen, and nothing near either, nothing moves.
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

/// Whether a triangle has turned over.
fn turned(before: &[Vec3], after: &[Vec3], triangles: &[[u32; 3]]) -> bool {
    let normal = |positions: &[Vec3], t: &[u32; 3]| {
        let [a, b, c] = t.map(|v| positions[v as usize]);
        (b - a).cross(&(c - a))
    };
    triangles
        .iter()
        .any(|t| normal(before, t).dot(&normal(after, t)) < 0.0)
}

/// The level of the mesh that offsets stand on: two finer than a figure of few atoms is fitted with.
pub(super) fn level(figure: &Figure) -> u32 {
    if figure.kind().atoms() * figure.kind().spokes() > 400 {
        2
    } else {
        3
    }
}
