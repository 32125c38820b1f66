// SPDX-License-Identifier: MIT OR Apache-2.0
//! The small systems of splines against the energies that they minimise.

use super::*;
use crate::spacetime::spline::build_intervals;
use crate::spacetime::system::{SplineSystem, ValueAttraction, mode_cost, scatter_unknowns};

/// Builds the layout and the given data of a spline with unknown values at some knots.
fn open_spline(cyclic: bool, case: usize, seed: &mut u64) -> (KnotLayout, KnotData) {
    const LAST_KNOT: usize = 5;
    let mut time = 0.0;
    let mut all: Vec<Knot> = (0..=LAST_KNOT)
        .map(|k| {
            time += 0.3 + random_number(seed);
            let joint = match (k + case) % 4 {
                0 => KnotJoint::Cut {
                    incoming: false,
                    outgoing: false,
                },
                1 => KnotJoint::Smooth,
                2 => KnotJoint::Cut {
                    incoming: true,
                    outgoing: false,
                },
                _ => KnotJoint::Given,
            };
            Knot {
                time,
                valued: (k + case / 2).is_multiple_of(3),
                joint,
            }
        })
        .collect();
    let mut draw = || {
        (0..=LAST_KNOT)
            .map(|_| random_number(seed) - 0.5)
            .collect::<Vec<_>>()
    };
    let mut given = KnotData {
        values: draw(),
        incoming: draw(),
        outgoing: draw(),
    };
    for (k, knot) in all.iter().enumerate() {
        let end = !cyclic && (k == 0 || k == LAST_KNOT);
        if end || knot.joint == KnotJoint::Given {
            given.outgoing[k] = given.incoming[k];
        }
    }
    if cyclic {
        (all[LAST_KNOT].valued, all[LAST_KNOT].joint) = (all[0].valued, all[0].joint);
        let of = [&mut given.values, &mut given.incoming, &mut given.outgoing];
        of.into_iter().for_each(|side| side[LAST_KNOT] = side[0]);
    }
    (KnotLayout::new(all, cyclic), given)
}

/// The solution is a minimum of the cost, whichever values are unknown.
#[test]
fn solution_is_minimum() {
    let mut seed = 11;
    for case in 0..48 {
        let (layout, given) = open_spline(case % 2 == 0, case / 2, &mut seed);
        let oscillator = Oscillator {
            stiffness: 40.0 * random_number(&mut seed),
            damping: 2.0 * random_number(&mut seed),
            gravity: random_number(&mut seed),
        };
        let intervals = build_intervals(&layout, oscillator);
        let sought = (0..layout.knots().len() - 1).filter(|&k| !layout.knots()[k].valued);
        let pulls: Vec<ValueAttraction> = sought
            .map(|knot| ValueAttraction {
                knot,
                weight: 3.0 + 20.0 * random_number(&mut seed),
                wanted: random_number(&mut seed),
            })
            .collect();
        let found = SplineSystem::new(&layout, &intervals, &given, &pulls).minimise();
        assert_eq!(found.len(), layout.len());
        let total = |unknowns: &[f64]| {
            let mut data = given.clone();
            scatter_unknowns(&layout, unknowns, &mut data);
            let pulled = |p: &ValueAttraction| p.weight * (data.values[p.knot] - p.wanted).powi(2);
            mode_cost(&layout, &intervals, &data) + pulls.iter().map(pulled).sum::<f64>()
        };
        for unknown in 0..found.len() {
            let moved = |by: f64| {
                let mut other = found.clone();
                other[unknown] += by;
                total(&other)
            };
            let (there, back, here) = (moved(0.1), moved(-0.1), total(&found));
            let bend = there + back - 2.0 * here;
            assert!(bend > 0.0, "{case} {unknown}: {bend}");
            assert!(
                (there - back).abs() < 1e-8 * (bend + here),
                "{case} {unknown}: {there} {back} {here}"
            );
        }
    }
}
