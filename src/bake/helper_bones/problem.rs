// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vertices and frames to which helper bones are fitted, in the axes of the character.

use super::alignment::Map;
use super::own_skin::OwnSkin;
use super::source::Source;
use rayon::prelude::*;

/// Some vertices in some frames, in local axes.
pub(super) struct Problem {
    /// Vertices at rest.
    pub rest: Vec<[f64; 3]>,
    /// Where they are seen, `[f, n, 3]`.
    pub targets: Vec<f32>,
    /// Maps of the character's bones, `[f, b]`.
    pub poses: Vec<Map>,
    pub own: OwnSkin,
    pub frame_count: usize,
    pub bone_count: usize,
}

impl Problem {
    /// Gathers vertices and frames of the source.
    pub(super) fn new(source: &Source<'_>, vertices: &[u32], frames: &[u32]) -> Self {
        let size = source.rest_frame.size;
        let local_rest = |v: &u32| {
            source
                .rest_frame
                .local(&source.rest[3 * *v as usize..][..3])
        };
        let rest: Vec<[f64; 3]> = vertices.iter().map(local_rest).collect();
        let mut targets = vec![0.0_f32; 3 * vertices.len() * frames.len()];
        targets
            .par_chunks_exact_mut(3 * vertices.len())
            .zip(frames)
            .for_each(|(to, &f)| {
                let frame = source.frames.frame(f as usize);
                let alignment = &source.alignments[f as usize];
                for (to, &v) in to.chunks_exact_mut(3).zip(vertices) {
                    let at = alignment.local(&frame[3 * v as usize..][..3], size);
                    to.copy_from_slice(&at.map(|x| x as f32));
                }
            });
        let poses = frames.iter().flat_map(|&f| source.local_poses(f as usize));
        Self {
            rest,
            targets,
            poses: poses.collect(),
            own: source.own.subset(vertices),
            frame_count: frames.len(),
            bone_count: source.bone_count,
        }
    }

    /// Gathers some vertices and frames.
    pub(super) fn subset(&self, vertices: &[u32], frames: &[u32]) -> Self {
        let place = |f: &u32, v: &u32| {
            let at = 3 * (*f as usize * self.rest.len() + *v as usize);
            [0, 1, 2].map(|i| self.targets[at + i])
        };
        let targets = frames
            .iter()
            .flat_map(|f| vertices.iter().flat_map(move |v| place(f, v)));
        Self {
            rest: vertices.iter().map(|&v| self.rest[v as usize]).collect(),
            targets: targets.collect(),
            poses: frames
                .iter()
                .flat_map(|&f| self.pose(f as usize))
                .copied()
                .collect(),
            own: self.own.subset(vertices),
            frame_count: frames.len(),
            bone_count: self.bone_count,
        }
    }

    /// Returns the number of vertices.
    pub(super) fn vertex_count(&self) -> usize {
        self.rest.len()
    }

    /// Returns the number of pairs of a vertex and a frame.
    pub(super) fn pair_count(&self) -> usize {
        self.rest.len() * self.frame_count
    }

    /// Returns where a vertex is seen in a frame.
    #[inline]
    pub(super) fn target(&self, frame: usize, vertex: usize) -> [f64; 3] {
        let at = &self.targets[3 * (frame * self.rest.len() + vertex)..][..3];
        [at[0].into(), at[1].into(), at[2].into()]
    }

    /// Returns the maps of the character's bones in a frame.
    #[inline]
    pub(super) fn pose(&self, frame: usize) -> &[Map] {
        &self.poses[frame * self.bone_count..][..self.bone_count]
    }
}
