// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helper bones and the weights of the vertices.

use super::alignment::{Map, apply};
use super::problem::Problem;
use smallvec::SmallVec;

/// Weights of one vertex, which add up to 1.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct VertexSkin {
    /// Weights of the own bones that stay, the heaviest of the artist's first.
    pub own: SmallVec<[f64; 4]>,
    /// Helpers and their weights, positive.
    pub helpers: SmallVec<[(u32, f64); 4]>,
}

impl VertexSkin {
    /// Returns the sum of the own bones' weights.
    pub(super) fn own_share(&self) -> f64 {
        self.own.iter().sum()
    }

    /// Returns a skin of the `kept` heaviest own bones in their proportions, beside helpers.
    pub(super) fn proportional(
        weights: &[f64],
        kept: usize,
        helpers: SmallVec<[(u32, f64); 4]>,
    ) -> Self {
        let share = 1.0 - helpers.iter().map(|h| h.1).sum::<f64>();
        let sum: f64 = weights[..kept].iter().sum();
        let own = weights[..kept].iter().map(|w| share * w / sum);
        Self {
            own: own.collect(),
            helpers,
        }
    }

    /// Scales the own bones, or helpers where none are left, so that all add up to 1. `weights`: those of the artist.
    fn fill(&mut self, weights: &[f64]) {
        if !self.own.is_empty() || self.helpers.is_empty() {
            let helpers = std::mem::take(&mut self.helpers);
            *self = Self::proportional(weights, self.own.len().max(1), helpers);
            return;
        }
        let sum: f64 = self.helpers.iter().map(|h| h.1).sum();
        self.helpers.iter_mut().for_each(|h| h.1 /= sum);
    }
}

/// Helper bones with their maps in the frames of a problem, and the weights of its vertices.
#[derive(Debug, Clone, Default)]
pub(super) struct Rig {
    /// Maps of each helper, `[f]`.
    pub maps: Vec<Vec<Map>>,
    /// Own bone of each helper, from which alone it takes weight where the plain skin is kept.
    pub parents: Vec<u32>,
    pub skins: Vec<VertexSkin>,
}

impl Rig {
    /// Returns a rig without helpers.
    pub(super) fn bare(problem: &Problem) -> Self {
        let skin = |v| VertexSkin {
            own: problem.own.row(v).1.into(),
            helpers: SmallVec::new(),
        };
        Self {
            maps: Vec::new(),
            parents: Vec::new(),
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
        let mut kept = used.iter();
        self.parents.retain(|_| kept.next().is_some_and(|u| *u));
        self
    }

    /// Returns the maps in some frames and the weights of some vertices.
    pub(super) fn subset(&self, vertices: &[u32], frames: &[u32]) -> Self {
        let of_frames = |maps: &Vec<Map>| frames.iter().map(|&f| maps[f as usize]).collect();
        Self {
            maps: self.maps.iter().map(of_frames).collect(),
            parents: self.parents.clone(),
            skins: vertices
                .iter()
                .map(|&v| self.skins[v as usize].clone())
                .collect(),
        }
    }

    /// Removes a helper. What it held goes to its parent where the plain skin is kept, else to the other bones of each vertex.
    pub(super) fn remove(&mut self, problem: &Problem, helper: u32, plain_at_rest: bool) {
        self.maps.remove(helper as usize);
        let parent = self.parents.remove(helper as usize);
        for (v, skin) in self.skins.iter_mut().enumerate() {
            let held: f64 = (skin.helpers.iter().filter(|h| h.0 == helper))
                .map(|h| h.1)
                .sum();
            skin.helpers.retain(|h| h.0 != helper);
            if held > 0.0 {
                let (bones, weights) = problem.own.row(v);
                let place = bones.iter().position(|b| *b == parent);
                match place {
                    Some(at) if plain_at_rest => skin.own[at] += held,
                    _ => skin.fill(weights),
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
        let (bones, _) = problem.own.row(vertex);
        let pose = problem.pose(frame);
        for (&b, &w) in bones.iter().zip(&skin.own) {
            if w > 0.0 {
                add(&pose[b as usize], w);
            }
        }
        for &(h, w) in &skin.helpers {
            add(&self.maps[h as usize][frame], w);
        }
        at
    }
}
