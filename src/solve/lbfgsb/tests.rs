// SPDX-License-Identifier: MIT OR Apache-2.0
//! Known minima with and without bounds, and functions that misbehave.

use super::*;
use nalgebra::DMatrix;

fn rosenbrock(x: &[f64], g: &mut [f64]) -> f64 {
    g.fill(0.0);
    let mut f = 0.0;
    for i in 0..x.len() - 1 {
        let (a, b) = (x[i + 1] - x[i] * x[i], 1.0 - x[i]);
        f += 100.0 * a * a + b * b;
        g[i] -= 400.0 * x[i] * a + 2.0 * b;
        g[i + 1] += 200.0 * a;
    }
    f
}

type GradientFunction<'a> = &'a mut dyn FnMut(&[f64], &mut [f64]) -> f64;

/// Evaluates a function without its second derivative.
fn evaluate_without_curvature(function: GradientFunction, x: &[f64]) -> Option<Evaluation> {
    let mut gradient = vec![0.0; x.len()];
    let value = function(x, &mut gradient);
    Some(Evaluation {
        value,
        gradient,
        curvature: None,
    })
}

fn run(
    start: &[f64],
    bounds: &[(f64, f64)],
    function: &mut dyn FnMut(&[f64], &mut [f64]) -> f64,
) -> Minimum {
    let scales = vec![1.0; start.len()];
    Lbfgsb::default()
        .minimise(start, &scales, bounds, &mut |x| {
            evaluate_without_curvature(function, x)
        })
        .unwrap()
}

/// Returns the largest violation of the conditions of a minimum in a box.
fn kkt_violation(
    x: &[f64],
    bounds: &[(f64, f64)],
    function: &mut dyn FnMut(&[f64], &mut [f64]) -> f64,
) -> f64 {
    let mut g = vec![0.0; x.len()];
    function(x, &mut g);
    let each = x.iter().zip(bounds).zip(&g);
    each.map(|((x, (l, u)), g)| {
        assert!(l <= x && x <= u);
        ((x - g).max(*l).min(*u) - x).abs()
    })
    .fold(0.0, f64::max)
}

const UNBOUNDED: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// Returns a pseudo-random number between −1 and 1.
fn noise(seed: usize) -> f64 {
    ((seed as f64 + 1.0) * 12.9898).sin() * 43758.5453 % 1.0
}

/// The search reaches the minimum of Rosenbrock's function, with and without bounds.
#[test]
fn rosenbrock_is_minimised() {
    for n in [2, 3, 5, 10, 20, 30] {
        for bounds in [vec![UNBOUNDED; n], vec![(-5.0, 5.0); n]] {
            let start: Vec<f64> = (0..n).map(|i| 0.9 + 0.8 * noise(i)).collect();
            let end = run(&start, &bounds, &mut rosenbrock);
            assert!(end.x.iter().all(|x| (x - 1.0).abs() < 1e-6), "{n}: {end:?}");
        }
    }
    let classic = run(&[-1.2, 1.0], &[UNBOUNDED; 2], &mut rosenbrock);
    assert!(
        classic.value < 1e-16 && classic.evaluations < 80,
        "{classic:?}"
    );
}

/// With active bounds the result meets the conditions of a minimum.
#[test]
fn active_bounds_meet_kkt() {
    for n in [2, 4, 8, 16, 30] {
        let cases = [
            vec![(-5.0, 0.5); n],
            vec![(1.5, 3.0); n],
            (0..n)
                .map(|i| {
                    if i % 2 == 0 {
                        (1.0, 100.0)
                    } else {
                        (-100.0, 0.7)
                    }
                })
                .collect(),
            (0..n)
                .map(|i| {
                    if i % 3 == 0 {
                        (f64::NEG_INFINITY, -0.3)
                    } else {
                        UNBOUNDED
                    }
                })
                .collect(),
        ];
        for bounds in cases {
            let start: Vec<f64> = (0..n).map(|i| 2.0 * noise(7 * i)).collect();
            let end = run(&start, &bounds, &mut rosenbrock);
            let off = kkt_violation(&end.x, &bounds, &mut rosenbrock);
            assert!(off < 1e-5, "{n} {bounds:?}: {off} {end:?}");
        }
    }
}

/// Quadratics in a box are solved: `½ xᵀ H x − hᵀ x` with H = LLᵀ + I, and bounds around a chosen minimum whose
/// multipliers are chosen too.
#[test]
fn box_quadratics_are_solved() {
    for n in [1, 2, 5, 12, 30] {
        let l = DMatrix::from_fn(n, n, |i, j| noise(n * i + j + 1));
        let h = &l * l.transpose() + DMatrix::identity(n, n);
        let wanted = DVector::from_fn(n, |i, _| noise(3 * i + n));
        // A third of the variables each at the lower bound, at the upper one and free.
        let pull = DVector::from_fn(n, |i, _| [1.0, -1.0, 0.0][i % 3]);
        let bounds: Vec<(f64, f64)> = (0..n)
            .map(|i| match i % 3 {
                0 => (wanted[i], wanted[i] + 1.0),
                1 => (wanted[i] - 1.0, wanted[i]),
                _ => (wanted[i] - 1.0, wanted[i] + 1.0),
            })
            .collect();
        let linear = &h * &wanted - pull;
        let mut function = |x: &[f64], g: &mut [f64]| {
            let x = DVector::from_column_slice(x);
            let hx = &h * &x;
            g.copy_from_slice((&hx - &linear).as_slice());
            0.5 * x.dot(&hx) - linear.dot(&x)
        };
        for seed in 0..4 {
            let start: Vec<f64> = (0..n).map(|i| 3.0 * noise(seed * 31 + i)).collect();
            let end = run(&start, &bounds, &mut function);
            for (x, w) in end.x.iter().zip(&wanted) {
                assert!((x - w).abs() < 1e-7, "{n}: {end:?} {wanted}");
            }
        }
        let exact = Lbfgsb::default()
            .minimise(&vec![0.0; n], &vec![1.0; n], &bounds, &mut |x| {
                let known = Some(h.clone());
                evaluate_without_curvature(&mut function, x).map(|local| Evaluation {
                    curvature: known,
                    ..local
                })
            })
            .unwrap();
        assert!(exact.evaluations <= 12, "{n}: {exact:?}");
    }
}

/// With their scales, badly scaled variables take about as many evaluations as well scaled ones.
#[test]
fn scales_fix_bad_scaling() {
    let sizes = [1e-6, 1.0, 1e5, 1e-3];
    let mut function = |x: &[f64], g: &mut [f64]| {
        let y: Vec<f64> = x.iter().zip(sizes).map(|(x, s)| x / s).collect();
        let f = rosenbrock(&y, g);
        g.iter_mut().zip(sizes).for_each(|(g, s)| *g /= s);
        f
    };
    let start: Vec<f64> = sizes.iter().map(|s| -0.5 * s).collect();
    let end = Lbfgsb::default()
        .minimise(&start, &sizes, &[UNBOUNDED; 4], &mut |x| {
            evaluate_without_curvature(&mut function, x)
        })
        .unwrap();
    for (x, s) in end.x.iter().zip(sizes) {
        assert!((x / s - 1.0).abs() < 1e-6, "{end:?}");
    }
    let plain = run(&[-0.5; 4], &[UNBOUNDED; 4], &mut rosenbrock);
    assert!(end.evaluations.abs_diff(plain.evaluations) <= plain.evaluations / 2);
}

/// The start may lie on the bounds, outside of them or at the minimum.
#[test]
fn start_may_touch_bounds() {
    let mut bowl = |x: &[f64], g: &mut [f64]| {
        for (g, x) in g.iter_mut().zip(x) {
            *g = 2.0 * (x - 2.0);
        }
        x.iter().map(|x| (x - 2.0) * (x - 2.0)).sum()
    };
    for (start, lower, upper) in [
        ([0.0, 0.5], 0.0, 1.0),
        ([1.0, 1.0], 0.0, 1.0),
        ([9.0, -9.0], 0.0, 3.0),
        ([3.0, 3.0], 3.0, 4.0),
    ] {
        let end = run(&start, &[(lower, upper); 2], &mut bowl);
        for x in &end.x {
            assert!((x - 2.0_f64.clamp(lower, upper)).abs() < 1e-9, "{end:?}");
        }
    }
    let there = run(&[2.0, 2.0], &[UNBOUNDED; 2], &mut bowl);
    assert_eq!((there.evaluations, there.end), (1, StopReason::Gradient));
}

#[test]
fn equal_bounds_fix_variable() {
    let bounds = [UNBOUNDED, (0.3, 0.3), UNBOUNDED];
    let end = run(&[0.0; 3], &bounds, &mut rosenbrock);
    assert_eq!(end.x[1], 0.3);
    assert!(
        kkt_violation(&end.x, &bounds, &mut rosenbrock) < 1e-6,
        "{end:?}"
    );
    let all = run(&[5.0, 5.0], &[(1.0, 1.0), (2.0, 2.0)], &mut rosenbrock);
    assert_eq!((all.x, all.end), (vec![1.0, 2.0], StopReason::Gradient));
}

/// The search avoids points whose value is not finite, and refuses to start at one.
#[test]
fn search_avoids_non_finite_values() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        // Falls towards an edge beyond which there is nothing.
        let mut edge = |x: &[f64], g: &mut [f64]| {
            g[0] = -3.0 * x[0] * x[0];
            if x[0] > 1.0 { bad } else { -x[0].powi(3) }
        };
        let end = run(&[0.5], &[UNBOUNDED], &mut edge);
        assert!(
            end.x[0] <= 1.0 && end.x[0] > 0.9 && end.value.is_finite(),
            "{end:?}"
        );
        let mut gradient = |x: &[f64], g: &mut [f64]| {
            g[0] = if x[0] > 1.0 { bad } else { -1.0 };
            -x[0]
        };
        let end = run(&[0.0], &[UNBOUNDED], &mut gradient);
        assert!(end.x[0] <= 1.0 && end.value <= 0.0, "{end:?}");
        let nowhere = Lbfgsb::default().minimise(&[0.0], &[1.0], &[UNBOUNDED], &mut |x| {
            evaluate_without_curvature(&mut |_, _| bad, x)
        });
        assert_eq!(nowhere, Err(LbfgsbError::Start));
    }
}

/// With a wrong gradient the search returns the best point it has seen.
#[test]
fn wrong_gradient_returns_best_point() {
    let mut least = f64::INFINITY;
    let mut lying = |x: &[f64], g: &mut [f64]| {
        g.iter_mut()
            .enumerate()
            .for_each(|(i, g)| *g = noise(i + (1e3 * x[0]) as usize));
        let f = x.iter().map(|x| x * x).sum::<f64>() + (9.0 * x[0]).sin();
        least = least.min(f);
        f
    };
    let end = run(&[1.0, 2.0, -1.0], &[(-4.0, 4.0); 3], &mut lying);
    assert!(end.value <= least + 1e-14, "{end:?}");
}

/// The number of iterations is limited, and runs repeat bit for bit.
#[test]
fn iterations_are_limited() {
    let few = Lbfgsb {
        iterations: 3,
        ..Lbfgsb::default()
    };
    let go = || {
        few.minimise(&[-1.2, 1.0], &[1.0; 2], &[UNBOUNDED; 2], &mut |x| {
            evaluate_without_curvature(&mut rosenbrock, x)
        })
    };
    let first = go().unwrap();
    assert_eq!((first.iterations, first.end), (3, StopReason::Iterations));
    assert!(first.value < rosenbrock(&[-1.2, 1.0], &mut [0.0; 2]));
    assert_eq!(go().unwrap(), first);
}

/// Input of wrong length or value is refused with a sentence.
#[test]
fn minimise_refuses_bad_input() {
    let go = |start: &[f64], scales: &[f64], bounds: &[(f64, f64)]| {
        Lbfgsb::default().minimise(start, scales, bounds, &mut |x| {
            evaluate_without_curvature(&mut rosenbrock, x)
        })
    };
    assert!(matches!(
        go(&[0.0; 2], &[1.0], &[UNBOUNDED; 2]),
        Err(LbfgsbError::Length { .. })
    ));
    assert!(matches!(
        go(&[0.0; 2], &[1.0; 2], &[UNBOUNDED]),
        Err(LbfgsbError::Length { .. })
    ));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(
            go(&[0.0; 2], &[1.0, bad], &[UNBOUNDED; 2]),
            Err(LbfgsbError::Scale { index: 1, .. })
        ));
    }
    for bad in [(1.0, 0.0), (f64::NAN, 1.0), (f64::INFINITY, f64::INFINITY)] {
        assert!(matches!(
            go(&[0.0; 2], &[1.0; 2], &[bad, UNBOUNDED]),
            Err(LbfgsbError::Bounds { index: 0, .. })
        ));
    }
    assert_eq!(
        go(&[f64::NAN, 0.0], &[1.0; 2], &[UNBOUNDED; 2]),
        Err(LbfgsbError::Start)
    );
}
