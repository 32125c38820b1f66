// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interface that every method of motion implements, and the table of the implementations.
//!
//! A [`Simulation`](super::Simulation) keeps the pose history, the forces and positions and velocities of all nodes; a
//! [`Stepper`] advances these from one pose to the next. A method whose state is something else (amplitudes) keeps it itself,
//! shows it as positions, and writes it into sections of its own.

use super::forces::Load;
use super::hyperelastic::HyperelasticStepper;
use super::modal::ModalStepper;
use super::nonlinear::NonlinearStepper;
use super::sections::{Kind, Sections, Writer};
use super::warped::LinearisedStepper;
use super::{MODES, Method, Settings, SimulationError, SkinnedLattice, equilibrium};
use crate::Vec3;
use crate::body::Body;
use crate::contact::Flexible;
use crate::elasticity::Model;
use crate::modal::Modes;
use crate::progress::{Progress, Silent};
use crate::skeleton::{FrameMotion, Pose};
use crate::solve::{Inverse, SparseCholesky};
use nalgebra::DMatrix;
use std::sync::Arc;

/// Positions (m) and velocities (m/s) of the lattice's vertices, `[nodes]` each, world axes.
pub(super) struct NodalState {
    pub positions: Vec<Vec3>,
    pub velocities: Vec<Vec3>,
}

/// A pose to be at rest in.
pub(super) struct Start<'a> {
    pub body: &'a Body,
    pub method: Method,
    pub pose: &'a Pose,
    /// Those of the pose.
    pub skinned: &'a SkinnedLattice,
    pub load: &'a Load<'a>,
    /// In static equilibrium, else as the bones alone carry the flesh.
    pub settled: bool,
    /// The progress, asked whether to go on.
    pub progress: &'a dyn Progress,
}

/// One step along a frame's bone motion.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    pub body: &'a Body,
    /// h, s.
    pub duration: f64,
    /// α, 1/s.
    pub mass_damping: f64,
    /// β, s.
    pub stiffness_damping: f64,
    pub motion: &'a FrameMotion,
    /// Where on the motion the step ends, and which part of it it takes.
    pub end: f64,
    pub part: f64,
    pub from: &'a SkinnedLattice,
    pub to: &'a SkinnedLattice,
    /// How the joints' own elastic shape accelerates, `[nodes]`, m/s², of methods that have it apart; none: not at all.
    pub bending: Option<&'a [Vec3]>,
    /// What acts at the step's end.
    pub load: Load<'a>,
    /// Asked whether to go on.
    pub progress: &'a dyn Progress,
}

impl<'a> Step<'a> {
    /// β of a backward Euler step, s: what the step itself damps, as a stiffness damping of β = h would to first order, is taken out.
    pub fn implicit_stiffness_damping(&self) -> f64 {
        (self.stiffness_damping - self.duration).max(0.0)
    }

    /// The same under other forces in world axes; none: under those that it has.
    pub fn under<'b>(&self, forces: Option<&'b [Vec3]>) -> Step<'b>
    where
        'a: 'b,
    {
        let load = Load {
            forces: forces.or(self.load.forces),
            ..self.load
        };
        Step { load, ..*self }
    }
}

/// Takes the steps of a method.
pub(super) trait Stepper: Send + Sync {
    /// Puts the flesh at rest at a pose.
    fn reset(&mut self, start: &Start, nodes: &mut NodalState) -> Result<(), SimulationError> {
        nodes.positions = if start.settled {
            equilibrium::settled(
                start.body,
                start.method,
                start.pose,
                start.skinned,
                start.load,
                start.progress,
            )?
        } else {
            start.skinned.places.clone()
        };
        Ok(())
    }

    /// Before the first of the steps of `step` seconds, each a `part` of a frame's motion.
    fn begin(
        &mut self,
        _body: &Body,
        _motion: &FrameMotion,
        _part: f64,
        _step: f64,
    ) -> Result<(), SimulationError> {
        Ok(())
    }

    /// Takes one step. On an error the state before it stays.
    fn step(&mut self, step: &Step, nodes: &mut NodalState) -> Result<(), SimulationError>;

    /// The same in two parts, between which contact displaces it; none where the method knows no contact.
    fn in_parts(&mut self) -> Option<&mut dyn StepInParts> {
        None
    }

    /// Brings positions and velocities up to date in a pose, where the state is something else.
    fn show(&self, _body: &Body, _now: &SkinnedLattice, _pose: &Pose, _nodes: &mut NodalState) {}

    /// The modes and their amplitudes, of a method that moves by them.
    fn modal(&self) -> Option<(&Arc<Modes>, &[f64])> {
        None
    }

    /// Steps so far whose minimisation stopped short of its tolerance.
    fn unconverged(&self) -> usize {
        0
    }

    /// Whether the state is relative to the bones: flesh that is frozen to them then has no motion.
    fn is_relative(&self) -> bool {
        false
    }

    /// Writes all that the next steps depend on, besides what the simulation itself keeps.
    fn save(&self, nodes: &NodalState, state: &mut Writer) {
        state.vectors(POSITIONS, &nodes.positions);
        state.vectors(VELOCITIES, &nodes.velocities);
    }

    /// Takes back what [`save`](Self::save) wrote, the last to look at a state: it calls [`finish`](Sections::finish) before
    /// anything changes. On an error nothing has changed.
    fn restore(
        &mut self,
        nodes: &mut NodalState,
        mut state: Sections,
    ) -> Result<(), SimulationError> {
        let count = nodes.positions.len();
        let positions = state.vectors(POSITIONS, count)?;
        let velocities = state.vectors(VELOCITIES, count)?;
        state.finish()?;
        (nodes.positions, nodes.velocities) = (positions, velocities);
        Ok(())
    }
}

/// A step that can be displaced before it is taken.
pub(super) trait StepInParts: Send {
    /// Finds where the step ends. Changes no state.
    ///
    /// # Errors
    /// As [`Stepper::step`].
    fn propose(&mut self, step: &Step, nodes: &NodalState) -> Result<(), SimulationError>;

    /// Where it ends, `[nodes]`, and how the flesh gives way to forces during it.
    ///
    /// # Errors
    /// A singular system.
    fn proposal(&mut self, step: &Step) -> Result<Proposal<'_>, SimulationError>;

    /// Takes the step that was proposed, its free nodes displaced.
    ///
    /// # Errors
    /// Positions that are out of range: the state before the step stays.
    fn accept(
        &mut self,
        step: &Step,
        nodes: &mut NodalState,
        displaced: Option<&[Vec3]>,
    ) -> Result<(), SimulationError>;
}

/// What contact needs to know of a step.
pub(super) struct Proposal<'a> {
    /// `[nodes]`, metres, as the method counts them.
    pub positions: &'a [Vec3],
    /// The step's matrix, and what its inverse is multiplied by to give displacements of forces.
    pub factored: Factored<'a>,
}

/// A step's matrix, which is factored at the latest when contact asks for its inverse.
pub(super) struct Factored<'a> {
    pub solver: Factor<'a>,
    pub scale: f64,
}

/// A factored matrix, or one that is factored when it is first needed.
pub(super) enum Factor<'a> {
    Made(&'a mut SparseCholesky),
    Pending(&'a mut Inverse),
}

impl Flexible for Factored<'_> {
    fn displace(&mut self, forces: &mut [Vec3]) {
        match &mut self.solver {
            Factor::Made(solver) => solver.solve(forces),
            Factor::Pending(solver) => solver.displace(forces),
        }
        forces.iter_mut().for_each(|d| *d *= self.scale);
    }

    fn columns(&mut self, nodes: &[u32]) -> DMatrix<f64> {
        match &mut self.solver {
            Factor::Made(solver) => solver.inverse_columns(nodes, self.scale),
            Factor::Pending(solver) => solver.inverse_columns(nodes, self.scale),
        }
    }
}

/// The sections of nodal states.
pub(super) const POSITIONS: Kind = Kind::required("positions", 1);
pub(super) const VELOCITIES: Kind = Kind::required("velocities", 1);

/// The stepper of a method; `modes` are those of the modal one, none to have [`MODES`] made.
pub(super) fn stepper(
    body: &Arc<Body>,
    method: Method,
    modes: Option<Arc<Modes>>,
    settings: &Settings,
) -> Result<Box<dyn Stepper>, SimulationError> {
    Ok(match method {
        Method::Hyperelastic => Box::new(HyperelasticStepper::new(body, settings.solver)?),
        Method::Warped | Method::WarpedVertex | Method::Linear => {
            Box::new(LinearisedStepper::new(body, method, settings.solver)?)
        }
        Method::Nonlinear => Box::new(NonlinearStepper::new(body, Model::StVenantKirchhoff)?),
        Method::NeoHookean => Box::new(NonlinearStepper::new(body, Model::NeoHookean)?),
        Method::Modal => {
            let modes = match modes {
                Some(modes) => modes,
                None => Arc::new(Modes::of_body(body, MODES.min(body.free_dofs()), &Silent)?),
            };
            Box::new(ModalStepper::new(body, modes, settings)?)
        }
    })
}
