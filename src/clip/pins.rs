// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pins of a clip: tracks of targets and strengths, one entry a frame.

use super::ClipError;
use crate::Vec3;
use crate::dynamics::{Pin, PinPoint};
use crate::range::is_position;
use std::ops::Range;

/// A point of the flesh with its target and strength at every frame of a clip.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PinTrack {
    /// The point.
    pub point: PinPoint,
    /// Targets, one per frame, m, world axes.
    pub targets: Vec<Vec3>,
    /// Strengths, one per frame, 0 (off) to 1 (held); empty: 1 throughout.
    pub strengths: Vec<f64>,
}

impl PinTrack {
    /// Creates a track of strength 1.
    pub fn new(point: PinPoint, targets: Vec<Vec3>) -> Self {
        Self {
            point,
            targets,
            strengths: Vec::new(),
        }
    }

    /// Returns the pin at a frame; beyond the last frame that of the last.
    pub(super) fn at(&self, frame: usize) -> Pin {
        let last = |count: usize| frame.min(count.saturating_sub(1));
        let target = self.targets.get(last(self.targets.len()));
        let strength = self.strengths.get(last(self.strengths.len()));
        Pin {
            point: self.point,
            target: target.copied().unwrap_or_default(),
            strength: strength.copied().unwrap_or(1.0),
        }
    }

    /// Returns the part of the track in a range of frames.
    pub(crate) fn part(&self, frames: &Range<usize>) -> Self {
        let strengths = self.strengths.get(frames.clone());
        Self {
            point: self.point,
            targets: self
                .targets
                .get(frames.clone())
                .unwrap_or_default()
                .to_vec(),
            strengths: strengths.unwrap_or_default().to_vec(),
        }
    }

    /// Returns whether the track has one sound entry for each of `frames` frames.
    pub(crate) fn fits(&self, frames: usize) -> bool {
        self.covers(frames) && self.is_sound()
    }

    fn covers(&self, frames: usize) -> bool {
        self.targets.len() == frames
            && (self.strengths.is_empty() || self.strengths.len() == frames)
    }

    fn is_sound(&self) -> bool {
        self.targets.iter().all(is_position)
            && self.strengths.iter().all(|s| (0.0..=1.0).contains(s))
    }
}

/// Checks that each track has one sound entry for each of `frames` frames.
pub(crate) fn check_tracks(tracks: &[PinTrack], frames: usize) -> Result<(), ClipError> {
    for (pin, track) in tracks.iter().enumerate() {
        if !track.covers(frames) {
            return Err(ClipError::PinTrackFrames {
                pin,
                targets: track.targets.len(),
                strengths: track.strengths.len(),
                frames,
            });
        }
        if !track.is_sound() {
            return Err(ClipError::PinTrack { pin });
        }
    }
    Ok(())
}

/// Appends `added` frames to tracks of `frames` frames: those of `new`, which has the same points, or the last entries held.
///
/// # Errors
/// Tracks of other points or of another number of frames.
pub(super) fn extend_tracks(
    known: &[PinTrack],
    frames: usize,
    new: &[PinTrack],
    added: usize,
) -> Result<Vec<PinTrack>, ClipError> {
    check_tracks(new, added)?;
    if frames == 0 {
        return Ok(new.to_vec());
    }
    let same = new.len() == known.len() && new.iter().zip(known).all(|(a, b)| a.point == b.point);
    if !(new.is_empty() || same) {
        return Err(ClipError::PinPoints {
            given: new.len(),
            expected: known.len(),
        });
    }
    let all = known.iter().enumerate().map(|(k, track)| {
        let pin = |i: usize| match new.get(k) {
            Some(new) => new.at(i),
            None => track.at(frames),
        };
        let mut track = track.clone();
        let pins: Vec<Pin> = (0..added).map(pin).collect();
        if track.strengths.is_empty() && pins.iter().any(|pin| pin.strength != 1.0) {
            track.strengths = vec![1.0; frames];
        }
        if !track.strengths.is_empty() {
            track.strengths.extend(pins.iter().map(|pin| pin.strength));
        }
        track.targets.extend(pins.iter().map(|pin| pin.target));
        track
    });
    Ok(all.collect())
}

/// Returns the pins of all tracks at a frame.
pub(super) fn pins_at(tracks: &[PinTrack], frame: usize) -> Vec<Pin> {
    tracks.iter().map(|track| track.at(frame)).collect()
}
