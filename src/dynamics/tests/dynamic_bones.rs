// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bones that follow their flesh, on a bar whose upper half is free.

use super::*;
use crate::dynamics::{DynamicBoneSettings, follow_bones};
use crate::progress::Silent;

fn bar() -> BarOptions {
    BarOptions::default()
}

fn dynamic(bones: Vec<u32>) -> DynamicBoneSettings {
    DynamicBoneSettings {
        simulation: settings(),
        ..DynamicBoneSettings::new(bones, 24.0)
    }
}

fn follow(body: &Arc<Body>, poses: &[Pose], settings: &DynamicBoneSettings) -> Vec<Pose> {
    follow_bones(body, poses, settings, &Silent).unwrap()
}

/// Returns the turn of the upper bone at each frame, rad about x.
fn turns(poses: &[Pose]) -> Vec<f64> {
    let angle = |p: &Pose| p.maps()[1].linear[(2, 1)].atan2(p.maps()[1].linear[(2, 2)]);
    poses.iter().map(angle).collect()
}

/// The freed bones hold no flesh and have no twist; the others keep both, and masses stay.
#[test]
fn freed_bones_hold_no_flesh() {
    let body = bar().build();
    let free = body.with_free_bones(&[1]).unwrap();
    let held = |body: &Body, bone| {
        body.bone_of_vertex()
            .iter()
            .filter(|b| **b == Some(bone))
            .count()
    };
    assert_eq!((held(&free, 0), held(&free, 1)), (held(&body, 0), 0));
    assert!(free.twist_loads().iter().all(|l| l.bone == 0));
    let of_bone = |body: &Body, bone| -> f64 {
        let own = body.twist_loads().iter().filter(|l| l.bone == bone);
        own.map(|l| l.sum).sum()
    };
    approx::assert_relative_eq!(of_bone(&free, 0), of_bone(&body, 0), max_relative = 1e-9);
    assert!(of_bone(&body, 1) > 0.0);
    assert_eq!(free.mass_matrix(), body.mass_matrix());
    // Freeing a bone frees those below it.
    assert_eq!(body.bones_below(&[0]).unwrap(), [0, 1]);
    assert_eq!(body.bones_below(&[1]).unwrap(), [1]);
    // Nothing freed: the same twist.
    let same = body.with_free_bones(&[]).unwrap();
    let (a, b) = (same.twist_matrix().data(), body.twist_matrix().data());
    assert!(
        a.iter()
            .zip(b)
            .all(|(a, b)| (a - b).abs() <= 1e-9 * b.abs())
    );
}

/// A character that rests, or that is carried along, keeps its animated pose.
#[test]
fn resting_bones_stay() {
    let body = bar().build();
    for speed in [0.0, 0.3] {
        let at = |i: usize| Isometry3::translation(speed * i as f64, 0.0, 0.0);
        let poses: Vec<Pose> = (0..8).map(|i| pose(&[at(i); 2])).collect();
        for (followed, wanted) in follow(&body, &poses, &dynamic(vec![1])).iter().zip(&poses) {
            for (a, b) in followed.maps().iter().zip(wanted.maps()) {
                assert!((a.linear - b.linear).norm() < 1e-8);
                assert!((a.translation - b.translation).norm() < 1e-8);
            }
        }
    }
}

/// The upper bone lags behind a base that starts to turn, overshoots, and its head stays on the lower bone.
#[test]
fn bone_swings_behind_base() {
    let body = bar().build();
    let turned = |angle: f64| {
        let turn = UnitQuaternion::from_scaled_axis(Vec3::new(angle, 0.0, 0.0));
        pose(&[Isometry3::from_parts(Translation3::identity(), turn); 2])
    };
    // Still at first, so that the flesh does not start along with its bones.
    let base = |i: usize| 0.125 * (i.clamp(3, 7) - 3) as f64;
    let poses: Vec<Pose> = (0..24).map(|i| turned(base(i))).collect();
    let followed = follow(&body, &poses, &dynamic(vec![1]));
    let pairs = turns(&followed).into_iter().zip(turns(&poses));
    let swing: Vec<f64> = pairs.map(|(a, b)| a - b).collect();
    assert!(swing[..8].iter().any(|s| *s < -0.02), "lags: {swing:?}");
    assert!(
        swing[8..].iter().any(|s| *s > 0.02),
        "overshoots: {swing:?}"
    );
    let joint = Vec3::new(0.0, 0.0, 0.8);
    for (followed, pose) in followed.iter().zip(&poses) {
        assert_eq!(followed.maps()[0], pose.maps()[0]);
        let [lower, upper] = [0, 1].map(|b| followed.maps()[b].apply(joint));
        assert!((lower - upper).norm() < 1e-12);
        let turn = followed.maps()[1].linear;
        assert!((turn.transpose() * turn - Mat3::identity()).norm() < 1e-9);
    }
    // Firm flesh swings less; a limit holds.
    let firm = DynamicBoneSettings {
        firmness: 80.0,
        ..dynamic(vec![1])
    };
    let most = |followed: &[Pose]| {
        let turn = |(a, b): (&Pose, &Pose)| {
            let change = a.maps()[1].linear * b.maps()[1].linear.transpose();
            nalgebra::Rotation3::from_matrix_unchecked(change).angle()
        };
        followed.iter().zip(&poses).map(turn).fold(0.0, f64::max)
    };
    let (firm, soft) = (most(&follow(&body, &poses, &firm)), most(&followed));
    assert!(firm < 0.75 * soft, "{firm} {soft}"); // 0.64 times
    let limited = DynamicBoneSettings {
        limit: 0.01,
        ..dynamic(vec![1])
    };
    let most = most(&follow(&body, &poses, &limited));
    assert!((most - 0.01).abs() < 1e-9, "{most}");
}

/// The ends of the range of firmness are allowed, also where weights sum to one by rounding.
#[test]
fn least_and_most_firmness_are_allowed() {
    let body = bar().build();
    let poses = vec![pose(&[Isometry3::identity(); 2]); 2];
    for firmness in [0.1, 100.0] {
        let settings = DynamicBoneSettings {
            firmness,
            ..dynamic(vec![1])
        };
        assert_eq!(follow(&body, &poses, &settings).len(), 2);
    }
}

/// A moved and turned character has the moved and turned poses.
#[test]
fn following_is_objective() {
    let by = Isometry3::new(Vec3::new(2.0, -1.0, 0.5), Vec3::new(0.3, 0.8, -0.4));
    let still = bar();
    let turned = BarOptions { frame: by, ..bar() };
    let run = |bar: &BarOptions| {
        let shake = |i: usize| {
            bar.frame * Translation3::new(0.1 * (i as f64).sin(), 0.0, 0.0) * bar.frame.inverse()
        };
        let poses: Vec<Pose> = (0..6).map(|i| pose(&[shake(i); 2])).collect();
        let settings = DynamicBoneSettings {
            simulation: SimulationSettings {
                gravity: bar.frame.rotation * settings().gravity,
                ..settings()
            },
            ..dynamic(vec![1])
        };
        follow(&bar.build(), &poses, &settings)
    };
    let turn = by.rotation.to_rotation_matrix();
    for (a, b) in run(&still).iter().zip(&run(&turned)) {
        let carried = turn * a.maps()[1].linear * turn.transpose();
        assert!((carried - b.maps()[1].linear).norm() < 1e-7);
    }
}

/// Unknown bones, bones without another to hang on, methods with fixed matrices and numbers out of range are refused in a sentence.
#[test]
fn bad_dynamic_bones_are_refused() {
    let body = bar().build();
    let poses = [rest_pose(), rest_pose()];
    let error = |settings: DynamicBoneSettings| {
        follow_bones(&body, &poses, &settings, &Silent)
            .unwrap_err()
            .to_string()
    };
    assert!(error(dynamic(vec![7])).contains("no bone 7"));
    assert!(error(dynamic(vec![0])).contains("hang on"));
    assert!(error(dynamic(vec![])).contains("bone"));
    for (bad, what) in [
        (
            DynamicBoneSettings {
                firmness: 0.0,
                ..dynamic(vec![1])
            },
            "firmness",
        ),
        (
            DynamicBoneSettings {
                limit: f64::NAN,
                ..dynamic(vec![1])
            },
            "limit",
        ),
        (
            DynamicBoneSettings {
                fps: 0.0,
                ..dynamic(vec![1])
            },
            "fps",
        ),
    ] {
        assert!(error(bad).contains(what));
    }
    let modal = DynamicBoneSettings {
        simulation: settings().with_method(Method::Modal),
        ..dynamic(vec![1])
    };
    assert!(error(modal).contains("'modal'"));
    assert!(
        follow_bones(&body, &[], &dynamic(vec![1]), &Silent)
            .unwrap()
            .is_empty()
    );
    let other = [Pose::rest(5), Pose::rest(5)];
    assert!(follow_bones(&body, &other, &dynamic(vec![1]), &Silent).is_err());
}
