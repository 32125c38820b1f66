// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fewest keys within a tolerance, or the least error of a given number of keys.
//!
//! Singular vectors give a first number. Weighted sweeps reach the tolerance with about six tenths of it. The search begins a little above,
//! where success is quick, and narrows the gap between the fewest keys that reached it and the most that did not. All limits count work, not time, so that results
//! are the same on any machine.

use super::offsets::Offsets;
use super::products::orthonormal_columns;
use super::singular::Singular;
use super::sweep::{PairWeights, SweepKind, Swept, sweep};
use crate::bake::BakeError;
use crate::progress::{Cancelled, Progress};

/// Part of the number of singular vectors at which the search begins: characters need 0.53 to 0.65 of it.
const FIRST_PART: f64 = 0.66;

/// The least error falls to 1/e with this part of the singular vectors that reach the tolerance: measured 2.9 to 3.3.
const KEYS_PER_E_FOLD: f32 = 3.0;

/// Number of sweeps without progress after which an attempt is given up.
const PATIENCE: usize = 10;

/// Most sweeps of an attempt.
const MAX_SWEEPS: usize = 120;

/// Most multiplications of a search. At this limit it takes about 6 s on two cores; half of it costs characters of ten clips one or
/// two more keys, and twice as much saves one at most.
const MAX_WORK: f64 = 1.2e11;

/// Part of the least error yet that sweeps of a given number of keys aim at.
const LOWERED_AIM: f32 = 0.92;

/// Part of the least error yet below which a sweep made progress.
const WORTHWHILE: f32 = 0.998;

/// Curves times keys.
#[derive(Clone)]
pub(super) struct Factors {
    /// Orthonormal curves `[F, K]`.
    pub curves: Vec<f32>,
    /// Keys `[K, m, 3]` of the m vertices of the offsets.
    pub keys: Vec<f32>,
    /// K.
    pub count: usize,
    /// Largest error as it is seen, m.
    pub max_error: f32,
}

/// Limits of a search by the fewest keys.
pub(super) struct Wanted {
    /// Largest error, m; `None`: as small as `most` keys allow.
    pub tolerance: Option<f32>,
    /// Largest number of keys.
    pub most: Option<usize>,
}

/// Finds factors of `offsets`.
pub(super) fn find_factors(
    offsets: &Offsets<'_>,
    wanted: &Wanted,
    progress: &dyn Progress,
) -> Result<Factors, BakeError> {
    if offsets.vertices().is_empty() {
        return Ok(Factors {
            curves: Vec::new(),
            keys: Vec::new(),
            count: 0,
            max_error: 0.0,
        });
    }
    let singular = Singular::new(offsets).ok_or(BakeError::NoKeys)?;
    let mut search = Search {
        offsets,
        singular,
        progress,
        work: 0.0,
        most_work: MAX_WORK,
    };
    let most = wanted.most.unwrap_or(usize::MAX).min(offsets.frame_count());
    let Some(tolerance) = wanted.tolerance else {
        return search.least_error(most, 0.0);
    };
    let found = search.fewest_keys(tolerance, most)?;
    match found.max_error <= tolerance || wanted.most.is_none() {
        true => Ok(found),
        false => {
            search.work = 0.0;
            search.least_error(most, tolerance)
        }
    }
}

struct Search<'a> {
    offsets: &'a Offsets<'a>,
    singular: Singular,
    progress: &'a dyn Progress,
    work: f64,
    most_work: f64,
}

impl Search<'_> {
    fn fewest_keys(&mut self, tolerance: f32, most: usize) -> Result<Factors, BakeError> {
        let mut reached = self.fewest_singular_vectors(tolerance, most)?;
        let first = reached.count;
        if reached.max_error > tolerance {
            return Ok(reached);
        }
        let (mut missed, step) = (0, (first / 14).max(1));
        let mut probe = ((first as f64 * FIRST_PART).ceil() as usize).clamp(1, first);
        while probe > missed && probe < reached.count && self.work < self.most_work {
            let found = self.least_error(probe, tolerance)?;
            let (error, gap) = (found.max_error, first as f32 / KEYS_PER_E_FOLD);
            if error <= tolerance {
                reached = found;
                probe = (reached.count.saturating_sub(step)).max(missed.midpoint(reached.count));
            } else {
                missed = probe;
                let more = ((error / tolerance).ln() * gap).round() as usize;
                probe = (missed + more.max(1)).min(missed.midpoint(reached.count).max(missed + 1));
            }
        }
        Ok(reached)
    }

    /// Returns the fewest singular vectors that reach the tolerance, or `most` of them.
    fn fewest_singular_vectors(
        &mut self,
        tolerance: f32,
        most: usize,
    ) -> Result<Factors, BakeError> {
        let (mut missed, mut count) = (0, 4.min(most));
        let mut reached = self.measure(count)?;
        while reached.max_error > tolerance && count < most {
            (missed, count) = (count, (2 * count).min(most));
            reached = self.measure(count)?;
        }
        while missed + 1 < reached.count && reached.max_error <= tolerance {
            let fewer = self.measure(missed.midpoint(reached.count))?;
            match fewer.max_error <= tolerance {
                true => reached = fewer,
                false => missed = fewer.count,
            }
        }
        Ok(reached)
    }

    /// Fits keys to the first `count` singular vectors.
    fn measure(&mut self, count: usize) -> Result<Factors, BakeError> {
        let mut weights = PairWeights::ones(self.offsets);
        let curves = orthonormal_columns(&self.singular.curves(count), count);
        let swept = self.sweep(&curves, count, &mut weights, SweepKind::Measure)?;
        Ok(into_factors(curves, swept, count))
    }

    /// Returns the factors of `count` keys with the least error that sweeps find, or the first within `enough` (m).
    fn least_error(&mut self, count: usize, enough: f32) -> Result<Factors, BakeError> {
        let mut weights = PairWeights::ones(self.offsets);
        let mut least = self.measure(count)?;
        let mut curves = least.curves.clone();
        let mut idle = 0;
        for _ in 0..MAX_SWEEPS {
            let done = least.max_error <= enough || least.max_error == 0.0;
            if done || idle >= PATIENCE || self.work >= self.most_work {
                break;
            }
            let aim = LOWERED_AIM * least.max_error;
            let kind = SweepKind::Refine { aim };
            let swept = self.sweep(&curves, count, &mut weights, kind)?;
            let next = orthonormal_columns(&swept.curves, count);
            idle += 1;
            if swept.max_error < least.max_error {
                if swept.max_error < WORTHWHILE * least.max_error {
                    idle = 0;
                }
                least = into_factors(curves, swept, count);
            }
            curves = next;
        }
        Ok(least)
    }

    fn sweep(
        &mut self,
        curves: &[f32],
        count: usize,
        weights: &mut PairWeights,
        kind: SweepKind,
    ) -> Result<Swept, BakeError> {
        let fraction = (self.work / self.most_work).min(1.0);
        if !self.progress.report(fraction, "Fitting keys") {
            return Err(Cancelled.into());
        }
        let columns = 3 * self.offsets.vertices().len();
        self.work += 3.0 * (curves.len() * columns) as f64 + (weights.len() * count * count) as f64;
        Ok(sweep(self.offsets, curves, count, weights, kind))
    }
}

/// Joins the keys of chunks.
fn into_factors(curves: Vec<f32>, swept: Swept, count: usize) -> Factors {
    let total: usize = swept.keys.iter().map(Vec::len).sum();
    let mut keys = Vec::with_capacity(total);
    for k in 0..count {
        for chunk in &swept.keys {
            let width = chunk.len() / count;
            keys.extend_from_slice(&chunk[k * width..][..width]);
        }
    }
    Factors {
        curves,
        keys,
        count,
        max_error: swept.max_error,
    }
}
