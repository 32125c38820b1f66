// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sweeps of a given number of keys, until all errors are within a limit or sweeps no longer lower them.
//!
//! Sweeps visit the core alone. Vertices outside are measured from time to time and before a fit counts; those whose error comes near
//! the limit join the core. Each sweep aims below the least error yet. A low aim makes quick progress and ends early, so the aim
//! rises when progress ends, and sweeps go on from the best fit.

use super::blocks::Block;
use super::core::Core;
use super::offsets::Offsets;
use super::products::orthonormal_columns;
use super::sweep::{fit_curves, fit_keys, plain_errors};
use crate::bake::BakeError;
use crate::progress::{Cancelled, Progress};

/// Number of sweeps without progress after which the aim rises, or the fit ends.
const PATIENCE: usize = 8;

/// The same number for patient fits.
const LONG_PATIENCE: usize = 14;

/// Most sweeps of a fit.
const MAX_SWEEPS: usize = 160;

/// Most multiplications of a search. At this limit it takes about 5 s on two cores; characters of ten clips need a third to all of it.
const MAX_WORK: f64 = 1.2e11;

/// Work up to which a search may go on with patient fits: about 2 s on two cores.
const FRESH_WORK: f64 = 6e10;

/// Part of the least error yet that sweeps aim at first. At 0.92 fits need 1.6 times the sweeps, and characters one or two keys more;
/// at 0.75 fits end early.
const LOWERED_AIM: f32 = 0.85;

/// The same part for patient fits.
const PATIENT_AIM: f32 = 0.92;

/// Part of the way from the aim to the least error that remains when the aim rises.
const RISE: f32 = 0.7;

/// Number of times that the aim rises.
const RISES: usize = 3;

/// Fits whose error is beyond the limit by such factors when the aim rises for the first, second and third time have never reached
/// the limit.
const HOPELESS: [f32; RISES] = [1.3, 1.15, 1.08];

/// Part of the least error yet below which a sweep made progress.
const WORTHWHILE: f32 = 0.998;

/// Vertices join the core when their error exceeds this part of the limit. With less the core has more vertices whose weights stay 1;
/// above 1 fits fail at vertices outside.
const CORE_PART: f32 = 0.9;

/// The same part of the largest error, where errors shall be as small as possible.
const LARGEST_PART: f32 = 0.6;

/// Sweeps after which vertices outside the core are measured.
const CHECK_INTERVAL: usize = 12;

/// How long sweeps go on for a fit within the limit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// Until it is unlikely.
    Hasty,
    /// While errors become smaller.
    Steady,
    /// The same in smaller steps, and through sweeps that raise the error for a while: it finds other minima.
    Patient,
}

impl Effort {
    /// Returns the number of sweeps without progress after which the aim rises, or the fit ends.
    fn patience(self) -> usize {
        match self {
            Self::Hasty | Self::Steady => PATIENCE,
            Self::Patient => LONG_PATIENCE,
        }
    }

    /// Returns the part of the least error yet that sweeps aim at first.
    fn aim(self) -> f32 {
        match self {
            Self::Hasty | Self::Steady => LOWERED_AIM,
            Self::Patient => PATIENT_AIM,
        }
    }
}

/// A fit of some number of keys.
#[derive(Clone)]
pub(super) struct Fit {
    /// K.
    pub count: usize,
    /// Orthonormal curves `[F, K]`.
    pub curves: Vec<f32>,
    /// Vertices of the blocks of the core, and their keys `[3, w, K]`. All other vertices have those for weights of 1.
    pub core_keys: Vec<(Vec<u32>, Vec<f32>)>,
    /// Weights of the core after the fit.
    extra: Vec<Vec<f32>>,
    /// Largest error as it is seen, m.
    pub max_error: f32,
}

/// The offsets to fit, and the state of all fits to them.
pub(super) struct Problem<'a> {
    pub offsets: &'a Offsets<'a>,
    /// All vertices.
    pub blocks: Vec<Block>,
    core: Core,
    /// Sum of `x xᵀ` over all vertices, `[F, F]`.
    gram: Vec<f64>,
    /// Whether each vertex of the blocks is in the core.
    in_core: Vec<bool>,
    progress: &'a dyn Progress,
    /// Number of multiplications until now.
    work: f64,
}

/// How far below the least error sweeps aim, and for how long.
struct Pace {
    lowered: f32,
    rises: usize,
    idle: usize,
}

impl Pace {
    /// Lets the aim rise. Returns false if it did so often enough.
    fn rise(&mut self) -> bool {
        self.lowered = 1.0 - (1.0 - self.lowered) * RISE;
        self.rises += 1;
        self.idle = 0;
        self.rises <= RISES
    }
}

impl<'a> Problem<'a> {
    /// Prepares fits to `blocks`, whose sum of `x xᵀ` is `gram` `[F, F]`.
    pub(super) fn new(
        offsets: &'a Offsets<'a>,
        blocks: Vec<Block>,
        gram: Vec<f64>,
        progress: &'a dyn Progress,
    ) -> Self {
        Self {
            offsets,
            in_core: vec![false; offsets.vertices().len()],
            blocks,
            core: Core::new(&gram),
            gram,
            progress,
            work: 0.0,
        }
    }

    /// Returns whether a search has used its work.
    pub(super) fn is_exhausted(&self) -> bool {
        self.work >= MAX_WORK
    }

    /// Returns whether a search has used so little work that patience is affordable.
    pub(super) fn is_fresh(&self) -> bool {
        self.work <= FRESH_WORK
    }

    /// Fits `count` keys, beginning with orthonormal `curves`, until all errors are within `enough` (m) or as small as sweeps make
    /// them.
    pub(super) fn fit(
        &mut self,
        mut curves: Vec<f32>,
        count: usize,
        enough: f32,
        effort: Effort,
    ) -> Result<Fit, BakeError> {
        self.core = Core::new(&self.gram);
        self.in_core.fill(false);
        self.admit(&curves, count, enough)?;
        let mut best = self.first_fit(&curves, count);
        let mut pace = Pace {
            lowered: effort.aim(),
            rises: 0,
            idle: 0,
        };
        for sweep in 1.. {
            let last = sweep >= MAX_SWEEPS || self.is_exhausted();
            let aim = pace.lowered * best.max_error;
            let error = self.sweep_keys(&curves, count, aim)?;
            pace.idle += 1;
            if error < best.max_error || sweep == 1 {
                if error < WORTHWHILE * best.max_error {
                    pace.idle = 0;
                }
                best = self.current_fit(&curves, count, error);
            }
            if best.max_error <= enough || best.max_error == 0.0 || last {
                let outside = self.admit(&best.curves, count, enough)?;
                if last || outside <= best.max_error.max(enough) {
                    best.max_error = best.max_error.max(outside);
                    return Ok(best);
                }
                curves = std::mem::take(&mut best.curves);
                best = self.first_fit(&curves, count);
                continue;
            }
            if pace.idle >= effort.patience() {
                let hopeless = HOPELESS
                    .get(pace.rises)
                    .is_none_or(|h| best.max_error > h * enough);
                if (effort == Effort::Hasty && hopeless) || !pace.rise() {
                    let outside = self.admit(&best.curves, count, enough)?;
                    best.max_error = best.max_error.max(outside);
                    return Ok(best);
                }
                if effort != Effort::Patient {
                    self.core.set_extra(&best.extra);
                    curves.clone_from(&best.curves);
                    continue;
                }
            }
            curves = orthonormal_columns(&fit_curves(&self.core, &curves, count), count);
            if sweep % CHECK_INTERVAL == 0 && self.admit(&curves, count, enough)? > best.max_error {
                best = self.first_fit(&curves, count);
                pace.idle = 0;
            }
        }
        Ok(best)
    }

    /// Returns the fit for weights of 1, with its error on the core, and without keys.
    fn first_fit(&self, curves: &[f32], count: usize) -> Fit {
        let errors = plain_errors(self.offsets, &self.core.blocks, curves, count, 0.0);
        Fit {
            count,
            curves: curves.to_vec(),
            core_keys: Vec::new(),
            extra: self.core.extra.clone(),
            max_error: errors.into_iter().fold(0.0, f32::max),
        }
    }

    fn current_fit(&self, curves: &[f32], count: usize, max_error: f32) -> Fit {
        Fit {
            count,
            curves: curves.to_vec(),
            core_keys: self.core.keyed_vertices(),
            extra: self.core.extra.clone(),
            max_error,
        }
    }

    /// Fits keys of the core to curves and updates weights. Returns the largest error of the core.
    fn sweep_keys(&mut self, curves: &[f32], count: usize, aim: f32) -> Result<f32, BakeError> {
        self.report()?;
        let error = fit_keys(self.offsets, &mut self.core, curves, count, aim);
        self.work += 3.0 * (curves.len() * 3 * self.core.len()) as f64
            + 3.0 * (self.core.heavy_pairs * count * count) as f64;
        Ok(error)
    }

    /// Returns the largest error of each vertex, with keys for weights of 1; errors below `enough` are not exact.
    pub(super) fn plain_errors(
        &mut self,
        curves: &[f32],
        count: usize,
        enough: f32,
    ) -> Result<Vec<f32>, BakeError> {
        self.report()?;
        self.work += 2.0 * (curves.len() * 3 * self.in_core.len()) as f64;
        let blocks = &self.blocks;
        Ok(plain_errors(self.offsets, blocks, curves, count, enough))
    }

    /// Takes vertices into the core whose error with keys for weights of 1 is not far below `enough`, or below the largest if that
    /// is 0. Returns the largest error of those that were outside.
    fn admit(&mut self, curves: &[f32], count: usize, enough: f32) -> Result<f32, BakeError> {
        let errors = self.plain_errors(curves, count, CORE_PART * enough)?;
        let largest = errors.iter().copied().fold(0.0, f32::max);
        let from = match enough > 0.0 {
            true => CORE_PART * enough,
            false => LARGEST_PART * largest,
        };
        let (mut new, mut outside) = (Vec::new(), 0.0_f32);
        for (i, error) in errors
            .into_iter()
            .enumerate()
            .filter(|(i, _)| !self.in_core[*i])
        {
            outside = outside.max(error);
            if error > from {
                new.push(i);
            }
        }
        for &i in &new {
            self.in_core[i] = true;
        }
        let vertices: Vec<u32> = new.iter().map(|&i| self.offsets.vertices()[i]).collect();
        self.core.add(self.offsets, &vertices);
        Ok(outside)
    }

    fn report(&self) -> Result<(), BakeError> {
        let fraction = (self.work / MAX_WORK).min(1.0);
        match self.progress.report(fraction, "Fitting keys") {
            true => Ok(()),
            false => Err(Cancelled.into()),
        }
    }
}
