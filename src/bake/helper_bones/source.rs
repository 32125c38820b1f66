// SPDX-License-Identifier: MIT OR Apache-2.0
//! The given frames, rest shape, poses and skin weights, checked, with the axes of each frame.

use super::alignment::{Alignment, Map, RestFrame};
use super::own_skin::OwnSkin;
use super::settings::HelperBonesSettings;
use crate::bake::{BakeError, VertexFrames, VertexMaps};
use crate::range::MAX_COORDINATE;
use crate::skeleton::SkinWeights;
use crate::{Mat3, Vec3};
use rayon::prelude::*;

/// What is given, and the axes of each frame.
pub(super) struct Source<'a> {
    pub frames: &'a VertexFrames<'a>,
    /// `[n, 3]`, m.
    pub rest: &'a [f32],
    /// `[f, b, 4, 4]` of each clip.
    poses: Vec<&'a [f32]>,
    pub rest_frame: RestFrame,
    pub alignments: Vec<Alignment>,
    pub own: OwnSkin,
    pub bone_count: usize,
}

impl<'a> Source<'a> {
    /// Checks what is given and aligns the frames.
    pub(super) fn new(
        frames: &'a VertexFrames<'a>,
        rest: &'a [f32],
        poses: Vec<&'a [f32]>,
        weights: &SkinWeights,
        settings: &HelperBonesSettings,
    ) -> Result<Self, BakeError> {
        let expected = 3 * frames.vertex_count();
        if rest.len() != expected {
            let (given, expected) = (rest.len() / 3, frames.vertex_count());
            return Err(BakeError::vertices("rest has", given, expected));
        }
        let usable = |x: &f32| f64::from(x.abs()) <= MAX_COORDINATE;
        if let Some(at) = rest.iter().position(|x| !usable(x)) {
            let (what, vertex) = ("rest", at / 3);
            return Err(BakeError::Point { what, vertex });
        }
        VertexMaps::from_poses(poses.clone(), weights.clone(), frames)?;
        if let Some(vertex) = (0..weights.len()).find(|&v| weights.row(v).next().is_none()) {
            return Err(BakeError::NoWeights { vertex });
        }
        let rest_frame = RestFrame::new(rest);
        let align = |f| Alignment::new(frames.frame(f), rest, &rest_frame);
        let mut source = Self {
            alignments: (0..frames.len()).into_par_iter().map(align).collect(),
            own: OwnSkin::new(weights, settings.influences),
            bone_count: weights.bone_count,
            frames,
            rest,
            poses,
            rest_frame,
        };
        if let Some(tolerance) = settings.rest_tolerance.filter(|t| *t > 0.0) {
            source.own.fewest = source.fewest_bones(tolerance);
        }
        Ok(source)
    }

    /// Returns the least number of own bones of each vertex, the heaviest, that put it within `tolerance`, m, of where all of them do.
    fn fewest_bones(&self, tolerance: f64) -> Vec<usize> {
        let fewest = |v: usize| {
            let (_, weights) = self.own.row(v);
            let enough = |kept: &usize| {
                (0..self.frames.len()).all(|f| self.resting_gap(f, v, *kept) <= tolerance)
            };
            let counts = (1..weights.len()).rev().take_while(enough);
            counts.last().unwrap_or(weights.len())
        };
        let vertices = (0..self.frames.vertex_count()).into_par_iter();
        vertices.with_min_len(64).map(fewest).collect()
    }

    /// Returns the distance in a frame between a vertex on its `kept` heaviest own bones and on all of them, m.
    fn resting_gap(&self, frame: usize, vertex: usize, kept: usize) -> f64 {
        let (bones, weights) = self.own.row(vertex);
        let matrices = self.matrices(frame);
        let p = [0, 1, 2].map(|i| f64::from(self.rest[3 * vertex + i]));
        let sum: f64 = weights[..kept].iter().sum();
        let mut gap = [0.0; 3];
        for (i, (&b, w)) in bones.iter().zip(weights).enumerate() {
            let w = if i < kept { w / sum - w } else { -w };
            let m = &matrices[16 * b as usize..][..12];
            for (gap, row) in gap.iter_mut().zip(m.chunks_exact(4)) {
                let turned: f64 = (0..3).map(|j| f64::from(row[j]) * p[j]).sum();
                *gap += w * (turned + f64::from(row[3]));
            }
        }
        gap.iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    /// Returns the matrices of the character's bones in a frame, `[b, 4, 4]`.
    pub(super) fn matrices(&self, frame: usize) -> &'a [f32] {
        let (clip, at) = self.frames.locate(frame);
        &self.poses[clip][16 * at * self.bone_count..][..16 * self.bone_count]
    }

    /// Returns the maps of the character's bones in a frame, between local points.
    pub(super) fn local_poses(&self, frame: usize) -> impl Iterator<Item = Map> {
        let matrices = self.matrices(frame).chunks_exact(16);
        matrices.map(move |m| {
            let linear = Mat3::from_fn(|i, j| m[4 * i + j].into());
            let translation = Vec3::new(m[3].into(), m[7].into(), m[11].into());
            self.alignments[frame].local_map(&linear, &translation, &self.rest_frame)
        })
    }
}
