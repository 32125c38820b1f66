// SPDX-License-Identifier: MIT OR Apache-2.0
//! The smoothness of a correction, found by itself: the largest that leaves hardly more distance than the lattice must.
//!
//! The distance left grows with η from the *bound*, the distance that the lattice cannot show, at η → 0. log η is bisected between
//! [`LEAST`] and 1, one factorisation a step.

use crate::Vec3;
use crate::lattice::Embedding;
use crate::rig::sculpted::correction::{CorrectionSystem, SkinGoal};
use crate::solve::SolveError;

/// Smoothness at which the distance left counts as the bound. At a tenth it is lower by less than 0.002 of the start.
const LEAST: f64 = 1e-6;
/// Distance left above the bound, as a share of that at the start.
const MAX_EXCESS: f64 = 0.01;
/// Bisections of the six decades of η: to a factor of 1.6.
const BISECTIONS: usize = 5;

/// A correction of the skin, with its smoothness.
pub(super) struct SmoothCorrection {
    /// Displacements beyond the balance, `[nodes]`, m.
    pub u: Vec<Vec3>,
    /// η.
    pub smoothness: f64,
    /// Distance that the lattice cannot show, m.
    pub bound: f64,
}

/// Returns the correction of a given smoothness towards a goal, or of the one found.
///
/// # Errors
/// A system that is singular.
pub(super) fn smooth_correction(
    system: &mut CorrectionSystem,
    embedding: &Embedding,
    goal: &SkinGoal,
    given: Option<f64>,
) -> Result<SmoothCorrection, SolveError> {
    system.set_goal(goal);
    let u = system.solve(LEAST)?;
    let bound = goal.distance(embedding, &u);
    if let Some(smoothness) = given {
        let u = system.solve(smoothness)?;
        return Ok(SmoothCorrection {
            bound: bound.min(goal.distance(embedding, &u)),
            u,
            smoothness,
        });
    }
    let allowed = bound + MAX_EXCESS * goal.mean(|v| goal.offsets[v]);
    let (mut lower, mut upper) = (LEAST.log10(), 0.0);
    let mut best = SmoothCorrection {
        u,
        smoothness: LEAST,
        bound,
    };
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (lower + upper);
        let smoothness = 10.0_f64.powf(middle);
        let u = system.solve(smoothness)?;
        if goal.distance(embedding, &u) <= allowed {
            (best.u, best.smoothness, lower) = (u, smoothness, middle);
        } else {
            upper = middle;
        }
    }
    Ok(best)
}
