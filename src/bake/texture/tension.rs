// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tension in the channel alpha: a value of each vertex in each frame, coded like an offset along one axis.

use super::description::TensionCode;
use super::encoding::{Encoding, MAX_HALF, TextureFormat};
use crate::bake::{BakeError, VertexFrames};
use rayon::prelude::*;

/// Values of all clips, and their encoding.
pub(super) struct TensionChannel<'a> {
    clips: &'a [&'a [f32]],
    vertices: usize,
    encoding: Encoding,
}

impl<'a> TensionChannel<'a> {
    /// Borrows the values `[f, vertices]` of the clips of `frames`.
    pub fn new(
        clips: &'a [&'a [f32]],
        frames: &VertexFrames,
        format: TextureFormat,
    ) -> Result<Self, BakeError> {
        check_lengths(clips, frames)?;
        let vertices = frames.vertex_count();
        let is_usable = |value: f64| value.abs() <= MAX_HALF;
        let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
        for (clip, values) in clips.iter().enumerate() {
            for (at, &value) in values.iter().enumerate() {
                let value = f64::from(value);
                if !is_usable(value) {
                    let (frame, vertex) = (at / vertices, at % vertices);
                    return Err(BakeError::Tension {
                        clip,
                        frame,
                        vertex,
                    });
                }
                (min, max) = (min.min(value), max.max(value));
            }
        }
        let encoding = Encoding::between(format, [min; 3], [max; 3]);
        Ok(Self {
            clips,
            vertices,
            encoding,
        })
    }

    /// Returns the bits of a vertex in a frame of a clip.
    pub fn code(&self, clip: usize, frame: usize, vertex: usize) -> u16 {
        let value = self.clips[clip][frame * self.vertices + vertex];
        self.encoding.encode(0, f64::from(value))
    }

    /// Describes the channel, with the largest difference of a decoded value from the given one.
    pub fn description(&self) -> TensionCode {
        let miss = |&value: &f32| {
            let value = f64::from(value);
            let code = self.encoding.encode(0, value);
            (self.encoding.decode(0, code) - value).abs()
        };
        let of_clip = |values: &&[f32]| values.par_iter().map(miss).reduce(|| 0.0, f64::max);
        let ([min, ..], [scale, ..]) = self.encoding.decoding();
        TensionCode {
            channel: "alpha".into(),
            min,
            scale,
            max_error: self.clips.iter().map(of_clip).fold(0.0, f64::max),
        }
    }
}

/// Checks that there is a value for each vertex in each frame of each clip.
fn check_lengths(clips: &[&[f32]], frames: &VertexFrames) -> Result<(), BakeError> {
    if clips.len() != frames.clip_count() {
        let what = "the tension is of".into();
        return Err(BakeError::clips(what, clips.len(), frames.clip_count()));
    }
    for (clip, values) in clips.iter().enumerate() {
        let (expected, row) = (frames.clip_range(clip).len(), frames.vertex_count());
        if values.len() != expected * row {
            let what = format!("tension of clip {clip}");
            return Err(BakeError::frames(what, values.len(), row, expected));
        }
    }
    Ok(())
}
