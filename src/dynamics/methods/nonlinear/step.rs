// SPDX-License-Identifier: MIT OR Apache-2.0
//! Implicit steps of a body with a skeleton.
//!
//! A step is backward Euler, as in [`crate::dynamics::methods::warped`]: held vertices at the pose, gravity less that of the rest shape
//! (the sculpt sags already), twist energy, and damping relative to flesh that is frozen to its bones during the step:
//!
//! ```text
//! M (v' − v)/h + (α M + β K)(v' − v_skin) + ∇V(q') + Mt p' = t + f_g + F,   p' = x + q' = p + h v'
//! ```
//!
//! with K the stiffness of the carried flesh, projected to be positive semi-definite, and β reduced by h, the numerical damping of
//! backward Euler. Newton's method starts from the carried flesh: moved rigidly with its bones, it is no more deformed than
//! before. If this does not converge or inverts pieces, it starts again by way of neo-Hookean flesh, then from the skinned
//! shape.

use super::STEP_CRITERIA;
use super::body_balancer::BodyBalancer;
use super::potential::Increment;
use super::skeletal::compute_loads;
use crate::Vec3;
use crate::body::Body;
use crate::dynamics::methods::stepper::{
    FactoredStep, NodalState, Proposal, SplitStep, Step, StepFactor, Stepper,
};
use crate::dynamics::methods::system::LinearSystem;
use crate::dynamics::{Method, SimulationError, Solver, position_error};
use crate::elasticity::ElasticModel;
use crate::solve::{NewtonError, Outcome, SolveError};

/// Most minimisations of a step that pins hold; a gap shrinks to about a hundredth in each.
const MAX_PIN_ROUNDS: usize = 12;

/// Initial guess of a step's minimisation.
#[derive(Clone, Copy, PartialEq)]
enum InitialGuess {
    /// The carried flesh.
    Carried,
    /// The carried flesh, by way of neo-Hookean flesh.
    Detour,
    /// The skinned shape.
    Skinned,
}

/// Stepper of the nonlinear methods: solver and buffers of a step.
pub(in crate::dynamics) struct NonlinearStepper {
    model: ElasticModel,
    balancer: BodyBalancer,
    best: Vec<Vec3>,
    displacements: Vec<Vec3>,
    inertia: Vec<Vec3>,
    lag: Vec<Vec3>,
    forces: Vec<Vec3>,
    /// System of warped flesh for the forces of pins, made on first use; its matrix is that of the present stiffness.
    linear: Option<Box<LinearSystem>>,
    /// Scratch of the factored step.
    scratch: Vec<Vec3>,
}

impl NonlinearStepper {
    pub fn new(body: &Body, model: ElasticModel) -> Result<Self, SolveError> {
        let zero = vec![Vec3::zeros(); body.node_count()];
        Ok(Self {
            model,
            balancer: BodyBalancer::new(body)?,
            best: zero.clone(),
            displacements: zero.clone(),
            inertia: zero.clone(),
            lag: zero.clone(),
            forces: zero,
            linear: None,
            scratch: Vec::new(),
        })
    }

    /// Minimises the potential of a step from an attempt's guess.
    fn minimise(
        &mut self,
        step: &Step,
        nodes: &NodalState,
        attempt: InitialGuess,
    ) -> Result<Outcome, NewtonError> {
        let (body, h) = (step.body, step.duration);
        let beta = step.implicit_stiffness_damping();
        self.set_guess(step, nodes, attempt);
        compute_loads(
            body,
            step.to,
            &step.load,
            &self.displacements,
            &mut self.forces,
        );
        let increment = Increment {
            mass: 1.0 / (h * h) + step.mass_damping / h,
            inertia: &self.inertia,
            damping: beta / h,
            lag: &self.lag,
            forces: &self.forces,
            terms: step.load.terms,
            origin: body.rest_shape(),
        };
        self.balancer.balance_or_detour(
            (body, self.model),
            increment,
            &mut self.displacements,
            attempt == InitialGuess::Detour,
            &STEP_CRITERIA,
            step.progress,
        )
    }

    /// Sets the displacements to an attempt's guess, and the linear terms that count from it.
    fn set_guess(&mut self, step: &Step, nodes: &NodalState, attempt: InitialGuess) {
        let (body, from, to, h) = (step.body, step.from, step.to, step.duration);
        let beta = step.implicit_stiffness_damping();
        for v in 0..body.node_count() {
            let p = nodes.positions[v];
            let skin = from.carry(to, v, p);
            let held = body.bone_of_vertex()[v].is_some();
            let skinned = held || attempt == InitialGuess::Skinned;
            let guess = if skinned { to.places[v] } else { skin };
            let way = guess - p;
            self.displacements[v] = guess - body.rest_shape()[v];
            self.inertia[v] = (way / h - nodes.velocities[v]) / h;
            self.lag[v] = Vec3::zeros();
            if !held {
                self.inertia[v] += (guess - skin) * (step.mass_damping / h);
                self.lag[v] = (guess - skin) * (beta / h);
            }
        }
    }
}

impl NonlinearStepper {
    /// Minimises from one guess after the other until no piece is newly inverted; `best` then holds the displacements.
    fn search(&mut self, step: &Step, nodes: &NodalState) -> Result<(), SimulationError> {
        let (body, rest) = (step.body, step.body.rest_shape());
        for ((q, p), x) in self.best.iter_mut().zip(&nodes.positions).zip(rest) {
            *q = p - x;
        }
        let inverted = body.elements().inverted_piece_count(&self.best);
        let mut found: Result<usize, NewtonError> = Err(NewtonError::Start);
        for attempt in [
            InitialGuess::Carried,
            InitialGuess::Detour,
            InitialGuess::Skinned,
        ] {
            if attempt == InitialGuess::Detour && self.model != ElasticModel::StVenantKirchhoff {
                continue;
            }
            let outcome = self.minimise(step, nodes, attempt);
            match (outcome, &found) {
                (Ok(_), _) => {
                    let turned = body.elements().inverted_piece_count(&self.displacements);
                    if found.as_ref().is_ok_and(|best| *best <= turned) {
                        continue;
                    }
                    self.best.copy_from_slice(&self.displacements);
                    found = Ok(turned);
                    if turned <= inverted {
                        break;
                    }
                }
                (Err(NewtonError::Cancelled(stop)), _) => return Err(stop.into()),
                (Err(error), Err(_)) => found = Err(error),
                (Err(_), Ok(_)) => {}
            }
        }
        found?;
        for (q, x) in self.best.iter_mut().zip(rest) {
            *q += x;
        }
        position_error(&self.best).map_or(Ok(()), Err)
    }
}

impl Stepper for NonlinearStepper {
    fn step(&mut self, step: &Step, nodes: &mut NodalState) -> Result<(), SimulationError> {
        self.propose(step, nodes)?;
        self.accept(step, nodes, None)
    }

    fn follow_stiffness(&mut self, _: &Body) {
        if let Some(linear) = &mut self.linear {
            linear.forget_matrix();
        }
    }

    fn split_step(&mut self) -> Option<&mut dyn SplitStep> {
        Some(self)
    }
}

impl SplitStep for NonlinearStepper {
    fn propose(&mut self, step: &Step, nodes: &NodalState) -> Result<(), SimulationError> {
        self.search(step, nodes)
    }

    /// Returns the compliance of warped flesh in the step, which directs the forces of pins.
    fn proposal(&mut self, step: &Step) -> Result<Proposal<'_>, SimulationError> {
        let h = step.duration;
        let mass = 1.0 / (h * h) + step.mass_damping / h;
        let stiffness = 1.0 + step.implicit_stiffness_damping() / h;
        let system = match self.linear.take() {
            Some(system) => system,
            None => Box::new(LinearSystem::new(
                step.body,
                Method::Warped,
                Solver::Factor,
            )?),
        };
        let solver = self.linear.insert(system);
        let form = solver.nodal_form();
        let solver = solver.assemble(step.body, step.to, mass, stiffness)?;
        Ok(Proposal {
            positions: &self.best,
            factored: FactoredStep {
                solver: StepFactor::Pending(solver),
                scale: 1.0,
                form,
                scratch: &mut self.scratch,
            },
        })
    }

    fn pin_rounds(&self) -> usize {
        MAX_PIN_ROUNDS
    }

    fn displace(&mut self, step: &Step, displaced: &[Vec3]) -> Result<(), SimulationError> {
        step.displace(&mut self.best, displaced)
    }

    fn accept(
        &mut self,
        step: &Step,
        nodes: &mut NodalState,
        displaced: Option<&[Vec3]>,
    ) -> Result<(), SimulationError> {
        nodes.accept(step, &mut self.best, displaced)
    }
}
