// SPDX-License-Identifier: MIT OR Apache-2.0
//! Motion: a body driven by the poses of its skeleton.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/shapes/arm.rs"));
//! # fn main() -> Result<(), Any> {
//! use thew::dynamics::{Equilibrium, Method, Simulation, SimulationSettings};
//!
//! let body = body()?; // of an arm of flesh around two bones: `examples/shapes/arm.rs`
//! let mut motion = Simulation::new(body.clone(), SimulationSettings::default())?;
//! motion.reset(&bent(0.0)?, true, None)?;
//! for _ in 0..12 {
//!     motion.advance(&bent(0.0)?, 1.0 / 24.0, None, None)?;
//! }
//! // The sculpt sags already: flesh at rest stays at rest.
//! let moved = motion.lattice_positions().iter().zip(body.lattice().vertices()).map(|(p, x)| (p - x).norm());
//! assert!(moved.fold(0.0, f64::max) < 1e-9);
//!
//! // A balance, and the forces that hold it: none but gravity.
//! let mut balance = Equilibrium::new(&body, Method::Warped)?;
//! balance.set_pose(&bent(0.8)?)?;
//! let gravity = Vec3::new(0.0, 0.0, -9.81);
//! let q = balance.solve(gravity, None, None)?;
//! assert!(balance.forces_at(gravity, &q)?.iter().all(|f| f.norm() < 1e-8));
//! # Ok(())
//! # }
//! ```
//!
//! A [`Simulation`] holds the only mutable state: the positions and velocities of the lattice's vertices and the current pose.
//! Each frame is filled with equal steps (`warped` derives one). Static balance is in [`equilibrium`]. All forces are generalised
//! forces on lattice vertices; this module does not depend on their origin. Other energies of positions act as
//! [energy terms](crate::solve::EnergyTerm): see [`Simulation::set_terms`].
//!
//! Each method is a `Stepper` (`stepper` has the table): it takes steps and writes its state into sections of the saved state.
//!
//! Available methods: hyperelastic flesh carried by the skeleton (default); the skeletally warped linearisation in cell form and,
//! as printed, in vertex form; modal warping; global linear elasticity for comparison; and fully [`nonlinear`] methods as the
//! reference, which also serve bodies without a skeleton.

mod bends;
mod damping;
mod equilibrium;
mod error;
mod forces;
mod lifts;
mod lockstep;
mod method;
mod methods;
pub mod nonlinear;
mod scene;
mod sections;
mod seeds;
mod settings;
mod settling;
mod shape;
mod simulation;
mod skinned;
mod softness;
mod state;
mod stored;
mod touching;
mod volume;

pub use damping::default_damping;
pub use equilibrium::{Equilibrium, equilibrium, equilibrium_forces, joint_volume, sway};
pub use error::SimulationError;
pub use forces::NodalForces;
pub use method::{Method, Solver};
pub use scene::Scene;
pub use settings::{Kind, SettingField, SimulationSettings, Value};
pub use simulation::Simulation;
pub use softness::{softened, softness};

use crate::Vec3;
use crate::range::is_place;
use skinned::SkinnedLattice;

/// Number of modes that the modal method computes when the caller supplies none.
pub const MODES: usize = 32;

/// Returns an error that names the first vertex whose position is out of range, or `None`.
fn lost(positions: &[Vec3]) -> Option<SimulationError> {
    let vertex = positions.iter().position(|p| !is_place(p))?;
    Some(SimulationError::NonFinite { vertex })
}

fn check_gravity(gravity: Vec3) -> Result<(), SimulationError> {
    match gravity.iter().find(|x| x.is_nan() || x.abs() > 1e6) {
        Some(&value) => Err(SimulationError::Setting {
            what: "gravity",
            range: "finite",
            value,
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
