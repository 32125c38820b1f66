// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ghost shapes: additional shapes to linearise around where neighbouring keyframes differ by large rotations. [hildebrandt2012,
//! §4.3]
//!
//! The paper suggests them and leaves their origin open. Here the best rotation between the two keyframes is fitted around each
//! node. It is continued from neighbour to neighbour, which distinguishes turns beyond half a turn from smaller ones. A share of
//! the rotation with the same share of the remaining stretch gives target differences along all edges. The positions fit these in
//! the least-squares sense (Poisson).

use super::Deformable;
use crate::geometry::rotation::best_rotation;
use crate::geometry::rotation_vector::rotation;
use crate::solve::{BlockMatrix, Graph, NodeMatrix, SparseCholesky, SymbolicCholesky};
use crate::{Mat3, Vec3};
use std::sync::Arc;

/// Largest rotation between two linearisations without a ghost, radians.
const MAX_ROTATION: f64 = 0.7;
/// Maximum number of ghosts between two keyframes.
const MAX_GHOSTS: usize = 8;

/// Builds the ghosts between keyframes: interval, share of it and shape.
pub(super) fn build_ghosts(
    body: &dyn Deformable,
    keyframes: &[Vec<Vec3>],
    free: &[u32],
    notes: &mut Vec<String>,
) -> Vec<(usize, f64, Vec<Vec3>)> {
    let pattern = body.hessian(&keyframes[0]);
    let Some(mut poisson) = PoissonSolver::new(&pattern, body.rest(), free) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for (k, pair) in keyframes.windows(2).enumerate() {
        let turns = node_rotations(&pattern, &pair[0], &pair[1]);
        let mut angles: Vec<f64> = turns.iter().map(|t| t.0.norm()).collect();
        angles.sort_by(f64::total_cmp);
        // The 95th percentile, so that a few vertices do not decide.
        let large = angles.get(angles.len() * 19 / 20).copied().unwrap_or(0.0);
        let count = ((large / MAX_ROTATION).ceil() as usize)
            .saturating_sub(1)
            .min(MAX_GHOSTS);
        if count > 0 {
            notes.push(format!(
                "{count} ghost shape{} between keyframes {k} and {}, which differ by turns of {:.0}°.",
                if count == 1 { "" } else { "s" },
                k + 1,
                large.to_degrees()
            ));
        }
        let returns = match count {
            0 => Vec::new(),
            _ => self::node_rotations(&pattern, &pair[1], &pair[0]),
        };
        for i in 1..=count {
            let share = i as f64 / (count + 1) as f64;
            // Of the shapes from either side the one with less energy, so that the result does not depend on the direction of time.
            let there = poisson.shape_at_share(&pattern, (&pair[0], &pair[1]), &turns, share);
            let back =
                poisson.shape_at_share(&pattern, (&pair[1], &pair[0]), &returns, 1.0 - share);
            let less = body.energy(&back) < body.energy(&there);
            all.push((k, share, if less { back } else { there }));
        }
    }
    all
}

/// Returns for each node the rotation vector from one shape to another, and the stretch before the rotation.
fn node_rotations(pattern: &BlockMatrix, from: &[Vec3], to: &[Vec3]) -> Vec<(Vec3, Mat3)> {
    let nodes = from.len();
    let fit = |node: usize| -> (Mat3, Mat3) {
        let (mut covariance, mut spread) = (Mat3::zeros(), Mat3::zeros());
        for e in pattern.row_range(node) {
            let other = pattern.indices()[e] as usize;
            let (a, b) = (from[other] - from[node], to[other] - to[node]);
            covariance += b * a.transpose();
            spread += a * a.transpose();
        }
        let size = spread.trace();
        if size <= 0.0 {
            return (Mat3::identity(), Mat3::identity());
        }
        // A sheet gives no information across: it keeps its thickness there, rotated along.
        let normal = |m: &Mat3| {
            let eigen = m.symmetric_eigen();
            let least = eigen.eigenvalues.imin();
            (
                eigen.eigenvectors.column(least).into_owned(),
                eigen.eigenvalues[least],
            )
        };
        let (across, thin) = normal(&spread);
        let Some(turn) = best_rotation(&covariance) else {
            return (Mat3::identity(), Mat3::identity());
        };
        let mut regular = spread;
        if thin < 1e-3 * size {
            regular += across * across.transpose() * size;
            covariance += turn * across * across.transpose() * size;
        }
        let stretch = match regular.try_inverse() {
            Some(inverse) => turn.transpose() * covariance * inverse,
            None => Mat3::identity(),
        };
        (turn, stretch)
    };
    let fits: Vec<(Mat3, Mat3)> = (0..nodes).map(fit).collect();
    // Continues from node to node with the nearest of the vectors of the same rotation.
    let mut vectors = vec![None; nodes];
    let mut open = std::collections::VecDeque::new();
    for start in 0..nodes {
        if vectors[start].is_some() {
            continue;
        }
        vectors[start] = Some(super::rigid::to_rotation_vector(&fits[start].0));
        open.push_back(start);
        while let Some(node) = open.pop_front() {
            let Some(own) = vectors[node] else { continue };
            for e in pattern.row_range(node) {
                let other = pattern.indices()[e] as usize;
                if vectors[other].is_none() {
                    vectors[other] = Some(nearest_rotation_vector(
                        &super::rigid::to_rotation_vector(&fits[other].0),
                        &own,
                    ));
                    open.push_back(other);
                }
            }
        }
    }
    let vectors = vectors.into_iter().map(Option::unwrap_or_default);
    vectors.zip(fits).map(|(w, (_, s))| (w, s)).collect()
}

/// Returns the vector nearest to `to` among those of the rotation of `w`.
fn nearest_rotation_vector(w: &Vec3, to: &Vec3) -> Vec3 {
    let angle = w.norm();
    if angle < 1e-9 {
        // Without an axis of its own: whole turns about the other's.
        let turns = (to.norm() / std::f64::consts::TAU).round();
        return to
            .try_normalize(1e-9)
            .map_or(*w, |axis| axis * (turns * std::f64::consts::TAU));
    }
    let axis = w / angle;
    let turns = ((axis.dot(to) - angle) / std::f64::consts::TAU).round();
    axis * (angle + turns * std::f64::consts::TAU)
}

/// A Poisson solver: positions from target differences along edges.
struct PoissonSolver {
    solver: SparseCholesky,
    free: Vec<u32>,
    number: Vec<u32>,
}

impl PoissonSolver {
    fn new(pattern: &BlockMatrix, rest: &[Vec3], free: &[u32]) -> Option<Self> {
        let mut number = vec![u32::MAX; rest.len()];
        for (i, &v) in free.iter().enumerate() {
            number[v as usize] = i as u32;
        }
        let mut edges = Vec::new();
        pattern.visit_pairs(&mut |a, b| {
            let (a, b) = (number[a], number[b]);
            if a != u32::MAX && b != u32::MAX && a < b {
                edges.push((a, b));
            }
        });
        let graph = Graph::from_edges(free.len(), edges);
        let centres: Vec<Vec3> = free.iter().map(|&v| rest[v as usize]).collect();
        let symbolic = Arc::new(SymbolicCholesky::new(&graph, &centres).ok()?);
        let mut solver = SparseCholesky::new(symbolic.clone()).ok()?;
        for i in 0..rest.len() {
            let own = number[i];
            if own == u32::MAX {
                continue;
            }
            let own = own as usize;
            // A small weight of the guess keeps loose parts in place.
            let mut sum = 1e-8;
            for e in pattern.row_range(i) {
                let other = pattern.indices()[e] as usize;
                if other == i {
                    continue;
                }
                sum += 1.0;
                let j = number[other];
                if j != u32::MAX
                    && (j as usize) < own
                    && let Some(slot) = symbolic.slot(own, j as usize)
                {
                    solver.add_scalar(slot, -1.0);
                }
            }
            solver.add_scalar(symbolic.slot(own, own)?, sum);
        }
        solver.factor().ok()?;
        Some(Self {
            solver,
            free: free.to_vec(),
            number,
        })
    }

    /// Builds the shape at a share of the way.
    fn shape_at_share(
        &mut self,
        pattern: &BlockMatrix,
        (from, to): (&[Vec3], &[Vec3]),
        turns: &[(Vec3, Mat3)],
        share: f64,
    ) -> Vec<Vec3> {
        let maps: Vec<Mat3> = turns
            .iter()
            .map(|(w, s)| rotation(&(w * share)) * (Mat3::identity() * (1.0 - share) + s * share))
            .collect();
        let mut shape: Vec<Vec3> = from
            .iter()
            .zip(to)
            .map(|(a, b)| a * (1.0 - share) + b * share)
            .collect();
        let mut right: Vec<Vec3> = Vec::with_capacity(self.free.len());
        for &v in &self.free {
            let v = v as usize;
            let mut sum = shape[v] * 1e-8;
            for e in pattern.row_range(v) {
                let other = pattern.indices()[e] as usize;
                if other == v {
                    continue;
                }
                sum += (maps[v] + maps[other]) * (from[v] - from[other]) * 0.5;
                if self.number[other] == u32::MAX {
                    sum += shape[other];
                }
            }
            right.push(sum);
        }
        self.solver.solve(&mut right);
        for (&v, x) in self.free.iter().zip(right) {
            shape[v as usize] = x;
        }
        shape
    }
}
