// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helper bones and the weights of the vertices.

use super::alignment::{Map, apply};
use super::problem::Problem;
use smallvec::SmallVec;

/// Weights of one vertex.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct VertexSkin {
    /// Number of own bones that stay, the heaviest first. Their weights keep their proportions.
    pub kept: usize,
    /// Helpers and their weights, positive. What is left to 1 is that of the own bones.
    pub helpers: SmallVec<[(u32, f64); 4]>,
}

impl VertexSkin {
    /// Returns the sum of the own bones' weights.
    pub(super) fn own_share(&self) -> f64 {
        match self.kept {
            0 => 0.0,
            _ => 1.0 - self.helpers.iter().map(|h| h.1).sum::<f64>(),
        }
    }
}

/// Helper bones with their maps in the frames of a problem, and the weights of its vertices.
#[derive(Debug, Clone, Default)]
pub(super) struct Rig {
    /// Maps of each helper, `[f]`.
    pub maps: Vec<Vec<Map>>,
    pub skins: Vec<VertexSkin>,
}

impl Rig {
    /// Returns a rig without helpers, in which each vertex keeps at most `influences` bones.
    pub(super) fn bare(problem: &Problem, influences: usize) -> Self {
        let skin = |v| VertexSkin {
            kept: problem.own.row(v).0.len().min(influences),
            helpers: SmallVec::new(),
        };
        Self {
            maps: Vec::new(),
            skins: (0..problem.vertex_count()).map(skin).collect(),
        }
    }

    /// Returns the rig without helpers that move no vertex.
    pub(super) fn without_unused(mut self) -> Self {
        let mut used = vec![false; self.maps.len()];
        for (h, _) in self.skins.iter().flat_map(|s| &s.helpers) {
            used[*h as usize] = true;
        }
        let before = |h: u32| used[..h as usize].iter().filter(|u| **u).count() as u32;
        for skin in &mut self.skins {
            skin.helpers.iter_mut().for_each(|h| h.0 = before(h.0));
        }
        let mut kept = used.iter();
        self.maps.retain(|_| kept.next().is_some_and(|u| *u));
        self
    }

    /// Returns the maps in some frames and the weights of some vertices.
    pub(super) fn subset(&self, vertices: &[u32], frames: &[u32]) -> Self {
        let of_frames = |maps: &Vec<Map>| frames.iter().map(|&f| maps[f as usize]).collect();
        Self {
            maps: self.maps.iter().map(of_frames).collect(),
            skins: vertices
                .iter()
                .map(|&v| self.skins[v as usize].clone())
                .collect(),
        }
    }

    /// Removes a helper. What it held goes to the other bones of each vertex.
    pub(super) fn remove(&mut self, helper: u32) {
        self.maps.remove(helper as usize);
        for skin in &mut self.skins {
            let before = skin.helpers.len();
            skin.helpers.retain(|h| h.0 != helper);
            if skin.helpers.len() < before && skin.kept == 0 {
                let sum: f64 = skin.helpers.iter().map(|h| h.1).sum();
                match skin.helpers.is_empty() {
                    true => skin.kept = 1,
                    false => skin.helpers.iter_mut().for_each(|h| h.1 /= sum),
                }
            }
            for h in &mut skin.helpers {
                h.0 -= u32::from(h.0 > helper);
            }
        }
    }

    /// Returns where a vertex is in a frame.
    #[inline]
    pub(super) fn position(&self, problem: &Problem, frame: usize, vertex: usize) -> [f64; 3] {
        let (skin, p) = (&self.skins[vertex], &problem.rest[vertex]);
        let mut at = [0.0; 3];
        let mut add = |map: &Map, w: f64| {
            let x = apply(map, p);
            (0..3).for_each(|i| at[i] += w * x[i]);
        };
        if skin.kept > 0 {
            let (bones, weights) = problem.own.row(vertex);
            let sum: f64 = weights[..skin.kept].iter().sum();
            let share = skin.own_share() / sum;
            let pose = problem.pose(frame);
            for (&b, &w) in bones[..skin.kept].iter().zip(weights) {
                add(&pose[b as usize], share * w);
            }
        }
        for &(h, w) in &skin.helpers {
            add(&self.maps[h as usize][frame], w);
        }
        at
    }
}
