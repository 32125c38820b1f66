// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exact states as bytes: positions, velocities, the last two poses and, where any act, forces in rest axes; little-endian
//! numbers behind a header.

use super::{Simulation, SimulationError, Trail};
use crate::range::FARTHEST;
use crate::skeleton::{Affine, Pose};
use crate::{Mat3, Vec3};

/// Of positions and velocities of lattice vertices, and of amplitudes and their velocities.
const MAGIC: [&[u8; 8]; 2] = [b"thewst01", b"thewsm01"];
const HEADER: usize = 32;

impl Simulation {
    /// The state, exactly: `32 + 48 dofs + 192 bones` bytes, with the modal method `32 + 16 modes + 24 dofs + 192 bones` (no
    /// bones before the first reset), and `24 dofs` more while forces in rest axes act.
    pub fn state(&self) -> Vec<u8> {
        let poses = self
            .trail
            .as_ref()
            .map(|t| [t.before.maps(), t.pose.maps()]);
        let maps: Vec<&Affine> = poses.iter().flatten().copied().flatten().collect();
        let duration = self.trail.as_ref().map_or(1.0, |t| t.duration);
        let numbers: Vec<f64> = match self.stepper.modal() {
            Some(modal) => modal.numbers().collect(),
            None => {
                let vectors = self.positions.iter().chain(&self.velocities);
                vectors.flat_map(|v| v.iter().copied()).collect()
            }
        };
        let mut bytes = Vec::with_capacity(HEADER + 8 * numbers.len() + 96 * maps.len());
        bytes.extend(MAGIC[usize::from(self.stepper.modal().is_some())]);
        bytes.extend((self.state_dofs().0 as u64).to_le_bytes());
        bytes.extend((maps.len() as u64 / 2).to_le_bytes());
        bytes.extend(duration.to_le_bytes());
        let linear = maps
            .iter()
            .flat_map(|m| m.linear.iter().chain(&m.translation));
        let acting = self.acting.any().then(|| self.acting.rest());
        let acting = acting.into_iter().flatten().flat_map(|f| f.iter());
        for x in numbers.iter().chain(linear).chain(acting) {
            bytes.extend(x.to_le_bytes());
        }
        bytes
    }

    /// Degrees of freedom of the state, and its numbers besides poses.
    fn state_dofs(&self) -> (usize, usize) {
        let k = self.body.dofs();
        match self.stepper.modal() {
            Some(modal) => (modal.modes().len(), 2 * modal.modes().len() + 3 * k),
            None => (k, 6 * k),
        }
    }

    /// Takes back a state that [`state`](Self::state) gave, of this body.
    ///
    /// # Errors
    /// [`SimulationError::State`]; the present state stays.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), SimulationError> {
        let Some((header, rest)) = bytes.split_at_checked(HEADER) else {
            return Err(SimulationError::State("it is too short"));
        };
        if &header[..8] != MAGIC[usize::from(self.stepper.modal().is_some())] {
            return Err(SimulationError::State("it is of another kind or version"));
        }
        let words: Vec<[u8; 8]> = header[8..].chunks_exact(8).map(word).collect();
        let (dofs, bones) = (u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1]));
        let duration = f64::from_le_bytes(words[2]);
        let (expected, count) = self.state_dofs();
        if dofs != expected as u64 {
            return Err(SimulationError::State(
                "it has another number of lattice vertices or modes",
            ));
        }
        if bones != 0 && bones != self.body.skeleton().len() as u64 {
            return Err(SimulationError::State("it has another number of bones"));
        }
        let bones = bones as usize;
        let (plain, forces) = (8 * count + 192 * bones, 24 * self.body.dofs());
        if rest.len() != plain && rest.len() != plain + forces {
            return Err(SimulationError::State("it is cut off or too long"));
        }
        let numbers: Vec<f64> = rest
            .chunks_exact(8)
            .map(|b| f64::from_le_bytes(word(b)))
            .collect();
        // Shown in f32: what lies farther off could not be.
        let sound = |x: &f64| x.abs() <= FARTHEST;
        if !(numbers.iter().all(sound) && duration >= 0.0 && sound(&duration)) {
            return Err(SimulationError::State(
                "it holds numbers that are not finite, or too large",
            ));
        }
        let (vectors, others) = numbers.split_at(count);
        let (maps, acting) = others.split_at(24 * bones);
        self.trail = if bones == 0 {
            None
        } else {
            let (before, pose) = maps.split_at(12 * bones);
            let (before, pose) = (read_pose(before)?, read_pose(pose)?);
            self.next.set(&self.body, self.method, &pose)?;
            std::mem::swap(&mut self.now, &mut self.next);
            Some(Trail {
                before,
                pose,
                duration,
            })
        };
        let vector = |v: &[f64]| Vec3::new(v[0], v[1], v[2]);
        let acting: Vec<Vec3> = acting.chunks_exact(3).map(vector).collect();
        self.acting.set((!acting.is_empty()).then_some(&acting));
        if let super::AnyStepper::Modal(modal) = &mut self.stepper {
            modal.set_numbers(vectors);
            self.show_modes();
            return self.take_shape();
        }
        let mut vectors = vectors.chunks_exact(3).map(vector);
        for x in self.positions.iter_mut().chain(&mut self.velocities) {
            if let Some(v) = vectors.next() {
                *x = v;
            }
        }
        self.take_shape()
    }
}

fn word(bytes: &[u8]) -> [u8; 8] {
    let mut word = [0; 8];
    word.copy_from_slice(bytes);
    word
}

fn read_pose(numbers: &[f64]) -> Result<Pose, SimulationError> {
    let maps = numbers.chunks_exact(12).map(|m| Affine {
        linear: Mat3::from_column_slice(&m[..9]),
        translation: Vec3::from_column_slice(&m[9..]),
    });
    Ok(Pose::new(maps.collect())?)
}
