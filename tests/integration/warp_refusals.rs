// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the engines that warp a surface refuse, and that nothing else than finite numbers comes out of them.

use crate::warp::{Case, FORMS, each, engines, with_rows};
use std::sync::Arc;
use thew::kernel::{KernelError, Precision, WarpForm, WarpModel};
use thew::skeleton::Pose;

/// Absurd amplitudes are refused or give finite results.
#[test]
fn absurd_amplitudes_stay_finite() {
    let case = Case::new(33, 8);
    each(&case, |engine| {
        for size in [1e3, 1e6, 1e9, 1e12, 1e20, 1e100, f64::MAX] {
            let mut out = vec![0.0; 99];
            match engine.displacements_into(&case.amplitudes(size), &mut out) {
                Ok(()) => assert!(
                    out.iter().all(|x| x.is_finite()),
                    "{} {size}",
                    engine.name()
                ),
                Err(KernelError::TooLarge { .. }) => assert!(size > 1e9),
                Err(KernelError::Amplitude { .. }) => assert!(size > 1e100),
                Err(error) => panic!("{error}"),
            }
        }
    });
}

/// Input that does not fit is refused before anything is written.
#[test]
fn refusal_writes_nothing() {
    let case = Case::new(33, 8);
    let q = case.amplitudes(1.0);
    let mut strange = q.clone();
    strange[3] = f64::NAN;
    let mut endless = q.clone();
    endless[7] = f64::INFINITY;
    let unskinned = WarpModel::embedded(
        &case.shapes,
        &case.rotations,
        case.embedding.as_ref(),
        &case.rest,
        None,
        Precision::F32,
    );
    let unskinned = Arc::new(unskinned.expect("fits"));
    each(&case, |engine| {
        let mut out = vec![7.0f32; 99];
        let mut refused = |q: &[f64], len: usize| {
            let done = engine.displacements_into(q, &mut out[..len]);
            assert!(out.iter().all(|x| *x == 7.0));
            done.expect_err("must be refused")
        };
        let (expected, given) = (8, 7);
        assert_eq!(
            refused(&q[..7], 99),
            KernelError::Amplitudes { expected, given }
        );
        assert_eq!(refused(&strange, 99), KernelError::Amplitude { mode: 3 });
        assert_eq!(refused(&endless, 99), KernelError::Amplitude { mode: 7 });
        let (expected, given) = (99, 98);
        assert_eq!(refused(&q, 98), KernelError::Output { expected, given });

        let model = engine.model();
        let few = model.pose(&Pose::rest(1), None);
        let (expected, given) = (2, 1);
        assert_eq!(few, Err(KernelError::Bones { expected, given }));
        for limit in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(
                model.pose(&Pose::rest(2), Some(limit)),
                Err(KernelError::Limit)
            );
        }
    });
    assert_eq!(
        unskinned.pose(&Pose::rest(2), None),
        Err(KernelError::NoSkin)
    );
    let bones = case
        .model(WarpForm::Vertex, Precision::F32)
        .pose(&case.pose(), None);
    let bones = bones.expect("fits");
    for engine in engines(&unskinned) {
        let done = engine.positions_into(&q, Some(&bones), &mut [0.0; 99]);
        assert_eq!(done, Err(KernelError::NoSkin));
    }
}

/// Models whose parts do not fit together are refused.
#[test]
fn model_refuses_bad_input() {
    let case = Case::new(33, 8);
    let made = |change: &dyn Fn(&mut Case)| {
        let mut case = case.clone();
        change(&mut case);
        let of = |f| case.try_model(f, Precision::F32).map(|_| ());
        let both = FORMS.map(of);
        assert_eq!(both[0], both[1]);
        both[0].clone().expect_err("must be refused")
    };
    let nodes = case.shapes[0].len();
    let none = made(&|c| {
        c.shapes.clear();
        c.rotations.clear();
    });
    assert_eq!(none, KernelError::NoModes);
    let (shapes, rotations) = (8, 7);
    let fewer = made(&|c| c.rotations.truncate(7));
    assert_eq!(fewer, KernelError::Modes { shapes, rotations });
    let short = made(&|c| c.rotations[2].truncate(5));
    let (mode, expected, given) = (2, nodes, 5);
    assert_eq!(
        short,
        KernelError::ModeLength {
            mode,
            expected,
            given
        }
    );
    let (mode, node) = (4, 3);
    let broken = made(&|c| c.shapes[4][3].y = f64::NAN);
    assert_eq!(broken, KernelError::ModeNonFinite { mode, node });
    let broken = made(&|c| c.shapes[4][3].y = 1e200);
    assert_eq!(broken, KernelError::ModeNonFinite { mode, node });
    let (expected, given) = (32, 33);
    let other = made(&|c| c.rest.truncate(32));
    assert_eq!(other, KernelError::Surface { expected, given });
    let strange = made(&|c| c.rest[8].z = f64::INFINITY);
    assert_eq!(strange, KernelError::Rest { vertex: 8 });
    let fifth = |c: &mut Case, entry: (u32, f64)| {
        let all = c.embedding.take().expect("has one");
        let row = |v: usize| all.row(v).map(|(node, w)| (node as u32, w)).collect();
        let other = |v: usize| if v == 5 { vec![entry] } else { row(v) };
        c.embedding = Some(with_rows(&all, other));
    };
    let beyond = made(&|c| fifth(c, (10_000, 1.0)));
    let (vertex, index, count) = (5, 10_000, nodes);
    assert_eq!(
        beyond,
        KernelError::OutOfRange {
            vertex,
            index,
            count
        }
    );
    let strange = made(&|c| fifth(c, (3, f64::NAN)));
    assert_eq!(strange, KernelError::Weight { vertex: 5 });
    let vertices = 33;
    let bone = made(&|c| c.skin.bones[0] = 2);
    assert_eq!(bone, KernelError::Skin { vertices, row: 0 });
    let long = made(&|c| c.skin.offsets.push(0));
    assert_eq!(long, KernelError::Skin { vertices, row: 33 });
    let short = made(&|c| c.skin.offsets.truncate(11));
    assert_eq!(short, KernelError::Skin { vertices, row: 10 });
}

/// A surface that is too large for a device is an error of the device.
#[test]
#[cfg(feature = "gpu")]
fn oversized_surface_is_device_error() {
    use thew::kernel::{Adapter, GpuWarp, gpu_adapters};
    let case = Case::new(50, 33);
    let model = Arc::new(case.model(WarpForm::Vertex, Precision::F32));
    if !gpu_adapters().is_empty() {
        let refused = GpuWarp::with_limit(model, Adapter::Any, 4096).map(|_| ());
        assert!(matches!(refused, Err(KernelError::Device { .. })));
    }
}
