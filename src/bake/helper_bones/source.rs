// SPDX-License-Identifier: MIT OR Apache-2.0
//! The given frames, rest shape, poses and skin weights, checked, with the axes of each frame.

use super::alignment::{Alignment, Map, RestFrame};
use super::own_skin::OwnSkin;
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
    ) -> Result<Self, BakeError> {
        let expected = 3 * frames.vertex_count();
        if rest.len() != expected {
            let (what, given) = ("rest".into(), rest.len());
            return Err(BakeError::Length {
                what,
                expected,
                given,
            });
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
        Ok(Self {
            alignments: (0..frames.len()).into_par_iter().map(align).collect(),
            own: OwnSkin::new(weights),
            bone_count: weights.bone_count,
            frames,
            rest,
            poses,
            rest_frame,
        })
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
