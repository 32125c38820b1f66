// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places at which a rig puts vertices, in single precision: that in which they are seen.

use super::alignment::Map;
use super::problem::Problem;
use super::rig::Rig;
use rayon::prelude::*;

/// A bone of a vertex, and the vertex with a last entry 1, times the weight.
type Entry = (u32, [f32; 4]);

/// Bones and weights of all vertices: own bones, then helpers.
pub(super) struct Places<'a> {
    problem: &'a Problem,
    pub rig: &'a Rig,
    offsets: Vec<usize>,
    entries: Vec<Entry>,
}

/// Columns of the maps of all bones in a frame, each with a last entry 0.
pub(super) struct FrameMaps(Vec<[[f32; 4]; 4]>);

impl<'a> Places<'a> {
    /// Gathers the weights.
    pub(super) fn new(problem: &'a Problem, rig: &'a Rig) -> Self {
        let (mut offsets, mut entries) = (vec![0], Vec::new());
        for (v, (skin, p)) in rig.skins.iter().zip(&problem.rest).enumerate() {
            let of_bone = |bone: u32, w: f64| {
                let [x, y, z] = p.map(|x| (w * x) as f32);
                (bone, [x, y, z, w as f32])
            };
            let own = problem.own.row(v).0.iter().zip(&skin.own);
            let own = own.filter(|o| *o.1 > 0.0).map(|(b, w)| of_bone(*b, *w));
            let first = problem.bone_count as u32;
            let helpers = skin.helpers.iter().map(|h| of_bone(first + h.0, h.1));
            entries.extend(own.chain(helpers));
            offsets.push(entries.len());
        }
        Self {
            problem,
            rig,
            offsets,
            entries,
        }
    }

    /// Returns the maps of a frame.
    pub(super) fn maps(&self, frame: usize) -> FrameMaps {
        let columns = |m: &Map| -> [[f32; 4]; 4] {
            std::array::from_fn(|j| [m[j] as f32, m[4 + j] as f32, m[8 + j] as f32, 0.0])
        };
        let own = self.problem.pose(frame).iter();
        let helpers = self.rig.maps.iter().map(|maps| &maps[frame]);
        FrameMaps(own.chain(helpers).map(columns).collect())
    }

    /// Returns the way from where a vertex is to where it is seen, with a last entry 0.
    #[inline]
    pub(super) fn left(&self, maps: &FrameMaps, frame: usize, vertex: usize) -> [f32; 4] {
        let at = 3 * (frame * self.rig.skins.len() + vertex);
        let to = &self.problem.targets[at..at + 3];
        let mut left = [to[0], to[1], to[2], 0.0];
        for (bone, p) in &self.entries[self.offsets[vertex]..self.offsets[vertex + 1]] {
            let c = &maps.0[*bone as usize];
            for (i, left) in left.iter_mut().enumerate() {
                *left -= c[0][i] * p[0] + c[1][i] * p[1] + c[2][i] * p[2] + c[3][i] * p[3];
            }
        }
        left
    }
}

/// Returns the distance of each vertex from its place in each frame, `[f, n]`.
pub(super) fn errors(problem: &Problem, rig: &Rig) -> Vec<Vec<f32>> {
    let places = Places::new(problem, rig);
    let frame = |f: usize| {
        let maps = places.maps(f);
        let error = |v: usize| {
            let [x, y, z, _] = places.left(&maps, f, v);
            (x * x + y * y + z * z).sqrt()
        };
        (0..problem.vertex_count()).map(error).collect()
    };
    let frames = (0..problem.frame_count).into_par_iter();
    frames.map(frame).collect()
}
