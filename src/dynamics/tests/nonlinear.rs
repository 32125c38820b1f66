// SPDX-License-Identifier: MIT OR Apache-2.0
//! The nonlinear methods on bodies with bones.

use super::*;
use crate::clip::{ClipError, ClipSettings};
use crate::progress::Silent;
use crate::shot::Shot;

const METHODS: [Method; 2] = [Method::Nonlinear, Method::NeoHookean];

/// Returns a rotation and a shift of everything.
fn rigid_motion(angle: Vec3, shift: Vec3) -> Isometry3<f64> {
    Isometry3::from_parts(shift.into(), UnitQuaternion::from_scaled_axis(angle))
}

fn node_positions(q: &[Vec3], body: &Body) -> Vec<Vec3> {
    let rest = body.rest_shape();
    q.iter().zip(rest).map(|(q, x)| q + x).collect()
}

/// Small displacements equal those of the warped method.
#[test]
fn small_displacements_match_warped() {
    let bar = BarOptions::default();
    let body = bar.build();
    let target = bent_pose(&bar, 1e-4);
    let forces = wobble_displacements(&body, 1e-4);
    let run = |method| {
        equilibrium(
            &body,
            &target,
            Some(&forces),
            None,
            settings().gravity,
            method,
        )
        .unwrap()
    };
    let warped = run(Method::Warped);
    let size = warped.iter().map(|q| q.norm()).fold(0.0, f64::max);
    for method in METHODS {
        assert!(max_difference(&run(method), &warped) < 1e-2 * size);
    }
}

/// A character that is turned and moved far away has the same shape.
#[test]
fn nonlinear_is_rigidly_invariant() {
    let bar = BarOptions::default();
    let body = bar.build();
    let pose = bent_pose(&bar, 1.2);
    let whole = rigid_motion(Vec3::new(0.0, 0.0, 2.2), Vec3::new(300.0, -200.0, 10.0));
    let carried = pose.apply_map(&crate::skeleton::Affine {
        linear: whole.rotation.to_rotation_matrix().into_inner(),
        translation: whole.translation.vector,
    });
    for method in METHODS {
        let run = |pose: &Pose| {
            node_positions(
                &equilibrium(&body, pose, None, None, settings().gravity, method).unwrap(),
                &body,
            )
        };
        let here: Vec<Vec3> = run(&pose)
            .iter()
            .map(|p| (whole * nalgebra::Point3::from(*p)).coords)
            .collect();
        assert!(max_difference(&run(&carried), &here) < 1e-7);
    }
}

/// Bent flesh is in equilibrium, and its vertices on bones are in place.
#[test]
fn bent_flesh_balances() {
    let bar = BarOptions::default();
    let body = bar.build();
    for angle in [0.7, 1.5, 2.2] {
        let pose = bent_pose(&bar, angle);
        for method in METHODS {
            let q = equilibrium(&body, &pose, None, None, settings().gravity, method).unwrap();
            let left = equilibrium_forces(&body, &pose, &q, settings().gravity, method).unwrap();
            assert!(left.iter().all(|f| f.norm() < 1e-8));
            for v in body.bone_vertices() {
                let bone = body.bone_of_vertex()[v as usize].unwrap();
                let x = body.rest_shape()[v as usize];
                let place = pose.maps()[bone as usize].apply(x);
                assert!((q[v as usize] + x - place).norm() < 1e-14);
            }
            assert!(
                body.elements().inverted_piece_count(&q) < body.blocks().len() / 10,
                "{method:?} {angle}"
            );
        }
    }
}

/// Flesh stays finite while the pose jumps.
#[test]
fn pose_jumps_stay_finite() {
    let bar = BarOptions::default();
    let body = bar.build();
    for method in METHODS {
        let settings = SimulationSettings {
            rate: 60.0,
            ..settings()
        };
        let mut sim = Simulation::new(body.clone(), settings.with_method(method)).unwrap();
        sim.reset(&rest_pose(), true, None).unwrap();
        for angle in [2.9, -2.5, 0.0] {
            sim.advance(&bent_pose(&bar, angle), 1.0 / 24.0, None, None)
                .unwrap();
            assert!(sim.lattice_positions().iter().all(|p| p.norm() < 10.0));
        }
        for _ in 0..72 {
            sim.advance(&rest_pose(), 1.0 / 24.0, None, None).unwrap();
        }
        let rest = body.rest_shape();
        let off = max_difference(sim.lattice_positions(), rest);
        // St. Venant-Kirchhoff flesh that such blows invert stays inverted; neo-Hookean flesh comes back.
        assert!(
            off < if method == Method::NeoHookean {
                0.005
            } else {
                1.0
            },
            "{off}"
        );
    }
}

/// A step that does not converge keeps the state, and the error of a clip names the frame.
#[test]
fn divergence_keeps_state() {
    let bar = BarOptions::default();
    let body = bar.build();
    for method in METHODS {
        let mut sim = Simulation::new(body.clone(), settings().with_method(method)).unwrap();
        sim.reset(&rest_pose(), true, None).unwrap();
        let before = sim.state();
        let huge = vec![Vec3::repeat(1e99); body.node_count()];
        let error = sim
            .advance(&rest_pose(), 1.0 / 240.0, Some(&huge), None)
            .unwrap_err();
        assert!(
            matches!(
                error,
                SimulationError::Newton(_) | SimulationError::NonFinite { .. }
            ),
            "{error}"
        );
        assert_eq!(sim.state(), before);
        sim.advance(&bent_pose(&bar, 0.1), 1.0 / 24.0, None, None)
            .unwrap();

        // The error of a clip names the frame.
        let far = pose(&[rigid_motion(Vec3::zeros(), Vec3::repeat(1e11)); 2]);
        let settings = ClipSettings::new(24.0, super::settings().with_method(method));
        let poses = vec![rest_pose(), bent_pose(&bar, 0.1), bent_pose(&bar, 0.2), far];
        match Shot::new(body.clone(), poses, settings).simulate_with_forces(None, &Silent) {
            Ok(clip) => assert_eq!(clip.len(), 4),
            Err(ClipError::Frame { frame, .. }) => assert!(frame > 0),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Heavy damping does not hold back flesh that moves rigidly with its bones.
#[test]
fn nonlinear_rigid_motion_has_no_drag() {
    // Without elastic response to be seen: heavy damping does not hold back flesh that moves as its bones do.
    let body = BarOptions::default().build();
    for method in METHODS {
        let free = SimulationSettings {
            gravity: Vec3::zeros(),
            mass_damping: Some(50.0),
            stiffness_damping: Some(0.1),
            rate: 24.0,
            ..settings()
        };
        let mut sim = Simulation::new(body.clone(), free.with_method(method)).unwrap();
        sim.reset(&rest_pose(), true, None).unwrap();
        for i in 1..=24 {
            let at = rigid_motion(Vec3::zeros(), Vec3::new(0.1, 0.02, 0.0) * f64::from(i));
            sim.advance(&pose(&[at; 2]), 1.0 / 24.0, None, None)
                .unwrap();
        }
        let last = Vec3::new(0.1, 0.02, 0.0) * 24.0;
        let carried: Vec<Vec3> = body.rest_shape().iter().map(|x| x + last).collect();
        assert!(max_difference(sim.lattice_positions(), &carried) < 1e-9);
    }
}
