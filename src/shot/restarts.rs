// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cuts of a shot, at which the flesh starts afresh: ranges, forces and progress of the parts between them.

use crate::Vec3;
use crate::clip::{ClipError, FrameForces};
use crate::progress::{Progress, StageProgress};
use std::ops::Range;

/// Splits `frames` frames at the restarts.
///
/// # Errors
/// [`ClipError::Restarts`]: restarts that do not ascend, the first frame, a frame beyond the end.
pub(super) fn split_at_restarts(
    frames: usize,
    restarts: &[usize],
) -> Result<Vec<Range<usize>>, ClipError> {
    let mut parts = Vec::with_capacity(restarts.len() + 1);
    let mut begun = 0;
    for &restart in restarts {
        if !(begun < restart && restart < frames) {
            return Err(ClipError::Restarts { restart, frames });
        }
        parts.push(begun..restart);
        begun = restart;
    }
    parts.push(begun..frames);
    Ok(parts)
}

/// Forces of a part of a shot; frames count from the first of the part.
pub(super) struct PartForces<'a> {
    pub whole: &'a dyn FrameForces,
    pub first: usize,
}

impl FrameForces for PartForces<'_> {
    fn write(&self, frame: usize, out: &mut [Vec3]) -> Result<(), String> {
        self.whole.write(self.first + frame, out)
    }

    fn leads_stiffness(&self) -> bool {
        self.whole.leads_stiffness()
    }

    fn write_stiffness(&self, frame: usize, out: &mut [f64]) -> Result<(), String> {
        self.whole.write_stiffness(self.first + frame, out)
    }
}

/// Returns the progress of a part of a shot with `frames` frames.
pub(super) fn part_progress<'a>(
    progress: &'a dyn Progress,
    part: &Range<usize>,
    frames: usize,
) -> StageProgress<'a> {
    let at = |frame: usize| frame as f64 / frames.max(1) as f64;
    StageProgress {
        whole: progress,
        from: at(part.start),
        to: at(part.end),
    }
}
