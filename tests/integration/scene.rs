// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bodies that touch each other, by the crate's own interface: balls of flesh around short bones that are pressed into each other.

use crate::common::{self, limb};
use std::f64::consts::{PI, TAU};
use std::sync::{Arc, LazyLock};
use thew::Vec3;
use thew::body::{Body, BodySettings};
use thew::clip::{Clip, ClipError, ClipSettings, SceneMember};
use thew::contact::{Collider, Contact};
use thew::dynamics::{Method, Scene, Simulation, SimulationError, SimulationSettings};
use thew::elasticity::Material;
use thew::lattice::{EncloseSettings, Lattice};
use thew::present::{CarriedSurfaces, SurfaceId};
use thew::progress::Silent;
use thew::skeleton::{Affine, Pose};

const FPS: f64 = 24.0;

/// A ball of 0.2 m.
static BALL: LazyLock<Arc<Body>> = LazyLock::new(|| {
    let bone = limb("core", None, [0.0, -0.02, 0.0], [0.0, 0.02, 0.0], 0.2);
    let c = common::character(&[bone], 0.04);
    let settings = EncloseSettings {
        cells_across: 6.0,
        ..EncloseSettings::default()
    };
    let lattice = Lattice::enclose(&c.surface, &c.skeleton, Some(&c.skin), settings, &Silent);
    let options = BodySettings {
        region_weights: Some(c.skin.clone()),
        ..Default::default()
    };
    let (surface, skeleton) = (Arc::new(c.surface), Arc::new(c.skeleton));
    let (lattice, material) = (Arc::new(lattice.unwrap()), Material::default());
    let body = Body::new(&surface, &skeleton, &lattice, material, &options, &Silent);
    Arc::new(body.unwrap())
});

fn pose_at(x: f64, y: f64) -> Pose {
    let shift = Affine {
        translation: Vec3::new(x, y, 0.0),
        ..Affine::identity()
    };
    Pose::rest(1).apply_map(&shift)
}

/// Returns the distance of the centres of two balls that come from 5 cm away, are pressed 7 cm in, and part.
fn ball_distance(t: f64) -> f64 {
    0.45 - 0.12 * (PI * t).sin()
}

/// Returns poses of two balls that meet.
fn meeting_poses(frames: usize) -> [Vec<Pose>; 2] {
    let end = (frames - 1) as f64;
    let second = (0..frames).map(|i| pose_at(ball_distance(i as f64 / end), 0.0));
    [vec![pose_at(0.0, 0.0); frames], second.collect()]
}

/// Returns settings with explicit damping.
fn damped_settings(method: Method) -> SimulationSettings {
    SimulationSettings {
        mass_damping: Some(4.4),
        stiffness_damping: Some(0.004),
        ..SimulationSettings::for_method(method)
    }
}

fn clip_settings() -> ClipSettings {
    ClipSettings::new(FPS, damped_settings(Method::Hyperelastic))
}

fn scene_member<'a>(name: &str, poses: &'a [Pose], settings: ClipSettings) -> SceneMember<'a> {
    SceneMember {
        pins: &[],
        name: name.into(),
        surfaces: CarriedSurfaces::new(BALL.clone()),
        contact: Contact::default(),
        poses,
        forces: None,
        settings,
    }
}

fn simulate_clips(poses: &[Vec<Pose>], settings: &ClipSettings) -> Result<Vec<Clip>, ClipError> {
    let names = ["anna", "bert", "carl"];
    let members = poses.iter().zip(names);
    let members: Vec<_> = members
        .map(|(p, name)| scene_member(name, p, settings.clone()))
        .collect();
    Clip::simulate_scene(&members, &Silent)
}

/// Returns all frames that a clip shows, with the contacts of each.
fn clip_contents(clip: &Clip) -> impl PartialEq + std::fmt::Debug + use<> {
    let frames = (0..clip.len() as i64).map(|f| {
        let shown = clip.positions(f, SurfaceId::OWN).unwrap();
        (clip.lattice(f), shown, clip.contacts(f).unwrap())
    });
    (frames.collect::<Vec<_>>(), clip.inverted_cells())
}

fn ball_scene(bodies: usize) -> Scene {
    let body = || {
        let simulation = Simulation::new(BALL.clone(), damped_settings(Method::Hyperelastic));
        let contact = Contact::default().prepare(&BALL, &Silent);
        (simulation.unwrap(), contact.unwrap())
    };
    Scene::new((0..bodies).map(|_| body()).collect()).unwrap()
}

fn advance(scene: &mut Scene, poses: &[Pose]) {
    let free = vec![(None, None); poses.len()];
    scene.advance(poses, 1.0 / FPS, &free, &Silent).unwrap();
}

fn reset_scene(poses: &[Pose]) -> Scene {
    let mut scene = ball_scene(poses.len());
    let free = vec![None; poses.len()];
    scene.reset(poses, true, &free, &Silent).unwrap();
    scene
}

/// Returns the largest distance between points.
fn largest_distance(a: &[Vec3], b: &[Vec3]) -> f64 {
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

/// The forces that two bodies exert on each other are equal and opposite.
#[test]
fn contact_forces_are_opposite() {
    let mut scene = reset_scene(&[pose_at(0.0, 0.0), pose_at(ball_distance(0.0), 0.0)]);
    let mut touched = 0;
    for i in 1..=12 {
        let t = f64::from(i) / 12.0;
        advance(
            &mut scene,
            &[pose_at(0.0, 0.0), pose_at(ball_distance(t), 0.02 * t)],
        );
        let contacts = scene.contacts();
        let force = |k| {
            let own = contacts.iter().filter(|c| c.body == k);
            own.map(|c| c.force).sum::<Vec3>()
        };
        let (one, other) = (force(0), force(1));
        assert!((one + other).norm() <= 1e-9 * one.norm());
        touched += usize::from(one.norm() > 1.0);
        // Every touch is told by both.
        for c in &contacts {
            let seen = |o: &&thew::contact::ContactPoint| {
                (o.body, o.vertex, o.other_body, o.other_vertex)
                    == (c.other_body, c.other_vertex, c.body, c.vertex)
            };
            assert!(
                contacts
                    .iter()
                    .any(|o| seen(&o) && (o.force + c.force).norm() < 1e-9)
            );
        }
    }
    assert!(touched > 4, "{touched}");
}

/// The order of the bodies hardly changes the motion, and without contacts it does not change a bit.
#[test]
fn scene_ignores_body_order() {
    // In the middle of a press, moved into it and settled in it: what is swept first differs, and with it where sweeps end. What
    // they leave swings on in flesh that is moved.
    for (from, near) in [(0, 5e-4), (6, 1e-5)] {
        let ends = [[0, 1], [1, 0]].map(|order| {
            let poses = |i: i32| {
                let second = pose_at(ball_distance(f64::from(i) / 12.0), 0.0);
                order.map(|k| [pose_at(0.0, 0.0), second.clone()][k].clone())
            };
            let mut scene = reset_scene(&poses(from));
            (from + 1..=6).for_each(|i| advance(&mut scene, &poses(i)));
            assert!(!scene.contacts().is_empty());
            order.map(|k| scene.bodies()[k].lattice_positions().to_vec())
        });
        for (one, other) in ends[0].iter().zip(&ends[1]) {
            assert!(
                largest_distance(one, other) < near * BALL.size(),
                "{}",
                largest_distance(one, other)
            );
        }
    }
    // As long as nothing touches not a bit.
    let far = [[0, 1], [1, 0]].map(|order| {
        let poses = |x: f64| order.map(|k| [pose_at(x, 0.0), pose_at(3.0 - x, 0.0)][k].clone());
        let mut scene = reset_scene(&poses(0.0));
        (1..=4).for_each(|i| advance(&mut scene, &poses(0.05 * f64::from(i))));
        order.map(|k| scene.bodies()[k].state())
    });
    assert_eq!(far[0], far[1]);
}

/// A state in the middle of a contact continues with the same bits after it is restored.
#[test]
fn scene_state_keeps_bits() {
    let poses = |i: i32| {
        [
            pose_at(0.0, 0.0),
            pose_at(ball_distance(f64::from(i) / 12.0), 0.0),
        ]
    };
    let mut first = reset_scene(&poses(0));
    (1..=6).for_each(|i| advance(&mut first, &poses(i)));
    assert!(!first.contacts().is_empty());
    let mut second = ball_scene(2);
    second.restore(&first.state()).unwrap();
    assert_eq!(first.state(), second.state());
    for i in 7..=11 {
        advance(&mut first, &poses(i));
        advance(&mut second, &poses(i));
        assert_eq!(first.contacts(), second.contacts());
        assert_eq!(first.state(), second.state());
    }
    let kept = second.state();
    for wrong in [
        &kept[..kept.len() - 1],
        &[],
        &reset_scene(&[pose_at(0.0, 0.0)]).state(),
    ] {
        assert!(matches!(
            second.restore(wrong),
            Err(SimulationError::State(_))
        ));
        assert_eq!(second.state(), kept);
    }
}

/// A body that is alone or far from others moves as in its own simulation.
#[test]
fn distant_body_moves_alone() {
    let pose = |i: i32| pose_at(0.03 * f64::from(i * i), 0.0);
    let contact = Contact::default().prepare(&BALL, &Silent).unwrap();
    let mut alone = Simulation::new(BALL.clone(), damped_settings(Method::Hyperelastic)).unwrap();
    alone.set_contact(Some(contact)).unwrap();
    alone.reset(&pose(0), true, None).unwrap();
    let mut one = reset_scene(&[pose(0)]);
    let mut two = reset_scene(&[pose_at(0.0, 9.0), pose(0)]);
    for i in 1..=6 {
        alone.advance(&pose(i), 1.0 / FPS, None, None).unwrap();
        advance(&mut one, &[pose(i)]);
        advance(&mut two, &[pose_at(0.0, 9.0), pose(i)]);
        for body in [&one.bodies()[0], &two.bodies()[1]] {
            assert_eq!(body.lattice_positions(), alone.lattice_positions());
            assert_eq!(body.lattice_velocities(), alone.lattice_velocities());
        }
    }
}

/// The clips of a scene have the same bits on any number of threads.
#[test]
fn scene_ignores_thread_count() {
    let made = [1, 2].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let clips = simulate_clips(&meeting_poses(8), &clip_settings()).unwrap();
            clips.iter().map(clip_contents).collect::<Vec<_>>()
        })
    });
    assert_eq!(made[0], made[1]);
}

/// A scene that is simulated in parts has the same bits as one that is simulated at once.
#[test]
fn scene_extend_keeps_bits() {
    let poses = meeting_poses(14);
    for preroll in [0, 3] {
        let settings = ClipSettings {
            preroll,
            ..clip_settings()
        };
        let whole = simulate_clips(&poses, &settings).unwrap();
        assert!((0..14).any(|f| !whole[0].contacts(f).unwrap().points.is_empty()));
        // Begun again, gone on from a state before the touch, and in the middle of it.
        for cuts in [[4, 14], [6, 9]] {
            let cut = |range: std::ops::Range<usize>| poses.each_ref().map(|p| &p[range.clone()]);
            let parts = simulate_clips(&cut(0..cuts[0]).map(<[_]>::to_vec), &settings).unwrap();
            let mut from = cuts[0];
            for to in [cuts[1], 14] {
                let new = cut(from..to).map(|poses| (poses, None));
                Clip::extend_scene(&[&parts[0], &parts[1]], &new, &Silent).unwrap();
                from = to;
            }
            for (part, whole) in parts.iter().zip(&whole) {
                assert_eq!(clip_contents(part), clip_contents(whole), "cut at {cuts:?}");
            }
        }
    }
}

/// Clips of a scene know its bodies and can be extended after they are read from files.
#[test]
fn stored_scene_clips_extend() {
    let poses = meeting_poses(13);
    let first = poses.each_ref().map(|p| p[..9].to_vec());
    let made = simulate_clips(&first, &clip_settings()).unwrap();
    let folder = std::env::temp_dir().join(format!("thew-scene-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let read: Vec<Clip> = (0..2)
        .map(|k| {
            let path = folder.join(format!("{k}.thew"));
            made[k].save(&path).unwrap();
            Clip::load(&path).unwrap()
        })
        .collect();
    std::fs::remove_dir_all(&folder).unwrap();
    let new = poses.each_ref().map(|p| (&p[9..], None));
    for both in [&made, &read] {
        assert_eq!(both[1].body_names(), ["anna", "bert"]);
        assert_eq!([both[0].body_index(), both[1].body_index()], [0, 1]);
        Clip::extend_scene(&[&both[0], &both[1]], &new, &Silent).unwrap();
    }
    let whole = simulate_clips(&poses, &clip_settings()).unwrap();
    for ((made, read), whole) in made.iter().zip(&read).zip(&whole) {
        assert_eq!(clip_contents(made), clip_contents(whole));
        assert_eq!(clip_contents(read), clip_contents(whole));
    }
}

/// Clips that do not belong to one scene cannot be extended together and stay unchanged.
#[test]
fn extend_scene_refuses_mismatch() {
    let made = simulate_clips(&meeting_poses(9), &clip_settings()).unwrap();
    let other = simulate_clips(
        &[vec![pose_at(0.0, 0.0); 9], vec![pose_at(0.36, 0.0); 9]],
        &clip_settings(),
    )
    .unwrap();
    let longer = simulate_clips(&meeting_poses(10), &clip_settings()).unwrap();
    let alone = simulate_clips(&meeting_poses(9)[..1], &clip_settings()).unwrap();
    let before = clip_contents(&made[0]);
    let poses = [pose_at(0.0, 0.0)];
    let go_on = |clips: &[&Clip], counts: &[usize]| {
        let new: Vec<_> = counts.iter().map(|&n| (&poses[..n], None)).collect();
        Clip::extend_scene(clips, &new, &Silent).unwrap_err()
    };
    assert_eq!(
        made[0].extend(&poses, None, &Silent),
        Err(ClipError::SceneExtension)
    );
    let count = |what, given| ClipError::SceneCount {
        what,
        given,
        expected: 2,
    };
    assert_eq!(go_on(&[&made[0]], &[1]), count("clips", 1));
    assert_eq!(
        go_on(&[&made[0], &made[1]], &[1]),
        count("lists of poses", 1)
    );
    let order = |clip| ClipError::SceneOrder { clip };
    assert_eq!(go_on(&[&made[1], &made[0]], &[1, 1]), order(0));
    assert_eq!(go_on(&[&made[0], &made[0]], &[1, 1]), order(1));
    for stranger in [&other[1], &longer[1], &alone[0]] {
        assert_eq!(go_on(&[&made[0], stranger], &[1, 1]), order(1));
    }
    let frames = go_on(&[&made[0], &made[1]], &[1, 0]);
    assert!(
        matches!(frames, ClipError::SceneFrames { body: 1, .. }),
        "{frames}"
    );
    let empty = ClipError::Simulation(SimulationError::EmptyScene);
    assert_eq!(go_on(&[], &[]), empty);
    let far = [Pose::rest(2)];
    let new = [(&poses[..], None), (&far[..], None)];
    let wrong = Clip::extend_scene(&[&made[0], &made[1]], &new, &Silent).unwrap_err();
    assert!(
        wrong.to_string().starts_with("body 1 of the scene: pose 9"),
        "{wrong}"
    );
    assert_eq!(clip_contents(&made[0]), before);
    // One alone goes on by either name.
    alone[0].extend(&poses, None, &Silent).unwrap();
    assert_eq!(alone[0].len(), 10);
}

/// Returns poses of two balls that press each other to and fro over `frames` frames, and move along y by `way` in
/// that time.
fn pressing_poses(frames: usize, way: f64) -> [Vec<Pose>; 2] {
    let both = |i: usize| {
        let phase = i as f64 / frames as f64;
        let x = 0.40 - 0.05 * (TAU * phase).cos();
        [pose_at(0.0, way * phase), pose_at(x, way * phase)]
    };
    [0, 1].map(|k| (0..=frames).map(|i| both(i)[k].clone()).collect())
}

/// The cyclic clips of a scene repeat together.
#[test]
fn scene_cycles_repeat() {
    let cyclic = ClipSettings {
        cyclic: true,
        ..clip_settings()
    };
    let closed = pressing_poses(12, 0.0);
    let open = closed.each_ref().map(|p| p[..12].to_vec());
    let made = [&open, &closed].map(|poses| simulate_clips(poses, &cyclic).unwrap());
    // It is what a long clip comes to.
    let turns = |p: &Vec<Pose>| p[..12].iter().cycle().take(96).cloned().collect();
    let long: [Vec<Pose>; 2] = closed.each_ref().map(turns);
    let long = simulate_clips(&long, &clip_settings()).unwrap();
    for k in 0..2 {
        let (open, closed) = (&made[0][k], &made[1][k]);
        assert_eq!((open.len(), closed.len()), (12, 13));
        assert!(open.loop_gap().unwrap() < 2e-4 * BALL.size());
        let touching = |f| !closed.contacts(f).unwrap().points.is_empty();
        assert!((0..12).any(touching) && !(0..12).all(touching));
        for f in 0..12 {
            let points = |c: &Clip, f| -> Vec<Vec3> {
                let lattice = c.lattice(f);
                (0..lattice.points.len())
                    .map(|v| lattice.world(v))
                    .collect()
            };
            assert_eq!(open.lattice(f), closed.lattice(f));
            let gap = largest_distance(&points(open, f), &points(&long[k], 84 + f));
            assert!(gap < 2e-3 * BALL.size(), "{gap}");
        }
        assert_eq!(
            closed.contacts(12).unwrap().points,
            closed.contacts(0).unwrap().points
        );
    }
    let both = [&made[0][0], &made[0][1]];
    let new = [(&open[0][..1], None), (&open[1][..1], None)];
    let refused = Clip::extend_scene(&both, &new, &Silent);
    assert_eq!(refused, Err(ClipError::CyclicExtension));
}

/// The cyclic clips of a scene travel by the same motion, and clips whose ends do not fit together are refused.
#[test]
fn scene_cycles_travel_together() {
    let cyclic = ClipSettings {
        cyclic: true,
        ..clip_settings()
    };
    let way = Vec3::new(0.0, 0.4, 0.0);
    let travels = pressing_poses(12, way.y);
    let made = simulate_clips(&travels, &cyclic).unwrap();
    for clip in &made {
        assert!(clip.loop_gap().unwrap() < 1e-3);
        let (first, last) = (clip.lattice(0), clip.lattice(12));
        for v in 0..first.points.len() {
            assert!((first.world(v) + way - last.world(v)).norm() < 1e-5);
        }
        let (first, last) = (clip.contacts(0).unwrap(), clip.contacts(12).unwrap());
        for (a, b) in first.points.iter().zip(last.points.iter()) {
            assert!((a.point + way - b.point).norm() < 1e-9 && (a.force - b.force).norm() < 1e-9);
        }
    }
    let still = vec![pose_at(-0.36, 0.0); 13];
    let stays = pressing_poses(12, 0.0);
    let refuses = |poses: &[Vec<Pose>], body| {
        assert_eq!(
            simulate_clips(poses, &cyclic).unwrap_err(),
            ClipError::SceneEnds { body }
        );
    };
    // One goes, one stays; one ends in its first pose, the other just before it.
    refuses(&[travels[0].clone(), still.clone()], 0);
    refuses(&[still.clone(), travels[0].clone()], 1);
    refuses(&[travels[0].clone(), stays[1].clone()], 0);
    let open = pressing_poses(13, 0.0).map(|p| p[..13].to_vec());
    refuses(&[open[1].clone(), stays[1].clone()], 1);
    // What stands still repeats with anything that stays.
    for moving in [&open[1], &stays[1]] {
        assert_eq!(
            simulate_clips(&[still.clone(), moving.clone()], &cyclic)
                .unwrap()
                .len(),
            2
        );
    }
    let mixed = [
        scene_member("a", &still, cyclic),
        scene_member("b", &stays[1], clip_settings()),
    ];
    let refused = Clip::simulate_scene(&mixed, &Silent).unwrap_err();
    assert_eq!(
        refused,
        ClipError::SceneCycle {
            body: 1,
            cyclic: false
        }
    );
}

/// A collider that two bodies share exists once in the scene.
#[test]
fn shared_colliders_are_merged() {
    let floor = |height: f64| {
        let plane = Collider::plane(Vec3::new(0.0, 0.0, height), Vec3::z());
        Arc::new(plane.unwrap())
    };
    let colliders = |each: &[Vec<Arc<Collider>>]| {
        let body = |colliders: &Vec<Arc<Collider>>| {
            let contact = Contact {
                colliders: colliders.clone(),
                ..Contact::default()
            };
            let simulation = Simulation::new(BALL.clone(), damped_settings(Method::Warped));
            (
                simulation.unwrap(),
                contact.prepare(&BALL, &Silent).unwrap(),
            )
        };
        Scene::new(each.iter().map(body).collect())
            .unwrap()
            .colliders()
            .len()
    };
    assert_eq!(colliders(&[vec![floor(-0.2)], vec![floor(-0.2)]]), 1);
    assert_eq!(colliders(&[vec![floor(-0.2)], vec![floor(-0.3)]]), 2);
    // What one body has twice is there twice, however often others have it.
    assert_eq!(
        colliders(&[vec![floor(-0.2)], vec![floor(-0.2), floor(-0.2)]]),
        2
    );
    let slippery = Arc::new(
        Collider::clone(&floor(-0.2))
            .with_properties(Some(0.0), 0.0)
            .unwrap(),
    );
    assert_eq!(colliders(&[vec![floor(-0.2)], vec![slippery]]), 2);
}
