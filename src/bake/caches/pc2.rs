// SPDX-License-Identifier: MIT OR Apache-2.0
//! PC2: `POINTCACHE2` and a zero byte, then little-endian version (1), number of vertices, first frame, frames between samples,
//! number of samples, and the positions.

use super::floats::{ByteOrder, CacheFile, stored_count, write_cache};
use crate::bake::output::check_positive;
use crate::bake::{BakeError, VertexFrames};
use crate::progress::Progress;
use std::path::Path;

const MAGIC: &[u8; 12] = b"POINTCACHE2\0";
const VERSION: i32 = 1;
/// Bytes before the positions.
const HEADER_LENGTH: usize = 32;

/// Content of a PC2 file.
#[derive(Debug, Clone, PartialEq)]
pub struct Pc2Cache {
    /// Positions `[frames, vertices, 3]`, in the file's units and axes.
    pub positions: Vec<f32>,
    /// Number of vertices.
    pub vertices: usize,
    /// Frame of the first sample.
    pub start: f32,
    /// Frames between two samples.
    pub rate: f32,
}

/// Writes positions to a PC2 file, whole or not at all. Clips follow one another. `start`: frame of the first sample; `rate`: frames between two.
///
/// # Errors
/// Fails for a start that is not finite, a rate that is not a finite number above 0, a file that cannot be written, or if the caller
/// stops; earlier content then stays.
pub fn write_pc2(
    path: &Path,
    frames: &VertexFrames,
    (start, rate): (f64, f64),
    progress: &dyn Progress,
) -> Result<(), BakeError> {
    if !(start as f32).is_finite() {
        return Err(BakeError::Setting {
            what: "start",
            range: "a finite number",
            value: start,
        });
    }
    check_positive("rate", rate)?;
    let vertices = stored_count(path, "vertices", frames.vertex_count())?;
    let samples = stored_count(path, "frames", frames.len())?;
    let mut header = MAGIC.to_vec();
    header.extend(VERSION.to_le_bytes());
    header.extend(vertices.to_le_bytes());
    header.extend((start as f32).to_le_bytes());
    header.extend((rate as f32).to_le_bytes());
    header.extend(samples.to_le_bytes());
    write_cache(path, &header, frames, ByteOrder::Little, progress)
}

/// Reads a PC2 file.
///
/// # Errors
/// Fails for a file that cannot be read, is of another format or version, is cut off or longer than its header says, or holds
/// numbers that are not finite.
pub fn read_pc2(path: &Path) -> Result<Pc2Cache, BakeError> {
    let (mut file, header) = CacheFile::open::<HEADER_LENGTH>(path, ByteOrder::Little)?;
    let Some(header) = header.filter(|header| header.starts_with(MAGIC)) else {
        return Err(file.refuse("it is not a PC2 file; these begin with POINTCACHE2"));
    };
    let word = |i: usize| {
        let at = MAGIC.len() + 4 * i;
        [header[at], header[at + 1], header[at + 2], header[at + 3]]
    };
    let version = i32::from_le_bytes(word(0));
    if version != VERSION {
        let what = format!("it is of version {version} of PC2; export it as version {VERSION}");
        return Err(file.refuse(what));
    }
    let counts = [word(4), word(1)].map(i32::from_le_bytes);
    let (frames, vertices) = file.counts(counts, (HEADER_LENGTH as u64, 0))?;
    let [start, rate] = [word(2), word(3)].map(f32::from_le_bytes);
    if !start.is_finite() || !rate.is_finite() {
        return Err(file.refuse("its start or rate is not a number; export it again"));
    }
    Ok(Pc2Cache {
        positions: file.positions(frames, vertices)?,
        vertices,
        start,
        rate,
    })
}
