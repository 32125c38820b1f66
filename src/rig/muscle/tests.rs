// SPDX-License-Identifier: MIT OR Apache-2.0
//! Muscles: volume and bulge, covariance, tension, lengths in poses, refusals.

use super::*;
use crate::body::fixture::BarOptions;
use crate::progress::Silent;
use crate::skeleton::Affine;
use nalgebra::{Isometry3, Point3, Rotation3, Vector3};

/// Places beside the two bones of a bar, in its own axes.
const ENDS: [[f64; 3]; 2] = [[0.08, 0.0, 0.35], [0.08, 0.02, 1.2]];

fn bar(hexahedra: bool) -> BarOptions {
    BarOptions {
        cells_along: 12,
        cells_across: 4,
        hexahedra,
        ..BarOptions::default()
    }
}

/// Returns the muscle along a bar between the two places; contraction, and sizes that grow with the bar.
fn muscle(body: &Body, options: &BarOptions, contraction: f64) -> MuscleRig {
    let scale = options.length / 1.6;
    let place = |bone: u32| {
        let x = Point3::from(Vec3::from(ENDS[bone as usize]) * scale);
        place_at(body.skeleton(), bone, (options.frame * x).coords).unwrap()
    };
    let size = [contraction, 0.09 * scale, 0.02 * scale];
    MuscleRig::new(place(0), place(1), size).unwrap()
}

fn forces(body: &Body, muscle: &MuscleRig) -> Vec<Vec3> {
    muscle.forces(body, &muscle.parameters()).unwrap()
}

/// Forces act on free flesh only, and a contraction of none has none.
#[test]
fn held_flesh_has_no_forces() {
    for hexahedra in [false, true] {
        let body = bar(hexahedra).build();
        let muscle = muscle(&body, &bar(hexahedra), 0.3);
        let own = forces(&body, &muscle);
        assert!(own.iter().map(|f| f.norm()).sum::<f64>() > 1.0);
        assert!(
            body.held_vertices()
                .all(|v| own[v as usize] == Vec3::zeros())
        );
        let mut eta = muscle.parameters();
        eta[0] = 0.0;
        let none = muscle.forces(&body, &eta).unwrap();
        assert!(none.iter().all(|f| *f == Vec3::zeros()));
        // The response is kept: the same bits again.
        assert_eq!(forces(&body, &muscle), own);
        let again = MuscleRig::new(muscle.origin, muscle.insertion, muscle.values);
        assert_eq!(forces(&body, &again.unwrap()), own);
    }
}

/// The belly gets shorter and as much wider as asked, and the tube keeps its volume: that of a closed surface carried by the lattice.
#[test]
fn muscle_bulges_at_constant_volume() {
    for (hexahedra, contraction) in [(false, 0.1), (true, 0.1), (false, 0.05), (false, -0.1)] {
        let options = bar(hexahedra);
        let body = options.build();
        let muscle = muscle(&body, &options, contraction);
        let q = body.static_displacements(&forces(&body, &muscle)).unwrap();
        let growth = muscle.volume_growth(&body, &q).unwrap();
        assert!(growth.abs() < 1e-4, "{contraction} {hexahedra} {growth}");

        // Rings around the line.
        let (rings, around) = (40, 24);
        let line = muscle.line(&body, rings).unwrap();
        let chord = (line[rings - 1].0 - line[0].0).normalize();
        let side = chord.cross(&Vec3::x()).normalize();
        let mut points = Vec::new();
        for (centre, radius) in &line {
            let ring =
                (0..around).map(|k| std::f64::consts::TAU * f64::from(k) / f64::from(around));
            // Most of the muscle, where it contracts wholly.
            points.extend(ring.map(|a| {
                centre + (side * a.cos() + chord.cross(&side) * a.sin()) * (0.7 * radius)
            }));
        }
        let embedding = body.basis().embed(&points);
        let moved: Vec<Vec3> = (0..points.len())
            .map(|k| points[k] + embedding.position(k, &q))
            .collect();
        let volume = |p: &[Vec3]| -> f64 {
            let around = around as usize;
            let quads = (0..rings - 1).flat_map(|i| (0..around).map(move |j| (i, j)));
            let triangles = quads.flat_map(|(i, j)| {
                let at = |i: usize, j: usize| i * around + j % around;
                let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
                [[a, b, c], [a, c, d]]
            });
            triangles
                .map(|t| p[t[0]].dot(&p[t[1]].cross(&p[t[2]])) / 6.0)
                .sum()
        };
        let grown = volume(&moved) / volume(&points) - 1.0;
        assert!(grown.abs() < 1e-2, "{contraction} {grown}");
        let ring = |i: usize| i * around as usize;
        let width = |p: &[Vec3]| {
            let middle = ring(rings / 2);
            let across = |k: usize| (p[middle + k] - p[middle + k + around as usize / 2]).norm();
            across(0) + across(around as usize / 4)
        };
        let length = |p: &[Vec3]| (p[ring(3 * rings / 8)] - p[ring(5 * rings / 8)]).norm();
        let wider = width(&moved) / width(&points) - 1.0;
        let longer = length(&moved) / length(&points) - 1.0;
        let wished = 1.0 / (1.0 - contraction).sqrt() - 1.0;
        assert!(
            wider / wished > 0.4 && wider / wished < 2.0,
            "{contraction} {wider} {wished}"
        );
        assert!(longer / contraction < -0.2, "{contraction} {longer}");
        // No flesh is pressed flat.
        let x = body.rest_shape();
        let p: Vec<Vec3> = x.iter().zip(&q).map(|(x, q)| x + q).collect();
        assert_eq!(body.inverted_cell_count(&p), 0);
    }
}

/// Between equal samples the shape is the muscle's own, to the bit, so that its response is made once.
#[test]
fn controls_share_a_response() {
    let body = bar(false).build();
    let muscle = muscle(&body, &bar(false), 0.3);
    let rig = Rig::muscle("biceps", muscle.clone(), muscle.full_samples()).unwrap();
    for control in [0.1, 0.37, 0.7, 0.9] {
        let eta = rig.parameters(control);
        let mut own = muscle.parameters();
        own[0] = eta[0];
        assert_eq!(rig.forces(&body, &eta), rig.forces(&body, &own));
    }
}

/// A turned and moved body moves as the plain one, turned; and one s times as large has s² times the forces.
#[test]
fn muscles_are_covariant() {
    let plain = bar(false);
    let body = plain.build();
    let expected = forces(&body, &muscle(&body, &plain, 0.3));
    let moved = body.static_displacements(&expected).unwrap();
    let largest = |field: &[Vec3]| field.iter().map(|f| f.norm()).fold(0.0, f64::max);
    // Voxels do not turn with the body. In the plain one faces of cells lie in their planes, which shifts flesh between cells by half a voxel.
    let frame = Isometry3::new(Vector3::new(3.0, -1.0, 0.5), Vector3::new(0.7, -0.4, 1.1));
    let options = BarOptions {
        frame,
        ..bar(false)
    };
    let turned = options.build();
    let turn: Rotation3<f64> = frame.rotation.into();
    let found = forces(&turned, &muscle(&turned, &options, 0.3));
    let found = turned.static_displacements(&found).unwrap();
    for (f, e) in found.iter().zip(&moved) {
        let off = (f - turn * e).norm();
        assert!(off < 0.01 * largest(&moved), "{off} of {}", largest(&moved));
    }
    // They grow with it.
    let options = BarOptions {
        length: 16.0,
        half: 2.0,
        ..bar(false)
    };
    let large = options.build();
    let found = forces(&large, &muscle(&large, &options, 0.3));
    for (f, e) in found.iter().zip(&expected) {
        let off = (f / 100.0 - e).norm();
        assert!(off < 1e-6 * largest(&expected), "{off}");
    }
}

/// The muscle is shorter where the bones bring its ends together, and longer the other way.
#[test]
fn shortening_follows_pose() {
    let options = bar(false);
    let body = options.build();
    let muscle = muscle(&body, &options, 0.3);
    let bend = |angle: f64| {
        let joint = body.skeleton().heads()[1];
        let linear = Rotation3::from_axis_angle(&Vec3::y_axis(), angle).into_inner();
        let upper = Affine {
            linear,
            translation: joint - linear * joint,
        };
        Pose::new(vec![Affine::identity(), upper]).unwrap()
    };
    let shorter = |pose: &Pose| muscle.shortening(&body, pose).unwrap();
    assert!(shorter(&Pose::rest(2)).abs() < 1e-14);
    // The muscle lies at +x: a turn about +y brings the upper end there.
    assert!(shorter(&bend(1.0)) > 0.1 && shorter(&bend(-0.3)) < -0.01);
    let angle = 0.8_f64;
    let [a, b] = ENDS.map(Vec3::from);
    let joint = body.skeleton().heads()[1];
    let c = joint + Rotation3::from_axis_angle(&Vec3::y_axis(), angle) * (b - joint);
    assert!((shorter(&bend(angle)) - (1.0 - (c - a).norm() / (b - a).norm())).abs() < 1e-12);
    // A pose at twice the size shortens nothing.
    let twice = Affine {
        linear: crate::Mat3::identity() * 2.0,
        translation: Vec3::x(),
    };
    assert!((shorter(&bend(angle).apply_map(&twice)) - shorter(&bend(angle))).abs() < 1e-12);
    assert!(muscle.shortening(&body, &Pose::rest(3)).is_err());
}

/// Refusals name what is wrong.
#[test]
fn bad_muscles_are_refused() {
    let body = bar(false).build();
    let place = |bone: u32, values: [f64; 3]| MusclePlace {
        bone: BoneRef::Index(bone),
        values,
    };
    let (one, other) = (place(0, [0.5, 0.0, 0.05]), place(1, [0.5, 0.0, 0.05]));
    let refuse = |a: &MusclePlace, b: &MusclePlace, values: [f64; 3]| -> String {
        let muscle = MuscleRig::new(a.clone(), b.clone(), values);
        let answer = muscle.and_then(|m| m.forces(&body, &m.parameters()));
        answer.unwrap_err().to_string()
    };
    let good = [0.3, 0.1, 0.0];
    assert!(MuscleRig::new(one.clone(), other.clone(), good).is_ok());
    assert!(refuse(&one, &one, good).contains("the ends of the muscle are one place"));
    assert!(refuse(&one, &other, [1.0, 0.1, 0.0]).contains("the contraction is 1"));
    assert!(refuse(&one, &other, [f64::NAN, 0.1, 0.0]).contains("'contraction' is NaN"));
    assert!(refuse(&one, &other, [0.3, 0.0, 0.0]).contains("'radius' is 0 m"));
    assert!(refuse(&one, &other, [0.3, 0.1, f64::INFINITY]).contains("'bow' is inf"));
    assert!(refuse(&one, &place(4, [0.5, 0.0, 0.1]), good).contains("bone 4"));
    let far = [place(0, [0.5, 0.0, 50.0]), place(1, [0.5, 0.0, 50.0])];
    assert!(refuse(&far[0], &far[1], good).contains("outside the flesh"));
}

/// A point and its place at a bone are the same point again.
#[test]
fn places_return() {
    let options = BarOptions {
        frame: Isometry3::new(Vector3::new(1.0, 2.0, 3.0), Vector3::new(0.3, 1.4, -0.2)),
        ..bar(false)
    };
    let body = options.build();
    for x in [[0.1, 0.2, 0.3], [-0.4, 0.1, 1.9], [0.0, -0.2, 0.9]] {
        for bone in 0..2 {
            let x = (options.frame * Point3::from(x)).coords;
            let MusclePlace {
                bone,
                values: [along, angle, out],
            } = place_at(body.skeleton(), bone, x).unwrap();
            assert!(matches!(bone, BoneRef::Name(_)));
            let found = place_on_bone(&body, &bone, along, angle, out, 0.0).unwrap();
            assert!((found.frame.origin - x).norm() < 1e-12);
        }
    }
}

/// Flesh is tense by the contraction where all of it is muscle, less beside it, and not at all elsewhere or in a stretched muscle. Summed over the
/// cells' flesh, the tension is the contraction times the muscle's volume.
#[test]
fn tension_is_contraction_in_the_muscle() {
    for hexahedra in [false, true] {
        let options = bar(hexahedra);
        let body = options.build();
        let muscle = muscle(&body, &options, 0.3);
        let mut eta = muscle.parameters();
        let tension = muscle.tension(&body, &eta).unwrap();
        assert_eq!(tension.len(), body.lattice().cells().len());
        assert!(tension.iter().all(|t| (0.0..=0.3).contains(t)));
        // Of 1.6 m by 0.4 m by 0.4 m, the muscle reaches a part.
        let tense = tension.iter().filter(|&&t| t > 0.0).count();
        assert!(tense > 0 && tense < tension.len() / 2, "{tense}");
        let volumes = body.blocks().volumes().iter().zip(&tension);
        let whole: f64 = volumes.map(|(v, t)| v * t / 0.3).sum();
        let line = muscle.line(&body, 65).unwrap();
        let spindle: f64 = line
            .windows(2)
            .map(|w| PI * 0.5 * (w[0].1.powi(2) + w[1].1.powi(2)) * (w[1].0 - w[0].0).norm())
            .sum();
        // The mean share over the spindle is 0.63.
        assert!(
            (whole / (0.63 * spindle) - 1.0).abs() < 0.05,
            "{whole} {spindle}"
        );
        eta[0] = -0.3;
        let stretched = muscle.tension(&body, &eta).unwrap();
        assert!(stretched.iter().all(|&t| t == 0.0));
    }
}

/// Skin over the belly rises as a free muscle widens, `r (1/√(1 − c) − 1)` on the mean, and slides along less than it rises.
#[test]
fn skin_over_the_belly_rises() {
    for (hexahedra, contraction) in [(false, 0.3), (true, 0.3), (false, 0.5), (true, -0.2)] {
        let options = bar(hexahedra);
        let body = options.build();
        let muscle = muscle(&body, &options, contraction);
        let q = body.static_displacements(&forces(&body, &muscle)).unwrap();
        // The skin at +x, over the middle two fifths.
        let embedding = body.embedding();
        let x = body.surface().vertices();
        let over = |v: &usize| x[*v].x > 0.19 && (x[*v].z - 0.775).abs() < 0.17;
        let seen: Vec<Vec3> = (0..x.len())
            .filter(over)
            .map(|v| embedding.position(v, &q))
            .collect();
        assert!(seen.len() > 2);
        let mean = |of: fn(&Vec3) -> f64| seen.iter().map(of).sum::<f64>() / seen.len() as f64;
        let free = 0.09 * (1.0 / (1.0 - contraction).sqrt() - 1.0);
        let rise = mean(|u| u.x) / free;
        assert!(rise > 0.5 && rise < 1.5, "{hexahedra} {contraction} {rise}");
        let slide = mean(|u| u.z.abs()) / free.abs();
        assert!(slide < 0.5 * rise, "{hexahedra} {contraction} {slide}");
    }
}

/// Below the size of voxels that cells need, a muscle takes no more points, and its field shrinks with its radius.
#[test]
fn thin_muscles_take_few_points() {
    let options = bar(false);
    let body = options.build();
    let plain = muscle(&body, &options, 0.3);
    let of_radius = |radius: f64| {
        let values = [0.3, radius, 0.02];
        MuscleRig::new(plain.origin.clone(), plain.insertion.clone(), values).unwrap()
    };
    let count = |muscle: &MuscleRig| {
        let tube = muscle.tube(&body, &muscle.parameters()).unwrap();
        let bricks = tube.resolved(&body).bricks(&body);
        bricks.iter().map(|b| b.points().len()).sum::<usize>()
    };
    let [thin, thinner] = [4e-4, 2e-4].map(of_radius);
    assert!(count(&thinner) <= count(&plain), "{}", count(&thinner));
    let [one, half] = [&thin, &thinner].map(|m| forces(&body, m));
    let size = one.iter().map(|f| f.norm()).fold(0.0, f64::max);
    assert!(size > 0.0);
    for (a, b) in one.iter().zip(&half) {
        assert!((a * 0.5 - b).norm() < 1e-3 * size);
    }
}

/// A rig of the muscle with another contraction moves the skin as far as asked, either way; what no contraction reaches is refused.
#[test]
fn contraction_is_found_for_a_distance() {
    let options = bar(false);
    let body = options.build();
    let muscle = muscle(&body, &options, 0.3);
    let rig = Rig::muscle("biceps", muscle.clone(), muscle.full_samples()).unwrap();
    let ask = |wanted: f64| rig.with_peak_displacements(&body, &[None, Some(wanted)], &Silent);
    for wanted in [0.03, 0.01, -0.01] {
        let found = ask(wanted).unwrap();
        assert_eq!(found.samples()[0], rig.samples()[0]);
        let peak = found.peak_displacements(&body, &Silent).unwrap()[1];
        assert!((peak / wanted - 1.0).abs() < 1e-8, "{peak} {wanted}");
        // By the forces themselves.
        let eta = &found.samples()[1].parameters;
        assert!(eta[0] * wanted > 0.0);
        let q = body.static_displacements(&rig.forces(&body, eta).unwrap());
        let far = crate::rig::compliance::skin_peak(&body, &q.unwrap());
        assert!((far / wanted.abs() - 1.0).abs() < 1e-8, "{far} {wanted}");
    }
    let Err(RigError::Unreachable {
        wanted,
        most,
        contraction,
    }) = ask(1.0)
    else {
        panic!("reached");
    };
    assert!(wanted == 1.0 && most < 0.2 && most > 0.03);
    assert!(contraction > 0.3 && contraction <= CONTRACTIONS.1);
}

/// A contraction that would press flesh flat is lowered, and told; a modest one stays.
#[test]
fn folding_contraction_is_lowered() {
    let options = bar(false);
    let body = options.build();
    let plain = muscle(&body, &options, 0.3);
    let with = |contraction: f64, radius: f64| {
        let values = [contraction, radius, 0.02];
        let muscle = MuscleRig::new(plain.origin.clone(), plain.insertion.clone(), values).unwrap();
        Rig::muscle("biceps", muscle.clone(), muscle.full_samples()).unwrap()
    };
    let (same, lowered) = with(0.3, 0.09)
        .with_clamped_strengths(&body, &Silent)
        .unwrap();
    assert!(lowered.is_empty() && same == with(0.3, 0.09));
    let strong = with(0.7, 0.3);
    let (kept, lowered) = strong.with_clamped_strengths(&body, &Silent).unwrap();
    let [one] = lowered[..] else {
        panic!("{lowered:?}")
    };
    assert_eq!((one.control, one.from), (Some(1.0), 0.7));
    assert!(one.to > 0.05 && one.to < 0.7 && one.is_contraction);
    assert_eq!(one.to, kept.samples()[1].parameters[0]);
    let sentence = one.sentence("biceps");
    assert!(
        sentence.contains("a contraction of 0.700 would fold flesh"),
        "{sentence}"
    );
    // Without samples too, and what else the rig has stays.
    let bare = MuscleRig::new(
        plain.origin.clone(),
        plain.insertion.clone(),
        [0.7, 0.3, 0.02],
    );
    let bare = Rig::muscle("biceps", bare.unwrap(), Vec::new()).unwrap();
    let firm = bare.with_firmness(3.0).unwrap();
    let (firm, lowered) = firm.with_clamped_strengths(&body, &Silent).unwrap();
    assert_eq!((lowered.len(), firm.firmness()), (1, 3.0));
    // The forces were, and are, those of the lowered contraction.
    let at = |rig: &Rig| rig.forces(&body, &rig.samples()[1].parameters).unwrap();
    assert_eq!(at(&strong), at(&kept));
    assert!(
        kept.with_clamped_strengths(&body, &Silent)
            .unwrap()
            .1
            .is_empty()
    );
}
