// SPDX-License-Identifier: MIT OR Apache-2.0
//! Enclosing whole characters: the four conditions, the bones, the invariances.

use crate::common::{Character, arm, biped, character, limb};
use std::sync::Mutex;
use thew::lattice::{EncloseSettings, Lattice, LatticeError};
use thew::progress::Silent;
use thew::skeleton::{Skeleton, SkinWeights};
use thew::surface::Surface;
use thew::{Mat3, Vec3};

fn enclose(c: &Character, cells_across: f64) -> Lattice {
    let settings = EncloseSettings {
        cells_across,
        ..EncloseSettings::default()
    };
    Lattice::enclose(&c.surface, &c.skeleton, Some(&c.skin), settings, &Silent).expect("encloses")
}

fn assert_valid(lattice: &Lattice, c: &Character) {
    let violations = lattice.check(&c.surface, &c.skeleton);
    assert!(
        violations.is_empty(),
        "{}: {}",
        violations.len(),
        violations[0]
    );
}

/// The lattice encloses a character and follows its bones at every resolution.
#[test]
fn enclose_at_every_resolution() {
    for limbs in [arm(), biped()] {
        let c = character(&limbs, 0.04);
        for across in [6.0, 12.0, 18.0] {
            let lattice = enclose(&c, across);
            assert_valid(&lattice, &c);
            let bones = lattice.bones();
            assert_eq!(
                bones.used_bones,
                (0..limbs.len() as u32).collect::<Vec<_>>()
            );
            for (bone, chain) in bones.used_bones.iter().zip(&bones.chains) {
                let head = lattice.vertices()[chain[0] as usize];
                assert!((head - c.skeleton.heads()[*bone as usize]).norm() < 1e-9);
                assert!(
                    chain
                        .iter()
                        .all(|&v| bones.bone_of_vertex[v as usize].is_some())
                );
            }
        }
    }
}

/// Two builds of a lattice are equal bit for bit.
#[test]
fn enclose_is_deterministic() {
    let c = character(&biped(), 0.05);
    let (a, b) = (enclose(&c, 12.0), enclose(&c, 12.0));
    assert_eq!(a.vertices(), b.vertices());
    assert_eq!(a.cells(), b.cells());
    assert_eq!(a.bones(), b.bones());
}

/// A translated or scaled character gets a lattice with nearly as many cells.
#[test]
fn enclose_moved_and_scaled() {
    let c = character(&arm(), 0.04);
    let base = enclose(&c, 10.0);
    for (scale, shift) in [
        (1e-3, Vec3::zeros()),
        (1e3, Vec3::zeros()),
        (1.0, Vec3::repeat(1e4)),
    ] {
        let map = |x: &Vec3| x * scale + shift;
        let moved = Character {
            surface: Surface::new(
                c.surface.vertices().iter().map(map).collect(),
                c.surface.triangles().to_vec(),
            )
            .expect("valid"),
            skeleton: Skeleton::new(
                c.skeleton.names().to_vec(),
                c.skeleton.parents().to_vec(),
                c.skeleton.heads().iter().map(map).collect(),
                c.skeleton.tails().iter().map(map).collect(),
            )
            .expect("valid"),
            skin: c.skin.clone(),
        };
        let lattice = enclose(&moved, 10.0);
        assert_valid(&lattice, &moved);
        // Rounding may turn a decision, so not the same cells; the same amount of them.
        let ratio = lattice.cells().len() as f64 / base.cells().len() as f64;
        assert!((ratio - 1.0).abs() < 0.05, "scale {scale}: {ratio}");
    }
}

/// A turned character is enclosed.
#[test]
fn enclose_turned() {
    let c = character(&biped(), 0.05);
    let axis = nalgebra::Unit::new_normalize(Vec3::new(1.0, 2.0, -0.5));
    let r: Mat3 = *nalgebra::Rotation3::from_axis_angle(&axis, 1.1).matrix();
    let turned = Character {
        surface: Surface::new(
            c.surface.vertices().iter().map(|x| r * x).collect(),
            c.surface.triangles().to_vec(),
        )
        .expect("valid"),
        skeleton: Skeleton::new(
            c.skeleton.names().to_vec(),
            c.skeleton.parents().to_vec(),
            c.skeleton.heads().iter().map(|x| r * x).collect(),
            c.skeleton.tails().iter().map(|x| r * x).collect(),
        )
        .expect("valid"),
        skin: c.skin.clone(),
    };
    assert_valid(&enclose(&turned, 12.0), &turned);
}

/// A flat strip of eight triangles with two bones is enclosed.
#[test]
fn enclose_flat_strip() {
    let mut vertices = Vec::new();
    for i in 0..5 {
        for x in [-0.5, 0.5] {
            vertices.push(Vec3::new(x, 0.0, 0.5 * f64::from(i)));
        }
    }
    let triangles =
        (0..4).flat_map(|i| [[2 * i, 2 * i + 1, 2 * i + 3], [2 * i, 2 * i + 3, 2 * i + 2]]);
    let surface = Surface::new(vertices, triangles.collect()).expect("valid");
    let skeleton = Skeleton::new(
        vec!["a".into(), "b".into()],
        vec![None, Some(0)],
        vec![Vec3::zeros(), Vec3::new(0.0, 0.0, 1.0)],
        vec![Vec3::new(0.0, 0.0, 1.0), Vec3::new(0.0, 0.0, 2.0)],
    )
    .expect("valid");
    let dense: Vec<f64> = (0..10)
        .flat_map(|v| {
            let up = f64::from(v / 2) / 4.0;
            [1.0 - up, up]
        })
        .collect();
    let skin = SkinWeights::from_dense(10, 2, &dense).expect("valid");
    let c = Character {
        surface,
        skeleton,
        skin,
    };
    let lattice = enclose(&c, 12.0);
    assert_valid(&lattice, &c);
    assert_eq!(lattice.bones().used_bones, vec![0, 1]);
}

/// A bone with weights is kept wherever it lies, and a bone without weights is not.
#[test]
fn weighted_bones_are_kept() {
    let mut limbs = arm();
    limbs.push(limb("root", None, [0.0, 0.0, -2.0], [0.0, 0.0, -1.0], 1e-9));
    limbs.push(limb("pole", None, [0.5, 1.0, 0.0], [0.5, 1.3, 0.0], 1e-9));
    let c = character(&arm(), 0.04);
    let n = c.surface.vertices().len();
    let skeleton = Skeleton::new(
        limbs.iter().map(|l| l.name.into()).collect(),
        vec![Some(2), Some(0), None, Some(2)],
        limbs.iter().map(|l| Vec3::from(l.head)).collect(),
        limbs.iter().map(|l| Vec3::from(l.tail)).collect(),
    )
    .expect("valid");
    let dense = |pole: f64| -> Vec<f64> {
        (0..n)
            .flat_map(|v| {
                let mut row = [0.0; 4];
                for (b, w) in c.skin.row(v) {
                    row[b as usize] = w;
                }
                row[3] = pole;
                row
            })
            .collect()
    };
    for (pole, expected) in [(0.0, vec![0, 1]), (0.2, vec![0, 1, 3])] {
        let c = Character {
            surface: c.surface.clone(),
            skeleton: skeleton.clone(),
            skin: SkinWeights::from_dense(n, 4, &dense(pole)).expect("valid"),
        };
        let lattice = enclose(&c, 10.0);
        assert_eq!(lattice.bones().used_bones, expected);
        assert_valid(&lattice, &c);
    }
}

/// The lattice follows a very long bone only near the body.
#[test]
fn long_bone_is_cut() {
    let c = character(&arm(), 0.04);
    let mut tails = c.skeleton.tails().to_vec();
    tails[1] += Vec3::new(0.0, 60.0, 80.0);
    let c = Character {
        skeleton: Skeleton::new(
            c.skeleton.names().to_vec(),
            c.skeleton.parents().to_vec(),
            c.skeleton.heads().to_vec(),
            tails,
        )
        .expect("valid"),
        ..c
    };
    let lattice = enclose(&c, 10.0);
    assert_valid(&lattice, &c);
    assert_eq!(lattice.bones().used_bones, vec![0, 1]);
    let farthest = lattice
        .vertices()
        .iter()
        .map(|x| x.norm())
        .fold(0.0, f64::max);
    assert!(farthest < 4.0, "{farthest}");
}

/// Of bones on top of one another each holds the flesh that it carries.
#[test]
fn coincident_bones_hold_own_flesh() {
    // The importer of joints alone: both bones lie along the right half, the left one's flesh is behind it.
    let c = character(&arm(), 0.04);
    let (joint, end) = (Vec3::new(0.5, 0.0, 0.0), Vec3::new(1.0, 0.0, 0.0));
    let c = Character {
        skeleton: Skeleton::new(
            vec!["left".into(), "right".into()],
            vec![None, Some(0)],
            vec![joint, joint],
            vec![end, end],
        )
        .expect("valid"),
        ..c
    };
    let lattice = enclose(&c, 10.0);
    assert_valid(&lattice, &c);
    let bones = lattice.bones();
    assert_eq!(bones.used_bones, vec![0, 1]);
    for (v, bone) in bones.bone_of_vertex.iter().enumerate() {
        let x = lattice.vertices()[v].x;
        if let Some(bone) = bone.filter(|_| (x - 0.5).abs() > 0.05) {
            assert_eq!(bone, u32::from(x > 0.5), "vertex {v} at x = {x}");
        }
    }
    assert!(bones.tip_bones.contains(&0));
}

/// Bones on top of one another share the line they lie on, by the skin around it.
#[test]
fn coincident_bones_share_line() {
    let c = character(&arm(), 0.04);
    let (a, b) = (Vec3::zeros(), Vec3::new(1.0, 0.0, 0.0));
    for reversed in [false, true] {
        let (head, tail) = if reversed { (b, a) } else { (a, b) };
        let c = Character {
            surface: c.surface.clone(),
            skin: c.skin.clone(),
            skeleton: Skeleton::new(
                vec!["left".into(), "right".into()],
                vec![None, Some(0)],
                vec![a, head],
                vec![b, tail],
            )
            .expect("valid"),
        };
        let lattice = enclose(&c, 10.0);
        assert_valid(&lattice, &c);
        for (v, bone) in lattice.bones().bone_of_vertex.iter().enumerate() {
            let x = lattice.vertices()[v].x;
            if let Some(bone) = bone.filter(|_| (0.05..0.95).contains(&x) && (x - 0.5).abs() > 0.05)
            {
                assert_eq!(bone, u32::from(x > 0.5), "vertex {v} at x = {x}");
            }
        }
    }
}

/// Every vertex of the surface is embedded at its own place.
#[test]
fn embedding_keeps_surface() {
    let c = character(&biped(), 0.05);
    let lattice = enclose(&c, 12.0);
    let e = lattice.embed_surface(&c.surface);
    for (i, x) in c.surface.vertices().iter().enumerate() {
        assert!((e.position(i, lattice.vertices()) - x).norm() < 1e-12);
        assert!(e.row(i).all(|(_, w)| w > -1e-6));
    }
}

/// The two legs share no vertices of the lattice.
#[test]
fn legs_share_no_vertices() {
    // Vertices of the two shins share no lattice vertex, though their cells overlap in space.
    let c = character(&biped(), 0.04);
    let lattice = enclose(&c, 10.0);
    let e = lattice.embed_surface(&c.surface);
    let used = |side: f64| -> std::collections::BTreeSet<usize> {
        c.surface
            .vertices()
            .iter()
            .enumerate()
            .filter(|(_, p)| p.z < 0.45 && p.x * side > 0.0)
            .flat_map(|(i, _)| e.row(i))
            .map(|(v, _)| v)
            .collect()
    };
    assert_eq!(used(1.0).intersection(&used(-1.0)).count(), 0);
}

/// The build can be cancelled at any report of progress.
#[test]
fn enclose_cancels_at_any_report() {
    let c = character(&arm(), 0.05);
    let count = Mutex::new(0);
    let run = |stop: usize| {
        *count.lock().expect("no panic") = 0;
        let progress = |_: f64, _: &str| {
            let mut n = count.lock().expect("no panic");
            *n += 1;
            *n <= stop
        };
        Lattice::enclose(
            &c.surface,
            &c.skeleton,
            None,
            EncloseSettings::default(),
            &progress,
        )
    };
    // What a surface finds out once is told once.
    assert!(run(usize::MAX).is_ok());
    assert!(run(usize::MAX).is_ok());
    let reports = *count.lock().expect("no panic");
    assert!(reports > 5);
    for stop in [0, 1, 2, reports / 2, reports - 1] {
        assert!(
            matches!(run(stop), Err(LatticeError::Cancelled(_))),
            "{stop} of {reports}"
        );
    }
}

/// Bad settings and weights are refused.
#[test]
fn enclose_refuses_bad_input() {
    let c = character(&arm(), 0.05);
    for cells_across in [0.0, f64::NAN, 1e6] {
        let settings = EncloseSettings {
            cells_across,
            ..EncloseSettings::default()
        };
        let result = Lattice::enclose(&c.surface, &c.skeleton, None, settings, &Silent);
        assert!(matches!(result, Err(LatticeError::CellsAcross(_))));
    }
    let short = SkinWeights::from_dense(1, 2, &[1.0, 0.0]).expect("valid");
    let result = Lattice::enclose(
        &c.surface,
        &c.skeleton,
        Some(&short),
        EncloseSettings::default(),
        &Silent,
    );
    assert!(matches!(result, Err(LatticeError::Weights(_))));
}
