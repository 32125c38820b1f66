// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generalised forces and their derivatives on a bar of flesh.

mod compliance;
mod files;
mod functions;
mod guides;
mod tension;

use super::*;
use crate::body::fixture::BarOptions;
use crate::surface::shapes::Random;
use crate::{Mat3, Vec3};
use approx::assert_relative_eq;
use nalgebra::{Isometry3, Point3};
use std::f64::consts::PI;

fn frame_at(place: Vec3) -> GuideFrame {
    GuideFrame {
        origin: place,
        ..GuideFrame::identity()
    }
}

fn template(kind: TemplateKind, scale: f64) -> Template {
    // Across and along, thick and thin, both signs; others in usual proportions.
    let p: &[f64] = match kind {
        TemplateKind::Bump => &[0.15, 700.0],
        TemplateKind::Radial => &[0.12, -50.0],
        TemplateKind::Bulge => &[0.11, 20.0],
        TemplateKind::Torus => &[0.12, 0.05, 90.0],
        _ => return Template::with_reach(kind, 0.12 * scale, 60.0).unwrap(),
    };
    let (strength, lengths) = p.split_last().unwrap();
    let scaled = lengths.iter().map(|l| l * scale);
    Template::new(kind, &scaled.chain([*strength]).collect::<Vec<_>>()).unwrap()
}

/// Builds one guide of each kind in the bar.
fn guides(body: &Body) -> Vec<Guide> {
    let near = |f: &[u32; 3]| {
        let mean: Vec3 = f
            .iter()
            .map(|&v| body.surface().vertices()[v as usize])
            .sum();
        (mean / 3.0 - Vec3::new(0.2, 0.0, 1.0)).norm()
    };
    let triangles = body.surface().triangles().iter().enumerate();
    let face = triangles
        .min_by(|a, b| near(a.1).total_cmp(&near(b.1)))
        .unwrap()
        .0 as u32;
    let frame = GuideFrame {
        rotation: crate::geometry::rotation_vector::rotation(&Vec3::new(0.3, -0.4, 0.5)),
        origin: Vec3::new(0.02, 0.03, 0.9),
    };
    vec![
        Guide::bone(BoneRef::Name("upper".into()), [0.3, 0.5, 0.11, 0.4]).unwrap(),
        Guide::skin(face, [0.5, 0.2, 0.3], [0.04, 0.7, -0.3]).unwrap(),
        Guide::free(frame, [0.01, -0.02, 0.03, 0.2, 0.5, -0.3]).unwrap(),
    ]
}

fn rig(template: Template, guide: Guide) -> Rig {
    Rig::new("Rig", template, guide, Vec::new()).unwrap()
}

fn random_field(body: &Body) -> Vec<Vec3> {
    let mut random = Random(5);
    let mut vector = || Vec3::from_fn(|_, _| random.next() - 0.5);
    (0..body.node_count()).map(|_| vector()).collect()
}

/// Returns `Σ Q` and `Σ x Qᵀ`: whatever the cells, they are `∫ f` and `∫ x fᵀ`.
fn moments(body: &Body, forces: &[Vec3]) -> (Vec3, Mat3) {
    let rest = body.rest_shape();
    let first = forces.iter().zip(rest).map(|(f, x)| x * f.transpose());
    (forces.iter().sum(), first.sum())
}

/// Templates smaller than a cell give their analytic force and moment.
#[test]
fn small_templates_match_moments() {
    // Cells are 0.2 m; the radii go down to a hundredth of that.
    for hexahedra in [false, true] {
        let body = BarOptions {
            hexahedra,
            ..Default::default()
        }
        .build();
        let mut random = Random(1);
        for radius in [0.09, 0.06, 0.031, 0.01, 0.002] {
            let place = Vec3::new(0.03, 0.04, 0.87) + Vec3::from_fn(|_, _| random.next()) * 0.01;
            let forces = |kind| {
                let template = Template::new(kind, &[radius, 1e3]).unwrap();
                let rig = rig(template, Guide::free(frame_at(place), [0.0; 6]).unwrap());
                let forces = rig.forces(&body, &rig.own_parameters()).unwrap();
                moments(&body, &forces)
            };
            // ∫ W = 4π R³ ∫ s² (1 − s²)² = 32π R³/105, and ∫ s W s = 4π R³ ∫ s⁴ (1 − s²)² = 32π R³/315.
            let whole = 32.0 * PI / 105.0 * radius.powi(3) * 1e3;
            let (total, first) = forces(TemplateKind::Bump);
            assert_relative_eq!(total, Vec3::z() * whole, epsilon = 5e-3 * whole);
            let expected = place * total.transpose();
            assert_relative_eq!(first, expected, epsilon = 5e-3 * whole * radius);
            // Radial: no force, and ∫ y fᵀ = a k/(3R) ∫ r² W.
            let (total, first) = forces(TemplateKind::Radial);
            assert!(total.norm() < 5e-3 * whole, "{total}");
            let k = 25.0 * 5f64.sqrt() / 16.0;
            let trace =
                k * radius * 4.0 * PI * radius.powi(3) * 1e3 * (1.0 / 5.0 - 2.0 / 7.0 + 1.0 / 9.0);
            let about = first - place * total.transpose();
            assert_relative_eq!(
                about,
                Mat3::identity() * (trace / 3.0),
                epsilon = 5e-3 * trace / 3.0
            );
        }
    }
}

/// Computes the moments of a field in the bar by brute force.
fn brute_force_moments(bar: &BarOptions, template: &Template, frame: &GuideFrame) -> (Vec3, Mat3) {
    let n = 110;
    let h = 2.0 * template.support_radius() / f64::from(n);
    let (mut total, mut first) = (Vec3::zeros(), Mat3::zeros());
    for k in 0..n * n * n {
        let cell = Vec3::new(
            f64::from(k % n),
            f64::from(k / n % n),
            f64::from(k / (n * n)),
        );
        let y = (cell + Vec3::repeat(0.5)) * h - Vec3::repeat(template.support_radius());
        let x = frame.origin + frame.rotation * y;
        let p = bar.frame.inverse_transform_point(&Point3::from(x));
        if p.x.abs().max(p.y.abs()) < bar.half && p.z > 0.0 && p.z < bar.length {
            let f = frame.rotation * template.force(&y) * h.powi(3);
            total += f;
            first += x * f.transpose();
        }
    }
    (total, first)
}

/// The part of a template outside the skin adds no force.
#[test]
fn forces_integrate_over_flesh_only() {
    let bar = BarOptions {
        frame: Isometry3::new(Vec3::new(0.1, 0.2, -0.3), Vec3::new(0.3, 0.5, 0.2)),
        ..Default::default()
    };
    let body = bar.build();
    for &kind in TemplateKind::ALL {
        for scale in [0.2, 1.0] {
            let template = template(kind, scale);
            let mid = bar.frame * Point3::new(0.2 - 0.2 * template.radius(), 0.03, 0.9);
            let frame = GuideFrame {
                rotation: crate::geometry::rotation_vector::rotation(&Vec3::new(0.2, 0.9, 0.1)),
                origin: mid.coords,
            };
            let rig = rig(template, Guide::free(frame, [0.0; 6]).unwrap());
            let forces = rig.forces(&body, &rig.own_parameters()).unwrap();
            let (total, first) = moments(&body, &forces);
            let (sure_total, sure_first) = brute_force_moments(&bar, &template, &frame);
            assert!(
                (total - sure_total).norm() < 0.02 * sure_total.norm(),
                "{kind:?} {scale}: {total} {sure_total}"
            );
            let about = |t: Vec3, m: Mat3| m - mid.coords * t.transpose();
            let (a, b) = (about(total, first), about(sure_total, sure_first));
            assert!(
                (a - b).norm() < 0.02 * b.norm(),
                "{kind:?} {scale}: {a} {b}"
            );
        }
    }
}

/// Forces converge as the quadrature is refined.
#[test]
fn quadrature_converges() {
    let body = BarOptions::default().build();
    for &kind in TemplateKind::ALL {
        let rig = rig(template(kind, 1.0), guides(&body)[1].clone());
        let eta = rig.own_parameters();
        let level = rig.level(&body, &eta).unwrap();
        let at = |l| rig.forces_at_level(&body, &eta, l).unwrap();
        let fine = at(level + 2);
        let strong: f64 = fine.iter().map(|f| f.norm()).sum();
        let error = |l| {
            let pairs = at(l);
            let off: f64 = pairs.iter().zip(&fine).map(|(a, b)| (a - b).norm()).sum();
            off / strong
        };
        let (coarse, better) = (error(level), error(level + 1));
        assert!(
            coarse < 0.02 && better < 0.6 * coarse,
            "{kind:?}: {coarse} {better}"
        );
    }
}

/// Forces follow a rigid motion of the character and scale with its size.
#[test]
fn forces_are_equivariant() {
    let plain = BarOptions::default();
    let body = plain.build();
    for &kind in TemplateKind::ALL {
        let place = Vec3::new(0.11, 0.02, 0.73);
        let forces = |body: &Body, frame: GuideFrame, scale: f64| {
            let rig = rig(template(kind, scale), Guide::free(frame, [0.0; 6]).unwrap());
            rig.forces(body, &rig.own_parameters()).unwrap()
        };
        let rest = forces(&body, frame_at(place), 1.0);
        let strong: f64 = rest.iter().map(|f| f.norm()).sum();
        let apart = |a: &[Vec3], turn: Mat3, scale: f64| {
            let off = a
                .iter()
                .zip(&rest)
                .map(|(a, b)| (a / scale - turn * b).norm());
            off.sum::<f64>() / strong
        };
        for (isometry, bound) in [
            (Isometry3::translation(30.0, -20.0, 7.0), 1e-6),
            (
                Isometry3::new(Vec3::new(1.0, 2.0, 3.0), Vec3::new(0.7, -0.4, 1.1)),
                0.02,
            ),
        ] {
            let moved = BarOptions {
                frame: isometry,
                ..Default::default()
            }
            .build();
            let turn = isometry.rotation.to_rotation_matrix().into_inner();
            let frame = GuideFrame {
                rotation: turn,
                origin: (isometry * Point3::from(place)).coords,
            };
            let error = apart(&forces(&moved, frame, 1.0), turn, 1.0);
            assert!(error < bound, "{kind:?} {isometry}: {error}");
        }
        for scale in [1e-3, 1e3] {
            let scaled = BarOptions {
                length: 1.6 * scale,
                half: 0.2 * scale,
                ..Default::default()
            }
            .build();
            let larger = forces(&scaled, frame_at(place * scale), scale);
            let error = apart(&larger, Mat3::identity(), scale.powi(3));
            assert!(error < 1e-6, "{kind:?} {scale}: {error}");
        }
    }
}

/// The pull-back of a field agrees with finite differences of its work.
#[test]
fn pull_back_matches_differences() {
    let body = BarOptions::default().build();
    let field = random_field(&body);
    for &kind in TemplateKind::ALL {
        for guide in guides(&body) {
            let rig = rig(template(kind, 1.0), guide);
            let eta = rig.own_parameters();
            let level = rig.level(&body, &eta).unwrap();
            let work = |eta: &[f64]| -> f64 {
                let forces = rig.forces_at_level(&body, eta, level).unwrap();
                forces.iter().zip(&field).map(|(q, u)| q.dot(u)).sum()
            };
            let pulled = rig.forces_vjp_at_level(&body, &eta, level, &field).unwrap();
            assert_eq!(pulled, rig.forces_vjp(&body, &eta, &field).unwrap());
            let radius = rig.template().unwrap().radius();
            for (i, name) in rig.parameter_names().iter().enumerate() {
                // The second derivative jumps where points enter: the error of a difference is of second order in its
                // step still, by many points.
                let natural = match rig.parameter_kinds()[i] {
                    ParameterKind::Strength => eta[i].abs(),
                    _ => radius,
                };
                let h = 1e-6 * natural;
                let by = |step: f64| {
                    let mut moved = eta.clone();
                    moved[i] += step;
                    work(&moved)
                };
                let slope = (by(h) - by(-h)) / (2.0 * h);
                let scale = pulled[i].abs().max(work(&eta).abs() / natural);
                assert!(
                    (slope - pulled[i]).abs() < 1e-6 * scale,
                    "{kind:?} {} {name}: {slope} {}",
                    rig.guide().unwrap().spec().name,
                    pulled[i]
                );
            }
        }
    }
}

/// Forces are continuous in the parameters within a level of the quadrature.
#[test]
fn forces_continuous_within_level() {
    let body = BarOptions::default().build();
    let field = random_field(&body);
    let rig = rig(template(TemplateKind::Bump, 0.3), guides(&body)[0].clone());
    // Sliding over many points: slopes have no jumps larger than their steps explain.
    let mut before: Option<f64> = None;
    let mut largest: f64 = 0.0;
    for i in 0..400 {
        let mut eta = rig.own_parameters();
        eta[2] += 1e-5 * f64::from(i);
        let slope = rig.forces_vjp_at_level(&body, &eta, 4, &field).unwrap()[2];
        if let Some(b) = before {
            assert!((slope - b).abs() < 0.01 * largest.max(slope.abs()), "{i}");
        }
        largest = largest.max(slope.abs());
        before = Some(slope);
    }
}

/// Forces do not depend on the order of calls or on the thread.
#[test]
fn forces_independent_of_history() {
    let (a, b) = (BarOptions::default().build(), BarOptions::default().build());
    let rigs: Vec<Rig> = TemplateKind::ALL
        .iter()
        .zip(guides(&a).into_iter().cycle())
        .map(|(&kind, guide)| rig(template(kind, 0.7), guide))
        .collect();
    let forces = |rig: &Rig, body: &Body| rig.forces(body, &rig.own_parameters()).unwrap();
    let forward: Vec<_> = rigs.iter().map(|r| forces(r, &a)).collect();
    let backward: Vec<_> = rigs.iter().rev().map(|r| forces(r, &b)).collect();
    assert!(forward.iter().eq(backward.iter().rev()));
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                let c = BarOptions::default().build();
                std::thread::scope(|s| {
                    for (rig, f) in rigs.iter().zip(&forward) {
                        let c = &c;
                        s.spawn(move || assert_eq!(&forces(rig, c), f));
                    }
                });
            });
        }
    });
}

/// Forces of several rigs add up, and a rig outside the flesh adds none.
#[test]
fn rig_forces_add_up() {
    let body = BarOptions::default().build();
    let guide = |n: usize| guides(&body)[n].clone();
    let sample = |rig: &Rig, control: f64, strength: f64| Sample {
        control,
        parameters: rig
            .replace_parameters(rig.own_parameters(), [("strength", strength)])
            .unwrap(),
    };
    let first = rig(template(TemplateKind::Bump, 1.0), guide(0));
    let samples = vec![sample(&first, 0.0, 0.0), sample(&first, 2.0, 600.0)];
    let first = first.with_samples(samples).unwrap();
    let second = rig(template(TemplateKind::Radial, 1.0), guide(1));
    let far = Guide::free(frame_at(Vec3::repeat(9.0)), [0.0; 6]).unwrap();
    let lost = rig(template(TemplateKind::Bulge, 1.0), far);
    assert_eq!(
        lost.forces(&body, &lost.own_parameters()),
        Err(RigError::Outside)
    );
    assert_eq!(lost.check(&body).len(), 1);
    assert!(first.check(&body).is_empty() && second.check(&body).is_empty());

    let all = sum_forces(
        &[first.clone(), second.clone(), lost.clone()],
        &body,
        &[1.0, 0.0, 0.0],
    )
    .unwrap();
    let own = first.forces(&body, &first.parameters(1.0)).unwrap();
    let other = second.forces(&body, &second.own_parameters()).unwrap();
    let strongest = own.iter().map(|f| f.norm()).fold(0.0, f64::max);
    for ((a, b), c) in all.iter().zip(&own).zip(&other) {
        assert_relative_eq!(*a, b + c, epsilon = 1e-12 * strongest);
    }
    assert!(sum_forces(&[first], &body, &[]).is_err());
    let e = sum_forces(&[second], &body, &[f64::NAN])
        .unwrap_err()
        .to_string();
    assert!(e.contains("'Rig'") && e.contains("NaN"), "{e}");
}

/// Missing bones or faces and invalid parameters or fields are refused with an explanation.
#[test]
fn rig_refuses_invalid_input() {
    let body = BarOptions::default().build();
    let bump = template(TemplateKind::Bump, 1.0);
    let frame =
        |guide: Guide| rig(bump, guide.clone()).frame(&body, &rig(bump, guide).own_parameters());
    let bone = |b| frame(Guide::bone(b, [0.5, 0.0, 0.0, 0.0]).unwrap()).unwrap_err();
    assert!(matches!(
        bone(BoneRef::Name("wing".into())),
        RigError::NoBone { .. }
    ));
    assert!(matches!(
        bone(BoneRef::Index(2)),
        RigError::BoneIndex { .. }
    ));
    let face = frame(Guide::skin(u32::MAX, [1.0, 0.0, 0.0], [0.0; 3]).unwrap());
    assert!(matches!(face, Err(RigError::NoFace { .. })));
    for bad in [
        [0.5; 3],
        [f64::NAN, 0.5, 0.5],
        [2.0, -1.0, 0.0],
        [f64::INFINITY; 3],
    ] {
        let e = Guide::skin(0, bad, [0.0; 3]).unwrap_err();
        assert!(matches!(e, RigError::Barycentric { .. }), "{e}");
    }
    let Guide::Skin { barycentric, .. } = Guide::skin(0, [0.3334; 3], [0.0; 3]).unwrap() else {
        panic!("a skin guide");
    };
    assert_relative_eq!(barycentric.iter().sum::<f64>(), 1.0, epsilon = 1e-15);

    let rig = rig(bump, guides(&body)[2].clone());
    let eta = rig.own_parameters();
    for i in 0..eta.len() {
        let mut bad = eta.clone();
        bad[i] = f64::NAN;
        let e = rig.forces(&body, &bad).unwrap_err();
        assert_eq!(e.parameter(), Some(rig.parameter_names()[i]));
    }
    assert!(matches!(
        rig.forces(&body, &eta[1..]),
        Err(RigError::Count { .. })
    ));
    let mut field = random_field(&body);
    assert!(rig.forces_vjp(&body, &eta, &field[1..]).is_err());
    field[3].x = f64::NAN;
    let e = rig.forces_vjp(&body, &eta, &field).unwrap_err();
    assert_eq!(e, RigError::FieldNonFinite { dof: 3 });
    for name in ["strength", "x"] {
        let e = rig
            .replace_parameters(eta.clone(), [(name, 1e308)])
            .unwrap_err();
        assert_eq!(e, RigError::NonFinite { name, value: 1e308 });
    }
    let huge = rig
        .replace_parameters(eta.clone(), [("strength", 1e100), ("radius", 0.3)])
        .unwrap();
    for f in rig.forces(&body, &huge).into_iter().flatten() {
        assert!(f.iter().all(|x| x.is_finite()));
    }
    let far = rig
        .replace_parameters(eta.clone(), [("x", 1e100), ("y", 1e100)])
        .unwrap();
    assert!(rig.forces(&body, &far).is_err());
    let e = rig.replace_parameters(eta, [("radios", 1.0)]).unwrap_err();
    assert!(e.to_string().contains("radius, strength, x, y"), "{e}");
}

/// The level of the quadrature is the one whose range of radii holds the template's radius.
#[test]
fn level_matches_radii() {
    let body = BarOptions::default().build();
    for guide in guides(&body) {
        for &kind in TemplateKind::ALL {
            let rig = rig(template(kind, 1.0), guide.clone());
            for level in 0..4 {
                let (least, most) = rig.level_radii(&body, level);
                assert!(least < most && (level > 0) == most.is_finite());
                let of = |radius: f64| {
                    let mut eta = rig.own_parameters();
                    eta[kind.field().resolved_index()] = radius;
                    if let Some((outer, _)) = kind.field().nested_indices() {
                        eta[outer] = 3.0 * radius;
                    }
                    rig.level(&body, &eta).unwrap()
                };
                for inside in [least, 1.5 * least, most.min(9.0 * least)] {
                    assert_eq!(of(inside), level, "{kind:?} {inside}");
                }
                assert_eq!(of(0.999 * least), level + 1, "{kind:?}");
                if level > 0 {
                    assert_eq!(of(1.001 * most), level - 1, "{kind:?}");
                }
            }
        }
    }
}
