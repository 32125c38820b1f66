// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties of clips, checked on a bar of flesh around two bones.

use super::*;
use crate::Mat3;
use crate::Vec3;
use crate::body::fixture::BarOptions;
use crate::dynamics::{Method, SimulationSettings, equilibrium};
use crate::present::{OutputSpace, PresentError, SurfaceId};
use crate::progress::Cancelled;
use crate::progress::Silent;
use crate::shot::Shot;
use crate::skeleton::Affine;
use nalgebra::UnitQuaternion;

const FPS: f64 = 24.0;

fn body() -> Arc<Body> {
    let bar = BarOptions::default();
    let settings = crate::body::BodySettings {
        region_weights: Some(bar.painted_weights()),
        flesh: Some(vec![1.0; bar.painted_weights().len()]),
        ..Default::default()
    };
    BarOptions { settings, ..bar }.build()
}

fn rigid_map(turn: Vec3, about: Vec3, shift: Vec3) -> Affine {
    let r = UnitQuaternion::from_scaled_axis(turn);
    Affine {
        linear: r.to_rotation_matrix().into_inner(),
        translation: about - r * about + shift,
    }
}

/// Returns the pose at time `t`, in frames, of a cycle of 12: the upper bone swings while both are carried.
fn swing_pose(t: f64) -> Pose {
    let phase = t * std::f64::consts::TAU / 12.0;
    let joint = Vec3::new(0.0, 0.0, 0.8);
    let upper = rigid_map(Vec3::new(0.4 * phase.sin(), 0.0, 0.0), joint, Vec3::zeros());
    let whole = rigid_map(
        Vec3::zeros(),
        Vec3::zeros(),
        Vec3::new(0.1 * phase.cos(), 0.0, 0.0),
    );
    Pose::new(vec![Affine::identity(), upper])
        .unwrap()
        .apply_map(&whole)
}

fn swing_poses(frames: usize) -> Vec<Pose> {
    (0..frames).map(|i| swing_pose(i as f64)).collect()
}

fn basic_settings() -> ClipSettings {
    ClipSettings::new(
        FPS,
        SimulationSettings::with_default_damping().with_method(Method::Warped),
    )
}

fn clip(poses: &[Pose], settings: ClipSettings) -> Clip {
    simulate(poses, None, settings, &Silent).unwrap()
}

fn simulate(
    poses: &[Pose],
    forces: Option<&dyn FrameForces>,
    settings: ClipSettings,
    progress: &dyn Progress,
) -> Result<Clip, ClipError> {
    Shot::new(body(), poses.to_vec(), settings).simulate_with_forces(forces, progress)
}

fn distance(a: &LocalPositions, b: &LocalPositions) -> f64 {
    assert_eq!(a.points.len(), b.points.len());
    let apart = |i| (a.world(i) - b.world(i)).norm();
    (0..a.points.len()).map(apart).fold(0.0, f64::max)
}

/// The first frame of a clip is the equilibrium of its first pose.
#[test]
fn first_frame_is_equilibrium() {
    let clip = clip(&swing_poses(8), basic_settings());
    let gravity = SimulationSettings::with_default_damping().gravity;
    let q = equilibrium(
        clip.body(),
        &swing_pose(0.0),
        None,
        None,
        gravity,
        Method::Warped,
    )
    .unwrap();
    for (i, (q, x)) in q.iter().zip(clip.body().lattice().vertices()).enumerate() {
        assert!((clip.lattice(0).world(i) - x - q).norm() < 1e-6);
    }
    assert_eq!(clip.len(), 8);
    // The bones are in their poses at every frame.
    for f in 0..8 {
        for v in clip.body().bone_vertices() {
            let bone = clip.body().bone_of_vertex()[v as usize].unwrap();
            let x = clip.body().lattice().vertices()[v as usize];
            let there = swing_pose(f as f64).maps()[bone as usize].apply(x);
            assert!((clip.lattice(f).world(v as usize) - there).norm() < 1e-6);
        }
    }
}

/// A clip that is simulated in parts has the same bits as one that is simulated at once.
#[test]
fn extend_keeps_bits() {
    let poses = swing_poses(14);
    for preroll in [0, 3] {
        let settings = ClipSettings {
            preroll,
            ..basic_settings()
        };
        let whole = clip(&poses, settings.clone());
        for cuts in [vec![1, 2], vec![4], vec![5, 6, 12], vec![3], vec![13]] {
            if cuts[0] <= preroll {
                continue;
            }
            let part = clip(&poses[..cuts[0]], settings.clone());
            for (i, &from) in cuts.iter().enumerate() {
                let to = cuts.get(i + 1).copied().unwrap_or(poses.len());
                part.extend(&poses[from..to], None, &Silent).unwrap();
            }
            assert_eq!(part.len(), whole.len());
            for f in 0..14 {
                assert_eq!(part.lattice(f), whole.lattice(f), "frame {f} of {cuts:?}");
            }
            assert_eq!(part.inverted_cells(), whole.inverted_cells());
        }
    }
}

/// A body in uniform travel does not lag behind its bones, from the first frame.
#[test]
fn uniform_travel_has_no_lag() {
    let travel = |i: i32| {
        Pose::rest(2).apply_map(&rigid_map(
            Vec3::zeros(),
            Vec3::zeros(),
            Vec3::new(0.2, -0.1, 0.05) * f64::from(i),
        ))
    };
    let poses: Vec<Pose> = (0..12).map(travel).collect();
    for preroll in [0, 4] {
        let settings = ClipSettings {
            preroll,
            ..basic_settings()
        };
        let clip = clip(&poses, settings);
        for (f, pose) in poses.iter().enumerate() {
            let shift = pose.maps()[0].translation;
            for (i, x) in clip.body().lattice().vertices().iter().enumerate() {
                let lag = (clip.lattice(f as i64).world(i) - x - shift).norm();
                assert!(lag < 1e-6, "{lag}");
            }
        }
    }
}

/// A clip with a preroll starts with flesh that swings already.
#[test]
fn preroll_starts_swinging() {
    let poses = swing_poses(20);
    let still = clip(&poses, basic_settings());
    let swung = clip(
        &poses,
        ClipSettings {
            preroll: 10,
            ..basic_settings()
        },
    );
    let apart = distance(&still.lattice(0), &swung.lattice(0));
    assert!(apart > 1e-4, "{apart}");
    assert_eq!(swung.len(), 20);
}

/// A cyclic clip ends where it begins, and it cannot be extended.
#[test]
fn cycle_closes() {
    for (poses, closed) in [(swing_poses(12), false), (swing_poses(13), true)] {
        let settings = ClipSettings {
            cyclic: true,
            ..basic_settings()
        };
        let loops = clip(&poses, settings);
        assert_eq!(loops.len(), poses.len());
        assert!(loops.loop_gap().unwrap() < 2e-4 * 1.7);
        if closed {
            assert!(distance(&loops.lattice(0), &loops.lattice(12)) < 1e-6);
        }
        // A long clip converges to it.
        let long = clip(&swing_poses(245), basic_settings());
        for f in 0..12 {
            let apart = distance(&loops.lattice(f), &long.lattice(228 + f));
            assert!(
                apart < 1e-3,
                "frame {f}: {apart}, gap {:?}",
                loops.loop_gap()
            );
        }
        // The flesh moves from the start: the first frame is not the equilibrium.
        assert!(distance(&loops.lattice(0), &long.lattice(0)) > 1e-3);
        assert_eq!(
            loops.extend(&poses, None, &Silent),
            Err(ClipError::CyclicExtension)
        );
    }
}

/// The motion of a cyclic clip may travel and turn from one pass to the next.
#[test]
fn cycle_travels_and_turns() {
    let by = rigid_map(
        Vec3::new(0.0, 0.0, 0.3),
        Vec3::zeros(),
        Vec3::new(2.0, 1.0, 0.0),
    );
    let step = |t: f64| {
        let part = rigid_map(
            Vec3::new(0.0, 0.0, 0.3 * t / 12.0),
            Vec3::zeros(),
            Vec3::new(2.0, 1.0, 0.0) * (t / 12.0),
        );
        swing_pose(t).apply_map(&part)
    };
    let mut poses: Vec<Pose> = (0..12).map(|i| step(f64::from(i))).collect();
    poses.push(poses[0].apply_map(&by));
    let settings = ClipSettings {
        cyclic: true,
        ..basic_settings()
    };
    let clip = clip(&poses, settings);
    assert!(clip.loop_gap().unwrap() < 1e-3, "{:?}", clip.loop_gap());
    let (first, last) = (clip.lattice(0), clip.lattice(12));
    for i in 0..first.points.len() {
        assert!((by.apply(first.world(i)) - last.world(i)).norm() < 1e-5);
    }
}

/// Frames can be read in any order, and frame numbers out of range are clamped.
#[test]
fn frame_lookup_clamps() {
    let clip = Arc::new(clip(&swing_poses(10), basic_settings()));
    let shape = |f: i64| clip.positions(f, SurfaceId::OWN).unwrap();
    let forwards: Vec<Vec<f32>> = (0..10).map(shape).collect();
    let backwards: Vec<Vec<f32>> = (0..10).rev().map(shape).collect();
    assert!(forwards.iter().eq(backwards.iter().rev()));
    assert_eq!(shape(-5), forwards[0]);
    assert_eq!(shape(1000), forwards[9]);
    let id = SurfaceId::new(7);
    assert_eq!(
        clip.positions(0, id),
        Err(PresentError::Surface { id }.into())
    );
    // The fixture's surface is its own lattice.
    for (i, p) in forwards[3].chunks_exact(3).enumerate() {
        let p = Vec3::new(p[0].into(), p[1].into(), p[2].into());
        assert!((p - clip.lattice(3).world(i)).norm() < 1e-6);
    }
    let mut out = vec![0.0; 3 * clip.vertices(SurfaceId::OWN).unwrap()];
    clip.show_frame(4, |at| {
        (clip.presenter()).positions(SurfaceId::OWN, at, &OutputSpace::WORLD, &mut out)
    })
    .unwrap();
    assert_eq!(out, forwards[4]);
}

/// Another thread can read frames while the clip is extended.
#[test]
fn frames_readable_while_extending() {
    let poses = swing_poses(40);
    let clip = Arc::new(clip(&poses[..4], basic_settings()));
    let whole = self::clip(&poses, basic_settings());
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = 0;
            while seen < 40 {
                seen = clip.len();
                // The last two frames may still change; those before them may not.
                let f = seen as i64 - 3;
                assert_eq!(clip.lattice(f), whole.lattice(f));
                std::thread::yield_now();
            }
        });
        for from in (4..40).step_by(4) {
            clip.extend(&poses[from..from + 4], None, &Silent).unwrap();
        }
        reader.join().unwrap();
    });
}

/// A clip of a typical body and length takes less than 7.5 MB.
#[test]
fn clip_is_small() {
    let clip = clip(&swing_poses(10), basic_settings());
    let per_vertex = clip.bytes() as f64 / (10 * clip.body().node_count()) as f64;
    assert!(per_vertex * 350.0 * 250.0 < 15e6 / 2.0);
}

/// A cancelled extension leaves the clip unchanged, and it can be extended later.
#[test]
fn extend_cancelled_keeps_clip() {
    let poses = swing_poses(20);
    let stop = |fraction: f64, _: &str| fraction < 0.5;
    let settings = basic_settings();
    let e = simulate(&poses, None, settings.clone(), &stop).unwrap_err();
    assert_eq!(e, ClipError::Cancelled(Cancelled));
    let clip = clip(&poses[..10], settings);
    let before = clip.lattice(9);
    assert_eq!(
        clip.extend(&poses[10..], None, &stop),
        Err(ClipError::Cancelled(Cancelled))
    );
    assert_eq!((clip.len(), clip.lattice(9)), (10, before));
    clip.extend(&poses[10..], None, &Silent).unwrap();
    assert_eq!(clip.len(), 20);
}

/// Pushes the flesh sideways, in step with the swing.
fn push_forces(frames: std::ops::Range<usize>) -> Vec<Vec<Vec3>> {
    let x = body().lattice().vertices().to_vec();
    let push = |f: usize| {
        let part = (f as f64 * std::f64::consts::TAU / 12.0).sin() + 0.5;
        x.iter().map(|x| Vec3::new(x.z, 0.7, 0.0) * part).collect()
    };
    frames.map(push).collect()
}

/// A clip with forces that is simulated in parts has the same bits as one that is simulated at once.
#[test]
fn forces_extend_keeps_bits() {
    let poses = swing_poses(14);
    let all = push_forces(0..14);
    let methods = [
        Method::Warped,
        Method::Linear,
        Method::Modal,
        Method::Nonlinear,
    ];
    for (method, preroll) in methods.into_iter().flat_map(|m| [(m, 0), (m, 3)]) {
        let simulation = match method.model() {
            Some(_) => SimulationSettings {
                rate: 24.0,
                ..SimulationSettings::with_default_damping()
            },
            None => SimulationSettings::with_default_damping(),
        };
        let settings = ClipSettings {
            preroll,
            simulation: simulation.with_method(method),
            ..basic_settings()
        };
        let whole = simulate(&poses, Some(&all), settings.clone(), &Silent).unwrap();
        let bare = clip(&poses, settings.clone());
        assert!(distance(&whole.lattice(0), &bare.lattice(0)) > 1e-4);
        let cut = [1, 2, 5, 6, 14];
        let cut = &cut[if preroll > 0 { 2 } else { 0 }..];
        let first = Some(&all as &dyn FrameForces);
        let part = simulate(&poses[..cut[0]], first, settings, &Silent).unwrap();
        for ends in cut.windows(2) {
            let (new, more) = (&poses[ends[0]..ends[1]], push_forces(ends[0]..ends[1]));
            part.extend(new, Some(&more), &Silent).unwrap();
        }
        for f in 0..14 {
            assert_eq!(
                part.lattice(f),
                whole.lattice(f),
                "frame {f}, {}",
                method.name()
            );
        }
    }
}

/// The first frame is the equilibrium under its forces, and steady forces at a steady pose move nothing.
#[test]
fn first_frame_balances_forces() {
    let all = push_forces(0..3);
    let clip = simulate(&swing_poses(3), Some(&all), basic_settings(), &Silent).unwrap();
    let (gravity, forces) = (
        SimulationSettings::with_default_damping().gravity,
        Some(&all[0][..]),
    );
    let pose = swing_pose(0.0);
    let q = equilibrium(clip.body(), &pose, None, forces, gravity, Method::Warped).unwrap();
    for (i, (q, x)) in q.iter().zip(clip.body().lattice().vertices()).enumerate() {
        assert!((clip.lattice(0).world(i) - x - q).norm() < 1e-6);
    }
    // Steady forces at a steady pose move nothing, with or without a run-in.
    let (poses, steady) = (vec![swing_pose(2.0); 6], vec![all[1].clone(); 6]);
    for preroll in [0, 3] {
        let settings = ClipSettings {
            preroll,
            ..basic_settings()
        };
        let clip = simulate(&poses, Some(&steady), settings, &Silent).unwrap();
        assert!(distance(&clip.lattice(0), &clip.lattice(5)) < 1e-6);
    }
}

/// The forces of a cyclic clip repeat with it, as in a long clip of many passes.
#[test]
fn cycle_repeats_forces() {
    let settings = ClipSettings {
        cyclic: true,
        ..basic_settings()
    };
    let (open, closed) = (push_forces(0..12), push_forces(0..13));
    let loops = simulate(&swing_poses(12), Some(&open), settings.clone(), &Silent).unwrap();
    assert!(loops.loop_gap().unwrap() < 2e-4 * 1.7);
    let again = simulate(&swing_poses(13), Some(&closed), settings.clone(), &Silent).unwrap();
    let (poses, all) = (swing_poses(245), push_forces(0..245));
    let long = simulate(&poses, Some(&all), basic_settings(), &Silent).unwrap();
    let bare = clip(&swing_poses(12), settings);
    for f in 0..12 {
        assert!(distance(&loops.lattice(f), &long.lattice(228 + f)) < 1e-3);
        assert!(distance(&loops.lattice(f), &again.lattice(f)) < 1e-6);
    }
    let apart = (0..12).map(|f| distance(&loops.lattice(f), &bare.lattice(f)));
    assert!(apart.fold(0.0, f64::max) > 5e-3);
}

/// Errors about missing or unusable forces name the frame, and the clip stays unchanged.
#[test]
fn bad_forces_name_frame() {
    let simulate = |forces: &dyn FrameForces| {
        simulate(&swing_poses(5), Some(forces), basic_settings(), &Silent).unwrap_err()
    };
    let short = simulate(&push_forces(0..3)).to_string();
    assert_eq!(
        short,
        "forces at frame 3: there are forces for 3 frames only"
    );
    let mut bad = push_forces(0..5);
    bad[2][7].y = f64::NAN;
    let sentence = "forces at frame 2: the force on lattice vertex 7 is not finite";
    assert_eq!(simulate(&bad).to_string(), sentence);
    bad[1].pop();
    assert!(
        simulate(&bad)
            .to_string()
            .starts_with("forces at frame 1: there must be one")
    );
    // A clip that cannot be extended stays as it was.
    let clip = clip(&swing_poses(5), basic_settings());
    let forces = push_forces(0..1);
    let error = clip
        .extend(&swing_poses(2), Some(&forces), &Silent)
        .unwrap_err();
    assert!(error.to_string().starts_with("forces at frame 6"));
    assert_eq!(clip.len(), 5);
}

/// Missing poses, bad frame rates and poses that do not fit are refused by name.
#[test]
fn simulate_refuses_bad_input() {
    let simulate = |poses: &[Pose], fps| {
        let settings = ClipSettings {
            fps,
            ..basic_settings()
        };
        simulate(poses, None, settings, &Silent).unwrap_err()
    };
    assert_eq!(simulate(&[], FPS), ClipError::NoPoses);
    assert_eq!(simulate(&swing_poses(2), 0.0), ClipError::Fps(0.0));
    assert!(matches!(
        simulate(&swing_poses(2), f64::NAN),
        ClipError::Fps(_)
    ));
    let e = simulate(&[swing_pose(0.0), Pose::rest(5)], FPS);
    assert_eq!(
        e.to_string(),
        "pose 1: the pose has 5 bones, but the skeleton has 2"
    );
    let far = Affine {
        linear: Mat3::identity(),
        translation: Vec3::repeat(1e200),
    };
    let e = simulate(&[swing_pose(0.0), swing_pose(0.0).apply_map(&far)], FPS);
    assert!(
        matches!(e, ClipError::Frame { .. } | ClipError::Simulation(_)),
        "{e}"
    );
}
