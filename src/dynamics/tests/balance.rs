// SPDX-License-Identifier: MIT OR Apache-2.0
//! Static equilibrium as the end of motion, and its inverse.

use super::*;
use crate::solve::NewtonError;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn motion_ends_in_equilibrium() {
    let bar = BarOptions::default();
    let body = bar.build();
    // The modal method has no balance of lattice vertices; that of regions depends on steps.
    let has_one = |m: &Method| *m != Method::Modal && !m.has_regions();
    for method in Method::ALL.into_iter().filter(has_one) {
        // Fewer steps where each is a minimisation, and no blow that would invert St. Venant-Kirchhoff flesh.
        let (rate, force, skinned) = match method.model() {
            Some(_) => (48.0, 0.5, 8),
            None => (240.0, 2.0, 1),
        };
        // The damping is so small that a second is not enough.
        let settings = SimulationSettings {
            rate,
            mass_damping: Some(2.0),
            ..settings()
        };
        let mut sim = Simulation::new(body.clone(), settings.with_method(method)).unwrap();
        sim.reset(&rest_pose(), true, None).unwrap();
        let target = bent_pose(&bar, 0.8);
        let forces = wobble_displacements(&body, force);
        for i in 1..skinned {
            let pose = bent_pose(&bar, 0.8 * f64::from(i) / f64::from(skinned));
            sim.advance(&pose, 1.0 / 24.0, Some(&forces), None).unwrap();
        }
        let mut hold = |seconds: u32| {
            for _ in 0..24 * seconds {
                sim.advance(&target, 1.0 / 24.0, Some(&forces), None)
                    .unwrap();
            }
            sim.lattice_positions().to_vec()
        };
        let first = hold(1);
        let q = equilibrium(
            &body,
            &target,
            Some(&forces),
            None,
            settings.gravity,
            method,
        )
        .unwrap();
        let p: Vec<Vec3> = q
            .iter()
            .zip(body.rest_shape())
            .map(|(q, x)| q + x)
            .collect();
        let before = max_difference(&first, &p);
        let after = max_difference(&hold(3), &p);
        assert!(after < 0.05 * before && before > 1e-3, "{before} {after}");
        assert!(max_difference(&hold(16), &p) < 1e-8);
    }
}

/// The forces that are computed from an equilibrium are those that produced it.
#[test]
fn equilibrium_forces_invert_equilibrium() {
    let bar = BarOptions::default();
    let body = bar.build();
    // The modal method has no balance of lattice vertices.
    for method in Method::ALL.into_iter().filter(|m| *m != Method::Modal) {
        let p = bent_pose(&bar, 1.1);
        let forces = wobble_displacements(&body, 5.0);
        let q = equilibrium(&body, &p, Some(&forces), None, settings().gravity, method).unwrap();
        let back = equilibrium_forces(&body, &p, &q, settings().gravity, method).unwrap();
        for v in 0..body.node_count() {
            match body.bone_of_vertex()[v] {
                Some(_) => assert_eq!(back[v], Vec3::zeros()),
                None => assert!((back[v] - forces[v]).norm() < 1e-9 * 5.0),
            }
        }
    }
}

/// A nonlinear balance that is cancelled stops at once and keeps the state.
#[test]
fn nonlinear_balance_cancels_at_once() {
    let bar = BarOptions::default();
    let body = bar.build();
    let (pose, gravity) = (bent_pose(&bar, 0.9), settings().gravity);
    for method in [Method::Hyperelastic, Method::Nonlinear, Method::NeoHookean] {
        let mut balance = Equilibrium::new(&body, method).unwrap();
        balance.set_pose(&pose).unwrap();
        let calls = AtomicUsize::new(0);
        let free = |_: f64, _: &str| {
            calls.fetch_add(1, Ordering::Relaxed);
            true
        };
        let whole = balance
            .solve_with_progress(gravity, (None, None), &free)
            .unwrap();
        let whole_calls = calls.swap(0, Ordering::Relaxed);
        assert!(whole_calls > 2, "{method:?}");
        // Cancelled at any of these calls, the balance makes no further call and can be repeated.
        for stop in 1..whole_calls {
            calls.store(0, Ordering::Relaxed);
            let until = |_: f64, _: &str| calls.fetch_add(1, Ordering::Relaxed) + 1 < stop;
            let error = balance
                .solve_with_progress(gravity, (None, None), &until)
                .unwrap_err();
            assert!(is_stop(&error), "{method:?} {error}");
            assert_eq!(calls.load(Ordering::Relaxed), stop, "{method:?}");
        }
        assert_eq!(balance.solve(gravity, None, None).unwrap(), whole);

        let mut sim = Simulation::new(body.clone(), settings().with_method(method)).unwrap();
        sim.reset(&rest_pose(), true, None).unwrap();
        let before = sim.state();
        let error = sim
            .reset_with_progress(&pose, true, None, &|_: f64, _: &str| false)
            .unwrap_err();
        assert!(is_stop(&error), "{method:?} {error}");
        assert_eq!(sim.state(), before);
    }
}

fn is_stop(error: &SimulationError) -> bool {
    matches!(
        error,
        SimulationError::Cancelled(_) | SimulationError::Newton(NewtonError::Cancelled(_))
    )
}
