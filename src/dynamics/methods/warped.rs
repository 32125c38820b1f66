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
use crate::dynamics::methods::blended::{RegionalRest, Regions, StepScales, common_forces, divide};
use crate::dynamics::methods::further::LinearisedTerms;
use crate::dynamics::methods::linear_balance::linear_balance;
use crate::dynamics::methods::stepper::{
    FactoredStep, NodalState, Proposal, ResetInput, SplitStep, Step, StepFactor, Stepper,
};
use crate::dynamics::methods::system::LinearSystem;
use crate::dynamics::{Method, SimulationError, SimulationSettings, position_error};
use crate::solve::{NodeMatrix, SolveError};

/// Stepper of the methods with linear forces: system and buffers of a step.
pub(in crate::dynamics) struct LinearStepper {
    system: LinearSystem,
    /// Regions that solve steps without further terms; `None`: the system does.
    regions: Option<Regions>,
    method: Method,
    /// Scales of the steps in whose rest a simulation starts.
    scales: StepScales,
    /// One entry per lattice vertex each: operand of A, operand of M, next positions, next velocities.
    elastic: Vec<Vec3>,
    inertial: Vec<Vec3>,
    positions: Vec<Vec3>,
    velocities: Vec<Vec3>,
    /// Scratch for loads, one entry per lattice vertex.
    loads: Vec<Vec3>,
    /// Scratch of the factored step.
    scratch: Vec<Vec3>,
}

impl LinearStepper {
    /// Creates the stepper of the settings' method.
    pub fn new(body: &Body, settings: &SimulationSettings) -> Result<Self, SolveError> {
        let (method, solver) = (settings.method, settings.solver);
        let zero = vec![Vec3::zeros(); body.node_count()];
        let printed = method == Method::BlendedPrinted;
        Ok(Self {
            regions: match method.has_regions() {
                true => Some(divide(body, printed)?),
                false => None,
            },
            method,
            scales: StepScales::of_settings(settings),
            system: LinearSystem::new(body, method, solver)?,
            elastic: zero.clone(),
            inertial: zero.clone(),
            positions: zero.clone(),
            velocities: zero.clone(),
            loads: zero,
            scratch: Vec::new(),
        })
    }

    /// Returns whether the regions solve a step; their matrices have no further terms.
    fn is_regional(&self, step: &Step) -> bool {
        self.regions.is_some() && step.load.terms.is_empty()
    }

    /// Sets the operands of A and M, the positions at which further terms are linearised (free vertices at the step's start, held ones
    /// at its end), and the velocities of held vertices.
    fn set_operands(&mut self, step: &Step, nodes: &NodalState, scales: StepScales) {
        let (body, from, to) = (step.body, step.from, step.to);
        let (h, alpha) = (step.duration, step.mass_damping);
        let beta = step.implicit_stiffness_damping();
        let regional = self.is_regional(step);
        let states = nodes.positions.iter().zip(&nodes.velocities).enumerate();
        for (v, (&p, velocity)) in states {
            if body.bone_of_vertex()[v].is_some() {
                let known = (to.places[v] - p) / h;
                self.positions[v] = to.places[v];
                self.velocities[v] = known;
                self.elastic[v] = p * h + known * (scales.stiffness - h * beta);
                self.inertial[v] = velocity - known;
                continue;
            }
            let skin = (from.carry(to, v, p) - p) / h;
            self.positions[v] = p;
            self.elastic[v] = p * h - skin * (h * beta);
            self.inertial[v] = velocity + skin * (h * alpha);
            if regional {
                // Regions solve for the change of velocity.
                self.elastic[v] += velocity * scales.stiffness;
                self.inertial[v] = (skin - velocity) * (h * alpha);
            }
        }
        if self.method == Method::Blended {
            self.subtract_carried(step);
        }
    }

    /// Makes the operand of A relative to the carried shape, and adds the inertia of the joints' own shape.
    fn subtract_carried(&mut self, step: &Step) {
        let h = step.duration;
        for (elastic, place) in self.elastic.iter_mut().zip(&step.to.places) {
            *elastic -= place * h;
        }
        if let Some(bending) = step.bending {
            for (inertial, acceleration) in self.inertial.iter_mut().zip(bending) {
                *inertial -= acceleration * h;
            }
        }
    }
}

impl Stepper for LinearStepper {
    fn reset(&mut self, start: &ResetInput, nodes: &mut NodalState) -> Result<(), SimulationError> {
        let (body, skinned) = (start.body, start.skinned);
        nodes.positions = match start.settled {
            true if self.method.has_regions() => {
                let mut rest = RegionalRest::new(body, self.method, Some(self.scales))?;
                match rest.solve(body, skinned, start.load) {
                    // From the warped balance flesh finds its rest by itself.
                    Err(SimulationError::Solve(SolveError::NotConverged)) => {
                        rest.warped_balance(body, skinned, start.load)?
                    }
                    solved => solved?,
                }
            }
            true => linear_balance(body, self.method, skinned, start.load)?,
            false => skinned.places.clone(),
        };
        Ok(())
    }

    fn step(&mut self, step: &Step, nodes: &mut NodalState) -> Result<(), SimulationError> {
        self.propose(step, nodes)?;
        self.accept(step, nodes, None)
    }

    fn follow_stiffness(&mut self, _: &Body) {
        self.system.forget_matrix();
    }

    fn split_step(&mut self) -> Option<&mut dyn SplitStep> {
        Some(self)
    }
}

impl SplitStep for LinearStepper {
    fn propose(&mut self, step: &Step, nodes: &NodalState) -> Result<(), SimulationError> {
        let (body, to, h) = (step.body, step.to, step.duration);
        let (scales, regional) = (StepScales::of_step(step), self.is_regional(step));
        self.set_operands(step, nodes, scales);
        let further = LinearisedTerms {
            terms: step.load.terms,
            positions: &self.positions,
            factor: h * h,
        };
        let (system, sways) = (&mut self.system, self.method == Method::Blended);
        if regional {
            match sways {
                true => self.loads.fill(Vec3::zeros()),
                false => self.loads.copy_from_slice(&to.twist_loads),
            }
            let loads = (h, &mut self.loads[..]);
            common_forces(
                body,
                to,
                &step.load,
                loads,
                &self.elastic,
                &mut system.nodes,
            );
        } else {
            system.prepare(body, to, scales.mass, scales.stiffness, &further)?;
            match sways {
                true => system.set_sway_forces(body, to, &step.load, h, &self.elastic),
                false => system.set_forces(body, to, &step.load, h, &self.elastic),
            }
            system.add_further_forces(body, &further, h);
        }
        let free = body.pattern().vertex_of_node();
        for (node, &v) in system.nodes.iter_mut().zip(free) {
            *node += body.mass_matrix().row_times(v as usize, &self.inertial);
        }
        match &mut self.regions {
            Some(regions) if regional => {
                regions.prepare(body, scales)?;
                // A sway has no other origin than zero.
                let scale = if sways { 0.0 } else { h };
                regions.solve(body, to, (scale, &self.elastic), &mut system.nodes);
                for (change, &v) in system.nodes.iter_mut().zip(free) {
                    *change += nodes.velocities[v as usize];
                }
            }
            _ => system.solve(body, &further)?,
        }
        for (velocity, &v) in system.nodes.iter().zip(free) {
            self.velocities[v as usize] = *velocity;
            self.positions[v as usize] = nodes.positions[v as usize] + velocity * h;
        }
        position_error(&self.positions).map_or(Ok(()), Err)
    }

    fn proposal(&mut self, step: &Step) -> Result<Proposal<'_>, SimulationError> {
        let (h, form) = (step.duration, self.system.nodal_form());
        let solver = match self.is_regional(step) {
            true => {
                let StepScales { mass, stiffness } = StepScales::of_step(step);
                let system = &mut self.system;
                StepFactor::Pending(system.assemble(step.body, step.to, mass, stiffness)?)
            }
            false => StepFactor::Made(self.system.factored_matrix()?),
        };
        Ok(Proposal {
            positions: &self.positions,
            factored: FactoredStep {
                solver,
                scale: h * h,
                form,
                scratch: &mut self.scratch,
            },
        })
    }

    fn displace(&mut self, step: &Step, displaced: &[Vec3]) -> Result<(), SimulationError> {
        for (d, &v) in displaced.iter().zip(step.body.pattern().vertex_of_node()) {
            self.positions[v as usize] += d;
            self.velocities[v as usize] += d / step.duration;
        }
        position_error(&self.positions).map_or(Ok(()), Err)
    }

    fn accept(
        &mut self,
        step: &Step,
        nodes: &mut NodalState,
        displaced: Option<&[Vec3]>,
    ) -> Result<(), SimulationError> {
        if let Some(displaced) = displaced {
            self.displace(step, displaced)?;
        }
        std::mem::swap(&mut nodes.positions, &mut self.positions);
        std::mem::swap(&mut nodes.velocities, &mut self.velocities);
        Ok(())
    }
}
