// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helper bones: planted bones are found, weights and maps keep their limits, and threads change no bit.

use super::simplex::{MAX_WEIGHTS, SmallSystem};
use super::*;
use crate::geometry::rotation_vector::rotation;
use crate::progress::Silent;

/// A tube of two bones, in frames where two further rigid bones move parts of it.
struct Planted {
    rest: Vec<f32>,
    posed: Vec<f32>,
    poses: Vec<f32>,
    weights: SkinWeights,
}

const VERTICES: usize = 240;

impl Planted {
    fn new(frames: usize, reach: f64) -> Self {
        let at = |v: usize| {
            let (x, angle) = ((v / 12) as f64 / 20.0, (v % 12) as f64 * 0.52);
            Vec3::new(x, 0.1 * angle.cos(), 0.1 * angle.sin())
        };
        let second = |x: f64| ((x - 0.35) / 0.3).clamp(0.0, 1.0);
        let rows = (0..VERTICES).map(|v| [(0, 1.0 - second(at(v).x)), (1, second(at(v).x))]);
        let mut planted = Self {
            rest: Vec::new(),
            posed: Vec::new(),
            poses: Vec::new(),
            weights: SkinWeights::from_rows(2, rows).unwrap(),
        };
        for v in 0..VERTICES {
            planted.rest.extend(at(v).iter().map(|x| *x as f32));
        }
        for f in 0..frames {
            let t = 0.3 * f as f64;
            let hinge = Vec3::new(0.5, 0.0, 0.0);
            let turn = |w: Vec3, centre: Vec3, shift: Vec3| {
                let r = rotation(&w);
                (r, centre - r * centre + shift)
            };
            let bones = [
                turn(Vec3::zeros(), hinge, Vec3::zeros()),
                turn(Vec3::new(0.0, 0.0, 0.7 * t.sin()), hinge, Vec3::zeros()),
                turn(
                    Vec3::new(0.3 * (2.0 * t).sin(), 0.0, 0.2 * t.cos()) * reach,
                    Vec3::new(0.2, 0.0, 0.0),
                    Vec3::new(0.0, 0.04 * (3.0 * t).sin(), 0.02) * reach,
                ),
                turn(
                    Vec3::new(0.0, 0.3 * (3.0 * t).cos(), 0.5 * t.sin()) * reach,
                    Vec3::new(0.8, 0.0, 0.0),
                    Vec3::new(0.03 * t.cos(), 0.0, 0.03 * (2.0 * t).sin()) * reach,
                ),
            ];
            for (r, s) in &bones[..2] {
                for i in 0..3 {
                    let row = [r[(i, 0)], r[(i, 1)], r[(i, 2)], s[i]];
                    planted.poses.extend(row.map(|x| x as f32));
                }
                planted.poses.extend([0.0, 0.0, 0.0, 1.0]);
            }
            for v in 0..VERTICES {
                let p = at(v);
                let share = |x: f64| 0.8 * (-((p.x - x) / 0.12).powi(2)).exp();
                let helpers = [share(0.2), share(0.8)];
                let own = 1.0 - helpers[0] - helpers[1];
                let w = [
                    own * (1.0 - second(p.x)),
                    own * second(p.x),
                    helpers[0],
                    helpers[1],
                ];
                let seen: Vec3 = (bones.iter().zip(w))
                    .map(|((r, s), w)| (r * p + s) * w)
                    .sum();
                planted.posed.extend(seen.iter().map(|x| *x as f32));
            }
        }
        planted
    }

    fn fit(&self, count: usize, influences: usize) -> HelperBones {
        let frames = VertexFrames::new([&self.posed[..]], VERTICES).unwrap();
        let settings = HelperBonesSettings { count, influences };
        let poses = vec![&self.poses[..]];
        helper_bones(
            &self.rest,
            &frames,
            poses,
            &self.weights,
            &settings,
            &Silent,
        )
        .unwrap()
    }
}

/// Motion that two rigid bones made is found again by two helpers, to within a small part of it.
#[test]
fn planted_bones_are_found() {
    let planted = Planted::new(20, 1.0);
    let (found, bare) = (planted.fit(2, 4), Planted::new(20, 0.0));
    let moved = (planted.posed.iter().zip(&bare.posed))
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max);
    assert_eq!((found.count, found.bone_count), (2, 2));
    assert!(
        moved > 0.04 && found.worst().2 < 0.1 * moved,
        "{moved} {:?}",
        found.worst()
    );
    let mut parents = found.parents.clone();
    parents.sort_unstable();
    assert_eq!(parents, [0, 1]);
    assert_eq!(found.transforms.len(), 20 * 2 * 16);
}

/// Rows of weights add up to 1, with no more bones than allowed and none negative.
#[test]
fn weights_keep_limits() {
    let planted = Planted::new(12, 1.0);
    for influences in [1, 2, 4, 8] {
        let found = planted.fit(5, influences);
        for row in found.weights.chunks_exact(2 + found.count) {
            assert!(row.iter().filter(|w| **w != 0.0).count() <= influences);
            assert!(row.iter().all(|w| *w >= 0.0));
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        }
    }
}

/// Any number of threads gives the same bits.
#[test]
fn threads_change_nothing() {
    let planted = Planted::new(12, 1.0);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap().install(|| planted.fit(3, 4))
    };
    assert_eq!(with(1), with(3));
}

/// Frames beyond those to which weights are fitted are shown as well, in blocks.
#[test]
fn unfitted_frames_are_carried() {
    let planted = Planted::new(90, 1.0);
    let all = planted.fit(2, 4);
    let frames = VertexFrames::new([&planted.posed[..]], VERTICES).unwrap();
    let poses = vec![&planted.poses[..]];
    let source = Source::new(&frames, &planted.rest, poses, &planted.weights).unwrap();
    let settings = HelperBonesSettings {
        count: 2,
        influences: 4,
    };
    let some = fit_source(&source, &settings, 7 * VERTICES, &Silent).unwrap();
    assert_eq!(some.errors.len(), 90);
    assert!(some.rms < 2.0 * all.rms + 1e-5, "{} {}", some.rms, all.rms);
}

/// Weights of few columns reach the nearest blend, inside and on the border of the permitted ones.
#[test]
fn simplex_finds_nearest_blend() {
    let columns = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let fit = |to: [f64; 3]| {
        let product = |a: usize, b: usize| alignment::dot(&columns[a], &columns[b]);
        SmallSystem::gather(&[0, 1, 2], product, |a| alignment::dot(&columns[a], &to)).solve()
    };
    let near = |w: [f64; MAX_WEIGHTS], wanted: [f64; 3]| {
        assert!((0..3).all(|i| (w[i] - wanted[i]).abs() < 1e-6), "{w:?}");
    };
    near(fit([0.2, 0.3, 5.0]), [0.5, 0.2, 0.3]);
    near(fit([0.4, -1.0, 0.0]), [0.6, 0.4, 0.0]);
    near(fit([2.0, 2.0, 0.0]), [0.0, 0.5, 0.5]);
    near(fit([-1.0, -1.0, 0.0]), [1.0, 0.0, 0.0]);
}

/// A removed helper leaves rows that add up to 1 and name the others.
#[test]
fn removed_helper_leaves_whole_rows() {
    let mut rig = Rig {
        maps: vec![Vec::new(); 3],
        skins: vec![
            rig::VertexSkin {
                kept: 0,
                helpers: [(0, 0.5), (2, 0.5)].into_iter().collect(),
            },
            rig::VertexSkin {
                kept: 0,
                helpers: [(0, 1.0)].into_iter().collect(),
            },
        ],
    };
    rig.remove(0);
    assert_eq!(rig.maps.len(), 2);
    assert_eq!(rig.skins[0].helpers[..], [(1, 1.0)]);
    assert_eq!((rig.skins[1].kept, rig.skins[1].own_share()), (1, 1.0));
}
