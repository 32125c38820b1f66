// SPDX-License-Identifier: MIT OR Apache-2.0
//! MDD: big-endian numbers of frames and vertices, the time of each frame in seconds, and the positions.

use super::floats::{ByteOrder, CacheFile, stored_count, write_cache};
use crate::bake::output::check_positive;
use crate::bake::{BakeError, VertexFrames};
use crate::progress::Progress;
use std::path::Path;

/// Bytes before the times.
const HEADER_LENGTH: usize = 8;

/// Content of an MDD file.
#[derive(Debug, Clone, PartialEq)]
pub struct MddCache {
    /// Positions `[frames, vertices, 3]`, in the file's units and axes.
    pub positions: Vec<f32>,
    /// Number of vertices.
    pub vertices: usize,
    /// Time of each frame, s.
    pub times: Vec<f32>,
}

/// Writes positions to an MDD file, whole or not at all. Clips follow one another. Frame i is at `i / fps` seconds.
///
/// # Errors
/// Fails for an `fps` that is not a finite number above 0, a file that cannot be written, or if the caller stops; earlier content
/// then stays.
pub fn write_mdd(
    path: &Path,
    frames: &VertexFrames,
    fps: f64,
    progress: &dyn Progress,
) -> Result<(), BakeError> {
    check_positive("fps", fps)?;
    let last = (frames.len() as f64 / fps) as f32;
    if !last.is_finite() {
        let (what, range) = ("fps", "large enough for times that are finite");
        return Err(BakeError::Setting {
            what,
            range,
            value: fps,
        });
    }
    let mut header = Vec::with_capacity(HEADER_LENGTH + 4 * frames.len());
    header.extend(stored_count(path, "frames", frames.len())?.to_be_bytes());
    header.extend(stored_count(path, "vertices", frames.vertex_count())?.to_be_bytes());
    for f in 0..frames.len() {
        header.extend(((f as f64 / fps) as f32).to_be_bytes());
    }
    write_cache(path, &header, frames, ByteOrder::Big, progress)
}

/// Reads an MDD file.
///
/// # Errors
/// Fails for a file that cannot be read, is cut off or longer than its header says, or holds numbers that are not finite.
pub fn read_mdd(path: &Path) -> Result<MddCache, BakeError> {
    let (mut file, header) = CacheFile::open::<HEADER_LENGTH>(path, ByteOrder::Big)?;
    let Some([a, b, c, d, e, f, g, h]) = header else {
        return Err(file.refuse("it is too short for an MDD file; export it again"));
    };
    let counts = [[a, b, c, d], [e, f, g, h]].map(i32::from_be_bytes);
    let (frames, vertices) = file.counts(counts, (HEADER_LENGTH as u64, 4))?;
    let times = file.floats(frames)?;
    if let Some(frame) = times.iter().position(|t| !t.is_finite()) {
        let what = format!("the time of frame {frame} is not a number; export it again");
        return Err(file.refuse(what));
    }
    Ok(MddCache {
        positions: file.positions(frames, vertices)?,
        vertices,
        times,
    })
}
