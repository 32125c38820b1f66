// SPDX-License-Identifier: MIT OR Apache-2.0
//! Criteria of adaptation, and their names.

use super::SimulationError;

/// Criterion by which details become active.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Adaptation {
    /// All functions are active.
    #[default]
    None,
    /// Details are active where the flesh is strained.
    Strain,
    /// Details are active on which forces in rest axes act: those that rigs need.
    Rigs,
}

impl Adaptation {
    /// All criteria.
    pub const ALL: [Self; 3] = [Self::None, Self::Strain, Self::Rigs];

    /// Returns the name in the interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Strain => "strain",
            Self::Rigs => "rigs",
        }
    }

    /// Returns the quoted names of all criteria, for messages.
    pub(super) fn names() -> String {
        Self::ALL.map(|a| format!("'{}'", a.name())).join(", ")
    }
}

impl std::str::FromStr for Adaptation {
    type Err = SimulationError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|a| a.name() == name)
            .ok_or_else(|| SimulationError::AdaptationName {
                name: name.to_owned(),
            })
    }
}
