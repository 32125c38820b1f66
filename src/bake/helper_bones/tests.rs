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
        self.fit_resting(count, influences, None)
    }

    fn fit_resting(
        &self,
        count: usize,
        influences: usize,
        rest_tolerance: Option<f64>,
    ) -> HelperBones {
        let frames = VertexFrames::new([&self.posed[..]], VERTICES).unwrap();
        let settings = HelperBonesSettings {
            count,
            influences,
            rest_tolerance,
        };
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
    let settings = HelperBonesSettings {
        count: 2,
        influences: 4,
        rest_tolerance: None,
    };
    let source = Source::new(&frames, &planted.rest, poses, &planted.weights, &settings).unwrap();
    let some = fit_source(&source, &settings, 7 * VERTICES, &Silent).unwrap();
    assert_eq!(some.errors.len(), 90);
    assert!(some.rms < 2.0 * all.rms + 1e-5, "{} {}", some.rms, all.rms);
}

/// No helper, and more than there may be, are refused by the number given; both bounds are taken.
#[test]
fn counts_out_of_range_are_refused() {
    let check = |count| {
        let settings = HelperBonesSettings {
            count,
            influences: 4,
            rest_tolerance: None,
        };
        settings.check()
    };
    for count in [0, MAX_HELPERS + 1] {
        let told = check(count).unwrap_err().to_string();
        assert!(told.ends_with(&format!("not {count}")), "{told}");
    }
    assert_eq!([check(1), check(MAX_HELPERS)], [Ok(()), Ok(())]);
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

/// Weights in groups reach the nearest blend whose groups have their totals; a group with one column keeps it.
#[test]
fn simplex_keeps_totals_of_groups() {
    let columns = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
    ];
    let fit = |to: [f64; 3], chosen: &[usize]| {
        let product = |a: usize, b: usize| alignment::dot(&columns[a], &columns[b]);
        let mut system = SmallSystem::gather(chosen, product, |a| alignment::dot(&columns[a], &to));
        for (group, column) in system.groups.iter_mut().zip(chosen) {
            *group = column / 2;
        }
        system.totals[..2].copy_from_slice(&[0.7, 0.3]);
        system.solve()
    };
    let near = |w: [f64; MAX_WEIGHTS], wanted: &[f64]| {
        let apart = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-6;
        assert!(w.iter().zip(wanted).all(apart), "{w:?}");
    };
    near(fit([0.4, 0.1, 2.0], &[0, 1, 2, 3]), &[0.3, 0.4, 0.2, 0.1]);
    near(fit([0.9, -1.0, 0.0], &[0, 1, 2, 3]), &[0.0, 0.7, 0.3, 0.0]);
    near(fit([0.2, 0.2, 0.0], &[1, 2, 3]), &[0.7, 0.1, 0.2]);
}

/// With a tolerance of 0, a bone and its helpers together have the weight that the bone had, for any number of influences.
#[test]
fn helpers_take_weight_from_their_parents() {
    let planted = Planted::new(12, 1.0);
    for influences in [2, 3, 4, 8] {
        let found = planted.fit_resting(5, influences, Some(0.0));
        assert!(found.count > 1);
        for (v, row) in found.weights.chunks_exact(2 + found.count).enumerate() {
            assert!(row.iter().filter(|w| **w != 0.0).count() <= influences);
            assert!(row.iter().all(|w| *w >= 0.0));
            let mut shares = [f64::from(row[0]), f64::from(row[1])];
            for (w, parent) in row[2..].iter().zip(&found.parents) {
                shares[*parent as usize] += f64::from(*w);
            }
            for (b, weight) in planted.weights.row(v) {
                shares[b as usize] -= weight;
            }
            assert!(shares.iter().all(|s| s.abs() < 1e-6), "{v} {shares:?}");
        }
    }
}

/// Motion of two rigid bones is found again too where helpers take weight from their parents alone.
#[test]
fn planted_bones_are_found_beside_plain_skin() {
    let planted = Planted::new(20, 1.0);
    let (free, plain) = (planted.fit(4, 4), planted.fit_resting(4, 4, Some(0.0)));
    let bare = planted.fit_resting(1, 4, Some(0.0));
    assert!(plain.rms < 0.3 * bare.rms, "{} {}", plain.rms, bare.rms);
    assert!(
        plain.rms < 2.0 * free.rms + 1e-4,
        "{} {}",
        plain.rms,
        free.rms
    );
}

/// A larger tolerance lets light own bones leave where the plain skin stays within it, and never beyond.
#[test]
fn fewest_bones_keep_the_tolerance() {
    let planted = Planted::new(20, 1.0);
    let frames = VertexFrames::new([&planted.posed[..]], VERTICES).unwrap();
    let fewest = |rest_tolerance| {
        let settings = HelperBonesSettings {
            count: 2,
            influences: 4,
            rest_tolerance,
        };
        let poses = vec![&planted.poses[..]];
        let source = Source::new(&frames, &planted.rest, poses, &planted.weights, &settings);
        source.unwrap().own.fewest
    };
    let all: Vec<usize> = (0..VERTICES)
        .map(|v| planted.weights.row(v).count())
        .collect();
    assert_eq!(fewest(Some(0.0)), all);
    assert!(fewest(Some(10.0)).iter().all(|k| *k == 1));
    let some = fewest(Some(0.01));
    assert!(some.iter().zip(&all).any(|(a, b)| a < b));
    for (v, kept) in some.iter().enumerate() {
        let x = f64::from(planted.rest[3 * v]) - 0.5;
        let r = x.hypot(f64::from(planted.rest[3 * v + 1]));
        let light = planted.weights.row(v).map(|w| w.1).fold(1.0, f64::min);
        // The second bone turns by up to 0.7 about the hinge.
        if *kept < all[v] {
            assert!(2.0 * (0.35_f64).sin() * r * light < 0.0101, "{v}");
        }
    }
}

/// A removed helper leaves rows that add up to 1 and name the others; its weight goes to its parent where the plain skin is kept.
#[test]
fn removed_helper_leaves_whole_rows() {
    let planted = Planted::new(2, 1.0);
    let frames = VertexFrames::new([&planted.posed[..]], VERTICES).unwrap();
    let settings = HelperBonesSettings {
        count: 1,
        influences: 4,
        rest_tolerance: None,
    };
    let poses = vec![&planted.poses[..]];
    let source = Source::new(&frames, &planted.rest, poses, &planted.weights, &settings).unwrap();
    let middle = VERTICES as u32 / 2;
    let problem = Problem::new(&source, &[middle, middle, 0], &[0, 1]);
    let skin = |own: &[f64], helpers: &[(u32, f64)]| rig::VertexSkin {
        own: own.into(),
        helpers: helpers.into(),
    };
    let second = problem.own.row(0).0[1];
    let rig = Rig {
        maps: vec![Vec::new(); 3],
        parents: vec![second; 3],
        skins: vec![
            skin(&[], &[(0, 0.5), (2, 0.5)]),
            skin(&[0.3, 0.1], &[(0, 0.2), (1, 0.4)]),
            skin(&[], &[(0, 1.0)]),
        ],
    };
    let mut free = rig.clone();
    free.remove(&problem, 0, false);
    assert_eq!((free.maps.len(), free.parents.len()), (2, 2));
    assert_eq!(free.skins[0], skin(&[], &[(1, 1.0)]));
    assert!((free.skins[1].own_share() - 0.6).abs() < 1e-12);
    assert_eq!(free.skins[1].helpers[..], [(0, 0.4)]);
    assert_eq!(free.skins[2], skin(&[1.0], &[]));
    let mut plain = rig;
    plain.skins.truncate(2);
    plain.skins[0].own = smallvec::smallvec![0.0, 0.0];
    plain.remove(&problem, 0, true);
    assert_eq!(plain.skins[0].own[..], [0.0, 0.5]);
    let after: [f64; 2] = [0.3, 0.1 + 0.2];
    assert_eq!(plain.skins[1].own[..], after);
}
