// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nonlinear elasticity, static and dynamic: the reference for the linearised and modal methods.
//!
//! One code serves tetrahedra and lattices, as all flesh is [`Elements`](crate::elasticity::Elements). It provides static
//! [`equilibrium`], [`NonlinearSimulation`] for bodies without a skeleton, and for those with one the methods
//! [`Nonlinear`](crate::dynamics::Method::Nonlinear) and
//! [`NeoHookean`](crate::dynamics::Method::NeoHookean) of [`Simulation`](crate::dynamics::Simulation).
//! All minimise an energy by Newton's method ([`crate::solve::newton`]).

mod body_balancer;
mod potential;
mod simulation;
mod skeletal;
mod statics;
mod step;
#[cfg(test)]
mod tests;

pub(in crate::dynamics) use potential::{Balancer, EIGENVALUE_FLOOR, ElasticDomain, Increment};
pub use simulation::{NonlinearIntegrator, NonlinearSettings, NonlinearSimulation};
pub(in crate::dynamics) use skeletal::{balanced_positions, compute_loads, forces_at};
pub use statics::{Balance, equilibrium};
pub(in crate::dynamics) use step::NonlinearStepper;

use crate::solve::Newton;

/// Stopping criteria for a step's minimisation.
const STEP_CRITERIA: Newton = Newton {
    tolerance: 1e-9,
    iterations: 60,
};
