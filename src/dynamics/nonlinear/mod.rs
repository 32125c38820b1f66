// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nonlinear elasticity at rest and in motion: what the linearised and modal methods are measured against.
//!
//! One code for tetrahedra and lattices, all flesh being [`Elements`](crate::elasticity::Elements): [`equilibrium`] of forces,
//! [`NonlinearSimulation`] for bodies without a skeleton, and for those with one the methods
//! [`Nonlinear`](super::Method::Nonlinear) and [`NeoHookean`](super::Method::NeoHookean) of [`Simulation`](super::Simulation).
//! All minimise an energy by Newton's method ([`crate::solve::newton`]).

mod potential;
mod simulation;
mod skeletal;
mod statics;
#[cfg(test)]
mod tests;

pub(super) use potential::{Balancer, Domain, FLOOR, Increment};
pub use simulation::{Integrator, NonlinearSettings, NonlinearSimulation};
pub(super) use skeletal::{NonlinearStepper, forces_at, settled};
pub use statics::{Balance, equilibrium};

use crate::solve::Newton;

/// When a step's minimisation stops.
const STEP: Newton = Newton {
    tolerance: 1e-9,
    iterations: 60,
};
