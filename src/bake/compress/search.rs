// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fewest keys within a tolerance, or the least error of a given number of keys.
//!
//! Singular vectors give a first number. Weighted sweeps reach the tolerance with about half of it. The search begins a little above,
//! where success is quick, and narrows the gap between the fewest keys that reached it and the most that did not. All limits count
//! work, not time, so that results are the same on any machine.

use super::core::sum_of_grams;
use super::fit::{Effort, Fit, Problem};
use super::offsets::Offsets;
use super::products::orthonormal_columns;
use super::singular::Singular;
use super::sweep::plain_keys;
use crate::bake::BakeError;
use crate::progress::Progress;

/// Part of the number of singular vectors at which the search begins: characters need 0.4 to 0.6 of it, rarely 0.77.
const FIRST_PART: f64 = 0.55;

/// Part of the number of singular vectors by which the search descends after a success: half of it takes more attempts, twice as much
/// ends in attempts that fail, which cost most.
const DESCENT: usize = 14;

/// The least error falls to 1/e with this part of the singular vectors that reach the tolerance: measured 2.9 to 3.3.
const KEYS_PER_E_FOLD: f32 = 3.0;

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
    let mut search = Search::new(offsets, progress)?;
    let most = wanted.most.unwrap_or(usize::MAX).min(offsets.frame_count());
    let found = match wanted.tolerance {
        None => search.fit(most, 0.0, Effort::Steady)?,
        Some(tolerance) => {
            let found = search.fewest_keys(tolerance, most)?;
            search.fewer_by_patience(found, tolerance)?
        }
    };
    Ok(search.factors(&found))
}

struct Search<'a> {
    problem: Problem<'a>,
    singular: Singular,
}

impl<'a> Search<'a> {
    fn new(offsets: &'a Offsets<'a>, progress: &'a dyn Progress) -> Result<Self, BakeError> {
        let blocks = offsets.blocks(offsets.vertices(), false);
        let gram = sum_of_grams(&blocks, offsets.frame_count());
        let singular = Singular::new(&gram, offsets.frame_count()).ok_or(BakeError::NoKeys)?;
        Ok(Self {
            problem: Problem::new(offsets, blocks, gram, progress),
            singular,
        })
    }

    fn fewest_keys(&mut self, tolerance: f32, most: usize) -> Result<Fit, BakeError> {
        let first = self.fewest_singular_vectors(tolerance, most)?;
        let gap = first as f32 / KEYS_PER_E_FOLD;
        let mut reached: Option<Fit> = None;
        let (mut missed, step) = (0_usize, (first / DESCENT).max(1));
        let mut probe = ((first as f64 * FIRST_PART).ceil() as usize).clamp(1, most);
        let effort = |count: usize| match count < most {
            true => Effort::Hasty,
            false => Effort::Steady,
        };
        loop {
            let found = self.fit(probe, tolerance, effort(probe))?;
            if found.max_error <= tolerance {
                probe = (probe.saturating_sub(step)).max(missed.midpoint(probe));
                reached = Some(found);
            } else if probe == most {
                return Ok(reached.unwrap_or(found));
            } else {
                let more = ((found.max_error / tolerance).ln() * gap).round() as usize;
                missed = probe;
                let middle = reached
                    .as_ref()
                    .map_or(most, |fit| missed.midpoint(fit.count));
                probe = (missed + more.max(1)).min(middle.max(missed + 1));
            }
            if let Some(fit) = &reached
                && (probe <= missed || probe >= fit.count || self.problem.is_exhausted())
            {
                return Ok(fit.clone());
            }
        }
    }

    /// Returns fits of fewer and fewer keys while patient ones come within the tolerance and little work was done.
    fn fewer_by_patience(&mut self, mut fit: Fit, tolerance: f32) -> Result<Fit, BakeError> {
        while fit.count > 1 && fit.max_error <= tolerance && self.problem.is_fresh() {
            let fewer = self.fit(fit.count - 1, tolerance, Effort::Patient)?;
            if fewer.max_error > tolerance {
                break;
            }
            fit = fewer;
        }
        Ok(fit)
    }

    /// Fits `count` keys, beginning with singular vectors.
    fn fit(&mut self, count: usize, enough: f32, effort: Effort) -> Result<Fit, BakeError> {
        let curves = orthonormal_columns(&self.singular.curves(count), count);
        self.problem.fit(curves, count, enough, effort)
    }

    /// Returns how many singular vectors reach the tolerance, at most `most`.
    fn fewest_singular_vectors(&mut self, tolerance: f32, most: usize) -> Result<usize, BakeError> {
        let mut reaches = |count: usize| -> Result<bool, BakeError> {
            let curves = self.singular.curves(count);
            let errors = self.problem.plain_errors(&curves, count, tolerance)?;
            Ok(errors.into_iter().all(|error| error <= tolerance))
        };
        let (mut missed, mut reached) = (0_usize, 4.min(most));
        while reached < most && !reaches(reached)? {
            (missed, reached) = (reached, (2 * reached).min(most));
        }
        while missed + 1 < reached {
            let middle = missed.midpoint(reached);
            match reaches(middle)? {
                true => reached = middle,
                false => missed = middle,
            }
        }
        Ok(reached)
    }

    /// Returns curves and keys of all vertices.
    fn factors(&self, fit: &Fit) -> Factors {
        let (count, vertices) = (fit.count, self.problem.offsets.vertices());
        let mut keys = vec![0.0; count * 3 * vertices.len()];
        let mut write = |some: &[u32], from: &[f32]| {
            let w = some.len();
            for (j, v) in some.iter().enumerate() {
                let at = vertices.partition_point(|x| x < v);
                for d in 0..3 {
                    let key = &from[(d * w + j) * count..][..count];
                    for (k, x) in key.iter().enumerate() {
                        keys[(k * vertices.len() + at) * 3 + d] = *x;
                    }
                }
            }
        };
        for block in &self.problem.blocks {
            write(&block.vertices, &plain_keys(block, &fit.curves, count));
        }
        for (some, keys) in &fit.core_keys {
            write(some, keys);
        }
        Factors {
            curves: fit.curves.clone(),
            keys,
            count,
            max_error: fit.max_error,
        }
    }
}
