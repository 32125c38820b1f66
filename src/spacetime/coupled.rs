// SPDX-License-Identifier: MIT OR Apache-2.0
//! Knots at which only a part of the shape is prescribed, and knots that are only drawn towards a shape.
//!
//! Conditions on a few vertices couple the modes, but only at the knots. Each mode's small system is factored once. The coupling is
//! the Schur complement on the rows of the conditions, `(C A⁻¹ Cᵀ + E) μ = C u⁰ − p`, with a compliance E for soft conditions.
//! Keyframes that attract with a weight in the norm of the mass stay decoupled: a [`ValueAttraction`] per mode.

use super::interval::Oscillator;
use super::knots::{KnotData, KnotLayout};
use super::spline::{ModeSpline, build_intervals};
use super::system::{SplineSystem, ValueAttraction, scatter_unknowns};
use crate::solve::tall::product;
use faer::prelude::Solve;
use faer::{Mat, Side};
use rayon::prelude::*;

/// Rounds of iterative refinement of the conditions.
const REFINEMENT_ROUNDS: usize = 2;

/// Conditions at one knot on a vector of all modes' values: `C ω = wanted`.
#[derive(Debug, Clone)]
pub(super) struct KnotConditions {
    pub knot: usize,
    /// C: one row per condition, one column per mode.
    pub rows: Mat<f64>,
    pub wanted: Vec<f64>,
    /// Violation per unit of multiplier, one per condition; zero: the condition is exact.
    pub compliance: Vec<f64>,
}

/// Solves all modes together, with data in `given` and `pulls` for each mode and `conditions` across modes.
pub(super) fn solve_coupled(
    layout: &KnotLayout,
    oscillators: &[Oscillator],
    given: Vec<KnotData>,
    pulls: &[Vec<ValueAttraction>],
    conditions: &[KnotConditions],
) -> Vec<ModeSpline> {
    let modes = oscillators.par_iter().zip(given).zip(pulls);
    let mut solved: Vec<CoupledMode> = modes
        .map(|((&oscillator, data), pulls)| {
            let intervals = build_intervals(layout, oscillator);
            let system = SplineSystem::new(layout, &intervals, &data, pulls);
            let unknowns = system.minimise();
            let responses = conditions.iter().filter_map(|c| {
                let at = layout.value_unknown(c.knot)?;
                let mut response = vec![0.0; layout.len()];
                response[at] = 1.0;
                system.solve(&mut response);
                Some(response)
            });
            let responses = responses.collect();
            CoupledMode {
                oscillator,
                intervals,
                data,
                unknowns,
                responses,
            }
        })
        .collect();
    enforce_conditions(layout, &mut solved, conditions);
    let finish = |mut mode: CoupledMode| {
        scatter_unknowns(layout, &mode.unknowns, &mut mode.data);
        ModeSpline::from_knot_data(mode.oscillator, mode.intervals, mode.data)
    };
    solved.into_par_iter().map(finish).collect()
}

struct CoupledMode {
    oscillator: Oscillator,
    intervals: Vec<super::interval::Interval>,
    data: KnotData,
    unknowns: Vec<f64>,
    /// Response of the unknowns to a unit force on the value at each condition's knot.
    responses: Vec<Vec<f64>>,
}

/// Conditions on values at knots, and the position of each one's first row among all rows.
struct ConditionSystem<'a> {
    /// Start, conditions and the knot's value among the unknowns.
    entries: Vec<(usize, &'a KnotConditions, usize)>,
    total: usize,
}

impl<'a> ConditionSystem<'a> {
    fn new(layout: &KnotLayout, conditions: &'a [KnotConditions]) -> Self {
        let (mut entries, mut total) = (Vec::new(), 0);
        for c in conditions {
            if let Some(value) = layout.value_unknown(c.knot) {
                entries.push((total, c, value));
                total += c.wanted.len();
            }
        }
        Self { entries, total }
    }

    /// Returns the displacement of each condition by a unit force on each other one.
    fn schur_complement(&self, modes: &[CoupledMode]) -> Mat<f64> {
        let mut schur = Mat::<f64>::zeros(self.total, self.total);
        for (a, (start, from, _)) in self.entries.iter().enumerate() {
            for (other_start, to, value) in &self.entries {
                // Sum over modes, as a product of two small matrices.
                let weighted = Mat::from_fn(from.rows.nrows(), modes.len(), |r, i| {
                    from.rows[(r, i)] * modes[i].responses[a][*value]
                });
                let block = product(weighted.as_ref(), to.rows.transpose().to_owned().as_ref());
                schur
                    .submatrix_mut(*start, *other_start, block.nrows(), block.ncols())
                    .copy_from(&block);
            }
            for (r, e) in from.compliance.iter().enumerate() {
                schur[(start + r, start + r)] += e;
            }
        }
        schur
    }

    /// Returns the scaled violations of the conditions.
    fn condition_residual(
        &self,
        modes: &[CoupledMode],
        multipliers: &[f64],
        scale: &[f64],
    ) -> Mat<f64> {
        let mut right = Mat::zeros(self.total, 1);
        for (start, c, value) in &self.entries {
            for (r, wanted) in c.wanted.iter().enumerate() {
                let has: f64 = (0..modes.len())
                    .map(|i| c.rows[(r, i)] * modes[i].unknowns[*value])
                    .sum();
                let at = start + r;
                let soft = c.compliance[r] * multipliers[at];
                right[(at, 0)] = (has - wanted - soft) * scale[at];
            }
        }
        right
    }

    /// Moves the unknowns of all modes by forces on the conditions.
    fn apply_forces(&self, modes: &mut [CoupledMode], forces: &[f64]) {
        modes.par_iter_mut().enumerate().for_each(|(i, mode)| {
            for ((start, c, _), response) in self.entries.iter().zip(&mode.responses) {
                let push: f64 = (0..c.wanted.len())
                    .map(|r| c.rows[(r, i)] * forces[start + r])
                    .sum();
                mode.unknowns
                    .iter_mut()
                    .zip(response)
                    .for_each(|(u, a)| *u -= push * a);
            }
        });
    }
}

/// Moves the unknowns of all modes until the conditions hold.
fn enforce_conditions(
    layout: &KnotLayout,
    modes: &mut [CoupledMode],
    conditions: &[KnotConditions],
) {
    let system = ConditionSystem::new(layout, conditions);
    let total = system.total;
    if total == 0 {
        return;
    }
    let schur = system.schur_complement(modes);
    // Stiff modes yield far less than soft ones. Scaling the diagonal to 1 gives all conditions equal weight.
    let scale: Vec<f64> = (0..total)
        .map(|r| 1.0 / schur[(r, r)].max(f64::MIN_POSITIVE).sqrt())
        .collect();
    let scaled = Mat::from_fn(total, total, |i, j| {
        let mean = 0.5 * (schur[(i, j)] + schur[(j, i)]);
        let ridge = if i == j { 1e-15 } else { 0.0 };
        mean * scale[i] * scale[j] + ridge
    });
    let factor = scaled.ldlt(Side::Lower);
    let mut multipliers = vec![0.0; total];
    for _ in 0..=REFINEMENT_ROUNDS {
        let right = system.condition_residual(modes, &multipliers, &scale);
        let step = match &factor {
            Ok(factor) => factor.solve(&right),
            Err(_) => scaled.partial_piv_lu().solve(&right),
        };
        let step: Vec<f64> = (0..total).map(|r| step[(r, 0)] * scale[r]).collect();
        if step.iter().any(|x| !x.is_finite()) {
            return;
        }
        multipliers.iter_mut().zip(&step).for_each(|(m, s)| *m += s);
        system.apply_forces(modes, &step);
    }
}
