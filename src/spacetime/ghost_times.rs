// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times at which ghost shapes are passed, and weights that attract a motion to them. [hildebrandt2012, §4.3 names ghosts as points to
//! linearise around]
//!
//! Splines run from keyframe to keyframe along chords. On a chord between shapes that differ by large rotations a body inflates, whatever
//! the linearisation. So each ghost also attracts the motion, mode by mode. The weight is proportional to the mode's resistance at a knot,
//! so the remaining share of the distance does not depend on stiffness, damping or times.

use super::interval::Oscillator;
use super::motion::Spacetime;
use super::spline::WigglySpline;
use crate::solve::tall;

/// Number of samples of an interval in the search for a ghost's time.
const SAMPLES_PER_INTERVAL: usize = 64;
/// Ratio of a ghost's weight to a mode's resistance.
const GHOST_WEIGHT_RATIO: f64 = 10.0;

/// Returns the weight of a ghost for a mode; `gap` is the mean time to its neighbours, s.
pub(super) fn ghost_weight(mode: &Oscillator, gap: f64) -> f64 {
    // A beam's stiffness against one displacement, times the cost of reaching an amplitude against damping.
    GHOST_WEIGHT_RATIO
        * (12.0 / (gap * gap) + mode.stiffness.abs())
        * (1.0 / gap + 2.0 * mode.damping.abs())
}

/// Returns the times at which ghosts are passed: given ones, or those at which plain splines have covered the ghost's share of the way.
pub(super) fn ghost_times(motion: &Spacetime, plain: &WigglySpline) -> Vec<f64> {
    let (space, keys) = (&motion.space, motion.key_coordinates());
    let mut all: Vec<f64> = Vec::with_capacity(motion.ghosts.len());
    let mut from = 0;
    while from < motion.ghosts.len() {
        let interval = motion.ghosts[from].interval;
        let count = motion.ghosts[from..]
            .iter()
            .take_while(|g| g.interval == interval)
            .count();
        let own = &motion.ghosts[from..from + count];
        from += count;
        let (start, end) = (motion.times[interval], motion.times[interval + 1]);
        let linear = |share: f64| start + share * (end - start);
        let instants: Vec<f64> = (0..=SAMPLES_PER_INTERVAL)
            .map(|i| linear(i as f64 / SAMPLES_PER_INTERVAL as f64))
            .collect();
        let d = motion.dimension();
        let way: Vec<f64> = (0..d)
            .map(|i| keys[interval + 1][i] - keys[interval][i])
            .collect();
        let heavy = tall::matrix_vector(&space.mass, &way);
        let length: f64 = heavy.iter().zip(&way).map(|(a, b)| a * b).sum();
        let sampled = plain.sample(&instants, 0);
        let gone: Vec<f64> = (0..=SAMPLES_PER_INTERVAL)
            .map(|t| {
                let along = (0..d)
                    .map(|i| heavy[i] * (sampled[i * instants.len() + t] - keys[interval][i]));
                along.sum::<f64>() / length
            })
            .collect();
        for (order, ghost) in own.iter().enumerate() {
            let crossed = (1..=SAMPLES_PER_INTERVAL).find(|&t| gone[t] >= ghost.share);
            let time = match crossed {
                Some(t) if !ghost.timed && length > 0.0 => {
                    let (before, behind) = (gone[t - 1], gone[t]);
                    let share = ((ghost.share - before) / (behind - before)).clamp(0.0, 1.0);
                    instants[t - 1] + share * (instants[t] - instants[t - 1])
                }
                _ => linear(ghost.share),
            };
            // In order, with space for later ghosts.
            let gap = (end - start) / (8 * SAMPLES_PER_INTERVAL.max(own.len())) as f64;
            let last = all.last().copied().filter(|&t| t > start).unwrap_or(start);
            let most = end - gap * (own.len() - order) as f64;
            all.push(if ghost.timed {
                time
            } else {
                time.max(last + gap).min(most)
            });
        }
    }
    all
}
