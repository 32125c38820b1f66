// SPDX-License-Identifier: MIT OR Apache-2.0
//! Invariance of motion under changes of frame, scale, numbering and frame rate.

use super::*;
use crate::progress::Silent;
use nalgebra::Rotation3;

/// Methods with linearised steps.
const METHODS: [Method; 4] = [
    Method::Hyperelastic,
    Method::Warped,
    Method::Blended,
    Method::Linearised,
];

/// Plays a short motion: a bend and a hold, with forces.
fn simulate_motion(
    method: Method,
    bar: &BarOptions,
    settings: SimulationSettings,
    scale: f64,
    turn: Rotation3<f64>,
    fps: usize,
) -> Vec<Vec3> {
    let body = bar.build();
    let mut sim = Simulation::new(body.clone(), settings.with_method(method)).unwrap();
    let mut forces = vec![Vec3::zeros(); body.node_count()];
    let tip = bar.vertex(0, 1, bar.cells_along);
    forces[tip] = turn * Vec3::new(3.0, 1.0, -2.0) * scale.powi(4);
    sim.reset(&rest_pose(), true, None).unwrap();
    // The same smooth bend, whatever the frames.
    let at = |i: usize| {
        let t = (i as f64 / fps as f64 / 0.25).min(1.0);
        bent_pose(bar, 0.7 * t * t * (3.0 - 2.0 * t))
    };
    // The pose is held before the bend begins, as after its end.
    let poses: Vec<Pose> = (0..fps / 2 + 6).map(|i| at(i.saturating_sub(2))).collect();
    for i in 0..fps / 2 {
        let motion = FrameMotion::from_pose_series(body.skeleton(), &poses, i + 2).unwrap();
        let forces = (i >= fps / 4).then_some(forces.as_slice());
        sim.advance_motion(&motion, 1.0 / fps as f64, (forces, None), &Silent)
            .unwrap();
    }
    sim.lattice_positions().to_vec()
}

/// Returns the motion of the bar without changes.
fn plain_motion(method: Method) -> Vec<Vec3> {
    let bar = BarOptions::default();
    simulate_motion(method, &bar, settings(), 1.0, Rotation3::identity(), 24)
}

/// A turned and moved body has the same motion, turned and moved.
#[test]
fn motion_is_rigidly_invariant() {
    for method in METHODS {
        let plain = plain_motion(method);
        let turn = Rotation3::from_euler_angles(0.4, -0.9, 2.0);
        let frame = Isometry3::from_parts(Translation3::new(4.0, -2.0, 7.0), turn.into());
        let moved = BarOptions {
            frame,
            ..Default::default()
        };
        let settings = SimulationSettings {
            gravity: turn * settings().gravity,
            ..settings()
        };
        let other = simulate_motion(method, &moved, settings, 1.0, turn, 24);
        let back: Vec<Vec3> = other
            .iter()
            .map(|p| frame.inverse_transform_point(&(*p).into()).coords)
            .collect();
        assert!(
            max_difference(&plain, &back) < 1e-9,
            "{}",
            max_difference(&plain, &back)
        );
    }
}

/// A scaled body has the same motion, scaled.
#[test]
fn motion_scales_with_body() {
    for method in METHODS {
        let plain = plain_motion(method);
        let s = 37.0;
        let scaled = BarOptions {
            length: 1.6 * s,
            half: 0.2 * s,
            material: Material::new(20e3 * s * s, 0.4, 1000.0).unwrap(),
            ..Default::default()
        };
        let settings = SimulationSettings {
            gravity: settings().gravity * s,
            ..settings()
        };
        let other = simulate_motion(method, &scaled, settings, s, Rotation3::identity(), 24);
        let back: Vec<Vec3> = other.iter().map(|p| p / s).collect();
        assert!(max_difference(&plain, &back) < 1e-9);
    }
}

/// The motion does not depend on the numbering of the vertices.
#[test]
fn motion_ignores_numbering() {
    for method in METHODS {
        let plain = plain_motion(method);
        let reversed = BarOptions {
            reversed: true,
            ..Default::default()
        };
        let mut other = simulate_motion(
            method,
            &reversed,
            settings(),
            1.0,
            Rotation3::identity(),
            24,
        );
        other.reverse();
        assert!(max_difference(&plain, &other) < 1e-10);
    }
}

/// The motion hardly depends on the frame rate.
#[test]
fn motion_ignores_frame_rate() {
    // The point load folds St. Venant-Kirchhoff flesh, which makes small differences grow.
    for method in METHODS.into_iter().filter(|m| *m != Method::Linearised) {
        let [a, b, c] = [24, 48, 60].map(|fps| {
            simulate_motion(
                method,
                &BarOptions::default(),
                settings(),
                1.0,
                Rotation3::identity(),
                fps,
            )
        });
        // Only the curve between the frames differs, by the cube of their length.
        let (far, near) = (max_difference(&a, &b), max_difference(&b, &c));
        assert!(
            far < 1e-3 * SIZE && near < 1e-4 * SIZE,
            "{method:?}: {far} {near}"
        );
    }
}

/// A frame rate slower by a thousandth takes as many steps per frame.
#[test]
fn drop_frame_rate_keeps_steps() {
    let rate = settings().rate;
    let body = BarOptions::default().build();
    let mut sim = Simulation::new(body, settings().with_method(Method::Warped)).unwrap();
    sim.reset(&rest_pose(), true, None).unwrap();
    for per_second in [12, 15, 24, 25, 30, 48, 50, 60, 120] {
        let steps = |slower: f64| {
            let frame = slower / f64::from(per_second);
            let steps = sim.check_frame(frame, (None, None)).unwrap();
            // No step exceeds the requested length by more than a hundredth.
            assert!(frame / steps as f64 <= 1.01 / rate + 1e-12);
            steps
        };
        assert_eq!(steps(1.001), steps(1.0), "{per_second} frames per second");
    }
}
