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
use super::potential::{Balancer, ElasticDomain, Increment};
use super::skeletal::compute_loads;
use crate::Vec3;
use crate::body::Body;
use crate::dynamics::methods::stepper::{NodalState, Step, Stepper};
use crate::dynamics::{SimulationError, position_error};
use crate::elasticity::ElasticModel;
use crate::solve::{NewtonError, Outcome, SolveError};

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
    balancer: Balancer,
    best: Vec<Vec3>,
    displacements: Vec<Vec3>,
    inertia: Vec<Vec3>,
    lag: Vec<Vec3>,
    forces: Vec<Vec3>,
}

impl NonlinearStepper {
    pub fn new(body: &Body, model: ElasticModel) -> Result<Self, SolveError> {
        let zero = vec![Vec3::zeros(); body.node_count()];
        Ok(Self {
            model,
            balancer: Balancer::new(body.pattern(), body.node_count())?,
            best: zero.clone(),
            displacements: zero.clone(),
            inertia: zero.clone(),
            lag: zero.clone(),
            forces: zero,
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
            ElasticDomain::of_body(body, self.model),
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

impl Stepper for NonlinearStepper {
    fn step(&mut self, step: &Step, nodes: &mut NodalState) -> Result<(), SimulationError> {
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
        if let Some(error) = position_error(&self.best) {
            return Err(error);
        }
        nodes.move_to(&self.best, step.duration);
        Ok(())
    }
}
