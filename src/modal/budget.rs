// SPDX-License-Identifier: MIT OR Apache-2.0
//! The energy that a constrained body may have: constraints that stand still do no work.
//!
//! Warped constraints are held by forces along Φ_xᵀ, while what they hold changes along the whole derivative of the warp,
//! and exercised nodes need not be the constrained ones. Neither is passive by itself: without a bound, energy can be
//! pumped in until the body is lost.

use super::Modes;
use super::oscillator::State;

/// The exact integrator's energy may exceed what it should be by this part before motion is slowed,
const SLACK: f64 = 0.05;
/// and the print's, which damps by itself and is otherwise left as printed, by this factor before it is stopped.
const PRINTED: f64 = 4.0;

/// What the energy should be since the targets last moved, and the largest of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Budget {
    energy: f64,
    largest: f64,
    /// Amplitudes when it began; none before.
    base: Vec<f64>,
}

impl Budget {
    /// From the energy of a state.
    pub fn start(&mut self, modes: &Modes, state: &State) {
        self.energy = energy(modes, state);
        self.largest = self.energy;
        self.base.clone_from(&state.q);
    }

    /// Where to come to rest: the amplitudes when the targets last moved, or those given.
    pub fn base<'a>(&'a self, still: bool, otherwise: &'a [f64]) -> &'a [f64] {
        if still && !self.base.is_empty() {
            &self.base
        } else {
            otherwise
        }
    }

    /// Whether the state after a step may be; with the exact integrator motion is slowed so that it may. When a target
    /// moved its work is allowed.
    pub fn admits(
        &mut self,
        modes: &Modes,
        exact: bool,
        still: bool,
        (from, loads): (&State, &[f64]),
        state: &mut State,
    ) -> bool {
        let (kinetic, elastic) = energies(modes, state);
        if !still || self.base.is_empty() {
            self.start(modes, state);
            return (kinetic + elastic).is_finite();
        }
        let moved = state.q.iter().zip(&from.q).zip(loads);
        self.energy += moved.map(|((a, b), f)| (a - b) * f).sum::<f64>();
        self.largest = self.largest.max(self.energy);
        let all = kinetic + elastic;
        if !exact {
            return all <= self.energy + (PRINTED - 1.0) * self.largest;
        }
        if all <= self.energy + SLACK * self.largest {
            return true;
        }
        let left = self.energy - elastic;
        if left < 0.0 || kinetic <= 0.0 {
            return elastic <= self.energy + SLACK * self.largest;
        }
        let slower = (left / kinetic).sqrt();
        state.v.iter_mut().for_each(|v| *v *= slower);
        slower.is_finite()
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
