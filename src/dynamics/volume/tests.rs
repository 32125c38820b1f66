// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bars whose bones bend, stretch and vanish.

use super::*;
use crate::body::fixture::BarOptions;
use crate::skeleton::Affine;
use nalgebra::Rotation3;
use std::sync::Arc;

fn bar() -> Arc<Body> {
    let bar = BarOptions::default();
    let weights = bar.painted_weights();
    let settings = crate::body::BodySettings {
        region_weights: Some(weights),
        ..Default::default()
    };
    BarOptions { settings, ..bar }.build()
}

fn bent_pose(angle: f64) -> Pose {
    let joint = Vec3::new(0.0, 0.0, 0.8);
    let turn = Rotation3::from_euler_angles(angle, 0.1 * angle, 0.2 * angle).into_inner();
    let upper = Affine {
        linear: turn,
        translation: joint - turn * joint,
    };
    Pose::new(vec![Affine::identity(), upper]).unwrap()
}

fn solve_balance(body: &Body, pose: &Pose) -> Vec<Vec3> {
    let mut balance = VolumeBalance::new(body).unwrap();
    balance.solve(body, pose).unwrap()
}

fn bent_flesh<'a>(body: &'a Body, heeded: &'a [f64], pose: &Pose) -> CarriedFlesh<'a> {
    let bones = BonePoses::new(body.skeleton(), pose).unwrap();
    CarriedFlesh {
        body,
        heeded,
        carried: carried_gradients(body, &carried_positions(body, &bones, pose)),
        stretches: cell_stretches(body, pose),
    }
}

/// A piece's volume, stretch, φ, ∇u and J.
type PieceState = (f64, f64, f64, Mat3, f64);

/// Returns each piece at u.
fn piece_states(flesh: &CarriedFlesh, u: &[Vec3]) -> Vec<PieceState> {
    let elements = flesh.body.elements();
    let mut carried = flesh.carried.iter();
    let mut all = Vec::new();
    for (e, s) in flesh.stretches.iter().enumerate() {
        for piece in elements.pieces(e) {
            let corners = elements.corners(e).iter().zip(piece.gradients);
            let h: Mat3 = corners.map(|(&a, g)| u[a as usize] * g.transpose()).sum();
            let f = carried.next().unwrap() + h;
            all.push((piece.volume, *s, flesh.heeded[e], h, (f / *s).determinant()));
        }
    }
    all
}

/// Integrates ψ by Simpson's rule from 1, between the kinks of its derivative.
fn energy(j: f64) -> f64 {
    const INTERVALS: usize = 200;
    let mut ends = vec![1.0, j];
    let kinks = [
        CRUSHING_VOLUME,
        1.0 - MAX_VOLUME_CHANGE,
        1.0 + MAX_VOLUME_CHANGE,
    ];
    ends.extend(kinks.iter().filter(|&&k| (k - 1.0) * (k - j) < 0.0));
    ends.sort_by(|a, b| (a - 1.0).abs().total_cmp(&(b - 1.0).abs()));
    let between = |ends: &[f64]| {
        let step = (ends[1] - ends[0]) / INTERVALS as f64;
        let at = |i: f64| pressure(ends[0] + i * step).0;
        let piece = |i: usize| at(i as f64) + 4.0 * at(i as f64 + 0.5) + at(i as f64 + 1.0);
        (0..INTERVALS).map(piece).sum::<f64>() * step / 6.0
    };
    ends.windows(2).map(between).sum()
}

fn total_energy(flesh: &CarriedFlesh, u: &[Vec3]) -> f64 {
    let of = |(volume, s, heeded, h, j): PieceState| {
        volume * (0.5 * h.norm_squared() / (s * s) + heeded * energy(j))
    };
    piece_states(flesh, u).into_iter().map(of).sum()
}

/// The gradient is the derivative of the energy, also for bones that stretch.
#[test]
fn gradient_matches_energy() {
    let (body, mut pose) = (bar(), bent_pose(1.2));
    for scale in [1.0, 1.7] {
        let by = Affine {
            linear: Mat3::identity() * scale,
            ..Affine::identity()
        };
        pose = pose.apply_map(&by);
        let half: Vec<f64> = (0..body.elements().len())
            .map(|e| 1.0 / (1 + e % 3) as f64)
            .collect();
        let flesh = bent_flesh(&body, &half, &pose);
        let wave = |v: usize| Vec3::new((v as f64).sin(), (2.0 * v as f64).cos(), 0.3) * 0.02;
        let u: Vec<Vec3> = (0..body.node_count()).map(wave).collect();
        let mut gradient = vec![Vec3::zeros(); body.node_count()];
        flesh.linearise(&u, &mut gradient, None);
        let direction = |v: usize| Vec3::new(0.2, (3.0 * v as f64).sin(), (v as f64).cos());
        let slope: f64 = gradient
            .iter()
            .enumerate()
            .map(|(v, g)| g.dot(&direction(v)))
            .sum();
        let along = |t: f64| {
            let moved = u.iter().enumerate().map(|(v, u)| u + direction(v) * t);
            total_energy(&flesh, &moved.collect::<Vec<_>>())
        };
        let change = (along(1e-6) - along(-1e-6)) / 2e-6;
        // Central differences of numbers near 1 keep nine digits.
        assert!(
            (change - slope).abs() < 1e-5 * slope.abs(),
            "{change} {slope}"
        );
    }
}

/// In a cell that one bone alone moves, the carried map is that of the bone.
#[test]
fn carried_map_equals_bone() {
    let (body, pose) = (bar(), bent_pose(1.2));
    // A cell that one bone alone moves has the map of the bone.
    let all = volume_weights(&body);
    let flesh = bent_flesh(&body, &all, &pose);
    let mut rigid = 0;
    for (c, f) in flesh.carried.iter().enumerate() {
        let row: Vec<_> = body.cell_weights().row(c).filter(|p| p.1 > 0.0).collect();
        if let [(bone, _)] = row[..] {
            rigid += 1;
            assert!((f - pose.maps()[bone as usize].linear).norm() < 1e-9);
        }
    }
    assert!(rigid > 0 && rigid < flesh.carried.len());
}

/// Nothing moves at rest, and held vertices never move.
#[test]
fn rest_and_held_vertices_stay() {
    let body = bar();
    let u = solve_balance(&body, &bent_pose(0.0));
    assert!(u.iter().all(|u| u.norm() < 1e-12));
    let u = solve_balance(&body, &bent_pose(1.5));
    assert!(body.held_vertices().all(|v| u[v as usize] == Vec3::zeros()));
    assert!(u.iter().any(|u| u.norm() > 0.01));
}

/// The solution turns, moves and scales with the bones.
#[test]
fn solution_is_equivariant() {
    let body = bar();
    let alone = solve_balance(&body, &bent_pose(1.4));
    let turn = Rotation3::from_euler_angles(0.7, -0.4, 2.0).into_inner();
    for scale in [1.0, 2.5] {
        let by = Affine {
            linear: turn * scale,
            translation: Vec3::new(30.0, -7.0, 2.0),
        };
        let moved = solve_balance(&body, &bent_pose(1.4).apply_map(&by));
        for (a, b) in alone.iter().zip(&moved) {
            assert!((turn * a * scale - b).norm() < 1e-9);
        }
    }
}

/// The solution restores volume that the bend removes.
#[test]
fn lost_volume_is_restored() {
    let body = bar();
    let all = volume_weights(&body);
    for angle in [0.8, 1.4] {
        let flesh = bent_flesh(&body, &all, &bent_pose(angle));
        let u = solve_balance(&body, &bent_pose(angle));
        let lost = |u: &[Vec3]| -> f64 {
            let of = |(volume, _, _, _, j): PieceState| volume * (1.0 - j).max(0.0);
            piece_states(&flesh, u).into_iter().map(of).sum()
        };
        let (before, after) = (lost(&vec![Vec3::zeros(); u.len()]), lost(&u));
        assert!(after < 0.6 * before, "{angle}: {after} of {before}");
    }
}

/// A small change of the bend moves flesh little, and bones scaled to zero give finite numbers.
#[test]
fn solution_is_continuous() {
    let body = bar();
    let at = |degrees: f64| solve_balance(&body, &bent_pose(degrees.to_radians()));
    let mut before = at(0.0);
    let mut farthest = 0.0_f64;
    for degree in 1..=140 {
        let now = at(f64::from(degree));
        let moved = before.iter().zip(&now).map(|(a, b)| (a - b).norm());
        let moved = moved.fold(0.0, f64::max);
        farthest = farthest.max(moved);
        before = now;
    }
    // The farthest point of the bar moves by 14 mm a degree.
    assert!(farthest < 0.014, "{farthest}");
    let none = Affine {
        linear: Mat3::zeros(),
        translation: Vec3::zeros(),
    };
    let u = solve_balance(&body, &Pose::new(vec![Affine::identity(), none]).unwrap());
    assert!(u.iter().all(|u| u.norm().is_finite()));
}

/// Cells that flesh hardly fills do not contribute to the volume.
#[test]
fn sparse_cells_are_ignored() {
    let body = bar();
    let all = volume_weights(&body);
    assert!(
        all.iter().all(|&heeded| heeded == 1.0),
        "flesh fills the bar"
    );
    let none = vec![0.0; all.len()];
    let flesh = bent_flesh(&body, &none, &bent_pose(1.4));
    let mut gradient = vec![Vec3::repeat(1.0); body.node_count()];
    flesh.linearise(&vec![Vec3::zeros(); body.node_count()], &mut gradient, None);
    assert!(gradient.iter().all(|g| *g == Vec3::zeros()));
}
