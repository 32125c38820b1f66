// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is changed or inserted later is as if it had been so from the beginning; curves of what leads.

use super::*;
use crate::Vec3;
use crate::progress::Silent;
use crate::spacetime::Deformable;

/// The farthest of two motions from each other, in coordinates of the same space.
fn apart(a: &Spacetime, b: &Spacetime) -> f64 {
    let times: Vec<f64> = (-3..40).map(|i| 0.05 * f64::from(i)).collect();
    (a.coordinates_at(&times) - b.coordinates_at(&times)).norm_max()
}

fn given(x: f64, y: f64, z: f64) -> Velocity {
    Velocity::Given(vec![Vec3::new(x, y, z); 12])
}

/// Other settings than [`ringing`].
fn others() -> Settings {
    let velocities = [(1, given(0.2, -0.1, 0.4)), (3, given(0.0, 0.3, -0.2))];
    Settings {
        stiffness: 12.0,
        damping: (0.1, 2e-3),
        gravity: Vec3::new(0.1, 0.2, -1.0),
        velocities: velocities.into_iter().collect(),
    }
}

/// The shapes of the strip, the last one as the first.
fn closed() -> Vec<Vec<Vec3>> {
    let mut shapes = strip().1;
    shapes[3] = shapes[0].clone();
    shapes
}

fn cyclic() -> SpaceSettings {
    SpaceSettings {
        cyclic: true,
        ..kept()
    }
}

/// A motion with changed times and settings equals one that was made with them.
#[test]
fn set_matches_new_motion() {
    let times = [0.0, 0.4, 1.0, 1.3];
    for options in [kept(), SpaceSettings::default()] {
        let new = through(&strip().1, &times, &others(), &options);
        let mut changed = motion(&options);
        assert!(apart(&new, &changed) > 1e-2);
        changed.set(None, Some(others())).unwrap();
        changed.set(Some(times.to_vec()), None).unwrap();
        assert!(apart(&new, &changed) < 1e-12);
        assert_eq!(changed.times(), times);
        assert_eq!(changed.settings(), &others());
    }
}

/// A motion with a changed keyframe passes through its new shape.
#[test]
fn reshape_matches_new_keyframe() {
    let mut shapes = strip().1;
    let bulged = |x: &Vec3| x + Vec3::new(0.0, 0.1 * x.x, 0.2 * (2.0 * x.x).sin());
    let other: Vec<Vec3> = shapes[1].iter().map(bulged).collect();
    let mut changed = motion(&kept());
    assert!(changed.reshape(1, &other).unwrap() < 1e-12);
    shapes[1] = other;
    // Linearisations stay those of the old shape: they agree in where they lead.
    assert_eq!(changed.keyframes()[1], shapes[1]);
    let at = changed.coordinates_at(&TIMES);
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
    let other: Vec<Vec3> = closed()[0].iter().map(|x| x * 1.1).collect();
    for key in [0, 3] {
        let mut cycle = through(&closed(), &TIMES, &ringing(), &cyclic());
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
    assert!(!motion(&kept()).is_cyclic());
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
                ..kept()
            };
            let mut later = others();
            let moved = later.velocities.iter();
            later.velocities = moved
                .map(|(&k, v)| (if k >= key { k + 1 } else { k }, v.clone()))
                .collect();
            let (mut shapes, mut times) = (shapes.clone(), TIMES.to_vec());
            let mut inserted = through(&shapes, &times, &others(), &options);
            assert_eq!(inserted.insert(time, &new, &Silent), Ok(key));
            shapes.insert(key, new.clone());
            times.insert(key, time);
            let fresh = through(&shapes, &times, &later, &options);
            assert!(apart(&inserted, &fresh) < 1e-10, "{time}");
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
    let mut all = motion(&kept());
    for time in [-0.1, 0.0, 1.5, 2.0, f64::NAN] {
        let refused = all.insert(time, &shapes[1], &Silent);
        assert!(matches!(refused, Err(SpacetimeError::Outside { .. })));
    }
    assert!(all.insert(0.5, &shapes[1], &Silent).is_err());
    assert!(apart(&all, &motion(&kept())) == 0.0);
}

/// Curves pass through the keyframes and keep their distances in the mass norm.
#[test]
fn curves_keep_keyframe_distances() {
    let (shell, shapes) = strip();
    let all = motion(&kept());
    let masses = Deformable::masses(shell.as_ref());
    let (ours, plain) = all.curves(&TIMES, 9);
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
    let fewer = all.curves(&TIMES, 1).0;
    for (t, x) in fewer.iter().enumerate() {
        assert!((x.abs() - ours[4 * t].abs()).abs() < 1e-12);
    }
}

/// A soft keyframe with a large weight is met, at an end as well as at a seam.
#[test]
fn firm_soft_keyframe_is_met() {
    for options in [kept(), cyclic()] {
        let shapes = if options.cyclic { closed() } else { strip().1 };
        let exact = through(&shapes, &TIMES, &ringing(), &options);
        for key in 0..4 {
            let mut soft = through(&shapes, &TIMES, &ringing(), &options);
            soft.soften(key, Some(1e10)).unwrap();
            assert!(apart(&soft, &exact) < 1e-4, "{key}");
            soft.soften(key, Some(1e-9)).unwrap();
            assert!(apart(&soft, &exact) > 1e-3, "{key}");
            soft.soften(key, None).unwrap();
            assert!(apart(&soft, &exact) < 1e-12, "{key}");
        }
    }
}

/// A vertex cannot have two places at one time, but may have one after the other.
#[test]
fn partial_refuses_contradiction() {
    let (here, there) = (Vec3::new(1.0, 0.2, 0.9), Vec3::new(1.0, 0.2, 0.8));
    let mut all = motion(&kept());
    let id = all.partial(0.65, vec![3], vec![here], None).unwrap();
    let again = all.partial(0.65, vec![3], vec![there], None);
    assert!(matches!(
        again,
        Err(SpacetimeError::Contradiction { vertex: 3, .. })
    ));
    // The same once more, elsewhere by a weight, another vertex, and another time are none.
    all.partial(0.65, vec![3], vec![here], None).unwrap();
    all.partial(0.65, vec![3], vec![there], Some(1.0)).unwrap();
    all.partial(0.65, vec![4], vec![there], None).unwrap();
    all.partial(0.7, vec![3], vec![there], None).unwrap();
    all.drop_partial(id).unwrap();
    assert!(all.drop_partial(id).is_err());
}

/// A partial keyframe is met, however stiff the body is.
#[test]
fn partial_is_met_at_any_stiffness() {
    let wanted = Vec3::new(1.0, 0.2, 0.9);
    for stiffness in [1e-6, 1.0, 1e6, 1e10] {
        let settings = Settings {
            stiffness,
            ..Settings::default()
        };
        let mut all = through(&strip().1, &TIMES, &settings, &kept());
        all.partial(0.65, vec![3], vec![wanted], None).unwrap();
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
        let settings = Settings {
            damping,
            ..ringing()
        };
        let all = through(&strip().1, &TIMES, &settings, &kept());
        let spline = &all.solved.splines[0];
        let modes = 0..spline.len();
        modes.map(|mode| spline.oscillator(mode).damping).collect()
    };
    let (alpha, beta) = (0.3, 2e-3);
    let (mass, stiff) = (dampings((alpha, 0.0)), dampings((0.0, beta)));
    let both = dampings((alpha, beta));
    for ((mass, stiff), both) in mass.iter().zip(&stiff).zip(both) {
        // Of 2δ, as α is of the equation of motion.
        assert!((mass - 0.5 * alpha).abs() < 1e-12 && *stiff >= 0.0);
        assert!((both - mass - stiff).abs() < 1e-9 * both);
    }
    assert!(stiff.iter().any(|d| *d > 0.01));
}
