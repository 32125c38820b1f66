// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps of the hyperelastic method.

use super::balance::{compute_loads, nearest_balance};
use super::solving::{StepSolvers, StepStart};
use crate::Vec3;
use crate::body::Body;
use crate::dynamics::methods::stepper::{
    NodalState, Proposal, ResetInput, SplitStep, Step, Stepper,
};
use crate::dynamics::{SimulationError, Solver, position_error};
use crate::solve::SolveError;
use std::sync::Arc;

/// Drag coefficient C, dimensionless. An arm of a metre whose bones stop at 1.2, 3 and 12 m/s sways 0.94, 0.85 and 0.63 times as far as
/// exact flesh; at half the value 0.96, 0.90 and 0.69, at twice 0.89, 0.77 and 0.54.
const DRAG_COEFFICIENT: f64 = 2.0;

/// Stepper of the hyperelastic method: solvers and buffers of a step.
pub(in crate::dynamics) struct HyperelasticStepper {
    solvers: StepSolvers,
    /// Drag C/L, 1/m.
    drag: f64,
    /// Buffers, one entry per node each: sway, then positions at the step's end; z + ẅ after drag, m/s²; non-elastic forces, N.
    sway: Vec<Vec3>,
    inertia: Vec<Vec3>,
    forces: Vec<Vec3>,
    unconverged: usize,
}

/// Returns the diagonal of the box with the flesh's moments of inertia, m: a size that does not depend on orientation.
fn inertia_diagonal(body: &Body) -> f64 {
    let rest = body.lattice().vertices();
    let all = || {
        rest.iter()
            .enumerate()
            .map(|(v, x)| (body.carried_mass(v), x))
    };
    let total: f64 = all().map(|(m, _)| m).sum();
    let centre = all().map(|(m, x)| x * m).sum::<Vec3>() / total;
    let square = |(m, x): (f64, &Vec3)| m * (x - centre).norm_squared();
    (12.0 * all().map(square).sum::<f64>() / total).sqrt()
}

impl HyperelasticStepper {
    pub fn new(body: &Body, solver: Solver) -> Result<Self, SolveError> {
        let zero = vec![Vec3::zeros(); body.node_count()];
        Ok(Self {
            solvers: StepSolvers::new(body, solver)?,
            drag: DRAG_COEFFICIENT / inertia_diagonal(body).max(f64::MIN_POSITIVE),
            sway: zero.clone(),
            inertia: zero.clone(),
            forces: zero,
            unconverged: 0,
        })
    }
}

impl Stepper for HyperelasticStepper {
    /// Starts in balance, or at the nearest state found: a first pose that folds flesh is accepted and counted as unconverged.
    fn reset(&mut self, start: &ResetInput, nodes: &mut NodalState) -> Result<(), SimulationError> {
        let sway = if start.settled {
            let (sway, left) =
                nearest_balance(start.body, start.skinned, start.load, start.progress)?;
            self.unconverged += usize::from(left.is_some());
            sway
        } else {
            vec![Vec3::zeros(); start.body.node_count()]
        };
        let carried = start.skinned.places.iter().zip(&sway);
        nodes.positions = carried.map(|(p, u)| p + u).collect();
        Ok(())
    }

    fn step(&mut self, step: &Step, nodes: &mut NodalState) -> Result<(), SimulationError> {
        self.propose(step, nodes)?;
        self.accept(step, nodes, None)
    }

    fn lead_stiffness(&mut self, at_ease: &Arc<Body>) {
        self.solvers.lead_stiffness(at_ease);
    }

    fn follow_stiffness(&mut self, body: &Body) {
        self.solvers.follow_stiffness(body);
    }

    fn split_step(&mut self) -> Option<&mut dyn SplitStep> {
        Some(self)
    }

    fn unconverged_steps(&self) -> usize {
        self.unconverged
    }
}

impl SplitStep for HyperelasticStepper {
    fn propose(&mut self, step: &Step, nodes: &NodalState) -> Result<(), SimulationError> {
        let (body, from, to, h) = (step.body, step.from, step.to, step.duration);
        let (positions, velocities) = (&nodes.positions, &nodes.velocities);
        let mass = 1.0 / (h * h) + step.mass_damping / h;
        let damping = step.implicit_stiffness_damping() / h;
        for v in 0..body.node_count() {
            let p = positions[v];
            self.sway[v] = match body.bone_of_vertex()[v] {
                Some(_) => Vec3::zeros(),
                None => to.turns[v] * from.turns[v].tr_mul(&(p - from.places[v])),
            };
            let carried = (to.places[v] + self.sway[v] - p) / h;
            self.inertia[v] = (carried - velocities[v]) / h;
            if body.bone_of_vertex()[v].is_none() {
                let speed = self.inertia[v].norm() * h;
                self.inertia[v] /= 1.0 + h * self.drag * speed;
            }
            if let Some(bending) = step.bending {
                self.inertia[v] += bending[v];
            }
        }
        compute_loads(body, to, &step.load, &self.sway, &mut self.forces);
        let start = StepStart {
            turns: &to.cell_turns,
            places: &to.places,
            inertia: &self.inertia,
            forces: &self.forces,
            terms: step.load.terms,
            scales: (mass, damping),
            progress: step.progress,
        };
        let converged = self.solvers.solve(body, &start, &mut self.sway)?;
        self.unconverged += usize::from(!converged);
        for (next, place) in self.sway.iter_mut().zip(&to.places) {
            *next += place;
        }
        position_error(&self.sway).map_or(Ok(()), Err)
    }

    fn proposal(&mut self, _: &Step) -> Result<Proposal<'_>, SimulationError> {
        Ok(Proposal {
            positions: &self.sway,
            factored: self.solvers.factored()?,
        })
    }

    fn displace(&mut self, step: &Step, displaced: &[Vec3]) -> Result<(), SimulationError> {
        step.displace(&mut self.sway, displaced)
    }

    fn accept(
        &mut self,
        step: &Step,
        nodes: &mut NodalState,
        displaced: Option<&[Vec3]>,
    ) -> Result<(), SimulationError> {
        nodes.accept(step, &mut self.sway, displaced)
    }
}
