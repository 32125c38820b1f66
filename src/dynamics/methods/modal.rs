// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modal warping on a moving skeleton. [choi2003, §4]
//!
//! The modes have the bones' vertices fixed, in the rest frame. R_sk and T are the skeleton's blended rotation and map, a
//! the acceleration of T(x) at all nodes, bones included, and R_w the warp rotation exp [Ψq]ₓ:
//!
//! `q̈ + (ξ + ζΛ) q̇ + Λq = Φᵀ R_wᵀ R_skᵀ (F + f_g) − (MΦ)ᵀ R_wᵀ R_skᵀ a`, `p = T(x + R̃(Ψq) Φq)`.
//!
//! a is the mean over a step: the difference of the velocities of T(x) at the step's ends along the bones' C¹ motion, so
//! that frame ends give no impulse. `f_g` is gravity less that held up by the sculpt, by cells as in the other methods
//! ([`Load::add_net_weight`]): it turns with the skeleton, not with the warp. Amplitudes and their damping are relative to the
//! skeleton.
//!
//! Neglected: the inertial forces of the turning frames on u itself (Coriolis, Euler and centrifugal forces of the
//! flesh's own displacement); changes of the twist energy as bones turn, as its pull is that of the rest pose, except for bones with
//! a [twist of their own](crate::body::OwnTwist), whose pull is part of F; and the strain of the skinned shape itself at a bend, which other methods even out.

use crate::Vec3;
use crate::body::Body;
use crate::dynamics::forces::Load;
use crate::dynamics::methods::stepper::{NodalState, ResetInput, Step, Stepper};
use crate::dynamics::sections::{SectionKind, SectionReader, SectionWriter};
use crate::dynamics::skinned::{SkinnedLattice, carried_position};
use crate::dynamics::{SimulationError, SimulationSettings};
use crate::geometry::rotation_vector::{mean_rotation, mean_rotation_derivative};
use crate::modal::{Damping, Integrator, ModalError, ModalState, Modes, Oscillators, balance};
use crate::skeleton::{BonePoses, FrameMotion, Pose};
use std::sync::Arc;

/// Stepper of the modal method.
pub(in crate::dynamics) struct ModalStepper {
    modes: Arc<Modes>,
    damping: Vec<f64>,
    oscillators: Option<Oscillators>,
    state: ModalState,
    next: ModalState,
    /// Present velocities of T(x), `[nodes]`, m/s.
    velocities: Vec<Vec3>,
    /// Scratch: f_g at one instant, N, and positions, metres, both `[nodes]`.
    weight: Vec<Vec3>,
    places: Vec<Vec3>,
    poses: BonePoses,
    pose: Pose,
}

/// Section of the amplitudes, then their velocities.
pub(in crate::dynamics) const AMPLITUDES: SectionKind =
    SectionKind::required("modal amplitudes", 1);
/// Section of the velocities of T(x).
pub(in crate::dynamics) const SKIN_VELOCITIES: SectionKind =
    SectionKind::required("skin velocities", 1);

/// Offset of the finite differences for velocities, as a share of a step. Their error falls with its square, to 1e-4.
const DIFFERENCE_OFFSET: f64 = 1e-2;

impl ModalStepper {
    pub fn new(
        body: &Body,
        modes: Arc<Modes>,
        settings: &SimulationSettings,
    ) -> Result<Self, SimulationError> {
        let (mass, stiffness) = settings.damping();
        let damping = Damping::Proportional { mass, stiffness };
        let pose = Pose::rest(body.skeleton().len());
        let zero = || vec![Vec3::zeros(); body.node_count()];
        Ok(Self {
            damping: damping.coefficients(modes.eigenvalues())?,
            oscillators: None,
            state: ModalState::zero(modes.len()),
            next: ModalState::zero(modes.len()),
            velocities: zero(),
            weight: zero(),
            places: zero(),
            poses: BonePoses::new(body.skeleton(), &pose)?,
            pose,
            modes,
        })
    }

    /// Computes the velocities of T(x) at the share `s` of a frame, by differences that stay within the frame.
    fn velocity(
        &mut self,
        body: &Body,
        motion: &FrameMotion,
        s: f64,
        part: f64,
        step: f64,
    ) -> Result<Vec<Vec3>, SimulationError> {
        let d = DIFFERENCE_OFFSET * part;
        let time = DIFFERENCE_OFFSET * step;
        // A central difference within the frame, a one-sided one of the same order at its ends.
        let weights: [(f64, f64); 3] = if s - d < 0.0 {
            [(0.0, -1.5), (d, 2.0), (2.0 * d, -0.5)]
        } else if s + d > 1.0 {
            [(0.0, 1.5), (-d, -2.0), (-2.0 * d, 0.5)]
        } else {
            [(-d, -0.5), (d, 0.5), (0.0, 0.0)]
        };
        let origin = &mut self.places;
        let mut sums = vec![Vec3::zeros(); body.node_count()];
        for (i, (offset, weight)) in weights.into_iter().enumerate() {
            if weight == 0.0 {
                continue;
            }
            motion.write(s + offset, &mut self.pose);
            self.poses.set(body.skeleton(), &self.pose)?;
            for (v, sum) in sums.iter_mut().enumerate() {
                let x = body.rest_shape()[v];
                let p = carried_position(body, &self.poses, &self.pose, v, x);
                // Differences from the first position keep the digits of characters far from the origin.
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
    /// Starts in balance with the loads if `settled`, else undeformed.
    fn reset(
        &mut self,
        start: &ResetInput,
        _nodes: &mut NodalState,
    ) -> Result<(), SimulationError> {
        self.state = ModalState::zero(self.modes.len());
        self.velocities.fill(Vec3::zeros());
        if start.settled {
            let (now, load) = (start.skinned, start.load);
            self.weight.fill(Vec3::zeros());
            load.add_net_weight(start.body, now, &mut self.weight);
            let still = vec![Vec3::zeros(); now.places.len()];
            let force = |q: &[f64]| modal_force(&self.modes, q, now, load, &self.weight, &still);
            // Without a balance the motion starts at the nearest state found.
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
        for v in 0..body.node_count() {
            let x = body.rest_shape()[v];
            let (u, w) = (self.modes.displacement(q, v), self.modes.rotation(q, v));
            let turn = mean_rotation(&w);
            nodes.positions[v] = now.carried_position(body, pose, v, x + turn * u);
            let (du, dw) = (
                self.modes.displacement(rate, v),
                self.modes.rotation(rate, v),
            );
            let relative = turn * du + mean_rotation_derivative(&w, &u) * dw;
            nodes.velocities[v] = self.velocities[v] + now.turns[v] * relative;
        }
    }

    fn modal_amplitudes(&self) -> Option<(&Arc<Modes>, &[f64])> {
        Some((&self.modes, &self.state.q))
    }

    fn is_relative(&self) -> bool {
        true
    }

    fn save(&self, _nodes: &NodalState, state: &mut SectionWriter) {
        let amplitudes = self.state.q.iter().chain(&self.state.v);
        state.add_numbers(AMPLITUDES, amplitudes.copied());
        state.add_vectors(SKIN_VELOCITIES, &self.velocities);
    }

    fn restore(
        &mut self,
        nodes: &mut NodalState,
        mut state: SectionReader,
    ) -> Result<(), SimulationError> {
        let count = self.modes.len();
        let amplitudes = state.take_required_numbers(AMPLITUDES, 2 * count)?;
        let velocities = state.take_vectors(SKIN_VELOCITIES, nodes.positions.len())?;
        state.finish()?;
        self.state.q.copy_from_slice(&amplitudes[..count]);
        self.state.v.copy_from_slice(&amplitudes[count..]);
        self.velocities = velocities;
        Ok(())
    }
}

/// Returns the right-hand side of the modes' equation at amplitudes `q`.
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
