// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fits on a hanging bar: gradients, recovery of known parameters, effects of options, invariance.

mod refusals;
mod whole;

use super::pull::displacement_by_forces;
use super::*;
use crate::body::BodySettings;
use crate::body::fixture::BarOptions;
use crate::rig::{BoneRef, Guide, GuideFrame, RigError, Template, TemplateKind};
use crate::{Mat3, Mat4};
use nalgebra::{Isometry3, Translation3, UnitQuaternion};

const GRAVITY: Vec3 = Vec3::new(0.0, 0.0, -9.81);

fn body() -> Arc<Body> {
    hanging_body(true)
}

fn hanging_body(rest_includes_gravity: bool) -> Arc<Body> {
    let options = BarOptions {
        cells_along: 12,
        ..BarOptions::default()
    };
    let weights = options.painted_weights();
    let flesh = Some(vec![1.0; weights.len()]);
    let region_weights = Some(weights);
    BarOptions {
        settings: BodySettings {
            region_weights,
            flesh,
            rest_includes_gravity,
            ..BodySettings::default()
        },
        ..options
    }
    .build()
}

/// Returns a pose with the upper bone bent at the joint, and everything moved by `whole`.
fn bent_pose(angle: f64, whole: &Isometry3<f64>) -> Pose {
    let joint = Translation3::new(0.0, 0.0, 0.8);
    let turn = UnitQuaternion::from_axis_angle(&Vec3::x_axis(), angle);
    let upper = (joint * turn * joint.inverse()).to_homogeneous();
    let whole = whole.to_homogeneous();
    Pose::from_matrices(&[whole, whole * upper]).unwrap()
}

fn templates() -> [Template; 4] {
    let make = |kind, p: &[f64]| Template::new(kind, p).unwrap();
    [
        make(TemplateKind::Bump, &[0.19, 4e4]),
        make(TemplateKind::Radial, &[0.2, -7e4]),
        make(TemplateKind::Bulge, &[0.21, 8e4]),
        make(TemplateKind::Torus, &[0.16, 0.11, 6e4]),
    ]
}

/// Builds guides at a bone, under the side x = 0.2, and free; all near (0.13, 0, 0.9).
fn guides(body: &Body) -> [Guide; 3] {
    let face = (0..body.surface().triangles().len() as u32)
        .min_by_key(|&f| {
            let corners = body.surface().triangles()[f as usize];
            let middle: Vec3 = corners
                .iter()
                .map(|&v| body.surface().vertices()[v as usize])
                .sum();
            ((middle / 3.0 - Vec3::new(0.2, 0.03, 0.92)).norm() * 1e9) as u64
        })
        .unwrap();
    let frame = GuideFrame {
        rotation: Mat3::from_columns(&[Vec3::z(), -Vec3::y(), Vec3::x()]),
        origin: Vec3::new(0.12, 0.02, 0.88),
    };
    [
        Guide::bone(BoneRef::Index(1), [0.15, 1.4, 0.11, 0.2]).unwrap(),
        Guide::skin(face, [0.3, 0.4, 0.3], [0.06, 0.3, -0.2]).unwrap(),
        Guide::free(frame, [0.01, -0.02, 0.015, 0.1, 0.2, -0.1]).unwrap(),
    ]
}

fn rigs(body: &Body) -> Vec<Rig> {
    let each = templates()
        .into_iter()
        .flat_map(|t| guides(body).into_iter().map(move |g| (t, g)));
    each.map(|(t, g)| Rig::new("pull", t, g, Vec::new()).unwrap())
        .collect()
}

fn linear_methods() -> impl Iterator<Item = Method> {
    Method::ALL.into_iter().filter(|m| m.is_linear())
}

/// Returns the surface vertices nearest to the rigs.
fn nearest_vertices(body: &Body, count: usize) -> Vec<u32> {
    let middle = Vec3::new(0.2, 0.02, 0.9);
    let x = body.surface().vertices();
    let mut all: Vec<u32> = (0..x.len() as u32)
        .filter(|&v| x[v as usize].x > 0.15)
        .collect();
    all.sort_by(|&a, &b| {
        let away = |v: u32| (x[v as usize] - middle).norm();
        away(a).total_cmp(&away(b))
    });
    all.truncate(count);
    all
}

fn bent_fit(body: &Arc<Body>, method: Method) -> RigFit {
    RigFit::new(
        body,
        method,
        &bent_pose(0.9, &Isometry3::identity()),
        GRAVITY,
        None,
    )
    .unwrap()
}

/// Returns the positions to which a rig brings vertices of the surface, as targets.
fn reached_targets(fit: &mut RigFit, rig: &Rig, eta: &[f64], vertices: &[u32]) -> Vec<SkinTarget> {
    let q = fit.displacements(rig, eta).unwrap();
    let x = fit.body().rest_shape();
    let p: Vec<Vec3> = q.iter().zip(x).map(|(q, x)| q + x).collect();
    let embedding = fit.body().embedding();
    let target = |&vertex: &u32| SkinTarget {
        vertex,
        place: embedding.position(vertex as usize, &p),
    };
    vertices.iter().map(target).collect()
}

fn largest_miss(a: &[SkinTarget], b: &[SkinTarget]) -> f64 {
    let miss = a.iter().zip(b).map(|(a, b)| (a.place - b.place).norm());
    miss.fold(0.0, f64::max)
}

fn values_by_name(rig: &Rig, eta: &[f64]) -> NamedValues {
    let names = rig.parameter_names().iter().map(|n| n.to_string());
    names.zip(eta.iter().copied()).collect()
}

/// Returns a typical change of each parameter.
fn typical_changes(rig: &Rig, body: &Body) -> Vec<f64> {
    ResolvedOptions::new(rig, body, &RigFitSettings::default())
        .unwrap()
        .scales
}

/// Gradients agree with finite differences for every template, guide and method.
#[test]
fn fit_gradients_match_differences() {
    let body = body();
    for method in linear_methods() {
        let mut fit = bent_fit(&body, method);
        for rig in rigs(&body) {
            let eta = rig.last_parameters();
            let mut points = reached_targets(&mut fit, &rig, &eta, &nearest_vertices(&body, 3));
            for (i, point) in points.iter_mut().enumerate() {
                point.place += Vec3::new(0.02, -0.01 * i as f64, 0.015);
            }
            let sizes = typical_changes(&rig, &body);
            let preferred: Vec<f64> = eta.iter().zip(&sizes).map(|(x, s)| x + 0.3 * s).collect();
            let weights: Vec<f64> = sizes.iter().map(|s| 1e-4 / (s * s)).collect();
            let mut at = |eta: &[f64]| {
                let options = RigFitSettings {
                    start: values_by_name(&rig, eta),
                    preferred: values_by_name(&rig, &preferred),
                    weights: values_by_name(&rig, &weights),
                    ..RigFitSettings::default()
                };
                fit.gradient(&rig, &points, &options).unwrap()
            };
            let (_, slopes) = at(&eta);
            let largest = slopes
                .iter()
                .zip(&sizes)
                .map(|(g, s)| (g * s).abs())
                .fold(0.0, f64::max);
            for (k, size) in sizes.iter().enumerate() {
                let mut cost = |part: f64| {
                    let mut moved = eta.clone();
                    moved[k] += part * size;
                    at(&moved).0
                };
                let h = 2e-5;
                let near = cost(h) - cost(-h);
                let far = cost(2.0 * h) - cost(-2.0 * h);
                let difference = (8.0 * near - far) / (12.0 * h);
                let off = (slopes[k] * size - difference).abs();
                let name = rig.parameter_names()[k];
                assert!(
                    off < 1e-6 * largest,
                    "{} {name}: {off} of {largest}",
                    method.name()
                );
            }
        }
    }
}

/// The cost of a fit agrees with the cost computed from the equilibrium itself.
#[test]
fn fit_cost_matches_equilibrium() {
    let body = body();
    for method in linear_methods() {
        let mut fit = bent_fit(&body, method);
        for rig in rigs(&body) {
            let eta = rig.last_parameters();
            let there = reached_targets(&mut fit, &rig, &eta, &nearest_vertices(&body, 3));
            let mut points = there.clone();
            points
                .iter_mut()
                .for_each(|p| p.place += Vec3::new(0.03, 0.0, 0.04));
            let (none, slopes) = fit
                .gradient(&rig, &there, &RigFitSettings::default())
                .unwrap();
            let (some, _) = fit
                .gradient(&rig, &points, &RigFitSettings::default())
                .unwrap();
            assert!(
                none < 1e-20 && (some - 3.0 * 0.0025).abs() < 1e-11,
                "{none} {some}"
            );
            assert!(
                slopes
                    .iter()
                    .zip(typical_changes(&rig, &body))
                    .all(|(g, s)| (g * s).abs() < 1e-10)
            );
        }
    }
}

/// A fit to points that known parameters moved brings the points there again.
#[test]
fn fit_recovers_known_parameters() {
    let body = body();
    for method in linear_methods() {
        let mut fit = bent_fit(&body, method);
        for rig in rigs(&body) {
            let eta = rig.last_parameters();
            for count in [1, 3, 6] {
                let vertices = nearest_vertices(&body, count);
                let points = reached_targets(&mut fit, &rig, &eta, &vertices);
                let sizes = typical_changes(&rig, &body);
                let start = eta.iter().zip(&sizes).enumerate();
                let start: Vec<f64> = start
                    .map(|(k, (x, s))| match rig.parameter_names()[k] {
                        "strength" => 0.5 * x,
                        _ => x + 0.25 * s * [1.0, -1.0, 0.5, -0.5][(k + count) % 4],
                    })
                    .collect();
                let options = RigFitSettings {
                    start: values_by_name(&rig, &start),
                    ..RigFitSettings::default()
                };
                let before =
                    largest_miss(&reached_targets(&mut fit, &rig, &start, &vertices), &points);
                let found = fit.fit(&rig, &points, &options).unwrap();
                let after = largest_miss(
                    &reached_targets(&mut fit, &rig, &found.parameters, &vertices),
                    &points,
                );
                assert!(before > 1e-3 * body.size(), "{before}");
                assert!(
                    after < 1e-4 * body.size(),
                    "{rig:?} {count}: {before} {after} {found:?}"
                );
            }
        }
    }
}

/// A fit makes no more evaluations than allowed and never raises the cost.
#[test]
fn fit_respects_evaluation_limit() {
    let body = body();
    let mut fit = bent_fit(&body, Method::Warped);
    for rig in rigs(&body) {
        let eta = rig.last_parameters();
        let mut points = reached_targets(&mut fit, &rig, &eta, &nearest_vertices(&body, 3));
        let mut options = RigFitSettings::default();
        for most in [1, 2, 5, 8] {
            for p in &mut points {
                p.place += Vec3::new(0.005, 0.0, 0.002);
            }
            let (before, _) = fit.gradient(&rig, &points, &options).unwrap();
            options.evaluations = Some(most);
            let found = fit.fit(&rig, &points, &options).unwrap();
            assert!(
                found.evaluations <= most && found.cost <= before * (1.0 + 1e-12),
                "{found:?}"
            );
            options.start = values_by_name(&rig, &found.parameters);
        }
    }
}

/// Weights pull parameters towards their preferred values.
#[test]
fn fit_weights_pull_to_preferred() {
    let body = body();
    let mut fit = bent_fit(&body, Method::Warped);
    for rig in rigs(&body) {
        let eta = rig.last_parameters();
        let mut points = reached_targets(&mut fit, &rig, &eta, &nearest_vertices(&body, 2));
        points
            .iter_mut()
            .for_each(|p| p.place += Vec3::new(0.02, 0.01, 0.0));
        let sizes = typical_changes(&rig, &body);
        let preferred: Vec<f64> = eta.iter().zip(&sizes).map(|(x, s)| x + 0.2 * s).collect();
        let mut off = f64::INFINITY;
        for xi in [1e-6, 1e-3, 1.0, 1e4] {
            let weights: Vec<f64> = sizes.iter().map(|s| xi / (s * s)).collect();
            let options = RigFitSettings {
                preferred: values_by_name(&rig, &preferred),
                weights: values_by_name(&rig, &weights),
                ..RigFitSettings::default()
            };
            let found = fit.fit(&rig, &points, &options).unwrap().parameters;
            let each = found.iter().zip(&preferred).zip(&sizes);
            let now = each
                .map(|((x, p), s)| ((x - p) / s).powi(2))
                .sum::<f64>()
                .sqrt();
            assert!(now < off, "{rig:?} {xi}: {now} {off}");
            off = now;
        }
        assert!(off < 1e-3, "{off}");
    }
}

/// A scene that is moved and turned as a whole gives the same parameters.
#[test]
fn fit_is_rigid_invariant() {
    // The shape of a body that hangs at rest knows where down is.
    let body = hanging_body(false);
    let whole = Isometry3::new(Vec3::new(1.0, -2.0, 0.5), Vec3::new(0.7, -0.4, 1.9));
    for method in linear_methods().filter(|m| *m != Method::Linear) {
        let mut fit = bent_fit(&body, method);
        let turned = bent_pose(0.9, &whole);
        let mut other = RigFit::new(&body, method, &turned, whole * GRAVITY, None).unwrap();
        for rig in rigs(&body) {
            let eta = rig.last_parameters();
            let mut points = reached_targets(&mut fit, &rig, &eta, &nearest_vertices(&body, 3));
            points
                .iter_mut()
                .for_each(|p| p.place += Vec3::new(0.01, 0.01, -0.02));
            let mut moved = points.clone();
            for p in &mut moved {
                p.place = (whole * nalgebra::Point3::from(p.place)).coords;
            }
            let (a, of_a) = fit
                .gradient(&rig, &points, &RigFitSettings::default())
                .unwrap();
            let (b, of_b) = other
                .gradient(&rig, &moved, &RigFitSettings::default())
                .unwrap();
            assert!((a - b).abs() < 1e-7 * a, "{a} {b}");
            for ((a, b), s) in of_a.iter().zip(&of_b).zip(typical_changes(&rig, &body)) {
                assert!((a - b).abs() * s < 1e-11, "{a} {b}");
            }
            // Preferred values make the minimum one point.
            let sizes = typical_changes(&rig, &body);
            let weights: Vec<f64> = sizes.iter().map(|s| 1e-3 / (s * s)).collect();
            let options = RigFitSettings {
                weights: values_by_name(&rig, &weights),
                ..RigFitSettings::default()
            };
            let first = fit.fit(&rig, &points, &options).unwrap();
            let second = other.fit(&rig, &moved, &options).unwrap();
            let (x, y) = (&first.parameters, &second.parameters);
            for ((x, y), s) in x.iter().zip(y).zip(sizes) {
                assert!((x - y).abs() < 1e-6 * s, "{rig:?} {first:?} {second:?}");
            }
        }
    }
}

/// Results do not depend on earlier calls.
#[test]
fn fit_independent_of_history() {
    let body = body();
    let rigs = rigs(&body);
    let mut used = bent_fit(&body, Method::Warped);
    let vertices = nearest_vertices(&body, 4);
    let wanted = |rig: &Rig| {
        let mut points = reached_targets(
            &mut bent_fit(&body, Method::Warped),
            rig,
            &rig.last_parameters(),
            &vertices,
        );
        points.iter_mut().for_each(|p| p.place.x += 0.03);
        points
    };
    for rig in rigs.iter().step_by(4) {
        let points = wanted(rig);
        used.fit(rig, &points[1..], &RigFitSettings::default())
            .unwrap();
        let again = used
            .fit(rig, &points[..3], &RigFitSettings::default())
            .unwrap();
        let fresh = bent_fit(&body, Method::Warped)
            .fit(rig, &points[..3], &RigFitSettings::default())
            .unwrap();
        assert_eq!(again, fresh);
    }
}

/// Targets out of reach are approached as far as the bounds allow.
#[test]
fn fit_approaches_unreachable_targets() {
    let body = body();
    let mut fit = bent_fit(&body, Method::Warped);
    for rig in rigs(&body) {
        for away in [Vec3::new(0.5, 0.0, 0.0), Vec3::new(1e6, 0.0, 0.0)] {
            let eta = rig.last_parameters();
            let mut points = reached_targets(&mut fit, &rig, &eta, &nearest_vertices(&body, 2));
            points.iter_mut().for_each(|p| p.place += away);
            let (before, _) = fit
                .gradient(&rig, &points, &RigFitSettings::default())
                .unwrap();
            let found = fit.fit(&rig, &points, &RigFitSettings::default()).unwrap();
            assert!(
                found.cost <= before && found.parameters.iter().all(|x| x.is_finite()),
                "{found:?}"
            );
            let resolved = ResolvedOptions::new(&rig, &body, &RigFitSettings::default()).unwrap();
            for (x, (lower, upper)) in found.parameters.iter().zip(&resolved.bounds) {
                assert!(lower <= x && x <= upper);
            }
            rig.template_at(&found.parameters).unwrap();
        }
    }
}

/// Parameters stay within their bounds, and equal bounds fix a parameter.
#[test]
fn fit_keeps_bounds() {
    let body = body();
    let mut fit = bent_fit(&body, Method::Warped);
    for rig in rigs(&body) {
        let eta = rig.last_parameters();
        let mut points = reached_targets(&mut fit, &rig, &eta, &nearest_vertices(&body, 3));
        points
            .iter_mut()
            .for_each(|p| p.place += Vec3::new(0.05, 0.0, 0.0));
        let mut options = RigFitSettings::default();
        for (k, name) in rig.parameter_names().iter().enumerate() {
            let room = if *name == "strength" { 1e3 } else { 0.0 };
            options
                .bounds
                .insert((*name).to_owned(), (eta[k] - room, eta[k] + room));
        }
        let found = fit.fit(&rig, &points, &options).unwrap().parameters;
        for (k, name) in rig.parameter_names().iter().enumerate() {
            if *name == "strength" {
                assert!(((found[k] - eta[k]).abs() - 1e3).abs() < 1e-6, "{found:?}");
            } else {
                assert_eq!(found[k], eta[k]);
            }
        }
        options.bounds.insert("strength".into(), (5.0, 5.0));
        let found = fit.fit(&rig, &points, &options).unwrap().parameters;
        assert!(found.contains(&5.0));
    }
}

/// Forces of other rigs act from the start of a fit.
#[test]
fn fit_includes_other_rigs_forces() {
    let body = body();
    let rigs = rigs(&body);
    let others = rigs[7].forces(&body, &rigs[7].last_parameters()).unwrap();
    let pose = bent_pose(0.9, &Isometry3::identity());
    let vertices = nearest_vertices(&body, 3);
    let mut fit = RigFit::new(&body, Method::Warped, &pose, GRAVITY, Some(&others)).unwrap();
    let eta = rigs[0].last_parameters();
    let points = reached_targets(&mut fit, &rigs[0], &eta, &vertices);
    assert!(
        fit.gradient(&rigs[0], &points, &RigFitSettings::default())
            .unwrap()
            .0
            < 1e-20
    );
    let alone = reached_targets(
        &mut bent_fit(&body, Method::Warped),
        &rigs[0],
        &eta,
        &vertices,
    );
    assert!(largest_miss(&points, &alone) > 1e-3);
}

/// The tangents of the forces agree with the pull-back of a displacement field.
#[test]
fn tangents_match_pull_back() {
    let body = body();
    for rig in rigs(&body) {
        let eta = rig.last_parameters();
        let level = rig.level(&body, &eta).unwrap();
        let field: Vec<Vec3> = body
            .lattice()
            .vertices()
            .iter()
            .map(|x| x.map(|c| (9.0 * c).sin()))
            .collect();
        let (forces, slopes) = rig.tangents_at_level(&body, &eta, level).unwrap();
        let plain = rig.forces_at_level(&body, &eta, level).unwrap();
        for (a, b) in forces.iter().zip(&plain) {
            assert!((a - b).norm() < 1e-12 * forces.iter().map(Vec3::norm).fold(0.0, f64::max));
        }
        let pulled = rig.forces_vjp_at_level(&body, &eta, level, &field).unwrap();
        assert_eq!(pulled.len(), slopes.len());
        let total: f64 = forces.iter().map(Vec3::norm).sum();
        for (slope, pulled) in slopes.iter().zip(pulled) {
            let size: f64 = slope.iter().map(Vec3::norm).sum();
            assert!(
                (displacement_by_forces(&field, slope) - pulled).abs() < 1e-12 * (size + total)
            );
        }
    }
}
