// SPDX-License-Identifier: MIT OR Apache-2.0
//! New helpers where errors are largest.

use super::alignment::{Map, apply, from_map, to_map};
use super::problem::Problem;
use super::procrustes::nearest_rotation;
use crate::{Mat3, Vec3};
use rayon::prelude::*;

/// Least weight of a bone at the vertices by which a helper of it begins.
const MIN_SHARE: f64 = 0.05;

/// Gaussian weights of pairs of vertices by their distance.
pub(super) struct Nearness {
    /// Weights of the vertices, `[n]`, around each.
    rows: Vec<Vec<f32>>,
}

impl Nearness {
    /// Computes the weights for a radius.
    pub(super) fn new(problem: &Problem, radius: f64) -> Self {
        let row = |v: usize| {
            let mut row = vec![0.0; problem.vertex_count()];
            neighbours(problem, v, radius).for_each(|(u, w)| row[u] = w as f32);
            row
        };
        let vertices = (0..problem.vertex_count()).into_par_iter();
        Self {
            rows: vertices.map(row).collect(),
        }
    }

    /// Returns the vertex of the highest score at the place around which `scores` add up to most.
    pub(super) fn worst_place(&self, scores: &[f64]) -> usize {
        let weighted = |row: &Vec<f32>| -> f64 {
            let terms = row.iter().zip(scores);
            terms.map(|(w, score)| f64::from(*w) * score).sum()
        };
        let sums: Vec<f64> = self.rows.par_iter().map(weighted).collect();
        let largest = |best: usize, v: usize, x: &dyn Fn(usize) -> f64| {
            if x(v) > x(best) { v } else { best }
        };
        let best = (0..sums.len()).fold(0, |best, v| largest(best, v, &|v| sums[v]));
        let near = |u: usize| f64::from(self.rows[best][u]) * scores[u];
        (0..sums.len()).fold(best, |best, v| largest(best, v, &near))
    }
}

/// Returns the vertices within three radii of one, with Gaussian weights.
pub(super) fn neighbours(
    problem: &Problem,
    centre: usize,
    radius: f64,
) -> impl Iterator<Item = (usize, f64)> {
    let c = problem.rest[centre];
    problem.rest.iter().enumerate().filter_map(move |(u, p)| {
        let square: f64 = (0..3).map(|i| (p[i] - c[i]).powi(2)).sum::<f64>() / (radius * radius);
        (square < 9.0).then(|| (u, (-0.5 * square).exp()))
    })
}

/// Returns the rigid maps nearest to the motion of the skin around a vertex, `[f]`.
pub(super) fn local_motion(problem: &Problem, centre: usize, radius: f64) -> Vec<Map> {
    let near: Vec<(usize, f64)> = neighbours(problem, centre, radius).collect();
    let parent = problem.own.row(centre).0[0] as usize;
    nearest_motion(problem, &near, parent, |f, i| {
        Vec3::from(problem.target(f, near[i].0))
    })
}

/// Returns the rigid maps, `[f]`, that bring the skin around a vertex nearest to its place if they take the whole weight of an own bone,
/// and the others stay.
pub(super) fn local_motion_of_share(
    problem: &Problem,
    centre: usize,
    radius: f64,
    parent: u32,
) -> Vec<Map> {
    let share = |v: usize| {
        let (bones, weights) = problem.own.row(v);
        let at = bones.iter().position(|b| *b == parent);
        at.map_or(0.0, |at| weights[at])
    };
    let near: Vec<(usize, f64, f64)> = neighbours(problem, centre, radius)
        .map(|(u, w)| (u, w, share(u)))
        .filter(|n| n.2 > MIN_SHARE)
        .collect();
    // Where the bone has a part of the weight, the helper moves the skin by this part, and errors count as much less.
    let weighted: Vec<(usize, f64)> = near.iter().map(|n| (n.0, n.1 * n.2 * n.2)).collect();
    nearest_motion(problem, &weighted, parent as usize, |f, i| {
        let (u, _, share) = near[i];
        let pose = problem.pose(f);
        let place = |b: u32| Vec3::from(apply(&pose[b as usize], &problem.rest[u]));
        let (bones, weights) = problem.own.row(u);
        let plain: Vec3 = (bones.iter().zip(weights))
            .map(|(b, w)| place(*b) * *w)
            .sum();
        place(parent) + (Vec3::from(problem.target(f, u)) - plain) / share
    })
}

/// Returns the rigid maps, `[f]`, nearest to given places of weighted vertices. A bone turns with them where they do not say how.
fn nearest_motion(
    problem: &Problem,
    near: &[(usize, f64)],
    parent: usize,
    place: impl Fn(usize, usize) -> Vec3 + Sync,
) -> Vec<Map> {
    let total: f64 = near.iter().map(|n| n.1).sum();
    let rest = |u: usize| Vec3::from(problem.rest[u]);
    let mean = near.iter().map(|&(u, w)| rest(u) * w).sum::<Vec3>() / total;
    let fit = |f: usize| {
        let (mut covariance, mut sum) = (Mat3::zeros(), Vec3::zeros());
        for (i, &(u, w)) in near.iter().enumerate() {
            let to = place(f, i);
            sum += to * w;
            covariance += to * (rest(u) - mean).transpose() * w;
        }
        let (linear, _) = from_map(&problem.pose(f)[parent]);
        let rotation = nearest_rotation(&(covariance + linear * (1e-6 * total)))
            .unwrap_or_else(Mat3::identity);
        to_map(&rotation, &(sum / total - rotation * mean))
    };
    (0..problem.frame_count).into_par_iter().map(fit).collect()
}
