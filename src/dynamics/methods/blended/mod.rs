// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blended local linearisation: linear flesh in the turning frames of the bones, blended by the artist's weights.
//! [capell2002, §4.5, corrected]
//!
//! Bones carry the flesh to T(x), and it sways by u: `p = T(x) + u`. Region i is the flesh with weight W_i for bone i,
//! Σ W_i = 1. Near its bone flesh deforms little in the bone's frame R_i, so that linear strain is accurate there. Every region takes its
//! own backward Euler step, linear in the change of velocity, with all bones in it held at the pose. The results are blended:
//!
//! ```text
//! K_i = (1 + hα) M_i + (h² + hβ) (S_i + Mt_i)
//! r_i = h (f_g + F − M ẅ) − hα M v_rel − (R_i S_i R_iᵀ + Mt) (h (p + h v − T'(x)) + hβ v_rel)
//! Δv  = Σ_i W_i Q_iᵀ R_i K_i⁻¹ R_iᵀ Q_i r_i
//! ```
//!
//! Q_i selects the region's free nodes; damping is relative, gravity net and Mt the twist's Hessian as in
//! [`crate::dynamics::methods::warped`]. In its own frame K_i never changes, so its factor is computed once: this makes the method
//! quick. The regions and the pass over them are in [`regions`].
//!
//! **The joints' own shape**, the warped balance without loads, is added to the sway, and ẅ is the acceleration of its
//! difference from T(x), as in [`crate::dynamics::methods::hyperelastic`]. It is solved for once a frame ([`crate::dynamics::bends`]).
//!
//! **Deviations** from the print. R_i turns into the region and back (lines 2 and 5 lack it). A region has two rings of cells more
//! than its weights reach, and the rows of S_i are complete at its border (eq. 22 cuts them). Outside of a region velocities are
//! those before the step. Displacements are those from T(x), the blended motion of all bones; line 2 has T_i(x), that of bone i
//! alone. In cells of one bone the two are equal. A cell that its bones turn by θ relative to bone i is displaced by (R − R_i) x as that
//! bone sees it, and linear strain takes this for a pressure of 1 − cos θ. All regions of a joint then push outwards, the joint swells, and
//! its shape depends on the length of the steps. [`printed`] is the paper's form, for comparison.
//!
//! **Rest.** Half-way between two bones their regions disagree about the forces of a sway. How far a load displaces flesh there depends a
//! little on the K_i, hence on the length and the damping of the steps: [`rest`] solves for it. Without loads flesh rests in the joints'
//! own shape. If all regions took the force of one energy instead, the rest would not depend on steps, but these would be
//! unstable: at a bend of 90° from h² λ ≈ m on, λ the stiffness of the finest waves.
//!
//! **Further terms** would change K_i. With them a step and a balance have the warped method's matrix, with the sway in place
//! of p. The compliance of the flesh in contact is that of this matrix too. The printed form takes neither.
//!
//! Neglected: the change of a joint's stiffness with its bend, and turns of the flesh by itself, beyond those of its bones, for which
//! it swells.

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
