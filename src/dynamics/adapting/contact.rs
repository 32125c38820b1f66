// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contact of bodies that adapt: one skin for all sets, on the functions that are active, with the forces of the last step.

use super::scatter;
use crate::Vec3;
use crate::body::Body;
use crate::contact::{ContactResponse, PreparedContact};
use crate::dynamics::{Simulation, SimulationError};

impl Simulation {
    /// Prepares contact for the active functions; keeps it for those of later frames.
    pub(in crate::dynamics) fn contact_of_active(
        &mut self,
        contact: PreparedContact,
    ) -> Result<PreparedContact, SimulationError> {
        let Some(adapting) = &mut self.adapting else {
            return Ok(contact);
        };
        if contact.options().response != ContactResponse::Complementarity {
            return Err(SimulationError::Adaptation(
                "crease methods follow collisions of functions that stay: use the default response of contact, or adapt 'none'",
            ));
        }
        // Prepared once, for all sets.
        adapting.whole.joints();
        let active = contact.with_body(&self.body);
        adapting.contact = Some(contact);
        Ok(active)
    }

    /// Forgets the contact of later frames.
    pub(in crate::dynamics) fn forget_contact(&mut self) {
        if let Some(adapting) = &mut self.adapting {
            adapting.contact = None;
        }
    }

    /// Returns a contact of the body for its active functions.
    pub(in crate::dynamics) fn on_active(&self, contact: &PreparedContact) -> PreparedContact {
        match &self.adapting {
            Some(_) => contact.with_body(&self.body),
            None => contact.clone(),
        }
    }

    /// Returns forces on all functions of the whole body, N, from those on the free nodes of the active ones.
    pub(in crate::dynamics) fn spread_pushes(&self, pushes: &[Vec3]) -> Vec<Vec3> {
        let active = nodal_pushes(&self.body, pushes);
        let Some(adapting) = &self.adapting else {
            return active;
        };
        let mut all = Vec::new();
        let count = adapting.whole.node_count();
        scatter(&adapting.set, &active, count, &mut all);
        all
    }

    /// Returns the forces on the free nodes of the active functions, N, from those on all functions.
    pub(in crate::dynamics) fn gather_pushes(&self, all: &[Vec3]) -> Vec<Vec3> {
        match &self.adapting {
            Some(adapting) => free_pushes(&self.body, &adapting.gather(all)),
            None => free_pushes(&self.body, all),
        }
    }
}

/// Returns forces on all nodes of a body, N, from those on its free ones.
pub(super) fn nodal_pushes(body: &Body, pushes: &[Vec3]) -> Vec<Vec3> {
    let mut all = vec![Vec3::zeros(); body.node_count()];
    for (push, &v) in pushes.iter().zip(body.pattern().vertex_of_node()) {
        all[v as usize] = *push;
    }
    all
}

/// Returns the forces on the free nodes of a body, N, from those on all.
pub(super) fn free_pushes(body: &Body, all: &[Vec3]) -> Vec<Vec3> {
    let free = body.pattern().vertex_of_node().iter();
    free.map(|&v| all[v as usize]).collect()
}
