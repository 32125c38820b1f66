// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of writing and reading files.

use super::VERSION;
use std::io;
use std::path::{Path, PathBuf};

/// Reason why a file could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Not a Thew file, or cut off within its header.
    #[error("{path} is not a Thew file")]
    NotThew {
        /// Path of the file.
        path: PathBuf,
    },
    /// A file of another format version.
    #[error(
        "{path} has format version {found}, but this Thew reads version {VERSION}: make it again"
    )]
    Version {
        /// Path of the file.
        path: PathBuf,
        /// Its format version.
        found: u32,
    },
    /// A Thew file of another kind.
    #[error("{path} holds a {found}, not a {wanted}")]
    Kind {
        /// Path of the file.
        path: PathBuf,
        /// Its kind.
        found: String,
        /// Expected kind.
        wanted: String,
    },
    /// Content that is shorter or longer than its header says.
    #[error(
        "{path} should hold {expected} bytes of content but holds {found}: it was cut off or overwritten"
    )]
    Length {
        /// Path of the file.
        path: PathBuf,
        /// Length by its header, bytes.
        expected: u64,
        /// Actual length, bytes.
        found: u64,
    },
    /// Content that fails the checksum or the decoding.
    #[error("{path} is damaged: {what}")]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Nature of the damage.
        what: String,
    },
    /// A value that cannot be written.
    #[error("{path} cannot be written: {what}")]
    Unwritable {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        what: String,
    },
    /// A failure of the disk or the file system.
    #[error("{path} cannot be {action}: {}", crate::disk::reason(source))]
    Disk {
        /// Path of the file.
        path: PathBuf,
        /// Attempted action: read or written.
        action: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
}

/// Returns the error of a file that could not be read.
pub(super) fn read_error(path: &Path, source: io::Error) -> StoreError {
    StoreError::Disk {
        path: path.to_owned(),
        action: "read",
        source,
    }
}
