// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reader of states from before sections.
//!
//! ```text
//! "thewst01"  nodes: u64   bones: u64   duration: f64   positions, velocities [nodes,3]
//! "thewsm01"  modes: u64  bones: u64   duration: f64   amplitudes, their velocities [modes], velocities of T(x) [nodes,3]
//! then the poses before and at present [bones,12] (no bones before the first reset), then perhaps rest forces [nodes,3]
//! ```

use super::SimulationError;
use super::modal::{AMPLITUDES, SKIN_VELOCITIES};
use super::sections::Sections;
use super::state::{POSES, REST_FORCES};
use super::stepper::{POSITIONS, VELOCITIES};

const HEADER: usize = 32;

/// Converts a state without sections to the equivalent sections; `nodes`: number of the body's lattice vertices.
pub(super) fn read(bytes: &[u8], nodes: usize) -> Result<Sections<'_>, SimulationError> {
    let wrong = SimulationError::State;
    let (header, mut rest) = bytes
        .split_at_checked(HEADER)
        .ok_or(wrong("it is too short"))?;
    let word = |at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&header[at..at + 8]);
        u64::from_le_bytes(word)
    };
    let (count, bones) = (word(8), word(16));
    let mut take = |numbers: u64, each: u64| {
        let length = numbers.checked_mul(8 * each);
        let length = length.and_then(|length| usize::try_from(length).ok());
        let (taken, left) = length
            .and_then(|length| rest.split_at_checked(length))
            .ok_or(wrong("it is cut off or too long"))?;
        rest = left;
        Ok::<_, SimulationError>(taken)
    };
    let mut sections = Sections::default();
    match &header[..8] {
        b"thewst01" => {
            sections.add(POSITIONS, take(count, 3)?);
            sections.add(VELOCITIES, take(count, 3)?);
        }
        b"thewsm01" => {
            sections.add(AMPLITUDES, take(count, 2)?);
            sections.add(SKIN_VELOCITIES, take(nodes as u64, 3)?);
        }
        _ => return Err(wrong("it is of another kind or version")),
    }
    let maps = take(bones, 24)?;
    if bones > 0 {
        sections.add(POSES, [&header[24..], maps].concat());
    }
    if !rest.is_empty() {
        sections.add(REST_FORCES, rest);
    }
    Ok(sections)
}
