// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transfer of painted fields from the surface to the nodes.
//!
//! A node takes the mean of the surface's samples in *its own* cells, weighted by the square of its function there.
//! The nearest surface vertex instead would bleed from one leg to the other. Nodes that no sample reaches get values by
//! diffusion over links between neighbours (the discrete Laplace equation). Parts without any sample keep their initial
//! values.

use super::bone_distance::distance_to_bone;
use crate::Vec3;
use crate::basis::Basis;
use crate::lattice::Embedding;
use crate::skeleton::{Skeleton, SkinWeights};

/// Shares of a bone up to this are dropped.
const MIN_SHARE: f64 = 1e-3;
/// Size of a weight above which a sample is ignored. Such a stray vertex lies farther from its cell than the cell is
/// wide, and would outweigh all others by the square of its function.
const MAX_SAMPLE_WEIGHT: f64 = 2.0;
/// Most passes of Gauss-Seidel; few vertices are ever unreached, and most of them touch one that is.
const MAX_PASSES: usize = 1000;

/// Rows of numbers at the nodes; `known` rows are final.
pub(super) struct NodeField {
    pub columns: usize,
    pub values: Vec<f64>,
    pub known: Vec<bool>,
}

impl NodeField {
    /// Returns the mean of the rows of some nodes.
    pub fn mean_row(&self, nodes: &[u32]) -> Vec<f64> {
        let mut mean = vec![0.0; self.columns];
        for &v in nodes {
            for (m, x) in mean.iter_mut().zip(self.row(v as usize)) {
                *m += x / nodes.len() as f64;
            }
        }
        mean
    }

    /// Returns the weighted mean of the samples' rows. `row(i, add)` calls `add(column, value)` for sample i and
    /// returns `true`, or returns `false` without a call.
    pub fn gather(
        nodes: usize,
        columns: usize,
        embedding: &Embedding,
        row: impl Fn(usize, &mut dyn FnMut(usize, f64)) -> bool,
    ) -> Self {
        let mut values = vec![0.0; nodes * columns];
        let mut total = vec![0.0; nodes];
        for i in 0..embedding.len() {
            if embedding.row(i).any(|(_, w)| w.abs() > MAX_SAMPLE_WEIGHT) {
                continue;
            }
            for (v, w) in embedding.row(i) {
                let w = w * w;
                if row(i, &mut |column, value| {
                    values[v * columns + column] += w * value
                }) {
                    total[v] += w;
                }
            }
        }
        // A node that only the rounding of a far sample touches counts as unreached.
        let known: Vec<bool> = total.iter().map(|&t| t > 1e-6).collect();
        for v in 0..nodes {
            let scale = if known[v] { 1.0 / total[v] } else { 0.0 };
            for x in &mut values[v * columns..(v + 1) * columns] {
                *x *= scale;
            }
        }
        Self {
            columns,
            values,
            known,
        }
    }

    pub fn row(&self, node: usize) -> &[f64] {
        &self.values[node * self.columns..(node + 1) * self.columns]
    }

    /// Sets a row to one in `column`, zero elsewhere, and makes it final.
    pub fn set(&mut self, node: usize, column: usize) {
        self.values[node * self.columns..(node + 1) * self.columns].fill(0.0);
        self.values[node * self.columns + column] = 1.0;
        self.known[node] = true;
    }

    /// Fills the rows that are not known. `start` writes the first guess, which stays in parts without any known row.
    pub fn diffuse(&mut self, basis: &Basis, start: impl Fn(usize, &mut [f64])) {
        let n = self.columns;
        let links = basis.links();
        let unknown: Vec<(usize, &[(u32, u32)])> = (0..self.known.len())
            .filter(|&v| !self.known[v])
            .map(|v| {
                let from = links.partition_point(|l| (l.0 as usize) < v);
                let to = links.partition_point(|l| (l.0 as usize) <= v);
                (v, &links[from..to])
            })
            .collect();
        let reached = self.mark_reached(&unknown);
        for &(v, _) in &unknown {
            start(v, &mut self.values[v * n..(v + 1) * n]);
        }
        let mut row = vec![0.0; n];
        for _ in 0..MAX_PASSES {
            let mut change = 0.0f64;
            for &(v, links) in unknown.iter().filter(|(v, _)| reached[*v]) {
                row.fill(0.0);
                for l in links {
                    for (x, y) in row.iter_mut().zip(self.row(l.1 as usize)) {
                        *x += y / links.len() as f64;
                    }
                }
                for (x, y) in self.values[v * n..(v + 1) * n].iter_mut().zip(&row) {
                    change = change.max((*x - y).abs());
                    *x = *y;
                }
            }
            if change < 1e-7 {
                break;
            }
        }
    }

    /// Marks nodes connected to a known one.
    fn mark_reached(&self, unknown: &[(usize, &[(u32, u32)])]) -> Vec<bool> {
        let mut reached = self.known.clone();
        loop {
            let mut grown = false;
            for (v, links) in unknown {
                if !reached[*v] && links.iter().any(|l| reached[l.1 as usize]) {
                    reached[*v] = true;
                    grown = true;
                }
            }
            if !grown {
                return reached;
            }
        }
    }

    /// Adds the rows of details: each takes the values that the functions of level 0 give at its centre.
    pub fn extend_to_details(&mut self, basis: &Basis) {
        for function in basis.coarse_len()..basis.len() {
            let mut row = vec![0.0; self.columns];
            for (v, share) in basis.coarse_row(function) {
                let from = row.iter_mut().zip(self.row(v as usize));
                from.for_each(|(x, y)| *x += y * share);
            }
            self.values.extend(row);
            self.known.push(true);
        }
    }

    /// Returns the rows as weights: normalised, without negligible entries.
    pub fn into_weights(self) -> SkinWeights {
        let rows = (0..self.known.len()).map(|v| self.row(v));
        weights_from_rows(rows, self.columns)
    }
}

/// Returns the rows as sparse ones that sum to one.
pub(super) fn weights_from_rows<'a>(
    rows: impl Iterator<Item = &'a [f64]>,
    bones: usize,
) -> SkinWeights {
    let mut weights = SkinWeights {
        offsets: vec![0],
        bones: Vec::new(),
        weights: Vec::new(),
        bone_count: bones,
    };
    for row in rows {
        let total: f64 = row.iter().sum();
        let kept = |w: &f64| *w > MIN_SHARE * total;
        let sum: f64 = row.iter().copied().filter(|w| kept(w)).sum();
        for (b, &w) in row.iter().enumerate() {
            if kept(&w) {
                weights.bones.push(b as u32);
                weights.weights.push(w / sum);
            }
        }
        weights.offsets.push(weights.bones.len() as u32);
    }
    weights
}

/// Fills a row with weights by distance to the bones (inverse fourth power), for unpainted flesh.
pub(super) fn fill_by_distance(skeleton: &Skeleton, bones: &[u32], p: Vec3, row: &mut [f64]) {
    row.fill(0.0);
    let distances: Vec<f64> = bones
        .iter()
        .map(|&b| distance_to_bone(skeleton, b, p))
        .collect();
    let nearest = distances.iter().copied().fold(f64::INFINITY, f64::min);
    let soft = nearest.max(f64::MIN_POSITIVE);
    for (&b, d) in bones.iter().zip(distances) {
        row[b as usize] = ((soft + 1e-9) / (d + 1e-9)).powi(4);
    }
    let total: f64 = row.iter().sum();
    row.iter_mut().for_each(|w| *w /= total);
}
