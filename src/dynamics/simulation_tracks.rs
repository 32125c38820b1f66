// SPDX-License-Identifier: MIT OR Apache-2.0
//! A simulation's tracks: set for a clip, put at the frames of a call, and what they give there.

use super::driving::{Driving, Motion};
use super::{Simulation, Tracks};
use crate::Vec3;
use nalgebra::Isometry3;
use std::borrow::Cow;
use std::sync::Arc;

impl Simulation {
    /// Sets the tracks that drive its motion, of a clip of `fps` frames per second; empty ones: none. They are not part of a
    /// [`state`](Self::state).
    pub(crate) fn set_tracks(&mut self, tracks: &Arc<Tracks>, fps: f64) {
        let some = !tracks.is_empty();
        self.driving = some.then(|| Box::new(Driving::new(tracks.clone(), fps)));
    }

    /// Sets the frames of the tracks at the ends of the next call, and a rigid motion of their fields.
    pub(crate) fn set_track_span(&mut self, from: usize, to: usize, moved: &Isometry3<f64>) {
        if let Some(driving) = &mut self.driving {
            driving.set_span(from, to, moved);
        }
    }

    /// Returns factors on the stiffness of its cells together with that of the tracks at the end of the next call; `None`: at ease.
    pub(crate) fn combine_stiffness<'a>(&self, given: Option<&'a [f64]>) -> Option<Cow<'a, [f64]>> {
        let factor = match &self.driving {
            Some(driving) => driving.tracks.stiffness_at(driving.to),
            None => 1.0,
        };
        if factor == 1.0 {
            return given.map(Cow::Borrowed);
        }
        let (least, most) = crate::body::STIFFNESS_FACTORS;
        Some(match given {
            Some(given) => given
                .iter()
                .map(|f| (f * factor).clamp(least, most))
                .collect::<Vec<f64>>()
                .into(),
            None => vec![factor; self.body().lattice().cells().len()].into(),
        })
    }

    /// Returns gravity at a share of the frame, m/s².
    pub(super) fn gravity_at(&self, share: f64) -> Vec3 {
        let led = self.driving.as_ref();
        led.and_then(|led| led.gravity_at(share))
            .unwrap_or(self.settings.gravity)
    }

    /// Returns given forces, world axes, together with those of the fields on flesh at rest at `positions`; `None`: no field acts.
    pub(super) fn rest_field_forces(
        &mut self,
        positions: Option<&[Vec3]>,
        given: Option<&[Vec3]>,
    ) -> Option<Vec<Vec3>> {
        let driving = self.driving.as_mut()?;
        if driving.tracks.fields.is_empty() {
            return None;
        }
        let motion = Motion {
            positions: positions.unwrap_or(&self.next.places),
            velocities: None,
            duration: 0.0,
        };
        driving.set_forces(&self.body, 1.0, &motion);
        let mut forces = driving.forces.clone();
        if let Some(given) = given {
            forces.iter_mut().zip(given).for_each(|(f, g)| *f += g);
        }
        Some(forces)
    }
}
