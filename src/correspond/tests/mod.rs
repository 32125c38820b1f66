// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests with a person made of capsules: what its copies are mapped to, paired with, and carry.

mod carried;
mod figure;

use super::*;
use crate::body::BodySettings;
use crate::elasticity::Material;
use crate::geometry::marching;
use crate::geometry::tetrahedron::closest_on_segment;
use crate::lattice::{EncloseSettings, Lattice};
use crate::progress::Silent;
use crate::rig::{
    Guide, MusclePlace, MuscleRig, Rig, RigKind, Sample, Sculpt, SculptPoint, Template,
    TemplateKind,
};
use crate::skeleton::{Affine, Pose, Skeleton, SkinWeights};
use crate::surface::Surface;
use carried::{bent_pose, rigs};
use figure::*;
use std::sync::OnceLock;

/// A character is mapped to itself, its rigs stay as they are, and so do poses.
#[test]
fn same_character_is_identity() {
    let (figure, body) = person();
    let link = link(body, body, &without_names());
    for pair in link.pairs() {
        assert_eq!(pair.source, pair.target);
        assert!(pair.cost.unwrap().abs() < 1e-12);
    }
    assert_eq!(link.pairs().len(), figure.names.len());
    for (place, x) in link.places().iter().zip(&figure.vertices) {
        assert!((place - x).norm() < 1e-9);
    }
    assert!(link.report().most_distance < 1e-9 && link.report().inverted == 0);
    for rig in rigs(body) {
        let carried = link.carry_rig(&rig).unwrap();
        for control in [0.0, 1.0] {
            let own = rig.forces(body, &rig.parameters(control)).unwrap();
            let other = carried.forces(body, &carried.parameters(control)).unwrap();
            let most = own.iter().map(|f| f.norm()).fold(0.0, f64::max);
            assert!(
                own.iter()
                    .zip(&other)
                    .all(|(a, b)| (a - b).norm() < 1e-9 * most)
            );
        }
    }
    let pose = bent_pose(body.skeleton());
    let carried = link.carry_pose(&pose).unwrap();
    for (a, b) in pose.maps().iter().zip(carried.maps()) {
        assert!((a.to_matrix() - b.to_matrix()).amax() < 1e-12);
    }
}

/// Returns a person with longer legs, a thicker trunk and arms that hang a little.
fn other_build(figure: &Figure) -> Figure {
    figure.map_points(|x| {
        let low = (0.9 - x.z).max(0.0);
        let arm = (x.x.abs() - 0.2).max(0.0);
        let thick = 1.0 + 0.25 * (-((x.z - 1.15) / 0.25).powi(2) - (x.x / 0.25).powi(2)).exp();
        Vec3::new(x.x * thick, x.y * thick, x.z - 0.25 * low - 0.35 * arm)
    })
}

/// Another build of the same mesh: all bones right without names, no side exchanged, and the map near the true vertices.
#[test]
fn other_build_is_near_true_vertices() {
    let (figure, body) = person();
    let build = other_build(figure);
    let other = build.body(None, 2e4);
    let link = link(body, &other, &without_names());
    assert!(!link.report().turned);
    assert!(link.pairs().iter().all(|pair| pair.source == pair.target));
    assert_eq!(link.pairs().len(), figure.names.len());
    let away: Vec<f64> = (link.places().iter().zip(&build.vertices))
        .map(|(place, x)| (place - x).norm() / other.size())
        .collect();
    let mean = away.iter().sum::<f64>() / away.len() as f64;
    assert!(mean < 0.02, "{mean}");
    assert!(link.report().mean_distance < 0.003 * other.size());
    // Rigs arrive in the flesh.
    for rig in rigs(body) {
        let carried = link.carry_rig(&rig).unwrap();
        assert_eq!(carried.check(&other), Vec::<String>::new());
    }
}

/// Pairs do not depend on names or the order of bones, and the result not on the number of threads.
#[test]
fn order_names_and_threads_do_not_matter() {
    let (figure, body) = person();
    let build = other_build(figure);
    let other = build.body(None, 2e4);
    let renumbered = build.renumbered().body(None, 2e4);
    let plain = link(body, &other, &without_names());
    let n = figure.names.len() as u32;
    let renamed = link(body, &renumbered, &without_names());
    let pairs = |link: &Correspondence| -> Vec<[u32; 2]> {
        link.pairs().iter().map(|p| [p.source, p.target]).collect()
    };
    let back: Vec<[u32; 2]> = pairs(&renamed)
        .iter()
        .map(|p| [p[0], n - 1 - p[1]])
        .collect();
    assert_eq!(pairs(&plain), back);
    let one = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let alone = one.install(|| link(body, &other, &without_names()));
    assert_eq!(plain.places(), alone.places());
    assert_eq!(plain.pairs(), alone.pairs());
}

/// Pairs that are passed stay, whatever shapes and names say; exchanged sides exchange the bones of both sides.
#[test]
fn given_pairs_win() {
    let (_, body) = person();
    let given = [["UpperArm.L", "UpperArm.R"], ["Thigh.L", "Thigh.R"]];
    let bones = given.map(|pair| pair.map(|name| BoneRef::Name(name.into())));
    let settings = CorrespondenceSettings {
        bones: bones.to_vec(),
        ..CorrespondenceSettings::default()
    };
    let forced = link(body, body, &settings);
    let partner = |link: &Correspondence, bone: u32| {
        let mut pairs = link.pairs().iter();
        pairs.find(|p| p.source == bone).map(|p| (p.target, p.cost))
    };
    assert_eq!(partner(&forced, 3), Some((6, None)));
    assert_eq!(partner(&forced, 9), Some((12, None)));
    let plain = link(body, body, &CorrespondenceSettings::default());
    let swapped = plain.pairs_with_sides_swapped();
    assert!(swapped.contains(&[3, 6]) && swapped.contains(&[14, 11]) && swapped.contains(&[0, 0]));
    let bones = swapped
        .iter()
        .map(|pair| pair.map(BoneRef::Index))
        .collect();
    let mirrored = link(
        body,
        body,
        &CorrespondenceSettings {
            bones,
            ..without_names()
        },
    );
    assert_eq!(partner(&mirrored, 5).unwrap().0, 8);
}

/// Landmarks move the map: the source's point comes nearer to the target's by most of the way.
#[test]
fn landmarks_pull_the_map() {
    let (_, body) = person();
    let on_skin = |p: Vec3| body.surface().closest_point(p).point;
    let (from, to) = (
        on_skin(Vec3::new(0.3, -0.1, 1.38)),
        on_skin(Vec3::new(0.36, -0.1, 1.38)),
    );
    let settings = CorrespondenceSettings {
        landmarks: vec![[from, to]],
        ..CorrespondenceSettings::default()
    };
    let pulled = link(body, body, &settings);
    let away = (pulled.map_point(from) - to).norm();
    assert!(away < 0.35 * (from - to).norm(), "{away}");
}

/// Landmarks inside large triangles, whose corners lie in several cells, are solved: on the same character all stay where they are.
#[test]
fn landmarks_inside_triangles_are_solved() {
    let (_, body) = person();
    let surface = body.surface();
    let middle = |t: &[u32; 3]| {
        t.iter()
            .map(|&v| surface.vertices()[v as usize])
            .sum::<Vec3>()
            / 3.0
    };
    let points: Vec<Vec3> = surface.triangles().iter().step_by(7).map(middle).collect();
    assert!(points.len() > 20);
    let settings = CorrespondenceSettings {
        landmarks: points.iter().map(|&p| [p, p]).collect(),
        ..CorrespondenceSettings::default()
    };
    let found = link(body, body, &settings);
    let away = |(&p, q): (&Vec3, &Vec3)| (p - q).norm();
    let moved = surface.vertices().iter().zip(found.places()).map(away);
    assert!(moved.fold(0.0, f64::max) < 1e-9 * body.size());
}

/// Bad input is refused with its kind of error, which names what is wrong.
#[test]
fn bad_input_is_refused() {
    let (_, body) = person();
    let refused = |settings: CorrespondenceSettings| {
        Correspondence::new(body, body, &settings, &Silent).unwrap_err()
    };
    let with_bones = |bones: Vec<[BoneRef; 2]>| {
        refused(CorrespondenceSettings {
            bones,
            ..CorrespondenceSettings::default()
        })
    };
    let name = |name: &str| BoneRef::Name(name.into());
    let unknown = with_bones(vec![[name("Head"), name("Horn")]]);
    assert_eq!(
        unknown.to_string(),
        "pair 0 names the bone 'Horn', which the target character does not have"
    );
    let beyond = with_bones(vec![[BoneRef::Index(99), name("Head")]]);
    assert!(matches!(
        beyond,
        CorrespondenceError::BoneIndex {
            bone: 99,
            side: Side::Source,
            ..
        }
    ));
    let twice = with_bones(vec![
        [name("Head"), name("Head")],
        [name("Spine"), BoneRef::Index(2)],
    ]);
    assert!(matches!(
        twice,
        CorrespondenceError::BoneTwice {
            pair: 1,
            side: Side::Target,
            ..
        }
    ));
    let with_landmark = |landmark: [Vec3; 2]| {
        refused(CorrespondenceSettings {
            landmarks: vec![landmark],
            ..CorrespondenceSettings::default()
        })
    };
    let skin = body.surface().vertices()[0];
    let nan = with_landmark([skin, Vec3::new(0.0, f64::NAN, 0.0)]);
    assert_eq!(
        nan,
        CorrespondenceError::LandmarkNonFinite {
            landmark: 0,
            side: Side::Target
        }
    );
    let off = with_landmark([Vec3::new(0.0, 0.0, 9.0), skin]);
    assert!(matches!(
        off,
        CorrespondenceError::LandmarkOffSkin {
            side: Side::Source,
            ..
        }
    ));
    let stopped = Correspondence::new(
        body,
        body,
        &CorrespondenceSettings::default(),
        &|_, _: &str| false,
    );
    assert!(matches!(stopped, Err(CorrespondenceError::Cancelled(_))));
    let link = link(body, body, &CorrespondenceSettings::default());
    let template = Template::new(TemplateKind::Bump, &[0.1, 1.0]).unwrap();
    let foreign = Guide::bone(name("Wing"), [0.5, 0.0, 0.0, 0.0]).unwrap();
    let foreign = Rig::new("Flap", template, foreign, Vec::new()).unwrap();
    let error = link.carry_rig(&foreign).unwrap_err().to_string();
    assert!(
        error.starts_with("the rig 'Flap' does not belong to the source character"),
        "{error}"
    );
    assert!(link.carry_pose(&Pose::rest(3)).is_err());
}
