// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wiggly splines: interpolants of given values with the least acting force. [kass2008; hildebrandt2012, §4.2]
//!
//! ```
//! use thew::spacetime::{Knot, KnotData, KnotJoint, KnotLayout, Oscillator, WigglySpline};
//!
//! // Through 0, 1 and 0, at rest at both ends; the middle knot's slope is sought.
//! let knot = |time, joint| Knot { time, valued: true, joint };
//! let knots = vec![knot(0.0, KnotJoint::Given), knot(1.0, KnotJoint::Smooth), knot(2.0, KnotJoint::Given)];
//! let given = KnotData { values: vec![0.0, 1.0, 0.0], incoming: vec![0.0; 3], outgoing: vec![0.0; 3] };
//! let mode = Oscillator { stiffness: 50.0, damping: 0.5, gravity: 0.0 };
//! let spline = WigglySpline::new(KnotLayout::new(knots, false).into(), vec![mode], vec![given]);
//! assert!((spline.value_at(0, 1.0, 0) - 1.0).abs() < 1e-12 && spline.value_at(0, 2.0, 1).abs() < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::interval::{Interval, Oscillator};
use super::knots::{KnotData, KnotLayout};
use super::system::{SplineSystem, mode_cost, scatter_unknowns};
use rayon::prelude::*;
use std::sync::Arc;

/// Splines of independent modes over the same knots.
#[derive(Debug, Clone)]
pub struct WigglySpline {
    layout: Arc<KnotLayout>,
    modes: Vec<ModeSpline>,
}

/// The solution of one mode.
#[derive(Debug, Clone)]
pub(super) struct ModeSpline {
    oscillator: Oscillator,
    intervals: Vec<Interval>,
    data: KnotData,
}

impl ModeSpline {
    /// Builds a mode's spline from data known at all knots.
    pub fn from_knot_data(
        oscillator: Oscillator,
        intervals: Vec<Interval>,
        data: KnotData,
    ) -> Self {
        Self {
            oscillator,
            intervals,
            data,
        }
    }
}

/// Builds the oscillator's elements over all intervals.
pub(super) fn build_intervals(layout: &KnotLayout, oscillator: Oscillator) -> Vec<Interval> {
    let mut all: Vec<Interval> = Vec::with_capacity(layout.interval_count());
    for k in 0..layout.interval_count() {
        let length = layout.interval_length(k);
        let same = all.last().filter(|last| last.length() == length).copied();
        all.push(same.unwrap_or_else(|| Interval::new(oscillator, length)));
    }
    all
}

impl WigglySpline {
    /// Solves for the unknowns of each mode, from its oscillator and its given data at the knots. Entries that are not
    /// given are ignored.
    pub fn new(
        layout: Arc<KnotLayout>,
        oscillators: Vec<Oscillator>,
        given: Vec<KnotData>,
    ) -> Self {
        let solve = |(oscillator, mut data): (Oscillator, KnotData)| {
            let intervals = build_intervals(&layout, oscillator);
            if !layout.is_empty() {
                let system = SplineSystem::new(&layout, &intervals, &data, &[]);
                scatter_unknowns(&layout, &system.minimise(), &mut data);
            }
            ModeSpline::from_knot_data(oscillator, intervals, data)
        };
        let pairs = oscillators.into_par_iter().zip(given).with_min_len(16);
        let modes = pairs.map(solve).collect();
        Self { layout, modes }
    }

    /// Builds splines from modes that were solved together.
    pub(super) fn from_modes(layout: Arc<KnotLayout>, modes: Vec<ModeSpline>) -> Self {
        Self { layout, modes }
    }

    /// Returns the knots.
    pub fn layout(&self) -> &Arc<KnotLayout> {
        &self.layout
    }

    /// Returns the number of modes.
    pub fn len(&self) -> usize {
        self.modes.len()
    }

    /// Returns whether the set of modes is empty.
    pub fn is_empty(&self) -> bool {
        self.modes.is_empty()
    }

    /// Returns the oscillator of a mode.
    pub fn oscillator(&self, mode: usize) -> Oscillator {
        self.modes[mode].oscillator
    }

    /// Returns the values and slopes of a mode at the knots.
    pub fn knot_data(&self, mode: usize) -> &KnotData {
        &self.modes[mode].data
    }

    /// Returns `∫ r² dt` of a mode.
    pub fn cost(&self, mode: usize) -> f64 {
        let mode = &self.modes[mode];
        mode_cost(&self.layout, &mode.intervals, &mode.data)
    }

    /// Returns a mode's derivative of order 0 to 3 at a time. Beyond the ends the end values apply; cyclic splines repeat.
    pub fn value_at(&self, mode: usize, time: f64, derivative: usize) -> f64 {
        let (interval, share) = self.layout.locate(time);
        self.evaluate_mode(mode, (interval, share, self.is_outside(time)), derivative)
    }

    fn is_outside(&self, time: f64) -> bool {
        let knots = self.layout.knots();
        !self.layout.is_cyclic() && (time < knots[0].time || time > knots[knots.len() - 1].time)
    }

    fn evaluate_mode(&self, mode: usize, place: (usize, f64, bool), derivative: usize) -> f64 {
        let (interval, share, outside) = place;
        let mode = &self.modes[mode];
        if derivative > 0 && outside {
            return 0.0;
        }
        let ends = mode.data.interval_ends(interval);
        mode.intervals[interval].evaluate(&ends, share, derivative)
    }

    /// Evaluates all modes at many times, mode by mode: `values[mode · times + time]`.
    pub fn sample(&self, times: &[f64], derivative: usize) -> Vec<f64> {
        let places: Vec<(usize, f64, bool)> = times
            .iter()
            .map(|&time| {
                let (interval, share) = self.layout.locate(time);
                (interval, share, self.is_outside(time))
            })
            .collect();
        let mut values = vec![0.0; self.len() * times.len()];
        if times.is_empty() {
            return values;
        }
        let rows = values.par_chunks_mut(times.len()).enumerate();
        rows.with_min_len(1 + 64 / times.len())
            .for_each(|(mode, row)| {
                for (value, &place) in row.iter_mut().zip(&places) {
                    *value = self.evaluate_mode(mode, place, derivative);
                }
            });
        values
    }
}
