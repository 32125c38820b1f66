// SPDX-License-Identifier: MIT OR Apache-2.0
//! Constraints on positions and orientations of nodes, enforced by forces at exercised nodes. [choi2003, §5]
//!
//! The paper solves `F_x = R_x (R̃_c Φ_c γ Φ_xᵀ)⁺ (u_c − R̃_c Φ_c q)` for positions, `F_x = R_x (Ψ_c γ Φ_xᵀ)⁺ (w_c − Ψ_c q)`
//! for orientations, with the pseudo-inverse ⁺ (the paper's `Aᵀ` is a misprint), stacked when both occur. R_x only sets the
//! axes of F_x: the unknown here is the force in the exercised nodes' own frames.
//!
//! Deviations: by default the exercised nodes are the constrained ones and, for orientations, their neighbours. R̃ depends on
//! the corrected amplitudes, so the solve is iterated until the constraints hold, with the full derivative of `R̃(Ψq) Φq`.
//! The exact integrator has no damping of its own, so a force for the position alone would make it oscillate for ever. There
//! an impulse at the end of the step, a second unknown, enforces the velocity; and before the step begins the body is bent
//! with the least elastic energy to targets that are new or jump. With either integrator, the body comes to rest where forces
//! within the step could satisfy the constraints only by pumping energy in.

use super::Modes;
use super::budget::{TargetMotion, Verdict, energy};
use super::constraints::{HoldTarget, ModalConstraints, RADIAN_WEIGHT, TARGET_TOLERANCE};
use super::oscillator::{ModalState, Oscillators};
use super::satisfy::{ConstraintState, TargetSolver, pseudo_solve};
use crate::Vec3;
use nalgebra::{DMatrix, DVector};

/// For the paper's integrator: the energy of forces that reach new targets may be at most this multiple of the energy of
/// bending there.
const MAX_ENERGY_FACTOR: f64 = 300.0;

/// Accuracy of constraints after a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConstraintAccuracy {
    /// Largest distance of a constrained node from its target, metres.
    pub distance: f64,
    /// Largest difference of an orientation from its target, radians.
    pub angle: f64,
    /// Number of corrections made.
    pub passes: usize,
    /// Whether the constraints conflict for these modes and exercised nodes; they then hold in the least-squares sense.
    pub overdetermined: bool,
    /// Whether motion was slowed because the constraints would have pumped energy into the body.
    pub slowed: bool,
    /// Whether the body was brought to rest because forces within the step would have hurled it.
    pub stopped: bool,
    /// Constraint forces (N, frames of the nodes) per exercised node; zero where the body was brought to rest.
    pub forces: Vec<(usize, Vec3)>,
}

impl ModalConstraints {
    /// Bends the body to its targets with the least elastic energy; velocities are unchanged.
    pub fn relax(&self, modes: &Modes, warp: bool, state: &mut ModalState) {
        let (found, _) = self.bend(modes, warp, &state.q);
        state.q.copy_from_slice(found.q.as_slice());
    }

    /// Bends the body from amplitudes to its targets with the least elastic energy. Also returns the number of passes.
    fn bend(&self, modes: &Modes, warp: bool, from: &[f64]) -> (ConstraintState, usize) {
        let gain = self.compliance(modes);
        let start = DVector::from_column_slice(from);
        self.solver(modes, warp, &gain).satisfy(&start)
    }

    /// Corrects the amplitudes and velocities at the end of a step so that the constraints hold. The step began at `from`,
    /// under modal forces `loads`.
    pub fn enforce(
        &mut self,
        modes: &Modes,
        oscillators: &Oscillators,
        warp: bool,
        (from, loads): (&ModalState, &[f64]),
        state: &mut ModalState,
    ) -> ConstraintAccuracy {
        let modal_forces = self.exercised_modal_forces(modes);
        let gain = scale_rows(&modal_forces, |i| oscillators.gain(i));
        let predicted = DVector::from_column_slice(&state.q);
        let (found, mut passes) = self.solver(modes, warp, &gain).satisfy(&predicted);
        let targets = self.targets();
        let mut error = &targets - &found.value;
        let mut force = pseudo_solve(gain, &(&found.q - &predicted));
        let pushed = &modal_forces * &force;
        for (i, (q, v)) in state.q.iter_mut().zip(&mut state.v).enumerate() {
            *q = found.q[i];
            *v += oscillators.velocity_gain(i) * pushed[i];
        }
        let exact = oscillators.keeps_energy();
        // Mean over the step.
        let mut acting = pushed;
        if exact {
            let wanted = self.velocities(oscillators.step());
            let have = &found.jacobian * DVector::from_column_slice(&state.v);
            let impulse = pseudo_solve(&found.jacobian * &modal_forces, &(wanted - have));
            let added = &modal_forces * impulse;
            state
                .v
                .iter_mut()
                .zip(added.iter())
                .for_each(|(v, d)| *v += d);
            acting += added / oscillators.step();
        }
        let hurled = !exact && self.has_leap() && self.is_hurled(modes, warp, from, state);
        let moved = self.target_motion(&found, &acting);
        if let TargetMotion::Led(_) = moved {
            let (rest, more) = self.bend(modes, warp, self.budget.rest_amplitudes(moved, &from.q));
            passes += more;
            self.budget.follow_targets(rest.q.as_slice());
        }
        let verdict = self
            .budget
            .admits(modes, exact, moved, (from, loads), state);
        let fits = verdict != Verdict::Refused && !hurled;
        let mut stopped = false;
        if !fits || exact && error.norm() > TARGET_TOLERANCE * self.size {
            // Forces within the step fail, or succeed only by pumping in energy: the body comes to rest where it is bent
            // least.
            let (rest, more) = self.bend(modes, warp, self.budget.rest_amplitudes(moved, &from.q));
            passes += more;
            if !fits || rest.distance(&targets) <= error.norm() {
                error = &targets - &rest.value;
                force.fill(0.0);
                state.q.copy_from_slice(rest.q.as_slice());
                state.v.fill(0.0);
                self.budget.start(modes, state);
                stopped = true;
            }
        }
        ConstraintAccuracy {
            slowed: verdict == Verdict::Slowed && !stopped,
            stopped,
            ..self.report(&error, &force, passes)
        }
    }

    /// Returns the motion of the targets while modal forces `acting` held the constraints.
    fn target_motion(&self, found: &ConstraintState, acting: &DVector<f64>) -> TargetMotion {
        if self.has_leap() {
            TargetMotion::New
        } else if self.is_still() {
            TargetMotion::Still
        } else {
            // Work on the targets: the multipliers of the constraints times the displacements of their targets.
            let multipliers = pseudo_solve(found.jacobian.transpose(), acting);
            TargetMotion::Led(multipliers.dot(&self.displacements()))
        }
    }

    /// Returns whether reaching new targets by forces within the step takes many times the energy of bending there. That
    /// happens with exercised nodes far from the constrained ones.
    fn is_hurled(&self, modes: &Modes, warp: bool, from: &ModalState, to: &ModalState) -> bool {
        let mut relaxed = from.clone();
        self.relax(modes, warp, &mut relaxed);
        let [bent, before, now] = [&relaxed, from, to].map(|s| energy(modes, s));
        now.is_nan() || now > MAX_ENERGY_FACTOR * (bent + before)
    }

    fn solver<'a>(
        &'a self,
        modes: &'a Modes,
        warp: bool,
        gain: &'a DMatrix<f64>,
    ) -> TargetSolver<'a> {
        TargetSolver {
            constraints: self,
            modes,
            warp,
            gain,
        }
    }

    /// Returns Φ_xᵀ: modal forces of unit forces at exercised nodes.
    fn exercised_modal_forces(&self, modes: &Modes) -> DMatrix<f64> {
        DMatrix::from_fn(modes.len(), 3 * self.exercised.len(), |i, c| {
            modes.shapes()[i][self.exercised[c / 3]][c % 3]
        })
    }

    /// Returns the static amplitudes under unit forces at exercised nodes; modes without stiffness yield most.
    fn compliance(&self, modes: &Modes) -> DMatrix<f64> {
        let all = modes.eigenvalues();
        let stiffest = all.iter().copied().fold(0.0, f64::max);
        let held = all.iter().copied().filter(|l| *l > 1e-9 * stiffest);
        let softest = held.fold(stiffest, f64::min).max(f64::MIN_POSITIVE);
        scale_rows(&self.exercised_modal_forces(modes), |i| {
            1.0 / all[i].max(1e-3 * softest)
        })
    }

    fn report(
        &self,
        error: &DVector<f64>,
        force: &DVector<f64>,
        passes: usize,
    ) -> ConstraintAccuracy {
        let mut accuracy = ConstraintAccuracy {
            passes,
            ..ConstraintAccuracy::default()
        };
        for (r, row) in self.rows.iter().enumerate() {
            let off = error.fixed_rows::<3>(3 * r).norm() / self.scale(&row.hold.target);
            match row.hold.target {
                HoldTarget::Position(_) => accuracy.distance = accuracy.distance.max(off),
                HoldTarget::Orientation(_) => accuracy.angle = accuracy.angle.max(off),
            }
        }
        accuracy.overdetermined = accuracy.distance > TARGET_TOLERANCE * self.size
            || accuracy.angle * RADIAN_WEIGHT > TARGET_TOLERANCE;
        let at = |(i, &node): (usize, &usize)| {
            (
                node,
                Vec3::new(force[3 * i], force[3 * i + 1], force[3 * i + 2]),
            )
        };
        accuracy.forces = self.exercised.iter().enumerate().map(at).collect();
        accuracy
    }
}

/// Multiplies each row by a factor.
fn scale_rows(matrix: &DMatrix<f64>, factor: impl Fn(usize) -> f64) -> DMatrix<f64> {
    DMatrix::from_fn(matrix.nrows(), matrix.ncols(), |i, c| {
        factor(i) * matrix[(i, c)]
    })
}
