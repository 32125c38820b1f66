// SPDX-License-Identifier: MIT OR Apache-2.0
//! Poses from features: recovery of known poses, derivatives, invariance, refusals.

mod costs;

use super::features::Features;
use super::search::{PoseSearch, PosedFeatures};
use super::*;
use crate::Mat3;
use crate::skeleton::{Affine, BonePoses};
use crate::solve::marquardt::DampedProblem;
use nalgebra::Rotation3;

/// A trunk with two arms of two bones each; names tell where.
fn skeleton() -> Skeleton {
    let names = ["trunk", "arm", "hand", "other arm", "other hand"];
    let ends = [
        [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.2, 0.0, 0.9], [0.8, 0.0, 0.9]],
        [[0.8, 0.0, 0.9], [1.4, 0.1, 0.9]],
        [[-0.2, 0.0, 0.9], [-0.8, 0.0, 0.9]],
        [[-0.8, 0.0, 0.9], [-1.4, 0.1, 0.9]],
    ];
    let end = |which: usize| ends.iter().map(|e| Vec3::from(e[which])).collect();
    Skeleton::new(
        names.map(String::from).to_vec(),
        vec![None, Some(0), Some(1), Some(0), Some(3)],
        end(0),
        end(1),
    )
    .unwrap()
}

/// Three features around each bone, some shared with the bone above.
fn features(skeleton: &Skeleton) -> (Vec<Vec3>, SkinWeights) {
    let (mut points, mut rows) = (Vec::new(), Vec::new());
    for b in 0..skeleton.len() {
        let (head, tail) = (skeleton.heads()[b], skeleton.tails()[b]);
        let sides = [
            (0.2, [0.1, 0.1, 0.05]),
            (0.5, [-0.1, 0.0, 0.1]),
            (0.9, [0.02, -0.1, 0.0]),
        ];
        for (along, side) in sides {
            points.push(head.lerp(&tail, along) + Vec3::from(side));
            let parent = skeleton.parents()[b].unwrap_or(b as u32);
            let shared = if along < 0.3 { 0.3 } else { 0.0 };
            rows.push(vec![(b as u32, 1.0 - shared), (parent, shared)]);
        }
    }
    (
        points,
        SkinWeights::from_rows(skeleton.len(), rows).unwrap(),
    )
}

/// The pose in which each bone turns by a rotation vector about its head, after a turn of the whole.
fn pose(skeleton: &Skeleton, whole: &Affine, turns: &[[f64; 3]]) -> Pose {
    let mut maps = vec![*whole; skeleton.len()];
    for &bone in skeleton.topological_order() {
        let b = bone as usize;
        let above = skeleton.parents()[b].map_or(*whole, |p| maps[p as usize]);
        maps[b] = above.compose(&about(Vec3::from(turns[b]), skeleton.heads()[b]));
    }
    Pose::new(maps).unwrap()
}

fn about(turn: Vec3, centre: Vec3) -> Affine {
    let linear = Rotation3::new(turn).into_inner();
    Affine {
        linear,
        translation: centre - linear * centre,
    }
}

const TURNS: [[f64; 3]; 5] = [
    [0.0; 3],
    [0.3, -0.9, 0.2],
    [0.4, 0.1, 1.6],
    [-0.5, 0.4, -0.3],
    [0.0, -1.2, 0.6],
];

fn world() -> Affine {
    let mut world = about(Vec3::new(1.0, -2.0, 0.6), Vec3::zeros());
    world.translation += Vec3::new(3.0, 40.0, -1.0);
    world
}

fn skinned(skeleton: &Skeleton, pose: &Pose) -> Vec<Vec3> {
    let (points, weights) = features(skeleton);
    let bones = BonePoses::new(skeleton, pose).unwrap();
    let place = |(k, &x): (usize, &Vec3)| bones.place(weights.row(k), x);
    points.iter().enumerate().map(place).collect()
}

/// Returns the largest distance between two poses, measured at the ends of the bones.
fn distance(skeleton: &Skeleton, a: &Pose, b: &Pose) -> f64 {
    let ends = |x: &[Vec3]| -> f64 {
        let each = a.maps().iter().zip(b.maps()).zip(x);
        each.map(|((a, b), &x)| (a.apply(x) - b.apply(x)).norm())
            .fold(0.0, f64::max)
    };
    ends(skeleton.heads()).max(ends(skeleton.tails()))
}

fn fit(targets: &[Vec3]) -> Pose {
    let skeleton = skeleton();
    let (points, weights) = features(&skeleton);
    fit_pose(
        &skeleton,
        &points,
        &weights,
        targets,
        &PoseFitSettings::default(),
    )
    .unwrap()
}

/// Three features per bone give the pose back, far from rest and in any world axes.
#[test]
fn pose_is_found() {
    let skeleton = skeleton();
    let wanted = pose(&skeleton, &world(), &TURNS);
    let found = fit(&skinned(&skeleton, &wanted));
    assert!(
        distance(&skeleton, &found, &wanted) < 1e-4,
        "{}",
        distance(&skeleton, &found, &wanted)
    );
    // Rotations stay rotations.
    for map in found.maps() {
        assert!((map.linear.tr_mul(&map.linear) - Mat3::identity()).norm() < 1e-14);
    }
}

/// A rigid motion of the whole is found exactly.
#[test]
fn rigid_motion_is_exact() {
    let skeleton = skeleton();
    let wanted = pose(&skeleton, &world(), &[[0.0; 3]; 5]);
    let found = fit(&skinned(&skeleton, &wanted));
    assert!(distance(&skeleton, &found, &wanted) < 1e-12);
}

/// A motion of the world moves the pose along; another size and another order of features and bones leave it the same.
#[test]
fn fit_is_invariant() {
    let skeleton = skeleton();
    let targets = skinned(&skeleton, &pose(&skeleton, &Affine::identity(), &TURNS));
    let plain = fit(&targets);
    let moved: Vec<Vec3> = targets.iter().map(|&p| world().apply(p)).collect();
    assert!(distance(&skeleton, &fit(&moved), &plain.apply_map(&world())) < 1e-6);

    let (points, weights) = features(&skeleton);
    let big = |points: &[Vec3]| points.iter().map(|p| p * 1e3).collect::<Vec<_>>();
    let (names, parents) = (skeleton.names().to_vec(), skeleton.parents().to_vec());
    let bigger =
        Skeleton::new(names, parents, big(skeleton.heads()), big(skeleton.tails())).unwrap();
    let found = fit_pose(
        &bigger,
        &big(&points),
        &weights,
        &big(&targets),
        &PoseFitSettings::default(),
    )
    .unwrap();
    for (a, b) in found.maps().iter().zip(plain.maps()) {
        assert!((a.linear - b.linear).norm() < 1e-6);
        assert!((a.translation / 1e3 - b.translation).norm() < 1e-6);
    }

    // Features backwards, and the hands before the arms.
    let order = [0, 2, 1, 4, 3];
    let at = |b: u32| order.iter().position(|&o| o == b as usize).unwrap() as u32;
    let reordered = Skeleton::new(
        order.map(|b| skeleton.names()[b].clone()).to_vec(),
        order.map(|b| skeleton.parents()[b].map(at)).to_vec(),
        order.map(|b| skeleton.heads()[b]).to_vec(),
        order.map(|b| skeleton.tails()[b]).to_vec(),
    )
    .unwrap();
    let rows = (0..points.len())
        .rev()
        .map(|k| weights.row(k).map(|(b, w)| (at(b), w)).collect::<Vec<_>>());
    let rows = SkinWeights::from_rows(5, rows).unwrap();
    let back = |points: &[Vec3]| points.iter().rev().copied().collect::<Vec<_>>();
    let found = fit_pose(
        &reordered,
        &back(&points),
        &rows,
        &back(&targets),
        &PoseFitSettings::default(),
    )
    .unwrap();
    let found = Pose::new((0..5).map(|b| found.maps()[at(b) as usize]).collect()).unwrap();
    assert!(distance(&skeleton, &found, &plain) < 1e-6);
}

/// Derivatives of the cost agree with differences at a bent pose, where blended turns are far from linear.
#[test]
fn derivatives_match_differences() {
    let skeleton = skeleton();
    check_derivatives(&skeleton, &pose(&skeleton, &world(), &TURNS), 6 + 3 * 4);
}

fn check_derivatives(skeleton: &Skeleton, start: &Pose, unknowns: usize) {
    let (points, _) = features(skeleton);
    let turn = |k: usize| Rotation3::new(Vec3::new(k as f64, 1.0, 0.3)).into_inner();
    let metric =
        |k: usize| turn(k) * Mat3::from_diagonal(&Vec3::new(0.0, 0.5, 2.0)) * turn(k).transpose();
    for metrics in [None, Some((0..points.len()).map(metric).collect())] {
        let settings = PoseFitSettings {
            start: Some(start.clone()),
            turn_cost: 1e-3,
            metrics,
            ..PoseFitSettings::default()
        };
        check_slopes(skeleton, &settings, unknowns);
    }
}

fn check_slopes(skeleton: &Skeleton, settings: &PoseFitSettings, unknowns: usize) {
    let (points, weights) = features(skeleton);
    let features = Features::new(skeleton, &points, &weights, settings).unwrap();
    let targets: Vec<Vec3> = points.iter().map(|p| p.yzx() * 1.3).collect();
    let mut search = PoseSearch::new(&features, targets);
    // A point away from the start, so that the regulariser has slopes too.
    let rigid = search.rigid_start().unwrap();
    let gradient = search.derivatives(&rigid).unwrap().unwrap().gradient;
    assert_eq!(gradient.len(), unknowns);
    let step: Vec<f64> = (0..unknowns)
        .map(|i| 0.3 * (1.7 * i as f64).sin())
        .collect();
    let at = search.stepped(&rigid, &step, Vec3::zeros()).unwrap();
    let slopes = search.derivatives(&at).unwrap().unwrap();
    let centre = slopes.centre;
    let move_by = |search: &PoseSearch<'_>, i: usize, h: f64| -> PosedFeatures {
        let mut step = vec![0.0; unknowns];
        step[i] = h;
        search.stepped(&at, &step, centre).unwrap()
    };
    let scale = slopes.gradient.iter().fold(0.0_f64, |m, g| m.max(g.abs()));
    for i in 0..unknowns {
        let (more, less) = (move_by(&search, i, 1e-5), move_by(&search, i, -1e-5));
        let difference = (search.energy(&more) - search.energy(&less)) / 2e-5;
        assert!(
            (difference - slopes.gradient[i]).abs() < 1e-7 * scale,
            "{i}"
        );
        for k in 0..points.len() {
            let moved = (more.places[k] - less.places[k]) / 2e-5;
            let derivatives = search.feature_derivatives(&at, k, centre);
            let found = derivatives
                .iter()
                .find(|(first, _)| (*first..first + 3).contains(&i));
            let found = found.map_or(Vec3::zeros(), |(first, m)| m.column(i - first).into_owned());
            assert!(
                (moved - found).norm() < 1e-8 * (1.0 + moved.norm()),
                "{i} {k}"
            );
        }
    }
}

/// Roots with skin of their own, such as feet that goals lead, move apart from the rest; the derivatives include their moves.
#[test]
fn roots_move_apart() {
    let bound = skeleton();
    let (names, mut parents) = (bound.names().to_vec(), bound.parents().to_vec());
    parents[4] = None;
    let (heads, tails) = (bound.heads().to_vec(), bound.tails().to_vec());
    let skeleton = Skeleton::new(names, parents, heads, tails).unwrap();
    let mut wanted = pose(&skeleton, &world(), &TURNS);
    let mut maps = wanted.maps().to_vec();
    maps[4].translation += Vec3::new(0.3, -0.2, 0.1);
    wanted = Pose::new(maps).unwrap();
    let (points, weights) = features(&bound);
    let bones = BonePoses::new(&skeleton, &wanted).unwrap();
    let place = |(k, &x): (usize, &Vec3)| bones.place(weights.row(k), x);
    let targets: Vec<Vec3> = points.iter().enumerate().map(place).collect();
    let settings = PoseFitSettings::default();
    let found = fit_pose(&skeleton, &points, &weights, &targets, &settings).unwrap();
    let off = distance(&skeleton, &found, &wanted);
    assert!(off < 1e-4, "{off}");
    check_derivatives(&skeleton, &wanted, 6 + 3 * 5 + 3 * 2);
}

/// A bone of which no feature tells follows the bone above as at the start, and so do bones that may not turn.
#[test]
fn other_bones_follow() {
    let skeleton = skeleton();
    let (points, weights) = features(&skeleton);
    let wanted = pose(&skeleton, &world(), &TURNS);
    let targets = skinned(&skeleton, &wanted);
    // Nothing tells of the two hands.
    let kept = [0, 1, 2, 3, 4, 5, 9, 10, 11];
    let rows = SkinWeights::from_rows(5, kept.map(|k| weights.row(k).collect::<Vec<_>>())).unwrap();
    let (few, goals) = (kept.map(|k| points[k]), kept.map(|k| targets[k]));
    let mut start = pose(&skeleton, &Affine::identity(), &TURNS);
    let settings = PoseFitSettings {
        start: Some(start.clone()),
        ..PoseFitSettings::default()
    };
    let found = fit_pose(&skeleton, &few, &rows, &goals, &settings).unwrap();
    assert!(distance(&skeleton, &found, &start.apply_map(&world())) < 1e-6);
    let found = fit_pose(&skeleton, &few, &rows, &goals, &PoseFitSettings::default()).unwrap();
    assert!((found.maps()[2].linear - found.maps()[1].linear).norm() < 1e-14);
    assert!((found.maps()[1].linear - wanted.maps()[1].linear).norm() < 1e-4);
    // Only the one hand may turn.
    start = pose(
        &skeleton,
        &Affine::identity(),
        &[[0.0; 3], TURNS[1], [0.0; 3], TURNS[3], TURNS[4]],
    );
    let settings = PoseFitSettings {
        start: Some(start.clone()),
        bones: Some(vec![2]),
        ..PoseFitSettings::default()
    };
    let found = fit_pose(&skeleton, &points, &weights, &targets, &settings).unwrap();
    assert!(distance(&skeleton, &found, &wanted) < 1e-5);
}

/// Features that no pose can reach leave the nearest pose: the same from another start.
#[test]
fn nearest_pose_is_found() {
    let skeleton = skeleton();
    let (points, weights) = features(&skeleton);
    let mut targets = skinned(&skeleton, &pose(&skeleton, &Affine::identity(), &TURNS));
    for (k, p) in targets.iter_mut().enumerate() {
        *p += Vec3::new(
            (k as f64).sin(),
            (2.0 * k as f64).cos(),
            (3.0 * k as f64).sin(),
        ) * 0.01;
    }
    let plain = fit(&targets);
    let half = TURNS.map(|t| t.map(|x| 0.5 * x));
    let start = Some(pose(&skeleton, &world(), &half));
    let settings = PoseFitSettings {
        start,
        ..PoseFitSettings::default()
    };
    let found = fit_pose(&skeleton, &points, &weights, &targets, &settings).unwrap();
    let found = distance(&skeleton, &found, &plain);
    assert!(found < 2e-3, "{found}");
}

/// Each refusal is a sentence that names the wrong thing.
#[test]
fn bad_features_are_refused() {
    let skeleton = skeleton();
    let (points, weights) = features(&skeleton);
    let refuse =
        |points: &[Vec3], weights: &SkinWeights, targets: &[Vec3], settings: &PoseFitSettings| {
            fit_pose(&skeleton, points, weights, targets, settings)
                .unwrap_err()
                .to_string()
        };
    let plain = PoseFitSettings::default();
    let mut holes = points.clone();
    holes[4].y = f64::NAN;
    assert!(refuse(&holes, &weights, &points, &plain).contains("feature 4 is not finite"));
    assert!(refuse(&points, &weights, &holes, &plain).contains("target 4 is not finite"));
    assert!(refuse(&points, &weights, &points[1..], &plain).contains("15 features and 14 targets"));
    assert!(
        refuse(&points[1..], &weights, &points, &plain).contains("there must be 70 skin weights")
    );
    let line: Vec<Vec3> = (0..15)
        .map(|k| Vec3::new(1.0, 2.0, 3.0) * f64::from(k))
        .collect();
    assert!(refuse(&line, &weights, &points, &plain).contains("the features lie in a line"));
    assert!(refuse(&points, &weights, &line, &plain).contains("the targets lie in a line"));
    assert!(refuse(&points, &weights, &[points[0]; 15], &plain).contains("in one place"));
    // Only two features have weights.
    let two = (0..15).map(|k| (k < 2).then_some((0, 1.0)));
    let two = SkinWeights::from_rows(5, two).unwrap();
    assert!(
        refuse(&points, &two, &points, &plain)
            .contains("at least three features on the skin of bones, but there are 2")
    );
    let none = SkinWeights::from_rows(5, Vec::<Vec<(u32, f64)>>::new()).unwrap();
    assert!(refuse(&[], &none, &[], &plain).contains("there are 0"));
    let bones = PoseFitSettings {
        bones: Some(vec![1, 5]),
        ..PoseFitSettings::default()
    };
    assert!(
        refuse(&points, &weights, &points, &bones)
            .contains("there is no bone 5: the skeleton has 5 bones")
    );
    let start = PoseFitSettings {
        start: Some(Pose::rest(4)),
        ..PoseFitSettings::default()
    };
    assert!(refuse(&points, &weights, &points, &start).contains("the pose has 4 bones"));
}

/// Features flattened almost to a line, mirrored or thrown far away leave a finite pose of rotations.
#[test]
fn hard_targets_stay_finite() {
    let skeleton = skeleton();
    let (points, _) = features(&skeleton);
    let maps: [fn(&Vec3) -> Vec3; 4] = [
        |p| Vec3::new(-p.x, p.y, p.z),
        |p| p * 1e9,
        |p| Vec3::new(p.x, p.y * 1e-4, p.z * 1e-4),
        |p| p * 1e-9,
    ];
    for map in maps {
        let found = fit(&points.iter().map(map).collect::<Vec<_>>());
        for map in found.maps() {
            assert!(map.is_finite());
            assert!((map.linear.determinant() - 1.0).abs() < 1e-12);
        }
    }
}
