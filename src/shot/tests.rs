// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shots come back from files and are simulated to the same bits.

use super::*;
use crate::body::fixture::BarOptions;
use crate::body::{Body, BodySettings};
use crate::disk::tests::TestFolder;
use crate::dynamics::{Method, SimulationSettings, Tracks};
use crate::force_fields::{FieldKind, ForceField};
use crate::present::SurfaceId;
use crate::progress::Silent;
use crate::rig::{BoneRef, Guide, Sample, Template, TemplateKind};
use crate::skeleton::Affine;
use crate::store::{self, StoreError};
use crate::{Mat3, Vec3};
use nalgebra::UnitQuaternion;

fn body() -> Arc<Body> {
    let bar = BarOptions::default();
    let settings = crate::body::BodySettings {
        region_weights: Some(bar.painted_weights()),
        ..Default::default()
    };
    BarOptions { settings, ..bar }.build()
}

fn poses(frames: usize) -> Vec<Pose> {
    let pose = |i: usize| {
        let r = UnitQuaternion::from_scaled_axis(Vec3::new(0.2 * (i as f64 * 0.7).sin(), 0.0, 0.0));
        let joint = Vec3::new(0.0, 0.0, 0.8);
        let upper = Affine {
            linear: r.to_rotation_matrix().into_inner(),
            translation: joint - r * joint,
        };
        Pose::new(vec![Affine::identity(), upper]).unwrap()
    };
    (0..frames).map(pose).collect()
}

fn rig() -> Arc<Rig> {
    let template = Template::new(TemplateKind::Bulge, &[0.12, 500.0]).unwrap();
    let guide = Guide::bone(BoneRef::Index(1), [0.5, 0.0, 0.05, 0.0]).unwrap();
    let sample = |control: f64| Sample {
        control,
        parameters: vec![0.12, 500.0 * control, 0.5, 0.0, 0.05, 0.0],
    };
    Arc::new(Rig::new("Bulge", template, guide, vec![sample(0.0), sample(1.0)]).unwrap())
}

fn shot(method: Method) -> Shot {
    let settings = ClipSettings {
        preroll: 2,
        ..ClipSettings::new(
            24.0,
            SimulationSettings::with_default_damping().with_method(method),
        )
    };
    let controls = (0..5).map(|i| 0.25 * f64::from(i)).collect();
    let texts = [("maker".to_owned(), "a test".to_owned())].into();
    Shot {
        name: "arm".into(),
        rigs: vec![rig()],
        controls: Some(controls),
        texts,
        ..Shot::new(body(), poses(5), settings)
    }
}

fn displayed_positions(clip: &Clip) -> Vec<Vec<f32>> {
    (0..clip.len() as i64)
        .map(|f| clip.offsets(f, SurfaceId::OWN).unwrap())
        .collect()
}

/// A shot that is read from a file is simulated to the same bits.
#[test]
fn stored_shot_keeps_bits() {
    let folder = TestFolder::new();
    let path = folder.0.join("shot.thew");
    for method in [Method::Hyperelastic, Method::Modal] {
        let mut shot = shot(method);
        if method == Method::Modal {
            let modes = Modes::for_body(shot.surfaces.body(), 6, &Silent).unwrap();
            shot.modes = ShotModes::These(Arc::new(modes.scale_stiffness(2.0).unwrap()));
        }
        shot.save(&path).unwrap();
        let again = Shot::load(&path).unwrap();
        assert_eq!(again.poses, shot.poses);
        assert_eq!(again.settings, shot.settings);
        assert_eq!((&again.rigs, &again.controls), (&shot.rigs, &shot.controls));
        let (clip, _) = shot.simulate(&Silent).unwrap();
        let (twin, _) = again.simulate(&Silent).unwrap();
        assert!(
            displayed_positions(&clip)
                .concat()
                .iter()
                .any(|x| *x != 0.0)
        );
        assert_eq!(
            displayed_positions(&clip),
            displayed_positions(&twin),
            "{}",
            method.name()
        );
        assert_eq!(twin.texts()["maker"], "a test");
        assert_eq!(twin.body_names(), ["arm"]);
        assert!(twin.texts()[RIGS_TEXT].contains("Bulge"));
    }
    assert_eq!(folder.names(), ["shot.thew"], "no part is left behind");
}

/// A shot with cuts equals its parts, one after the other.
#[test]
fn cut_shot_equals_parts() {
    let whole = Shot {
        restarts: vec![2, 3],
        ..shot(Method::Hyperelastic)
    };
    let folder = TestFolder::new();
    let path = folder.0.join("shot.thew");
    whole.save(&path).unwrap();
    let (clip, _) = Shot::load(&path).unwrap().simulate(&Silent).unwrap();
    let parts = [0..2, 2..3, 3..5].map(|part| {
        let controls = whole.controls.as_ref().unwrap()[part.clone()].to_vec();
        let part = Shot {
            poses: whole.poses[part].to_vec(),
            controls: Some(controls),
            ..shot(Method::Hyperelastic)
        };
        displayed_positions(&part.simulate(&Silent).unwrap().0)
    });
    assert_eq!(displayed_positions(&clip), parts.concat());
    let together = Shot::simulate_together(&[&whole], &Silent).unwrap();
    assert_eq!(
        displayed_positions(&together[0].0),
        displayed_positions(&clip)
    );
}

/// Cuts that do not divide the shot into parts are refused.
#[test]
fn load_refuses_bad_cuts() {
    for (restarts, cyclic) in [
        (vec![0], false),
        (vec![5], false),
        (vec![3, 3], false),
        (vec![2], true),
    ] {
        let mut shot = shot(Method::Hyperelastic);
        shot.settings.cyclic = cyclic;
        shot.restarts = restarts;
        let refused = shot.simulate(&Silent).unwrap_err().to_string();
        assert!(refused.contains("restarts"), "{refused}");
        let folder = TestFolder::new();
        let path = folder.0.join("shot.thew");
        shot.save(&path).unwrap();
        assert!(matches!(Shot::load(&path), Err(StoreError::Damaged { .. })));
    }
}

/// A stored shot whose parts do not fit together is refused.
#[test]
fn load_refuses_mismatched_parts() {
    let folder = TestFolder::new();
    let path = folder.0.join("shot.thew");
    let refused = |shot: Shot, words: &str| {
        shot.save(&path).unwrap();
        let e = Shot::load(&path).unwrap_err();
        assert!(matches!(e, StoreError::Damaged { .. }), "{e}");
        assert!(e.to_string().contains(words), "{e}");
    };
    let good = || shot(Method::Hyperelastic);
    refused(
        Shot {
            poses: vec![],
            ..good()
        },
        "no poses",
    );
    let stranger = Pose::rest(5);
    refused(
        Shot {
            poses: vec![stranger],
            ..good()
        },
        "pose 0: the pose has 5 bones",
    );
    refused(
        Shot {
            controls: Some(vec![0.0; 4]),
            ..good()
        },
        "controls",
    );
    refused(
        Shot {
            controls: Some(vec![f64::NAN; 5]),
            ..good()
        },
        "controls",
    );
    refused(
        Shot {
            modes: ShotModes::Lowest(3),
            ..good()
        },
        "modes",
    );
    let mut far = good();
    far.settings.fps = f64::NAN;
    refused(far, "frames per second");
    let mut far = good();
    far.settings.simulation.rate = -1.0;
    refused(far, "rate");
    let flat = Affine {
        linear: Mat3::repeat(f64::INFINITY),
        translation: Vec3::zeros(),
    };
    let mut far = good();
    far.poses[1].maps_mut()[0] = flat;
    refused(far, "finite");
    let mut other = shot(Method::Modal);
    let long = BarOptions {
        cells_along: 5,
        ..Default::default()
    };
    let modes = Modes::for_body(&long.build(), 3, &Silent).unwrap();
    other.modes = ShotModes::These(Arc::new(modes));
    refused(other, "modes do not fit");
    // The error for a file of another kind names both kinds.
    store::save(&path, "clip", &1u8).unwrap();
    let e = Shot::load(&path).unwrap_err().to_string();
    assert!(e.contains("holds a clip, not a shot"), "{e}");
}

/// A part of a shot equals a shot made of these poses alone, with their controls, pins, cuts and the motion of colliders.
#[test]
fn part_equals_shot_of_its_poses() {
    use crate::contact::{Collider, ColliderMotion, Contact};
    use crate::dynamics::PinPoint;
    let shape = crate::surface::shapes::cuboid(Vec3::repeat(0.2));
    let block = Arc::new(crate::surface::Surface::new(shape.vertices, shape.triangles).unwrap());
    let map = |i: usize| Affine {
        linear: Mat3::identity(),
        translation: Vec3::new(0.45 - 0.01 * i as f64, 0.0, 0.9),
    };
    let contact = |range: std::ops::Range<usize>| Contact {
        colliders: vec![Arc::new(
            Collider::mesh(
                block.clone(),
                ColliderMotion::Carried(range.map(map).collect()),
            )
            .unwrap(),
        )],
        ..Contact::default()
    };
    let pin = |range: std::ops::Range<usize>| PinTrack {
        point: PinPoint::Vertex(0),
        targets: range
            .clone()
            .map(|i| Vec3::new(0.1, 0.001 * i as f64, 0.0))
            .collect(),
        strengths: range.map(|i| 0.1 * i as f64).collect(),
    };
    let settings = |range: std::ops::Range<usize>| {
        let mut settings = shot(Method::Hyperelastic).settings;
        let strengths: Vec<f64> = range.clone().map(|i| 3.0 * i as f64).collect();
        let mut wind = ForceField::new(FieldKind::Wind).with_number("strength", &strengths);
        wind.start = range.start as f64 / settings.fps;
        settings.tracks = Arc::new(Tracks {
            fields: vec![wind.with_number("noise", &[1.5])],
            gravity: range
                .map(|i| Vec3::new(0.0, 0.2 * i as f64, -9.0))
                .collect(),
            ..Tracks::default()
        });
        settings
    };
    let whole = Shot {
        restarts: vec![1, 3],
        pins: vec![pin(0..5)],
        contact: Some(contact(0..5)),
        settings: settings(0..5),
        ..shot(Method::Hyperelastic)
    };
    let alone = Shot {
        poses: whole.poses[1..4].to_vec(),
        controls: Some(whole.controls.as_ref().unwrap()[1..4].to_vec()),
        restarts: vec![2],
        pins: vec![pin(1..4)],
        contact: Some(contact(1..4)),
        settings: settings(1..4),
        ..whole.clone()
    };
    let part = whole.part(&(1..4)).unwrap();
    assert_eq!((&part.restarts, &part.pins), (&alone.restarts, &alone.pins));
    assert_eq!(part.settings.tracks, alone.settings.tracks);
    let displayed = |shot: &Shot| displayed_positions(&shot.simulate(&Silent).unwrap().0);
    assert_eq!(displayed(&part), displayed(&alone));
    for bad in [0..0, 3..3, 2..6, 7..9] {
        let error = whole.part(&bad).unwrap_err().to_string();
        assert!(error.contains("5 poses"), "{error}");
    }
    let mut cycle = shot(Method::Hyperelastic);
    cycle.settings.cyclic = true;
    assert!(
        cycle
            .part(&(0..4))
            .unwrap_err()
            .to_string()
            .contains("cycle")
    );
    assert!(cycle.part(&(0..5)).is_ok());
}

/// A shot with another softness equals one of a body made so from the beginning, damping of the body included.
#[test]
fn softness_equals_shot_of_softer_body() {
    let bar = body();
    let made = |dial| {
        let parts = (bar.surface(), bar.skeleton(), bar.lattice());
        let settings = &bar.recipe().unwrap().settings;
        let build = |settings: &BodySettings| {
            Body::new(parts.0, parts.1, parts.2, bar.material(), settings, &Silent)
        };
        let soft = crate::dynamics::soft_body(build, settings, dial);
        let settings = ClipSettings::new(24.0, SimulationSettings::default());
        let shot = Shot::new(Arc::new(soft.unwrap()), poses(4), settings);
        shot.with_damping_of_body().unwrap()
    };
    let folder = TestFolder::new();
    let path = folder.0.join("shot.thew");
    made(0.3).save(&path).unwrap();
    let read = Shot::load(&path).unwrap();
    assert_eq!(read.damping_of_body, [true; 2]);
    let wanted = made(0.8);
    let displayed = |shot: &Shot| displayed_positions(&shot.simulate(&Silent).unwrap().0);
    for shot in [made(0.3), read] {
        assert_ne!(displayed(&shot), displayed(&wanted));
        let soft = shot.with_softness(0.8, &Silent).unwrap();
        assert_eq!(soft.settings, wanted.settings);
        assert_eq!(displayed(&soft), displayed(&wanted));
        assert!(shot.with_softness(1.5, &Silent).is_err());
    }
}

/// A shot and its clip come back from bytes beside their body, and bytes that are damaged or of the other kind are refused.
#[test]
fn shot_and_clip_come_back_from_bytes() {
    use std::path::Path;
    let name = Path::new("a pickled shot");
    let shot = shot(Method::Hyperelastic);
    let (clip, _) = shot.simulate(&Silent).unwrap();
    let (bytes, clip_bytes) = (shot.to_bytes(name).unwrap(), clip.to_bytes(name).unwrap());
    let again = Shot::from_bytes(name, &bytes, shot.surfaces.clone()).unwrap();
    assert!(again.surfaces.is_same(&shot.surfaces));
    let displayed = displayed_positions(&clip);
    let (twin, _) = again.simulate(&Silent).unwrap();
    assert_eq!(displayed_positions(&twin), displayed);
    let clip_again = Clip::from_bytes(name, &clip_bytes, shot.surfaces.clone()).unwrap();
    assert_eq!(displayed_positions(&clip_again), displayed);
    for clip in [&clip, &clip_again] {
        clip.append_alone((&poses(2), None, &[]), false, &Silent)
            .unwrap();
    }
    assert_eq!(displayed_positions(&clip_again), displayed_positions(&clip));
    for wrong in [&clip_bytes[..], &bytes[..100], &[]] {
        assert!(Shot::from_bytes(name, wrong, shot.surfaces.clone()).is_err());
    }
    let long = BarOptions {
        cells_along: 9,
        ..BarOptions::default()
    };
    let other = Clip::from_bytes(name, &clip_bytes, long.build().into());
    assert!(matches!(other, Err(StoreError::Damaged { .. })));
}
