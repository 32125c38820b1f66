// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flesh in balance at a pose, and what it does under the forces of a correction.
//!
//! Corrections are those of linear flesh, which the warped method is. Other methods respond otherwise to the same forces. There the wish takes
//! up what the balance misses, `d ← d + (d₀ − E u)`, in a few rounds; each costs a balance and a factorisation.

use super::error::SurfaceFitError;
use super::settings::SurfaceFitSettings;
use super::smoothness::SmoothCorrection;
use crate::Vec3;
use crate::body::Body;
use crate::dynamics::{Equilibrium, Method};
use crate::progress::{Progress, report_progress};
use crate::rig::sculpted::correction::{CorrectionSystem, SkinGoal};
use crate::skeleton::Pose;
use std::sync::Arc;

/// Rounds of compensation. On a bump of 2 cm on an arm the second leaves hardly more than the fourth.
const ROUNDS: usize = 3;

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

    /// Returns the wish with which the flesh comes nearest to a goal, and sets its correction.
    pub fn compensated_goal(
        &mut self,
        system: &mut CorrectionSystem,
        goal: &SkinGoal,
        correction: &mut SmoothCorrection,
        progress: &dyn Progress,
    ) -> Result<SkinGoal, SurfaceFitError> {
        let mut best = goal.clone();
        if self.settings.method == Method::Warped {
            return Ok(best);
        }
        let embedding = self.balance.body().embedding().clone();
        let mut nearest = f64::INFINITY;
        let (mut wish, mut u) = (goal.clone(), correction.u.clone());
        for round in 0..=ROUNDS {
            report_progress(progress, 0.5, "following the flesh")?;
            let moved = self.response(system, u.clone(), progress)?;
            let left = goal.distance(&embedding, &moved);
            if left >= nearest {
                break;
            }
            (nearest, best, correction.u) = (left, wish.clone(), u);
            if round == ROUNDS {
                break;
            }
            for (v, offset) in wish.offsets.iter_mut().enumerate() {
                *offset += goal.offsets[v] - embedding.position(v, &moved);
            }
            system.set_goal(&wish);
            u = system.solve(correction.smoothness)?;
        }
        Ok(best)
    }
}
