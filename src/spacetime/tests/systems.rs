// SPDX-License-Identifier: MIT OR Apache-2.0
//! The small systems of splines against the energies that they minimise.

use super::*;
use crate::spacetime::spline::intervals;
use crate::spacetime::system::{Pull, System, cost, scatter};

/// A spline with open knots: its layout, and what is given of it.
fn open(cyclic: bool, case: usize, seed: &mut u64) -> (Layout, KnotData) {
    const LAST: usize = 5;
    let mut time = 0.0;
    let mut all: Vec<Knot> = (0..=LAST)
        .map(|k| {
            time += 0.3 + lcg(seed);
            let joint = match (k + case) % 4 {
                0 => Joint::Cut {
                    incoming: false,
                    outgoing: false,
                },
                1 => Joint::Smooth,
                2 => Joint::Cut {
                    incoming: true,
                    outgoing: false,
                },
                _ => Joint::Given,
            };
            Knot {
                time,
                valued: (k + case / 2).is_multiple_of(3),
                joint,
            }
        })
        .collect();
    let mut draw = || (0..=LAST).map(|_| lcg(seed) - 0.5).collect::<Vec<_>>();
    let mut given = KnotData {
        values: draw(),
        incoming: draw(),
        outgoing: draw(),
    };
    for (k, knot) in all.iter().enumerate() {
        let end = !cyclic && (k == 0 || k == LAST);
        if end || knot.joint == Joint::Given {
            given.outgoing[k] = given.incoming[k];
        }
    }
    if cyclic {
        (all[LAST].valued, all[LAST].joint) = (all[0].valued, all[0].joint);
        let of = [&mut given.values, &mut given.incoming, &mut given.outgoing];
        of.into_iter().for_each(|side| side[LAST] = side[0]);
    }
    (Layout::new(all, cyclic), given)
}

/// The solution is a minimum of the cost, whichever values are unknown.
#[test]
fn solution_is_minimum() {
    let mut seed = 11;
    for case in 0..48 {
        let (layout, given) = open(case % 2 == 0, case / 2, &mut seed);
        let oscillator = Oscillator {
            stiffness: 40.0 * lcg(&mut seed),
            damping: 2.0 * lcg(&mut seed),
            gravity: lcg(&mut seed),
        };
        let intervals = intervals(&layout, oscillator);
        let sought = (0..layout.knots().len() - 1).filter(|&k| !layout.knots()[k].valued);
        let pulls: Vec<Pull> = sought
            .map(|knot| Pull {
                knot,
                weight: 3.0 + 20.0 * lcg(&mut seed),
                wanted: lcg(&mut seed),
            })
            .collect();
        let found = System::new(&layout, &intervals, &given, &pulls).minimiser();
        assert_eq!(found.len(), layout.len());
        let total = |unknowns: &[f64]| {
            let mut data = given.clone();
            scatter(&layout, unknowns, &mut data);
            let pulled = |p: &Pull| p.weight * (data.values[p.knot] - p.wanted).powi(2);
            cost(&layout, &intervals, &data) + pulls.iter().map(pulled).sum::<f64>()
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
