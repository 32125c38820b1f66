// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of bakes.

use crate::disk;
use std::io;
use std::path::Path;

/// Things of which two arrays have different numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Vertices of a mesh.
    Vertices,
    /// Frames of a clip.
    Frames,
    /// Clips.
    Clips,
}

impl Counted {
    /// Returns a number with its noun.
    fn count(self, count: usize) -> String {
        let (one, several) = match self {
            Self::Vertices => ("vertex", "vertices"),
            Self::Frames => ("frame", "frames"),
            Self::Clips => ("clip", "clips"),
        };
        format!("{count} {}", if count == 1 { one } else { several })
    }

    /// Returns what to do about different numbers.
    fn remedy(self) -> &'static str {
        match self {
            Self::Vertices => "give both of the same mesh",
            Self::Frames => "give as many, one for each frame",
            Self::Clips => "give as many, one for each clip",
        }
    }
}

/// Reason why a motion could not be baked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BakeError {
    /// The caller stopped.
    #[error(transparent)]
    Cancelled(#[from] crate::progress::Cancelled),
    /// The list of clips is empty, or no clip has a frame.
    #[error("there are no frames to bake: give at least one clip with at least one frame")]
    Empty,
    /// The mesh has no vertices.
    #[error("the frames have no vertices: give frames of at least one vertex")]
    NoVertices,
    /// An array of the wrong length.
    #[error("{what}: there must be {expected} numbers, not {given}")]
    Length {
        /// Name of the array, with its clip if it has one.
        what: String,
        /// Expected length.
        expected: usize,
        /// Actual length.
        given: usize,
    },
    /// Two arrays of different numbers of vertices, frames or clips.
    #[error("{what} {}, and {other} {expected}: {}", .unit.count(*.given), .unit.remedy())]
    Count {
        /// Name of the array with its verb, such as "rest has".
        what: String,
        /// Things that are counted.
        unit: Counted,
        /// Name of the array beside it with its verb, such as "the frames have".
        other: &'static str,
        /// Number in the other array.
        expected: usize,
        /// Number in the array.
        given: usize,
    },
    /// A position that is not a number, or too far away.
    #[error(
        "frame {frame} of clip {clip} has no usable position for vertex {vertex}: each must be a finite number of metres"
    )]
    Position {
        /// Index of the clip.
        clip: usize,
        /// Index of the frame in it.
        frame: usize,
        /// Index of the vertex.
        vertex: usize,
    },
    /// A map that is not a number.
    #[error(
        "frame {frame} of clip {clip} has no usable matrix at index {index}: each entry must be a finite number"
    )]
    Matrix {
        /// Index of the clip.
        clip: usize,
        /// Index of the frame in it.
        frame: usize,
        /// Index of the vertex or bone.
        index: usize,
    },
    /// The eigenvectors of the motion could not be found.
    #[error("no keys could be fitted to the frames: their numbers are too large or too small")]
    NoKeys,
    /// Neither a tolerance nor a number of keys was given.
    #[error("give a tolerance in metres, or a number of keys, or both")]
    NoLimit,
    /// Regions are counted, and no rest shape says where vertices are.
    #[error("a number of regions needs the rest shape: give rest, or the region of each vertex")]
    RegionsWithoutRest,
    /// A setting out of range.
    #[error("{what} must be {range}, not {value}")]
    Setting {
        /// Name of the setting.
        what: &'static str,
        /// Permitted range.
        range: &'static str,
        /// Value of the setting.
        value: f64,
    },
    /// A position of a single mesh that is not a number, or too far away.
    #[error(
        "{what} has no usable position for vertex {vertex}: each must be a finite number of metres"
    )]
    Point {
        /// Name of the array.
        what: &'static str,
        /// Index of the vertex.
        vertex: usize,
    },
    /// A vertex without a skin weight.
    #[error(
        "vertex {vertex} has no skin weight: give each vertex a positive weight of at least one bone"
    )]
    NoWeights {
        /// Index of the vertex.
        vertex: usize,
    },
    /// An edge or triangle with a vertex that the mesh does not have.
    #[error(
        "{what} {index} names vertex {vertex}, but the mesh has {vertices} vertices, counted from 0"
    )]
    Corner {
        /// "edge" or "triangle".
        what: &'static str,
        /// Index of the edge or triangle.
        index: usize,
        /// Index of the vertex.
        vertex: u32,
        /// Number of vertices.
        vertices: usize,
    },
    /// A name that cannot be given.
    #[error("the {what} “{name}” cannot be used: {reason}")]
    Name {
        /// What is named: "clip" or "texture".
        what: &'static str,
        /// The name.
        name: String,
        /// Reason, with a remedy.
        reason: &'static str,
    },
    /// A texture that would be too large.
    #[error(
        "{frames} frames of {vertices} vertices need {width} x {height} texels, more than {max_size} a side: raise max_size \
         (16384 at most), write the clips to several textures, or compress them"
    )]
    TextureSize {
        /// Number of frames of all clips.
        frames: usize,
        /// Number of vertices.
        vertices: usize,
        /// Columns needed.
        width: usize,
        /// Rows needed.
        height: usize,
        /// Largest permitted size.
        max_size: usize,
    },
    /// An offset beyond half floats.
    #[error(
        "vertex {vertex} in frame {frame} of clip {clip} is farther from rest than half floats reach (65504 m): choose the format \
         \"png\", or give positions in metres"
    )]
    HalfRange {
        /// Index of the clip.
        clip: usize,
        /// Index of the frame in it.
        frame: usize,
        /// Index of the vertex.
        vertex: usize,
    },
    /// A tension that is not a number, or too large.
    #[error(
        "the tension of vertex {vertex} in frame {frame} of clip {clip} is unusable: each must be a finite number up to 65504"
    )]
    Tension {
        /// Index of the clip.
        clip: usize,
        /// Index of the frame in it.
        frame: usize,
        /// Index of the vertex.
        vertex: usize,
    },
    /// A file that could not be read or written.
    #[error("“{path}” could not be {done}: {reason}")]
    File {
        /// Path of the file.
        path: String,
        /// What was tried: "written" or "read".
        done: &'static str,
        /// Reason, with a remedy.
        reason: String,
    },
}

impl BakeError {
    /// Creates the error for positions or values, named with a verb, of another number of vertices than the frames.
    pub(super) fn vertices(what: &str, given: usize, expected: usize) -> Self {
        Self::Count {
            what: what.into(),
            unit: Counted::Vertices,
            other: "the frames have",
            expected,
            given,
        }
    }

    /// Creates the error for a list of another number of clips than the frames.
    pub(super) fn clips(what: String, given: usize, expected: usize) -> Self {
        Self::Count {
            what,
            unit: Counted::Clips,
            other: "the frames have",
            expected,
            given,
        }
    }

    /// Creates the error for `given` numbers of a clip, `row` a frame, where it has `expected` frames.
    pub(super) fn frames(what: String, given: usize, row: usize, expected: usize) -> Self {
        match row > 0 && given.is_multiple_of(row) {
            true => Self::Count {
                what: format!("{what} has"),
                unit: Counted::Frames,
                other: "the clip has",
                expected,
                given: given / row,
            },
            false => Self::Length {
                what,
                expected: expected * row,
                given,
            },
        }
    }

    /// Creates the error for a file that could not be written.
    pub(super) fn writing(path: &Path, error: &io::Error) -> Self {
        Self::of_file(path, "written", disk::reason(error))
    }

    /// Creates the error for a file that could not be read.
    pub(super) fn reading(path: &Path, error: &io::Error) -> Self {
        Self::of_file(path, "read", disk::reason(error))
    }

    /// Creates the error for a file that could not be used for a given reason.
    pub(super) fn of_file(path: &Path, done: &'static str, reason: String) -> Self {
        let path = path.display().to_string();
        Self::File { path, done, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Different numbers are told in a sentence, in the unit in which they were given.
    #[test]
    fn counts_are_told_in_their_unit() {
        let told = BakeError::vertices("rest has", 1, 3).to_string();
        assert_eq!(
            told,
            "rest has 1 vertex, and the frames have 3: give both of the same mesh"
        );
        let told = |given| BakeError::frames("poses of clip 0".into(), given, 32, 5).to_string();
        assert!(told(128).starts_with("poses of clip 0 has 4 frames, and the clip has 5:"));
        assert_eq!(
            told(100),
            "poses of clip 0: there must be 160 numbers, not 100"
        );
    }
}
