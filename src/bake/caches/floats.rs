// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frames of a point cache as bytes of either order, and the checks that both formats share.

use crate::bake::output::{WriteProgress, write_files};
use crate::bake::{BakeError, VertexFrames};
use crate::disk;
use crate::progress::Progress;
use crate::range::MAX_COORDINATE;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// Numbers that pass through the buffer at once, 64 KiB. At half, calls of the system show in the time; at twice, nothing is gained.
const BUFFERED_FLOATS: usize = 1 << 14;

/// Order of the bytes of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    fn bytes(self, x: f32) -> [u8; 4] {
        match self {
            Self::Little => x.to_le_bytes(),
            Self::Big => x.to_be_bytes(),
        }
    }

    fn float(self, bytes: [u8; 4]) -> f32 {
        match self {
            Self::Little => f32::from_le_bytes(bytes),
            Self::Big => f32::from_be_bytes(bytes),
        }
    }
}

/// Returns a count as formats store it.
pub(super) fn stored_count(path: &Path, what: &str, count: usize) -> Result<i32, BakeError> {
    i32::try_from(count).map_err(|_| {
        let reason = format!("its format counts at most {} {what}; write fewer", i32::MAX);
        BakeError::of_file(path, "written", reason)
    })
}

/// Writes a header and all frames.
pub(super) fn write_cache(
    path: &Path,
    header: &[u8],
    frames: &VertexFrames,
    order: ByteOrder,
    progress: &dyn Progress,
) -> Result<(), BakeError> {
    let progress = WriteProgress::new(progress, "Writing the cache");
    let mut buffer = Vec::with_capacity(4 * BUFFERED_FLOATS);
    let mut write = |file: &mut File| {
        file.write_all(header)?;
        for f in 0..frames.len() {
            progress.report(f as f64 / frames.len() as f64)?;
            for floats in frames.frame(f).chunks(BUFFERED_FLOATS) {
                buffer.clear();
                buffer.extend(floats.iter().flat_map(|&x| order.bytes(x)));
                file.write_all(&buffer)?;
            }
        }
        Ok(())
    };
    write_files(path, &mut [(path, &mut write)], &progress)
}

/// A cache opened for reading, behind its first bytes.
pub(super) struct CacheFile<'a> {
    path: &'a Path,
    file: File,
    /// Length of the whole file, bytes.
    length: u64,
    order: ByteOrder,
}

impl<'a> CacheFile<'a> {
    /// Opens a plain file and reads its first N bytes; `None` for them in a shorter file.
    pub(super) fn open<const N: usize>(
        path: &'a Path,
        order: ByteOrder,
    ) -> Result<(Self, Option<[u8; N]>), BakeError> {
        let reading = |e| BakeError::reading(path, &e);
        let (mut file, length) = disk::open(path, u64::MAX).map_err(reading)?;
        let mut bytes = [0; N];
        let first = match length >= N as u64 {
            true => file.read_exact(&mut bytes).map(|()| Some(bytes)),
            false => Ok(None),
        };
        let opened = Self {
            path,
            file,
            length,
            order,
        };
        Ok((opened, first.map_err(reading)?))
    }

    /// Creates the error for content that cannot be used.
    pub(super) fn refuse(&self, reason: impl Into<String>) -> BakeError {
        BakeError::of_file(self.path, "read", reason.into())
    }

    /// Checks the counts of a header against the length of the file, with `head` bytes before the positions and `each` more a
    /// frame, and returns them.
    pub(super) fn counts(
        &self,
        [frames, vertices]: [i32; 2],
        (head, each): (u64, u64),
    ) -> Result<(usize, usize), BakeError> {
        let (Ok(f), Ok(n)) = (u64::try_from(frames), u64::try_from(vertices)) else {
            let what = format!("its header counts {frames} frames of {vertices} vertices");
            return Err(self.refuse(format!("it is damaged: {what}; export it again")));
        };
        if f == 0 || n == 0 {
            return Err(self.refuse("it has no positions; export at least one frame of a mesh"));
        }
        let expected = u128::from(head) + u128::from(f) * (u128::from(each) + 12 * u128::from(n));
        if expected != u128::from(self.length) {
            return Err(self.refuse(format!(
                "its header counts {f} frames of {n} vertices, which take {expected} bytes, but it has {}: it is cut off or \
                 damaged; export it again",
                self.length
            )));
        }
        Ok((f as usize, n as usize))
    }

    /// Reads as many numbers, which the file's length allows.
    pub(super) fn floats(&mut self, count: usize) -> Result<Vec<f32>, BakeError> {
        let mut read = || -> io::Result<Vec<f32>> {
            let mut floats = Vec::new();
            floats.try_reserve_exact(count)?;
            let mut buffer = vec![0; 4 * BUFFERED_FLOATS.min(count)];
            while floats.len() < count {
                let part = &mut buffer[..4 * BUFFERED_FLOATS.min(count - floats.len())];
                self.file.read_exact(part)?;
                let each = part.chunks_exact(4);
                floats.extend(each.map(|b| self.order.float([b[0], b[1], b[2], b[3]])));
            }
            Ok(floats)
        };
        read().map_err(|e| BakeError::reading(self.path, &e))
    }

    /// Reads the positions of all frames, which must be usable.
    pub(super) fn positions(
        &mut self,
        frames: usize,
        vertices: usize,
    ) -> Result<Vec<f32>, BakeError> {
        let row = 3 * vertices;
        let positions = self.floats(frames * row)?;
        let usable = |x: &f32| f64::from(x.abs()) <= MAX_COORDINATE;
        match positions.iter().position(|x| !usable(x)) {
            None => Ok(positions),
            Some(at) => {
                let (frame, vertex) = (at / row, at % row / 3);
                let what = format!("frame {frame} has no usable position for vertex {vertex}");
                Err(self.refuse(format!("{what}; export it again")))
            }
        }
    }
}
