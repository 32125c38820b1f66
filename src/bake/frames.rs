// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vertices of one mesh in the frames of several clips, as every form of bake reads them.

use super::BakeError;
use crate::range::MAX_COORDINATE;

/// Borrows the vertices of one mesh in the frames of one or several clips, float32, metres.
///
/// Frames of all clips are numbered on from one clip to the next. Positions or offsets: each form of bake says which it takes.
#[derive(Debug, Clone)]
pub struct VertexFrames<'a> {
    clips: Vec<&'a [f32]>,
    vertices: usize,
    /// First frame of each clip, and the number of all frames.
    starts: Vec<usize>,
}

impl<'a> VertexFrames<'a> {
    /// Borrows clips `[f, vertices, 3]`, x, y and z of each vertex in turn.
    ///
    /// # Errors
    /// Fails without vertices or frames, if a clip does not consist of whole frames, and for a coordinate that is not finite, by
    /// clip, frame and vertex.
    pub fn new(
        clips: impl IntoIterator<Item = &'a [f32]>,
        vertices: usize,
    ) -> Result<Self, BakeError> {
        if vertices == 0 {
            return Err(BakeError::NoVertices);
        }
        let (clips, row): (Vec<_>, _) = (clips.into_iter().collect(), 3 * vertices);
        let mut starts = vec![0];
        for (index, clip) in clips.iter().enumerate() {
            if clip.len() % row != 0 {
                let what = format!("clip {index}");
                let (expected, given) = (clip.len().div_ceil(row) * row, clip.len());
                return Err(BakeError::Length {
                    what,
                    expected,
                    given,
                });
            }
            let usable = |x: &f32| f64::from(x.abs()) <= MAX_COORDINATE;
            if let Some(at) = clip.iter().position(|x| !usable(x)) {
                return Err(BakeError::Position {
                    clip: index,
                    frame: at / row,
                    vertex: at % row / 3,
                });
            }
            starts.push(starts[index] + clip.len() / row);
        }
        let frames = Self {
            clips,
            vertices,
            starts,
        };
        if frames.is_empty() {
            return Err(BakeError::Empty);
        }
        Ok(frames)
    }

    /// Returns the number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.vertices
    }

    /// Returns the number of clips.
    pub fn clip_count(&self) -> usize {
        self.clips.len()
    }

    /// Returns the number of frames of all clips.
    pub fn len(&self) -> usize {
        self.starts[self.clips.len()]
    }

    /// Returns whether no clip has a frame; a value of this type always has one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the frames of a clip among all.
    pub fn clip_range(&self, clip: usize) -> std::ops::Range<usize> {
        self.starts[clip]..self.starts[clip + 1]
    }

    /// Returns the clip of a frame, and its index in that clip.
    pub fn locate(&self, frame: usize) -> (usize, usize) {
        let clip = self.starts.partition_point(|&start| start <= frame) - 1;
        (clip, frame - self.starts[clip])
    }

    /// Returns the coordinates of a frame, `[vertices, 3]`.
    pub fn frame(&self, frame: usize) -> &'a [f32] {
        let (clip, at) = self.locate(frame);
        let row = 3 * self.vertices;
        &self.clips[clip][at * row..][..row]
    }

    /// Splits values of all frames, such as `[f]` or `[f, K]` rows of `width`, into those of each clip.
    pub fn split_by_clip<'v, T>(
        &self,
        values: &'v [T],
        width: usize,
    ) -> impl Iterator<Item = &'v [T]> {
        let starts = self.starts.clone();
        (0..self.clips.len()).map(move |c| &values[starts[c] * width..starts[c + 1] * width])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames are numbered on from clip to clip; a clip may be empty.
    #[test]
    fn frames_are_numbered_over_clips() {
        let all: Vec<f32> = (0..36).map(|x| x as f32).collect();
        let frames = VertexFrames::new([&all[..12], &[], &all[12..]], 2).unwrap();
        assert_eq!(
            (frames.len(), frames.clip_count(), frames.vertex_count()),
            (6, 3, 2)
        );
        for f in 0..6 {
            assert_eq!(frames.frame(f), &all[6 * f..6 * f + 6]);
        }
        assert_eq!(frames.locate(1), (0, 1));
        assert_eq!(frames.locate(2), (2, 0));
        assert_eq!(frames.locate(5), (2, 3));
        let values = [0, 1, 2, 3, 4, 5];
        let split: Vec<&[i32]> = frames.split_by_clip(&values, 1).collect();
        assert_eq!(split, [&[0, 1][..], &[], &[2, 3, 4, 5]]);
    }

    /// Each defect is refused by its place.
    #[test]
    fn frames_refuse_defects_by_place() {
        let good = [0.0_f32; 12];
        assert_eq!(
            VertexFrames::new([&good[..]], 0).err(),
            Some(BakeError::NoVertices)
        );
        assert_eq!(VertexFrames::new([], 2).err(), Some(BakeError::Empty));
        assert_eq!(
            VertexFrames::new([&[][..]], 2).err(),
            Some(BakeError::Empty)
        );
        assert!(matches!(
            VertexFrames::new([&good[..11]], 2).err(),
            Some(BakeError::Length {
                expected: 12,
                given: 11,
                ..
            })
        ));
        for bad in [f32::NAN, f32::INFINITY, 1e13] {
            let mut clip = good;
            clip[10] = bad;
            let found = VertexFrames::new([&good[..], &clip], 2).err();
            let place = BakeError::Position {
                clip: 1,
                frame: 1,
                vertex: 1,
            };
            assert_eq!(found, Some(place));
        }
    }
}
