// SPDX-License-Identifier: MIT OR Apache-2.0
//! The methods of motion by name.

use super::SimulationError;
use crate::elasticity::Model;

/// A method of motion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub enum Method {
    /// Skeletally warped linearisation, cell form [capell2006, §3.3]: each cell's linear elasticity in a
    /// frame that turns with the skeleton there.
    #[default]
    Warped,
    /// Global linear elasticity in world axes, `f = − S (p − x)`: one frame that never turns. Right for
    /// small turns only; flesh swells as bones turn. It is the comparison that shows what warping is for.
    Linear,
    /// Modal warping [choi2003, §4]: a few vibration modes in the rest frame, turned along with the flesh and carried
    /// by the skeleton. The quickest; small local detail is left out.
    Modal,
    /// St. Venant-Kirchhoff elasticity, every step and every balance a minimisation by Newton's method: what the
    /// others are measured against.
    Nonlinear,
    /// The same with stable neo-Hookean flesh, which comes back from flat and inverted shapes.
    NeoHookean,
}

impl Method {
    /// All methods that are built.
    pub const ALL: [Self; 5] = [
        Self::Warped,
        Self::Linear,
        Self::Nonlinear,
        Self::NeoHookean,
        Self::Modal,
    ];

    /// The method's name in the interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warped => "warped",
            Self::Linear => "linear",
            Self::Modal => "modal",
            Self::Nonlinear => "nonlinear",
            Self::NeoHookean => "neohookean",
        }
    }

    /// The elastic energy of a nonlinear method.
    pub fn model(self) -> Option<Model> {
        match self {
            Self::Warped | Self::Linear | Self::Modal => None,
            Self::Nonlinear => Some(Model::StVenantKirchhoff),
            Self::NeoHookean => Some(Model::NeoHookean),
        }
    }

    /// The names of all methods, for sentences.
    pub(super) fn names() -> String {
        Self::ALL.map(|m| format!("'{}'", m.name())).join(", ")
    }
}

impl std::str::FromStr for Method {
    type Err = SimulationError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|m| m.name() == name)
            .ok_or_else(|| SimulationError::Method {
                name: name.to_owned(),
            })
    }
}
