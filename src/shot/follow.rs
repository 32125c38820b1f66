// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bones of a shot that follow their flesh, with its rigs, pins, contact, run-in or cycle.
//!
//! The shot is simulated with the freed body in place of its own, and with the flesh around these bones made firm, also where rigs lead the
//! stiffness. The turns of the bones are read off its frames, which hold positions in single precision. A shot of poses alone goes by
//! [`follow_bones`](crate::dynamics::follow_bones), which gives the same to that precision.

use super::{Shot, ShotError};
use crate::Vec3;
use crate::body::STIFFNESS_FACTORS;
use crate::clip::{ClipError, FrameForces};
use crate::dynamics::{DynamicBoneSettings, FreedFlesh, follow_bones};
use crate::present::CarriedSurfaces;
use crate::progress::Progress;
use crate::rig::RigForces;
use crate::skeleton::Pose;

impl Shot {
    /// Returns the poses in which bones follow their flesh through the shot, with warnings of its rigs. `bones`, `firmness` and `limit` of the
    /// settings count; frame rate and motion are the shot's. In a cycle the poses are those of the state that repeats.
    ///
    /// # Errors
    /// Errors of [`follow_bones`] and of [`simulate`](Self::simulate).
    pub fn follow_bones(
        &self,
        settings: &DynamicBoneSettings,
        progress: &dyn Progress,
    ) -> Result<(Vec<Pose>, Vec<String>), ShotError> {
        let settings = DynamicBoneSettings {
            fps: self.settings.fps,
            simulation: self.settings.simulation.clone(),
            ..settings.clone()
        };
        let body = self.surfaces.body();
        if self.has_poses_alone() {
            let followed = follow_bones(body, &self.poses, &settings, progress);
            return Ok((followed.map_err(ClipError::from)?, Vec::new()));
        }
        let mut flesh = FreedFlesh::new(body, &settings).map_err(ClipError::from)?;
        let freed = Self {
            surfaces: CarriedSurfaces::from(flesh.body.clone()),
            ..self.clone()
        };
        let factors = flesh.factors();
        let rigs = freed.rig_forces(&|_: f64, stage: &str| progress.report(0.0, stage))?;
        let forces = FirmForces {
            rigs: rigs.as_ref(),
            factors: &factors,
        };
        let clip = freed.simulate_with_forces(Some(&forces), progress)?;
        let follow = |(frame, pose): (usize, &Pose)| {
            let (positions, sway) = clip.positions_and_sway(frame);
            let followed = flesh.follow(&positions, sway.as_deref(), pose);
            Ok(followed.map_err(ClipError::from)?)
        };
        let followed: Result<Vec<Pose>, ShotError> =
            self.poses.iter().enumerate().map(follow).collect();
        let warnings = rigs.as_ref().map_or(&[][..], RigForces::warnings).to_vec();
        Ok((followed?, warnings))
    }

    /// Returns whether nothing but bones moves the flesh, once through the poses.
    fn has_poses_alone(&self) -> bool {
        let once = !self.settings.cyclic && self.settings.preroll == 0 && self.restarts.is_empty();
        let driven = !self.settings.tracks.is_empty();
        once && !driven && self.contact.is_none() && self.rigs.is_empty() && self.pins.is_empty()
    }
}

/// Forces of rigs on flesh that is firm by further factors.
struct FirmForces<'a> {
    rigs: Option<&'a RigForces>,
    /// Factors on the stiffness of each cell.
    factors: &'a [f64],
}

impl FrameForces for FirmForces<'_> {
    fn write(&self, frame: usize, out: &mut [Vec3]) -> Result<(), String> {
        self.rigs.map_or(Ok(()), |rigs| rigs.write(frame, out))
    }

    fn leads_stiffness(&self) -> bool {
        true
    }

    fn write_stiffness(&self, frame: usize, out: &mut [f64]) -> Result<(), String> {
        if let Some(rigs) = self.rigs.filter(|rigs| rigs.leads_stiffness()) {
            rigs.write_stiffness(frame, out)?;
        }
        let (least, most) = STIFFNESS_FACTORS;
        for (out, factor) in out.iter_mut().zip(self.factors) {
            *out = (*out * factor).clamp(least, most);
        }
        Ok(())
    }
}
