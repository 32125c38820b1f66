// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shots with force fields, gravity and stiffness that change from frame to frame.

use super::*;
use crate::Vec3;
use crate::body::fixture::BarOptions;
use crate::body::{Body, BodySettings};
use crate::disk::tests::TestFolder;
use crate::dynamics::{Method, SimulationSettings, Tracks};
use crate::force_fields::{FieldKind, FieldShape, ForceField};
use crate::present::SurfaceId;
use crate::progress::Silent;
use nalgebra::{Isometry3, Translation3, UnitQuaternion};

const G: f64 = 9.81;

fn bar(frame: Isometry3<f64>) -> Arc<Body> {
    let settings = BodySettings {
        rest_includes_gravity: false,
        ..Default::default()
    };
    BarOptions {
        settings,
        frame,
        ..Default::default()
    }
    .build()
}

fn still(frames: usize) -> Vec<Pose> {
    vec![Pose::rest(2); frames]
}

fn shot(method: Method, gravity: Vec3, tracks: Tracks, frames: usize) -> Shot {
    let simulation = SimulationSettings {
        gravity,
        ..SimulationSettings::with_default_damping().with_method(method)
    };
    let settings = ClipSettings {
        tracks: Arc::new(tracks),
        ..ClipSettings::new(24.0, simulation)
    };
    Shot::new(bar(Isometry3::identity()), still(frames), settings)
}

fn skin(shot: &Shot) -> Vec<Vec<f32>> {
    let (clip, _) = shot.simulate(&Silent).unwrap();
    let frames = 0..clip.len() as i64;
    frames
        .map(|f| clip.offsets(f, SurfaceId::OWN).unwrap())
        .collect()
}

fn max_difference(a: &[Vec<f32>], b: &[Vec<f32>]) -> f32 {
    let all = a.iter().flatten().zip(b.iter().flatten());
    all.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

fn largest(a: &[Vec<f32>]) -> f32 {
    a.iter().flatten().fold(0.0, |most, x| x.abs().max(most))
}

fn wind(axis: Vec3, strength: f64) -> ForceField {
    let turn = UnitQuaternion::rotation_between(&Vec3::z(), &axis).unwrap();
    ForceField {
        shape: FieldShape::Plane,
        places: vec![Isometry3::from_parts(Translation3::identity(), turn)],
        ..ForceField::new(FieldKind::Wind).with_number("strength", &[strength])
    }
}

fn fields(fields: Vec<ForceField>) -> Tracks {
    Tracks {
        fields,
        ..Default::default()
    }
}

/// A uniform field of the strength of gravity does what gravity does, in balance and in motion, with every method.
#[test]
fn uniform_field_equals_gravity() {
    for method in Method::ALL {
        let heavy = skin(&shot(method, Vec3::x() * G, Tracks::default(), 4));
        let blown = fields(vec![wind(Vec3::x(), G)]);
        let blown = skin(&shot(method, Vec3::zeros(), blown, 4));
        let (size, apart) = (largest(&heavy), max_difference(&heavy, &blown));
        assert!(size > 1e-3, "{method:?}: {size}");
        assert!(apart <= 2e-5 * size, "{method:?}: {apart} of {size}");
    }
}

/// Tracks that change nothing give the same bits as the settings.
#[test]
fn constant_tracks_keep_bits() {
    let down = -Vec3::z() * G;
    let plain = skin(&shot(Method::Hyperelastic, down, Tracks::default(), 5));
    let tracks = Tracks {
        gravity: vec![down, down, down, Vec3::zeros(), Vec3::zeros()],
        stiffness: vec![1.0; 5],
        fields: vec![wind(Vec3::x(), 0.0)],
    };
    let led = skin(&shot(Method::Hyperelastic, down, tracks, 5));
    // The third frame is the last whose gravity is that of the settings throughout.
    assert_eq!(plain[..3], led[..3]);
    assert_ne!(plain[4], led[4]);
}

/// Wind and a strength that rises linearly give the same motion at 24 and at 60 frames per second.
#[test]
fn motion_does_not_depend_on_frame_rate() {
    let at = |fps: f64| {
        let frames = fps as usize + 1;
        let ramp: Vec<f64> = (0..frames).map(|f| 20.0 * f as f64 / fps).collect();
        let rising = wind(Vec3::x(), 0.0).with_number("strength", &ramp);
        let tracks = fields(vec![rising.with_number("flow", &[1.0])]);
        let mut shot = shot(Method::Hyperelastic, Vec3::zeros(), tracks, frames);
        shot.settings.fps = fps;
        skin(&shot)
    };
    let (film, screen) = (at(24.0), at(60.0));
    for quarter in 0..=4 {
        let (a, b) = (&film[6 * quarter], &screen[15 * quarter]);
        let apart = max_difference(std::slice::from_ref(a), std::slice::from_ref(b));
        assert!(apart <= 1e-4 * largest(&film), "{quarter}: {apart}");
    }
}

/// A turned and moved world turns the motion under all fields and changing gravity.
#[test]
fn motion_moves_with_the_world() {
    let frames = 6;
    let at = |world: Isometry3<f64>| {
        let place = |x: f64, y: f64, z: f64| {
            world * Isometry3::new(Vec3::new(x, y, z), Vec3::new(0.3, 1.2, -0.4))
        };
        let field = |kind: FieldKind, strength: f64| ForceField {
            places: vec![place(0.4, -0.3, 0.9), place(0.5, 0.1, 1.4)],
            ..ForceField::new(kind).with_number("strength", &[strength, 2.0 * strength])
        };
        let mut all = vec![
            field(FieldKind::Wind, 4.0),
            field(FieldKind::Force, 6.0).with_number("power", &[1.0]),
            field(FieldKind::Vortex, 5.0),
            field(FieldKind::Turbulence, 8.0).with_number("size", &[0.4]),
            field(FieldKind::Drag, 0.0).with_number("linear_drag", &[1.0]),
        ];
        for field in &mut all {
            for values in field.numbers.iter_mut().chain([]) {
                let last = values.last().copied();
                values.extend(
                    last.filter(|_| values.len() > 1)
                        .into_iter()
                        .cycle()
                        .take(frames),
                );
            }
            let last = field.places[1];
            field.places.resize(frames, last);
        }
        let gravity = |i: usize| world.rotation * Vec3::new(0.0, 2.0 * i as f64, -3.0);
        let tracks = Tracks {
            fields: all,
            gravity: (0..frames).map(gravity).collect(),
            stiffness: vec![1.0, 0.7, 0.5, 0.5, 0.8, 1.2],
        };
        let mut shot = shot(Method::Warped, gravity(0), tracks, frames);
        let body = bar(world);
        shot.surfaces = body.into();
        let (clip, _) = shot.simulate(&Silent).unwrap();
        let back = world.inverse();
        let (positions, _) = clip.positions_and_sway(frames - 1);
        let home = |p: &Vec3| (back * nalgebra::Point3::from(*p)).coords;
        positions.iter().map(home).collect::<Vec<Vec3>>()
    };
    let turn = Vec3::new(0.7, -0.5, 1.9);
    let (here, there) = (
        at(Isometry3::identity()),
        at(Isometry3::new(Vec3::new(2.0, -1.0, 0.5), turn)),
    );
    let apart = here.iter().zip(&there).map(|(a, b)| (a - b).norm());
    let apart = apart.fold(0.0, f64::max);
    assert!(apart < 1e-5, "{apart}");
}

/// Drag takes energy from a swing; a strong one never throws flesh.
#[test]
fn drag_damps_a_swing() {
    let swing = |rate: f64| {
        let drag = ForceField::new(FieldKind::Drag).with_number("linear_drag", &[rate]);
        let gravity = Vec3::x() * G;
        let tracks = Tracks {
            fields: vec![drag],
            // A balance that is let go.
            gravity: std::iter::once(gravity)
                .chain(std::iter::repeat_n(Vec3::zeros(), 23))
                .collect(),
            stiffness: Vec::new(),
        };
        let mut shot = shot(Method::Hyperelastic, gravity, tracks, 24);
        let damping = &mut shot.settings.simulation;
        (damping.mass_damping, damping.stiffness_damping) = (Some(0.0), Some(0.0));
        let frames = skin(&shot);
        let late = &frames[12..];
        late.iter()
            .map(|f| largest(std::slice::from_ref(f)))
            .fold(0.0, f32::max)
    };
    let (free, damped, strong) = (swing(0.0), swing(5.0), swing(1e6));
    assert!(damped < 0.7 * free, "{damped} of {free}");
    assert!(
        strong.is_finite() && strong < 2.0 * free,
        "{strong} of {free}"
    );
}

/// Softer flesh yields more under the same wind, also where it becomes soft during the clip.
#[test]
fn stiffness_track_softens_flesh() {
    let at = |stiffness: Vec<f64>| {
        let tracks = Tracks {
            fields: vec![wind(Vec3::x(), 5.0)],
            stiffness,
            ..Default::default()
        };
        largest(&skin(&shot(Method::Hyperelastic, Vec3::zeros(), tracks, 48))[47..])
    };
    let (plain, soft) = (at(Vec::new()), at(vec![0.5]));
    let mut falling = vec![1.0; 8];
    falling.resize(48, 0.5);
    let became = at(falling);
    assert!(soft > 1.5 * plain, "{soft} {plain}");
    assert!((became / soft - 1.0).abs() < 0.1, "{became} {soft}");
    let refused = Tracks {
        stiffness: vec![1.0, 0.5],
        ..Default::default()
    };
    let refused = shot(Method::Modal, Vec3::zeros(), refused, 2).simulate(&Silent);
    let sentence = refused.unwrap_err().to_string();
    assert!(sentence.contains("modal"), "{sentence}");
}

/// A shot with tracks comes back from its file, and a clip of it continues with the same bits.
#[test]
fn tracks_are_stored_and_continued() {
    let folder = TestFolder::new();
    let gusts: Vec<f64> = (0..12).map(|f| 3.0 * f as f64).collect();
    let tracks = Tracks {
        fields: vec![wind(Vec3::y(), 0.0).with_number("strength", &gusts)],
        gravity: (0..12).map(|f| Vec3::x() * f as f64).collect(),
        stiffness: (0..12).map(|f| 1.0 + 0.1 * f as f64).collect(),
    };
    let whole = shot(Method::Warped, Vec3::zeros(), tracks, 12);
    let path = folder.0.join("shot.thew");
    whole.save(&path).unwrap();
    let read = Shot::load(&path).unwrap();
    assert_eq!(read.settings, whole.settings);
    let wanted = skin(&whole);
    assert_eq!(skin(&read), wanted);
    let mut part = whole.clone();
    part.poses.truncate(8);
    let (clip, _) = part.simulate(&Silent).unwrap();
    let path = folder.0.join("clip.thew");
    clip.save(&path).unwrap();
    let clip = Clip::load(&path).unwrap();
    clip.extend(&whole.poses[8..], None, &Silent).unwrap();
    for (f, wanted) in wanted.iter().enumerate() {
        assert_eq!(
            &clip.offsets(f as i64, SurfaceId::OWN).unwrap(),
            wanted,
            "{f}"
        );
    }
    let mut long = whole.clone();
    long.poses.extend(still(1));
    let sentence = long.simulate(&Silent).unwrap_err().to_string();
    assert!(
        sentence.contains("12 entries") && sentence.contains("13 frames"),
        "{sentence}"
    );
}
