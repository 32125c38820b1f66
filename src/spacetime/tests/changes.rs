// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changes and insertions after the preprocess against motions built with them; principal curves.

use super::*;
use crate::Vec3;
use crate::progress::Silent;
use crate::spacetime::Deformable;

/// Returns the largest difference between two motions, in coordinates of the same space.
fn largest_difference(a: &Spacetime, b: &Spacetime) -> f64 {
    let times: Vec<f64> = (-3..40).map(|i| 0.05 * f64::from(i)).collect();
    (a.coordinates_at(&times) - b.coordinates_at(&times)).norm_max()
}

fn uniform_velocity(x: f64, y: f64, z: f64) -> Velocity {
    Velocity::Given(vec![Vec3::new(x, y, z); 12])
}

/// Returns settings other than [`ringing_settings`].
fn other_settings() -> SpacetimeSettings {
    let velocities = [
        (1, uniform_velocity(0.2, -0.1, 0.4)),
        (3, uniform_velocity(0.0, 0.3, -0.2)),
    ];
    SpacetimeSettings {
        stiffness: 12.0,
        damping: (0.1, 2e-3),
        gravity: Vec3::new(0.1, 0.2, -1.0),
        velocities: velocities.into_iter().collect(),
    }
}

/// Returns the shapes of the strip, the last one equal to the first.
fn closed_shapes() -> Vec<Vec<Vec3>> {
    let mut shapes = strip().1;
    shapes[3] = shapes[0].clone();
    shapes
}

fn cyclic_space() -> SpaceSettings {
    SpaceSettings {
        cyclic: true,
        ..kept_rigid_space()
    }
}

/// A motion with changed times and settings equals one that was made with them.
#[test]
fn set_matches_new_motion() {
    let times = [0.0, 0.4, 1.0, 1.3];
    for options in [kept_rigid_space(), SpaceSettings::default()] {
        let new = motion_through(&strip().1, &times, &other_settings(), &options);
        let mut changed = strip_motion(&options);
        assert!(largest_difference(&new, &changed) > 1e-2);
        changed.update(None, Some(other_settings())).unwrap();
        changed.update(Some(times.to_vec()), None).unwrap();
        assert!(largest_difference(&new, &changed) < 1e-12);
        assert_eq!(changed.times(), times);
        assert_eq!(changed.settings(), &other_settings());
    }
}

/// A motion with a changed keyframe passes through its new shape.
#[test]
fn reshape_matches_new_keyframe() {
    let mut shapes = strip().1;
    let bulged = |x: &Vec3| x + Vec3::new(0.0, 0.1 * x.x, 0.2 * (2.0 * x.x).sin());
    let other: Vec<Vec3> = shapes[1].iter().map(bulged).collect();
    let mut changed = strip_motion(&kept_rigid_space());
    assert!(changed.reshape(1, &other).unwrap() < 1e-12);
    shapes[1] = other;
    // Linearisations stay those of the old shape; the keyframe is still met.
    assert_eq!(changed.keyframes()[1], shapes[1]);
    let at = changed.coordinates_at(&KEY_TIMES);
    for (key, shape) in shapes.iter().enumerate() {
        for (v, x) in shape.iter().enumerate() {
            let reached = |k: usize| shapes[0][v][k] + at[(3 * v + k, key)];
            assert!((0..3).all(|k| (reached(k) - x[k]).abs() < 1e-12));
        }
    }
}

/// A change at one end of a cycle changes both ends, whether the keyframe is met or approached.
#[test]
fn cycle_ends_are_one_keyframe() {
    let other: Vec<Vec3> = closed_shapes()[0].iter().map(|x| x * 1.1).collect();
    for key in [0, 3] {
        let mut cycle = motion_through(
            &closed_shapes(),
            &KEY_TIMES,
            &ringing_settings(),
            &cyclic_space(),
        );
        assert!(cycle.is_cyclic());
        cycle.reshape(key, &other).unwrap();
        assert_eq!(cycle.keyframes()[0], cycle.keyframes()[3]);
        let h = 1e-7;
        let at = cycle.coordinates_at(&[0.0, 1.5 - h, 1.5 + h]);
        for near in [1, 2] {
            for row in 0..36 {
                assert!((at[(row, near)] - at[(row, 0)]).abs() < 1e-4);
            }
        }
        // Drawn to only, it is drawn to on both sides.
        let exact = cycle.coordinates_at(&[0.0]);
        cycle.soften(key, Some(1e-3)).unwrap();
        let at = cycle.coordinates_at(&[0.0, 1.5 - h]);
        let off = |i: usize, row: usize| (at[(row, i)] - exact[(row, 0)]).abs();
        let most = |i: usize| (0..36).map(|row| off(i, row)).fold(0.0, f64::max);
        assert!(most(0) > 1e-3 && (most(0) - most(1)).abs() < 1e-4);
    }
    assert!(!strip_motion(&kept_rigid_space()).is_cyclic());
}

/// A motion with an inserted keyframe equals one that was made with it.
#[test]
fn insert_matches_new_motion() {
    let (_, shapes) = strip();
    let twisted = |x: &Vec3| x + Vec3::new(0.0, -0.1 * x.z, 0.3 * (x.x * x.y).sin());
    let new: Vec<Vec3> = shapes[2].iter().map(twisted).collect();
    let ghost = |time: f64, by: f64| {
        let shape = shapes[0].iter().map(|x| x * (1.0 + by)).collect();
        (time, shape)
    };
    let ghosts = vec![
        ghost(0.2, 0.02),
        ghost(0.6, 0.04),
        ghost(1.0, -0.03),
        ghost(1.35, 0.05),
    ];
    for ghosts in [Ghosts::None, Ghosts::Given(ghosts)] {
        for (time, key) in [(0.3, 1), (0.65, 2), (1.2, 3)] {
            let options = SpaceSettings {
                ghosts: ghosts.clone(),
                ..kept_rigid_space()
            };
            let mut later = other_settings();
            let moved = later.velocities.iter();
            later.velocities = moved
                .map(|(&k, v)| (if k >= key { k + 1 } else { k }, v.clone()))
                .collect();
            let (mut shapes, mut times) = (shapes.clone(), KEY_TIMES.to_vec());
            let mut inserted = motion_through(&shapes, &times, &other_settings(), &options);
            assert_eq!(inserted.insert(time, &new, &Silent), Ok(key));
            shapes.insert(key, new.clone());
            times.insert(key, time);
            let fresh = motion_through(&shapes, &times, &later, &options);
            assert!(largest_difference(&inserted, &fresh) < 1e-10, "{time}");
            let places = |m: &Spacetime| -> Vec<(usize, f64)> {
                m.ghosts().iter().map(|g| (g.0, g.1)).collect()
            };
            for (a, b) in places(&inserted).iter().zip(&places(&fresh)) {
                assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-12, "{a:?} {b:?}");
            }
        }
    }
}

/// An insertion outside the motion's times is refused and changes nothing.
#[test]
fn insert_refuses_outside_times() {
    let (_, shapes) = strip();
    let mut all = strip_motion(&kept_rigid_space());
    for time in [-0.1, 0.0, 1.5, 2.0, f64::NAN] {
        let refused = all.insert(time, &shapes[1], &Silent);
        assert!(matches!(refused, Err(SpacetimeError::Outside { .. })));
    }
    assert!(all.insert(0.5, &shapes[1], &Silent).is_err());
    assert!(largest_difference(&all, &strip_motion(&kept_rigid_space())) == 0.0);
}

/// Curves pass through the keyframes and keep their distances in the mass norm.
#[test]
fn curves_keep_keyframe_distances() {
    let (shell, shapes) = strip();
    let all = strip_motion(&kept_rigid_space());
    let masses = Deformable::masses(shell.as_ref());
    let (ours, plain) = all.principal_curves(&KEY_TIMES, 9);
    // Four keyframes differ in three directions; a fourth has nothing.
    assert_eq!((ours.len(), plain.len()), (16, 16));
    for (a, b) in ours.iter().zip(&plain) {
        assert!((a - b).abs() < 1e-10, "both go through the keyframes");
    }
    for i in 0..4 {
        for j in 0..i {
            let along = (0..4).map(|c| (ours[4 * i + c] - ours[4 * j + c]).powi(2));
            let pairs = shapes[i].iter().zip(&shapes[j]).zip(masses);
            let by_mass = pairs.map(|((a, b), m)| m * (a - b).norm_squared());
            let (found, wanted): (f64, f64) = (along.sum(), by_mass.sum());
            assert!((found - wanted).abs() < 1e-9 * wanted, "{found} {wanted}");
        }
    }
    for c in 0..4 {
        let mean: f64 = (0..4).map(|t| ours[4 * t + c]).sum();
        assert!(
            mean.abs() < 1e-10,
            "the mean of the keyframes is the origin"
        );
    }
    let fewer = all.principal_curves(&KEY_TIMES, 1).0;
    for (t, x) in fewer.iter().enumerate() {
        assert!((x.abs() - ours[4 * t].abs()).abs() < 1e-12);
    }
}

/// A soft keyframe with a large weight is met, at an end as well as at a seam.
#[test]
fn firm_soft_keyframe_is_met() {
    for options in [kept_rigid_space(), cyclic_space()] {
        let shapes = if options.cyclic {
            closed_shapes()
        } else {
            strip().1
        };
        let exact = motion_through(&shapes, &KEY_TIMES, &ringing_settings(), &options);
        for key in 0..4 {
            let mut soft = motion_through(&shapes, &KEY_TIMES, &ringing_settings(), &options);
            soft.soften(key, Some(1e10)).unwrap();
            assert!(largest_difference(&soft, &exact) < 1e-4, "{key}");
            soft.soften(key, Some(1e-9)).unwrap();
            assert!(largest_difference(&soft, &exact) > 1e-3, "{key}");
            soft.soften(key, None).unwrap();
            assert!(largest_difference(&soft, &exact) < 1e-12, "{key}");
        }
    }
}

/// A vertex cannot have two places at one time, but may have one after the other.
#[test]
fn partial_refuses_contradiction() {
    let (here, there) = (Vec3::new(1.0, 0.2, 0.9), Vec3::new(1.0, 0.2, 0.8));
    let mut all = strip_motion(&kept_rigid_space());
    let id = all.add_partial(0.65, vec![3], vec![here], None).unwrap();
    let again = all.add_partial(0.65, vec![3], vec![there], None);
    assert!(matches!(
        again,
        Err(SpacetimeError::Contradiction { vertex: 3, .. })
    ));
    // No contradiction: the same once more, elsewhere by a weight, another vertex, another time.
    all.add_partial(0.65, vec![3], vec![here], None).unwrap();
    all.add_partial(0.65, vec![3], vec![there], Some(1.0))
        .unwrap();
    all.add_partial(0.65, vec![4], vec![there], None).unwrap();
    all.add_partial(0.7, vec![3], vec![there], None).unwrap();
    all.drop_partial(id).unwrap();
    assert!(all.drop_partial(id).is_err());
}

/// A partial keyframe is met, however stiff the body is.
#[test]
fn partial_is_met_at_any_stiffness() {
    let wanted = Vec3::new(1.0, 0.2, 0.9);
    for stiffness in [1e-6, 1.0, 1e6, 1e10] {
        let settings = SpacetimeSettings {
            stiffness,
            ..SpacetimeSettings::default()
        };
        let mut all = motion_through(&strip().1, &KEY_TIMES, &settings, &kept_rigid_space());
        all.add_partial(0.65, vec![3], vec![wanted], None).unwrap();
        let reached = all.positions(&[0.65]);
        for k in 0..3 {
            let miss = (f64::from(reached[9 + k]) - wanted[k]).abs();
            assert!(miss < 1e-5, "{stiffness}: {miss}");
        }
    }
}

/// The damping of a mode is the sum of its mass and stiffness parts.
#[test]
fn dampings_add_up() {
    let dampings = |damping: (f64, f64)| -> Vec<f64> {
        let settings = SpacetimeSettings {
            damping,
            ..ringing_settings()
        };
        let all = motion_through(&strip().1, &KEY_TIMES, &settings, &kept_rigid_space());
        let spline = &all.solved.splines[0];
        let modes = 0..spline.len();
        modes.map(|mode| spline.oscillator(mode).damping).collect()
    };
    let (alpha, beta) = (0.3, 2e-3);
    let (mass, stiff) = (dampings((alpha, 0.0)), dampings((0.0, beta)));
    let both = dampings((alpha, beta));
    for ((mass, stiff), both) in mass.iter().zip(&stiff).zip(both) {
        // A mode's damping term is 2δ ω̇, the equation of motion's is α ω̇.
        assert!((mass - 0.5 * alpha).abs() < 1e-12 && *stiff >= 0.0);
        assert!((both - mass - stiff).abs() < 1e-9 * both);
    }
    assert!(stiff.iter().any(|d| *d > 0.01));
}
