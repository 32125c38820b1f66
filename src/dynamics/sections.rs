// SPDX-License-Identifier: MIT OR Apache-2.0
//! Named, versioned sections of a saved state.
//!
//! ```text
//! "thewst02"  count: u64            then of each section
//! name: 16 bytes, ASCII, padded with zeros   version: u32   flags: u32   length: u64   payload: that many bytes
//! ```
//!
//! All numbers are little-endian. Sections may come in any order. Flag 1 marks a section without which the state is meaningless:
//! a reader that does not know such a section refuses the state, and skips other unknown ones. A section's version changes when the
//! meaning of its payload does.

use super::SimulationError;
use crate::Vec3;
use crate::range::MAX_COORDINATE;

/// First bytes of a state with sections.
pub(super) const MAGIC: &[u8; 8] = b"thewst02";

const NAME_LENGTH: usize = 16;
const HEADER_LENGTH: usize = NAME_LENGTH + 16;
/// Flag of sections that the reader must know.
const REQUIRED_FLAG: u32 = 1;

/// Name, version and flag of a section.
#[derive(Debug, Clone, Copy)]
pub(super) struct SectionKind {
    /// ASCII name, at most 16 bytes.
    name: &'static str,
    version: u32,
    required: bool,
}

impl SectionKind {
    /// Creates the kind of a section without which the state is meaningless.
    pub const fn required(name: &'static str, version: u32) -> Self {
        assert!(name.len() <= NAME_LENGTH);
        Self {
            name,
            version,
            required: true,
        }
    }
}

/// Writer of a state.
pub(super) struct SectionWriter {
    bytes: Vec<u8>,
    count: u64,
}

impl SectionWriter {
    pub fn new() -> Self {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(0u64.to_le_bytes());
        Self { bytes, count: 0 }
    }

    /// Adds a section of numbers.
    pub fn add_numbers(&mut self, kind: SectionKind, numbers: impl Iterator<Item = f64>) {
        let mut name = [0; NAME_LENGTH];
        name[..kind.name.len()].copy_from_slice(kind.name.as_bytes());
        let flags = if kind.required { REQUIRED_FLAG } else { 0 };
        self.bytes.extend(name);
        self.bytes.extend(kind.version.to_le_bytes());
        self.bytes.extend(flags.to_le_bytes());
        let length = self.bytes.len();
        self.bytes.extend(0u64.to_le_bytes());
        for x in numbers {
            self.bytes.extend(x.to_le_bytes());
        }
        let payload = (self.bytes.len() - length - 8) as u64;
        self.bytes[length..length + 8].copy_from_slice(&payload.to_le_bytes());
        self.count += 1;
    }

    /// Adds a section of vectors.
    pub fn add_vectors(&mut self, kind: SectionKind, vectors: &[Vec3]) {
        self.add_numbers(kind, vectors.iter().flat_map(|v| v.iter().copied()));
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.bytes[8..16].copy_from_slice(&self.count.to_le_bytes());
        self.bytes
    }
}

/// Reader of a state, holding the sections not yet taken.
#[derive(Debug, Default)]
pub(super) struct SectionReader<'a> {
    left: Vec<Section<'a>>,
}

#[derive(Debug)]
struct Section<'a> {
    name: &'a str,
    version: u32,
    required: bool,
    payload: &'a [u8],
}

fn state_error(what: &'static str) -> SimulationError {
    SimulationError::State(what)
}

const CUT_OFF_MESSAGE: &str = "it is cut off or too long";

impl<'a> SectionReader<'a> {
    /// Splits a state into its sections.
    pub fn read(bytes: &'a [u8]) -> Result<Self, SimulationError> {
        let mut rest = bytes;
        if take_bytes(&mut rest, 8)? != MAGIC {
            return Err(state_error("it is of another kind or version"));
        }
        let count = u64::from_le_bytes(to_array(take_bytes(&mut rest, 8)?));
        let mut sections = Self::default();
        while !rest.is_empty() {
            let header = take_bytes(&mut rest, HEADER_LENGTH)?;
            let end = header[..NAME_LENGTH].iter().rposition(|&c| c != 0);
            let name = &header[..end.map_or(0, |i| i + 1)];
            let known = !name.is_empty() && name.iter().all(|c| (b' '..=b'~').contains(c));
            let name = str::from_utf8(name).ok().filter(|_| known);
            let name = name.ok_or(state_error("one of its sections has no readable name"))?;
            let length = u64::from_le_bytes(to_array(&header[NAME_LENGTH + 8..]));
            let length = usize::try_from(length).map_err(|_| state_error(CUT_OFF_MESSAGE))?;
            let flags = u32::from_le_bytes(to_array(&header[NAME_LENGTH + 4..NAME_LENGTH + 8]));
            let section = Section {
                name,
                version: u32::from_le_bytes(to_array(&header[NAME_LENGTH..NAME_LENGTH + 4])),
                required: flags & REQUIRED_FLAG != 0,
                payload: take_bytes(&mut rest, length)?,
            };
            sections.push(section)?;
        }
        if sections.left.len() as u64 != count {
            return Err(state_error(CUT_OFF_MESSAGE));
        }
        Ok(sections)
    }

    fn push(&mut self, section: Section<'a>) -> Result<(), SimulationError> {
        if self.left.iter().any(|s| s.name == section.name) {
            return Err(state_error("one of its sections is there twice"));
        }
        self.left.push(section);
        Ok(())
    }

    /// Takes a section's numbers, if present. All must be finite and not too large.
    pub fn take_numbers(&mut self, kind: SectionKind) -> Result<Option<Vec<f64>>, SimulationError> {
        let Some(i) = self.left.iter().position(|s| s.name == kind.name) else {
            return Ok(None);
        };
        if self.left[i].version != kind.version {
            // An optional one is left for `finish` to skip.
            return match self.left[i].required {
                true => Err(self.left[i].unknown_error()),
                false => Ok(None),
            };
        }
        let payload = self.left.remove(i).payload;
        if !payload.len().is_multiple_of(8) {
            return Err(state_error(CUT_OFF_MESSAGE));
        }
        let numbers = payload.chunks_exact(8);
        let numbers: Vec<f64> = numbers.map(|b| f64::from_le_bytes(to_array(b))).collect();
        // Displayed in f32, which could not represent anything farther away.
        match numbers.iter().all(|x| x.abs() <= MAX_COORDINATE) {
            true => Ok(Some(numbers)),
            false => Err(state_error(
                "it holds numbers that are not finite, or too large",
            )),
        }
    }

    /// Takes a required section of `count` numbers.
    pub fn take_required_numbers(
        &mut self,
        kind: SectionKind,
        count: usize,
    ) -> Result<Vec<f64>, SimulationError> {
        match self.take_numbers(kind)? {
            Some(numbers) if numbers.len() == count => Ok(numbers),
            Some(_) => Err(state_error(
                "it has another number of lattice vertices or modes",
            )),
            None => Err(SimulationError::StateWithout { section: kind.name }),
        }
    }

    /// Takes a required section of `count` vectors.
    pub fn take_vectors(
        &mut self,
        kind: SectionKind,
        count: usize,
    ) -> Result<Vec<Vec3>, SimulationError> {
        let numbers = self.take_required_numbers(kind, 3 * count)?;
        Ok(numbers
            .chunks_exact(3)
            .map(Vec3::from_column_slice)
            .collect())
    }

    /// Takes a section of `count` vectors, if present.
    pub fn take_optional_vectors(
        &mut self,
        kind: SectionKind,
        count: usize,
    ) -> Result<Option<Vec<Vec3>>, SimulationError> {
        match self.left.iter().any(|s| s.name == kind.name) {
            true => self.take_vectors(kind, count).map(Some),
            false => Ok(None),
        }
    }

    /// Checks that no required section is left after all known ones have been taken.
    pub fn finish(self) -> Result<(), SimulationError> {
        match self.left.iter().find(|s| s.required) {
            Some(section) => Err(section.unknown_error()),
            None => Ok(()),
        }
    }
}

impl Section<'_> {
    fn unknown_error(&self) -> SimulationError {
        SimulationError::StateSection {
            section: self.name.to_string(),
            version: self.version,
        }
    }
}

/// Takes the next `count` bytes.
fn take_bytes<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8], SimulationError> {
    let (taken, left) = rest
        .split_at_checked(count)
        .ok_or(state_error(CUT_OFF_MESSAGE))?;
    *rest = left;
    Ok(taken)
}

fn to_array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[..N]);
    array
}
