// SPDX-License-Identifier: MIT OR Apache-2.0
//! Forces in rest axes, and repeated balances.

use super::*;

fn dot(a: &[Vec3], b: &[Vec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(b)).sum()
}

/// Returns the forces with those on held vertices set to zero.
fn clear_held(body: &Body, mut forces: Vec<Vec3>) -> Vec<Vec3> {
    for v in body.held_vertices() {
        forces[v as usize] = Vec3::zeros();
    }
    forces
}

fn linear_methods() -> impl Iterator<Item = Method> {
    Method::ALL.into_iter().filter(|m| m.is_linear())
}

/// Forces in rest axes act as world forces that are turned once by the rotation of the flesh.
#[test]
fn rest_forces_turn_with_flesh() {
    let bar = BarOptions::default();
    let body = bar.build();
    let rest = wobble_displacements(&body, 2.0);
    let gravity = settings().gravity;
    for method in Method::ALL.into_iter().filter(|m| *m != Method::Modal) {
        let mut balance = Equilibrium::new(&body, method).unwrap();
        balance.set_pose(&bent_pose(&bar, 0.9)).unwrap();
        let turns = balance.turns();
        let world: Vec<Vec3> = turns.iter().zip(&rest).map(|(r, f)| r * f).collect();
        let a = balance.solve(gravity, None, Some(&rest)).unwrap();
        let b = balance.solve(gravity, Some(&world), None).unwrap();
        assert_eq!(a, b);
        // Both kinds add up.
        let half: Vec<Vec3> = rest.iter().map(|f| f * 0.5).collect();
        let halved: Vec<Vec3> = world.iter().map(|f| f * 0.5).collect();
        let c = balance.solve(gravity, Some(&halved), Some(&half)).unwrap();
        assert!(max_difference(&a, &c) < 1e-9 * SIZE);
        // Where flesh is held by one bone it is turned by that bone.
        let tip = bar.vertex(1, 1, bar.cells_along);
        let about_x = nalgebra::Rotation3::from_axis_angle(&nalgebra::Vector3::x_axis(), 0.9);
        assert!((balance.turns()[tip] - about_x.matrix()).norm() < 1e-12);
    }
}

/// The result of a balance does not depend on earlier calls.
#[test]
fn solve_ignores_earlier_calls() {
    let bar = BarOptions::default();
    let body = bar.build();
    let (forces, rest) = (
        wobble_displacements(&body, 1.0),
        wobble_displacements(&body, 2.0),
    );
    let gravity = settings().gravity;
    for method in linear_methods() {
        let mut balance = Equilibrium::new(&body, method).unwrap();
        for angle in [0.2, 1.1, 0.7] {
            balance.set_pose(&bent_pose(&bar, angle)).unwrap();
            balance.solve(gravity, Some(&forces), None).unwrap();
            balance.adjoint(&rest).unwrap();
        }
        let (f, r) = (Some(&forces[..]), Some(&rest[..]));
        let again = balance.solve(gravity, f, r).unwrap();
        let once = equilibrium(&body, &bent_pose(&bar, 0.7), f, r, gravity, method).unwrap();
        assert_eq!(again, once);
        // A refused pose leaves the one before.
        assert!(balance.set_pose(&pose(&[Isometry3::identity()])).is_err());
        let far = pose(&[Isometry3::translation(1e12, 1e12, 1e12); 2]);
        assert!(balance.set_pose(&far).is_err());
        assert_eq!(balance.solve(gravity, f, r).unwrap(), once);
    }
}

/// The adjoint predicts how the solution changes with the forces.
#[test]
fn adjoint_matches_solution() {
    let bar = BarOptions::default();
    let body = bar.build();
    let (g, forces) = (
        wobble_displacements(&body, 3.0),
        clear_held(&body, wobble_displacements(&body, 1.0)),
    );
    for method in linear_methods() {
        let mut balance = Equilibrium::new(&body, method).unwrap();
        balance.set_pose(&bent_pose(&bar, 1.2)).unwrap();
        let adjoint = balance.adjoint(&g).unwrap();
        let none = balance.solve(Vec3::zeros(), None, None).unwrap();
        let moved = balance.solve(Vec3::zeros(), Some(&forces), None).unwrap();
        let way: Vec<Vec3> = moved.iter().zip(&none).map(|(a, b)| a - b).collect();
        // gᵀ A⁻¹ f = (A⁻ᵀ g)ᵀ f.
        let (there, back) = (dot(&g, &way), dot(&adjoint, &forces));
        assert!(
            (there - back).abs() < 1e-8 * there.abs().max(1e-3),
            "{there} {back}"
        );
        for v in body.held_vertices() {
            assert_eq!(adjoint[v as usize], Vec3::zeros());
        }
    }
    for method in [Method::NeoHookean, Method::Hyperelastic] {
        let mut balance = Equilibrium::new(&body, method).unwrap();
        assert!(matches!(
            balance.adjoint(&g),
            Err(SimulationError::Adjoint { .. })
        ));
    }
    assert!(matches!(
        Equilibrium::new(&body, Method::Modal).err(),
        Some(SimulationError::ModalBalance)
    ));
}

/// Motion under rest forces ends in the balance of these forces.
#[test]
fn rest_forces_lead_to_balance() {
    let bar = BarOptions::default();
    let body = bar.build();
    let target = bent_pose(&bar, 0.8);
    for method in linear_methods().chain([Method::Modal]) {
        let mut sim = Simulation::new(body.clone(), settings().with_method(method)).unwrap();
        let rest = wobble_displacements(&body, 1.0);
        sim.reset(&rest_pose(), true, None).unwrap();
        for i in 1..8 {
            let pose = bent_pose(&bar, 0.1 * f64::from(i));
            sim.advance(&pose, 1.0 / 24.0, None, Some(&rest)).unwrap();
        }
        for _ in 0..24 * 20 {
            sim.advance(&target, 1.0 / 24.0, None, Some(&rest)).unwrap();
        }
        let held = sim.lattice_positions().to_vec();
        sim.reset(&target, true, Some(&rest)).unwrap();
        assert!(
            max_difference(&held, sim.lattice_positions()) < 1e-8,
            "{}",
            method.name()
        );
        let settled = sim.lattice_positions().to_vec();
        sim.reset(&target, true, None).unwrap();
        assert!(max_difference(&settled, sim.lattice_positions()) > 1e-4);
    }
}

/// Rest forces grow linearly within a call and are part of the state.
#[test]
fn rest_forces_ramp_and_persist() {
    let bar = BarOptions::default();
    let body = bar.build();
    let rest = wobble_displacements(&body, 1.0);
    let part = |s: f64| rest.iter().map(|f| f * s).collect::<Vec<Vec3>>();
    for method in [Method::Warped, Method::Modal] {
        let start = || {
            let mut sim = Simulation::new(body.clone(), settings().with_method(method)).unwrap();
            sim.reset(&rest_pose(), true, None).unwrap();
            sim
        };
        // One call and two calls over half the time take the same steps.
        let (mut one, mut two) = (start(), start());
        one.advance(&rest_pose(), 0.1, None, Some(&rest)).unwrap();
        two.advance(&rest_pose(), 0.05, None, Some(&part(0.5)))
            .unwrap();
        two.advance(&rest_pose(), 0.05, None, Some(&rest)).unwrap();
        assert!(max_difference(one.lattice_positions(), two.lattice_positions()) < 1e-12);
        // Another simulation takes them over with the state.
        let (mut steady, mut other) = (start(), start());
        steady.reset(&rest_pose(), true, Some(&rest)).unwrap();
        steady
            .advance(&rest_pose(), 0.1, None, Some(&rest))
            .unwrap();
        other.restore(&steady.state()).unwrap();
        assert!(other.state() == steady.state());
        for sim in [&mut steady, &mut other] {
            sim.advance(&bent_pose(&bar, 0.2), 0.1, None, Some(&part(0.3)))
                .unwrap();
        }
        assert!(other.state() == steady.state());
        // Without rest forces in the call they fade, from equal states equally.
        let mut kept = start();
        kept.restore(&one.state()).unwrap();
        for sim in [&mut one, &mut kept] {
            sim.advance(&bent_pose(&bar, 0.2), 0.1, None, None).unwrap();
        }
        assert!(one.state() == kept.state());
        assert!(one.state().len() < steady.state().len());
    }
}
