// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contact of one simulation: its settings, their checks, and its reports.

use super::touching::ContactSystem;
use super::{Method, Simulation, SimulationError};
use crate::contact::{
    BuriedBone, ColliderSpan, ContactError, ContactPoint, ContactResponse, Parting, PartingOffsets,
    PreparedContact,
};
use crate::kernel::LocalPositions;
use crate::present::{PresentError, Presenter};
use std::sync::Arc;

impl Simulation {
    /// Sets the contact of the flesh with itself and with colliders; `None`: it passes through all. The motion of modal flesh does not
    /// change; its surface is [parted](Self::part_surface).
    ///
    /// # Errors
    /// The method supports no contact; the skin is of another body; a crease method is set for modal flesh.
    pub fn set_contact(&mut self, contact: Option<PreparedContact>) -> Result<(), SimulationError> {
        let Some(contact) = contact else {
            (self.touching, self.parting) = (None, None);
            self.forget_contact();
            self.shape.set_fold_skin(None);
            return Ok(());
        };
        self.check_contact(&contact)?;
        let contact = self.contact_of_active(contact)?;
        let parted = self.settings.method == Method::Modal;
        self.touching = Some(Box::new(ContactSystem::new(&contact)?));
        self.parting = parted.then(|| Box::new(Parting::new(&contact)));
        self.enable_folds(&contact);
        Ok(())
    }

    /// Checks the conditions of [`set_contact`](Self::set_contact).
    pub(super) fn check_contact(&self, contact: &PreparedContact) -> Result<(), SimulationError> {
        let method = self.settings.method;
        if !method.supports_contact() {
            return Err(SimulationError::ContactMethod { method });
        }
        if method == Method::Modal && contact.contact().refuse_creases().is_err() {
            return Err(ContactError::ModalCreases.into());
        }
        match Arc::ptr_eq(contact.skin().body(), self.body()) {
            true => Ok(()),
            false => Err(SimulationError::ContactBody),
        }
    }

    /// Enables folds, which show more of the joints' elastic shape where the skin intersects itself, if contact is to part it there.
    pub(super) fn enable_folds(&mut self, contact: &PreparedContact) {
        let options = contact.options();
        let bends =
            self.settings.method != Method::Hyperelastic && self.settings.elastic_joints == 1.0;
        let folds = options.self_contact && !bends;
        let folds = folds && options.response == ContactResponse::Complementarity;
        self.shape.set_fold_skin(folds.then_some(contact.skin()));
    }

    /// Sets the entry of the colliders' motions at which resets put them.
    pub(crate) fn set_first_collider_entry(&mut self, entry: usize) {
        if let Some(touching) = &mut self.touching {
            touching.set_first_entry(entry);
        }
    }

    /// Sets the span of the colliders' motions for the next frame, in place of one entry.
    pub(crate) fn set_collider_span(&mut self, span: ColliderSpan) {
        if let Some(touching) = &mut self.touching {
            touching.set_span(span);
        }
    }

    /// Returns the parting of the surface as a presenter shows it at present; `None` for methods other than the modal one, or without
    /// contact.
    ///
    /// # Errors
    /// As [`Presenter::positions`].
    pub fn part_surface(
        &self,
        presenter: &Presenter,
    ) -> Result<Option<PartingOffsets>, PresentError> {
        let posed = self.amplitudes().zip(self.pose());
        let Some((parting, posed)) = self.parting.as_deref().zip(posed) else {
            return Ok(None);
        };
        let entry = self.touching.as_ref().map_or(0, |t| t.entry);
        let placed = self.body().basis().coarse_len();
        let lattice = LocalPositions::with_details(self.lattice_positions(), placed);
        let posed = (posed, self.settings.max_offset);
        presenter
            .part_surface(parting, posed, &lattice, entry)
            .map(Some)
    }

    /// Returns the present contacts with their forces; empty with the modal method, which only [parts](Self::part_surface) its surface.
    pub fn contacts(&self) -> &[ContactPoint] {
        self.touching.as_ref().map_or(&[], |t| t.points())
    }

    /// Returns the bones that lie in other flesh or in colliders at present; contact cannot move them out.
    pub fn buried_bones(&self) -> Vec<BuriedBone> {
        let buried = |t: &ContactSystem| t.find_buried_bones(&[&self.shape.places]).pop();
        let touching = self.touching.as_deref();
        touching.and_then(buried).unwrap_or_default()
    }

    /// Returns the number of cells near inversion whose vertices are all held by bones: contact cannot help these.
    pub fn held_cells(&self) -> usize {
        self.touching.as_ref().map_or(0, |t| t.held_cells(0))
    }
}
