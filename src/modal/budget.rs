// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy bound of a constrained body. Constraints at rest do no work; moving ones do at most their forces times the
//! displacements of their targets.
//!
//! Warped constraints act by forces along Φ_xᵀ, while the constrained quantity changes along the full derivative of the
//! warp. In addition, exercised nodes need not be the constrained ones. Both can do work even at rest: without a bound, constraints
//! can pump in energy until the motion diverges.

use super::Modes;
use super::oscillator::ModalState;

/// Excess over the expected energy, as a share, at which the exact integrator's motion is slowed.
const ENERGY_TOLERANCE: f64 = 0.05;
/// Factor on the expected energy at which the paper's integrator is stopped. It damps by itself and is otherwise as printed.
const STOP_ENERGY_FACTOR: f64 = 4.0;

/// Motion of the targets in a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum TargetMotion {
    /// Some targets are new or jumped.
    New,
    /// The targets moved; with the work done on them, joules.
    Led(f64),
    /// The targets did not move.
    Still,
}

/// Effect of the energy bound on the state after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The state is unchanged.
    Free,
    /// Velocities were lowered.
    Slowed,
    /// The state is not admissible.
    Refused,
}

/// Expected energy since the targets were new, and its maximum.
#[derive(Debug, Clone, Default)]
pub(super) struct Budget {
    energy: f64,
    largest: f64,
    /// Amplitudes that follow the targets without oscillation: the body is bent from them if it must come to rest. Empty before the first step.
    base: Vec<f64>,
}

impl Budget {
    /// Starts from the energy of a state.
    pub fn start(&mut self, modes: &Modes, state: &ModalState) {
        self.energy = energy(modes, state);
        self.largest = self.energy;
        self.base.clone_from(&state.q);
    }

    /// Returns the amplitudes from which the body is bent to come to rest: those that followed the targets, or else `otherwise`.
    pub fn rest_amplitudes<'a>(&'a self, targets: TargetMotion, otherwise: &'a [f64]) -> &'a [f64] {
        if targets == TargetMotion::New || self.base.is_empty() {
            otherwise
        } else {
            &self.base
        }
    }

    /// Sets the amplitudes that follow the targets.
    pub fn follow_targets(&mut self, base: &[f64]) {
        if !self.base.is_empty() {
            self.base.copy_from_slice(base);
        }
    }

    /// Checks the state after a step against the bound. With the exact integrator it slows the motion to meet the bound.
    pub fn admits(
        &mut self,
        modes: &Modes,
        exact: bool,
        targets: TargetMotion,
        (from, loads): (&ModalState, &[f64]),
        state: &mut ModalState,
    ) -> Verdict {
        let or_refused = |good: bool, verdict| if good { verdict } else { Verdict::Refused };
        let (kinetic, elastic) = energies(modes, state);
        if targets == TargetMotion::New || self.base.is_empty() {
            self.start(modes, state);
            return or_refused((kinetic + elastic).is_finite(), Verdict::Free);
        }
        let moved = state.q.iter().zip(&from.q).zip(loads);
        self.energy += moved.map(|((a, b), f)| (a - b) * f).sum::<f64>();
        if let TargetMotion::Led(work) = targets {
            self.energy += work;
        }
        self.largest = self.largest.max(self.energy);
        let all = kinetic + elastic;
        if !exact {
            let bound = self.energy + (STOP_ENERGY_FACTOR - 1.0) * self.largest;
            return or_refused(all <= bound, Verdict::Free);
        }
        if all <= self.energy + ENERGY_TOLERANCE * self.largest {
            return Verdict::Free;
        }
        let left = self.energy - elastic;
        if left < 0.0 || kinetic <= 0.0 {
            let bound = self.energy + ENERGY_TOLERANCE * self.largest;
            return or_refused(elastic <= bound, Verdict::Free);
        }
        let slower = (left / kinetic).sqrt();
        state.v.iter_mut().for_each(|v| *v *= slower);
        or_refused(slower.is_finite(), Verdict::Slowed)
    }
}

/// Returns the energy of a state, joules.
pub(super) fn energy(modes: &Modes, state: &ModalState) -> f64 {
    let (kinetic, elastic) = energies(modes, state);
    kinetic + elastic
}

/// Returns kinetic and elastic energy, joules.
fn energies(modes: &Modes, state: &ModalState) -> (f64, f64) {
    let kinetic: f64 = state.v.iter().map(|v| v * v).sum();
    let elastic = state.q.iter().zip(modes.eigenvalues());
    (
        0.5 * kinetic,
        0.5 * elastic.map(|(q, l)| l * q * q).sum::<f64>(),
    )
}
