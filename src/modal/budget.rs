// SPDX-License-Identifier: MIT OR Apache-2.0
//! The energy that a constrained body may have: constraints that stand still do no work, and those that move do no more than
//! their forces times the displacements of their targets.
//!
//! Warped constraints are held by forces along Φ_xᵀ, while what they hold changes along the whole derivative of the warp,
//! and exercised nodes need not be the constrained ones. Neither is passive by itself: without a bound, energy can be
//! pumped in until the body is lost.

use super::Modes;
use super::oscillator::State;

/// The exact integrator's energy may exceed what it should be by this part before motion is slowed,
const SLACK: f64 = 0.05;
/// and the paper's, which damps by itself and is otherwise left as printed, by this factor before it is stopped.
const PRINTED: f64 = 4.0;

/// What the targets did in a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Targets {
    /// Some are new or leapt.
    New,
    /// They moved on, and so much work was done on them, joules.
    Led(f64),
    /// They stood still.
    Still,
}

/// What becomes of the state after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It stays as it is.
    Free,
    /// Its velocities were lowered.
    Slowed,
    /// It cannot be.
    Refused,
}

/// What the energy should be since the targets were new, and the largest of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Budget {
    energy: f64,
    largest: f64,
    /// Amplitudes to come to rest from: they follow the targets without swinging. None before.
    base: Vec<f64>,
}

impl Budget {
    /// From the energy of a state.
    pub fn start(&mut self, modes: &Modes, state: &State) {
        self.energy = energy(modes, state);
        self.largest = self.energy;
        self.base.clone_from(&state.q);
    }

    /// Where to come to rest from: the amplitudes that followed the targets so far, or those given.
    pub fn base<'a>(&'a self, targets: Targets, otherwise: &'a [f64]) -> &'a [f64] {
        if targets == Targets::New || self.base.is_empty() {
            otherwise
        } else {
            &self.base
        }
    }

    /// The amplitudes that follow the targets.
    pub fn follow(&mut self, base: &[f64]) {
        if !self.base.is_empty() {
            self.base.copy_from_slice(base);
        }
    }

    /// Whether the state after a step may be; with the exact integrator motion is slowed so that it may.
    pub fn admits(
        &mut self,
        modes: &Modes,
        exact: bool,
        targets: Targets,
        (from, loads): (&State, &[f64]),
        state: &mut State,
    ) -> Verdict {
        let or_refused = |good: bool, verdict| if good { verdict } else { Verdict::Refused };
        let (kinetic, elastic) = energies(modes, state);
        if targets == Targets::New || self.base.is_empty() {
            self.start(modes, state);
            return or_refused((kinetic + elastic).is_finite(), Verdict::Free);
        }
        let moved = state.q.iter().zip(&from.q).zip(loads);
        self.energy += moved.map(|((a, b), f)| (a - b) * f).sum::<f64>();
        if let Targets::Led(work) = targets {
            self.energy += work;
        }
        self.largest = self.largest.max(self.energy);
        let all = kinetic + elastic;
        if !exact {
            let bound = self.energy + (PRINTED - 1.0) * self.largest;
            return or_refused(all <= bound, Verdict::Free);
        }
        if all <= self.energy + SLACK * self.largest {
            return Verdict::Free;
        }
        let left = self.energy - elastic;
        if left < 0.0 || kinetic <= 0.0 {
            let bound = self.energy + SLACK * self.largest;
            return or_refused(elastic <= bound, Verdict::Free);
        }
        let slower = (left / kinetic).sqrt();
        state.v.iter_mut().for_each(|v| *v *= slower);
        or_refused(slower.is_finite(), Verdict::Slowed)
    }
}

/// The energy of a state, joules.
pub(super) fn energy(modes: &Modes, state: &State) -> f64 {
    let (kinetic, elastic) = energies(modes, state);
    kinetic + elastic
}

/// Kinetic and elastic energy, joules.
fn energies(modes: &Modes, state: &State) -> (f64, f64) {
    let kinetic: f64 = state.v.iter().map(|v| v * v).sum();
    let elastic = state.q.iter().zip(modes.eigenvalues());
    (
        0.5 * kinetic,
        0.5 * elastic.map(|(q, l)| l * q * q).sum::<f64>(),
    )
}
