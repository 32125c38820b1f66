// SPDX-License-Identifier: MIT OR Apache-2.0
//! External forces on the flesh during a clip: one set per frame, in rest axes, linear in between.
//!
//! A clip does not know their source (rigs and their controls). It requests a frame's forces when it reaches that frame.

use super::ClipError;
use crate::Vec3;
use crate::range::all_sound;
use std::sync::Arc;

/// Forces at the frames of a clip, in rest axes: they turn with the flesh.
pub trait FrameForces: Sync {
    /// Writes the forces at a frame to `out[nodes]`, which is zero on entry: generalised forces on the lattice vertices, N. Frames count from 0 with
    /// the poses that are passed along with these forces. The same frame must give the same forces.
    ///
    /// # Errors
    /// A sentence about the problem.
    fn write(&self, frame: usize, out: &mut [Vec3]) -> Result<(), String>;
}

/// Stores one array `[nodes]` per frame.
impl FrameForces for Vec<Vec<Vec3>> {
    fn write(&self, frame: usize, out: &mut [Vec3]) -> Result<(), String> {
        let Some(forces) = self.get(frame) else {
            return Err(format!("there are forces for {} frames only", self.len()));
        };
        if forces.len() != out.len() {
            let (n, given) = (out.len(), forces.len());
            return Err(format!(
                "there must be one force per lattice vertex: {n}, not {given}"
            ));
        }
        out.copy_from_slice(forces);
        Ok(())
    }
}

/// Forces at one frame, `[nodes]`, N; `None`: no forces.
pub(super) type ForcesAtFrame = Option<Arc<[Vec3]>>;

/// Forces at consecutive poses: known for the first ones, requested for the others.
#[derive(Clone, Copy)]
pub(super) struct ForceSchedule<'a> {
    pub known: &'a [ForcesAtFrame],
    pub new: Option<&'a dyn FrameForces>,
    pub nodes: usize,
    /// Frame of the clip at the first pose.
    pub first: usize,
}

impl ForceSchedule<'_> {
    /// Returns the forces at a pose.
    ///
    /// # Errors
    /// [`ClipError::Forces`]: the source fails or returns numbers that are not finite.
    pub fn forces_at(&self, i: usize) -> Result<ForcesAtFrame, ClipError> {
        if let Some(known) = self.known.get(i) {
            return Ok(known.clone());
        }
        let Some(new) = self.new else {
            return Ok(None);
        };
        let mut forces = vec![Vec3::zeros(); self.nodes];
        let frame = self.first + i;
        new.write(i - self.known.len(), &mut forces)
            .map_err(|sentence| ClipError::Forces { frame, sentence })?;
        if let Some(v) = forces.iter().position(|f| !all_sound(f)) {
            let sentence = format!("the force on lattice vertex {v} is not finite");
            return Err(ClipError::Forces { frame, sentence });
        }
        Ok(Some(forces.into()))
    }
}
