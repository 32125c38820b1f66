// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is asked of contact as plain data, for files.

use super::{Contact, ContactOptions, ContactPoint};
use crate::range::{all_sound, is_sound};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// A [`Contact`] in a file.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredContact<'a> {
    options: ContactOptions,
    regions: Option<Cow<'a, [u32]>>,
}

impl<'a> StoredContact<'a> {
    pub fn new(contact: &'a Contact) -> Self {
        Self {
            options: contact.options,
            regions: contact.regions.as_deref().map(Cow::Borrowed),
        }
    }

    pub fn contact(self) -> Contact {
        Contact {
            options: self.options,
            regions: self.regions.map(|r| Arc::from(r.into_owned())),
        }
    }
}

impl ContactPoint {
    /// Whether its numbers are those of a contact.
    pub(crate) fn is_sound(&self) -> bool {
        let vectors = [&self.point, &self.normal, &self.force];
        vectors.into_iter().all(all_sound) && is_sound(self.gap)
    }
}
