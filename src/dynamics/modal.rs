// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modal warping on a moving skeleton. [choi2003, §4]
//!
//! Modes with the bones' vertices fixed, in the rest frame; R_sk and T are the skeleton's blended rotation and map, a
//! the acceleration of T(x) at all nodes, bones included, R_w the warp rotation exp [Ψq]ₓ:
//!
//! `q̈ + (ξ + ζΛ) q̇ + Λq = Φᵀ R_wᵀ R_skᵀ (F + f_g) − (MΦ)ᵀ R_wᵀ R_skᵀ a`, `p = T(x + R̃(Ψq) Φq)`.
//!
//! a is the mean over a step, the difference of the velocities that T(x) has at its ends along the bones' C¹ motion, so
//! that frame ends give no impulse. `f_g` is gravity less what the sculpt holds up, by cells as in the other methods
//! ([`Load::add_net_weight`]): it turns with the skeleton, not with the warp. Amplitudes are those of the motion relative to the
//! skeleton, and so is their damping.
//!
//! Neglected: forces that the turning of the frames exerts on u itself (Coriolis, Euler and centrifugal forces of the
//! flesh's own displacement); what the twist energy does as bones turn, its pull being that of the rest pose; how the
//! skinned shape itself is strained at a bend, which other methods even out.

use super::forces::Load;
use super::sections::{Kind, Sections, Writer};
use super::skinned::{SkinnedLattice, place};
use super::stepper::{NodalState, Start, Step, Stepper};
use super::{Settings, SimulationError};
use crate::Vec3;
use crate::body::Body;
use crate::modal::{Damping, Integrator, ModalError, Modes, Oscillators, State, balance};
use crate::skeleton::rotation_vector::{mean_rotation, mean_rotation_derivative};
use crate::skeleton::{BonePoses, FrameMotion, Pose};
use std::sync::Arc;

/// Modes on a skeleton.
pub(super) struct ModalStepper {
    modes: Arc<Modes>,
    damping: Vec<f64>,
    oscillators: Option<Oscillators>,
    state: State,
    next: State,
    /// Velocities of T(x) at present.
    velocities: Vec<Vec3>,
    /// Scratch: f_g of one instant, and positions.
    weight: Vec<Vec3>,
    places: Vec<Vec3>,
    poses: BonePoses,
    pose: Pose,
}

/// Amplitudes, then their velocities.
pub(super) const AMPLITUDES: Kind = Kind::required("modal amplitudes", 1);
/// Velocities of T(x).
pub(super) const SKIN_VELOCITIES: Kind = Kind::required("skin velocities", 1);

/// Velocities are finite differences over this part of a step.
const INSTANT: f64 = 1e-2;

impl ModalStepper {
    pub fn new(
        body: &Body,
        modes: Arc<Modes>,
        settings: &Settings,
    ) -> Result<Self, SimulationError> {
        let damping = Damping::Proportional {
            mass: settings.mass_damping,
            stiffness: settings.stiffness_damping,
        };
        let pose = Pose::rest(body.skeleton().len());
        let zero = || vec![Vec3::zeros(); body.nodes()];
        Ok(Self {
            damping: damping.coefficients(modes.eigenvalues())?,
            oscillators: None,
            state: State::zero(modes.len()),
            next: State::zero(modes.len()),
            velocities: zero(),
            weight: zero(),
            places: zero(),
            poses: BonePoses::new(body.skeleton(), &pose)?,
            pose,
            modes,
        })
    }

    /// Velocities of T(x) at `s`, by differences that do not leave the frame.
    fn velocity(
        &mut self,
        body: &Body,
        motion: &FrameMotion,
        s: f64,
        part: f64,
        step: f64,
    ) -> Result<Vec<Vec3>, SimulationError> {
        let d = INSTANT * part;
        let time = INSTANT * step;
        // Within the frame a central difference, at its ends a one-sided one of the same order.
        let weights: [(f64, f64); 3] = if s - d < 0.0 {
            [(0.0, -1.5), (d, 2.0), (2.0 * d, -0.5)]
        } else if s + d > 1.0 {
            [(0.0, 1.5), (-d, -2.0), (-2.0 * d, 0.5)]
        } else {
            [(-d, -0.5), (d, 0.5), (0.0, 0.0)]
        };
        let origin = &mut self.places;
        let mut sums = vec![Vec3::zeros(); body.nodes()];
        for (i, (offset, weight)) in weights.into_iter().enumerate() {
            if weight == 0.0 {
                continue;
            }
            motion.write(s + offset, &mut self.pose);
            self.poses.set(body.skeleton(), &self.pose)?;
            for (v, sum) in sums.iter_mut().enumerate() {
                let x = body.lattice().vertices()[v];
                let p = place(body, &self.poses, &self.pose, v, x);
                // Differences of differences keep the digits of characters far from the origin.
                if i == 0 {
                    origin[v] = p;
                } else {
                    *sum += (p - origin[v]) * (weight / time);
                }
            }
        }
        Ok(sums)
    }
}

impl Stepper for ModalStepper {
    /// In balance with its loads when `settled`, else undeformed.
    fn reset(&mut self, start: &Start, _nodes: &mut NodalState) -> Result<(), SimulationError> {
        self.state = State::zero(self.modes.len());
        self.velocities.fill(Vec3::zeros());
        if start.settled {
            let (now, load) = (start.skinned, start.load);
            self.weight.fill(Vec3::zeros());
            load.add_net_weight(start.body, now, &mut self.weight);
            let still = vec![Vec3::zeros(); now.places.len()];
            let force = |q: &[f64]| modal_force(&self.modes, q, now, load, &self.weight, &still);
            // Where there is none the motion begins with the nearest.
            self.state.q = balance(self.modes.eigenvalues(), &self.state.q, force)?.q;
        }
        Ok(())
    }

    fn begin(
        &mut self,
        body: &Body,
        motion: &FrameMotion,
        part: f64,
        step: f64,
    ) -> Result<(), SimulationError> {
        self.velocities = self.velocity(body, motion, 0.0, part, step)?;
        Ok(())
    }

    fn step(&mut self, step: &Step, _nodes: &mut NodalState) -> Result<(), SimulationError> {
        let (body, h, load) = (step.body, step.duration, &step.load);
        let after = self.velocity(body, step.motion, step.end, step.part, h)?;
        let ends = self.velocities.iter().zip(&after);
        let accelerations: Vec<Vec3> = ends.map(|(a, b)| (b - a) / h).collect();
        if self.oscillators.as_ref().is_none_or(|o| o.step() != h) {
            let eigenvalues = self.modes.eigenvalues();
            let made = Oscillators::new(Integrator::Exact, h, eigenvalues, &self.damping)?;
            self.oscillators = Some(made);
        }
        let Some(oscillators) = &self.oscillators else {
            return Ok(());
        };
        let (modes, weight) = (&self.modes, &mut self.weight);
        weight.fill(Vec3::zeros());
        load.add_net_weight(body, step.from, weight);
        let start = modal_force(
            modes,
            &self.state.q,
            step.from,
            load,
            weight,
            &accelerations,
        );
        oscillators.advance(&self.state, (&start, &start), &mut self.next);
        weight.fill(Vec3::zeros());
        load.add_net_weight(body, step.to, weight);
        let end = modal_force(modes, &self.next.q, step.to, load, weight, &accelerations);
        oscillators.advance(&self.state, (&start, &end), &mut self.next);
        if !self.next.is_finite() {
            return Err(ModalError::NonFinite.into());
        }
        self.velocities = after;
        std::mem::swap(&mut self.state, &mut self.next);
        Ok(())
    }

    fn show(&self, body: &Body, now: &SkinnedLattice, pose: &Pose, nodes: &mut NodalState) {
        let (q, rate) = (&self.state.q, &self.state.v);
        for v in 0..body.nodes() {
            let x = body.lattice().vertices()[v];
            let (u, w) = (self.modes.displacement(q, v), self.modes.rotation(q, v));
            let turn = mean_rotation(&w);
            nodes.positions[v] = now.place(body, pose, v, x + turn * u);
            let (du, dw) = (
                self.modes.displacement(rate, v),
                self.modes.rotation(rate, v),
            );
            let relative = turn * du + mean_rotation_derivative(&w, &u) * dw;
            nodes.velocities[v] = self.velocities[v] + now.turns[v] * relative;
        }
    }

    fn modal(&self) -> Option<(&Arc<Modes>, &[f64])> {
        Some((&self.modes, &self.state.q))
    }

    fn is_relative(&self) -> bool {
        true
    }

    fn save(&self, _nodes: &NodalState, state: &mut Writer) {
        let amplitudes = self.state.q.iter().chain(&self.state.v);
        state.numbers(AMPLITUDES, amplitudes.copied());
        state.vectors(SKIN_VELOCITIES, &self.velocities);
    }

    fn restore(
        &mut self,
        nodes: &mut NodalState,
        mut state: Sections,
    ) -> Result<(), SimulationError> {
        let count = self.modes.len();
        let amplitudes = state.exactly(AMPLITUDES, 2 * count)?;
        let velocities = state.vectors(SKIN_VELOCITIES, nodes.positions.len())?;
        state.finish()?;
        self.state.q.copy_from_slice(&amplitudes[..count]);
        self.state.v.copy_from_slice(&amplitudes[count..]);
        self.velocities = velocities;
        Ok(())
    }
}

/// The right-hand side of the modes' equation at amplitudes `q`.
fn modal_force(
    modes: &Modes,
    q: &[f64],
    skinned: &SkinnedLattice,
    load: &Load,
    weight: &[Vec3],
    accelerations: &[Vec3],
) -> Vec<f64> {
    let mut sum = vec![0.0; modes.len()];
    let at = |v: usize| {
        let turn = &skinned.turns[v];
        let force = weight[v] + load.forces.map_or(Vec3::zeros(), |f| f[v]);
        (Some(turn.tr_mul(&force)), -turn.tr_mul(&accelerations[v]))
    };
    modes.add_modal_force(q, true, at, &mut sum);
    sum
}
