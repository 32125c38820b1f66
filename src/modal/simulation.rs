// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modal dynamics with warping on a stationary support. [choi2003, §4, §5]
//!
//! `q̈ + (ξ + ζΛ) q̇ + Λ q = Φᵀ R_wᵀ F`, R_w = exp [Ψq]ₓ at each node: forces in world axes are rotated back into the
//! nodes' own frames. The exact integrator takes a force that is linear over the step. It runs from the force at the
//! start to the one at the position predicted with constant force. With R_w of the step's start alone (the paper's eq.
//! 18) motion is of first order: undamped at 24 steps a second its energy grows.

use super::check::{check_finite, check_modes, check_nodes};
use super::constraints::{Hold, ModalConstraints};
use super::manipulate::ConstraintAccuracy;
use super::oscillator::{ModalState, Oscillators};
use super::{Damping, Integrator, ModalError, Modes};
use crate::Vec3;
use std::sync::Arc;

/// Settings of a modal simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct ModalSettings {
    /// Time step, s.
    pub step: f64,
    /// Time integrator.
    pub integrator: Integrator,
    /// Whether displacements and forces rotate with the nodes; without it this is linear modal analysis.
    pub warp: bool,
    /// Acceleration of gravity, m/s².
    pub gravity: Vec3,
    /// Damping of the modes.
    pub damping: Damping,
}

impl Default for ModalSettings {
    fn default() -> Self {
        Self {
            step: 1.0 / 30.0,
            integrator: Integrator::Exact,
            warp: true,
            gravity: Vec3::zeros(),
            damping: Damping::Proportional {
                mass: 0.0,
                stiffness: 0.0,
            },
        }
    }
}

/// A simulation of modes in motion.
#[derive(Debug, Clone)]
pub struct ModalSimulation {
    modes: Arc<Modes>,
    settings: ModalSettings,
    oscillators: Oscillators,
    state: ModalState,
    next: ModalState,
    constraints: ModalConstraints,
    /// Accuracy of the constraints after the last step.
    accuracy: ConstraintAccuracy,
}

impl ModalSimulation {
    /// Creates a simulation at rest.
    ///
    /// # Errors
    /// Settings out of range, by name.
    pub fn new(modes: Arc<Modes>, settings: ModalSettings) -> Result<Self, ModalError> {
        check_finite("gravity", settings.gravity)?;
        let damping = settings.damping.coefficients(modes.eigenvalues())?;
        let (integrator, step) = (settings.integrator, settings.step);
        Ok(Self {
            oscillators: Oscillators::new(integrator, step, modes.eigenvalues(), &damping)?,
            state: ModalState::zero(modes.len()),
            next: ModalState::zero(modes.len()),
            constraints: ModalConstraints::default(),
            accuracy: ConstraintAccuracy::default(),
            modes,
            settings,
        })
    }

    /// Returns the modes.
    pub fn modes(&self) -> &Arc<Modes> {
        &self.modes
    }

    /// Returns the settings.
    pub fn settings(&self) -> &ModalSettings {
        &self.settings
    }

    /// Returns the amplitudes q.
    pub fn amplitudes(&self) -> &[f64] {
        &self.state.q
    }

    /// Returns the velocities of the amplitudes, 1/s.
    pub fn velocities(&self) -> &[f64] {
        &self.state.v
    }

    /// Sets the amplitudes.
    ///
    /// # Errors
    /// A wrong number of them, or one that is not finite; the state is then unchanged.
    pub fn set_amplitudes(&mut self, amplitudes: &[f64]) -> Result<(), ModalError> {
        check_modes("amplitudes", amplitudes, self.modes.len())?;
        self.state.q.copy_from_slice(amplitudes);
        self.constraints.restart();
        Ok(())
    }

    /// Sets the amplitudes' velocities.
    ///
    /// # Errors
    /// A wrong number of them, or one that is not finite; the state is then unchanged.
    pub fn set_velocities(&mut self, velocities: &[f64]) -> Result<(), ModalError> {
        check_modes("velocities", velocities, self.modes.len())?;
        self.state.v.copy_from_slice(velocities);
        self.constraints.restart();
        Ok(())
    }

    /// Returns to rest; constraints are kept.
    pub fn reset(&mut self) {
        self.state = ModalState::zero(self.modes.len());
        self.constraints.forget_targets();
        self.accuracy = ConstraintAccuracy::default();
    }

    /// Returns the displacements of all nodes, metres.
    pub fn displacements(&self) -> Vec<Vec3> {
        self.modes.displacements(&self.state.q, self.settings.warp)
    }

    /// Replaces all constraints. Forces act at `exercised` nodes; `None`: at the constrained ones and, for
    /// orientations, their neighbours.
    ///
    /// # Errors
    /// Nodes that do not exist or are fixed, targets that are not finite; the constraints are then unchanged.
    pub fn constrain(
        &mut self,
        holds: &[Hold],
        exercised: Option<&[usize]>,
    ) -> Result<(), ModalError> {
        self.constraints = self.constraints.with_holds(&self.modes, holds, exercised)?;
        Ok(())
    }

    /// Returns the accuracy of the constraints at the end of the last step.
    pub fn constraint_accuracy(&self) -> &ConstraintAccuracy {
        &self.accuracy
    }

    /// Takes one step under gravity and forces at the nodes (N, world axes, constant over the step).
    ///
    /// # Errors
    /// Forces for another number of nodes or not finite; a motion that is no longer finite. The state is then
    /// unchanged.
    pub fn advance(&mut self, forces: Option<&[Vec3]>) -> Result<(), ModalError> {
        if let Some(forces) = forces {
            check_nodes("forces", forces, self.modes.node_count())?;
        }
        let (exact, warp) = (
            self.settings.integrator == Integrator::Exact,
            self.settings.warp,
        );
        let mut from = self.state.clone();
        if exact && self.constraints.has_leap() {
            self.constraints.relax(&self.modes, warp, &mut from);
        }
        let start = self.modal_force(&from.q, forces);
        let (oscillators, next) = (&self.oscillators, &mut self.next);
        oscillators.advance(&from, (&start, &start), next);
        if exact && warp && self.next.is_finite() {
            let end = self.modal_force(&self.next.q, forces);
            self.oscillators
                .advance(&from, (&start, &end), &mut self.next);
        }
        let kept = self.constraints.clone();
        let mut accuracy = ConstraintAccuracy::default();
        if !self.constraints.is_empty() && self.next.is_finite() {
            let (modes, oscillators) = (&self.modes, &self.oscillators);
            let next = &mut self.next;
            accuracy = self
                .constraints
                .enforce(modes, oscillators, warp, (&from, &start), next);
        }
        let lost = !(accuracy.distance.is_finite() && accuracy.angle.is_finite());
        if lost || !self.next.is_finite() {
            self.constraints = kept;
            return Err(ModalError::NonFinite);
        }
        self.accuracy = accuracy;
        self.constraints.end_step();
        std::mem::swap(&mut self.state, &mut self.next);
        Ok(())
    }

    /// Returns `Φᵀ R_wᵀ F` including gravity, with R_w at amplitudes `q`.
    fn modal_force(&self, q: &[f64], forces: Option<&[Vec3]>) -> Vec<f64> {
        let modes = &*self.modes;
        let mut sum = vec![0.0; modes.len()];
        let gravity = self.settings.gravity;
        if gravity == Vec3::zeros() && forces.is_none() {
            return sum;
        }
        // As in the paper: nodal forces M g, rotated.
        let load = |node: usize| {
            let weight = gravity * modes.masses()[node];
            (
                Some(forces.map_or(weight, |f| f[node] + weight)),
                Vec3::zeros(),
            )
        };
        modes.add_modal_force(q, self.settings.warp, load, &mut sum);
        sum
    }

    /// Sets the state to rest at the amplitudes where elasticity balances gravity and constant forces. Constraints are
    /// ignored; they hold again from the next step on.
    ///
    /// # Errors
    /// As [`advance`](Self::advance); a free body that no support holds against its loads; loads too large to balance.
    pub fn settle(&mut self, forces: Option<&[Vec3]>) -> Result<(), ModalError> {
        if let Some(forces) = forces {
            check_nodes("forces", forces, self.modes.node_count())?;
        }
        let eigenvalues = self.modes.eigenvalues();
        let balance = balance(eigenvalues, &self.state.q, |q| self.modal_force(q, forces))?;
        if !balance.supported {
            return Err(ModalError::Unsupported);
        }
        if !balance.found {
            return Err(ModalError::NoBalance);
        }
        let q = balance.q;
        self.state = ModalState {
            v: vec![0.0; q.len()],
            q,
        };
        self.constraints.restart();
        Ok(())
    }

    /// Returns the warped displacement of one node, metres.
    pub fn displacement(&self, node: usize) -> Vec3 {
        self.modes
            .warped_displacement(&self.state.q, node, self.settings.warp)
    }
}

/// Result of a search for balance.
pub(crate) struct ModalEquilibrium {
    pub q: Vec<f64>,
    /// Whether the loads are balanced; if not, `q` are the best amplitudes found.
    pub found: bool,
    /// Whether all modes without stiffness are unloaded.
    pub supported: bool,
}

/// Solves `Λ q = f(q)` by damped fixed-point steps: a step is full unless the residual grows.
pub(crate) fn balance(
    eigenvalues: &[f64],
    start: &[f64],
    force: impl Fn(&[f64]) -> Vec<f64>,
) -> Result<ModalEquilibrium, ModalError> {
    const MAX_STEPS: usize = 400;
    const BALANCE_TOLERANCE: f64 = 1e-12;
    /// Share of the largest load below which a load is rounding error.
    const LOAD_TOLERANCE: f64 = 1e-6;
    // Modes without stiffness cannot balance a load; they keep their amplitudes.
    let stiffest = eigenvalues.iter().copied().fold(0.0, f64::max);
    let stiff = |l: f64| l > 1e-9 * stiffest;
    let towards = |q: &[f64]| -> Vec<f64> {
        let f = force(q);
        let new = q.iter().zip(&f).zip(eigenvalues);
        new.map(|((q, f), &l)| if stiff(l) { f / l - q } else { 0.0 })
            .collect()
    };
    let norm = |x: &[f64]| {
        let energies = x.iter().zip(eigenvalues).map(|(x, l)| x * x * l.max(0.0));
        energies.sum::<f64>().sqrt()
    };
    let mut q = start.to_vec();
    let mut step = towards(&q);
    let (mut part, mut found) = (1.0f64, false);
    for _ in 0..MAX_STEPS {
        let length = norm(&step);
        if !length.is_finite() {
            return Err(ModalError::NonFinite);
        }
        let trial: Vec<f64> = q.iter().zip(&step).map(|(q, d)| q + part * d).collect();
        if length <= BALANCE_TOLERANCE * norm(&trial).max(f64::MIN_POSITIVE) {
            (q, found) = (trial, true);
            break;
        }
        let next = towards(&trial);
        if norm(&next) < length * (1.0 - 0.1 * part) {
            (q, step) = (trial, next);
            part = (2.0 * part).min(1.0);
        } else if part > 1e-6 {
            part *= 0.5;
        } else {
            break;
        }
    }
    let loads = force(&q);
    let largest = loads.iter().map(|f| f.abs()).fold(0.0, f64::max);
    let mut free = loads.iter().zip(eigenvalues).filter(|(_, l)| !stiff(**l));
    Ok(ModalEquilibrium {
        supported: free.all(|(f, _)| f.abs() <= LOAD_TOLERANCE * largest),
        found: found || norm(&step) <= LOAD_TOLERANCE * norm(&q),
        q,
    })
}
