// SPDX-License-Identifier: MIT OR Apache-2.0
//! New helpers where errors are largest.

use super::alignment::{Map, from_map, to_map};
use super::problem::Problem;
use crate::geometry::rotation::best_rotation;
use crate::{Mat3, Vec3};
use rayon::prelude::*;

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
    let total: f64 = near.iter().map(|n| n.1).sum();
    let mean = near
        .iter()
        .map(|&(u, w)| Vec3::from(problem.rest[u]) * w)
        .sum::<Vec3>()
        / total;
    let fit = |f: usize| {
        let (mut covariance, mut sum) = (Mat3::zeros(), Vec3::zeros());
        for &(u, w) in &near {
            let to = Vec3::from(problem.target(f, u));
            sum += to * w;
            covariance += to * (Vec3::from(problem.rest[u]) - mean).transpose() * w;
        }
        let carried = problem.pose(f)[problem.own.row(centre).0[0] as usize];
        let (linear, _) = from_map(&carried);
        let rotation =
            best_rotation(&(covariance + linear * (1e-6 * total))).unwrap_or_else(Mat3::identity);
        to_map(&rotation, &(sum / total - rotation * mean))
    };
    (0..problem.frame_count).into_par_iter().map(fit).collect()
}
