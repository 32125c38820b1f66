// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blended local linearisation: linear flesh in the turning frames of the bones, blended by the artist's weights.
//! [capell2002, §4.5, corrected]
//!
//! Region i is the flesh with weight W_i for bone i, Σ W_i = 1. Near its bone flesh deforms little in the bone's frame R_i,
//! so that linear strain is accurate there. Every region takes its own backward Euler step, linear in the change of velocity, with all bones
//! in it held at the pose. The results are blended:
//!
//! ```text
//! K_i = (1 + hα) M_i + (h² + hβ) (S_i + Mt_i)
//! r_i = h (f_g + F + t − Mt p − R_i S_i R_iᵀ (p − T_i(x))) − hα M v_rel − (h² v + hβ v_rel)(R_i S_i R_iᵀ + Mt)
//! Δv  = Σ_i W_i Q_iᵀ R_i K_i⁻¹ R_iᵀ Q_i r_i
//! ```
//!
//! Q_i selects the region's free nodes; damping is relative, gravity net, twist t and Mt are as in
//! [`crate::dynamics::methods::warped`]. In its own frame K_i never changes, so its factor is computed once: this makes the method
//! quick. The regions and the pass over them are in [`regions`].
//!
//! **Deviations** from the print. R_i turns into the region and back (lines 2 and 5 lack it). A region has two rings of cells more
//! than its weights reach, and the rows of S_i are complete at its border (eq. 22 cuts them). Outside of a region velocities are
//! those before the step. [`printed`] is the paper's form, for comparison.
//!
//! **Rest.** Half-way between two bones their regions disagree about the forces, and what the flesh comes to rest in depends a little on
//! the K_i, hence on the length and the damping of the steps: [`rest`] solves for it. If all regions took the force of one energy instead, the rest
//! would not depend on steps, but these would be unstable: at a bend of 90° from h² λ ≈ m on, λ the stiffness of the finest waves.
//!
//! **Further terms** would change K_i. With them a step and a balance are those of the blended energy
//!
//! ```text
//! V(p) = Σ_i Σ_c w_ic ½ (R_iᵀ p − x)ᵀ S_c (R_iᵀ p − x)
//! ```
//!
//! with w_ic the mean of W_i over the nodes of cell c, solved at once as the warped method is. The compliance of the flesh in
//! contact is that of V too. The printed form takes neither.
//!
//! Neglected: a frame is right at its bone. Half-way through a bent joint each frame takes the turn of the flesh for strain, and
//! the flesh swells there.

mod printed;
pub(in crate::dynamics) mod regions;
pub(in crate::dynamics) mod rest;

pub(in crate::dynamics) use regions::{Regions, StepScales};
pub(in crate::dynamics) use rest::{RegionalRest, common_forces};

use crate::body::Body;
use crate::solve::SolveError;

/// Divides a body into the regions of its bones; as `printed`, these have no rings, feel no neighbours, and do not turn.
///
/// # Errors
/// [`SolveError::TooLarge`] when memory runs out.
pub(in crate::dynamics) fn divide(body: &Body, printed: bool) -> Result<Regions, SolveError> {
    let weights = regions::node_weights(body);
    let all = match printed {
        true => printed::regions(body, &weights)?,
        false => regions::regions(body, &weights)?,
    };
    Ok(Regions::new(all))
}
