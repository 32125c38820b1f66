// SPDX-License-Identifier: MIT OR Apache-2.0
//! Peak displacements and folding limits of rigs, against balances and volumes of cells.

use super::*;
use crate::body::BodySettings;
use crate::dynamics::{Method, equilibrium};
use crate::lattice::Cell;
use crate::progress::Silent;
use crate::rig::MIN_VOLUME_RATIO;
use crate::skeleton::Pose;
use std::sync::Arc;

fn long_bar() -> Arc<Body> {
    BarOptions {
        cells_along: 12,
        ..BarOptions::default()
    }
    .build()
}

/// Builds one rig of each template, with a sample that does nothing and two that push.
fn pushing_rigs() -> Vec<Rig> {
    let make = |kind, p: &[f64], turn: f64| {
        let template = Template::new(kind, p).unwrap();
        let guide = Guide::bone(BoneRef::Index(1), [0.4, 0.3, 0.1, turn]).unwrap();
        let plain = Rig::new("push", template, guide.clone(), vec![]).unwrap();
        let sample = |control: f64, along: f64| {
            let mut parameters = plain.own_parameters();
            parameters[p.len() - 1] *= control;
            parameters[p.len()] = along;
            Sample {
                control,
                parameters,
            }
        };
        let samples = vec![sample(0.0, 0.4), sample(0.5, 0.6), sample(1.0, 0.3)];
        Rig::new("push", template, guide, samples).unwrap()
    };
    vec![
        make(TemplateKind::Bump, &[0.19, 4e4], 0.2),
        make(TemplateKind::Radial, &[0.2, -3e4], 0.0),
        make(TemplateKind::Bulge, &[0.21, 4e4], 1.5),
        make(TemplateKind::Torus, &[0.16, 0.11, 3e4], 1.5),
    ]
}

/// Returns the displacements in balance at rest, by dynamics.
fn rest_balance(body: &Arc<Body>, rig: &Rig, eta: &[f64]) -> Vec<Vec3> {
    let forces = rig.forces(body, eta).unwrap();
    let rest = Pose::rest(body.skeleton().len());
    equilibrium(
        body,
        &rest,
        None,
        Some(&forces),
        Vec3::zeros(),
        Method::Warped,
    )
    .unwrap()
}

/// Returns the largest displacement of the surface, m.
fn largest_displacement(body: &Body, q: &[Vec3]) -> f64 {
    let surface = body.embedding();
    (0..surface.len())
        .map(|i| surface.position(i, q).norm())
        .fold(0.0, f64::max)
}

/// Returns the smallest ratio of volume to rest volume of a tetrahedron of the lattice.
fn min_volume_ratio(body: &Body, q: &[Vec3]) -> f64 {
    let x = body.rest_shape();
    let volume = |at: &dyn Fn(u32) -> Vec3, c: &[u32]| {
        let o = at(c[0]);
        (at(c[1]) - o).cross(&(at(c[2]) - o)).dot(&(at(c[3]) - o))
    };
    let of = |cell: &Cell| {
        let c = cell.corners();
        assert_eq!(c.len(), 4);
        let moved = |v: u32| x[v as usize] + q[v as usize];
        volume(&moved, c) / volume(&|v| x[v as usize], c)
    };
    body.lattice()
        .cells()
        .iter()
        .map(of)
        .fold(f64::INFINITY, f64::min)
}

fn strength_value(rig: &Rig, eta: &[f64]) -> f64 {
    eta[rig
        .parameter_names()
        .iter()
        .position(|n| *n == "strength")
        .unwrap()]
}

/// The peak displacement is the largest displacement of the skin in equilibrium.
#[test]
fn peak_displacement_matches_equilibrium() {
    let body = long_bar();
    for rig in pushing_rigs() {
        for (sample, yields) in rig
            .samples()
            .iter()
            .zip(rig.peak_displacements(&body, &Silent).unwrap())
        {
            let there = largest_displacement(&body, &rest_balance(&body, &rig, &sample.parameters));
            assert!(
                (yields.abs() - there).abs() < 1e-9 * body.size(),
                "{yields} {there}"
            );
            let strength = strength_value(&rig, &sample.parameters);
            assert!(yields * strength > 0.0 || (yields == 0.0 && strength == 0.0));
        }
    }
}

/// At its largest strength a rig leaves flesh exactly the smallest permitted volume.
#[test]
fn strength_limit_reaches_flattest() {
    let body = long_bar();
    for rig in pushing_rigs() {
        for sample in &rig.samples()[1..] {
            let compliance = rig.compliance(&body, &sample.parameters).unwrap();
            let (weak, strong) = compliance.strengths;
            for end in [weak, strong].into_iter().filter(|s| s.is_finite()) {
                for (part, most) in [(0.3, 1.0), (0.9, 1.0), (1.0, MIN_VOLUME_RATIO + 1e-6)] {
                    let eta = rig.with_strength(&sample.parameters, part * end);
                    let least = min_volume_ratio(&body, &rest_balance(&body, &rig, &eta));
                    assert!(
                        least > MIN_VOLUME_RATIO - 1e-9 && least < most,
                        "{least} at {part}"
                    );
                }
            }
            assert!(weak < 0.0 && strong > 0.0 && (weak.is_finite() || strong.is_finite()));
        }
    }
}

/// A rig keeps its peak displacements on softer, painted or larger flesh.
#[test]
fn rig_transfers_between_bodies() {
    let body = long_bar();
    let softer = Arc::new(body.with_scaled_stiffness(0.5).unwrap());
    // Stiffer above than below, and with a floor: nothing that a factor would undo.
    let x = body.surface().vertices();
    let painted = BarOptions {
        cells_along: 12,
        settings: BodySettings {
            stiffness: Some(x.iter().map(|x| 1.0 + 3.0 * x.z + 2.0 * x.x).collect()),
            ..BodySettings::default()
        },
        ..BarOptions::default()
    };
    let painted = painted.build();
    let twice = BarOptions {
        cells_along: 12,
        length: 3.2,
        half: 0.4,
        ..BarOptions::default()
    }
    .build();
    for rig in pushing_rigs() {
        let yields = rig.peak_displacements(&body, &Silent).unwrap();
        for other in [&softer, &painted] {
            let plain = rig.peak_displacements(other, &Silent).unwrap();
            let off = (plain[2] / yields[2] - 1.0).abs();
            assert!(off > 0.1, "{off}: nothing to keep");
            let wanted: Vec<Option<f64>> = yields.iter().copied().map(Some).collect();
            let kept = rig
                .with_peak_displacements(other, &wanted, &Silent)
                .unwrap();
            for (sample, wanted) in kept.samples().iter().zip(&yields) {
                let there =
                    largest_displacement(other, &rest_balance(other, &kept, &sample.parameters));
                assert!((there - wanted.abs()).abs() < 1e-9, "{there} {wanted}");
            }
            assert_eq!(kept.samples()[0].parameters, rig.samples()[0].parameters);
        }
        // All lengths twice: skin goes as far in parts of the body's size.
        let scaled = |s: &Sample| {
            let lengths = rig.parameter_kinds().iter().zip(&s.parameters);
            let times = |(k, x): (&ParameterKind, &f64)| if k.unit() == "m" { 2.0 * x } else { *x };
            Sample {
                control: s.control,
                parameters: lengths.map(times).collect(),
            }
        };
        let own = scaled(&Sample {
            control: 0.0,
            parameters: rig.own_parameters(),
        });
        let template = rig.template_at(&own.parameters).unwrap();
        let samples: Vec<Sample> = rig.samples().iter().map(scaled).collect();
        let large = Rig::new("push", template, rig.guide().unwrap().clone(), samples).unwrap();
        let wanted: Vec<Option<f64>> = yields.iter().map(|y| Some(2.0 * y)).collect();
        let large = large
            .with_peak_displacements(&twice, &wanted, &Silent)
            .unwrap();
        for (a, b) in large.samples().iter().zip(rig.samples()) {
            let there = largest_displacement(&twice, &rest_balance(&twice, &large, &a.parameters))
                / twice.size();
            let here = largest_displacement(&body, &rest_balance(&body, &rig, &b.parameters))
                / body.size();
            assert!((there - here).abs() < 1e-9, "{there} {here}");
        }
    }
}

/// Only the strengths of samples that fold flesh are lowered.
#[test]
fn clamped_lowers_only_folding_samples() {
    let body = long_bar();
    for rig in pushing_rigs() {
        let (same, lowered) = rig.with_clamped_strengths(&body, &Silent).unwrap();
        assert!(lowered.is_empty() && same == rig);
        let yields = rig.peak_displacements(&body, &Silent).unwrap();
        let wanted = [None, None, Some(1e3 * yields[2])];
        let strong = rig
            .with_peak_displacements(&body, &wanted, &Silent)
            .unwrap();
        let (kept, lowered) = strong.with_clamped_strengths(&body, &Silent).unwrap();
        let [one] = lowered[..] else {
            panic!("{lowered:?}")
        };
        assert_eq!(one.control, Some(1.0));
        assert_eq!(one.to, strength_value(&kept, &kept.samples()[2].parameters));
        assert!(one.from.abs() > one.to.abs() && one.from * one.to > 0.0);
        assert_eq!(kept.samples()[..2], rig.samples()[..2]);
        assert!(
            kept.with_clamped_strengths(&body, &Silent)
                .unwrap()
                .1
                .is_empty()
        );
        let least = min_volume_ratio(
            &body,
            &rest_balance(&body, &kept, &kept.samples()[2].parameters),
        );
        assert!((least - MIN_VOLUME_RATIO).abs() < 1e-6, "{least}");
    }
}

/// A sample outside the flesh uses the compliance of its neighbours.
#[test]
fn outer_samples_follow_neighbours() {
    let body = long_bar();
    let rig = &pushing_rigs()[0];
    let mut samples = rig.samples().to_vec();
    let along = rig
        .parameter_names()
        .iter()
        .position(|n| *n == "along")
        .unwrap();
    samples[1].parameters[along] = 40.0;
    let swimmer = rig.with_samples(samples).unwrap();
    let yields = swimmer.peak_displacements(&body, &Silent).unwrap();
    assert!(
        yields[1] > 0.0
            && swimmer
                .with_clamped_strengths(&body, &Silent)
                .unwrap()
                .1
                .is_empty()
    );
    let wanted: Vec<Option<f64>> = yields.iter().map(|y| Some(2.0 * y)).collect();
    let doubled = swimmer
        .with_peak_displacements(&body, &wanted, &Silent)
        .unwrap();
    for (a, b) in doubled.samples().iter().zip(swimmer.samples()) {
        let (a, b) = (
            strength_value(rig, &a.parameters),
            strength_value(rig, &b.parameters),
        );
        assert!((a - 2.0 * b).abs() <= 1e-9 * b.abs());
    }
}

/// Peak displacements of the wrong number or that are not finite are refused, and so is a rig outside the flesh.
#[test]
fn peak_displacements_refuse_bad_values() {
    let body = long_bar();
    let rig = &pushing_rigs()[0];
    let refused = |displacements: &[Option<f64>]| {
        rig.with_peak_displacements(&body, displacements, &Silent)
            .unwrap_err()
    };
    assert_eq!(
        refused(&[Some(0.1)]),
        RigError::Displacements {
            expected: 3,
            given: 1
        }
    );
    let message = refused(&[None, None, Some(f64::NAN)]).to_string();
    assert!(
        message.contains("displacements") && message.contains("finite"),
        "{message}"
    );
    let guide = Guide::bone(BoneRef::Index(1), [40.0, 0.0, 0.0, 0.0]).unwrap();
    let lost = Rig::new("lost", *rig.template().unwrap(), guide, vec![]).unwrap();
    assert_eq!(
        lost.with_peak_displacements(&body, &[Some(0.1)], &Silent),
        Err(RigError::Outside)
    );
    assert_eq!(
        lost.peak_displacements(&body, &Silent),
        Err(RigError::Outside)
    );
    // A rig that does nothing needs no compliance.
    assert!(
        lost.with_peak_displacements(&body, &[Some(0.0)], &Silent)
            .is_ok()
    );
}
