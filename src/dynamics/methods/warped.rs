// SPDX-License-Identifier: MIT OR Apache-2.0
//! One implicit step of skeletally warped linearised dynamics. [capell2006, §3.3; capell2002, eq. 16]
//!
//! Backward Euler from (p, v) to (p', v'), p' = p + h v', with the forces `b − A p'` of [`crate::dynamics::methods::system`]
//! evaluated at the pose of the step's end:
//!
//! ```text
//! M (v' − v)/h + α M (v' − v_skin) + β A (v' − v_skin) = b − A p' + f_g + F
//! ```
//!
//! **Damping is relative**: v_skin carries the flesh rigidly along with its bones during the step, as a
//! finite motion, not a velocity: `v_skin = (T'(x) + R' Rᵀ (p − T(x)) − p) / h`. Flesh frozen to its bones therefore has no drag,
//! however far it turns in a step. β is the requested damping less h, as backward Euler itself damps, to first order in h, like a
//! stiffness damping of h.
//!
//! **Bones**: positions `p' = T'(x)` and velocities `(p' − p)/h` of held vertices are known; their columns
//! move to the right-hand side. [capell2002, §4.3]
//!
//! The mass matrix does not turn with the flesh in world axes, so inertia is exact for the interpolated motion. Neglected: R' is the
//! skeleton's, not the flesh's own.

use crate::Vec3;
use crate::body::Body;
use crate::dynamics::methods::further::LinearisedTerms;
use crate::dynamics::methods::stepper::{
    FactoredStep, NodalState, Proposal, SplitStep, Step, StepFactor, Stepper,
};
use crate::dynamics::methods::system::LinearSystem;
use crate::dynamics::{Method, SimulationError, Solver, position_error};
use crate::solve::{NodeMatrix, SolveError};

/// Stepper of the linearised methods: system and buffers of a step.
pub(in crate::dynamics) struct LinearisedStepper {
    system: LinearSystem,
    /// One entry per lattice vertex each: operand of A, operand of M, next positions, next velocities.
    elastic: Vec<Vec3>,
    inertial: Vec<Vec3>,
    positions: Vec<Vec3>,
    velocities: Vec<Vec3>,
}

impl LinearisedStepper {
    pub fn new(body: &Body, method: Method, solver: Solver) -> Result<Self, SolveError> {
        let zero = vec![Vec3::zeros(); body.node_count()];
        Ok(Self {
            system: LinearSystem::new(body, method, solver)?,
            elastic: zero.clone(),
            inertial: zero.clone(),
            positions: zero.clone(),
            velocities: zero,
        })
    }
}

impl Stepper for LinearisedStepper {
    fn step(&mut self, step: &Step, nodes: &mut NodalState) -> Result<(), SimulationError> {
        self.propose(step, nodes)?;
        self.accept(step, nodes, None)
    }

    fn split_step(&mut self) -> Option<&mut dyn SplitStep> {
        Some(self)
    }
}

impl SplitStep for LinearisedStepper {
    fn propose(&mut self, step: &Step, nodes: &NodalState) -> Result<(), SimulationError> {
        let (body, from, to) = (step.body, step.from, step.to);
        let (h, alpha) = (step.duration, step.mass_damping);
        let beta = step.implicit_stiffness_damping();
        let (positions, velocities) = (&nodes.positions, &nodes.velocities);
        let stiffness = h * beta + h * h;
        for v in 0..body.node_count() {
            let p = positions[v];
            if body.bone_of_vertex()[v].is_some() {
                let known = (to.places[v] - p) / h;
                self.positions[v] = to.places[v];
                self.velocities[v] = known;
                self.elastic[v] = p * h + known * (stiffness - h * beta);
                self.inertial[v] = velocities[v] - known;
            } else {
                let skin = (from.carry(to, v, p) - p) / h;
                self.positions[v] = p;
                self.elastic[v] = p * h - skin * (h * beta);
                self.inertial[v] = velocities[v] + skin * (h * alpha);
            }
        }
        // Free vertices at the start of the step, held ones at its end.
        let further = LinearisedTerms {
            terms: step.load.terms,
            positions: &self.positions,
            factor: h * h,
        };
        let (system, mass) = (&mut self.system, 1.0 + h * alpha);
        system.prepare(body, to, mass, stiffness, &further)?;
        system.set_forces(body, to, &step.load, h, &self.elastic);
        system.add_further_forces(body, &further, h);
        let free = body.pattern().vertex_of_node();
        for (node, &v) in system.nodes.iter_mut().zip(free) {
            *node += body.mass_matrix().row_times(v as usize, &self.inertial);
        }
        system.solve(body, &further)?;
        for (velocity, &v) in system.nodes.iter().zip(free) {
            self.velocities[v as usize] = *velocity;
            self.positions[v as usize] = positions[v as usize] + velocity * h;
        }
        position_error(&self.positions).map_or(Ok(()), Err)
    }

    fn proposal(&mut self, step: &Step) -> Result<Proposal<'_>, SimulationError> {
        Ok(Proposal {
            positions: &self.positions,
            factored: FactoredStep {
                solver: StepFactor::Made(self.system.factored_matrix()?),
                scale: step.duration * step.duration,
            },
        })
    }

    fn accept(
        &mut self,
        step: &Step,
        nodes: &mut NodalState,
        displaced: Option<&[Vec3]>,
    ) -> Result<(), SimulationError> {
        if let Some(displaced) = displaced {
            for (d, &v) in displaced.iter().zip(step.body.pattern().vertex_of_node()) {
                self.positions[v as usize] += d;
                self.velocities[v as usize] += d / step.duration;
            }
            if let Some(error) = position_error(&self.positions) {
                return Err(error);
            }
        }
        std::mem::swap(&mut nodes.positions, &mut self.positions);
        std::mem::swap(&mut nodes.velocities, &mut self.velocities);
        Ok(())
    }
}
