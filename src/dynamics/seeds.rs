// SPDX-License-Identifier: MIT OR Apache-2.0
//! Seeds of creases: the places of first self-contact, found in slow motion. `[capell2006, §3.4.1]`
//!
//! The bones move slowly from rest to each target pose. Every contact on the way pairs a vertex with one of the triangle that it
//! meets: the seeds, in order of appearance. During this motion the general search finds contacts. The
//! default response, which does not depend on seeds, holds them.

use super::{Simulation, SimulationError};
use crate::contact::{ContactError, ContactResponse, ContactSettings, PreparedContact};
use crate::progress::{Progress, Silent, report_progress};
use crate::skeleton::{FrameMotion, Pose};
use std::collections::BTreeSet;

/// Time between checks for contacts, s: a frame of film.
const CHECK_INTERVAL: f64 = 1.0 / 24.0;

impl Simulation {
    /// Returns the pairs of vertices `[s, 2]` at which the search for creases starts; empty without a crease method.
    pub fn crease_seeds(&self) -> &[[u32; 2]] {
        let creases = self.touching.as_ref().and_then(|t| t.creases());
        creases.map_or(&[], |c| c.seeds())
    }

    /// Sets the pairs of vertices at which the search for creases starts; from found creases it goes on to their neighbours. Without seeds nothing
    /// touches.
    /// They are not part of a [`state`](Self::state).
    ///
    /// # Errors
    /// The simulation's contact is not a crease method; a pair is not of two vertices of the skin.
    pub fn set_crease_seeds(&mut self, seeds: &[[u32; 2]]) -> Result<(), SimulationError> {
        let touching = self.touching.as_mut().ok_or(ContactError::NoCreases)?;
        Ok(touching.set_seeds(seeds)?)
    }

    /// Finds the seeds of creases on the way from rest to each of some poses, `seconds` each, and replaces the present seeds.
    /// The state does not change. `[capell2006, §3.4.1]`
    ///
    /// # Errors
    /// As [`set_crease_seeds`](Self::set_crease_seeds) and [`advance`](Self::advance); `seconds` is out of its range; a
    /// cancellation.
    pub fn find_crease_seeds(
        &mut self,
        poses: &[Pose],
        seconds: f64,
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        let touching = self.touching.as_ref();
        let touching = touching.filter(|t| t.creases().is_some());
        let (skin, options) = touching.ok_or(ContactError::NoCreases)?.body_contact(0);
        if !(CHECK_INTERVAL..=1e4).contains(&seconds) {
            return Err(SimulationError::Setting {
                what: "seconds",
                range: "between 1/24 and 10000",
                value: seconds,
            });
        }
        let general = ContactSettings {
            response: ContactResponse::Complementarity,
            ..options
        };
        let mut slow = Self::new(self.body().clone(), self.settings.clone())?;
        slow.set_contact(Some(PreparedContact::from_skin(skin.clone(), general)))?;
        let skeleton = self.body.skeleton();
        let rest = Pose::rest(skeleton.len());
        let frames = (seconds / CHECK_INTERVAL).ceil() as usize;
        let (mut seeds, mut known) = (Vec::new(), BTreeSet::new());
        for (i, pose) in poses.iter().enumerate() {
            let motion = FrameMotion::from_endpoints(skeleton, &rest, pose)?;
            slow.reset(&rest, true, None)?;
            for frame in 1..=frames {
                let part = frame as f64 / frames as f64;
                report_progress(progress, (i as f64 + part) / poses.len() as f64, "seeds")?;
                slow.advance_with_progress(
                    &motion.pose_at(part),
                    CHECK_INTERVAL,
                    (None, None),
                    &Silent,
                )?;
                for contact in slow.contacts() {
                    let pair = [contact.vertex, contact.other_vertex];
                    if pair[0] != pair[1] && known.insert(pair) {
                        seeds.push(pair);
                    }
                }
            }
        }
        self.set_crease_seeds(&seeds)
    }
}
