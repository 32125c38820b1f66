// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fits that would fold flesh: the smallest volume that it keeps, and the reports.

use super::*;
use crate::dynamics::{Equilibrium, Method};
use crate::rig::MIN_VOLUME_RATIO;
use crate::rig::fit::folding_limit::FoldingLimit;
use crate::rig::fit::options::ResolvedOptions;

/// Builds a thin arm.
fn thin_arm() -> Arc<Body> {
    BarOptions {
        cells_along: 16,
        length: 1.6,
        half: 0.06,
        ..BarOptions::default()
    }
    .build()
}

/// Returns the ratio of volume to rest volume of each tetrahedron of the lattice.
fn volume_ratios(body: &Body, q: &[Vec3]) -> Vec<f64> {
    let x = body.rest_shape();
    let volume = |at: &dyn Fn(u32) -> Vec3, c: &[u32]| {
        let o = at(c[0]);
        (at(c[1]) - o).cross(&(at(c[2]) - o)).dot(&(at(c[3]) - o))
    };
    let cells = body.lattice().cells().iter();
    let of = |c: &[u32]| {
        let moved = |v: u32| x[v as usize] + q[v as usize];
        volume(&moved, c) / volume(&|v| x[v as usize], c)
    };
    cells.map(|cell| of(cell.corners())).collect()
}

/// Returns the volume ratios with a rig of almost no strength: those without it.
fn volumes_without_rig(fit: &mut RigFit, rig: &Rig) -> Vec<f64> {
    let mut eta = rig.last_parameters();
    eta[rig.strength_index()] = 0.0;
    let q = fit.displacements(rig, &eta).unwrap();
    volume_ratios(fit.body(), &q)
}

fn thin_rigs(body: &Body) -> Vec<Rig> {
    let face = (0..body.surface().triangles().len() as u32)
        .min_by_key(|&f| {
            let corners = body.surface().triangles()[f as usize];
            let each = corners
                .iter()
                .map(|&v| body.surface().vertices()[v as usize]);
            let middle = each.sum::<Vec3>() / 3.0;
            ((middle - Vec3::new(0.06, 0.0, 0.85)).norm() * 1e9) as u64
        })
        .unwrap();
    let skin = || Guide::skin(face, [0.3, 0.4, 0.3], [0.02, 0.0, 0.0]).unwrap();
    let bone = || Guide::bone(BoneRef::Index(1), [0.1, 1.5, 0.03, 0.0]).unwrap();
    let make = |kind, p: &[f64], guide| {
        Rig::new("pull", Template::new(kind, p).unwrap(), guide, vec![]).unwrap()
    };
    vec![
        make(TemplateKind::Bump, &[0.1, 1e4], skin()),
        make(TemplateKind::Bulge, &[0.1, 1e4], bone()),
        make(TemplateKind::Torus, &[0.08, 0.05, 1e4], bone()),
    ]
}

/// A thin arm that is pulled far does not fold, and the fit reports how far it came.
#[test]
fn fit_does_not_fold_thin_arm() {
    let body = thin_arm();
    let size = body.size();
    let vertex = (0..body.surface().vertices().len() as u32)
        .min_by_key(|&v| {
            let x = body.surface().vertices()[v as usize];
            ((x - Vec3::new(0.06, 0.0, 0.85)).norm() * 1e9) as u64
        })
        .unwrap();
    for angle in [0.0, 1.2] {
        for rig in thin_rigs(&body) {
            let pose = bent_pose(angle, &Isometry3::identity());
            let mut fit = RigFit::new(&body, Method::Warped, &pose, GRAVITY, None).unwrap();
            let plain = volumes_without_rig(&mut fit, &rig);
            let start = reached_targets(&mut fit, &rig, &rig.last_parameters(), &[vertex])[0];
            for far in [0.3, 2.0] {
                let way = Vec3::new(far * 0.8, 0.0, far * 0.6);
                let points = [SkinTarget {
                    place: start.place + way,
                    ..start
                }];
                for evaluations in [None, Some(8)] {
                    let options = RigFitSettings {
                        evaluations,
                        ..RigFitSettings::default()
                    };
                    let found = fit.fit(&rig, &points, &options).unwrap();
                    let eta = &found.parameters;
                    let q = fit.displacements(&rig, eta).unwrap();
                    let flat = volume_ratios(&body, &q).into_iter().zip(&plain);
                    for (now, before) in flat.filter(|(_, before)| **before > 0.0) {
                        let least = MIN_VOLUME_RATIO.min(0.5 * before);
                        assert!(now > least - 1e-6, "{now} of {before}");
                    }
                    let strength = eta[rig.strength_index()].abs() * size / body.material().young();
                    assert!(strength < 1e4, "{strength} E/size");
                    let there = reached_targets(&mut fit, &rig, eta, &[vertex])[0];
                    let left = (there.place - points[0].place).norm() / far;
                    assert!(
                        (1.0 - found.reached - left).abs() < 1e-6,
                        "{} {left}",
                        found.reached
                    );
                    assert!(
                        found.reached > 0.0 && found.reached < 0.9,
                        "{}",
                        found.reached
                    );
                }
            }
        }
    }
}

/// Forces that flesh bears are fitted as if there were no limit.
#[test]
fn fit_unlimited_within_flesh_limit() {
    let body = body();
    let mut fit = bent_fit(&body, Method::Warped);
    for rig in rigs(&body) {
        let eta = rig.last_parameters();
        let points = reached_targets(&mut fit, &rig, &eta, &nearest_vertices(&body, 3));
        let start = {
            let mut start = eta.clone();
            start[rig.strength_index()] *= 0.4;
            values_by_name(&rig, &start)
        };
        let options = RigFitSettings {
            start,
            ..RigFitSettings::default()
        };
        let found = fit.fit(&rig, &points, &options).unwrap();
        assert!(found.reached > 0.999 && !found.folding, "{found:?}");
    }
}

/// A start that folds flesh is led back, while a strength that the artist fixed stays.
#[test]
fn fit_leads_folding_start_back() {
    let body = thin_arm();
    let pose = bent_pose(0.6, &Isometry3::identity());
    let mut fit = RigFit::new(&body, Method::Warped, &pose, GRAVITY, None).unwrap();
    for rig in thin_rigs(&body) {
        let plain = volumes_without_rig(&mut fit, &rig);
        let mut start = rig.last_parameters();
        let points = reached_targets(&mut fit, &rig, &start, &vertices_near_arm(&body));
        start[rig.strength_index()] *= 1e4;
        let mut options = RigFitSettings {
            start: values_by_name(&rig, &start),
            ..RigFitSettings::default()
        };
        let found = fit.fit(&rig, &points, &options).unwrap();
        let q = fit.displacements(&rig, &found.parameters).unwrap();
        let flat = volume_ratios(&body, &q).into_iter().zip(&plain);
        assert!(
            flat.filter(|(_, b)| **b > 0.0)
                .all(|(now, b)| now > MIN_VOLUME_RATIO.min(0.5 * b) - 1e-6)
        );
        let strength = start[rig.strength_index()];
        options
            .bounds
            .insert("strength".into(), (strength, strength));
        let found = fit.fit(&rig, &points, &options).unwrap();
        assert_eq!(found.parameters[rig.strength_index()], strength);
        assert!(!found.folding);
    }
}

fn vertices_near_arm(body: &Body) -> Vec<u32> {
    let x = body.surface().vertices();
    let near = |v: &u32| (x[*v as usize] - Vec3::new(0.06, 0.0, 0.85)).norm() < 0.08;
    (0..x.len() as u32).filter(near).take(2).collect()
}

/// A strength at the limit of a round is freed only where flesh bears more.
#[test]
fn held_strength_is_freed() {
    let body = thin_arm();
    let rig = thin_rigs(&body).remove(0);
    let resolved = ResolvedOptions::new(&rig, &body, &RigFitSettings::default()).unwrap();
    let mut balance = Equilibrium::new(&body, Method::Warped).unwrap();
    let without = vec![Vec3::zeros(); body.node_count()];
    let mut limit = FoldingLimit {
        rig: &rig,
        balance: &mut balance,
        gravity: Vec3::zeros(),
        others: None,
        without: &without,
        known: &mut None,
    };
    let mut eta = rig.last_parameters();
    let mut bounds = resolved.bounds.clone();
    let (least, most) = limit.narrow_bounds(&resolved, &mut bounds, &eta).unwrap();
    let at = rig.strength_index();
    assert!(least < 0.0 && most > 0.0 && bounds[at].1 <= most.max(eta[at]));
    for (part, edge) in [(1.0, true), (0.5, false)] {
        // The round allowed as much, or half; the range at its end is the same.
        let round = (part * least, part * most);
        for bound in [round.0, round.1] {
            eta[at] = bound;
            assert_eq!(limit.is_at_limit(&resolved, &eta).unwrap(), edge);
            assert_eq!(
                limit.has_wider_range(&resolved, &eta, round).unwrap(),
                !edge
            );
            eta[at] = 0.7 * bound;
            assert!(!limit.has_wider_range(&resolved, &eta, round).unwrap());
            assert!(!limit.clamp_strength(&resolved, &mut eta).unwrap());
        }
    }
    eta[at] = 3.0 * most;
    assert!(limit.clamp_strength(&resolved, &mut eta).unwrap());
    assert_eq!(eta[at], most);
}
