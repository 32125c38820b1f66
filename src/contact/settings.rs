// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings of contact, and contact prepared for a body.

use super::{Collider, ContactError, ContactSkin};
use crate::body::Body;
use crate::progress::Progress;
use crate::range::is_sound;
use crate::surface::Surface;
use std::sync::Arc;

/// Largest thickness, in sizes of the body. Skins half a body apart do not touch.
const MAX_THICKNESS: f64 = 0.5;

/// Method that keeps flesh from passing through itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub enum ContactResponse {
    /// Contacts push and never pull, with friction; cells are kept from inversion.
    #[default]
    Complementarity,
    /// The crease method as printed: seeds, fronts, and equalities that also pull `[capell2006, §3.4]`. For comparison.
    Creases,
    /// The crease method with every constraint released that would pull.
    ReleasedCreases,
}

impl ContactResponse {
    /// All responses.
    pub const ALL: [Self; 3] = [Self::Complementarity, Self::Creases, Self::ReleasedCreases];

    /// Returns the name of the response in the interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complementarity => "complementarity",
            Self::Creases => "creases",
            Self::ReleasedCreases => "released_creases",
        }
    }

    /// Returns the quoted names of all responses, for error sentences.
    pub(super) fn names() -> String {
        Self::ALL.map(|r| format!("'{}'", r.name())).join(", ")
    }
}

impl std::fmt::Display for ContactResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for ContactResponse {
    type Err = ContactError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|r| r.name() == name)
            .ok_or_else(|| ContactError::Response {
                name: name.to_owned(),
            })
    }
}

/// Parameters of contact.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ContactSettings {
    /// Whether a body touches itself.
    pub self_contact: bool,
    /// Distance kept between skins, metres.
    pub thickness: f64,
    /// Coulomb's friction coefficient.
    pub friction: f64,
    /// Compliance of contacts, as a part of the compliance of the flesh there.
    pub compliance: f64,
    /// Method of contact. The crease methods ignore thickness, friction and compliance.
    pub response: ContactResponse,
}

impl Default for ContactSettings {
    fn default() -> Self {
        Self {
            self_contact: true,
            thickness: 0.0,
            friction: 0.3,
            compliance: 0.03,
            response: ContactResponse::Complementarity,
        }
    }
}

impl ContactSettings {
    /// Checks the ranges of thickness, friction and compliance.
    ///
    /// # Errors
    /// A number out of its range, by name.
    pub fn check(&self) -> Result<(), ContactError> {
        let positive = "zero or positive";
        for (what, value, range, good) in [
            ("thickness", self.thickness, positive, self.thickness >= 0.0),
            ("friction", self.friction, positive, self.friction >= 0.0),
            (
                "compliance",
                self.compliance,
                "between 1e-6 and 10",
                (1e-6..=10.0).contains(&self.compliance),
            ),
        ] {
            if !good || !is_sound(value) {
                return Err(ContactError::Setting { what, range, value });
            }
        }
        Ok(())
    }
}

/// Settings of contact for bodies with the same surface.
#[derive(Debug, Clone, Default)]
pub struct Contact {
    /// Parameters of contact.
    pub options: ContactSettings,
    /// One number per vertex of the surface, `[n]`; vertices with 0 touch nothing. `None`: all may touch.
    pub regions: Option<Arc<[u32]>>,
    /// Colliders that the flesh touches as well.
    pub colliders: Vec<Arc<Collider>>,
}

impl Contact {
    /// Returns contact with other bodies and colliders, without self-contact.
    pub fn with_others() -> Self {
        let options = ContactSettings {
            self_contact: false,
            ..ContactSettings::default()
        };
        Self {
            options,
            ..Self::default()
        }
    }

    /// Checks that the settings fit a surface.
    ///
    /// # Errors
    /// A number out of its range; regions for another number of vertices.
    pub fn check(&self, surface: &Surface) -> Result<(), ContactError> {
        self.options.check()?;
        let expected = surface.vertices().len();
        match self.regions.as_deref().map(<[_]>::len) {
            Some(given) if given != expected => Err(ContactError::Regions { expected, given }),
            _ => Ok(()),
        }
    }

    /// Checks that the response is not one of the crease methods, which run step by step only.
    ///
    /// # Errors
    /// The response is a crease method.
    pub fn refuse_creases(&self) -> Result<(), ContactError> {
        match self.options.response {
            ContactResponse::Complementarity => Ok(()),
            _ => Err(ContactError::CreasesInClip),
        }
    }

    /// Checks that a clip of `poses` poses can use this contact: no crease method, and no collider whose motion ends before the poses do.
    ///
    /// # Errors
    /// A crease method; the first collider whose motion is too short, with its number of entries.
    pub fn check_clip(&self, poses: usize) -> Result<(), ContactError> {
        self.refuse_creases()?;
        let short = |c: &Arc<Collider>| c.entries().filter(|&n| n < poses);
        let mut all = self.colliders.iter().enumerate();
        match all.find_map(|(i, c)| Some((i, short(c)?))) {
            None => Ok(()),
            Some((collider, given)) => Err(ContactError::Entries {
                collider,
                expected: poses,
                given,
            }),
        }
    }

    /// Prepares contact for a body.
    ///
    /// # Errors
    /// A number out of its range; a thickness of more than half of the body; regions for another number of vertices than the surface has;
    /// cancellation by the progress.
    pub fn prepare(
        &self,
        body: &Arc<Body>,
        progress: &dyn Progress,
    ) -> Result<PreparedContact, ContactError> {
        self.check(body.surface())?;
        let (thickness, size) = (self.options.thickness, body.size());
        if thickness > MAX_THICKNESS * size {
            return Err(ContactError::Thickness { thickness, size });
        }
        let skin = ContactSkin::new(body, self.regions.as_deref(), progress)?;
        Ok(PreparedContact {
            skin: Arc::new(skin),
            contact: self.clone(),
        })
    }
}

/// Contact prepared for a body.
#[derive(Debug, Clone)]
pub struct PreparedContact {
    contact: Contact,
    skin: Arc<ContactSkin>,
}

impl PreparedContact {
    /// Builds prepared contact from a prepared skin, without regions or colliders.
    pub(crate) fn from_skin(skin: Arc<ContactSkin>, options: ContactSettings) -> Self {
        let contact = Contact {
            options,
            ..Contact::default()
        };
        Self { contact, skin }
    }

    /// Returns a copy with other colliders.
    pub(crate) fn with_colliders(&self, colliders: &[Arc<Collider>]) -> Self {
        let contact = Contact {
            colliders: colliders.to_vec(),
            ..self.contact.clone()
        };
        Self {
            contact,
            skin: self.skin.clone(),
        }
    }

    /// Returns the same contact for a body with other functions, on the same surface and lattice.
    pub(crate) fn with_body(&self, body: &Arc<Body>) -> Self {
        Self {
            contact: self.contact.clone(),
            skin: Arc::new(self.skin.with_body(body)),
        }
    }

    /// Returns the settings of contact.
    pub fn contact(&self) -> &Contact {
        &self.contact
    }

    /// Returns the parameters of contact.
    pub fn options(&self) -> ContactSettings {
        self.contact.options
    }

    /// Returns the prepared skin of the body.
    pub fn skin(&self) -> &Arc<ContactSkin> {
        &self.skin
    }
}
