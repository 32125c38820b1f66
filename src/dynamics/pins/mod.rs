// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pins: points of the flesh that are held at targets. [capell2002, §4.4]
//!
//! A point x_c of the flesh, wherever it lies in a cell, is pinned by three rows `Σ_a φ_a(x_c) p_a = t_c` on the positions p of the
//! lattice's vertices. A step proposes positions p° without pins and moves them by the least work that meets the rows:
//!
//! ```text
//! d = A⁻¹ Cᵀ λ,   (C A⁻¹ Cᵀ + D) λ = t − C p°
//! ```
//!
//! with A the matrix of the step and C the rows. The right-hand side is taken from the actual positions, so nothing drifts. D is zero
//! for pins of strength 1. A pin of strength s < 1 is a spring: D holds its compliance, `(1 − s)/s` times the 3x3 compliance of the flesh
//! at the point, at rest and alone, turned with the bones. At rest such a pin moves its point by the share s of the way from where the flesh would rest without it to its target,
//! exactly so for linear flesh and one pin. At s = 0 it does nothing.
//!
//! **Deviation**: the paper projects the directions of conjugate gradients. This is the same minimisation in Schur form, on the factor
//! of the step, which contact uses too. Contact sees the compliance of pinned flesh, `A⁻¹ − A⁻¹ Cᵀ (C A⁻¹ Cᵀ + D)⁻¹ C A⁻¹`, so its
//! displacements leave pins in place. Where both ask for the same point the pin has its way, as a bone has.
//!
//! **Dependent rows.** All three rows of a pin share their values φ_a, so pins depend on each other as the rows φ on the free vertices do.
//! Pins of strength 1 are taken in the order of their numbers. One whose row is a combination of earlier rows is dropped and
//! [reported](DroppedPin); if the target of a dropped one differs from that combination of targets, the error names the pins.
//!
//! **Shown flesh.** The target of a vertex of the skin is where the vertex is *shown*: skin, bent joints and the bound of the flesh
//! map included. That of a place inside the flesh is its place in the lattice. Where details of flesh that adapts fade out of the
//! displayed shape, goals take off what is left of them.
//!
//! | file | content |
//! | --- | --- |
//! | `pin` | pins and their points, as callers give them |
//! | `point` | pinned points: their functions, what is shown there, compliance |
//! | `path` | targets within a frame |
//! | `faded` | what fades at pinned points |
//! | `ranks` | dependent rows and conflicts |
//! | `solver`, `flesh` | the Schur complement; flesh that pins hold |
//! | `rest` | balances of pinned flesh |
//! | `stored` | pins in saved states |
//! | `held`, `system` | a pin with its path and state; all pins of a body |
//! | `simulation` | pins of a simulation |

mod faded;
mod flesh;
mod held;
mod path;
mod pin;
mod point;
mod ranks;
mod rest;
mod simulation;
mod solver;
mod stored;
mod system;

pub(super) use flesh::PinnedFlesh;
pub use pin::{DroppedPin, Pin, PinId, PinPoint};
pub use ranks::independent_vertices;
pub(super) use system::PinSystem;
