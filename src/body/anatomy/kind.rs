// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kinds of characters, which change the map of flesh.

use serde::{Deserialize, Serialize};

/// Kind of character, which decides which parts may be soft. [`CharacterKind::Automatic`] follows from the shape and the rig.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
pub enum CharacterKind {
    /// Derived from the shape: upright if limbs continue along the trunk, hard throughout if made of rigid pieces.
    #[default]
    Automatic,
    /// Upright in any pose. Belly, breasts and buttocks are soft, then thighs and upper arms; ribs, back, shins and
    /// skull are hard. Never a machine.
    Human,
    /// On all fours or swimming, in any pose. Belly, haunches and hanging parts are soft; skull, shanks and feet are
    /// hard. Without a person's rump, never a machine.
    Animal,
    /// Rubber: the trunk keeps all its flesh, back and chest too, heads are soft, limbs are soft to beyond their
    /// middle. Never a machine.
    Toon,
    /// A shell: only the abdomen, behind the last pair of limbs, is soft. If it cannot be located, the trunk keeps a
    /// quarter of its flesh.
    Insect,
    /// Hard throughout; the softness dial has no effect.
    Robot,
}

impl CharacterKind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Automatic,
        Self::Human,
        Self::Animal,
        Self::Toon,
        Self::Insect,
        Self::Robot,
    ];

    /// Returns the name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Automatic => "automatic",
            Self::Human => "human",
            Self::Animal => "animal",
            Self::Toon => "toon",
            Self::Insect => "insect",
            Self::Robot => "robot",
        }
    }

    /// Returns the kind of a name; `None` for other names.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns whether it stands upright; `None`: its limbs decide.
    pub(super) fn upright_override(self) -> Option<bool> {
        match self {
            Self::Human => Some(true),
            Self::Animal | Self::Insect => Some(false),
            Self::Automatic | Self::Toon | Self::Robot => None,
        }
    }

    /// Returns whether it is hard throughout; `None`: rigid pieces decide.
    pub(super) fn machine_override(self) -> Option<bool> {
        match self {
            Self::Automatic => None,
            Self::Robot => Some(true),
            _ => Some(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kind is found again by its own name, and an unknown name gives nothing.
    #[test]
    fn kind_names_are_unique() {
        for kind in CharacterKind::ALL {
            assert_eq!(CharacterKind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(CharacterKind::from_name("fish"), None);
    }
}
