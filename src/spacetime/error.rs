// SPDX-License-Identifier: MIT OR Apache-2.0
//! What cannot be a motion through keyframes.

use crate::progress::Cancelled;
use crate::solve::eigen::EigenError;

/// Why there is no motion.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SpacetimeError {
    /// Fewer than two keyframes.
    #[error("a motion needs at least two keyframes, not {keys}")]
    TooFew {
        /// Keyframes.
        keys: usize,
    },
    /// Not one time for each keyframe.
    #[error("{times} times were given for {keys} keyframes: give one for each")]
    Times {
        /// Times.
        times: usize,
        /// Keyframes.
        keys: usize,
    },
    /// Times that do not rise.
    #[error(
        "keyframe {key} is at {time} s, which is not after keyframe {before} at {earlier} s: \
             times have to rise"
    )]
    Order {
        /// The later key.
        key: usize,
        /// Its time, s.
        time: f64,
        /// The key before.
        before: usize,
        /// Its time, s.
        earlier: f64,
    },
    /// A keyframe of another body.
    #[error("{what} has {vertices} vertices, the body {nodes}: give one position for each")]
    Size {
        /// Which shape.
        what: String,
        /// Its vertices.
        vertices: usize,
        /// Nodes of the body.
        nodes: usize,
    },
    /// A number that is none.
    #[error("vertex {vertex} of {what} is not a finite position, or farther than 1e12 away")]
    NotFinite {
        /// Which shape.
        what: String,
        /// The vertex.
        vertex: usize,
    },
    /// A setting out of range.
    #[error("{name} must be {range}, not {}", short(*.value))]
    Setting {
        /// Which.
        name: &'static str,
        /// What it may be.
        range: &'static str,
        /// What it is.
        value: f64,
    },
    /// An index of nothing.
    #[error("there is no {what} {index}: there are {count}")]
    NoSuch {
        /// Keyframe, vertex, partial keyframe.
        what: &'static str,
        /// The index.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A cycle that is open.
    #[error(
        "the last keyframe has to be the first again for a cycle, but vertex {vertex} is {distance} away from it: \
             repeat keyframe 0 at the end"
    )]
    Open {
        /// The vertex.
        vertex: usize,
        /// How far.
        distance: f64,
    },
    /// Fixed vertices that move.
    #[error(
        "keyframe {key} has the fixed vertex {vertex} {distance} away from where keyframe 0 has it: \
             leave the vertex out of the fixed ones, or correct the keyframe"
    )]
    Fixed {
        /// The keyframe.
        key: usize,
        /// The vertex.
        vertex: usize,
        /// How far.
        distance: f64,
    },
    /// Nothing can move.
    #[error("all {vertices} vertices are fixed: nothing can move")]
    NothingFree {
        /// Vertices.
        vertices: usize,
    },
    /// All keyframes alike, and no modes.
    #[error(
        "the keyframes are all alike and no modes were asked for: there is nothing that could move"
    )]
    NoSpace,
    /// Too much for numbers.
    #[error(
        "the stiffness of mode {mode} over {length} s is beyond the range of numbers: \
             shorten the time between keyframes, or scale the body"
    )]
    TooStiff {
        /// The mode.
        mode: usize,
        /// An interval, s.
        length: f64,
    },
    /// What is free to choose is chosen beyond all measure.
    #[error(
        "the motion with the least force leaves keyframe {keyframe} at an absurd speed, {times:.0e} times what the keyframes tell: damping \
         makes a free start arrive by itself; prescribe a velocity there, or take less damping"
    )]
    Runaway {
        /// A keyframe.
        keyframe: usize,
        /// Its speed, in what the keyframes tell.
        times: f64,
    },
    /// More loose parts than a reduced space can move one by one.
    #[error(
        "the mesh hangs together in {parts} parts that nothing holds, and at most {most} can move by themselves: join them to each other, \
         fix a vertex of each, or leave small parts out and let them ride along"
    )]
    Parts {
        /// Parts without a fixed vertex.
        parts: usize,
        /// As many as can be.
        most: usize,
    },
    /// Segments whose shapes do not meet.
    #[error(
        "segment {segment} begins with another shape than the one that the segment before ends with: vertex {vertex} is {distance:.2e} away"
    )]
    Apart {
        /// The later segment.
        segment: usize,
        /// The vertex that is farthest away.
        vertex: usize,
        /// How far.
        distance: f64,
    },
    /// The energy at a keyframe is none.
    #[error(
        "the elastic energy of {what} is no number: it is folded or flat beyond measure; lower its energy first"
    )]
    Crumpled {
        /// Which shape.
        what: String,
    },
    /// Constraints that exclude each other.
    #[error(
        "vertex {vertex} is asked to be in two places at {time} s, {distance} apart: \
             {remedy}"
    )]
    Contradiction {
        /// The vertex.
        vertex: usize,
        /// When, s.
        time: f64,
        /// How far apart.
        distance: f64,
        /// What helps.
        remedy: &'static str,
    },
    /// A time outside of the motion.
    #[error(
        "{what} at {time} s is not between the first keyframe at {start} s and the last at {end} s"
    )]
    Outside {
        /// What.
        what: &'static str,
        /// When, s.
        time: f64,
        /// The first keyframe, s.
        start: f64,
        /// The last, s.
        end: f64,
    },
    /// Segments that do not follow each other.
    #[error(
        "segment {segment} begins at {start} s, but the one before ends at {end} s: one has to begin where the other ends"
    )]
    Gap {
        /// The later one.
        segment: usize,
        /// Where it begins, s.
        start: f64,
        /// Where the one before ends, s.
        end: f64,
    },
    /// Numbers overflow.
    #[error(
        "the reduced matrices of {what} are beyond the range of numbers: scale the body to a size near one"
    )]
    Overflow {
        /// Which shape.
        what: String,
    },
    /// No modes.
    #[error("the modes of {what} could not be found: {error}")]
    Modes {
        /// Which shape.
        what: String,
        /// Why.
        error: EigenError,
    },
    /// Stopped by the caller.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// A number in few digits.
fn short(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) && size.is_finite() {
        format!("{value:e}")
    } else {
        format!("{value}")
    }
}
