// SPDX-License-Identifier: MIT OR Apache-2.0
//! What touches, and how.

use super::ContactError;
use crate::range::is_sound;

/// What keeps flesh from passing through itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
#[derive(Debug, Clone, Copy, PartialEq)]
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
