// SPDX-License-Identifier: MIT OR Apache-2.0
//! Methods of motion and solvers, and their names.

use super::SimulationError;
use crate::elasticity::ElasticModel;

/// A method of motion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// Hyperelastic flesh carried by the skeleton: equals the warped method for small motion and is robust for any.
    #[default]
    Hyperelastic,
    /// Skeletally warped linearisation, cell form [capell2006, §3.3]: linear elasticity of each cell in a frame that turns
    /// with the skeleton at the cell. Flesh that turns fast runs away.
    Warped,
    /// Vertex form of the warped method, as printed [capell2006, eq. 8]: each vertex's forces in a frame of its own. Its matrix is not
    /// symmetric and it costs more; for comparison.
    WarpedVertex,
    /// Blended local linearisation [capell2002, §4.5, corrected]: the sway of the flesh about its carried shape is linear in the
    /// turning frames of the bones, and blended by the artist's weights. Its factors never change, so it is quick.
    Blended,
    /// Blended local linearisation as printed [capell2002, §4.5, eq. 22], for comparison: regions do not feel each other, and their
    /// stiffness does not turn.
    BlendedPrinted,
    /// Global linear elasticity in world axes, `f = − S (p − x)`: one frame that never turns. Valid for small turns only:
    /// flesh swells as bones turn. It serves as the comparison that shows the benefit of warping.
    Linear,
    /// Modal warping [choi2003, §4]: a few vibration modes in the rest frame, turned along with the flesh and carried
    /// by the skeleton. The fastest method; it leaves out small local detail.
    Modal,
    /// St. Venant-Kirchhoff elasticity, linearised once a step [capell2002, eqs 15 and 16, corrected]: the first Newton step of
    /// `Nonlinear`, with the same balances. Flesh that a step deforms strongly may overshoot.
    Linearised,
    /// St. Venant-Kirchhoff elasticity. Every step and every balance is a minimisation by Newton's method. It is the reference
    /// against which the other methods are measured.
    Nonlinear,
    /// The `Nonlinear` method with stable neo-Hookean flesh, which recovers from flat and inverted shapes.
    NeoHookean,
}

impl Method {
    /// Returns whether the method supports contact; the modal one only parts its own surface.
    pub fn supports_contact(self) -> bool {
        !matches!(
            self,
            Self::Nonlinear | Self::NeoHookean | Self::BlendedPrinted
        )
    }

    /// All available methods.
    pub const ALL: [Self; 10] = [
        Self::Hyperelastic,
        Self::Warped,
        Self::Blended,
        Self::Linear,
        Self::Linearised,
        Self::Nonlinear,
        Self::NeoHookean,
        Self::Modal,
        Self::WarpedVertex,
        Self::BlendedPrinted,
    ];

    /// Returns the method's name in the interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hyperelastic => "hyperelastic",
            Self::Warped => "warped",
            Self::WarpedVertex => "warped_vertex",
            Self::Blended => "blended",
            Self::BlendedPrinted => "blended_printed",
            Self::Linear => "linear",
            Self::Modal => "modal",
            Self::Linearised => "linearised",
            Self::Nonlinear => "nonlinear",
            Self::NeoHookean => "neohookean",
        }
    }

    /// Returns the elastic energy of a method whose balances minimise the whole energy; `None` for the others.
    pub fn model(self) -> Option<ElasticModel> {
        match self {
            Self::Hyperelastic
            | Self::Warped
            | Self::WarpedVertex
            | Self::Blended
            | Self::BlendedPrinted
            | Self::Linear
            | Self::Modal => None,
            Self::Linearised | Self::Nonlinear => Some(ElasticModel::StVenantKirchhoff),
            Self::NeoHookean => Some(ElasticModel::NeoHookean),
        }
    }

    /// Returns whether the method's state is a sway about carried flesh, to which the joints' own shape is added:
    /// the warped balance without loads.
    pub fn adds_joint_shape(self) -> bool {
        matches!(self, Self::Hyperelastic | Self::Blended)
    }

    /// Returns whether regions solve the method's steps. How far loads displace their flesh depends a little on the length and the damping
    /// of the steps: a simulation starts in the rest of its settings, and balances are those of undamped steps of the default rate.
    pub fn has_regions(self) -> bool {
        matches!(self, Self::Blended | Self::BlendedPrinted)
    }

    /// Returns the method whose linear system gives the method's balances; `None` where these minimise an energy.
    pub(super) fn linear_form(self) -> Option<Self> {
        match self {
            Self::Hyperelastic | Self::Blended => Some(Self::Warped),
            _ => self.model().is_none().then_some(self),
        }
    }

    /// Returns whether the method's balances are linear in the forces and have an adjoint.
    pub fn is_linear(self) -> bool {
        matches!(self, Self::Warped | Self::WarpedVertex | Self::Linear)
    }

    /// Returns the quoted names of all methods, for messages.
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

/// Solver for the systems of steps of the hyperelastic, the linearised and the warped methods, whose matrices change from step to step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Solver {
    /// The faster solver for the body.
    #[default]
    Automatic,
    /// A factorisation at every step.
    Factor,
    /// Iterations: hyperelastic ones by [sweeps](crate::solve::sweeps), warped ones preconditioned by one factorisation at the rest
    /// pose.
    Iterate,
}

impl Solver {
    /// All solvers.
    pub const ALL: [Self; 3] = [Self::Automatic, Self::Factor, Self::Iterate];

    /// Returns the solver's name in the interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Automatic => "auto",
            Self::Factor => "direct",
            Self::Iterate => "cg",
        }
    }

    /// Returns the quoted names of all solvers, for messages.
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
