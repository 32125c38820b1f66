// SPDX-License-Identifier: MIT OR Apache-2.0
//! External forces on the flesh during a clip, and its stiffness: one set per frame, linear in between.
//!
//! A clip does not know their source (rigs and their controls). It requests those of a frame when it reaches that frame.

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

    /// Returns whether the source leads the stiffness of the flesh.
    fn leads_stiffness(&self) -> bool {
        false
    }

    /// Writes the factors on the elastic stiffness of the lattice's cells at a frame to `out[cells]`, which are 1 on entry, if the source
    /// leads the stiffness. They are in [`STIFFNESS_FACTORS`](crate::body::STIFFNESS_FACTORS).
    ///
    /// # Errors
    /// A sentence about the problem.
    fn write_stiffness(&self, _frame: usize, _out: &mut [f64]) -> Result<(), String> {
        Ok(())
    }
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

/// Forces and stiffness at one frame.
#[derive(Debug, Clone, Default)]
pub(super) struct DriveAtFrame {
    /// Forces `[nodes]`, N; `None`: no forces.
    pub forces: Option<Arc<[Vec3]>>,
    /// Factors on the stiffness `[cells]`; `None`: flesh at ease.
    pub stiffness: Option<Arc<[f64]>>,
}

/// Forces and stiffness at consecutive poses: known for the first ones, requested for the others.
#[derive(Clone, Copy)]
pub(super) struct ForceSchedule<'a> {
    pub known: &'a [DriveAtFrame],
    pub new: Option<&'a dyn FrameForces>,
    /// Numbers of lattice vertices with details, and of cells.
    pub counts: (usize, usize),
    /// Frame of the clip at the first pose.
    pub first: usize,
}

impl ForceSchedule<'_> {
    /// Returns the forces and the stiffness at a pose.
    ///
    /// # Errors
    /// [`ClipError::Forces`]: the source fails or returns numbers that are not finite.
    pub fn drive_at(&self, i: usize) -> Result<DriveAtFrame, ClipError> {
        if let Some(known) = self.known.get(i) {
            return Ok(known.clone());
        }
        let Some(new) = self.new else {
            return Ok(DriveAtFrame::default());
        };
        let (nodes, cells) = self.counts;
        let mut forces = vec![Vec3::zeros(); nodes];
        let frame = self.first + i;
        let failed = |sentence| ClipError::Forces { frame, sentence };
        let own = i - self.known.len();
        new.write(own, &mut forces).map_err(failed)?;
        if let Some(v) = forces.iter().position(|f| !all_sound(f)) {
            return Err(failed(format!(
                "the force on lattice vertex {v} is not finite"
            )));
        }
        let stiffness = match new.leads_stiffness() {
            false => None,
            true => {
                let mut factors = vec![1.0; cells];
                new.write_stiffness(own, &mut factors).map_err(failed)?;
                // Flesh at ease goes by every method.
                (factors.iter().any(|f| *f != 1.0)).then(|| factors.into())
            }
        };
        Ok(DriveAtFrame {
            forces: Some(forces.into()),
            stiffness,
        })
    }
}
