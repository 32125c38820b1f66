// SPDX-License-Identifier: MIT OR Apache-2.0
//! Point caches: the positions of all vertices in all frames of a clip, for programs that move a mesh vertex by vertex.
//!
//! Positions are written as they are given, bit for bit, in the axes and units of the caller. A cache costs 12 bytes a vertex and
//! frame. Frames pass through a small buffer, so writing takes no memory for the file, and reading that of the frames alone.
//! Readers compare the counts of a header with the length of the file before they allocate.
//!
//! | file | content |
//! | --- | --- |
//! | `pc2` | PC2: a first frame and frames between samples, little-endian |
//! | `mdd` | MDD: a time in seconds for each frame, big-endian |
//! | `floats` | frames as bytes of either order |

mod floats;
mod mdd;
mod pc2;

pub use mdd::{MddCache, read_mdd, write_mdd};
pub use pc2::{Pc2Cache, read_pc2, write_pc2};

#[cfg(test)]
mod tests;
