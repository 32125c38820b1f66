// SPDX-License-Identifier: MIT OR Apache-2.0
//! Few keys for all clips of a character: curves times keys that miss no vertex in any frame by more than a tolerance.
//!
//! Offsets of all clips, stacked as X `[F, 3n]`, become curves W `[F, K]` times keys P `[K, 3n]`. Singular vectors have the least mean
//! error, but what is seen is the largest. So errors are weighed: pairs of a frame and a vertex beyond the aim weigh more from sweep to
//! sweep, until none is left (an iteratively reweighted fit by alternating least squares, after Lawson's algorithm for minimax fits).
//! With all weights 0 the plain skin is shown. Deviations from the plain method: weights of pairs within the aim are 1 and cost
//! nothing, and errors are measured after the skeleton's maps.
//!
//! Cost: a sweep takes three products of `F · 3c · K` for a core of c vertices, those whose errors come near the tolerance; a search
//! some hundred sweeps. It can end above the fewest keys, as the problem has many local minima.
//!
//! | file | content |
//! | --- | --- |
//! | `offsets` | offsets of vertices, lengths as they are seen |
//! | `blocks` | offsets of some vertices in the layout of products |
//! | `singular` | first curves |
//! | `core` | vertices whose errors decide, and the sum over all others |
//! | `sweep` | keys by curves, weights by errors, curves by keys |
//! | `fit` | sweeps of a given number of keys |
//! | `search` | fewest keys within a tolerance, least error of a number of keys |
//! | `regions` | keys of parts of a mesh |
//! | `packed` | the result |
//! | `written` | scaled and rounded keys, and their errors |
//! | `products` | small and dense linear algebra |

mod blocks;
mod core;
mod fit;
mod offsets;
mod packed;
mod products;
mod regions;
mod search;
mod singular;
mod sweep;
#[cfg(test)]
mod tests;
mod written;

use super::{BakeError, VertexFrames, VertexMaps};
use crate::progress::{Progress, StageProgress};
use offsets::Offsets;
pub use packed::{Packed, Quantisation};
pub use regions::Regions;
use search::{Wanted, find_factors};
use written::Scaled;

/// Parts of the tolerance that fits are asked for, in turn until rounding and dropped entries do not exceed it. Single precision keeps
/// the first; half precision of keys far larger than the tolerance needs the others.
const FITTED_PARTS: [f64; 4] = [0.985, 0.95, 0.85, 0.6];

/// Vertices that never move farther than this part of the tolerance have no keys: what they miss is half of what is allowed.
const STILL_PART: f64 = 0.5;

/// What is asked of [`compress`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompressSettings {
    /// Largest distance of any vertex in any frame from where it should be seen, m. Without it `keys` must be given.
    pub tolerance: Option<f64>,
    /// Largest number of keys (of each region). Where the tolerance needs more, the error of this many is the least that is found.
    pub keys: Option<usize>,
    /// Regions whose keys are fitted apart; `None`: one.
    pub regions: Option<Regions>,
    /// Rounding of keys; `None`: single precision.
    pub quantise: Option<Quantisation>,
}

impl CompressSettings {
    fn check(&self) -> Result<(), BakeError> {
        let setting = |what, range, value| Err(BakeError::Setting { what, range, value });
        match (self.tolerance, self.keys) {
            (Some(t), _) if !(t.is_finite() && t > 0.0) => {
                setting("the tolerance", "a positive number of metres", t)
            }
            (_, Some(0)) => setting("the number of keys", "at least 1", 0.0),
            (None, None) => Err(BakeError::NoLimit),
            _ => Ok(()),
        }
    }
}

/// Fits keys and curves to frames.
///
/// `rest` `[n, 3]`: positions of the plain mesh before the maps, if `frames` are positions; `None` if they are offsets. Errors are
/// measured after `maps`.
///
/// # Errors
/// Fails for settings out of range, a rest shape or regions of another mesh, frames in which no keys can be found, or if the caller stops.
pub fn compress(
    frames: &VertexFrames<'_>,
    rest: Option<&[f32]>,
    maps: &VertexMaps<'_>,
    settings: &CompressSettings,
    progress: &dyn Progress,
) -> Result<Packed, BakeError> {
    settings.check()?;
    let vertices = frames.vertex_count();
    if let Some(given) = rest.map(<[f32]>::len).filter(|len| *len != 3 * vertices) {
        return Err(BakeError::vertices("rest has", given / 3, vertices));
    }
    let (labels, count) = match &settings.regions {
        None => (vec![0; vertices], 1),
        Some(regions) => regions.labels(rest, vertices)?,
    };
    let whole = Offsets::new(frames, rest, maps);
    for (turn, part) in FITTED_PARTS.into_iter().enumerate() {
        let fitted = settings.tolerance.map(|t| t * part);
        let regions = fit_regions(&whole, (&labels, count), fitted, settings.keys, progress)?;
        let packed = written::join(&regions, &whole, settings.quantise);
        let within = |t: f64| f64::from(packed.worst().2) <= t || packed.count == 0;
        // With a number of keys the tolerance may be out of reach.
        let limited = settings
            .keys
            .is_some_and(|most| regions.iter().any(|r| r.1.count >= most));
        if settings.tolerance.is_none_or(within) || limited || turn + 1 == FITTED_PARTS.len() {
            return Ok(packed);
        }
    }
    Err(BakeError::NoKeys)
}

/// Fits each region by itself.
fn fit_regions<'a>(
    whole: &Offsets<'a>,
    (labels, count): (&[u32], usize),
    tolerance: Option<f64>,
    most: Option<usize>,
    progress: &dyn Progress,
) -> Result<Vec<(Offsets<'a>, Scaled)>, BakeError> {
    let moving = whole.moving(tolerance.map_or(0.0, |t| (t * STILL_PART) as f32));
    let wanted = Wanted {
        tolerance: tolerance.map(|t| t as f32),
        most,
    };
    let mut regions = Vec::with_capacity(count);
    for region in 0..count {
        let part = moving.subset(|v| labels[v as usize] == region as u32);
        let stage = StageProgress {
            whole: progress,
            from: region as f64 / count as f64,
            to: (region + 1) as f64 / count as f64,
        };
        let factors = find_factors(&part, &wanted, &stage)?;
        let scaled = Scaled::new(&factors, tolerance.map_or(factors.max_error, |t| t as f32));
        regions.push((part, scaled));
    }
    Ok(regions)
}
