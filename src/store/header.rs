// SPDX-License-Identifier: MIT OR Apache-2.0
//! Header of a file; the table is in [`crate::store`]'s docs.

use super::error::{StoreError, read_error};
use std::io::{self, BufRead};
use std::path::Path;

/// Version of the format and of all stored content; raised with every change.
pub const VERSION: u32 = 18;

/// Maximum length of content, bytes; also bounds the allocations of decoding.
pub(super) const MAX_CONTENT_LENGTH: usize = 1 << 32;
/// First bytes of a file.
const MAGIC: &[u8; 8] = b"\x89THEW\r\n\x1a";
/// Maximum length of a kind's name, bytes.
const KIND_LENGTH: usize = 16;
/// Length of the header, bytes.
pub(super) const HEADER_LENGTH: usize = 8 + 4 + KIND_LENGTH + 8 + 4;

/// Header of a file.
pub(super) struct Header(pub [u8; HEADER_LENGTH]);

impl Header {
    /// Takes a header of this version, before content of `found` bytes.
    pub fn open(path: &Path, h: [u8; HEADER_LENGTH], found: u64) -> Result<Self, StoreError> {
        if &h[..8] != MAGIC {
            return Err(StoreError::NotThew {
                path: path.to_owned(),
            });
        }
        let version = u32::from_le_bytes([h[8], h[9], h[10], h[11]]);
        if version != VERSION {
            return Err(StoreError::Version {
                path: path.to_owned(),
                found: version,
            });
        }
        let header = Self(h);
        let expected = header.length();
        if expected != found || expected > MAX_CONTENT_LENGTH as u64 {
            return Err(StoreError::Length {
                path: path.to_owned(),
                expected,
                found,
            });
        }
        Ok(header)
    }

    /// Returns the length of the content, bytes.
    pub fn length(&self) -> u64 {
        read_u64(&self.0[28..36])
    }

    /// Checks that the checksum is that of the content, and then that the kind is the requested one.
    pub fn check(
        &self,
        path: &Path,
        kind: &str,
        content: &mut dyn BufRead,
    ) -> Result<(), StoreError> {
        let sum = checksum(&self.0, content).map_err(|e| read_error(path, e))?;
        if sum.to_le_bytes() != self.0[36..40] {
            return Err(StoreError::Damaged {
                path: path.to_owned(),
                what: "its checksum is wrong".into(),
            });
        }
        let found = self.0[12..12 + KIND_LENGTH].split(|&b| b == 0).next();
        let found = found.unwrap_or_default();
        if found != kind.as_bytes() {
            return Err(StoreError::Kind {
                path: path.to_owned(),
                found: String::from_utf8_lossy(found).into_owned(),
                wanted: kind.to_owned(),
            });
        }
        Ok(())
    }
}

/// Returns the header of a kind and its content; `None` if the kind's name is invalid.
pub(super) fn build_header(kind: &str, content: &[u8]) -> Option<[u8; HEADER_LENGTH]> {
    if kind.is_empty() || kind.len() > KIND_LENGTH || !kind.bytes().all(|b| b.is_ascii_graphic()) {
        return None;
    }
    let mut h = [0; HEADER_LENGTH];
    h[..8].copy_from_slice(MAGIC);
    h[8..12].copy_from_slice(&VERSION.to_le_bytes());
    h[12..12 + kind.len()].copy_from_slice(kind.as_bytes());
    h[28..36].copy_from_slice(&(content.len() as u64).to_le_bytes());
    // Bytes in memory can always be read.
    let sum = checksum(&h, &mut &*content).ok()?;
    h[36..40].copy_from_slice(&sum.to_le_bytes());
    Some(h)
}

/// Returns the checksum of the header, without the checksum itself, and the content.
pub(super) fn checksum(header: &[u8; HEADER_LENGTH], content: &mut dyn BufRead) -> io::Result<u32> {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&header[..36]);
    loop {
        let bytes = content.fill_buf()?;
        if bytes.is_empty() {
            return Ok(crc.finalize());
        }
        crc.update(bytes);
        let used = bytes.len();
        content.consume(used);
    }
}

fn read_u64(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b))
}
