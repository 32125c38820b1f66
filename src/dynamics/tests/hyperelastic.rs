// SPDX-License-Identifier: MIT OR Apache-2.0
//! The default method: near rest it equals the warped one, far from rest it stays stable.

use super::*;
use crate::clip::ClipSettings;
use crate::present::{OutputSpace, Presenter, SurfaceId};
use crate::progress::Silent;
use crate::shot::Shot;

/// Returns the farthest sway of a bar that turns about the end of its bone: it reaches `turns` per second in one second
/// and turns at that speed for two more.
fn max_spin_sway(body: &Arc<Body>, method: Method, turns: f64) -> f64 {
    let fps = 48.0;
    let pose_at = |t: f64| {
        let angle = if t < 1.0 { 0.5 * t * t } else { t - 0.5 };
        let turn = UnitQuaternion::from_axis_angle(
            &nalgebra::Vector3::x_axis(),
            std::f64::consts::TAU * turns * angle,
        );
        pose(&[Isometry3::from_parts(Translation3::identity(), turn); 2])
    };
    let poses: Vec<Pose> = (0..(3.0 * fps) as usize)
        .map(|i| pose_at(i as f64 / fps))
        .collect();
    let free = SimulationSettings {
        gravity: Vec3::zeros(),
        ..settings().with_method(method)
    };
    let shot = Shot::new(body.clone(), poses.clone(), ClipSettings::new(fps, free));
    let (clip, _) = shot.simulate(&Silent).unwrap();
    let mut skinned = SkinnedLattice::new(body).unwrap();
    let mut farthest: f64 = 0.0;
    for (i, pose) in poses.iter().enumerate() {
        skinned.set(body, method, pose).unwrap();
        let lattice = clip.lattice(i as i64);
        for v in 0..body.node_count() {
            farthest = farthest.max((lattice.world(v) - skinned.places[v]).norm());
        }
    }
    farthest / SIZE
}

/// Flesh that turns fast sways about as far as neo-Hookean flesh at most, and far less than by the warped method.
#[test]
fn fast_turn_stays_bounded() {
    let body = BarOptions {
        cells_along: 4,
        length: 0.8,
        half: 0.15,
        ..Default::default()
    }
    .build();
    for turns in [1.0, 2.0, 4.0, 8.0] {
        let ours = max_spin_sway(&body, Method::Hyperelastic, turns);
        let exact = max_spin_sway(&body, Method::NeoHookean, turns);
        assert!(ours < 1.2 * exact, "{turns}: {ours} {exact}");
        assert!(ours < 1.0, "{turns}: {ours}");
    }
    // The warped method sways far more.
    let lost = max_spin_sway(&body, Method::Warped, 8.0);
    assert!(
        lost > 3.0 * max_spin_sway(&body, Method::Hyperelastic, 8.0),
        "{lost}"
    );
}

/// Small motion equals that of the warped method.
#[test]
fn small_motion_matches_warped() {
    let bar = BarOptions::default();
    let body = bar.build();
    let run = |method| {
        let mut sim = Simulation::new(body.clone(), settings().with_method(method)).unwrap();
        sim.reset(&rest_pose(), true, None).unwrap();
        let mut path = Vec::new();
        for i in 1..=24 {
            // The drag is quadratic: a share of the motion that grows with it.
            let shake = 0.0001 * (f64::from(i) * 0.9).sin();
            let target = pose(
                &[Isometry3::from_parts(
                    Translation3::new(shake, 0.0, 0.0),
                    UnitQuaternion::identity(),
                ); 2],
            );
            sim.advance(&target, 1.0 / 24.0, None, None).unwrap();
            path.extend(
                sim.lattice_positions()
                    .iter()
                    .map(|p| p - Vec3::x() * shake),
            );
        }
        path
    };
    let (ours, warped) = (run(Method::Hyperelastic), run(Method::Warped));
    let still: Vec<Vec3> = body.rest_shape().repeat(24);
    let own = max_difference(&warped, &still);
    assert!(
        own > 1e-4 && max_difference(&ours, &warped) < 0.01 * own,
        "{own} {}",
        max_difference(&ours, &warped)
    );
}

/// The balance of a bend without loads equals that of the warped method.
#[test]
fn slow_bend_matches_warped() {
    let bar = BarOptions::default();
    let body = bar.build();
    for angle in [0.3, 1.2, 2.4] {
        let solve = |method| {
            equilibrium(
                &body,
                &bent_pose(&bar, angle),
                None,
                None,
                Vec3::zeros(),
                method,
            )
            .unwrap()
        };
        let [ours, warped] = [Method::Hyperelastic, Method::Warped].map(solve);
        assert!(max_difference(&ours, &warped) < 1e-9);
    }
}

/// Flesh stays finite while bones jump wildly, and returns to rest afterwards.
#[test]
fn wild_bones_keep_flesh_finite() {
    let bar = BarOptions::default();
    let body = bar.build();
    let mut sim =
        Simulation::new(body.clone(), settings().with_method(Method::Hyperelastic)).unwrap();
    sim.reset(&rest_pose(), true, None).unwrap();
    for i in 0..40 {
        let at = bent_pose(&bar, if i % 2 == 0 { 2.6 } else { -2.6 });
        sim.advance(&at, 1.0 / 24.0, None, None).unwrap();
        let sway = sim.sway().unwrap();
        assert!(sway.iter().all(|u| u.norm() < SIZE), "{i}");
    }
    for _ in 0..72 {
        sim.advance(&rest_pose(), 1.0 / 24.0, None, None).unwrap();
    }
    assert!(max_difference(sim.lattice_positions(), body.rest_shape()) < 1e-3 * SIZE);
}

/// The sway is the displacement beyond the balance without loads.
#[test]
fn sway_excludes_unloaded_balance() {
    let bar = BarOptions::default();
    let body = bar.build();
    let target = bent_pose(&bar, 1.1);
    let forces = wobble_displacements(&body, 2.0);
    let parted = SimulationSettings {
        elastic_joints: 0.3,
        ..settings()
    };
    for method in [Method::Hyperelastic, Method::Warped, Method::NeoHookean] {
        let mut sim = Simulation::new(body.clone(), parted.with_method(method)).unwrap();
        sim.reset(&target, true, Some(&forces)).unwrap();
        let solve =
            |gravity, forces| equilibrium(&body, &target, None, forces, gravity, method).unwrap();
        let (loaded, bare) = (
            solve(settings().gravity, Some(forces.as_slice())),
            solve(Vec3::zeros(), None),
        );
        let wanted: Vec<Vec3> = loaded.iter().zip(&bare).map(|(a, b)| a - b).collect();
        assert!(
            max_difference(sim.sway().unwrap(), &wanted) < 1e-7,
            "{method:?}"
        );
        let rest = body.rest_shape();
        let places: Vec<Vec3> = loaded.iter().zip(rest).map(|(q, x)| q + x).collect();
        assert!(
            max_difference(sim.lattice_positions(), &places) < 1e-7,
            "{method:?}"
        );
    }
    // With the whole elastic shape shown, other methods do not separate a sway.
    let sim = Simulation::new(body.clone(), settings().with_method(Method::Warped)).unwrap();
    assert!(sim.sway().is_none());
}

/// The setting `elastic_joints` interpolates from the plain skin to the elastic shape.
#[test]
fn elastic_joints_interpolate() {
    let bar = BarOptions::default();
    let body = bar.build();
    let target = bent_pose(&bar, 1.3);
    let shown = |joints: f64| {
        let settings = SimulationSettings {
            elastic_joints: joints,
            gravity: Vec3::zeros(),
            ..settings()
        };
        let mut sim =
            Simulation::new(body.clone(), settings.with_method(Method::Hyperelastic)).unwrap();
        sim.reset(&target, true, None).unwrap();
        let (snapshot, presenter) = (sim.snapshot(), Presenter::new(body.clone()));
        let mut both = [(); 2].map(|()| vec![0.0; body.surface().vertices().len() * 3]);
        let [positions, offsets] = &mut both;
        let (own, at) = (SurfaceId::OWN, snapshot.instant());
        presenter
            .positions(own, at, &OutputSpace::WORLD, positions)
            .unwrap();
        presenter
            .offsets(own, at, &OutputSpace::WORLD, offsets)
            .unwrap();
        let [positions, offsets] = both;
        (positions, offsets)
    };
    let apart = |a: &[f32], b: &[f32]| {
        a.iter()
            .zip(b)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f32::max)
    };
    let ((skin, none), (half, _), (whole, all)) = (shown(0.0), shown(0.5), shown(1.0));
    assert!(
        none.iter().all(|x| x.abs() < 1e-6),
        "a bend alone moves no skin"
    );
    assert!(
        apart(&skin, &whole) > 0.01,
        "the bend has a shape of its own"
    );
    let mean: Vec<f32> = skin
        .iter()
        .zip(&whole)
        .map(|(a, b)| 0.5 * (a + b))
        .collect();
    assert!(apart(&half, &mean) < 1e-5);
    let sum: Vec<f32> = skin.iter().zip(&all).map(|(a, b)| a + b).collect();
    assert!(apart(&sum, &whole) < 1e-5);
}
