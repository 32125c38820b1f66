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
//! let moved = motion.lattice_positions().iter().zip(body.rest_shape()).map(|(p, x)| (p - x).norm());
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
//! | file | content |
//! | --- | --- |
//! | `simulation`, `shown`, `state`, `sections` | one body in motion; its shape as others see it; its state as bytes |
//! | `lockstep`, `body_step`, `scene` | one or more bodies through a frame, step by step |
//! | `touching`, `contact`, `settling`, `seeds` | contact in steps, its settings, balances with contact, seeds of the crease method |
//! | `method`, `methods` | names of the methods of motion, and their steppers |
//! | `equilibrium`, `stiffness` | static balances and their inverse; the stiffness at a pose |
//! | `adaptation`, `adapting` | details that come and go with the strain |
//! | `forces`, `firmness`, `tensing` | gravity and external forces; stiffness that is led from frame to frame |
//! | `tracks`, `driving` | force fields, gravity and stiffness from frame to frame; their effect in a frame |
//! | `pins` | points of the flesh held at targets |
//! | `dynamic_bones` | bones that follow their flesh |
//! | `skinned` | the lattice as the bones alone carry it |
//! | `shape`, `bends`, `volume`, `lifts` | split of the shape into the bones' part, the joints' own elastic shape, and sway |
//! | `damping`, `softness` | default damping; the softness dial |
//! | `settings`, `stored`, `check`, `error` | settings, names in files, checks, errors |
//!
//! A [`Simulation`] holds the only mutable state: the positions and velocities of the lattice's vertices and the current pose.
//! Each frame is filled with equal steps (`warped` derives one). Static balance is in [`equilibrium`]. All forces are generalised
//! forces on lattice vertices; this module does not depend on their origin. Other energies of positions act as
//! [energy terms](crate::solve::EnergyTerm): see [`Simulation::set_terms`].
//!
//! Each method is a `Stepper` (`methods` has the table): it takes steps and writes its state into sections of the saved state.
//!
//! Available methods: hyperelastic flesh carried by the skeleton (default); the skeletally warped linearisation in cell form and,
//! as printed, in vertex form; blended local linearisation, corrected and as printed; modal warping; global linear elasticity for
//! comparison; and fully [`nonlinear`] methods as the reference, which also serve bodies without a skeleton, with their form that is
//! linearised once a step.

mod adaptation;
mod adapting;
mod bends;
mod body_step;
mod check;
mod contact;
mod damping;
mod driving;
mod dynamic_bones;
mod equilibrium;
mod error;
mod firmness;
mod forces;
mod lifts;
mod lockstep;
mod method;
mod methods;
mod pins;
mod scene;
mod sections;
mod seeds;
mod settings;
mod settling;
mod shape;
mod shown;
mod simulation;
mod simulation_tracks;
mod skinned;
mod softness;
mod state;
mod stiffness;
mod stored;
mod tensing;
mod touching;
mod tracks;
mod volume;

pub use adaptation::Adaptation;
pub use damping::default_damping;
pub(crate) use dynamic_bones::FreedFlesh;
pub use dynamic_bones::{DynamicBoneSettings, follow_bones};
pub use equilibrium::{Equilibrium, equilibrium, equilibrium_forces, joint_volume, sway};
pub use error::SimulationError;
pub use forces::NodalForces;
pub use method::{Method, Solver};
pub use methods::nonlinear;
pub use pins::{DroppedPin, Pin, PinId, PinPoint, independent_vertices};
pub use scene::Scene;
pub use settings::{Kind, SettingField, SimulationSettings, Value};
pub use simulation::Simulation;
pub use softness::{resoften, soft_body, soften, softness, softness_factors, young_of_softness};
pub use stiffness::PosedStiffness;
pub use tracks::Tracks;

use check::{check_gravity, position_error};
use skinned::SkinnedLattice;

/// Number of modes that the modal method computes when the caller supplies none.
pub const DEFAULT_MODE_COUNT: usize = 32;

#[cfg(test)]
mod tests;
