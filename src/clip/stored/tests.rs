// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clips come back from files with the same bits; forged files are refused.

use super::*;
use crate::body::fixture::BarOptions;
use crate::clip::{ClipError, FrameForces, SceneMember};
use crate::contact::Contact;
use crate::disk::tests::TestFolder;
use crate::dynamics::{Method, SimulationSettings};
use crate::present::SurfaceId;
use crate::progress::Silent;
use crate::shot::Shot;
use crate::skeleton::Affine;
use nalgebra::UnitQuaternion;

fn body() -> Arc<Body> {
    let bar = BarOptions::default();
    let settings = crate::body::BodySettings {
        region_weights: Some(bar.painted_weights()),
        ..Default::default()
    };
    BarOptions { settings, ..bar }.build()
}

fn swing_poses(frames: std::ops::Range<usize>) -> Vec<Pose> {
    let pose = |i: usize| {
        let turn = Vec3::new(0.4 * (i as f64 * 0.6).sin(), 0.0, 0.0);
        let r = UnitQuaternion::from_scaled_axis(turn);
        let joint = Vec3::new(0.0, 0.0, 0.8);
        let upper = Affine {
            linear: r.to_rotation_matrix().into_inner(),
            translation: joint - r * joint,
        };
        Pose::new(vec![Affine::identity(), upper]).unwrap()
    };
    frames.map(pose).collect()
}

fn settings(method: Method) -> ClipSettings {
    let simulation = SimulationSettings {
        max_offset: Some(0.2),
        elastic_joints: 0.5,
        ..SimulationSettings::with_default_damping().with_method(method)
    };
    ClipSettings {
        preroll: 2,
        ..ClipSettings::new(24.0, simulation)
    }
}

/// Returns forces that grow with the frames.
fn push_forces(nodes: usize, frames: usize) -> Vec<Vec<Vec3>> {
    let push = |f: usize| vec![Vec3::new(0.0, 0.02 * (f + 1) as f64, 0.0); nodes];
    (0..frames).map(push).collect()
}

fn clip(method: Method, frames: usize) -> Clip {
    let body = body();
    let forces = push_forces(body.node_count(), frames);
    let forces = Some(&forces as &dyn FrameForces);
    let shot = Shot::new(body, swing_poses(0..frames), settings(method));
    shot.simulate_with_forces(forces, &Silent).unwrap()
}

/// Returns everything that a clip holds.
fn contents(clip: &Clip) -> impl PartialEq + std::fmt::Debug {
    let frames: Vec<_> = (-1..=clip.len() as i64)
        .map(|f| {
            let shown = (
                clip.positions(f, SurfaceId::OWN).unwrap(),
                clip.offsets(f, SurfaceId::OWN).unwrap(),
            );
            (shown, clip.lattice(f), clip.amplitudes(f))
        })
        .collect();
    let counts = (
        clip.inverted_cells(),
        clip.folded_cells(),
        clip.unconverged_steps(),
        clip.bytes(),
    );
    (
        frames,
        counts,
        clip.max_skin_deviations().unwrap(),
        clip.loop_gap(),
        clip.settings().clone(),
    )
}

fn save_and_load(clip: &Clip) -> Clip {
    let folder = TestFolder::new();
    let path = folder.0.join("clip.thew");
    clip.save(&path).unwrap();
    assert_eq!(folder.names(), ["clip.thew"], "no part is left behind");
    Clip::load(&path).unwrap()
}

/// A clip that is read from a file shows the same bits, and extends with the same bits as the original.
#[test]
fn stored_clip_keeps_bits() {
    // Fewer frames than an extension simulates again from the start, and more.
    for (method, frames) in [
        (Method::Hyperelastic, 2),
        (Method::Hyperelastic, 9),
        (Method::Warped, 9),
        (Method::Modal, 9),
        (Method::NeoHookean, 4),
    ] {
        let clip = clip(method, frames);
        let again = save_and_load(&clip);
        assert_eq!(contents(&again), contents(&clip), "{}", method.name());
        let moved = |c: &Clip| c.offsets(frames as i64 - 1, SurfaceId::OWN).unwrap();
        assert!(moved(&clip).iter().any(|x| *x != 0.0));
        let forces = push_forces(clip.body().node_count(), 3);
        for clip in [&clip, &again] {
            let forces = Some(&forces as &dyn FrameForces);
            clip.extend(&swing_poses(frames..frames + 3), forces, &Silent)
                .unwrap();
        }
        assert_eq!(
            contents(&again),
            contents(&clip),
            "{}, extended",
            method.name()
        );
        assert_eq!(again.len(), frames + 3);
    }
}

/// A cyclic clip and its texts come back from a file.
#[test]
fn stored_cycle_keeps_texts() {
    let settings = ClipSettings {
        cyclic: true,
        ..settings(Method::Warped)
    };
    let texts: Texts = [("maker".to_owned(), "ünïcode\n".to_owned())].into();
    let shot = Shot {
        texts: texts.clone(),
        ..Shot::new(body(), swing_poses(0..10), settings)
    };
    let (clip, _) = shot.simulate(&Silent).unwrap();
    let again = save_and_load(&clip);
    assert_eq!(contents(&again), contents(&clip));
    assert_eq!(again.texts(), &texts);
    let refused = again.extend(&swing_poses(0..1), None, &Silent).unwrap_err();
    assert!(refused.to_string().contains("cyclic"), "{refused}");
}

/// Returns the error of a clip that is loaded after a change to its content.
fn load_error(clip: &Clip, forge: impl FnOnce(&mut StoredClip<'_, &CarriedSurfaces>)) -> String {
    let folder = TestFolder::new();
    let path = folder.0.join("clip.thew");
    let saved = clip.with_stored(clip.presenter.surfaces(), |mut stored| {
        forge(&mut stored);
        store::save(&path, FILE_KIND, &stored)
    });
    saved.unwrap().unwrap();
    let e = Clip::load(&path).unwrap_err();
    assert!(matches!(e, StoreError::Damaged { .. }), "{e}");
    e.to_string()
}

/// A stored clip whose frames or state do not fit its body is refused.
#[test]
fn stored_refuses_forged_clip() {
    let clip = clip(Method::Warped, 9);
    let frame = "one of its frames does not fit its body";
    let going = "what it needs to continue does not fit its body";
    let refuses = |forge: &dyn Fn(&mut StoredClip<'_, &CarriedSurfaces>), words: &str| {
        let sentence = load_error(&clip, forge);
        assert!(sentence.contains(words), "{sentence}");
    };
    refuses(&|s| s.frames.clear(), "it has no frames");
    refuses(&|s| s.frames[3].points.to_mut()[5][1] = f32::NAN, frame);
    refuses(&|s| s.frames[3].origin[0] = f32::INFINITY, frame);
    refuses(&|s| s.frames[8].points.to_mut().truncate(5), frame);
    refuses(&|s| s.frames[0].inverted = u32::MAX, frame);
    refuses(&|s| s.frames[0].folded = Some(u32::MAX), frame);
    let shown = |s: &mut StoredClip<'_, &CarriedSurfaces>| {
        s.frames[2].shown = StoredDisplay::Modes {
            amplitudes: Cow::Owned(vec![0.0]),
            pose: Cow::Owned(Pose::rest(2)),
        }
    };
    refuses(&shown, frame);
    refuses(
        &|s| s.loop_gap = Some(0.0),
        "it says both that it is a cycle and that it is not",
    );
    refuses(
        &|s| (s.settings.cyclic, s.loop_gap) = (true, Some(0.0)),
        "it says both that it is a cycle and that it is not",
    );
    refuses(&|s| s.settings.fps = f64::NAN, "frames per second");
    refuses(
        &|s| s.settings.simulation.max_offset = Some(-1.0),
        "max_offset",
    );
    refuses(
        &|s| s.settings.simulation.method = Method::Modal,
        "its modes do not belong to its method",
    );
    let none = "it belongs to a scene that cannot exist";
    refuses(&|s| s.membership.to_mut().body = 1, none);
    refuses(&|s| s.membership.to_mut().names.clear(), none);
    // A clip without contact has no other bodies.
    refuses(&|s| s.membership.to_mut().names.push("other".into()), none);
    let run = |forge: &dyn Fn(&mut StoredRun<'_>), words: &str| {
        refuses(&|s| forge(s.run.as_mut().unwrap()), words);
    };
    run(&|d| drop(d.poses.to_mut().pop()), going);
    run(&|d| drop(d.forces.pop()), going);
    run(
        &|d| d.forces[0] = Some(Cow::Owned(vec![Vec3::zeros()])),
        going,
    );
    let lost = |d: &mut StoredRun<'_>| d.forces[0].as_mut().unwrap().to_mut()[0].x = f64::NAN;
    run(&lost, going);
    run(&|d| d.state.to_mut().clear(), going);
    run(&|d| d.state.to_mut().truncate(200), "state");
    let far = |d: &mut StoredRun<'_>| {
        let state = d.state.to_mut();
        let end = state.len() - 8;
        state[end..].copy_from_slice(&f64::NAN.to_le_bytes());
    };
    run(&far, "finite");
}

/// A stored clip of a scene is refused if its state or its place in the scene is forged.
#[test]
fn stored_refuses_forged_scene() {
    let aside = Affine {
        translation: Vec3::new(3.0, 0.0, 0.0),
        ..Affine::identity()
    };
    let poses = swing_poses(0..9);
    let others: Vec<Pose> = poses.iter().map(|pose| pose.apply_map(&aside)).collect();
    let member = |name: &str, poses| SceneMember {
        pins: &[],
        name: name.into(),
        surfaces: CarriedSurfaces::new(body()),
        contact: Contact::with_others(),
        poses,
        forces: None,
        settings: settings(Method::Warped),
    };
    let members = [member("one", &poses), member("other", &others)];
    let clips = Clip::simulate_scene(&members, &Silent).unwrap();
    let again = save_and_load(&clips[1]);
    assert_eq!(contents(&again), contents(&clips[1]));
    assert_eq!(
        (again.body_index(), again.body_names()[0].as_str()),
        (1, "one")
    );
    let state = |forge: &dyn Fn(&mut Vec<u8>)| {
        let forge = |s: &mut StoredClip<'_, &CarriedSurfaces>| {
            forge(s.run.as_mut().unwrap().state.to_mut());
        };
        load_error(&clips[1], forge)
    };
    let sentence = state(&|bytes| bytes.truncate(100));
    assert!(sentence.contains("not belong to its scene"), "{sentence}");
    let sentence = state(&|bytes| bytes[8] = 3);
    assert!(sentence.contains("not belong to its scene"), "{sentence}");
    let sentence = load_error(&clips[1], |s| s.membership.to_mut().body = 2);
    assert!(sentence.contains("scene that cannot exist"), "{sentence}");
    let sentence = load_error(&clips[1], |s| {
        s.membership.to_mut().names.push("third".into());
    });
    assert!(sentence.contains("not belong to its scene"), "{sentence}");
    // A forged part of another body's state is detected when the scene is extended.
    let folder = TestFolder::new();
    let path = folder.0.join("clip.thew");
    let saved = clips[1].with_stored(clips[1].presenter.surfaces(), |mut stored| {
        let bytes = stored.run.as_mut().unwrap().state.to_mut();
        bytes[40] ^= 0xff;
        store::save(&path, FILE_KIND, &stored)
    });
    saved.unwrap().unwrap();
    let forged = Clip::load(&path).unwrap();
    let new = [(&poses[..1], None), (&others[..1], None)];
    let refused = Clip::extend_scene(&[&clips[0], &forged], &new, &Silent);
    assert_eq!(refused, Err(ClipError::SceneOrder { clip: 1 }));
    Clip::extend_scene(&[&clips[0], &again], &new, &Silent).unwrap();
    assert_eq!(again.len(), 10);
}

/// A stored clip whose modes do not fit its body or its frames is refused.
#[test]
fn stored_refuses_forged_modes() {
    let clip = clip(Method::Modal, 4);
    let other = |s: &mut StoredClip<'_, &CarriedSurfaces>| {
        let long = BarOptions {
            cells_along: 5,
            ..Default::default()
        };
        let modes = Modes::for_body(&long.build(), 3, &Silent).unwrap();
        s.modal.as_mut().unwrap().0 = StoredModes::new(&modes);
    };
    let sentence = load_error(&clip, other);
    assert!(sentence.contains("modes do not fit"), "{sentence}");
    let amplitude = |s: &mut StoredClip<'_, &CarriedSurfaces>| {
        if let StoredDisplay::Modes { amplitudes, .. } = &mut s.frames[1].shown {
            amplitudes.to_mut()[0] = f64::INFINITY;
        }
    };
    let sentence = load_error(&clip, amplitude);
    assert!(sentence.contains("one of its frames"), "{sentence}");
}

/// A clip cannot be saved from the progress callback of its own extension.
#[test]
fn save_refused_during_extend() {
    let folder = TestFolder::new();
    let (clip, path) = (clip(Method::Warped, 4), folder.0.join("clip.thew"));
    let saved = std::sync::Mutex::new(None);
    let progress = |_: f64, _: &str| {
        saved.lock().unwrap().get_or_insert(clip.save(&path));
        true
    };
    clip.extend(&swing_poses(4..5), None, &progress).unwrap();
    let refused = saved.into_inner().unwrap().unwrap().unwrap_err();
    assert!(
        matches!(refused, StoreError::Unwritable { .. }),
        "{refused}"
    );
    assert!(folder.names().is_empty());
}
