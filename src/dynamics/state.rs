// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exact states as bytes: positions, velocities and the pose, little-endian numbers behind a header.

use super::standin::Pose;
use super::{Simulation, SimulationError};
use crate::{Mat4, Vec3};

const MAGIC: &[u8; 8] = b"thewst01";

impl Simulation {
    /// The state, exactly: `24 + 48 dofs + 128 bones` bytes (no bones before the first reset).
    pub fn state(&self) -> Vec<u8> {
        let maps = self.pose.as_ref().map_or(&[][..], |p| p.maps());
        let mut bytes = Vec::with_capacity(24 + 48 * self.positions.len() + 128 * maps.len());
        bytes.extend(MAGIC);
        bytes.extend((self.positions.len() as u64).to_le_bytes());
        bytes.extend((maps.len() as u64).to_le_bytes());
        let vectors = self.positions.iter().chain(&self.velocities);
        let numbers = vectors.flat_map(|v| v.iter());
        for x in numbers.chain(maps.iter().flat_map(|m| m.iter())) {
            bytes.extend(x.to_le_bytes());
        }
        bytes
    }

    /// Takes back a state that [`state`](Self::state) gave, of this body.
    ///
    /// # Errors
    /// [`SimulationError::State`]; the present state stays.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), SimulationError> {
        let header = bytes
            .get(..24)
            .ok_or(SimulationError::State("it is too short"))?;
        if &header[..8] != MAGIC {
            return Err(SimulationError::State("it is of another kind or version"));
        }
        let count = |at: usize| {
            let mut b = [0; 8];
            b.copy_from_slice(&header[at..at + 8]);
            u64::from_le_bytes(b) as usize
        };
        let (dofs, bones) = (count(8), count(16));
        if dofs != self.body.dofs() {
            return Err(SimulationError::State(
                "it has another number of lattice vertices",
            ));
        }
        if bones != 0 && bones != self.body.skeleton().len() {
            return Err(SimulationError::State("it has another number of bones"));
        }
        if bytes.len() != 24 + 48 * dofs + 128 * bones {
            return Err(SimulationError::State("it is cut off or too long"));
        }
        let mut numbers = Vec::with_capacity((bytes.len() - 24) / 8);
        for b in bytes[24..].chunks_exact(8) {
            let mut raw = [0; 8];
            raw.copy_from_slice(b);
            numbers.push(f64::from_le_bytes(raw));
        }
        if !numbers.iter().all(|x| x.is_finite()) {
            return Err(SimulationError::State(
                "it holds numbers that are not finite",
            ));
        }
        let (vectors, maps) = numbers.split_at(6 * dofs);
        let maps: Vec<Mat4> = maps.chunks_exact(16).map(Mat4::from_column_slice).collect();
        if bones > 0 {
            let pose =
                Pose::new(maps).map_err(|_| SimulationError::State("its pose is invalid"))?;
            self.next.set(&self.body, self.method, &pose)?;
            std::mem::swap(&mut self.now, &mut self.next);
            self.pose = Some(pose);
        } else {
            self.pose = None;
        }
        let mut vectors = vectors.chunks_exact(3).map(|v| Vec3::new(v[0], v[1], v[2]));
        for x in self.positions.iter_mut().chain(&mut self.velocities) {
            if let Some(v) = vectors.next() {
                *x = v;
            }
        }
        Ok(())
    }
}
