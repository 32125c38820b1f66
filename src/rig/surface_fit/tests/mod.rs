// SPDX-License-Identifier: MIT OR Apache-2.0
//! Surface fits of a bar of flesh: the bound, smoothness, samples on the way, covariance, selections, surfaces of other meshes.

mod methods;
mod refusals;

use super::*;
use crate::body::fixture::BarOptions;
use crate::clip::FrameForces;
use crate::dynamics::Method;
use crate::dynamics::SimulationError;
use crate::progress::Silent;
use crate::rig::{RigError, RigForces, Sample};
use crate::surface::Surface;
use nalgebra::{Isometry3, Translation3, UnitQuaternion};

/// Angle of the bend at which shapes are sculpted, rad.
const ANGLE: f64 = 1.2;

/// Returns a bar with flesh between its bones and its skin.
fn bar() -> BarOptions {
    BarOptions {
        cells_across: 4,
        cells_along: 12,
        ..Default::default()
    }
}

/// Returns the pose with the upper bone turned about x at the joint.
fn bent(bar: &BarOptions, angle: f64) -> Pose {
    let joint = Translation3::new(0.0, 0.0, 0.5 * bar.length);
    let turn = UnitQuaternion::from_axis_angle(&Vec3::x_axis(), angle);
    let upper = bar.frame * (joint * turn * joint.inverse()) * bar.frame.inverse();
    let still = Isometry3::identity();
    Pose::from_matrices(&[still, upper].map(|m| m.to_homogeneous())).unwrap()
}

/// Returns the places of the skin in balance at a pose.
fn skin(body: &Arc<Body>, pose: &Pose, forces: Option<&[Vec3]>) -> Vec<Vec3> {
    skin_by(Method::Warped, body, pose, forces)
}

/// Returns the places of the skin in balance at a pose by a method.
fn skin_by(method: Method, body: &Arc<Body>, pose: &Pose, forces: Option<&[Vec3]>) -> Vec<Vec3> {
    let gravity = SurfaceFitSettings::default().gravity;
    let q = crate::dynamics::equilibrium(body, pose, None, forces, gravity, method).unwrap();
    let p: Vec<Vec3> = q
        .iter()
        .zip(body.rest_shape())
        .map(|(q, x)| q + x)
        .collect();
    (0..body.embedding().len())
        .map(|v| body.embedding().position(v, &p))
        .collect()
}

/// Returns a swelling of the lower half of the bar, `[n]`, m: outward from the bone, in the axes of the frame.
fn swelling(bar: &BarOptions, body: &Body) -> Vec<Vec3> {
    let scale = bar.length / 1.6;
    let offset = |x: &Vec3| {
        let x = bar.frame.inverse_transform_point(&(*x).into()).coords / scale;
        let near = (-((x.z - 0.4) / 0.25).powi(2)).exp();
        bar.frame.rotation * Vec3::new(x.x, x.y, 0.0) * (0.3 * near * scale)
    };
    body.surface().vertices().iter().map(offset).collect()
}

/// Returns the target of the swelling at the bend.
fn swollen(bar: &BarOptions, body: &Arc<Body>) -> Vec<Vec3> {
    let places = skin(body, &bent(bar, ANGLE), None);
    places
        .iter()
        .zip(swelling(bar, body))
        .map(|(p, d)| p + d)
        .collect()
}

fn fit(
    body: &Arc<Body>,
    pose: &Pose,
    target: &[Vec3],
    settings: &SurfaceFitSettings,
) -> Result<Rig, SurfaceFitError> {
    fit_surface(
        body,
        pose,
        SurfaceTarget::Vertices(target),
        settings,
        &Silent,
    )
}

fn report(rig: &Rig) -> SurfaceFitReport {
    match rig.kind() {
        RigKind::Sculpted(sculpted) => *sculpted.report().unwrap(),
        RigKind::Force(_) | RigKind::Muscle(_) => panic!("not sculpted"),
    }
}

fn forces(rig: &Rig, body: &Body, control: f64) -> Vec<Vec3> {
    rig.forces_at_control(body, control, &rig.parameters(control))
        .unwrap()
}

/// Returns the root of the mean square distance of a skin from places, by the areas at rest, m.
fn distance(body: &Body, from: &[Vec3], to: &[Vec3]) -> f64 {
    let skin = body.surface();
    let areas = crate::geometry::moments::vertex_areas(skin.vertices(), skin.triangles());
    let each = from.iter().zip(to).zip(&areas);
    let sum: f64 = each.map(|((p, t), w)| w * (p - t).norm_squared()).sum();
    (sum / areas.iter().sum::<f64>()).sqrt()
}

fn norm(v: &[Vec3]) -> f64 {
    v.iter().map(Vec3::norm_squared).sum::<f64>().sqrt()
}

fn difference(a: &[Vec3], b: &[Vec3]) -> Vec<Vec3> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// Returns the rig of the swelling at the bent pose, with the default settings.
fn fitted_swelling(bar: &BarOptions, body: &Arc<Body>) -> Rig {
    fit(
        body,
        &bent(bar, ANGLE),
        &swollen(bar, body),
        &SurfaceFitSettings::default(),
    )
    .unwrap()
}

/// The balance with the rig's forces is as near to the target as the report says, and near its bound.
#[test]
fn forces_reach_target() {
    let bar = bar();
    let body = bar.build();
    let (pose, target) = (bent(&bar, ANGLE), swollen(&bar, &body));
    let rig = fit(&body, &pose, &target, &SurfaceFitSettings::default()).unwrap();
    let report = report(&rig);
    assert!(
        report.left < report.bound + 0.02 * report.start,
        "{report:?}"
    );
    assert!(report.start > 0.01 && report.left < 0.1 * report.start);
    let reached = skin(&body, &pose, Some(&forces(&rig, &body, 1.0)));
    let start = skin(&body, &pose, None);
    let rms = |from: &[Vec3]| distance(&body, from, &target);
    assert!((rms(&reached) - report.left).abs() < 1e-6 * report.start);
    assert!((rms(&start) - report.start).abs() < 1e-9 * report.start);
    // Control 0 has no effect, and one half a half.
    assert_eq!(norm(&forces(&rig, &body, 0.0)), 0.0);
    let (half, whole) = (forces(&rig, &body, 0.5), forces(&rig, &body, 1.0));
    let twice: Vec<Vec3> = half.iter().map(|f| f * 2.0).collect();
    assert!(norm(&difference(&twice, &whole)) < 1e-12 * norm(&whole));
    assert_eq!(rig.parameter_names(), ["strength"]);
}

/// A target that is the balance needs no force.
#[test]
fn balance_needs_no_force() {
    let bar = bar();
    let body = bar.build();
    let pose = bent(&bar, ANGLE);
    let rig = fit(
        &body,
        &pose,
        &skin(&body, &pose, None),
        &SurfaceFitSettings::default(),
    )
    .unwrap();
    assert_eq!(norm(&forces(&rig, &body, 1.0)), 0.0);
    assert!(report(&rig).left < 1e-12);
}

/// More smoothness leaves more distance and needs less energy; the one found is the largest that the bound allows, to its resolution.
#[test]
fn smoothness_trades_distance_for_force() {
    let bar = bar();
    let body = bar.build();
    let (pose, target) = (bent(&bar, ANGLE), swollen(&bar, &body));
    // All points, so that distances are those of the whole fit.
    let settings = |smoothness| SurfaceFitSettings {
        smoothness,
        tolerance: 1e-9,
        ..Default::default()
    };
    let found = fit(&body, &pose, &target, &settings(None)).unwrap();
    let eta = report(&found).smoothness;
    let mut last: Option<(f64, f64)> = None;
    for factor in [1e-2, 1.0, 1.7, 1e2] {
        let rig = fit(&body, &pose, &target, &settings(Some(eta * factor))).unwrap();
        let (report, size) = (report(&rig), norm(&forces(&rig, &body, 1.0)));
        assert_eq!(report.smoothness, eta * factor);
        let allowed = report.left <= report.bound + 0.0101 * report.start;
        assert_eq!(allowed, factor <= 1.0, "{factor}: {report:?}");
        if let Some((left, force)) = last {
            assert!(report.left > left && size < force);
        }
        last = Some((report.left, size));
    }
}

/// Samples on the way hold the shape's share there, where forces of the pose alone are off.
#[test]
fn samples_hold_share_on_the_way() {
    let bar = bar();
    let body = bar.build();
    let target = swollen(&bar, &body);
    let turned = |angle: f64, u: &[Vec3], back: bool| -> Vec<Vec3> {
        let pose = bent(&bar, angle);
        let turns = PosedStiffness::new(&body, &pose).unwrap().turns().to_vec();
        let turn = |(r, u): (&crate::Mat3, &Vec3)| if back { r.tr_mul(u) } else { r * u };
        turns.iter().zip(u).map(turn).collect()
    };
    let sway = |rig: &Rig, s: f64| {
        let pose = bent(&bar, ANGLE * s);
        let gravity = SurfaceFitSettings::default().gravity;
        let q = |forces: Option<&[Vec3]>| {
            crate::dynamics::equilibrium(&body, &pose, None, forces, gravity, Method::Warped)
                .unwrap()
        };
        difference(&q(Some(&forces(rig, &body, s))), &q(None))
    };
    let worst = |steps: u32| {
        let settings = SurfaceFitSettings {
            steps,
            ..Default::default()
        };
        let rig = fit(&body, &bent(&bar, ANGLE), &target, &settings).unwrap();
        assert_eq!(rig.samples().len(), steps as usize + 1);
        let whole = sway(&rig, 1.0);
        let rest = turned(ANGLE, &whole, true);
        let missed = [0.17, 0.5, 0.83].map(|s| {
            let wanted: Vec<Vec3> = turned(ANGLE * s, &rest, false)
                .iter()
                .map(|u| u * s)
                .collect();
            norm(&difference(&sway(&rig, s), &wanted)) / norm(&whole)
        });
        missed.into_iter().fold(0.0, f64::max)
    };
    let (one, three) = (worst(1), worst(3));
    assert!(three < 0.08 && three < 0.5 * one, "{one} {three}");
}

/// A body that is turned, moved and scaled by s gets forces that are turned and s² times as large.
#[test]
fn forces_follow_turn_and_scale() {
    let bar = bar();
    let body = bar.build();
    let settings = SurfaceFitSettings {
        gravity: Vec3::zeros(),
        steps: 2,
        ..Default::default()
    };
    let target = |bar: &BarOptions, body: &Arc<Body>| {
        let q = crate::dynamics::equilibrium(
            body,
            &bent(bar, ANGLE),
            None,
            None,
            Vec3::zeros(),
            Method::Warped,
        );
        let q = q.unwrap();
        let p: Vec<Vec3> = q
            .iter()
            .zip(body.rest_shape())
            .map(|(q, x)| q + x)
            .collect();
        let offsets = swelling(bar, body);
        let place = |v: usize| body.embedding().position(v, &p) + offsets[v];
        (0..offsets.len()).map(place).collect::<Vec<Vec3>>()
    };
    let rig = fit(&body, &bent(&bar, ANGLE), &target(&bar, &body), &settings).unwrap();
    let scale = 2.5;
    let rotation = UnitQuaternion::from_scaled_axis(Vec3::new(0.4, -1.0, 0.7));
    let other = BarOptions {
        frame: Isometry3::from_parts(Translation3::new(3.0, -2.0, 1.0), rotation),
        length: bar.length * scale,
        half: bar.half * scale,
        ..self::bar()
    };
    let there = other.build();
    let twin = fit(
        &there,
        &bent(&other, ANGLE),
        &target(&other, &there),
        &settings,
    )
    .unwrap();
    assert!((report(&twin).smoothness / report(&rig).smoothness - 1.0).abs() < 1e-12);
    for control in [0.3, 0.5, 1.0] {
        let own = forces(&rig, &body, control);
        let expected: Vec<Vec3> = own.iter().map(|f| rotation * f * scale * scale).collect();
        let found = forces(&twin, &there, control);
        assert!(norm(&difference(&found, &expected)) < 1e-6 * norm(&expected));
    }
}

/// Unselected skin holds still by its weight.
#[test]
fn unselected_skin_holds_still() {
    let bar = bar();
    let body = bar.build();
    let pose = bent(&bar, ANGLE);
    let start = skin(&body, &pose, None);
    let target: Vec<Vec3> = start
        .iter()
        .map(|p| p + Vec3::new(0.05, 0.0, 0.0))
        .collect();
    let below = |x: &Vec3| if x.z < 0.5 { 1.0 } else { 0.0 };
    let select: Vec<f64> = body.surface().vertices().iter().map(below).collect();
    let moved = |hold: f64| {
        let settings = SurfaceFitSettings {
            select: Some(select.clone()),
            hold,
            ..Default::default()
        };
        let rig = fit(&body, &pose, &target, &settings).unwrap();
        let reached = skin(&body, &pose, Some(&forces(&rig, &body, 1.0)));
        let shift = difference(&reached, &start);
        let mean = |of: f64| {
            let own = shift.iter().zip(&select).filter(|(_, s)| **s == of);
            let own: Vec<f64> = own.map(|(d, _)| d.norm()).collect();
            own.iter().sum::<f64>() / own.len() as f64 / 0.05
        };
        (mean(1.0), mean(0.0))
    };
    let (with, without) = (moved(0.05), moved(0.0));
    assert!(with.0 > 0.8 && without.0 > 0.8, "{with:?} {without:?}");
    assert!(with.1 < 0.8 * without.1, "{with:?} {without:?}");
}

/// The skin comes to the surface of another mesh, with the same bits for any number of threads; a mesh inside out is no other.
#[test]
fn surface_of_another_mesh_is_reached() {
    let bar = bar();
    let body = bar.build();
    let pose = bent(&bar, ANGLE);
    // The same shape with each triangle divided, in another order.
    let places = swollen(&bar, &body);
    let mut vertices = places.clone();
    let mut triangles = Vec::new();
    for [a, b, c] in body.surface().triangles().iter().rev().copied() {
        let middle = vertices.len() as u32;
        vertices.push([a, b, c].iter().map(|&v| places[v as usize]).sum::<Vec3>() / 3.0);
        triangles.extend([[a, b, middle], [b, c, middle], [c, a, middle]]);
    }
    let reversed = triangles.iter().map(|&[a, b, c]| [a, c, b]).collect();
    let settings = SurfaceFitSettings::default();
    let fitted = |triangles: Vec<[u32; 3]>, threads: usize| {
        let target = Surface::new(vertices.clone(), triangles).unwrap();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            fit_surface(
                &body,
                &pose,
                SurfaceTarget::Surface(&target),
                &settings,
                &Silent,
            )
        })
        .unwrap()
    };
    let rig = fitted(triangles.clone(), 1);
    let report = report(&rig);
    assert!(report.left < 0.3 * report.start, "{report:?}");
    let own = forces(&rig, &body, 1.0);
    assert_eq!(forces(&fitted(triangles, 3), &body, 1.0), own);
    let turned = forces(&fitted(reversed, 1), &body, 1.0);
    assert!(norm(&difference(&turned, &own)) < 1e-6 * norm(&own));
}

/// Forces of two bodies in turn, of a stiffer body, and of a clip are those of the rig.
#[test]
fn forces_belong_to_each_body() {
    let bar = bar();
    let body = bar.build();
    let rig = fitted_swelling(&bar, &body);
    let stiff = Arc::new(body.with_scaled_stiffness(3.0).unwrap());
    let own = forces(&rig, &body, 1.0);
    let tripled: Vec<Vec3> = own.iter().map(|f| f * 3.0).collect();
    assert!(norm(&difference(&forces(&rig, &stiff, 1.0), &tripled)) < 1e-9 * norm(&tripled));
    assert_eq!(forces(&rig, &body, 1.0), own);
    let controls = Some(vec![1.0, 0.5]);
    let clip = RigForces::new(
        body.clone(),
        vec![Arc::new(rig.clone())],
        2,
        controls,
        &Silent,
    )
    .unwrap();
    assert!(clip.warnings().is_empty());
    for (frame, control) in [(0, 1.0), (1, 0.5)] {
        let mut out = vec![Vec3::zeros(); body.node_count()];
        clip.write(frame, &mut out).unwrap();
        assert_eq!(out, forces(&rig, &body, control));
    }
    assert!(rig.check(&body).is_empty());
    // The strength scales the whole, and is a parameter like others.
    let half = rig.forces_at_control(&body, 1.0, &[0.5]).unwrap();
    let doubled: Vec<Vec3> = half.iter().map(|f| f * 2.0).collect();
    assert!(norm(&difference(&doubled, &own)) < 1e-12 * norm(&own));
    let slope = rig.forces_vjp(&body, &[1.0], &own).unwrap();
    assert!((slope[0] / norm(&own).powi(2) - 1.0).abs() < 1e-12);
    let peaks = rig.peak_displacements(&body, &Silent).unwrap();
    let wanted: Vec<Option<f64>> = peaks.iter().copied().map(Some).collect();
    assert_eq!(
        rig.with_peak_displacements(&body, &wanted, &Silent)
            .unwrap(),
        rig
    );
}
