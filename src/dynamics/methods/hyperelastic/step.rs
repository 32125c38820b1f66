// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps of the hyperelastic method.

use super::balance::{self, compute_loads, nearest_balance};
use crate::Vec3;
use crate::body::Body;
use crate::dynamics::forces::Load;
use crate::dynamics::methods::nonlinear::{Balancer, EIGENVALUE_FLOOR, ElasticDomain, Increment};
use crate::dynamics::methods::patches::DisplacedCells;
use crate::dynamics::methods::step_system::{StepGuess, StepSystem, step_solver};
use crate::dynamics::methods::stepper::{
    FactoredStep, NodalState, Proposal, ResetInput, SplitStep, Step, StepFactor, Stepper,
};
use crate::dynamics::{SimulationError, SkinnedLattice, Solver, position_error};
use crate::elasticity::TangentChoice;
use crate::progress::Progress;
use crate::solve::{Chord, NewtonError, SolveError};

/// Largest change of a cell's strain for which one linearisation is used. At half and twice the value an arm whose bones stop suddenly moves
/// the same; at ten times one changes by 5 % of its sway.
const MAX_STRAIN_CHANGE: f64 = 0.1;

/// Drag coefficient C, dimensionless. An arm of a metre whose bones stop at 1.2, 3 and 12 m/s sways 0.94, 0.85 and 0.63 times as far as
/// exact flesh; at half the value 0.96, 0.90 and 0.69, at twice 0.89, 0.77 and 0.54.
const DRAG_COEFFICIENT: f64 = 2.0;

/// Stopping criteria for steps beyond [`MAX_STRAIN_CHANGE`]: the remaining error is a few percent of the step's change.
const CHORD_CRITERIA: Chord = Chord {
    tolerance: 0.03,
    stale: 0.3,
    corrections: 24,
};

/// Stepper of the hyperelastic method: solver and buffers of a step.
pub(in crate::dynamics) struct HyperelasticStepper {
    /// Chord and Newton solver; its linear solver serves every step.
    balancer: Balancer,
    system: StepSystem,
    /// Drag C/L, 1/m.
    drag: f64,
    /// Buffers, one entry per lattice vertex each: sway, then positions at the step's end; z + ẅ after drag, m/s²; non-elastic forces, N; change
    /// of the sway, m.
    sway: Vec<Vec3>,
    inertia: Vec<Vec3>,
    forces: Vec<Vec3>,
    change: Vec<Vec3>,
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
        let mut balancer = Balancer::with_solver(
            step_solver(body, solver)?,
            body.pattern(),
            body.node_count(),
        )?;
        let zero = vec![Vec3::zeros(); body.node_count()];
        Ok(Self {
            system: StepSystem::new(body, balance::MODEL, solver, balancer.solver()),
            drag: DRAG_COEFFICIENT / inertia_diagonal(body).max(f64::MIN_POSITIVE),
            sway: zero.clone(),
            inertia: zero.clone(),
            forces: zero.clone(),
            change: zero,
            unconverged: 0,
            balancer,
        })
    }

    /// Computes the sway at the step's end by the chord method, from the matrix that [`StepSystem::solve`] leaves.
    fn minimise(
        &mut self,
        body: &Body,
        skinned: &SkinnedLattice,
        load: &Load,
        (mass, damping): (f64, f64),
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        self.change.fill(Vec3::zeros());
        let increment = Increment {
            mass,
            inertia: &self.inertia,
            damping,
            lag: &self.change,
            forces: &self.forces,
            terms: load.terms,
            origin: &skinned.places,
        };
        let domain = ElasticDomain {
            elastic: balance::elastic_energy(
                body,
                Some(skinned),
                TangentChoice::Exact(EIGENVALUE_FLOOR),
            ),
            ..ElasticDomain::of_body(body, balance::MODEL)
        };
        let sway = &mut self.sway;
        match self
            .balancer
            .correct(domain, increment, sway, &CHORD_CRITERIA, progress)
        {
            Ok(_) => Ok(()),
            // The best point found is lower than the guess: good enough to continue from. The step is counted.
            Err(NewtonError::NotConverged { .. }) => {
                self.unconverged += 1;
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
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
        let guess = StepGuess {
            cells: DisplacedCells {
                turns: Some(&to.cell_turns),
                displacements: &self.sway,
            },
            origin: &to.places,
            inertia: &self.inertia,
            forces: &self.forces,
            terms: step.load.terms,
        };
        let solver = self.balancer.solver();
        self.system.solve(body, solver, &guess, (mass, damping))?;
        self.change.fill(Vec3::zeros());
        for (d, &v) in self
            .system
            .nodes
            .iter()
            .zip(body.pattern().vertex_of_node())
        {
            self.change[v as usize] = *d;
        }
        let steep = self.system.cells.max_gradient_norm(&self.change);
        if steep <= MAX_STRAIN_CHANGE {
            for (sway, d) in self.sway.iter_mut().zip(&self.change) {
                *sway += d;
            }
        } else {
            self.minimise(body, to, &step.load, (mass, damping), step.progress)?;
        }
        for (next, place) in self.sway.iter_mut().zip(&to.places) {
            *next += place;
        }
        position_error(&self.sway).map_or(Ok(()), Err)
    }

    fn proposal(&mut self, _: &Step) -> Result<Proposal<'_>, SimulationError> {
        Ok(Proposal {
            positions: &self.sway,
            factored: FactoredStep {
                solver: StepFactor::Pending(self.balancer.solver()),
                scale: 1.0,
            },
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
