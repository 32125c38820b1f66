// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compressed bakes: tolerances, numbers of keys, regions, rounding, maps and invariance.

use super::*;
use crate::progress::Silent;

/// Returns offsets `[f, n, 3]` of waves that run over a strip, faster if `lively` is larger.
fn waves(frames: usize, vertices: usize, lively: f32) -> Vec<f32> {
    let mut x = Vec::new();
    for f in 0..frames {
        for v in 0..vertices {
            let (t, s) = (f as f32 * 0.21, v as f32 / vertices as f32);
            // A bulge that runs along the strip has many singular vectors.
            let way = s - (0.13 * lively * t) % 1.4 + 0.2;
            let bump = 0.03 * (-70.0 * way * way).exp();
            x.extend([
                bump,
                0.02 * (1.7 * t + 3.0 * s * lively).cos() * s * s,
                0.3 * bump * (5.0 * s).cos(),
            ]);
        }
    }
    x
}

fn settings(tolerance: f64) -> CompressSettings {
    CompressSettings {
        tolerance: Some(tolerance),
        ..CompressSettings::default()
    }
}

fn compress_offsets(x: &[f32], vertices: usize, settings: &CompressSettings) -> Packed {
    let frames = VertexFrames::new([x], vertices).unwrap();
    compress(&frames, None, &VertexMaps::Identity, settings, &Silent).unwrap()
}

/// Returns the largest distance of `curves · keys` from x, computed plainly.
fn plain_error(x: &[f32], packed: &Packed) -> f32 {
    let width = 3 * packed.vertex_count;
    let mut most = 0.0_f32;
    for (f, row) in x.chunks_exact(width).enumerate() {
        for v in 0..packed.vertex_count {
            let mut square = 0.0;
            for d in 0..3 {
                let sum: f32 = (0..packed.count)
                    .map(|k| {
                        packed.curves[f * packed.count + k] * packed.keys[k * width + 3 * v + d]
                    })
                    .sum();
                square += (row[3 * v + d] - sum).powi(2);
            }
            most = most.max(square.sqrt());
        }
    }
    most
}

/// Every tolerance is kept by what is written, and the reported error is that of a plain evaluation. Fewer millimetres need more keys.
#[test]
fn compress_keeps_tolerance() {
    let x = waves(60, 150, 2.0);
    let mut fewer = 0;
    for tolerance in [5e-3, 1e-3, 1e-4] {
        for quantise in [None, Some(Quantisation::Int16), Some(Quantisation::Half)] {
            let packed = compress_offsets(
                &x,
                150,
                &CompressSettings {
                    quantise,
                    ..settings(tolerance)
                },
            );
            let error = plain_error(&x, &packed);
            assert!(
                f64::from(error) <= tolerance,
                "{tolerance} {quantise:?}: {error}"
            );
            assert!((error - packed.worst().2).abs() < 1e-6);
            assert!(packed.curves.iter().all(|w| w.abs() <= 1.0));
            if quantise.is_none() {
                assert!(
                    packed.count > fewer,
                    "{tolerance}: {} after {fewer}",
                    packed.count
                );
                fewer = packed.count;
            }
        }
    }
}

/// The weighted fit needs fewer keys than singular vectors: at their number of keys its largest error is clearly smaller.
#[test]
fn compress_beats_singular_vectors() {
    let x = waves(80, 200, 3.0);
    let frames = VertexFrames::new([&x[..]], 200).unwrap();
    let offsets = Offsets::new(&frames, None, &VertexMaps::Identity);
    let blocks = offsets.blocks(offsets.vertices(), false);
    let gram = core::sum_of_grams(&blocks, 80);
    let count = 6;
    let curves = singular::Singular::new(&gram, 80).unwrap().curves(count);
    let errors = sweep::plain_errors(&offsets, &blocks, &curves, count, 0.0);
    let plain = errors.into_iter().fold(0.0, f32::max);
    let least = CompressSettings {
        keys: Some(count),
        ..CompressSettings::default()
    };
    let packed = compress_offsets(&x, 200, &least);
    assert_eq!(packed.count, count);
    assert!(
        packed.worst().2 < 0.8 * plain,
        "{} of {plain}",
        packed.worst().2
    );
}

/// Motion of rank 3 needs three keys however many frames it has.
#[test]
fn compress_finds_rank() {
    let (frames, vertices) = (90, 70);
    let shape = |k: usize, i: usize| ((i * (k + 2)) as f32 * 0.37).sin() * 0.02;
    let x: Vec<f32> = (0..frames)
        .flat_map(|f| {
            let t = f as f32 * 0.3;
            let w = [t.sin(), (1.9 * t).cos(), (0.3 * t).sin()];
            (0..3 * vertices).map(move |i| (0..3).map(|k| w[k] * shape(k, i)).sum())
        })
        .collect();
    let packed = compress_offsets(&x, vertices, &settings(1e-5));
    assert_eq!(packed.count, 3);
}

/// Still frames need no keys, and errors of what is left out are reported.
#[test]
fn compress_of_still_frames_has_no_keys() {
    let x = vec![0.0; 10 * 4 * 3];
    assert_eq!(compress_offsets(&x, 4, &settings(1e-3)).count, 0);
    let mut x = x;
    x[5] = 4e-4;
    let packed = compress_offsets(&x, 4, &settings(1e-3));
    assert_eq!((packed.count, packed.worst()), (0, (0, 1, 4e-4)));
}

/// Frames in another order give the same keys' number, and curves follow the order.
#[test]
fn compress_ignores_order_of_clips() {
    let x = waves(40, 80, 2.0);
    let (a, b) = x.split_at(15 * 240);
    let forward = VertexFrames::new([a, b], 80).unwrap();
    let backward = VertexFrames::new([b, a], 80).unwrap();
    let run = |frames: &VertexFrames<'_>| {
        compress(
            frames,
            None,
            &VertexMaps::Identity,
            &settings(1e-3),
            &Silent,
        )
        .unwrap()
    };
    let (p, q) = (run(&forward), run(&backward));
    assert!(p.count.abs_diff(q.count) <= 1);
    assert!(p.worst().2 <= 1e-3 && q.worst().2 <= 1e-3);
}

/// The same bits come from one thread and from several.
#[test]
fn compress_does_not_depend_on_threads() {
    let x = waves(30, 3000, 2.0);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| compress_offsets(&x, 3000, &settings(2e-3)))
    };
    assert_eq!(run(1), run(3));
}

/// Keys of a region move no vertex of another one, and the tolerance holds for the whole.
#[test]
fn regions_keep_keys_apart() {
    let x = waves(40, 100, 3.0);
    let labels: Vec<u32> = (0..100).map(|v| v / 34).collect();
    let regional = CompressSettings {
        regions: Some(Regions::Labels(labels.clone())),
        ..settings(1e-3)
    };
    let packed = compress_offsets(&x, 100, &regional);
    assert!(plain_error(&x, &packed) <= 1e-3);
    for key in packed.keys.chunks_exact(300) {
        let moved: std::collections::BTreeSet<u32> = (0..100)
            .filter(|v| key[3 * v..3 * v + 3].iter().any(|x| *x != 0.0))
            .map(|v| labels[v])
            .collect();
        assert!(moved.len() <= 1);
    }
    let whole = compress_offsets(&x, 100, &settings(1e-3));
    assert!(packed.stored_entries() < whole.stored_entries());
}

/// Errors count where they are seen: after a map that doubles them, keys are as good as for frames twice as large.
#[test]
fn errors_are_measured_after_maps() {
    let x = waves(40, 60, 2.0);
    let frames = VertexFrames::new([&x[..]], 60).unwrap();
    let twice: Vec<f32> = (0..40 * 60)
        .flat_map(|_| [2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0])
        .collect();
    let maps = VertexMaps::from_matrices(vec![&twice], (3, 3), &frames).unwrap();
    let packed = compress(&frames, None, &maps, &settings(2e-3), &Silent).unwrap();
    let error = plain_error(&x, &packed);
    assert!(error <= 1e-3 && (2.0 * error - packed.worst().2).abs() < 1e-6);
    assert_eq!(
        packed.count,
        compress_offsets(&x, 60, &settings(1e-3)).count
    );
}

/// Positions with their rest shape are compressed as the offsets are.
#[test]
fn positions_and_offsets_agree() {
    let x = waves(30, 50, 2.0);
    let rest: Vec<f32> = (0..150).map(|i| (i % 7) as f32 * 0.125).collect();
    let positions: Vec<f32> = x
        .iter()
        .enumerate()
        .map(|(i, x)| x + rest[i % 150])
        .collect();
    let frames = VertexFrames::new([&positions[..]], 50).unwrap();
    let packed = compress(
        &frames,
        Some(&rest),
        &VertexMaps::Identity,
        &settings(1e-3),
        &Silent,
    )
    .unwrap();
    assert!(plain_error(&x, &packed) <= 1.001e-3);
}

/// Settings out of range are refused with their name, and a caller can stop.
#[test]
fn compress_refuses_bad_settings() {
    let x = waves(10, 10, 1.0);
    let frames = VertexFrames::new([&x[..]], 10).unwrap();
    let run = |settings: &CompressSettings| {
        compress(&frames, None, &VertexMaps::Identity, settings, &Silent).err()
    };
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(
            run(&settings(bad)),
            Some(BakeError::Setting {
                what: "the tolerance",
                ..
            })
        ));
    }
    assert_eq!(run(&CompressSettings::default()), Some(BakeError::NoLimit));
    let none = CompressSettings {
        keys: Some(0),
        ..settings(1e-3)
    };
    assert!(matches!(
        run(&none),
        Some(BakeError::Setting {
            what: "the number of keys",
            ..
        })
    ));
    let stop = |_: f64, _: &str| false;
    let stopped = compress(&frames, None, &VertexMaps::Identity, &settings(1e-3), &stop);
    assert_eq!(
        stopped.err(),
        Some(BakeError::Cancelled(crate::progress::Cancelled))
    );
}
