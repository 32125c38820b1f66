// SPDX-License-Identifier: MIT OR Apache-2.0
//! When ghost shapes are passed, and how firmly a motion is drawn to them. [hildebrandt2012, §4.3 names ghosts as points to
//! linearise around]
//!
//! Splines go from keyframe to keyframe along chords, and a body on a chord between shapes that differ by large turns balloons,
//! whatever it is linearised around. So each ghost also draws the motion: mode by mode, with a weight in proportion to what a mode resists
//! being moved at a knot, so that the share of the way that is left does not depend on stiffness, damping or times.

use super::interval::Oscillator;
use super::motion::Spacetime;
use super::spline::WigglySpline;
use crate::solve::tall;

/// Samples of an interval in which the time of a ghost is looked for.
const SAMPLES: usize = 64;
/// How many times more firmly a ghost draws than a mode resists.
const FIRM: f64 = 10.0;

/// The weight of a ghost for a mode, with so much time to its neighbours.
pub(super) fn weight(mode: &Oscillator, room: f64) -> f64 {
    // A beam's stiffness against one displacement, and what it costs to swing up to an amplitude against damping.
    FIRM * (12.0 / (room * room) + mode.stiffness.abs()) * (1.0 / room + 2.0 * mode.damping.abs())
}

/// When ghosts are passed: at given times, or when plain splines have gone as much of the way as they stand for.
pub(super) fn times(motion: &Spacetime, plain: &WigglySpline) -> Vec<f64> {
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
        let instants: Vec<f64> = (0..=SAMPLES)
            .map(|i| linear(i as f64 / SAMPLES as f64))
            .collect();
        let d = motion.dimension();
        let way: Vec<f64> = (0..d)
            .map(|i| keys[interval + 1][i] - keys[interval][i])
            .collect();
        let heavy = tall::times(&space.mass, &way);
        let length: f64 = heavy.iter().zip(&way).map(|(a, b)| a * b).sum();
        let sampled = plain.sample(&instants, 0);
        let gone: Vec<f64> = (0..=SAMPLES)
            .map(|t| {
                let along = (0..d)
                    .map(|i| heavy[i] * (sampled[i * instants.len() + t] - keys[interval][i]));
                along.sum::<f64>() / length
            })
            .collect();
        for (order, ghost) in own.iter().enumerate() {
            let crossed = (1..=SAMPLES).find(|&t| gone[t] >= ghost.share);
            let time = match crossed {
                Some(t) if !ghost.timed && length > 0.0 => {
                    let (before, behind) = (gone[t - 1], gone[t]);
                    let share = ((ghost.share - before) / (behind - before)).clamp(0.0, 1.0);
                    instants[t - 1] + share * (instants[t] - instants[t - 1])
                }
                _ => linear(ghost.share),
            };
            // One after the other, with room for those behind.
            let gap = (end - start) / (8 * SAMPLES.max(own.len())) as f64;
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
