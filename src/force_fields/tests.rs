// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fields against their formulas, and noise against its statistics.

use super::noise::{noise_1d, noise_3d};
use super::*;
use crate::Vec3;
use nalgebra::{Translation3, UnitQuaternion};

fn at(field: &ForceField, x: Vec3, v: Vec3) -> (Vec3, f64) {
    field.acceleration(&field.state_at(0, 24.0), &x, &v)
}

fn still(field: &ForceField, x: Vec3) -> Vec3 {
    at(field, x, Vec3::zeros()).0
}

fn points() -> Vec<Vec3> {
    let each = |i: usize| {
        let t = i as f64;
        Vec3::new(
            (1.7 * t).sin() * 3.0,
            (2.3 * t).cos() * 2.0,
            (0.9 * t).sin() * 4.0,
        )
    };
    (1..40).map(each).collect()
}

fn moved(mut field: ForceField) -> ForceField {
    let turn = UnitQuaternion::from_scaled_axis(Vec3::new(0.4, -1.1, 0.7));
    field.places = vec![Isometry3::from_parts(
        Translation3::new(0.3, -0.2, 1.1),
        turn,
    )];
    field
}

/// Wind is the same everywhere, along the field's axis.
#[test]
fn wind_is_uniform_along_axis() {
    let field = moved(ForceField::new(FieldKind::Wind).with_number("strength", &[3.0]));
    let axis = field.places[0].rotation * Vec3::z();
    for x in points() {
        assert!((still(&field, x) - axis * 3.0).norm() < 1e-12);
    }
}

/// A force points away from its place and falls with the chosen power of the distance; beyond the largest distance there is none.
#[test]
fn force_falls_with_distance() {
    let power = |p: f64| {
        let field = ForceField::new(FieldKind::Force).with_number("strength", &[5.0]);
        moved(
            field
                .with_number("power", &[p])
                .with_number("max_distance", &[4.0]),
        )
    };
    for x in points() {
        let r = x - power(0.0).places[0].translation.vector;
        for p in [0.0, 1.0, 2.0] {
            let wanted = match r.norm() > 4.0 {
                true => Vec3::zeros(),
                false => r.normalize() * 5.0 / (1.0 + r.norm()).powf(p),
            };
            assert!((still(&power(p), x) - wanted).norm() < 1e-12);
        }
    }
    let newton = ForceField {
        gravitation: true,
        ..ForceField::new(FieldKind::Force)
    };
    let pull = |d: f64| still(&newton, Vec3::new(d, 0.0, 0.0)).x;
    assert!((pull(1.0) / pull(3.0) - 9.0).abs() < 1e-12);
    assert_eq!(still(&newton, Vec3::zeros()), Vec3::zeros());
}

/// A vortex has the curl 2 s along its axis everywhere, and no divergence.
#[test]
fn vortex_has_constant_curl() {
    let field = moved(ForceField::new(FieldKind::Vortex).with_number("strength", &[1.5]));
    let axis = field.places[0].rotation * Vec3::z();
    let h = 1e-4;
    for x in points() {
        let slope = |k: usize| {
            let mut d = Vec3::zeros();
            d[k] = h;
            (still(&field, x + d) - still(&field, x - d)) / (2.0 * h)
        };
        let [a, b, c] = [slope(0), slope(1), slope(2)];
        let curl = Vec3::new(b.z - c.y, c.x - a.z, a.y - b.x);
        assert!((curl - axis * 3.0).norm() < 1e-6, "{curl}");
        assert!((a.x + b.y + c.z).abs() < 1e-6);
    }
}

/// Drag and flow act against the velocity, at rates in proportion to its size and the falloff.
#[test]
fn drag_slows_motion() {
    let drag = ForceField::new(FieldKind::Drag)
        .with_number("linear_drag", &[0.5])
        .with_number("quadratic_drag", &[0.25]);
    let (acceleration, rate) = at(&drag, Vec3::x(), Vec3::new(0.0, 3.0, 4.0));
    assert_eq!((acceleration, rate), (Vec3::zeros(), 0.5 + 0.25 * 5.0));
    let wind = ForceField::new(FieldKind::Wind).with_number("flow", &[2.0]);
    assert_eq!(at(&wind, Vec3::x(), Vec3::y()).1, 2.0);
}

/// Turbulence is zero on average, within its strength, smooth, the same for equal seeds, another for others, and moves with its field.
#[test]
fn turbulence_is_balanced_noise() {
    let (mut sum, mut square, mut most) = (Vec3::zeros(), 0.0, 0.0f64);
    let count = 40_000;
    for i in 0..count {
        let t = i as f64;
        // Points that fill a large box evenly.
        let x = Vec3::new(
            (0.754_877 * t).fract(),
            (0.569_840 * t).fract(),
            (0.819_172 * t).fract(),
        );
        let n = noise_3d(7, &(x * 60.0));
        sum += n;
        square += n.norm_squared();
        most = most.max(n.amax());
    }
    let mean = sum / f64::from(count);
    let size = (square / f64::from(count)).sqrt();
    assert!(mean.norm() < 0.02 * size, "{mean} {size}");
    assert!(most <= 1.0 && most > 0.5, "{most}");
    let x = Vec3::new(0.31, 1.7, -2.4);
    assert_eq!(noise_3d(7, &x), noise_3d(7, &x));
    assert!((noise_3d(7, &x) - noise_3d(8, &x)).norm() > 1e-3);
    let near = x + Vec3::new(1e-6, 0.0, 0.0);
    assert!((noise_3d(7, &x) - noise_3d(7, &near)).norm() < 1e-4);
    let field = ForceField::new(FieldKind::Turbulence);
    let elsewhere = moved(field.clone());
    let place = elsewhere.places[0];
    let turned = place.rotation * still(&field, x);
    let there = (place * nalgebra::Point3::from(x)).coords;
    assert!((still(&elsewhere, there) - turned).norm() < 1e-9);
}

/// Noise in time stays within one, changes smoothly, and does not depend on the frame rate.
#[test]
fn strength_noise_follows_time() {
    let field = ForceField {
        seed: 3,
        ..ForceField::new(FieldKind::Wind).with_number("noise", &[2.0])
    };
    let strength = |frame: usize, fps: f64| field.state_at(frame, fps).numbers[STRENGTH];
    let all: Vec<f64> = (0..2000).map(|f| strength(f, 24.0)).collect();
    assert!(all.iter().all(|s| (s - 1.0).abs() <= 2.0));
    let mean = all.iter().sum::<f64>() / 2000.0;
    assert!((mean - 1.0).abs() < 0.2, "{mean}");
    for second in 0..20 {
        assert_eq!(strength(24 * second, 24.0), strength(60 * second, 60.0));
    }
    assert_eq!(noise_1d(3, 5.0), 0.0);
}

/// Each shape and falloff counts its own distances.
#[test]
fn falloff_follows_shape() {
    let field = |shape: FieldShape, falloff: Falloff| ForceField {
        shape,
        falloff,
        ..ForceField::new(FieldKind::Wind)
            .with_number("power", &[1.0])
            .with_number("radial_power", &[1.0])
    };
    let x = Vec3::new(3.0, 0.0, 4.0);
    let value = |shape, falloff| still(&field(shape, falloff), x).z;
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    near(value(FieldShape::Point, Falloff::Sphere), 1.0 / 6.0);
    near(value(FieldShape::Line, Falloff::Sphere), 1.0 / 4.0);
    near(value(FieldShape::Plane, Falloff::Sphere), 1.0 / 5.0);
    near(value(FieldShape::Point, Falloff::Tube), 1.0 / 20.0);
    let angle = 3.0f64.atan2(4.0).to_degrees();
    near(
        value(FieldShape::Point, Falloff::Cone),
        1.0 / 5.0 / (1.0 + angle),
    );
    let one_side = ForceField {
        side: FieldSide::Negative,
        ..field(FieldShape::Point, Falloff::Sphere)
    };
    assert_eq!(still(&one_side, x), Vec3::zeros());
    assert_ne!(still(&one_side, -x), Vec3::zeros());
}

/// Numbers out of range are refused by the name of the field, and states between equal entries are those entries.
#[test]
fn check_names_the_field() {
    let named = |field: ForceField| ForceField {
        name: "Gale".into(),
        ..field
    };
    let base = || ForceField::new(FieldKind::Wind);
    for (number, value) in [
        ("strength", f64::NAN),
        ("strength", f64::INFINITY),
        ("flow", -1.0),
        ("power", f64::NAN),
        ("max_distance", f64::NAN),
        ("size", 0.0),
    ] {
        let sentence = named(base().with_number(number, &[1.0, value]))
            .check()
            .unwrap_err()
            .to_string();
        assert!(
            sentence.contains("'Gale'") && sentence.contains(number),
            "{sentence}"
        );
    }
    assert!(
        named(base().with_number("max_distance", &[f64::INFINITY]))
            .check()
            .is_ok()
    );
    let none = ForceField {
        places: Vec::new(),
        ..base()
    };
    assert!(none.check().is_err());
    let short = base().with_number("strength", &[1.0, 2.0]);
    assert!(short.check_frames(3).is_err() && short.check_frames(2).is_ok());
    let state = moved(base()).state_at(0, 24.0);
    let between = state.interpolate(&state, 0.3);
    assert_eq!(
        (between.place, between.numbers),
        (state.place, state.numbers)
    );
}
