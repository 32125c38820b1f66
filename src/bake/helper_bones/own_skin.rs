// SPDX-License-Identifier: MIT OR Apache-2.0
//! Skin weights of the character's own bones, the heaviest first, since those stay.

use crate::skeleton::SkinWeights;

/// Bones of the character at each vertex, the heaviest first, in rows.
#[derive(Debug, Clone)]
pub(super) struct OwnSkin {
    pub offsets: Vec<usize>,
    pub bones: Vec<u32>,
    /// Weights; each row adds up to 1.
    pub weights: Vec<f64>,
    /// Least number of bones of each vertex that may stay, where the plain skin is kept.
    pub fewest: Vec<usize>,
}

impl OwnSkin {
    /// Sorts the weights of each vertex, and keeps at most `influences` of them, the heaviest.
    pub(super) fn new(skin: &SkinWeights, influences: usize) -> Self {
        let mut own = Self {
            offsets: vec![0],
            bones: Vec::new(),
            weights: Vec::new(),
            fewest: Vec::new(),
        };
        for v in 0..skin.len() {
            let mut row: Vec<(u32, f64)> = skin.row(v).collect();
            row.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            row.truncate(influences);
            let sum: f64 = row.iter().map(|r| r.1).sum();
            own.bones.extend(row.iter().map(|r| r.0));
            own.weights.extend(row.iter().map(|r| r.1 / sum));
            own.offsets.push(own.bones.len());
            own.fewest.push(row.len());
        }
        own
    }

    /// Returns whether own bones of some vertex may leave where the plain skin is kept.
    pub(super) fn may_leave(&self) -> bool {
        let counts = self.offsets.windows(2).map(|o| o[1] - o[0]);
        counts.zip(&self.fewest).any(|(all, fewest)| *fewest < all)
    }

    /// Lets no own bone leave where the plain skin is kept.
    pub(super) fn keep_all(&mut self) {
        let counts = self.offsets.windows(2).map(|o| o[1] - o[0]);
        self.fewest = counts.collect();
    }

    /// Returns the bones and the weights of a vertex.
    pub(super) fn row(&self, vertex: usize) -> (&[u32], &[f64]) {
        let row = self.offsets[vertex]..self.offsets[vertex + 1];
        (&self.bones[row.clone()], &self.weights[row])
    }

    /// Returns the rows of some vertices.
    pub(super) fn subset(&self, vertices: &[u32]) -> Self {
        let mut part = Self {
            offsets: vec![0],
            bones: Vec::new(),
            weights: Vec::new(),
            fewest: vertices.iter().map(|&v| self.fewest[v as usize]).collect(),
        };
        for &v in vertices {
            let (bones, weights) = self.row(v as usize);
            part.bones.extend_from_slice(bones);
            part.weights.extend_from_slice(weights);
            part.offsets.push(part.bones.len());
        }
        part
    }
}
