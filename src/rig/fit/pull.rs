// SPDX-License-Identifier: MIT OR Apache-2.0
//! Minimisation of the cost C of one fit by rounds of L-BFGS-B.

use super::FitError;
use super::fitted::{Fitted, Sensitivities};
use super::options::{Attempt, ResolvedOptions};
use super::whole::Whole;
use crate::Vec3;
use crate::body::Body;
use crate::progress::{Cancelled, Paced, step};
use crate::rig::Rig;
use crate::solve::lbfgsb::{Lbfgsb, Local, Minimum};
use nalgebra::{DMatrix, DVector};
use std::cell::Cell;
use std::sync::Arc;

/// Most rounds of a minimisation, which is repeated while its result needs another level or range of strengths, and
/// rounds before radii are kept within the quadrature's level.
const ROUNDS: usize = 6;
const FREE_ROUNDS: usize = 3;
/// Length of the first step, in typical changes of placement.
const CAUTIOUS: f64 = 1.0;
/// Largest ratio of cost at which another local minimum, or a step back, is accepted.
const WORTH: f64 = 0.99;
/// Most halvings of a round's path that ends beyond what flesh bears.
const HALVINGS: usize = 4;
/// Factor on the radii of a rig that would fold flesh, repeated while the cost falls, and most repetitions.
const WIDER: f64 = 1.4;
const WIDENINGS: usize = 6;
/// Most points of flesh at which one fit integrates forces: seconds, or a quarter of a minute if all of them are new.
/// Fits of templates as thick as limbs take three million; those of thin rings, which need fine voxels all around,
/// would go on for minutes. With half of it, fits of rings eight times as wide as thick end early; with twice, thin
/// ones take half a minute.
pub(super) const MAX_POINTS: f64 = 1e7;
/// Distance of a met point from its target, as a part of the body's size.
const MET: f64 = 1e-5;
/// Displacement of points per typical change of a parameter, as a part of the body's size, up to which the parameter
/// has no effect.
const STILL: f64 = 1e-12;

/// A pulled point.
pub(super) struct Held {
    pub target: Vec3,
    /// Position without the rig, metres.
    pub free: Vec3,
    pub sensitivities: Arc<Sensitivities>,
}

/// C and its derivatives at one η.
pub(super) struct View {
    pub local: Local,
    /// Largest displacement of any point along an axis by each parameter, m per unit.
    pub moves: Vec<f64>,
}

/// C of one fit.
pub(super) struct Pull<'a> {
    pub body: &'a Body,
    pub rig: &'a Rig,
    pub held: Vec<Held>,
    pub resolved: &'a ResolvedOptions,
    pub progress: Paced<'a>,
    /// Set once the progress cancels; nothing is evaluated afterwards.
    pub stopped: Cell<bool>,
    /// Points of flesh at which forces have been integrated.
    pub spent: Cell<f64>,
    /// Largest number of points; evaluation then stops, and the best result counts.
    pub budget: f64,
}

impl Pull<'_> {
    /// Returns the parameters that bring the points nearest to their targets without folding flesh.
    pub fn fit(
        &self,
        whole: &mut Whole<'_>,
        evaluations: Option<usize>,
    ) -> Result<Fitted, FitError> {
        let found = self.fit_on(whole, evaluations);
        // The minimiser treats an evaluation that was cancelled as out of bounds.
        match self.stopped.get() {
            true => Err(Cancelled.into()),
            false => found,
        }
    }

    fn fit_on(
        &self,
        whole: &mut Whole<'_>,
        evaluations: Option<usize>,
    ) -> Result<Fitted, FitError> {
        let resolved = self.resolved;
        let level = self.rig.level(self.body, &resolved.start)?;
        let away = self.missed(&resolved.start, level)?;
        let mut start = resolved.start.clone();
        whole.keep(resolved, &mut start)?;
        let first = self.look(&start, level)?;
        self.check_effect(&first.moves)?;
        let mut best = match evaluations {
            Some(most) => self.follow(whole, first.local, &start, level, most)?,
            None => self.descend_anywhere(whole, first.local, &start, level)?,
        };
        let level = self.rig.level(self.body, &best.parameters)?;
        let left = self.missed(&best.parameters, level)?;
        best.reached = match left * left <= self.enough() {
            true => 1.0,
            false => (1.0 - left / away).max(0.0),
        };
        best.folding = whole.is_at_edge(resolved, &best.parameters)?;
        Ok(best)
    }

    /// Returns the lowest of the local minima reached from several starts.
    fn descend_anywhere(
        &self,
        whole: &mut Whole<'_>,
        here: Local,
        start: &[f64],
        level: u32,
    ) -> Result<Fitted, FitError> {
        let mut best = self.descend(whole, here, start, level, CAUTIOUS)?;
        for attempt in Attempt::OTHERS {
            if best.cost <= self.enough() {
                break;
            }
            let mut start = self.resolved.start_of(&attempt);
            // The template may leave the flesh, or the torus lose its hole.
            let Ok(level) = self.rig.level(self.body, &start) else {
                continue;
            };
            if whole.keep(self.resolved, &mut start).is_err() {
                continue;
            }
            let Ok(View { local, .. }) = self.look(&start, level) else {
                continue;
            };
            let found = self.descend(whole, local, &start, level, attempt.first_step)?;
            best.evaluations += found.evaluations;
            // Another local minimum has to be clearly better.
            if found.cost < WORTH * best.cost {
                (best.cost, best.parameters) = (found.cost, found.parameters);
            }
        }
        self.widen(whole, &mut best)?;
        Ok(best)
    }

    /// Tries wider templates, which strain flesh less, if flesh would fold before the points are met.
    fn widen(&self, whole: &mut Whole<'_>, best: &mut Fitted) -> Result<(), FitError> {
        for _ in 0..WIDENINGS {
            if best.cost <= self.enough() || !whole.is_at_edge(self.resolved, &best.parameters)? {
                break;
            }
            let mut start = self.resolved.widened(&best.parameters, WIDER);
            if start == best.parameters || whole.keep(self.resolved, &mut start).is_err() {
                break;
            }
            let Ok(level) = self.rig.level(self.body, &start) else {
                break;
            };
            let Ok(View { local, .. }) = self.look(&start, level) else {
                break;
            };
            let found = self.descend(whole, local, &start, level, CAUTIOUS)?;
            best.evaluations += found.evaluations;
            if found.cost >= WORTH * best.cost {
                break;
            }
            (best.cost, best.parameters) = (found.cost, found.parameters);
        }
        Ok(())
    }

    /// Returns the distance of the points from their targets: the root of the sum of squares, m.
    fn missed(&self, eta: &[f64], level: u32) -> Result<f64, FitError> {
        let forces = self.rig.forces_at_level(self.body, eta, level)?;
        let miss = |held: &Held| {
            let axes = held.sensitivities.iter().enumerate();
            axes.map(|(axis, sensitivity)| {
                (held.free[axis] - held.target[axis] + work(sensitivity, &forces)).powi(2)
            })
            .sum::<f64>()
        };
        Ok(self.held.iter().map(miss).sum::<f64>().sqrt())
    }

    /// Returns C (m²), its derivative by η and its Gauss-Newton Hessian at a level of the quadrature.
    pub fn look(&self, eta: &[f64], level: u32) -> Result<View, FitError> {
        let spent = self.spent.get();
        let share = (spent / MAX_POINTS).min(1.0);
        if self.stopped.get() || step(&self.progress, share, "fitting").is_err() {
            self.stopped.set(true);
            return Err(Cancelled.into());
        }
        if spent > self.budget {
            return Err(Cancelled.into());
        }
        self.spent
            .set(spent + self.rig.points_at_level(self.body, eta, level)?);
        let (forces, slopes) = self.rig.tangents_at_level(self.body, eta, level)?;
        let n = eta.len();
        let (mut value, mut gradient) = (0.0, vec![0.0; n]);
        let mut curvature = DMatrix::zeros(n, n);
        let mut most = vec![0.0_f64; n];
        for held in &self.held {
            for (axis, sensitivity) in held.sensitivities.iter().enumerate() {
                let miss = held.free[axis] - held.target[axis] + work(sensitivity, &forces);
                let moves: Vec<f64> = slopes.iter().map(|s| work(sensitivity, s)).collect();
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
        let local = Local {
            value,
            gradient,
            curvature: Some(curvature),
        };
        Ok(View { local, moves: most })
    }

    /// Refuses points that no free parameter moves.
    fn check_effect(&self, moves: &[f64]) -> Result<(), FitError> {
        let resolved = self.resolved;
        let still = STILL * self.body.size();
        let mut each = moves.iter().zip(&resolved.scales).zip(&resolved.bounds);
        let any = each.any(|((m, scale), (lower, upper))| lower < upper && m * scale > still);
        if any || resolved.all_fixed() {
            return Ok(());
        }
        Err(FitError::NoEffect {
            rig: self.rig.name().to_owned(),
        })
    }

    /// Runs one update while the mouse moves: a single round from the start; the next one adapts the level and the
    /// strengths.
    fn follow(
        &self,
        whole: &mut Whole<'_>,
        here: Local,
        start: &[f64],
        level: u32,
        most: usize,
    ) -> Result<Fitted, FitError> {
        let mut bounds = self.resolved.bounds_around(start);
        self.resolved.keep_near(&mut bounds, start);
        whole.narrow(self.resolved, &mut bounds, start)?;
        let found = self.minimise(start, here, level, &bounds, (CAUTIOUS, most))?;
        let mut fitted = Fitted::new(found.x, found.value / self.unit(), found.evaluations);
        if whole.keep(self.resolved, &mut fitted.parameters)? {
            fitted.cost = self.look(&fitted.parameters, level)?.local.value;
            fitted.evaluations += 1;
        }
        Ok(fitted)
    }

    /// Returns the minimum downhill from a start, at the level and within the strengths that belong to the minimum.
    fn descend(
        &self,
        whole: &mut Whole<'_>,
        mut here: Local,
        start: &[f64],
        mut level: u32,
        first_step: f64,
    ) -> Result<Fitted, FitError> {
        let mut best = Fitted::new(start.to_vec(), here.value, 1);
        for round in 0..ROUNDS {
            let mut bounds = self.resolved.bounds_around(&best.parameters);
            if round >= FREE_ROUNDS {
                let radii = self.rig.radii_at(self.body, level);
                self.resolved.keep_radii(&mut bounds, radii);
            }
            let strengths = whole.narrow(self.resolved, &mut bounds, &best.parameters)?;
            let limits = (first_step, usize::MAX);
            let found = self.minimise(&best.parameters, here, level, &bounds, limits)?;
            best.evaluations += found.evaluations.saturating_sub(1);
            let mut x = found.x;
            let lowered = whole.keep(self.resolved, &mut x)?;
            if lowered && !self.come_back(whole, &mut x, &mut best, level)? {
                break;
            }
            let wanted = self.rig.level(self.body, &x)?;
            let stopped = self.resolved.is_stopped(&x, &bounds)
                || lowered
                || whole.is_freed(self.resolved, &x, strengths)?;
            if wanted == level && !stopped {
                (best.cost, best.parameters) = (found.value / self.unit(), x);
                break;
            }
            let Ok(View { local, .. }) = self.look(&x, wanted) else {
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
    fn come_back(
        &self,
        whole: &mut Whole<'_>,
        x: &mut Vec<f64>,
        best: &mut Fitted,
        level: u32,
    ) -> Result<bool, FitError> {
        let end = x.clone();
        let mut part = 1.0;
        for _ in 0..HALVINGS {
            let between = best.parameters.iter().zip(&end);
            *x = between.map(|(a, b)| a + part * (b - a)).collect();
            // On the path the template may leave the flesh.
            if whole.keep(self.resolved, x).is_ok()
                && let Ok(View { local, .. }) = self.look(x, level)
            {
                best.evaluations += 1;
                if local.value < WORTH * best.cost {
                    return Ok(true);
                }
            }
            part *= 0.5;
        }
        Ok(false)
    }

    /// Returns the value of C at which all points count as met, m².
    fn enough(&self) -> f64 {
        MET * MET * self.held.len() as f64 / self.unit()
    }

    /// Returns the factor to units in which the body's size is one, 1/m².
    fn unit(&self) -> f64 {
        1.0 / self.body.size().powi(2)
    }

    /// Returns the minimum of C at a level, in units in which the body's size is one, from a start that has been
    /// evaluated.
    fn minimise(
        &self,
        start: &[f64],
        here: Local,
        level: u32,
        bounds: &[(f64, f64)],
        (first_step, evaluations): (f64, usize),
    ) -> Result<Minimum, FitError> {
        let unit = self.unit();
        let settings = Lbfgsb {
            iterations: 200,
            evaluations,
            first_step,
            gradient: 1e-12,
            decrease: 1e-6,
            patience: 5,
            enough: self.enough() * unit,
            ..Lbfgsb::default()
        };
        let mut known = Some(here);
        // `None` if the template leaves the flesh; the start lies in it.
        let mut function = |eta: &[f64]| {
            let known = known.take().filter(|_| eta == start);
            let mut local = match known {
                Some(known) => known,
                None => self.look(eta, level).ok()?.local,
            };
            local.value *= unit;
            local.gradient.iter_mut().for_each(|g| *g *= unit);
            local.curvature = local.curvature.map(|c| c * unit);
            Some(local)
        };
        let scales = self.resolved.reaches();
        Ok(settings.minimise(start, &scales, bounds, &mut function)?)
    }
}

/// Returns the displacement of a point by forces, along the axis of its sensitivity, m.
pub(super) fn work(sensitivity: &[Vec3], forces: &[Vec3]) -> f64 {
    sensitivity.iter().zip(forces).map(|(l, f)| l.dot(f)).sum()
}
