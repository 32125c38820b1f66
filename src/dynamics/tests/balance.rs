// SPDX-License-Identifier: MIT OR Apache-2.0
//! Static equilibrium: what motion ends in, and its inverse.

use super::*;

#[test]
fn motion_ends_in_equilibrium() {
    let bar = BarOptions::default();
    let body = bar.build();
    // The modal method has no balance of lattice vertices.
    for method in Method::ALL.into_iter().filter(|m| *m != Method::Modal) {
        // Fewer steps where each is a minimisation, and no blow that would turn St. Venant-Kirchhoff flesh inside out.
        let (rate, force, frames) = match method.model() {
            Some(_) => (48.0, 0.5, 8),
            None => (240.0, 2.0, 1),
        };
        let settings = Settings { rate, ..settings() };
        let mut sim = Simulation::new(body.clone(), method, settings).unwrap();
        sim.reset(&still(), true, None).unwrap();
        let target = bent(&bar, 0.8);
        let forces = wobbly(&body, force);
        for i in 1..frames {
            let pose = bent(&bar, 0.8 * f64::from(i) / f64::from(frames));
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
            .zip(body.lattice().vertices())
            .map(|(q, x)| q + x)
            .collect();
        let before = largest(&first, &p);
        let after = largest(&hold(3), &p);
        assert!(after < 0.05 * before && before > 1e-3, "{before} {after}");
        assert!(largest(&hold(16), &p) < 1e-8);
    }
}

#[test]
fn forces_and_equilibrium_are_inverse() {
    let bar = BarOptions::default();
    let body = bar.build();
    // The modal method has no balance of lattice vertices.
    for method in Method::ALL.into_iter().filter(|m| *m != Method::Modal) {
        let p = bent(&bar, 1.1);
        let forces = wobbly(&body, 5.0);
        let q = equilibrium(&body, &p, Some(&forces), None, settings().gravity, method).unwrap();
        let back = equilibrium_forces(&body, &p, &q, settings().gravity, method).unwrap();
        for v in 0..body.dofs() {
            match body.bone_of_vertex()[v] {
                Some(_) => assert_eq!(back[v], Vec3::zeros()),
                None => assert!((back[v] - forces[v]).norm() < 1e-9 * 5.0),
            }
        }
    }
}
