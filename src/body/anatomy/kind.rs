// SPDX-License-Identifier: MIT OR Apache-2.0
//! What kind of character a body is, and what that changes in its map of flesh.

use serde::{Deserialize, Serialize};

/// A kind of character: what may be soft of it. [`Kind::Automatic`] tells it from the shape and the rig.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Told from the shape: upright where limbs go on along the trunk, hard throughout where it is made of rigid pieces.
    #[default]
    Automatic,
    /// Stands upright however it is posed: belly, breasts, buttocks, then thighs and upper arms; ribs, back, shins and skull are
    /// hard. Never taken for a machine.
    Human,
    /// On all fours or swimming, however it is posed: belly, haunches and what hangs; skull, shanks and feet are hard. No rump of
    /// a person, never taken for a machine.
    Animal,
    /// Rubber: the trunk keeps all its flesh, back and chest too, heads are soft, limbs are soft to beyond their middle. Never
    /// taken for a machine.
    Toon,
    /// A shell: only what hangs behind the last pair of limbs (an abdomen) is soft; where no such place can be told, the trunk
    /// keeps a quarter.
    Insect,
    /// Hard throughout, and the dial of softness leaves it so.
    Robot,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Automatic,
        Self::Human,
        Self::Animal,
        Self::Toon,
        Self::Insect,
        Self::Robot,
    ];

    /// Name in settings.
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

    /// The kind of a name; none of another word.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether it stands upright; none: as its limbs tell.
    pub(super) fn upright(self) -> Option<bool> {
        match self {
            Self::Human => Some(true),
            Self::Animal | Self::Insect => Some(false),
            Self::Automatic | Self::Toon | Self::Robot => None,
        }
    }

    /// Whether it is hard throughout; none: where it is made of rigid pieces.
    pub(super) fn machine(self) -> Option<bool> {
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

    #[test]
    fn every_kind_has_a_name_of_its_own() {
        for kind in Kind::ALL {
            assert_eq!(Kind::named(kind.name()), Some(kind));
        }
        assert_eq!(Kind::named("fish"), None);
    }
}
