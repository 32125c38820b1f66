// SPDX-License-Identifier: MIT OR Apache-2.0
//! Solution of a step in the functions of a body, or in the nodal functions of one with details.

use super::balance::{MODEL, elastic_domain};
use crate::body::{Body, NodalForm};
use crate::dynamics::methods::nonlinear::{Balancer, Increment};
use crate::dynamics::methods::patches::DisplacedCells;
use crate::dynamics::methods::step_space::StepSpace;
use crate::dynamics::methods::step_system::{StepGuess, StepSystem};
use crate::dynamics::methods::stepper::{FactoredStep, StepFactor};
use crate::dynamics::{SimulationError, Solver};
use crate::progress::Progress;
use crate::solve::{Chord, EnergyTerm, NewtonError, SolveError};
use crate::{Mat3, Vec3};
use std::sync::Arc;

/// Largest change of a cell's strain for which one linearisation is used. At half and twice the value an arm whose bones stop suddenly moves
/// the same; at ten times one changes by 5 % of its sway.
const MAX_STRAIN_CHANGE: f64 = 0.1;

/// Stopping criteria for steps beyond [`MAX_STRAIN_CHANGE`]: the remaining error is a few percent of the step's change.
const CHORD_CRITERIA: Chord = Chord {
    tolerance: 0.03,
    stale: 0.3,
    corrections: 24,
};

/// Solvers of the steps of one body, each made when it is first needed.
pub(super) struct StepSolvers {
    choice: Solver,
    /// Solver in the body's own functions, for bodies without details and for further energy terms, which know no others.
    own: Option<StepSolver>,
    nodal: Option<Box<NodalSolver>>,
    /// Whether the last step was solved in nodal functions.
    in_nodal: bool,
    /// Scratch of the factored step.
    scratch: Vec<Vec3>,
}

/// Start of a step; one vector per node each.
#[derive(Clone, Copy)]
pub(super) struct StepStart<'a> {
    /// Rotation of each element of the body.
    pub turns: &'a [Mat3],
    /// T(x), m.
    pub places: &'a [Vec3],
    /// z + ẅ after drag, m/s².
    pub inertia: &'a [Vec3],
    /// Non-elastic forces, N.
    pub forces: &'a [Vec3],
    pub terms: &'a [Arc<dyn EnergyTerm>],
    /// m and k.
    pub scales: (f64, f64),
    pub progress: &'a dyn Progress,
}

impl StepSolvers {
    pub fn new(body: &Body, choice: Solver) -> Result<Self, SolveError> {
        let nodal = match body.nodal_form()? {
            Some(form) => Some(Box::new(NodalSolver::new(form.clone(), choice)?)),
            None => None,
        };
        let own = match nodal {
            None => Some(StepSolver::new(&StepSpace::of_body(body), choice)?),
            Some(_) => None,
        };
        Ok(Self {
            choice,
            own,
            nodal,
            in_nodal: false,
            scratch: Vec::new(),
        })
    }

    /// Decides between solvers as for flesh at ease.
    pub fn lead_stiffness(&mut self, at_ease: &Arc<Body>) {
        if let Some(own) = &mut self.own {
            own.system.at_ease = Some(at_ease.clone());
        }
    }

    /// Takes over the stiffness of the body.
    pub fn follow_stiffness(&mut self, body: &Body) {
        if let Some(own) = &mut self.own {
            own.system.copy_stiffness(body);
        }
    }

    /// Moves the sway from its guess to the step's end; returns whether this converged.
    ///
    /// # Errors
    /// The system is singular; a cancellation.
    pub fn solve(
        &mut self,
        body: &Body,
        start: &StepStart,
        sway: &mut [Vec3],
    ) -> Result<bool, SimulationError> {
        self.in_nodal = self.nodal.is_some() && start.terms.is_empty();
        if let (Some(nodal), true) = (&mut self.nodal, self.in_nodal) {
            return nodal.solve(start, sway);
        }
        let space = StepSpace::of_body(body);
        let own = match self.own.take() {
            Some(own) => own,
            None => StepSolver::new(&space, self.choice)?,
        };
        self.own.insert(own).solve(&space, start, sway)
    }

    /// Returns the matrix of the last step, for contact and pins.
    ///
    /// # Errors
    /// No step has been solved.
    pub fn factored(&mut self) -> Result<FactoredStep<'_>, SimulationError> {
        let (balancer, form) = match (&mut self.own, &mut self.nodal, self.in_nodal) {
            (_, Some(nodal), true) => {
                let NodalSolver { form, solver, .. } = &mut **nodal;
                (&mut solver.balancer, Some(form.clone()))
            }
            (Some(own), ..) => (&mut own.balancer, None),
            _ => return Err(SimulationError::NotReset),
        };
        Ok(FactoredStep {
            solver: StepFactor::Pending(balancer.solver()),
            scale: 1.0,
            form,
            scratch: &mut self.scratch,
        })
    }
}

/// Solver and buffers of steps in one space.
struct StepSolver {
    /// Chord solver; its linear solver serves every step.
    balancer: Balancer,
    system: StepSystem,
    /// Change of the sway, m, one entry per node.
    change: Vec<Vec3>,
    turns: Vec<Mat3>,
}

impl StepSolver {
    fn new(space: &StepSpace, choice: Solver) -> Result<Self, SolveError> {
        let nodes = space.elements.node_count();
        let mut balancer = Balancer::with_solver(space.solver(choice)?, space.pattern, nodes)?;
        Ok(Self {
            system: StepSystem::new(space, MODEL, choice, balancer.solver()),
            balancer,
            change: vec![Vec3::zeros(); nodes],
            turns: Vec::new(),
        })
    }

    /// Does what [`StepSolvers::solve`] does, with vectors of this space.
    fn solve(
        &mut self,
        space: &StepSpace,
        start: &StepStart,
        sway: &mut [Vec3],
    ) -> Result<bool, SimulationError> {
        let guess = StepGuess {
            cells: DisplacedCells {
                turns: Some(start.turns),
                displacements: sway,
            },
            origin: start.places,
            inertia: start.inertia,
            forces: start.forces,
            terms: start.terms,
        };
        let solver = self.balancer.solver();
        self.system.solve(space, solver, &guess, start.scales)?;
        self.change.fill(Vec3::zeros());
        for (d, &v) in self.system.nodes.iter().zip(space.pattern.vertex_of_node()) {
            self.change[v as usize] = *d;
        }
        let steep = self.system.cells.max_gradient_norm(&self.change);
        if steep <= MAX_STRAIN_CHANGE {
            sway.iter_mut()
                .zip(&self.change)
                .for_each(|(sway, d)| *sway += d);
            return Ok(true);
        }
        self.minimise(space, start, sway)
    }

    /// Computes the sway at the step's end by the chord method, from the matrix that [`StepSystem::solve`] leaves.
    fn minimise(
        &mut self,
        space: &StepSpace,
        start: &StepStart,
        sway: &mut [Vec3],
    ) -> Result<bool, SimulationError> {
        self.change.fill(Vec3::zeros());
        let increment = Increment {
            mass: start.scales.0,
            inertia: start.inertia,
            damping: start.scales.1,
            lag: &self.change,
            forces: start.forces,
            terms: start.terms,
            origin: start.places,
        };
        let turns = space.element_turns(start.turns, &mut self.turns);
        let domain = elastic_domain(space, turns);
        let found = self
            .balancer
            .correct(domain, increment, sway, &CHORD_CRITERIA, start.progress);
        match found {
            Ok(_) => Ok(true),
            // The best point found is lower than the guess: good enough to continue from. The step is counted.
            Err(NewtonError::NotConverged { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Solver of steps in nodal functions, with buffers for their values.
struct NodalSolver {
    form: Arc<NodalForm>,
    solver: StepSolver,
    sway: Vec<Vec3>,
    inertia: Vec<Vec3>,
    forces: Vec<Vec3>,
}

impl NodalSolver {
    fn new(form: Arc<NodalForm>, choice: Solver) -> Result<Self, SolveError> {
        let zero = vec![Vec3::zeros(); form.elements.node_count()];
        Ok(Self {
            solver: StepSolver::new(&StepSpace::nodal(&form), choice)?,
            form,
            sway: zero.clone(),
            inertia: zero.clone(),
            forces: zero,
        })
    }

    /// Does what [`StepSolvers::solve`] does, without further terms.
    fn solve(&mut self, start: &StepStart, sway: &mut [Vec3]) -> Result<bool, SimulationError> {
        let values = &self.form.values;
        values.to_values(sway, &mut self.sway);
        values.to_values(start.inertia, &mut self.inertia);
        values.to_nodal_forces(start.forces, &mut self.forces);
        let start = StepStart {
            inertia: &self.inertia,
            forces: &self.forces,
            ..*start
        };
        let space = StepSpace::nodal(&self.form);
        let converged = self.solver.solve(&space, &start, &mut self.sway)?;
        self.form.values.to_coefficients(&self.sway, sway);
        Ok(converged)
    }
}
