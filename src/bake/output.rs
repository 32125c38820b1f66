// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of bakes on their way to the disk: written whole or not at all, with progress, stopped between two parts.

use super::BakeError;
use crate::disk::{self, ContentWriter};
use crate::progress::{Cancelled, Progress};
use std::cell::Cell;
use std::io;
use std::path::Path;

/// Reports the progress of writing, and remembers whether the caller stopped it.
pub(super) struct WriteProgress<'a> {
    progress: &'a dyn Progress,
    stage: &'static str,
    is_stopped: Cell<bool>,
}

impl<'a> WriteProgress<'a> {
    pub(super) fn new(progress: &'a dyn Progress, stage: &'static str) -> Self {
        Self {
            progress,
            stage,
            is_stopped: Cell::new(false),
        }
    }

    /// Reports a fraction; an error where the caller stops, which [`write_files`] turns into a cancellation.
    pub(super) fn report(&self, fraction: f64) -> io::Result<()> {
        if self.progress.report(fraction, self.stage) {
            return Ok(());
        }
        self.is_stopped.set(true);
        Err(io::Error::other(Cancelled))
    }
}

/// Writes files whole or not at all; errors name `path`.
pub(super) fn write_files(
    path: &Path,
    files: &mut [(&Path, &mut ContentWriter)],
    progress: &WriteProgress,
) -> Result<(), BakeError> {
    disk::write_streams(files).map_err(|error| match progress.is_stopped.get() {
        true => Cancelled.into(),
        false => BakeError::writing(path, &error),
    })
}

/// Checks that a setting is a finite number above 0, also in single precision.
pub(super) fn check_positive(what: &'static str, value: f64) -> Result<(), BakeError> {
    let range = "a finite number above 0";
    let single = value as f32;
    match single > 0.0 && single.is_finite() {
        true => Ok(()),
        false => Err(BakeError::Setting { what, range, value }),
    }
}
