// SPDX-License-Identifier: MIT OR Apache-2.0
//! What touches, and how.

use super::{Collider, ContactError, ContactSkin};
use crate::body::Body;
use crate::progress::Progress;
use crate::range::is_sound;
use crate::surface::Surface;
use std::sync::Arc;

/// Between skins no more can be kept, in sizes of the body. Skins half a body apart do not touch.
const THICKEST: f64 = 0.5;

/// What keeps flesh from passing through itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub enum ContactResponse {
    /// Contacts push and never pull, with friction; cells are kept from inversion.
    #[default]
    Complementarity,
    /// The crease method as printed: seeds, fronts, and equalities that also pull `[capell2006, §3.4]`. For comparison.
    Creases,
    /// The same with every constraint released that would pull.
    ReleasedCreases,
}

impl ContactResponse {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Complementarity, Self::Creases, Self::ReleasedCreases];

    /// The name in the interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complementarity => "complementarity",
            Self::Creases => "creases",
            Self::ReleasedCreases => "released_creases",
        }
    }

    /// The names of all, for sentences.
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

/// How flesh touches itself.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ContactOptions {
    /// Whether a body touches itself.
    pub self_contact: bool,
    /// What is kept between skins, metres.
    pub thickness: f64,
    /// Coulomb's coefficient.
    pub friction: f64,
    /// How far contacts give, as a part of what the flesh itself gives there.
    pub compliance: f64,
    /// What keeps flesh from passing through itself. The crease methods know neither thickness, friction nor compliance.
    pub response: ContactResponse,
}

impl Default for ContactOptions {
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

impl ContactOptions {
    /// Refuses what nothing can touch with.
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

/// All that is asked of contact, for bodies with the same surface.
#[derive(Debug, Clone, Default)]
pub struct Contact {
    /// How flesh touches.
    pub options: ContactOptions,
    /// One number per vertex of the surface, of which 0 touches nothing; none: all may touch.
    pub regions: Option<Arc<[u32]>>,
    /// What is touched besides.
    pub colliders: Vec<Arc<Collider>>,
}

impl Contact {
    /// With other bodies and colliders, not with itself.
    pub fn with_others() -> Self {
        let options = ContactOptions {
            self_contact: false,
            ..ContactOptions::default()
        };
        Self {
            options,
            ..Self::default()
        }
    }

    /// Refuses what does not fit a surface.
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

    /// Refuses the crease methods, which are held step by step alone.
    ///
    /// # Errors
    /// One of them.
    pub fn refuse_creases(&self) -> Result<(), ContactError> {
        match self.options.response {
            ContactResponse::Complementarity => Ok(()),
            _ => Err(ContactError::CreasesInClip),
        }
    }

    /// Refuses what no clip of so many poses can have: the crease methods, and colliders whose motion ends before the poses do.
    ///
    /// # Errors
    /// Which one, and how many entries it has.
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

    /// Makes ready to touch with a body.
    ///
    /// # Errors
    /// A number out of its range; a thickness of more than half of the body; regions for another number of vertices than the surface
    /// has; a stop by the progress.
    pub fn prepare(
        &self,
        body: &Arc<Body>,
        progress: &dyn Progress,
    ) -> Result<PreparedContact, ContactError> {
        self.check(body.surface())?;
        let (thickness, size) = (self.options.thickness, body.size());
        if thickness > THICKEST * size {
            return Err(ContactError::Thickness { thickness, size });
        }
        let skin = ContactSkin::new(body, self.regions.as_deref(), progress)?;
        Ok(PreparedContact {
            skin: Arc::new(skin),
            contact: self.clone(),
        })
    }
}

/// Contact that is ready for a body.
#[derive(Debug, Clone)]
pub struct PreparedContact {
    contact: Contact,
    skin: Arc<ContactSkin>,
}

impl PreparedContact {
    /// Of a skin that is prepared.
    pub(crate) fn of(skin: Arc<ContactSkin>, options: ContactOptions) -> Self {
        let contact = Contact {
            options,
            ..Contact::default()
        };
        Self { contact, skin }
    }

    /// The same with other colliders.
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

    /// What was asked for.
    pub fn contact(&self) -> &Contact {
        &self.contact
    }

    /// How flesh touches.
    pub fn options(&self) -> ContactOptions {
        self.contact.options
    }

    /// The body's skin, prepared.
    pub fn skin(&self) -> &Arc<ContactSkin> {
        &self.skin
    }
}
