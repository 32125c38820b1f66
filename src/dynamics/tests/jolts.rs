// SPDX-License-Identifier: MIT OR Apache-2.0
//! Swing of flesh whose bones stop, compared with exact (neo-Hookean) flesh of the same body.

use super::*;
use crate::elasticity::Material;

fn material(young: f64) -> Material {
    Material::new(young, 0.4, 1000.0).unwrap()
}

/// Returns a bar of flesh that swings at about `scale⁻½` times 3 Hz.
fn bar(scale: f64) -> BarOptions {
    BarOptions {
        cells_along: 4,
        length: 0.8 * scale,
        half: 0.15 * scale,
        material: material(20e3 * scale),
        ..Default::default()
    }
}

fn shifted_pose(x: f64) -> Pose {
    let to = Isometry3::from_parts(Translation3::new(x, 0.0, 0.0), UnitQuaternion::identity());
    pose(&[to; 2])
}

/// Returns the settings of a body `scale` times as large, whose motion looks the same at √scale times the speed.
fn scaled_settings(scale: f64, rate: f64) -> SimulationSettings {
    let time = scale.sqrt();
    SimulationSettings {
        rate: rate / time,
        gravity: Vec3::zeros(),
        mass_damping: Some(2.0 / time),
        stiffness_damping: Some(0.004 * time),
        ..settings()
    }
}

/// Returns the largest sway of a vertex, as a part of the size, and the number of steps that did not converge. The
/// bones move at `speed` m/s for a quarter of a second and stop, in frames of `1/fps` s; times and speeds are those
/// at scale 1.
fn simulate_swing(method: Method, speed: f64, scale: f64, (fps, rate): (f64, f64)) -> (f64, usize) {
    let bar = bar(scale);
    let body = bar.build();
    let time = scale.sqrt();
    let mut sim = Simulation::new(
        body.clone(),
        scaled_settings(scale, rate).with_method(method),
    )
    .unwrap();
    sim.reset(&shifted_pose(0.0), false, None).unwrap();
    let (mut x, mut farthest) = (0.0, 0.0f64);
    let frames = |seconds: f64| (seconds * fps).round() as usize;
    for i in 0..frames(0.75) {
        if i < frames(0.25) {
            x += speed * time * time / fps;
        }
        let target = shifted_pose(x);
        let line =
            FrameMotion::from_endpoints(body.skeleton(), sim.pose().unwrap(), &target).unwrap();
        sim.advance_motion(&line, time / fps, (None, None), &crate::progress::Silent)
            .unwrap();
        let rest = body.rest_shape();
        let sway = sim.lattice_positions().iter().zip(rest);
        let sway = sway.map(|(p, r)| (p - r - Vec3::x() * x).norm());
        farthest = sway.fold(farthest, f64::max);
    }
    (farthest / body.size(), sim.unconverged_steps())
}

/// After a jolt flesh sways about as far as exact neo-Hookean flesh, and farther for a harder stop.
#[test]
fn jolt_sway_matches_exact() {
    let mut before = 0.0;
    for speed in [0.3, 0.8, 1.2, 2.0, 3.0, 5.0, 8.0, 12.0] {
        let (ours, unconverged) = simulate_swing(Method::Hyperelastic, speed, 1.0, (240.0, 240.0));
        assert_eq!(unconverged, 0);
        assert!(ours > before, "{speed}: {ours} {before}");
        before = ours;
        let within = match speed {
            s if s <= 1.2 => 0.2,
            s if s <= 2.0 => 0.35,
            _ => continue,
        };
        let (exact, _) = simulate_swing(Method::NeoHookean, speed, 1.0, (240.0, 240.0));
        let ratio = ours / exact;
        assert!((ratio - 1.0).abs() < within, "{speed}: {ours} {exact}");
    }
}

/// Flesh of any size sways alike if the speed is proportional to the root of the size.
#[test]
fn jolt_sway_ignores_size() {
    for speed in [0.3, 1.2, 3.0] {
        let of = |scale| simulate_swing(Method::Hyperelastic, speed, scale, (240.0, 240.0)).0;
        let usual = of(1.0);
        for scale in [0.1, 10.0] {
            assert!((of(scale) / usual - 1.0).abs() < 1e-3, "{speed} {scale}");
        }
    }
}

/// Steps four times as short hardly change the sway.
#[test]
fn jolt_sway_ignores_step_rate() {
    for method in [Method::Hyperelastic, Method::Warped, Method::NeoHookean] {
        let of = |rate| simulate_swing(method, 0.8, 1.0, (24.0, rate)).0;
        let ratio = of(240.0) / of(960.0);
        assert!((ratio - 1.0).abs() < 0.02, "{method:?}: {ratio}");
    }
}

/// A shaking joint sways flesh as it does by the warped method.
#[test]
fn shaken_joint_matches_warped() {
    let bar = BarOptions {
        material: material(200e3),
        ..Default::default()
    };
    let body = bar.build();
    let still = bent_pose(&bar, 0.0);
    let run = |method| {
        let settings = SimulationSettings {
            gravity: Vec3::zeros(),
            ..settings()
        };
        let mut sim = Simulation::new(body.clone(), settings.with_method(method)).unwrap();
        sim.reset(&still, true, None).unwrap();
        let mut path = Vec::new();
        for i in 1..=48 {
            let angle = 0.03 * (f64::from(i) * 0.5).sin();
            let to = bent_pose(&bar, angle);
            let line =
                FrameMotion::from_endpoints(body.skeleton(), sim.pose().unwrap(), &to).unwrap();
            sim.advance_motion(&line, 1.0 / 48.0, (None, None), &crate::progress::Silent)
                .unwrap();
            let bend = equilibrium(&body, &to, None, None, Vec3::zeros(), Method::Warped).unwrap();
            let rest = body.rest_shape().iter().zip(bend);
            let places = sim.lattice_positions().iter().zip(rest);
            path.extend(places.map(|(p, (x, q))| p - x - q));
        }
        path
    };
    let (ours, warped) = (run(Method::Hyperelastic), run(Method::Warped));
    let size = |path: &[Vec3]| path.iter().map(|u| u.norm()).fold(0.0, f64::max);
    let off: Vec<Vec3> = ours.iter().zip(&warped).map(|(a, b)| a - b).collect();
    let (own, off) = (size(&warped), size(&off));
    assert!(own > 1e-4 && off < 0.05 * own, "{own} {off}");
}

/// A state that is restored between two bends continues with the same bits.
#[test]
fn state_between_bends_keeps_bits() {
    let bar = BarOptions::default();
    let body = bar.build();
    let new =
        || Simulation::new(body.clone(), settings().with_method(Method::Hyperelastic)).unwrap();
    let mut sim = new();
    sim.reset(&rest_pose(), true, None).unwrap();
    for i in 1..4 {
        let to = bent_pose(&bar, 0.3 * f64::from(i));
        sim.advance(&to, 1.0 / 24.0, None, None).unwrap();
    }
    let mut other = new();
    other.restore(&sim.state()).unwrap();
    for one in [&mut sim, &mut other] {
        one.advance(&bent_pose(&bar, 0.7), 1.0 / 24.0, None, None)
            .unwrap();
    }
    assert!(sim.state() == other.state());
}

/// With default damping swings end within 1.25 s, for any size and softness.
#[test]
fn default_damping_ends_swings() {
    for (scale, young) in [
        (1.0, 20e3),
        (1.0, 2e3),
        (1.0, 200e3),
        (10.0, 200e3),
        (0.2, 4e3),
    ] {
        let bar = BarOptions {
            material: material(young),
            ..self::bar(scale)
        };
        let body = bar.build();
        let (mass_damping, stiffness_damping) = default_damping(&body).unwrap();
        assert!(mass_damping > 0.0 && stiffness_damping > 0.0);
        let settings = SimulationSettings {
            rate: 960.0,
            gravity: Vec3::zeros(),
            mass_damping: Some(mass_damping),
            stiffness_damping: Some(stiffness_damping),
            ..settings()
        };
        let mut sim =
            Simulation::new(body.clone(), settings.with_method(Method::Hyperelastic)).unwrap();
        let weights = vec![Vec3::x() * 2.0; body.node_count()];
        let forces: Vec<Vec3> = (0..body.node_count())
            .map(|v| body.mass_matrix().row_times(v, &weights))
            .collect();
        sim.reset_with_forces(
            &rest_pose(),
            true,
            (Some(&forces), None),
            &crate::progress::Silent,
        )
        .unwrap();
        let far = |sim: &Simulation| max_difference(sim.lattice_positions(), body.rest_shape());
        let first = far(&sim);
        let mut last = 0.0;
        for i in 1..=360 {
            sim.advance(&rest_pose(), 1.0 / 240.0, None, None).unwrap();
            if far(&sim) > 0.05 * first {
                last = f64::from(i) / 240.0;
            }
        }
        assert!((0.05..1.25).contains(&last), "{scale} {young}: {last} s");
    }
}
