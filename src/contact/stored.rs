// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings of contact as plain data, for files.

use super::collider::StoredCollider;
use super::{Collider, Contact, ContactError, ContactPoint, ContactSettings};
use crate::range::{all_storable, is_storable};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::sync::Arc;

/// File format of a [`Contact`].
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredContact<'a> {
    options: ContactSettings,
    regions: Option<Cow<'a, [u32]>>,
    colliders: Vec<StoredCollider<'a>>,
}

impl<'a> StoredContact<'a> {
    pub fn new(contact: &'a Contact) -> Self {
        Self {
            options: contact.options,
            regions: contact.regions.as_deref().map(Cow::Borrowed),
            colliders: contact.colliders.iter().map(|c| c.to_stored()).collect(),
        }
    }

    /// Builds the contact from its stored form.
    ///
    /// # Errors
    /// Stored colliders that are not valid.
    pub fn into_contact(self) -> Result<Contact, ContactError> {
        let colliders = self
            .colliders
            .into_iter()
            .map(StoredCollider::into_collider);
        Ok(Contact {
            colliders: colliders
                .map(|c| c.map(Arc::new))
                .collect::<Result<_, _>>()?,
            options: self.options,
            regions: self.regions.map(|r| Arc::from(r.into_owned())),
        })
    }
}

impl Serialize for Collider {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_stored().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Collider {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = StoredCollider::deserialize(deserializer)?;
        stored.into_collider().map_err(serde::de::Error::custom)
    }
}

impl ContactPoint {
    /// Returns whether its numbers are finite and in range.
    pub(crate) fn is_valid(&self) -> bool {
        let vectors = [&self.point, &self.normal, &self.force];
        vectors.into_iter().all(all_storable) && is_storable(self.gap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Vec3;

    /// A stored contact with an invalid number is not kept.
    #[test]
    fn contact_point_validity() {
        let good = ContactPoint {
            point: Vec3::new(1.0, 2.0, 3.0),
            normal: Vec3::x(),
            gap: -0.01,
            force: Vec3::y() * 30.0,
            body: 0,
            vertex: 1,
            other_body: 1,
            other_vertex: 7,
            kinematic: false,
        };
        assert!(good.is_valid());
        let spoilt: [fn(&mut ContactPoint); 4] = [
            |c| c.point.x = f64::NAN,
            |c| c.normal.y = f64::INFINITY,
            |c| c.force.z = f64::NAN,
            |c| c.gap = f64::NEG_INFINITY,
        ];
        for spoil in spoilt {
            let mut bad = good;
            spoil(&mut bad);
            assert!(!bad.is_valid());
        }
    }
}
