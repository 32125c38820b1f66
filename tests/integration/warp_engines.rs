// SPDX-License-Identifier: MIT OR Apache-2.0
//! One suite for every engine that warps a surface: processor and graphics device, both forms, both precisions,
//! against the formula in double precision.

use crate::warp::{
    self, Case, FORMS, PRECISIONS, device, displacements, each, engines, largest, shown,
};
use std::sync::Arc;
use thew::kernel::{
    CpuWarp, Deformer, EngineChoice, FrameOutput, KernelError, LocalMaps, OutputSpace, Precision,
    SkinLimit, Threads, WarpForm, WarpInput, WarpModel,
};
use thew::progress::Silent;
use thew::skeleton::{Affine, SkinWeights};
use thew::{Mat3, Vec3};

/// The displacements of every engine agree with the formula in double precision.
#[test]
fn displacements_match_formula() {
    for (n, m) in [
        (0, 8),
        (1, 1),
        (7, 8),
        (31, 33),
        (33, 128),
        (1000, 8),
        (4099, 33),
    ] {
        let case = Case::new(n, m);
        let q = case.amplitudes(1.5);
        each(&case, |engine| {
            let expected = case.displacements(engine.model().form(), &q);
            let error = largest(&displacements(engine, &q), &expected);
            let form = engine.model().form();
            assert!(
                error < 1e-6,
                "{n} x {m}, {form:?}, {}: {error}",
                engine.name()
            );
        });
    }
}

/// The displacements of a hundred thousand vertices agree with the formula.
#[test]
fn large_surface_matches_formula() {
    let case = Case::new(100_000, 8);
    let q = case.amplitudes(2.0);
    each(&case, |engine| {
        let expected = case.displacements(engine.model().form(), &q);
        let error = largest(&displacements(engine, &q), &expected);
        assert!(error < 1e-6, "{}: {error}", engine.name());
    });
}

/// One thread and all threads of the processor give the same bits.
#[test]
fn cpu_threads_keep_bits() {
    for n in [33, 20_000] {
        let case = Case::new(n, 33);
        let (q, bones) = (case.amplitudes(3.0), case.pose());
        for (form, precision) in FORMS.into_iter().flat_map(|f| PRECISIONS.map(|p| (f, p))) {
            let model = Arc::new(case.model(form, precision));
            let bones = model.pose(&bones, Some(0.2)).expect("fits");
            for of in [
                FrameOutput::Displacements,
                FrameOutput::Rest,
                FrameOutput::Posed(&bones),
            ] {
                let one = shown(&CpuWarp::new(model.clone(), Threads::One), &q, of);
                let all = shown(&CpuWarp::new(model.clone(), Threads::All), &q, of);
                assert!(
                    one.iter()
                        .zip(&all)
                        .all(|(a, b)| a.to_bits() == b.to_bits())
                );
            }
        }
    }
}

#[test]
fn zero_amplitudes_give_rest() {
    let case = Case::new(33, 8);
    each(&case, |engine| {
        assert!(displacements(engine, &[0.0; 8]).iter().all(|x| *x == 0.0));
        let at_rest = shown(engine, &[0.0; 8], FrameOutput::Rest);
        assert!(largest(&at_rest, &case.rest) < 3e-7);
    });
}

/// Small amplitudes give linear displacements, and without warping all amplitudes do.
#[test]
fn small_amplitudes_are_linear() {
    let case = Case::new(200, 8);
    each(&case, |engine| {
        let linear = |q: &[f64]| case.linear(engine.model().form(), q);
        let small = case.amplitudes(1e-4);
        let size = linear(&small).iter().map(|u| u.norm()).fold(0.0, f64::max);
        let error = largest(&displacements(engine, &small), &linear(&small));
        assert!(error < 1e-3 * size, "{}: {error} of {size}", engine.name());

        let large = case.amplitudes(3.0);
        let mut out = vec![0.0; 600];
        let frame = WarpInput {
            amplitudes: &large,
            warp: false,
            shown: FrameOutput::Displacements,
            target: OutputSpace::WORLD,
        };
        engine.frame_into(frame, &mut out).expect("fits");
        assert!(largest(&out, &linear(&large)) < 1e-6, "{}", engine.name());
    });
}

/// If all input is turned, the result is turned.
#[test]
fn result_turns_with_input() {
    let case = Case::new(100, 8);
    let turn = nalgebra::Rotation3::from_euler_angles(0.4, -1.1, 2.0);
    let turned = case.turned(&turn);
    let q = case.amplitudes(2.0);
    for form in FORMS {
        let pair = [&case, &turned].map(|c| Arc::new(c.model(form, Precision::F32)));
        for (a, b) in engines(&pair[0]).iter().zip(&engines(&pair[1])) {
            let straight = shown(a.as_ref(), &q, FrameOutput::Rest);
            let expected: Vec<Vec3> = warp::points(&straight).iter().map(|p| turn * p).collect();
            let error = largest(&shown(b.as_ref(), &q, FrameOutput::Rest), &expected);
            assert!(error < 2e-6, "{}: {error}", a.name());
        }
    }
}

/// The result does not depend on the order of the modes.
#[test]
fn result_ignores_mode_order() {
    let case = Case::new(100, 33);
    let mut other = case.clone();
    let mut q = case.amplitudes(2.0);
    let straight = q.clone();
    for list in [&mut other.shapes, &mut other.rotations] {
        list.reverse();
    }
    q.reverse();
    for (form, precision) in FORMS.into_iter().flat_map(|f| PRECISIONS.map(|p| (f, p))) {
        let pair = [&case, &other].map(|c| Arc::new(c.model(form, precision)));
        for (a, b) in engines(&pair[0]).iter().zip(&engines(&pair[1])) {
            let expected = warp::points(&displacements(a.as_ref(), &straight));
            assert!(largest(&displacements(b.as_ref(), &q), &expected) < 2e-6);
        }
    }
}

/// A body far from the origin keeps its shape.
#[test]
fn far_body_keeps_shape() {
    let case = Case::new(500, 8);
    let far = Vec3::new(1e6, -2e6, 5e5);
    let moved = case.moved(far);
    let q = case.amplitudes(1.5);
    each(&moved, |engine| {
        let form = engine.model().form();
        let expected = case.displacements(form, &q);
        assert!(largest(&displacements(engine, &q), &expected) < 1e-6);
        // Half a unit in the last place of 2e6 is 0.0625.
        let expected: Vec<Vec3> = expected
            .iter()
            .zip(&moved.rest)
            .map(|(u, x)| x + u)
            .collect();
        let error = largest(&shown(engine, &q, FrameOutput::Rest), &expected);
        assert!(
            error < 0.125 * 3f64.sqrt() + 1e-6,
            "{}: {error}",
            engine.name()
        );
    });
}

/// Posed positions agree with skinning in double precision.
#[test]
fn posed_positions_match_skinning() {
    let case = Case::new(3000, 8);
    let (q, pose) = (case.amplitudes(1.5), case.pose());
    each(&case, |engine| {
        let bones = engine.model().pose(&pose, None).expect("fits");
        let u = case.displacements(engine.model().form(), &q);
        let expected = case.posed(&pose, &u);
        let error = largest(&shown(engine, &q, FrameOutput::Posed(&bones)), &expected);
        assert!(error < 1e-5, "{}: {error}", engine.name());
    });
}

/// Every engine writes into other spaces and adds onto existing values.
#[test]
fn engines_write_and_add_targets() {
    let case = Case::new(3000, 8);
    let (q, pose) = (case.amplitudes(1.5), case.pose());
    let map = Affine {
        linear: Mat3::new(0.0, -2.5, 0.3, 1.0, 0.1, 0.0, 0.0, 0.7, -4.0),
        translation: Vec3::new(3.0, -1.0, 2.0),
    };
    let target = OutputSpace::new(map).expect("finite");
    each(&case, |engine| {
        let bones = engine.model().pose(&pose, Some(0.15)).expect("fits");
        let still = vec![0.0; q.len()];
        let skin = shown(engine, &still, FrameOutput::Posed(&bones));
        let posed = warp::points(&shown(engine, &q, FrameOutput::Posed(&bones)));
        let added = warp::points(&shown(engine, &q, FrameOutput::Offsets(&bones)));
        let sum: Vec<f32> = skin
            .iter()
            .zip(added.iter().flat_map(|u| u.iter()))
            .map(|(x, u)| x + *u as f32)
            .collect();
        assert!(largest(&sum, &posed) < 1e-6, "{}", engine.name());
        for (wanted, is_place) in [
            (FrameOutput::Displacements, false),
            (FrameOutput::Rest, true),
            (FrameOutput::Posed(&bones), true),
            (FrameOutput::Offsets(&bones), false),
        ] {
            let there = if is_place {
                map.translation
            } else {
                Vec3::zeros()
            };
            let world = warp::points(&shown(engine, &q, wanted));
            let expected: Vec<Vec3> = world.iter().map(|x| map.linear * x + there).collect();
            let mut out = vec![f32::NAN; 3 * world.len()];
            let frame = WarpInput::new(&q, wanted).with_target(target);
            engine.frame_into(frame, &mut out).expect("fits");
            let error = largest(&out, &expected);
            assert!(error < 5e-6, "{} {wanted:?}: {error}", engine.name());
            let twice: Vec<Vec3> = expected.iter().map(|x| 2.0 * x).collect();
            let frame = WarpInput::new(&q, wanted).with_target(target.with_addition());
            engine.frame_into(frame, &mut out).expect("fits");
            assert!(largest(&out, &twice) < 1e-5, "{}", engine.name());
        }
    });
}

/// The soft limit of every engine is that of `SkinLimit`.
#[test]
fn soft_limit_matches_skin_limit() {
    let case = Case::new(3000, 8);
    let (q, pose) = (case.amplitudes(1.5), case.pose());
    let limit = 0.15f32;
    let local = LocalMaps::new(&pose, Vec3::zeros(), [0.0; 3]);
    let limiter = SkinLimit::new(&case.rest, Vec3::zeros(), &case.skin);
    each(&case, |engine| {
        let free = engine.model().pose(&pose, None).expect("fits");
        let mut expected = shown(engine, &q, FrameOutput::Posed(&free));
        let farthest = limiter.draw(&local, limit, &mut expected).expect("fits");
        assert!(farthest > 2.0 * limit, "the limit is not met: {farthest}");
        let bones = engine
            .model()
            .pose(&pose, Some(limit.into()))
            .expect("fits");
        let got = shown(engine, &q, FrameOutput::Posed(&bones));
        let error = largest(&got, &warp::points(&expected));
        assert!(error < 2e-6, "{}: {error}", engine.name());
    });
}

/// Vertices without weights stay in rest space.
#[test]
fn unweighted_vertices_stay_at_rest() {
    let mut case = Case::new(40, 8);
    case.skin = SkinWeights::from_rows(2, (0..40).map(|v| (v % 2 == 0).then_some((0, 1.0))))
        .expect("good weights");
    let (q, pose) = (case.amplitudes(0.5), case.pose());
    each(&case, |engine| {
        let bones = engine.model().pose(&pose, None).expect("fits");
        let (posed, rest) = (
            shown(engine, &q, FrameOutput::Posed(&bones)),
            shown(engine, &q, FrameOutput::Rest),
        );
        for (v, (a, b)) in warp::points(&posed)
            .iter()
            .zip(warp::points(&rest))
            .enumerate()
        {
            let apart = (a - b).norm();
            assert_eq!(apart < 2e-6, v % 2 == 1, "vertex {v}: {apart}");
        }
    });
}

/// The frames of a clip have the same bits as single calls.
#[test]
fn clip_frames_match_single_calls() {
    let case = Case::new(700, 8);
    let (pose, strengths) = (case.pose(), [0.0, 0.3, 1.0, 2.0, 0.1, 1.4, 0.7]);
    let amplitudes: Vec<Vec<f64>> = strengths.map(|s| case.amplitudes(s)).to_vec();
    each(&case, |engine| {
        let bones = engine.model().pose(&pose, Some(0.3)).expect("fits");
        let of = |i: usize| match i % 3 {
            0 => FrameOutput::Displacements,
            1 => FrameOutput::Rest,
            _ => FrameOutput::Posed(&bones),
        };
        let clip = amplitudes.iter().enumerate();
        let frames: Vec<WarpInput<'_>> = clip.map(|(i, q)| WarpInput::new(q, of(i))).collect();
        let mut out = vec![0.0; 2100 * frames.len()];
        engine
            .frames_into(&frames, &Silent, &mut out)
            .expect("fits");
        for (i, (got, q)) in out.chunks(2100).zip(&amplitudes).enumerate() {
            let single = shown(engine, q, of(i));
            assert!(
                got.iter()
                    .zip(&single)
                    .all(|(a, b)| a.to_bits() == b.to_bits())
            );
        }
    });
}

/// A cancelled clip is an error, and the engine works afterwards.
#[test]
fn cancelled_clip_leaves_engine_usable() {
    let case = Case::new(100, 8);
    let q = case.amplitudes(1.0);
    each(&case, |engine| {
        let frames = vec![WarpInput::new(&q, FrameOutput::Rest); 40];
        let mut out = vec![0.0; 300 * frames.len()];
        let stop = |fraction: f64, _: &str| fraction < 0.3;
        let done = engine.frames_into(&frames, &stop, &mut out);
        assert!(matches!(done, Err(KernelError::Cancelled(_))));
        let expected = case.displacements(engine.model().form(), &q);
        assert!(largest(&displacements(engine, &q), &expected) < 1e-6);
    });
}

/// Small buffer bindings divide the surface and do not change a bit.
#[test]
fn small_bindings_keep_bits() {
    let case = Case::new(3000, 8);
    let (q, pose) = (case.amplitudes(1.5), case.pose());
    for (form, precision) in FORMS.into_iter().flat_map(|f| PRECISIONS.map(|p| (f, p))) {
        let model = Arc::new(case.model(form, precision));
        let bones = model.pose(&pose, Some(0.2)).expect("fits");
        let (Some(whole), Some(cut)) = (device(&model, u64::MAX), device(&model, 60_000)) else {
            return;
        };
        for of in [FrameOutput::Displacements, FrameOutput::Posed(&bones)] {
            let (a, b) = (shown(whole.as_ref(), &q, of), shown(cut.as_ref(), &q, of));
            assert!(a.iter().zip(&b).all(|(a, b)| a.to_bits() == b.to_bits()));
        }
    }
}

/// The error of half precision is no larger than its rounding.
#[test]
fn half_precision_error_is_bounded() {
    let mut case = Case::new(400, 8);
    // Numbers that f16 does not hold exactly.
    for of in case.shapes.iter_mut().chain(&mut case.rotations) {
        of.iter_mut().for_each(|v| *v *= 0.777_123);
    }
    let q = case.amplitudes(1.0);
    let peak = |of: &[Vec<Vec3>]| {
        let largest = |mode: &Vec<Vec3>| mode.iter().map(Vec3::amax).fold(0.0, f64::max);
        of.iter()
            .zip(&q)
            .map(|(s, q)| q.abs() * largest(s))
            .sum::<f64>()
    };
    // Half a unit in the eleventh bit, of the displacement and, over an arm of at most its length, of the rotation.
    let bound =
        2f64.powi(-12) * 2.0 * 3f64.sqrt() * peak(&case.shapes) * (1.0 + peak(&case.rotations));
    for form in FORMS {
        let expected = case.displacements(form, &q);
        for engine in engines(&Arc::new(case.model(form, Precision::F16))) {
            let error = largest(&displacements(engine.as_ref(), &q), &expected);
            assert!(error < bound && error > 1e-6, "{error} of {bound}");
        }
    }
}

/// Vertices between nodes have the weighted means of the nodes' modes.
#[test]
fn embedded_modes_are_means() {
    let case = Case::new(300, 33);
    let embedding = case.embedding.as_ref().expect("has one");
    let q = case.amplitudes(2.0);
    let model = WarpModel::per_vertex(
        &case.shapes,
        &case.rotations,
        Some(embedding),
        &case.rest,
        None,
        Precision::F32,
    );
    let at_vertices = |of: &Vec<Vec3>| (0..300).map(|v| embedding.position(v, of)).collect();
    let mut direct = case.clone();
    direct.shapes = case.shapes.iter().map(at_vertices).collect();
    direct.rotations = case.rotations.iter().map(at_vertices).collect();
    direct.embedding = None;
    let expected = direct.displacements(WarpForm::Vertex, &q);
    for engine in engines(&Arc::new(model.expect("fits"))) {
        let error = largest(&displacements(engine.as_ref(), &q), &expected);
        assert!(error < 1e-6, "{}: {error}", engine.name());
    }
}

/// Both forms agree if the vertices are the nodes.
#[test]
fn forms_agree_at_nodes() {
    let mut case = Case::new(100, 8);
    case.embedding = None;
    case.shapes.iter_mut().for_each(|s| s.truncate(100));
    case.rotations.iter_mut().for_each(|s| s.truncate(100));
    assert!(case.shapes[0].len() == 100, "as many nodes as vertices");
    let q = case.amplitudes(2.0);
    let forms = FORMS.map(|f| Arc::new(case.model(f, Precision::F32)));
    for (a, b) in engines(&forms[0]).iter().zip(&engines(&forms[1])) {
        let expected = warp::points(&displacements(a.as_ref(), &q));
        assert!(largest(&displacements(b.as_ref(), &q), &expected) < 1e-6);
    }
}

/// A deformer gives the same result for every choice of engine.
#[test]
fn deformer_ignores_engine_choice() {
    let case = Case::new(500, 8);
    let q = case.amplitudes(1.0);
    for (form, precision) in FORMS.into_iter().flat_map(|f| PRECISIONS.map(|p| (f, p))) {
        let expected = case.displacements(form, &q);
        for choice in ["auto", "cpu", "gpu"] {
            let wanted = EngineChoice::parse(choice).expect("known");
            let deformer = Deformer::new(case.model(form, precision), &wanted);
            let mut out = vec![0.0; 1500];
            deformer.displacements_into(&q, &mut out).expect("fits");
            assert!(largest(&out, &expected) < 1e-6, "{}", deformer.report());
            assert!(deformer.report().contains(&deformer.engine()));
            let device = deformer.engine().starts_with("GPU");
            let found = !thew::kernel::gpu_adapters().is_empty();
            assert_eq!(device, choice == "gpu" && found, "{}", deformer.report());
            let warned = choice == "gpu" && !found;
            assert_eq!(deformer.warnings().len(), usize::from(warned));
        }
    }
    assert!(EngineChoice::parse("abacus").is_err());
    assert!(EngineChoice::parse("gpu:").is_err());
}

/// An adapter that does not exist is replaced by the processor with one warning.
#[test]
fn missing_adapter_warns_once() {
    let case = Case::new(50, 8);
    let q = case.amplitudes(1.0);
    let wanted = EngineChoice::parse("gpu:Voodoo 2").expect("a name");
    let deformer = Deformer::new(case.model(WarpForm::Vertex, Precision::F32), &wanted);
    let mut out = vec![0.0; 150];
    for _ in 0..3 {
        deformer.displacements_into(&q, &mut out).expect("fits");
        assert!(largest(&out, &case.displacements(WarpForm::Vertex, &q)) < 1e-6);
    }
    assert!(
        deformer.engine().starts_with("CPU"),
        "{}",
        deformer.engine()
    );
    assert_eq!(deformer.warnings().len(), 1);
    assert_eq!(deformer.take_warnings().len(), 1);
    assert!(deformer.take_warnings().is_empty());
}

/// Threads that share a device all get their own results.
#[test]
fn threads_share_device() {
    let case = Case::new(33, 8);
    let (q, model) = (
        case.amplitudes(1.5),
        Arc::new(case.model(FORMS[0], PRECISIONS[0])),
    );
    let Some(alone) = device(&model, u64::MAX) else {
        return;
    };
    let expected = displacements(alone.as_ref(), &q);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let engine = device(&model, u64::MAX).expect("the device that was there");
                for _ in 0..200 {
                    assert_eq!(displacements(engine.as_ref(), &q), expected);
                }
            });
        }
    });
}
