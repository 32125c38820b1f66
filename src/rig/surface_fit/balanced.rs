// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flesh in balance at a pose, and what it does under the forces of a correction.
//!
//! Corrections are those of linear flesh, which the warped method is. Other methods respond otherwise to the same forces. There the wish takes
//! up what the balance misses, `d ← d + σ (d₀ − E u)` from d = 0, in a few rounds; each costs a balance and a factorisation. σ is 1 at first, then
//! what would have been best along the way of the last round: flesh can overshoot where bones are bent and cells nearly flat, and give way
//! less where it is far strained. A round that brings the skin no nearer is undone.

use super::error::SurfaceFitError;
use super::settings::SurfaceFitSettings;
use super::smoothness::SmoothCorrection;
use crate::Vec3;
use crate::body::Body;
use crate::dynamics::{Equilibrium, Method, SimulationError};
use crate::progress::{Progress, report_progress};
use crate::rig::sculpted::correction::{CorrectionSystem, SkinGoal};
use crate::skeleton::Pose;
use std::sync::Arc;

/// Largest number of rounds.
const ROUNDS: usize = 8;
/// Largest factor of the share σ after a round that came no nearer.
const LESSENED: f64 = 0.5;
/// Least share σ after a round that came nearer.
const MIN_SHARE: f64 = 0.05;
/// Largest share σ: flesh that gives way less than linear flesh takes more than the whole.
const MAX_SHARE: f64 = 4.0;
/// Gain of a round, as a share of what it leaves, below which it is not worth its larger wish, and no other follows. On a bump of 2 cm on an
/// arm the second round leaves hardly more than the fourth.
const MIN_GAIN: f64 = 0.02;

/// A body in balance at a pose without the rig, with other rigs.
pub(super) struct BalancedFlesh<'a> {
    settings: &'a SurfaceFitSettings,
    balance: Equilibrium,
    /// Positions of the nodes, m.
    pub positions: Vec<Vec3>,
}

impl<'a> BalancedFlesh<'a> {
    pub fn new(
        body: &Arc<Body>,
        pose: &Pose,
        settings: &'a SurfaceFitSettings,
        progress: &dyn Progress,
    ) -> Result<Self, SurfaceFitError> {
        let mut balance = Equilibrium::new(body, settings.method)?;
        balance.set_pose(pose)?;
        let forces = (None, settings.rest_forces.as_deref());
        let q = balance.solve_with_progress(settings.gravity, forces, progress)?;
        Ok(Self {
            settings,
            positions: q
                .iter()
                .zip(body.rest_shape())
                .map(|(q, x)| q + x)
                .collect(),
            balance,
        })
    }

    /// Returns the displacements beyond the balance, `[nodes]`, m, that the forces of a correction `u[nodes]` cause.
    pub fn response(
        &mut self,
        system: &mut CorrectionSystem,
        u: Vec<Vec3>,
        progress: &dyn Progress,
    ) -> Result<Vec<Vec3>, SurfaceFitError> {
        if self.settings.method == Method::Warped {
            return Ok(u);
        }
        let mut forces = system.forces(&u);
        let others = self.settings.rest_forces.iter().flatten();
        forces.iter_mut().zip(others).for_each(|(sum, f)| *sum += f);
        let forces = (None, Some(&forces[..]));
        let q = self
            .balance
            .solve_with_progress(self.settings.gravity, forces, progress)?;
        let rest = self.balance.body().rest_shape();
        let places = q.iter().zip(rest).zip(&self.positions);
        Ok(places.map(|((q, x), p)| (q + x) - p).collect())
    }

    /// Returns the wish with which the flesh comes nearest to a goal, and sets its correction; `None` where it comes no nearer than it is
    /// without.
    pub fn compensated_goal(
        &mut self,
        system: &mut CorrectionSystem,
        goal: &SkinGoal,
        correction: &mut SmoothCorrection,
        progress: &dyn Progress,
    ) -> Result<Option<SkinGoal>, SurfaceFitError> {
        if self.settings.method == Method::Warped {
            return Ok(Some(goal.clone()));
        }
        let embedding = self.balance.body().embedding().clone();
        let still = vec![Vec3::zeros(); self.positions.len()];
        let nothing = SkinGoal {
            offsets: vec![Vec3::zeros(); goal.offsets.len()],
            ..goal.clone()
        };
        let whole = std::mem::replace(&mut correction.u, still.clone());
        let mut nearest = goal.distance(&embedding, &still);
        let (mut best, mut moved, mut share) = (None, still, 1.0);
        for round in 0..ROUNDS {
            report_progress(progress, 0.5, "following the flesh")?;
            let missed = |v: usize| goal.offsets[v] - embedding.position(v, &moved);
            let mut wish: SkinGoal = best.as_ref().unwrap_or(&nothing).clone();
            for (v, offset) in wish.offsets.iter_mut().enumerate() {
                *offset += missed(v) * share;
            }
            let u = if round == 0 {
                whole.clone()
            } else {
                system.set_goal(&wish);
                system.solve(correction.smoothness)?
            };
            let response = match self.response(system, u.clone(), progress) {
                Err(error) if !is_cancelled(&error) => {
                    share *= LESSENED; // such forces have no balance
                    continue;
                }
                response => response?,
            };
            let way = |v: usize| embedding.position(v, &response) - embedding.position(v, &moved);
            let reached =
                goal.sum(|v| missed(v).dot(&way(v))) / goal.sum(|v| way(v).norm_squared());
            let left = goal.distance(&embedding, &response);
            if left >= nearest || !reached.is_finite() {
                share *= if reached > 0.0 {
                    reached.clamp(0.2 * LESSENED, LESSENED)
                } else {
                    LESSENED
                };
                continue;
            }
            if best.is_some() && nearest - left < MIN_GAIN * left && share >= LESSENED {
                break;
            }
            (nearest, best, moved, correction.u) = (left, Some(wish), response, u);
            share = (share * reached).clamp(MIN_SHARE, MAX_SHARE);
        }
        Ok(best)
    }
}

/// Returns whether the caller cancelled.
fn is_cancelled(error: &SurfaceFitError) -> bool {
    matches!(
        error,
        SurfaceFitError::Cancelled(_) | SurfaceFitError::Simulation(SimulationError::Cancelled(_))
    )
}
