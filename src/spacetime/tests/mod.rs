// SPDX-License-Identifier: MIT OR Apache-2.0
//! Splines against integrals and their neighbours; motions of a strip through keyframes, partial ones and cycles.

use super::*;

mod changes;
mod composites;
mod ghosts;
mod large;
mod modelling;
mod solids;
mod stored;
mod systems;

fn random_number(seed: &mut u64) -> f64 {
    *seed = seed
        .wrapping_mul(6364136223846793005)
        .wrapping_add(1442695040888963407);
    (*seed >> 11) as f64 / (1u64 << 53) as f64
}

fn knots(times: &[f64], joint: impl Fn(usize) -> KnotJoint) -> Vec<Knot> {
    let knot = |(k, &time)| Knot {
        time,
        valued: true,
        joint: joint(k),
    };
    times.iter().enumerate().map(knot).collect()
}

/// Computes ∫ r² by Gauss quadrature of the spline's own derivatives.
fn integrate_cost(spline: &WigglySpline, o: &Oscillator) -> f64 {
    let knots = spline.layout().knots();
    let mut sum = 0.0;
    let nodes = [
        (-0.906_179_845_938_664, 0.236_926_885_056_189_1),
        (-0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
        (0.0, 0.568_888_888_888_888_9),
        (0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
        (0.906_179_845_938_664, 0.236_926_885_056_189_1),
    ];
    for pair in knots.windows(2) {
        let length = pair[1].time - pair[0].time;
        let pieces = 400;
        for i in 0..pieces {
            let h = length / pieces as f64;
            let middle = pair[0].time + (i as f64 + 0.5) * h;
            for (x, w) in nodes {
                let t = middle + 0.5 * h * x;
                let d = |k| spline.value_at(0, t, k);
                let r = d(2) + 2.0 * o.damping * d(1) + o.stiffness * d(0) + o.gravity;
                sum += 0.5 * h * w * r * r;
            }
        }
    }
    sum
}

/// The cost equals its integral, and no neighbouring motion is cheaper.
#[test]
fn cost_is_integral_and_minimal() {
    let mut seed = 7;
    for case in 0..60 {
        let times: Vec<f64> = (0..5)
            .scan(0.0, |t, _| {
                *t += 0.2 + random_number(&mut seed);
                Some(*t)
            })
            .collect();
        let o = Oscillator {
            stiffness: (random_number(&mut seed) - 0.3)
                * 10f64.powf(3.0 * random_number(&mut seed)),
            damping: if case % 3 == 0 {
                0.0
            } else {
                6.0 * random_number(&mut seed)
            },
            gravity: 3.0 * (random_number(&mut seed) - 0.5),
        };
        let joint = |k: usize| match (k, case % 4) {
            (0 | 4, 0) => KnotJoint::Given,
            (2, 1) => KnotJoint::Cut {
                incoming: false,
                outgoing: true,
            },
            (2, 2) => KnotJoint::Cut {
                incoming: false,
                outgoing: false,
            },
            (2, 3) => KnotJoint::Given,
            (4, _) => KnotJoint::Smooth,
            (0, _) => KnotJoint::Given,
            _ => KnotJoint::Smooth,
        };
        let layout = std::sync::Arc::new(KnotLayout::new(knots(&times, joint), false));
        let mut draw = || {
            (0..5)
                .map(|_| random_number(&mut seed) - 0.5)
                .collect::<Vec<_>>()
        };
        let given = KnotData {
            values: draw(),
            incoming: draw(),
            outgoing: draw(),
        };
        let mut given = given;
        given.incoming[2] = if case % 4 == 3 {
            given.outgoing[2]
        } else {
            given.incoming[2]
        };
        let spline = WigglySpline::new(layout.clone(), vec![o], vec![given.clone()]);
        let cost = spline.cost(0);
        let integral = integrate_cost(&spline, &o);
        assert!(
            (cost - integral).abs() < 1e-8 * (1.0 + integral),
            "{case} {o:?}: {cost} {integral}"
        );
        assert_minimal(&spline, &layout, o);
    }
}

/// Asserts that a change of any unknown slope costs more.
fn assert_minimal(spline: &WigglySpline, layout: &KnotLayout, o: Oscillator) {
    let (solved, cost) = (spline.knot_data(0).clone(), spline.cost(0));
    let cut = KnotJoint::Cut {
        incoming: true,
        outgoing: true,
    };
    for k in 0..5 {
        for side in 0..2 {
            let mut other = solved.clone();
            let (i, u) = layout.knots()[k].joint.given_slopes();
            let shared = !matches!(layout.knots()[k].joint, KnotJoint::Cut { .. });
            if (side == 0 && i) || (side == 1 && u) {
                continue;
            }
            for step in [1e-3, -1e-3] {
                if shared || side == 0 {
                    other.incoming[k] = solved.incoming[k] + step;
                }
                if shared || side == 1 {
                    other.outgoing[k] = solved.outgoing[k] + step;
                }
                let knots = layout.knots().iter();
                let all = knots.map(|n| Knot { joint: cut, ..*n }).collect();
                let moved = WigglySpline::new(
                    std::sync::Arc::new(KnotLayout::new(all, false)),
                    vec![o],
                    vec![other.clone()],
                );
                assert!(moved.cost(0) > cost - 1e-12 * cost, "{k} {o:?}");
            }
        }
    }
}

/// Builds a strip of two rows of triangles, and shapes that bend it.
fn strip() -> (std::sync::Arc<crate::shell::Shell>, Vec<Vec<crate::Vec3>>) {
    use crate::Vec3;
    let at = |i: usize| (i as f64 * 0.5, (i % 2) as f64 * 0.7);
    let vertices: Vec<Vec3> = (0..12)
        .map(|i| Vec3::new(at(i).0, at(i).1, 0.1 * (i as f64).sin()))
        .collect();
    let triangles = (0..10).map(|i| [i, i + 1, i + 2]).collect();
    let material = crate::shell::ShellMaterial::default();
    let shell = crate::shell::Shell::new(vertices.clone(), triangles, &material).unwrap();
    let bent = |c: f64| {
        let lift = |x: &Vec3| Vec3::new(x.x, x.y, x.z + c * x.x * x.x);
        vertices.iter().map(lift).collect::<Vec<Vec3>>()
    };
    let shapes = vec![bent(0.0), bent(0.1), bent(-0.05), bent(0.07)];
    (std::sync::Arc::new(shell), shapes)
}

/// Computes a motion of a body through shapes.
fn motion_through(
    shapes: &[Vec<crate::Vec3>],
    times: &[f64],
    settings: &SpacetimeSettings,
    options: &SpaceSettings,
) -> Spacetime {
    let (body, shapes, times) = (strip().0, shapes.to_vec(), times.to_vec());
    let silent = &crate::progress::Silent;
    Spacetime::new(body, shapes, times, settings.clone(), options, silent).unwrap()
}

const KEY_TIMES: [f64; 4] = [0.0, 0.5, 0.8, 1.5];

fn ringing_settings() -> SpacetimeSettings {
    SpacetimeSettings {
        stiffness: 30.0,
        damping: (0.3, 1e-3),
        ..SpacetimeSettings::default()
    }
}

fn strip_motion(options: &SpaceSettings) -> Spacetime {
    motion_through(&strip().1, &KEY_TIMES, &ringing_settings(), options)
}

/// Returns settings that keep rigid motion.
fn kept_rigid_space() -> SpaceSettings {
    SpaceSettings {
        rigid: RigidMotion::Kept,
        ..SpaceSettings::default()
    }
}

/// A partial keyframe of all vertices acts as a whole keyframe.
#[test]
fn full_partial_keyframe_is_keyframe() {
    let (_, shapes) = strip();
    let times: Vec<f64> = (0..31).map(|i| 0.05 * f64::from(i)).collect();
    for full_below in [1500, 0] {
        let options = SpaceSettings {
            full_below,
            modes: 4,
            rigid: RigidMotion::Kept,
            ..SpaceSettings::default()
        };
        let exact = strip_motion(&options).coordinates_at(&times);
        let mut partial = strip_motion(&options);
        partial.soften(1, Some(1e-6)).unwrap();
        let all = (0..12).collect();
        partial
            .add_partial(0.5, all, shapes[1].clone(), None)
            .unwrap();
        let (same, size) = (partial.coordinates_at(&times), exact.norm_max());
        assert!((&same - &exact).norm_max() < 1e-10 * size);
        // In two halves they are coupled by nothing but their rows.
        partial.drop_partial(0).unwrap();
        for half in [0..6u32, 6..12] {
            let wanted = half.clone().map(|v| shapes[1][v as usize]).collect();
            partial
                .add_partial(0.5, half.collect(), wanted, None)
                .unwrap();
        }
        assert!((partial.coordinates_at(&times) - &exact).norm_max() < 1e-10 * size);
    }
}

/// An exact partial keyframe is met at higher cost than without it; a weighted one is approached at less cost.
#[test]
fn partial_is_met_at_least_cost() {
    let mut all = strip_motion(&SpaceSettings::default());
    let free = all.cost();
    let wanted = crate::Vec3::new(1.0, 0.2, 0.9);
    let id = all.add_partial(0.65, vec![3], vec![wanted], None).unwrap();
    let reached = all.positions(&[0.65]);
    for k in 0..3 {
        assert!((f64::from(reached[9 + k]) - wanted[k]).abs() < 1e-5);
    }
    assert!(all.partial_misses().iter().all(|&(_, miss)| miss < 1e-9));
    let held = all.cost();
    assert!(held > free);
    // A weighted one is approached at less cost.
    all.drop_partial(id).unwrap();
    all.add_partial(0.65, vec![3], vec![wanted], Some(1e3))
        .unwrap();
    assert!(all.cost() < held);
}

/// A velocity that is prescribed at the seam of a cycle holds on both sides.
#[test]
fn seam_velocity_holds_both_sides() {
    let (shell, mut shapes) = strip();
    shapes[3] = shapes[0].clone();
    let wanted = crate::Vec3::new(0.0, 0.3, -0.5);
    let mut settings = SpacetimeSettings::default();
    let given = Velocity::Given(vec![wanted; 12]);
    settings.velocities.insert(0, given);
    let options = SpaceSettings {
        cyclic: true,
        rigid: RigidMotion::Kept,
        ..SpaceSettings::default()
    };
    let times = vec![0.0, 0.5, 0.8, 1.5];
    let silent = &crate::progress::Silent;
    let cycle = Spacetime::new(shell, shapes, times, settings, &options, silent).unwrap();
    let h = 1e-5;
    let at = cycle.coordinates_at(&[0.0, h, 1.5 - h]);
    for (side, near) in [(1.0, 1), (-1.0, 2)] {
        for row in 0..36 {
            let slope = side * (at[(row, near)] - at[(row, 0)]) / h;
            assert!(
                (slope - wanted[row % 3]).abs() < 1e-2,
                "{side} {row}: {slope}"
            );
        }
    }
}
