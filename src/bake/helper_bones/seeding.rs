// SPDX-License-Identifier: MIT OR Apache-2.0
//! New helpers where errors are largest.

use super::alignment::{Map, apply, from_map, to_map};
use super::problem::Problem;
use crate::geometry::rotation::best_rotation;
use crate::{Mat3, Vec3};
use rayon::prelude::*;

/// Least weight of a bone at the vertices by which a helper of it begins.
const MIN_SHARE: f64 = 0.05;

/// Returns the vertex of the highest score at the place around which `scores` add up to most, with Gaussian weights of a radius.
pub(super) fn worst_place(problem: &Problem, scores: &[f64], radius: f64) -> usize {
    let sum = |v: usize| -> f64 {
        let near = neighbours(problem, v, radius);
        near.map(|(u, w)| w * scores[u]).sum()
    };
    let sums: Vec<f64> = (0..scores.len()).into_par_iter().map(sum).collect();
    let mut best = 0;
    for (v, sum) in sums.iter().enumerate() {
        if *sum > sums[best] {
            best = v;
        }
    }
    let largest = |a: (usize, f64), b: (usize, f64)| if b.1 > a.1 { b } else { a };
    let near = neighbours(problem, best, radius).map(|(u, w)| (u, w * scores[u]));
    near.fold((best, 0.0), largest).0
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
        let rotation =
            best_rotation(&(covariance + linear * (1e-6 * total))).unwrap_or_else(Mat3::identity);
        to_map(&rotation, &(sum / total - rotation * mean))
    };
    (0..problem.frame_count).into_par_iter().map(fit).collect()
}
