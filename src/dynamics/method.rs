// SPDX-License-Identifier: MIT OR Apache-2.0
//! The methods of motion by name.

use super::SimulationError;
use crate::elasticity::Model;

/// A method of motion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// Hyperelastic flesh carried by the skeleton: the warped method for small motion, and sound for any.
    #[default]
    Hyperelastic,
    /// Skeletally warped linearisation, cell form [capell2006, §3.3]: each cell's linear elasticity in a
    /// frame that turns with the skeleton there. Flesh that turns fast runs away.
    Warped,
    /// The same in vertex form, as printed [capell2006, eq. 8]: each vertex's forces in a frame of its own. Not symmetric and
    /// dearer; for comparison.
    WarpedVertex,
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
    /// Whether it knows contact; of the modal one the surface alone is parted.
    pub fn touches(self) -> bool {
        self.model().is_none()
    }

    /// All methods that are built.
    pub const ALL: [Self; 7] = [
        Self::Hyperelastic,
        Self::Warped,
        Self::Linear,
        Self::Nonlinear,
        Self::NeoHookean,
        Self::Modal,
        Self::WarpedVertex,
    ];

    /// The method's name in the interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hyperelastic => "hyperelastic",
            Self::Warped => "warped",
            Self::WarpedVertex => "warped_vertex",
            Self::Linear => "linear",
            Self::Modal => "modal",
            Self::Nonlinear => "nonlinear",
            Self::NeoHookean => "neohookean",
        }
    }

    /// The elastic energy of a method that minimises it whole.
    pub fn model(self) -> Option<Model> {
        match self {
            Self::Hyperelastic | Self::Warped | Self::WarpedVertex | Self::Linear | Self::Modal => {
                None
            }
            Self::Nonlinear => Some(Model::StVenantKirchhoff),
            Self::NeoHookean => Some(Model::NeoHookean),
        }
    }

    /// Whether its balances are linear in the forces.
    pub fn is_linear(self) -> bool {
        matches!(self, Self::Warped | Self::WarpedVertex | Self::Linear)
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

/// The way in which steps of the hyperelastic method and the warped ones solve their systems, whose numbers change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Solver {
    /// What is quicker for the body.
    #[default]
    Automatic,
    /// A factorisation at every step.
    Factor,
    /// Iterations: hyperelastic ones by [sweeps](crate::solve::sweeps), warped ones preconditioned by one factorisation in the rest
    /// pose.
    Iterate,
}

impl Solver {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Automatic, Self::Factor, Self::Iterate];

    /// The name in the interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Automatic => "auto",
            Self::Factor => "direct",
            Self::Iterate => "cg",
        }
    }

    /// The names of all, for sentences.
    pub(super) fn names() -> String {
        Self::ALL.map(|s| format!("'{}'", s.name())).join(", ")
    }
}

impl std::str::FromStr for Solver {
    type Err = SimulationError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|s| s.name() == name)
            .ok_or_else(|| SimulationError::Solver {
                name: name.to_owned(),
            })
    }
}
