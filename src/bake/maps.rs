// SPDX-License-Identifier: MIT OR Apache-2.0
//! The affine maps by which the skeleton moves the vertices of a mesh: `x ↦ B x + t` for each vertex and frame.
//!
//! Keys act before these maps and are seen after them. They are given as matrices, or as poses with skin weights (linear blend
//! skinning).

use super::{BakeError, VertexFrames};
use crate::range::is_sound;
use crate::skeleton::SkinWeights;
use nalgebra::{Matrix3, Vector3};

/// An affine map in single precision: its linear part and its translation, m.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VertexMap {
    /// B.
    pub linear: Matrix3<f32>,
    /// t, m.
    pub translation: Vector3<f32>,
}

/// The maps of all vertices in all frames.
#[derive(Debug, Clone)]
pub enum VertexMaps<'a> {
    /// Every map is the identity: frames are seen as they are.
    Identity,
    /// One matrix `[3, columns]`, row by row, for each vertex and frame of each clip. With 3 columns there is no translation; with 4
    /// the last one is it. Matrices `[4, 4]` have `rows` 4, whose last is not read.
    Matrices {
        /// `[f, vertices, rows, columns]` of each clip.
        clips: Vec<&'a [f32]>,
        /// 3 or 4.
        rows: usize,
        /// 3 or 4.
        columns: usize,
    },
    /// Linear blends of the bones' maps.
    Skinned {
        /// `[f, bones, 4, 4]` of each clip, maps of bones from rest, row by row.
        poses: Vec<&'a [f32]>,
        /// Weights of each vertex, adding up to 1.
        weights: SkinWeights,
    },
}

impl<'a> VertexMaps<'a> {
    /// Borrows matrices `[f, vertices, rows, columns]` of each clip of `frames`.
    ///
    /// # Errors
    /// Fails if their number does not match the frames, or for an entry that is not finite, by clip, frame and vertex.
    pub fn from_matrices(
        clips: Vec<&'a [f32]>,
        (rows, columns): (usize, usize),
        frames: &VertexFrames,
    ) -> Result<Self, BakeError> {
        let size = rows * columns;
        check_matrices(
            "matrices",
            &clips,
            frames.vertex_count() * size,
            size,
            frames,
        )?;
        Ok(Self::Matrices {
            clips,
            rows,
            columns,
        })
    }

    /// Borrows poses `[f, bones, 4, 4]` of each clip of `frames`, and takes skin weights. A vertex without weights is not moved.
    ///
    /// # Errors
    /// Fails if numbers of frames or vertices do not match, or for an entry that is not finite, by clip, frame and bone.
    pub fn from_poses(
        poses: Vec<&'a [f32]>,
        weights: SkinWeights,
        frames: &VertexFrames,
    ) -> Result<Self, BakeError> {
        let (rows, vertices) = (weights.offsets.len() - 1, frames.vertex_count());
        if rows != vertices {
            return Err(BakeError::vertices("the skin weights have", rows, vertices));
        }
        check_matrices("poses", &poses, 16 * weights.bone_count, 16, frames)?;
        Ok(Self::Skinned { poses, weights })
    }

    /// Returns a bound of the factor by which any map of a frame of `frames` lengthens vectors.
    pub(super) fn stretch(&self, frames: &VertexFrames, frame: usize) -> f32 {
        match self {
            Self::Identity => 1.0,
            Self::Matrices { .. } => {
                let vertices = 0..frames.vertex_count();
                let stretches = vertices.map(|v| stretch_bound(&self.map(frames, frame, v).linear));
                stretches.fold(0.0, f32::max)
            }
            // Blends lengthen no more than the bone that lengthens most; vertices without weights have the identity.
            Self::Skinned { poses, weights } => {
                let (clip, at) = frames.locate(frame);
                let size = 16 * weights.bone_count;
                let bones = poses[clip][at * size..][..size].chunks_exact(16);
                let stretches = bones.map(|bone| stretch_bound(&read_map(bone, 4).linear));
                stretches.fold(1.0, f32::max)
            }
        }
    }

    /// Returns the map of a vertex in a frame of `frames`.
    #[inline]
    pub fn map(&self, frames: &VertexFrames, frame: usize, vertex: usize) -> VertexMap {
        let identity = VertexMap {
            linear: Matrix3::identity(),
            translation: Vector3::zeros(),
        };
        let (clip, at) = match self {
            Self::Identity => return identity,
            _ => frames.locate(frame),
        };
        match self {
            Self::Identity => identity,
            Self::Matrices {
                clips,
                rows,
                columns,
            } => {
                let size = rows * columns;
                read_map(
                    &clips[clip][(at * frames.vertex_count() + vertex) * size..],
                    *columns,
                )
            }
            Self::Skinned { poses, weights } => {
                let row = weights.offsets[vertex] as usize..weights.offsets[vertex + 1] as usize;
                if row.is_empty() {
                    return identity;
                }
                let pose = &poses[clip][at * 16 * weights.bone_count..];
                let (mut linear, mut translation) = (Matrix3::zeros(), Vector3::zeros());
                for i in row {
                    let bone = read_map(&pose[16 * weights.bones[i] as usize..], 4);
                    linear += bone.linear * weights.weights[i] as f32;
                    translation += bone.translation * weights.weights[i] as f32;
                }
                VertexMap {
                    linear,
                    translation,
                }
            }
        }
    }
}

/// Returns a bound of the largest singular value of a map, which for a rotation is 1: the root of the largest row sum of `BᵀB`.
fn stretch_bound(linear: &Matrix3<f32>) -> f32 {
    let square = linear.tr_mul(linear);
    let sums = square
        .row_iter()
        .map(|row| row.iter().map(|x| x.abs()).sum::<f32>());
    sums.fold(0.0, f32::max).sqrt()
}

/// Reads the map at the beginning of `numbers`, row by row.
fn read_map(numbers: &[f32], columns: usize) -> VertexMap {
    let linear = Matrix3::from_fn(|i, j| numbers[i * columns + j]);
    let translation = Vector3::from_fn(|i, _| match columns {
        4 => numbers[i * columns + 3],
        _ => 0.0,
    });
    VertexMap {
        linear,
        translation,
    }
}

/// Checks that each clip has `row` numbers per frame, in matrices of `size`, all finite.
fn check_matrices(
    name: &str,
    clips: &[&[f32]],
    row: usize,
    size: usize,
    frames: &VertexFrames,
) -> Result<(), BakeError> {
    if clips.len() != frames.clip_count() {
        let (what, given) = (format!("{name} are of"), clips.len());
        return Err(BakeError::clips(what, given, frames.clip_count()));
    }
    for (index, clip) in clips.iter().enumerate() {
        let expected = frames.clip_range(index).len();
        if clip.len() != expected * row {
            let what = format!("the list of {name} of clip {index}");
            return Err(BakeError::frames(what, clip.len(), row, expected));
        }
        if let Some(at) = clip.iter().position(|x| !is_sound(f64::from(*x))) {
            return Err(BakeError::Matrix {
                clip: index,
                frame: at / row,
                index: at % row / size,
            });
        }
    }
    Ok(())
}
