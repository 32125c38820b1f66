// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modal warping on a moving skeleton.

use super::*;
use crate::modal::Modes;
use crate::skeleton::Affine;
use nalgebra::Rotation3;

/// Builds a simulation of a body with its 24 lowest modes.
fn modal_simulation(body: &Arc<Body>, settings: SimulationSettings) -> Simulation {
    let modes = Modes::for_body(body, 24, &crate::progress::Silent).unwrap();
    Simulation::with_modes(body.clone(), Arc::new(modes), settings).unwrap()
}

fn moved_pose(by: &Affine) -> Pose {
    Pose::new(vec![*by; 2]).unwrap()
}

fn max_bone_distance(body: &Body, sim: &Simulation, pose: &Pose) -> f64 {
    let held = body
        .bone_of_vertex()
        .iter()
        .zip(body.rest_shape())
        .zip(sim.lattice_positions());
    held.filter_map(|((bone, x), p)| bone.map(|b| (pose.maps()[b as usize].apply(*x) - p).norm()))
        .fold(0.0, f64::max)
}

/// At rest nothing moves, and in motion the vertices on bones follow them exactly.
#[test]
fn modal_rest_and_bones_are_exact() {
    let bar = BarOptions::default();
    let body = bar.build();
    let mut sim = modal_simulation(&body, settings());
    sim.reset(&rest_pose(), true, None).unwrap();
    for _ in 0..10 {
        sim.advance(&rest_pose(), 1.0 / 24.0, None, None).unwrap();
    }
    assert!(max_difference(sim.lattice_positions(), body.rest_shape()) < 1e-12);
    for i in 1..12 {
        let pose = bent_pose(&bar, 0.1 * f64::from(i));
        sim.advance(&pose, 1.0 / 24.0, None, None).unwrap();
        assert!(max_bone_distance(&body, &sim, &pose) < 1e-12);
    }
}

/// Uniform travel excites no modes, and after a stop the modes swing and come to rest.
#[test]
fn modal_rigid_motion_is_free() {
    let body = BarOptions::default().build();
    let mut sim = modal_simulation(&body, settings());
    let carried = |i: usize| {
        moved_pose(&Affine {
            linear: crate::Mat3::identity(),
            translation: Vec3::new(2.0, -1.0, 0.5) * (i as f64 / 24.0),
        })
    };
    sim.reset(&carried(0), true, None).unwrap();
    for i in 1..48 {
        sim.advance(&carried(i), 1.0 / 24.0, None, None).unwrap();
        assert!(sim.amplitudes().unwrap().iter().all(|q| q.abs() < 1e-9));
    }
    // After the stop the flesh swings and comes to rest.
    let mut peak = 0.0f64;
    for _ in 0..240 {
        sim.advance(&carried(47), 1.0 / 24.0, None, None).unwrap();
        let swing = sim
            .amplitudes()
            .unwrap()
            .iter()
            .map(|q| q * q)
            .sum::<f64>()
            .sqrt();
        peak = peak.max(swing);
    }
    let left = sim
        .amplitudes()
        .unwrap()
        .iter()
        .map(|q| q * q)
        .sum::<f64>()
        .sqrt();
    assert!(peak > 1e-3 && left < 1e-3 * peak, "{peak} {left}");
}

/// A turned and moved scene has the same motion, turned and moved.
#[test]
fn modal_motion_is_rigidly_invariant() {
    let bar = BarOptions::default();
    let body = bar.build();
    let turn = Affine {
        linear: Rotation3::from_euler_angles(0.4, -1.1, 2.0).into_inner(),
        translation: Vec3::new(30.0, -20.0, 5.0),
    };
    let run = |by: &Affine, gravity: Vec3| {
        let settings = SimulationSettings {
            gravity,
            ..settings()
        };
        let mut sim = modal_simulation(&body, settings);
        sim.reset(&bent_pose(&bar, 0.0).apply_map(by), true, None)
            .unwrap();
        for i in 1..20 {
            let angle = 0.8 * (0.3 * f64::from(i)).sin();
            sim.advance(
                &bent_pose(&bar, angle).apply_map(by),
                1.0 / 24.0,
                None,
                None,
            )
            .unwrap();
        }
        sim.lattice_positions().to_vec()
    };
    // The modelled shape sags in the rest pose's own direction, so gravity is left out.
    let plain = run(&Affine::identity(), Vec3::zeros());
    let turned = run(&turn, Vec3::zeros());
    let back: Vec<Vec3> = plain.iter().map(|p| turn.apply(*p)).collect();
    assert!(max_difference(&turned, &back) < 1e-8);
}

/// Twice as many steps hardly change the motion.
#[test]
fn modal_motion_converges() {
    let bar = BarOptions::default();
    let body = bar.build();
    let run = |rate: f64| {
        let mut sim = modal_simulation(&body, SimulationSettings { rate, ..settings() });
        sim.reset(&rest_pose(), true, None).unwrap();
        let mut path = Vec::new();
        for i in 1..40 {
            let angle = 0.9 * (0.35 * f64::from(i)).sin();
            sim.advance(&bent_pose(&bar, angle), 1.0 / 24.0, None, None)
                .unwrap();
            path.extend(sim.amplitudes().unwrap().to_vec());
        }
        path
    };
    let fine = run(1920.0);
    let size = fine.iter().map(|q| q.abs()).fold(0.0, f64::max);
    let error = |path: Vec<f64>| {
        let far = path.iter().zip(&fine).map(|(a, b)| (a - b).abs());
        far.fold(0.0, f64::max) / size
    };
    let (coarse, medium) = (error(run(120.0)), error(run(240.0)));
    assert!(medium < 0.02 && medium < 0.4 * coarse, "{coarse} {medium}");
}

/// A modal state can be restored, and scaled modes equal those of stiffer flesh.
#[test]
fn modal_state_and_scaling() {
    let bar = BarOptions::default();
    let body = bar.build();
    let mut sim = modal_simulation(&body, settings());
    sim.reset(&rest_pose(), true, None).unwrap();
    sim.advance(&bent_pose(&bar, 0.4), 1.0 / 24.0, None, None)
        .unwrap();
    let kept = sim.state();
    assert_eq!(kept.len(), 120 + 16 * 24 + 24 * body.node_count() + 192 * 2);
    let mut other = modal_simulation(&body, settings());
    other.restore(&kept).unwrap();
    assert_eq!(other.lattice_positions(), sim.lattice_positions());
    assert_eq!(other.lattice_velocities(), sim.lattice_velocities());
    for s in [&mut sim, &mut other] {
        s.advance(&bent_pose(&bar, 0.7), 1.0 / 24.0, None, None)
            .unwrap();
    }
    assert_eq!(other.lattice_positions(), sim.lattice_positions());
    let mut warped = Simulation::new(body.clone(), settings().with_method(Method::Warped)).unwrap();
    assert!(warped.restore(&kept).is_err());

    let soft = Modes::for_body(&body, 8, &crate::progress::Silent).unwrap();
    let stiffer = Arc::new(body.with_scaled_stiffness(3.0).unwrap());
    let hard: Modes = Modes::for_body(&stiffer, 8, &crate::progress::Silent).unwrap();
    // They may drive the stiffer body, and no body of other flesh.
    let scaled = soft.scale_stiffness(3.0).unwrap();
    assert!(Simulation::with_modes(stiffer, Arc::new(scaled.clone()), settings()).is_ok());
    let longer = BarOptions {
        length: 2.0,
        ..BarOptions::default()
    };
    let other = Simulation::with_modes(longer.build(), Arc::new(scaled.clone()), settings());
    assert!(matches!(
        other.err(),
        Some(SimulationError::OtherModes { .. })
    ));
    for (a, b) in scaled.eigenvalues().iter().zip(hard.eigenvalues()) {
        approx::assert_relative_eq!(a, b, max_relative = 1e-8);
    }
}

/// Builds a simulation with all modes, so that small motions are those of the lattice.
fn all_modes(body: &Arc<Body>, settings: SimulationSettings) -> Simulation {
    let modes = Modes::for_body(body, body.free_dofs(), &crate::progress::Silent).unwrap();
    Simulation::with_modes(body.clone(), Arc::new(modes), settings).unwrap()
}

/// Returns the largest difference within the pairs of shapes, as a part of the largest displacement of the first
/// ones.
fn relative_difference(pairs: &[[Vec<Vec3>; 2]]) -> f64 {
    let still = vec![Vec3::zeros(); pairs[0][0].len()];
    let apart = pairs.iter().map(|[a, b]| max_difference(a, b));
    let off = pairs.iter().map(|[a, _]| max_difference(a, &still));
    apart.fold(0.0, f64::max) / off.fold(0.0, f64::max)
}

fn subtract(a: &[Vec3], b: &[Vec3]) -> Vec<Vec3> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// Shaken flesh whose rest shape includes gravity moves as it does by the warped method.
#[test]
fn modal_shake_matches_warped() {
    let body = BarOptions::default().build();
    let fine = SimulationSettings {
        rate: 3840.0,
        ..settings()
    };
    let mut sims = [
        Simulation::new(body.clone(), fine.with_method(Method::Warped)).unwrap(),
        all_modes(&body, fine),
    ];
    let mut skin = SkinnedLattice::new(&body).unwrap();
    let pairs: Vec<_> = (0..24)
        .map(|i| {
            let t = f64::from(i) / 24.0;
            let turn = Rotation3::from_euler_angles(0.004 * (7.0 * t).sin(), 0.002, 0.0);
            let pose = moved_pose(&Affine {
                linear: turn.into_inner(),
                translation: Vec3::y() * 0.004 * (9.0 * t).sin(),
            });
            for sim in &mut sims {
                match i {
                    0 => sim.reset(&pose, true, None).unwrap(),
                    _ => sim.advance(&pose, 1.0 / 24.0, None, None).unwrap(),
                }
            }
            skin.set(&body, Method::Warped, &pose).unwrap();
            let offsets = |sim: &Simulation| subtract(sim.lattice_positions(), &skin.places);
            [offsets(&sims[0]), offsets(&sims[1])]
        })
        .collect();
    let (settled, moving) = (
        relative_difference(&pairs[..1]),
        relative_difference(&pairs),
    );
    assert!(settled < 0.01 && moving < 0.01, "{settled} {moving}");
}

/// Bent flesh whose rest shape includes gravity sags as it does by the warped method.
#[test]
fn modal_sag_matches_warped() {
    let bar = BarOptions::default();
    let body = bar.build();
    let pose = bent_pose(&bar, 0.02);
    let sag = |method| {
        let settled = |gravity| {
            let settings = SimulationSettings {
                gravity,
                ..settings()
            };
            let mut sim = match method {
                Method::Modal => all_modes(&body, settings),
                method => Simulation::new(body.clone(), settings.with_method(method)).unwrap(),
            };
            sim.reset(&pose, true, None).unwrap();
            sim.lattice_positions().to_vec()
        };
        subtract(&settled(settings().gravity), &settled(Vec3::zeros()))
    };
    let apart = relative_difference(&[[sag(Method::Warped), sag(Method::Modal)]]);
    assert!(apart < 0.01, "{apart}");
}
