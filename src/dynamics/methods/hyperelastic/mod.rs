// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hyperelastic flesh carried by the skeleton: the default method.
//!
//! The skeleton carries each lattice vertex to T(x) and turns each cell by R_c, as in skeletally warped linearisation
//! [capell2006, §3.3]; the flesh adds a displacement u, its **sway**: `p = T(x) + u`. Its energy is relative to the carried
//! shape, `V(u) = Σ_c ∫ W(R_c + ∇u)`, W Yeoh's ([`crate::elasticity::model`]). Near u = 0 this is exactly the warped method:
//! V'' = A. Farther away, cells also turn with their flesh and stiffen as they stretch. Warped flesh, softened by centrifugal load
//! and never stiffening, runs away instead. Bending a joint costs no energy, so no bend folds a cell.
//!
//! The joints' own elastic shape is the warped balance without loads, q_bend, to which the sway is added: `q = q_bend + u`.
//! Neglected is the change of a joint's stiffness with its bend. The sag of a bent joint is off by 3 % at 45° and 9 % at 90°.
//! Including the strain of q_bend in the energy reduces this to 1 and 2 %, but inverts cells at sharp joints and brings the sway of
//! characters no nearer to that of exact flesh. The remaining difference there is that exact flesh has another q_bend, which moves up to
//! 1.6 times as fast beside folds.
//!
//! **Twist.** The twist energy pulls flesh about straight bones to where the moved bone has it [capell2002, §4.6]. Its pull on the
//! carried shape is part of the balance q_bend. The sway adds the change, −Mt u, which is exact, as Mt does not depend on
//! the pose. Deviation: with Elastic Joints 0, q_bend is left out, and flesh is held about the blended map T(x) instead. Bones with a
//! [twist of their own](crate::body::OwnTwist) do not deviate: their pull on the carried shape is a load on the sway, and not part of q_bend.
//!
//! **Steps** are backward Euler, linearised once [capell2002, eq. 16, corrected], from the guess u₀ in which the bones carry
//! the sway rigidly along, `u₀ = R' Rᵀ (p − T(x))`, d = u' − u₀:
//!
//! ```text
//! ((1/h² + α/h) M + (1 + β/h) (V''(u₀) + Mt)) d = f_g + F − V'(u₀) − Mt u₀ − M (z + ẅ),   z = (v_skin − v)/h
//! ```
//!
//! with v_skin, relative damping, its β and gravity as in [`crate::dynamics::methods::warped`], and ẅ the acceleration of q_bend − T(x)
//! ([`crate::dynamics::bends`]).
//!
//! **Drag** is quadratic. Before each step `v − v_skin` is multiplied by `1/(1 + h (C/L) |v − v_skin|)`, the closed-form
//! solution of `v̇ = −(C/L) |v| v`, L the body's spread. It has no time or length scale of its own, so a body ten times as
//! large moves alike at √10 times the speed. It vanishes for flesh that follows its bones, and it calms flesh that stiffening
//! alone makes bounce.
//!
//! Cells far from rest take a convex V''. If a step would strain some cell by more than `MAX_STRAIN_CHANGE`, one linearisation is not
//! accurate enough, and the [chord method](crate::solve::chord) minimises the step's energy, starting with the step's own matrix.
//!
//! The system and its solver are in [`crate::dynamics::methods::step_system`]. A step that contact displaces is factored.

mod balance;
mod solving;
mod step;

pub(in crate::dynamics) use balance::{balance, forces_at};
pub(in crate::dynamics) use step::HyperelasticStepper;
