// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modal warping: vibration modes of a body, rotated with the local rotation of its flesh. [choi2003, §3, §4]
//!
//! ```
//! use std::sync::Arc;
//! use thew::elasticity::Material;
//! use thew::modal::{ModalSettings, ModalSimulation, ModalSystem, Modes};
//! use thew::progress::Silent;
//! use thew::tets::{MassKind, TetMesh};
//!
//! let bar = TetMesh::grid([6, 2, 2], [1.0, 0.2, 0.2])?;
//! let clamped: Vec<usize> = (0..9).collect(); // the nodes at x = 0 come first
//! let system = ModalSystem::for_tets(&bar, &Material::default(), MassKind::Consistent, &clamped)?;
//! let modes = Arc::new(Modes::compute(&system, 8, None, &Silent)?);
//! assert!(modes.is_verified() && modes.frequencies().is_sorted());
//!
//! // Undamped, a released mode swings for ever at its own frequency: after one period it has returned.
//! let settings = ModalSettings { step: 1.0 / modes.frequencies()[0] / 32.0, ..Default::default() };
//! let mut motion = ModalSimulation::new(modes, settings)?;
//! let mut q = vec![0.0; 8];
//! q[0] = 0.1;
//! motion.set_amplitudes(&q)?;
//! for _ in 0..32 {
//!     motion.advance(None)?;
//! }
//! assert!((motion.amplitudes()[0] - 0.1).abs() < 1e-9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Modes`] are computed once: `K Φ = M Φ Λ`, and the rotations Ψ of the nodes in each mode. A [`ModalSimulation`] advances their amplitudes, one
//! oscillator each. The displayed displacement is `u = R̃(Ψq) Φq` ([`mean_rotation`](crate::skeleton::rotation_vector::mean_rotation)), which bends
//! and twists without the growth of the linear one. [`Hold`]s constrain positions and orientations of nodes.
//!
//! Neglected: the change of `MRᵀ` to `RᵀM` (exact for lumped mass only), Coriolis forces of the local frames, and the effect of large strain on
//! stiffness. Rotations are those of nodes, not integrated along the body, so very long bends fall a little short.

mod budget;
mod check;
mod constraints;
mod deform;
mod error;
mod load;
mod manipulate;
mod modes;
mod oscillator;
mod packed;
mod satisfy;
mod simulation;
mod stored;
mod system;
#[cfg(test)]
mod tests;

#[cfg(all(feature = "python", not(test)))]
pub(crate) use check::check_modes;
pub use constraints::{Hold, HoldTarget};
pub use deform::DeformSettings;
pub(crate) use deform::{parse_engine, parse_form, parse_precision};
pub use error::ModalError;
pub use manipulate::ConstraintAccuracy;
pub use modes::Modes;
pub use oscillator::{Damping, Integrator};
pub(crate) use oscillator::{ModalState, Oscillators};
pub(crate) use simulation::balance;
pub use simulation::{ModalSettings, ModalSimulation};
pub(crate) use stored::StoredModes;
pub use system::ModalSystem;
#[cfg(all(feature = "python", not(test)))]
pub(crate) use system::node_mask;
