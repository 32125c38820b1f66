// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of models without rotations on the processor, against `u = Φ q` in double precision, and of refusals.

use super::*;
use crate::kernel::warp::WarpEngine;
use crate::kernel::warp::cpu::{CpuWarp, Instructions, Threads};
use crate::progress::Silent;
use crate::skeleton::Affine;
use nalgebra::Rotation3;
use std::sync::Arc;

/// More points than any task takes.
const POINTS: usize = 5000;
const MODES: usize = 3;

fn shapes(size: f64) -> Vec<Vec<Vec3>> {
    let shape = |mode: usize| {
        let at = |v: usize| {
            let x = (v * (mode + 1)) as f64;
            Vec3::new((0.1 * x).sin(), (0.07 * x).cos(), 0.5) * size
        };
        (0..POINTS).map(at).collect()
    };
    (0..MODES).map(shape).collect()
}

fn rest() -> Vec<Vec3> {
    let at = |v: usize| Vec3::new((0.3 * v as f64).sin(), v as f64 / POINTS as f64, 0.2);
    (0..POINTS).map(at).collect()
}

/// Returns the weights of two bones; every seventh vertex has none.
fn weights() -> SkinWeights {
    let row = |v: usize| match v % 7 {
        0 => Vec::new(),
        k => vec![(0, k as f64 / 6.0), (1, 1.0 - k as f64 / 6.0)],
    };
    SkinWeights::from_rows(2, (0..POINTS).map(row)).unwrap()
}

fn pose(by: f64) -> Pose {
    let turned = Affine {
        linear: Rotation3::from_euler_angles(0.4, -0.2, 0.9).into_inner(),
        translation: Vec3::new(0.2, -0.4, 0.1) * by,
    };
    Pose::new(vec![Affine::identity(), turned]).unwrap()
}

fn model(precision: Precision, skinned: bool) -> WarpModel {
    let (shapes, rest, weights) = (shapes(1.0), rest(), weights());
    let rotations = vec![vec![Vec3::zeros(); POINTS]; MODES];
    let skin = skinned.then_some(&weights);
    WarpModel::per_vertex(&shapes, &rotations, None, &rest, skin, precision).unwrap()
}

/// Without rotations a frame is the sum of the shapes, moved by the bones.
#[test]
fn frames_without_rotations_are_sums() {
    let (shapes, rest, weights, pose) = (shapes(1.0), rest(), weights(), pose(1.0));
    let amplitudes = [[0.3, -0.2, 0.05], [-0.1, 0.4, 0.2]];
    let skin = |v: usize, x: Vec3| -> Vec3 {
        match weights.row(v).next() {
            None => x,
            Some(_) => weights
                .row(v)
                .map(|(b, w)| pose.maps()[b as usize].apply(x) * w)
                .sum(),
        }
    };
    for precision in [Precision::F32, Precision::F16] {
        let allowed = if precision == Precision::F32 {
            2e-6
        } else {
            2e-3
        };
        let model = Arc::new(model(precision, true));
        let bones = model.pose(&pose, None).unwrap();
        for instructions in [Instructions::Plain, Instructions::detect()] {
            for threads in [Threads::One, Threads::All] {
                let engine = CpuWarp::with_instructions(model.clone(), threads, instructions);
                let ways = [
                    FrameOutput::Displacements,
                    FrameOutput::Rest,
                    FrameOutput::Posed(&bones),
                    FrameOutput::Offsets(&bones),
                ];
                for (way, shown) in ways.into_iter().enumerate() {
                    let frames = amplitudes.each_ref().map(|q| WarpInput {
                        warp: false,
                        ..WarpInput::new(q, shown)
                    });
                    let mut out = vec![f32::NAN; 3 * POINTS * 2];
                    engine.frames_into(&frames, &Silent, &mut out).unwrap();
                    for (i, found) in out.chunks_exact(3).enumerate() {
                        let (q, v) = (&amplitudes[i / POINTS], i % POINTS);
                        let u: Vec3 = (0..MODES).map(|m| shapes[m][v] * q[m]).sum();
                        let wanted = match way {
                            0 => u,
                            1 => rest[v] + u,
                            2 => skin(v, rest[v] + u),
                            _ => skin(v, rest[v] + u) - skin(v, rest[v]),
                        };
                        let found = Vec3::new(found[0].into(), found[1].into(), found[2].into());
                        let off = (found - wanted).norm();
                        assert!(off < allowed, "{precision:?} {way} {v}: {off}");
                    }
                }
            }
        }
    }
}

/// The bytes of a frame count all data that is read and written.
#[test]
fn frame_bytes_count_traffic() {
    let [single, half] = [Precision::F32, Precision::F16].map(|p| model(p, true));
    // A shape and a rotation of each mode, and what comes out.
    let (modes, out) = (24 * MODES * POINTS, 12 * POINTS);
    let bare = single.bytes(false);
    assert!(bare >= modes + out && bare < modes + out + 64 * 24 * MODES);
    let saved = bare - half.bytes(false);
    assert_eq!(2 * saved, bare - out);
    assert!(single.bytes(true) >= bare + 12 * POINTS);
    assert_eq!(model(Precision::F32, false).bytes(true), bare);
}

/// Amplitudes whose sum leaves single precision are refused, and the error names the largest.
#[test]
fn frame_refuses_huge_amplitudes() {
    let model = Arc::new(model(Precision::F32, false));
    // Largest displacement of the surface by each mode.
    let peaks: Vec<f64> = model.blocks.peaks.iter().map(|peaks| peaks[0]).collect();
    let engine = CpuWarp::new(model, Threads::One);
    let mut out = vec![0.0; 3 * POINTS];
    let mut frame = |parts: [f64; MODES]| {
        let q: Vec<f64> = parts
            .iter()
            .zip(&peaks)
            .map(|(p, peak)| p * MAX_LENGTH / peak)
            .collect();
        engine.frame_into(WarpInput::new(&q, FrameOutput::Displacements), &mut out)
    };
    assert_eq!(frame([0.9, 0.0, 0.0]), Ok(()));
    assert_eq!(frame([0.4, 0.0, -0.4]), Ok(()));
    let wanted = KernelError::TooLarge { mode: 1 };
    assert_eq!(frame([0.4, 0.45, -0.4]), Err(wanted));
    let wanted = KernelError::Amplitude { mode: 2 };
    assert_eq!(frame([0.0, 0.0, f64::NAN]), Err(wanted));
}

/// Bones that leave single precision and bad limits are refused.
#[test]
fn pose_refuses_huge_bones() {
    let model = model(Precision::F32, true);
    assert!(model.pose(&pose(1.0), Some(0.1)).is_ok());
    let wrong = |linear: f64, translation: f64| {
        let map = Affine {
            linear: crate::Mat3::identity() * linear,
            translation: Vec3::new(0.0, translation, 0.0),
        };
        let pose = Pose::new(vec![Affine::identity(), map]);
        pose.ok().and_then(|pose| model.pose(&pose, None).err())
    };
    assert_eq!(wrong(1.0, 1.0), None);
    let far = 0.5 * MAX_LENGTH;
    assert_eq!(wrong(1.0, far), None);
    // Poses themselves end where single precision does, or before.
    for (linear, translation) in [(1.0, 3.0 * MAX_LENGTH), (3.0 * MAX_LENGTH, 0.0)] {
        if let Some(error) = wrong(linear, translation) {
            assert_eq!(error, KernelError::BoneTooLarge { bone: 1 });
        }
    }
    for limit in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = model.pose(&pose(1.0), Some(limit)).err();
        assert_eq!(refused, Some(KernelError::Limit));
    }
}
