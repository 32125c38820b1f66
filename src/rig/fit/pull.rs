// SPDX-License-Identifier: MIT OR Apache-2.0
//! Minimisation of the cost C of one fit by rounds of L-BFGS-B.

use super::RigFitError;
use super::fitted::{RigFitResult, Sensitivities};
use super::folding_limit::FoldingLimit;
use super::options::{FitAttempt, ResolvedOptions};
use crate::Vec3;
use crate::body::Body;
use crate::progress::{Cancelled, PacedProgress, report_progress};
use crate::rig::Rig;
use crate::solve::lbfgsb::{Evaluation, Lbfgsb, Minimum};
use nalgebra::{DMatrix, DVector};
use std::cell::Cell;
use std::sync::Arc;

/// Most rounds of a minimisation, which is repeated while its result needs another level or range of strengths.
const MAX_ROUNDS: usize = 6;
/// Rounds before radii are kept within the quadrature's level.
const FREE_LEVEL_ROUNDS: usize = 3;
/// Length of the first step, in typical changes of placement.
const FIRST_STEP: f64 = 1.0;
/// Largest ratio of cost at which another local minimum, or a step back, is accepted.
const MAX_COST_RATIO: f64 = 0.99;
/// Most halvings of a round's path that ends beyond what flesh bears.
const MAX_HALVINGS: usize = 4;
/// Factor on the radii of a rig that would fold flesh, repeated while the cost falls.
const WIDENING_FACTOR: f64 = 1.4;
/// Most repetitions of the factor on the radii.
const MAX_WIDENINGS: usize = 6;
/// Most points of flesh at which one fit integrates forces: seconds, or a quarter of a minute if all of them are new.
/// Fits of templates as thick as limbs take three million; those of thin rings, which need fine voxels all around,
/// would go on for minutes. With half of it, fits of rings eight times as wide as thick end early; with twice, thin
/// ones take half a minute.
pub(super) const MAX_POINTS: f64 = 1e7;
/// Distance of a met point from its target, as a part of the body's size.
const MET_TOLERANCE: f64 = 1e-5;
/// Displacement of points per typical change of a parameter, as a part of the body's size, up to which the parameter
/// has no effect.
const EFFECT_TOLERANCE: f64 = 1e-12;

/// A pulled point.
pub(super) struct PulledPoint {
    pub target: Vec3,
    /// Position without the rig, metres.
    pub free: Vec3,
    pub sensitivities: Arc<Sensitivities>,
}

/// C and its derivatives at one η.
pub(super) struct CostEvaluation {
    pub local: Evaluation,
    /// Largest displacement of any point along an axis by each parameter, m per unit.
    pub moves: Vec<f64>,
}

/// C of one fit.
pub(super) struct FitProblem<'a> {
    pub body: &'a Body,
    pub rig: &'a Rig,
    pub held: Vec<PulledPoint>,
    pub resolved: &'a ResolvedOptions,
    pub progress: PacedProgress<'a>,
    /// Set once the progress cancels; nothing is evaluated afterwards.
    pub stopped: Cell<bool>,
    /// Points of flesh at which forces have been integrated.
    pub spent: Cell<f64>,
    /// Largest number of points; evaluation then stops, and the best result counts.
    pub budget: f64,
}

impl FitProblem<'_> {
    /// Returns the parameters that bring the points nearest to their targets without folding flesh.
    pub fn fit(
        &self,
        limit: &mut FoldingLimit<'_>,
        evaluations: Option<usize>,
    ) -> Result<RigFitResult, RigFitError> {
        let found = self.fit_from_level(limit, evaluations);
        // The minimiser treats an evaluation that was cancelled as out of bounds.
        match self.stopped.get() {
            true => Err(Cancelled.into()),
            false => found,
        }
    }

    fn fit_from_level(
        &self,
        limit: &mut FoldingLimit<'_>,
        evaluations: Option<usize>,
    ) -> Result<RigFitResult, RigFitError> {
        let resolved = self.resolved;
        let level = self.rig.level(self.body, &resolved.start)?;
        let away = self.remaining_distance(&resolved.start, level)?;
        let mut start = resolved.start.clone();
        limit.clamp_strength(resolved, &mut start)?;
        let first = self.evaluate(&start, level)?;
        self.check_effect(&first.moves)?;
        let mut best = match evaluations {
            Some(most) => self.update_once(limit, first.local, &start, level, most)?,
            None => self.descend_from_starts(limit, first.local, &start, level)?,
        };
        let level = self.rig.level(self.body, &best.parameters)?;
        let left = self.remaining_distance(&best.parameters, level)?;
        best.reached = match left * left <= self.met_cost() {
            true => 1.0,
            false => (1.0 - left / away).max(0.0),
        };
        best.folding = limit.is_at_limit(resolved, &best.parameters)?;
        Ok(best)
    }

    /// Returns the lowest of the local minima reached from several starts.
    fn descend_from_starts(
        &self,
        limit: &mut FoldingLimit<'_>,
        here: Evaluation,
        start: &[f64],
        level: u32,
    ) -> Result<RigFitResult, RigFitError> {
        let mut best = self.descend(limit, here, start, level, FIRST_STEP)?;
        for attempt in FitAttempt::RETRIES {
            if best.cost <= self.met_cost() {
                break;
            }
            let mut start = self.resolved.attempt_start(&attempt);
            // The template may leave the flesh, or the torus lose its hole.
            let Ok(level) = self.rig.level(self.body, &start) else {
                continue;
            };
            if limit.clamp_strength(self.resolved, &mut start).is_err() {
                continue;
            }
            let Ok(CostEvaluation { local, .. }) = self.evaluate(&start, level) else {
                continue;
            };
            let found = self.descend(limit, local, &start, level, attempt.first_step)?;
            best.evaluations += found.evaluations;
            // Another local minimum has to be clearly better.
            if found.cost < MAX_COST_RATIO * best.cost {
                (best.cost, best.parameters) = (found.cost, found.parameters);
            }
        }
        self.widen(limit, &mut best)?;
        Ok(best)
    }

    /// Tries wider templates, which strain flesh less, if flesh would fold before the points are met.
    fn widen(
        &self,
        limit: &mut FoldingLimit<'_>,
        best: &mut RigFitResult,
    ) -> Result<(), RigFitError> {
        for _ in 0..MAX_WIDENINGS {
            if best.cost <= self.met_cost()
                || !limit.is_at_limit(self.resolved, &best.parameters)?
            {
                break;
            }
            let mut start = self.resolved.widen_radii(&best.parameters, WIDENING_FACTOR);
            if start == best.parameters || limit.clamp_strength(self.resolved, &mut start).is_err()
            {
                break;
            }
            let Ok(level) = self.rig.level(self.body, &start) else {
                break;
            };
            let Ok(CostEvaluation { local, .. }) = self.evaluate(&start, level) else {
                break;
            };
            let found = self.descend(limit, local, &start, level, FIRST_STEP)?;
            best.evaluations += found.evaluations;
            if found.cost >= MAX_COST_RATIO * best.cost {
                break;
            }
            (best.cost, best.parameters) = (found.cost, found.parameters);
        }
        Ok(())
    }

    /// Returns the distance of the points from their targets: the root of the sum of squares, m.
    fn remaining_distance(&self, eta: &[f64], level: u32) -> Result<f64, RigFitError> {
        let forces = self.rig.forces_at_level(self.body, eta, level)?;
        let miss = |held: &PulledPoint| {
            let axes = held.sensitivities.iter().enumerate();
            axes.map(|(axis, sensitivity)| {
                (held.free[axis] - held.target[axis] + displacement_by_forces(sensitivity, &forces))
                    .powi(2)
            })
            .sum::<f64>()
        };
        Ok(self.held.iter().map(miss).sum::<f64>().sqrt())
    }

    /// Returns C (m²), its derivative by η and its Gauss-Newton Hessian at a level of the quadrature.
    pub fn evaluate(&self, eta: &[f64], level: u32) -> Result<CostEvaluation, RigFitError> {
        let spent = self.spent.get();
        let share = (spent / MAX_POINTS).min(1.0);
        if self.stopped.get() || report_progress(&self.progress, share, "fitting").is_err() {
            self.stopped.set(true);
            return Err(Cancelled.into());
        }
        if spent > self.budget {
            return Err(Cancelled.into());
        }
        self.spent
            .set(spent + self.rig.point_count_at_level(self.body, eta, level)?);
        let (forces, slopes) = self.rig.tangents_at_level(self.body, eta, level)?;
        let n = eta.len();
        let (mut value, mut gradient) = (0.0, vec![0.0; n]);
        let mut curvature = DMatrix::zeros(n, n);
        let mut most = vec![0.0_f64; n];
        for held in &self.held {
            for (axis, sensitivity) in held.sensitivities.iter().enumerate() {
                let miss = held.free[axis] - held.target[axis]
                    + displacement_by_forces(sensitivity, &forces);
                let moves: Vec<f64> = slopes
                    .iter()
                    .map(|s| displacement_by_forces(sensitivity, s))
                    .collect();
                value += miss * miss;
                for ((g, most), m) in gradient.iter_mut().zip(&mut most).zip(&moves) {
                    *g += 2.0 * miss * m;
                    *most = most.max(m.abs());
                }
                let moves = DVector::from_vec(moves);
                curvature.ger(2.0, &moves, &moves, 1.0);
            }
        }
        let ResolvedOptions {
            preferred, weights, ..
        } = self.resolved;
        for k in 0..n {
            let off = eta[k] - preferred[k];
            value += weights[k] * off * off;
            gradient[k] += 2.0 * weights[k] * off;
            curvature[(k, k)] += 2.0 * weights[k];
        }
        let local = Evaluation {
            value,
            gradient,
            curvature: Some(curvature),
        };
        Ok(CostEvaluation { local, moves: most })
    }

    /// Refuses points that no free parameter moves.
    fn check_effect(&self, moves: &[f64]) -> Result<(), RigFitError> {
        let resolved = self.resolved;
        let still = EFFECT_TOLERANCE * self.body.size();
        let mut each = moves.iter().zip(&resolved.scales).zip(&resolved.bounds);
        let any = each.any(|((m, scale), (lower, upper))| lower < upper && m * scale > still);
        if any || resolved.is_all_fixed() {
            return Ok(());
        }
        Err(RigFitError::NoEffect {
            rig: self.rig.name().to_owned(),
        })
    }

    /// Runs one update while the mouse moves: a single round from the start; the next one adapts the level and the
    /// strengths.
    fn update_once(
        &self,
        limit: &mut FoldingLimit<'_>,
        here: Evaluation,
        start: &[f64],
        level: u32,
        most: usize,
    ) -> Result<RigFitResult, RigFitError> {
        let mut bounds = self.resolved.round_bounds(start);
        self.resolved.limit_to_update(&mut bounds, start);
        limit.narrow_bounds(self.resolved, &mut bounds, start)?;
        let found = self.minimise(start, here, level, &bounds, (FIRST_STEP, most))?;
        let mut fitted =
            RigFitResult::new(found.x, found.value / self.unit_factor(), found.evaluations);
        if limit.clamp_strength(self.resolved, &mut fitted.parameters)? {
            fitted.cost = self.evaluate(&fitted.parameters, level)?.local.value;
            fitted.evaluations += 1;
        }
        Ok(fitted)
    }

    /// Returns the minimum downhill from a start, at the level and within the strengths that belong to the minimum.
    fn descend(
        &self,
        limit: &mut FoldingLimit<'_>,
        mut here: Evaluation,
        start: &[f64],
        mut level: u32,
        first_step: f64,
    ) -> Result<RigFitResult, RigFitError> {
        let mut best = RigFitResult::new(start.to_vec(), here.value, 1);
        for round in 0..MAX_ROUNDS {
            let mut bounds = self.resolved.round_bounds(&best.parameters);
            if round >= FREE_LEVEL_ROUNDS {
                let radii = self.rig.level_radii(self.body, level);
                self.resolved.limit_radius(&mut bounds, radii);
            }
            let strengths = limit.narrow_bounds(self.resolved, &mut bounds, &best.parameters)?;
            let limits = (first_step, usize::MAX);
            let found = self.minimise(&best.parameters, here, level, &bounds, limits)?;
            best.evaluations += found.evaluations.saturating_sub(1);
            let mut x = found.x;
            let lowered = limit.clamp_strength(self.resolved, &mut x)?;
            if lowered && !self.step_back(limit, &mut x, &mut best, level)? {
                break;
            }
            let wanted = self.rig.level(self.body, &x)?;
            let stopped = self.resolved.ended_at_round_bound(&x, &bounds)
                || lowered
                || limit.has_wider_range(self.resolved, &x, strengths)?;
            if wanted == level && !stopped {
                (best.cost, best.parameters) = (found.value / self.unit_factor(), x);
                break;
            }
            let Ok(CostEvaluation { local, .. }) = self.evaluate(&x, wanted) else {
                break;
            };
            best.evaluations += 1;
            // A result that does not lower the cost at its own level owed its gain to the quadrature.
            if local.value >= best.cost {
                break;
            }
            (level, best.cost, best.parameters) = (wanted, local.value, x);
            here = local;
        }
        Ok(best)
    }

    /// Moves `x` back towards the start of the round until the cost, with the strength limited to what flesh bears,
    /// is lower than before; returns whether it is.
    fn step_back(
        &self,
        limit: &mut FoldingLimit<'_>,
        x: &mut Vec<f64>,
        best: &mut RigFitResult,
        level: u32,
    ) -> Result<bool, RigFitError> {
        let end = x.clone();
        let mut part = 1.0;
        for _ in 0..MAX_HALVINGS {
            let between = best.parameters.iter().zip(&end);
            *x = between.map(|(a, b)| a + part * (b - a)).collect();
            // On the path the template may leave the flesh.
            if limit.clamp_strength(self.resolved, x).is_ok()
                && let Ok(CostEvaluation { local, .. }) = self.evaluate(x, level)
            {
                best.evaluations += 1;
                if local.value < MAX_COST_RATIO * best.cost {
                    return Ok(true);
                }
            }
            part *= 0.5;
        }
        Ok(false)
    }

    /// Returns the value of C at which all points count as met, m².
    fn met_cost(&self) -> f64 {
        MET_TOLERANCE * MET_TOLERANCE * self.held.len() as f64 / self.unit_factor()
    }

    /// Returns the factor to units in which the body's size is one, 1/m².
    fn unit_factor(&self) -> f64 {
        1.0 / self.body.size().powi(2)
    }

    /// Returns the minimum of C at a level, in units in which the body's size is one, from a start that has been
    /// evaluated.
    fn minimise(
        &self,
        start: &[f64],
        here: Evaluation,
        level: u32,
        bounds: &[(f64, f64)],
        (first_step, evaluations): (f64, usize),
    ) -> Result<Minimum, RigFitError> {
        let unit = self.unit_factor();
        let settings = Lbfgsb {
            iterations: 200,
            evaluations,
            first_step,
            gradient: 1e-12,
            decrease: 1e-6,
            patience: 5,
            enough: self.met_cost() * unit,
            ..Lbfgsb::default()
        };
        let mut known = Some(here);
        // `None` if the template leaves the flesh; the start lies in it.
        let mut function = |eta: &[f64]| {
            let known = known.take().filter(|_| eta == start);
            let mut local = match known {
                Some(known) => known,
                None => self.evaluate(eta, level).ok()?.local,
            };
            local.value *= unit;
            local.gradient.iter_mut().for_each(|g| *g *= unit);
            local.curvature = local.curvature.map(|c| c * unit);
            Some(local)
        };
        let scales = self.resolved.first_steps();
        Ok(settings.minimise(start, &scales, bounds, &mut function)?)
    }
}

/// Returns the displacement of a point by forces, along the axis of its sensitivity, m.
pub(super) fn displacement_by_forces(sensitivity: &[Vec3], forces: &[Vec3]) -> f64 {
    sensitivity.iter().zip(forces).map(|(l, f)| l.dot(f)).sum()
}
