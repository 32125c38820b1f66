// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tubes along the bones of synthetic arms.

use super::*;
use crate::Vec3;
use crate::mrep::FigureFitSettings;
use crate::mrep::fixture::arm;
use crate::skeleton::{Skeleton, SkinWeights};
use crate::surface::Surface;

fn tube(arm: &(Surface, Skeleton, SkinWeights), bones: &[u32]) -> Result<Figure, MRepError> {
    Figure::from_skeleton(&arm.0, &arm.1, &arm.2, bones, ChainSettings::default())
}

/// A tube along an arm has its hubs on the bones and the radius of the arm.
#[test]
fn tube_follows_arm_bones() {
    for angle in [0.0, 0.4] {
        let arm = arm(angle, |p| p);
        let figure = tube(&arm, &[1, 2, 3]).unwrap();
        assert_eq!(
            figure.kind(),
            FigureKind::Tube {
                atoms: 10,
                spokes: 8
            }
        );
        assert!(figure.legality() > 0.03, "{}", figure.legality());
        for (joint, expected) in figure.joints().iter().zip([0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0]) {
            assert!((joint - expected).abs() < 1e-9);
        }
        for (i, atom) in figure.atoms().iter().enumerate() {
            let along = i as f64 / 3.0;
            let radius = 0.3 - 0.03 * (1.0 + along);
            // Rings are tilted at the joints, so their cross sections are wider.
            let far = atom
                .lengths
                .iter()
                .map(|x| (x * atom.radius / radius - 1.0).abs());
            // The last hub lies in the end of the skin, where rays hardly measure the radius.
            let most = if angle == 0.0 && i < 9 { 0.02 } else { 0.15 };
            assert!(far.fold(0.0, f64::max) < most, "{angle} {i} {atom:?}");
        }
        // The first spoke points to the side to which the arm bends, upward here. In a straight arm it does so by default.
        assert!(figure.atoms()[0].frame[(2, 2)] > 0.9);
    }
}

/// A tube follows a similarity of the arm and does not depend on the order of the bones.
#[test]
fn tube_is_equivariant() {
    let turn = *nalgebra::Rotation3::new(Vec3::new(0.4, -1.1, 2.0)).matrix();
    let shift = Vec3::new(3.0, -1.0, 0.5);
    let here = tube(&arm(0.4, |p| p), &[1, 2, 3]).unwrap();
    let there = tube(&arm(0.4, |p| turn * p * 0.2 + shift), &[3, 1, 2]).unwrap();
    let moved = here.apply_similarity(0.2, &turn, shift);
    for (a, b) in moved.atoms().iter().zip(there.atoms()) {
        assert!((a.hub - b.hub).norm() < 1e-9 && (a.frame - b.frame).amax() < 1e-9);
        assert!((a.radius - b.radius).abs() < 1e-9 && (a.end - b.end).abs() < 1e-9);
        assert!(
            a.lengths
                .iter()
                .zip(&b.lengths)
                .all(|(x, y)| (x - y).abs() < 1e-9)
        );
    }
}

/// A fit with held hubs lays the tube onto the skin of the arm.
#[test]
fn tube_fit_with_held_hubs() {
    let arm = arm(0.4, |p| p);
    let bones = [1, 2, 3];
    let figure = tube(&arm, &bones).unwrap();
    let settings = FigureFitSettings {
        held: (0..10).collect(),
        ..FigureFitSettings::default()
    };
    let weights = chain_weights(&arm.2, &bones);
    let fit = figure
        .fit_surface(&arm.0, Some(&weights), &settings, &crate::progress::Silent)
        .unwrap();
    let report = &fit.stages[0].report;
    assert!(report.mean < 5e-3 * arm.0.size(), "{report:?}");
    let hubs = |f: &Figure| f.atoms().iter().map(|a| a.hub).collect::<Vec<_>>();
    assert_eq!(hubs(&fit.figure), hubs(&figure));
}

/// Bones that do not form a chain are refused, and the error names them.
#[test]
fn tube_refuses_unchained_bones() {
    let arm = arm(0.4, |p| p);
    let said = |bones: &[u32]| tube(&arm, bones).unwrap_err().to_string();
    assert!(said(&[]).contains("no bones"));
    assert!(said(&[1, 9]).contains("no bone 9"));
    assert!(said(&[1, 2, 1]).contains("'upper' is given twice"));
    assert!(said(&[0, 2]).contains("not a chain") && said(&[0, 2]).contains("'body', 'lower'"));
    let (surface, skeleton, _) = &arm;
    let none = SkinWeights::from_dense(
        surface.vertices().len(),
        4,
        &vec![0.0; 4 * surface.vertices().len()],
    );
    let error = Figure::from_skeleton(
        surface,
        skeleton,
        &none.unwrap(),
        &[1],
        ChainSettings::default(),
    );
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("no skin follows the bones 'upper'")
    );
    let mut heads = skeleton.heads().to_vec();
    heads[2] = heads[1];
    let short = Skeleton::new(
        skeleton.names().to_vec(),
        skeleton.parents().to_vec(),
        heads,
        skeleton.tails().to_vec(),
    );
    let error = Figure::from_skeleton(
        surface,
        &short.unwrap(),
        &arm.2,
        &[1, 2],
        ChainSettings::default(),
    );
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("'upper' has no length")
    );
}

/// Hubs leave the bones at corners that are too sharp for the thickness, and only there.
#[test]
fn hubs_round_sharp_corners() {
    for angle in [1.1, 1.5] {
        let arm = arm(angle, |p| p);
        let bones = [1, 2, 3];
        let figure = tube(&arm, &bones).unwrap();
        assert!(figure.legality() > 0.03, "{angle} {}", figure.legality());
        let off: Vec<f64> = figure
            .atoms()
            .iter()
            .map(|a| distance_to_bones(&arm.1, &bones, &a.hub))
            .collect();
        // Both ends stay, and nothing strays farther from the corner than the arm is thick.
        let most = off.iter().copied().fold(0.0, f64::max);
        assert!(
            off[0] < 1e-9 && off[off.len() - 1] < 1e-9 && most < 0.3,
            "{angle} {off:?}"
        );
        let settings = FigureFitSettings {
            held: (0..figure.atoms().len()).collect(),
            ..FigureFitSettings::default()
        };
        let weights = chain_weights(&arm.2, &bones);
        let fit = figure.fit_surface(&arm.0, Some(&weights), &settings, &crate::progress::Silent);
        let report = fit.unwrap().stages[0].report;
        assert!(report.mean < 5e-3 * arm.0.size(), "{angle} {report:?}");
    }
    // At gentle corners hubs stay on the bones.
    let gentle = arm(0.4, |p| p);
    let figure = tube(&gentle, &[1, 2, 3]).unwrap();
    assert!(
        figure
            .atoms()
            .iter()
            .all(|a| distance_to_bones(&gentle.1, &[1, 2, 3], &a.hub) < 1e-9)
    );
}

/// Returns the distance of a point from the nearest of some bones.
fn distance_to_bones(skeleton: &Skeleton, bones: &[u32], x: &Vec3) -> f64 {
    let far = |b: &u32| {
        let (head, tail) = (skeleton.heads()[*b as usize], skeleton.tails()[*b as usize]);
        let way = tail - head;
        let part = ((x - head).dot(&way) / way.norm_squared()).clamp(0.0, 1.0);
        (x - head - way * part).norm()
    };
    bones.iter().map(far).fold(f64::INFINITY, f64::min)
}

/// A short last bone is extended to the end of its skin.
#[test]
fn stub_bone_extends_to_skin_end() {
    let (surface, skeleton, skin) = arm(0.3, |p| p);
    let mut tails = skeleton.tails().to_vec();
    let whole = tails[3];
    tails[3] = skeleton.heads()[3] + Vec3::new(0.0, 0.0, 0.02);
    let (names, parents) = (skeleton.names().to_vec(), skeleton.parents().to_vec());
    let stub = Skeleton::new(names, parents, skeleton.heads().to_vec(), tails).unwrap();
    let arm = (surface, stub, skin);
    let figure = tube(&arm, &[1, 2, 3]).unwrap();
    let atoms = figure.atoms();
    let last = atoms[atoms.len() - 1].hub;
    let bone = whole - skeleton.heads()[3];
    let part = (last - skeleton.heads()[3]).dot(&bone) / bone.norm_squared();
    assert!((0.8..=1.0).contains(&part), "{part}");
    assert!((last - skeleton.heads()[3] - bone * part).norm() < 0.05);
    // A chain that ends before the stub is unchanged.
    let (before, now) = (tube(&arm, &[1, 2]).unwrap(), (arm.0, skeleton, arm.2));
    assert_eq!(before.atoms(), tube(&now, &[1, 2]).unwrap().atoms());
}

/// An error about many bones names only the first and the last of them.
#[test]
fn bone_list_is_abbreviated() {
    let count = 9;
    let heads: Vec<Vec3> = (0..count)
        .map(|i| Vec3::new(f64::from(i), 0.0, 0.0))
        .collect();
    let tails = heads.iter().map(|h| h + Vec3::x()).collect();
    let names = (0..count).map(|i| format!("b{i}")).collect();
    let skeleton = Skeleton::new(names, vec![None; count as usize], heads, tails).unwrap();
    let bones: Vec<u32> = (0..count as u32).collect();
    let said = order_chain(&skeleton, &bones).unwrap_err().to_string();
    assert!(
        said.contains("'b0', 'b1', … 'b8' (9 bones)") && !said.contains("b5"),
        "{said}"
    );
}
