// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers added one by one to some vertices and frames, each where errors are largest.

use super::choice::Choice;
use super::emphasis::Emphasis;
use super::places::errors;
use super::problem::Problem;
use super::reach::reach;
use super::rig::Rig;
use super::seeding::{Nearness, local_motion, local_motion_of_share, neighbours};
use super::settings::HelperBonesSettings;
use super::transforms::fit_transforms;
use super::weights::{FixedSums, fit_weights};
use crate::bake::BakeError;
use crate::progress::{Progress, report_progress};

/// Power of errors in what new helpers are to lower: between the mean, for which 2 would do, and the largest.
const SCORE_POWER: i32 = 4;

/// Radius of the skin around a new helper, in units of the size, times the root of their number: the skin is shared among them. It
/// decides only where and how helpers begin. At half and at twice of it some errors are a third larger.
const RADIUS: f64 = 0.25;

/// Part of the radius in the second trial at a place: hardly more than one vertex, whose motion a helper can take whole.
const NARROW: f64 = 0.25;

/// Fits of weights and maps after a helper has joined.
const SWEEPS: usize = 2;

/// A helper stays if it lowers the score by this part.
const WORTHWHILE: f64 = 2e-3;

/// Own bones that are tried as the parent of a new helper, and their least weight at its place, as a part of the heaviest one's.
const MAX_PARENTS: usize = 2;
const MIN_PARENT: f64 = 0.3;

/// Trials in a row without a helper that stays, after which no more are tried.
const PATIENCE: usize = 12;

/// Helpers for some vertices and frames, and what they leave.
pub(super) struct Growth<'a> {
    problem: &'a Problem,
    sums: FixedSums,
    ones: Emphasis,
    settings: HelperBonesSettings,
    /// Radius of the skin around a new helper.
    radius: f64,
    /// Gaussian weights of this radius.
    nearness: Nearness,
    pub rig: Rig,
    errors: Vec<Vec<f32>>,
    /// Vertices at which a helper was of no use.
    hopeless: Vec<bool>,
}

impl<'a> Growth<'a> {
    /// Begins with a rig.
    pub(super) fn new(problem: &'a Problem, rig: Rig, settings: &HelperBonesSettings) -> Self {
        let radius = RADIUS / (settings.count as f64).sqrt();
        Self {
            sums: FixedSums::new(problem),
            ones: Emphasis::ones(problem),
            settings: *settings,
            radius,
            nearness: Nearness::new(problem, radius),
            errors: errors(problem, &rig),
            rig,
            hopeless: vec![false; problem.vertex_count()],
            problem,
        }
    }

    /// Removes the helpers of least use, one by one.
    pub(super) fn remove_helpers(&mut self, count: usize) {
        for _ in 0..count {
            let choices = self.choices(&self.rig, &self.all(), true);
            let mut losses = vec![0.0; self.rig.maps.len()];
            for (h, loss) in choices.iter().flat_map(|c| &c.losses) {
                losses[*h as usize] += loss;
            }
            let least = (0..losses.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b]));
            let Some(least) = least else { return };
            let mut rig = std::mem::take(&mut self.rig);
            rig.skins = choices.into_iter().map(|c| c.skin).collect();
            let holds = |v: &u32| {
                let helpers = &rig.skins[*v as usize].helpers;
                helpers.iter().any(|h| h.0 == least as u32)
            };
            let held: Vec<u32> = self.all().into_iter().filter(holds).collect();
            rig.remove(self.problem, least as u32, self.settings.plain_at_rest());
            self.refit(&mut rig, &held);
            self.rig = rig;
        }
        self.errors = errors(self.problem, &self.rig);
    }

    /// Adds helpers until there are as many as wanted, no vertex is farther from its place than `enough`, or none is of use.
    pub(super) fn add_helpers(
        &mut self,
        enough: f32,
        progress: &dyn Progress,
    ) -> Result<(), BakeError> {
        let (mut idle, count) = (0, self.settings.count);
        while self.rig.maps.len() < count && idle < PATIENCE && largest(&self.errors) > enough {
            let fraction = self.rig.maps.len() as f64 / count as f64;
            report_progress(progress, fraction, "Adding helper bones")?;
            idle = if self.try_helper() { 0 } else { idle + 1 };
        }
        Ok(())
    }

    /// Adds a helper where errors are largest, and returns whether it is of use; otherwise nothing changes but the list of such places.
    fn try_helper(&mut self) -> bool {
        let of_vertex = |v: usize| match self.hopeless[v] {
            true => 0.0,
            false => (self.errors.iter())
                .map(|e| f64::from(e[v]).powi(SCORE_POWER))
                .sum(),
        };
        let scores: Vec<f64> = (0..self.problem.vertex_count()).map(of_vertex).collect();
        let radius = self.radius;
        let place = self.nearness.worst_place(&scores);
        for radius in [radius, NARROW * radius] {
            let parents = self.possible_parents(place).into_iter();
            let trials = parents.map(|parent| self.trial(place, parent, radius));
            let least = trials.min_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((after, rig, errors)) = least
                && after <= (1.0 - WORTHWHILE) * score(&self.errors)
            {
                self.rig = rig;
                self.errors = errors;
                return true;
            }
        }
        for (v, weight) in neighbours(self.problem, place, radius) {
            self.hopeless[v] |= weight > 0.5;
        }
        false
    }

    /// Returns the own bones that may be the parent of a helper at a vertex. Without a plain skin to keep, parents follow from the fit.
    fn possible_parents(&self, place: usize) -> Vec<u32> {
        let (bones, weights) = self.problem.own.row(place);
        if !self.settings.plain_at_rest() {
            return vec![bones[0]];
        }
        let heavy = weights.iter().filter(|w| **w >= MIN_PARENT * weights[0]);
        bones[..heavy.count().min(MAX_PARENTS)].to_vec()
    }

    /// Returns the score, the rig and its errors with a helper that begins at a place; a score without end if no vertex takes it.
    fn trial(&self, place: usize, parent: u32, radius: f64) -> (f64, Rig, Vec<Vec<f32>>) {
        let mut rig = self.rig.clone();
        let plain = self.settings.plain_at_rest();
        let maps = match plain {
            true => local_motion_of_share(self.problem, place, radius, parent),
            false => local_motion(self.problem, place, radius),
        };
        rig.maps.push(maps);
        rig.parents.push(parent);
        let new = self.rig.maps.len() as u32;
        for _ in 0..SWEEPS {
            let near = reach(self.problem, &rig, new, plain);
            self.refit(&mut rig, &near);
        }
        let after = errors(self.problem, &rig);
        let mut skins = rig.skins.iter();
        let used = skins.any(|s| s.helpers.iter().any(|h| h.0 == new));
        (if used { score(&after) } else { f64::INFINITY }, rig, after)
    }

    /// Fits the weights of some vertices.
    fn choices(&self, rig: &Rig, vertices: &[u32], keep: bool) -> Vec<Choice> {
        let (problem, settings) = (self.problem, &self.settings);
        fit_weights(
            problem, &self.sums, rig, &self.ones, settings, vertices, keep,
        )
    }

    fn all(&self) -> Vec<u32> {
        (0..self.problem.vertex_count() as u32).collect()
    }

    /// Fits the weights of some vertices, then all maps.
    fn refit(&self, rig: &mut Rig, vertices: &[u32]) {
        let choices = self.choices(rig, vertices, false);
        for (&v, choice) in vertices.iter().zip(choices) {
            rig.skins[v as usize] = choice.skin;
        }
        fit_transforms(self.problem, rig, &self.ones);
    }
}

/// Returns the largest error.
pub(super) fn largest(errors: &[Vec<f32>]) -> f32 {
    errors.iter().flatten().copied().fold(0.0, f32::max)
}

fn score(errors: &[Vec<f32>]) -> f64 {
    let frame = |e: &Vec<f32>| -> f64 { e.iter().map(|e| f64::from(*e).powi(SCORE_POWER)).sum() };
    errors.iter().map(frame).sum()
}
