// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of motions through keyframes.

use crate::progress::Cancelled;
use crate::solve::eigen::EigenError;

/// Reason why a motion could not be computed or changed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpacetimeError {
    /// Fewer than two keyframes.
    #[error("a motion needs at least two keyframes, not {keys}")]
    TooFew {
        /// Number of keyframes.
        keys: usize,
    },
    /// Numbers of times and keyframes that differ.
    #[error("{times} times were given for {keys} keyframes: give one for each")]
    Times {
        /// Number of times.
        times: usize,
        /// Number of keyframes.
        keys: usize,
    },
    /// Times that do not ascend.
    #[error(
        "keyframe {key} is at {time} s, which is not after keyframe {before} at {earlier} s: times must increase"
    )]
    Order {
        /// Index of the later keyframe.
        key: usize,
        /// Its time, s.
        time: f64,
        /// Index of the keyframe before.
        before: usize,
        /// Its time, s.
        earlier: f64,
    },
    /// A shape with the wrong number of vertices.
    #[error("{what} has {vertices} vertices, the body {nodes}: give one position for each")]
    Size {
        /// Name of the shape.
        what: String,
        /// Number of its vertices.
        vertices: usize,
        /// Number of nodes of the body.
        nodes: usize,
    },
    /// A body with details.
    #[error(
        "motions through keyframes are paths of positions, which the details of a body do not have, and this one has {levels} levels of them: \
         build it with basis_levels=0"
    )]
    Details {
        /// Levels of details of the body.
        levels: usize,
    },
    /// A position that is not finite, or too far away.
    #[error("vertex {vertex} of {what} is not a finite position, or farther than 1e12 away")]
    NotFinite {
        /// Name of the shape.
        what: String,
        /// Index of the vertex.
        vertex: usize,
    },
    /// A setting out of range.
    #[error("{name} must be {range}, not {}", format_short(*.value))]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// Permitted range.
        range: &'static str,
        /// Value of the setting.
        value: f64,
    },
    /// An index out of range.
    #[error("there is no {what} {index}: there are {count}")]
    NoSuch {
        /// Kind of the item: keyframe, vertex or partial keyframe.
        what: &'static str,
        /// The index.
        index: usize,
        /// Number of such items.
        count: usize,
    },
    /// A cyclic motion whose last keyframe differs from the first.
    #[error(
        "the last keyframe of a cycle must be the first again, but vertex {vertex} is {distance} away from it: \
             repeat keyframe 0 at the end"
    )]
    Open {
        /// Index of the vertex.
        vertex: usize,
        /// Distance between its two positions.
        distance: f64,
    },
    /// A fixed vertex that moves between keyframes.
    #[error(
        "keyframe {key} has the fixed vertex {vertex} {distance} away from where keyframe 0 has it: \
             leave the vertex out of the fixed ones, or correct the keyframe"
    )]
    Fixed {
        /// Index of the keyframe.
        key: usize,
        /// Index of the vertex.
        vertex: usize,
        /// Distance from its position in keyframe 0.
        distance: f64,
    },
    /// A motion without free vertices.
    #[error("all {vertices} vertices are fixed: nothing can move")]
    NothingFree {
        /// Number of vertices.
        vertices: usize,
    },
    /// Identical keyframes and zero modes: the reduced space is empty.
    #[error(
        "the keyframes are all alike and no modes were asked for: there is nothing that could move"
    )]
    NoSpace,
    /// An oscillator whose numbers over an interval exceed the range of numbers.
    #[error(
        "the stiffness of mode {mode} over {length} s is beyond the range of numbers: \
             shorten the time between keyframes, or scale the body"
    )]
    TooStiff {
        /// Index of the mode.
        mode: usize,
        /// Length of the longest interval, s.
        length: f64,
    },
    /// Free values or velocities whose optimum is absurdly large.
    #[error(
        "the motion with the least force leaves keyframe {keyframe} at an absurd speed, {times:.0e} times what the \
         keyframes suggest: damping makes a free start arrive by itself; prescribe a velocity there, or use less \
         damping"
    )]
    Runaway {
        /// Index of the keyframe.
        keyframe: usize,
        /// Speed there, as a multiple of what the keyframes imply.
        times: f64,
    },
    /// More unattached parts than a reduced space can move separately.
    #[error(
        "the mesh has {parts} separate parts that nothing holds, and at most {most} can move by themselves: join them \
         to each other, fix a vertex of each, or leave small parts out and let them ride along"
    )]
    Parts {
        /// Number of parts without a fixed vertex.
        parts: usize,
        /// Maximum number of such parts.
        most: usize,
    },
    /// Successive segments whose shapes differ at the joint.
    #[error(
        "segment {segment} begins with a different shape from the one that the segment before ends with: vertex \
         {vertex} is {distance:.2e} away"
    )]
    Apart {
        /// Index of the later segment.
        segment: usize,
        /// Vertex with the largest distance.
        vertex: usize,
        /// That distance.
        distance: f64,
    },
    /// A shape whose elastic energy is not finite.
    #[error(
        "the elastic energy of {what} is not a number: it is folded or flat beyond measure; lower its energy first"
    )]
    Crumpled {
        /// Name of the shape.
        what: String,
    },
    /// Exact constraints that contradict each other.
    #[error(
        "vertex {vertex} is asked to be in two places at {time} s, {distance} apart: \
             {remedy}"
    )]
    Contradiction {
        /// Index of the vertex.
        vertex: usize,
        /// Time, s.
        time: f64,
        /// Distance between the two positions.
        distance: f64,
        /// Suggested remedy.
        remedy: &'static str,
    },
    /// A time outside the motion.
    #[error(
        "{what} at {time} s is not between the first keyframe at {start} s and the last at {end} s"
    )]
    Outside {
        /// Kind of the item.
        what: &'static str,
        /// Its time, s.
        time: f64,
        /// Time of the first keyframe, s.
        start: f64,
        /// Time of the last keyframe, s.
        end: f64,
    },
    /// Successive segments that do not join in time.
    #[error(
        "segment {segment} begins at {start} s, but the one before ends at {end} s: one must begin where the other ends"
    )]
    Gap {
        /// Index of the later segment.
        segment: usize,
        /// Its start, s.
        start: f64,
        /// End of the segment before, s.
        end: f64,
    },
    /// Reduced matrices beyond the range of numbers.
    #[error(
        "the reduced matrices of {what} are beyond the range of numbers: scale the body to a size near one"
    )]
    Overflow {
        /// Name of the shape.
        what: String,
    },
    /// A failed computation of modes.
    #[error("the modes of {what} could not be found: {error}")]
    Modes {
        /// Name of the shape.
        what: String,
        /// Cause.
        error: EigenError,
    },
    /// Stopped by the caller.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Formats a number in few digits.
fn format_short(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) && size.is_finite() {
        format!("{value:e}")
    } else {
        format!("{value}")
    }
}
