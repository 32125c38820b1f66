// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long an update takes while the mouse pulls the skin: a fit from the last parameters to targets that have moved.
//!
//! `cargo bench --bench pull` prints a table: a bar of flesh, one rig, three points, a drag of 40 updates of at most 8
//! evaluations that goes 8 cm out and aside. Beside its time stands what an update attains: how far points are from the
//! mouse after it, as a part of the whole way (RMS over points), and what a full fit makes of the end. The set-up of a pose
//! and its points, made once per drag, stands apart; beside it a plain equilibrium of the same body and pose, factorisation
//! included, and one with the factor kept.

use std::time::Instant;
use thew::Vec3;
use thew::dynamics::{Equilibrium, Method, equilibrium};
use thew::rig::{BoneRef, Guide, Rig, RigFit, RigFitSettings, SkinTarget, Template, TemplateKind};

#[path = "../tests/common/bar.rs"]
mod bar;
use bar::{bar, pose};

const GRAVITY: Vec3 = Vec3::new(0.0, 0.0, -9.81);
const UPDATE_COUNT: usize = 40;
/// Of an update at most.
const MAX_EVALUATIONS: usize = 8;

fn main() {
    println!(
        "cells  vertices  template  set-up ms  update ms  worst ms  evaluations  miss after updates % (median)  (worst)  (last)  after a full fit %  full fit ms  evaluations  equilibrium ms  factor ms"
    );
    for (across, along) in [(2, 36), (2, 42), (4, 39)] {
        let body = bar(across, along);
        let pose = pose(0.7);
        let whole = median(&mut run_times(7, |_| {
            equilibrium(&body, &pose, None, None, GRAVITY, Method::Warped).expect("balances");
        }));
        let mut balance = Equilibrium::new(&body, Method::Warped).expect("a body");
        balance.set_pose(&pose).expect("a pose");
        balance.solve(GRAVITY, None, None).expect("balances");
        let kept = median(&mut run_times(15, |_| {
            balance.solve(GRAVITY, None, None).expect("balances");
        }));
        for &kind in TemplateKind::ALL {
            let template = Template::with_reach(kind, 0.15, 3e4).expect("a template");
            let guide = Guide::bone(BoneRef::Index(1), [0.2, 1.5, 0.12, 0.0]).expect("a guide");
            let rig = Rig::new("pull", template, guide, Vec::new()).expect("a rig");
            let mut fit = None;
            let mut points = nearest_targets(&body, 3);
            let set_up = median(&mut run_times(5, |_| {
                let mut new =
                    RigFit::new(&body, Method::Warped, &pose, GRAVITY, None).expect("a pose");
                new.gradient(&rig, &points, &RigFitSettings::default())
                    .expect("points");
                fit = Some(new);
            }));
            let mut fit = fit.expect("made");
            let eta = rig.last_parameters();
            for (point, place) in points.clone().iter().zip(points.iter_mut()) {
                place.place = reached_positions(&mut fit, &rig, &eta, &[*point])[0];
            }
            let named = |eta: Vec<f64>| {
                let names = rig.parameter_names().iter().map(|n| (*n).to_owned());
                names.zip(eta).collect()
            };
            let mut options = RigFitSettings {
                evaluations: Some(MAX_EVALUATIONS),
                ..RigFitSettings::default()
            };
            let step = Vec3::new(0.08, 0.02, 0.01) / UPDATE_COUNT as f64;
            let (mut evaluations, mut misses) = (0, Vec::new());
            let mut updates = run_times(UPDATE_COUNT, |_| {
                for point in &mut points {
                    point.place += step;
                }
                let found = fit.fit(&rig, &points, &options).expect("fits");
                evaluations += found.evaluations;
                misses.push((found.cost / points.len() as f64).sqrt());
                options.start = named(found.parameters);
            });
            let started = Instant::now();
            options.evaluations = None;
            let settled = fit.fit(&rig, &points, &options).expect("fits");
            let settling = started.elapsed().as_secs_f64();
            let reached = reached_positions(&mut fit, &rig, &settled.parameters, &points);
            let left: f64 = points
                .iter()
                .zip(&reached)
                .map(|(p, x)| (p.place - x).norm_squared())
                .sum();
            let gone = step.norm() * UPDATE_COUNT as f64;
            let last = misses[UPDATE_COUNT - 1];
            let missed = median(&mut misses);
            let typical = median(&mut updates);
            println!(
                "{:5} {:8} {:8} {:7.2} {:8.2} {:8.2} ms {:7.1} {:8.2} {:6.2} {:6.2} % {:7.2} % {:6.0} ms {:5} {:8.2} {:6.2} ms",
                body.lattice().cells().len(),
                body.node_count(),
                kind.name(),
                set_up * 1e3,
                typical * 1e3,
                updates[UPDATE_COUNT - 1] * 1e3,
                evaluations as f64 / UPDATE_COUNT as f64,
                missed / gone * 1e2,
                misses[UPDATE_COUNT - 1] / gone * 1e2,
                last / gone * 1e2,
                (left / points.len() as f64).sqrt() / gone * 1e2,
                settling * 1e3,
                settled.evaluations,
                whole * 1e3,
                kept * 1e3,
            );
        }
    }
}

/// Where a rig brings points.
fn reached_positions(fit: &mut RigFit, rig: &Rig, eta: &[f64], points: &[SkinTarget]) -> Vec<Vec3> {
    let q = fit.displacements(rig, eta).expect("balances");
    let rest = fit.body().lattice().vertices();
    let p: Vec<Vec3> = q.iter().zip(rest).map(|(q, x)| q + x).collect();
    let embedding = fit.body().embedding();
    let place = |point: &SkinTarget| embedding.position(point.vertex as usize, &p);
    points.iter().map(place).collect()
}

/// Vertices of the surface nearest to where the rigs sit, wanted at the origin.
fn nearest_targets(body: &thew::body::Body, count: usize) -> Vec<SkinTarget> {
    let x = body.surface().vertices();
    let middle = Vec3::new(0.19, 0.0, 0.96);
    let mut all: Vec<u32> = (0..x.len() as u32).collect();
    all.sort_by(|&a, &b| {
        let away = |v: u32| (x[v as usize] - middle).norm();
        away(a).total_cmp(&away(b)).then(a.cmp(&b))
    });
    let target = |&vertex: &u32| SkinTarget {
        vertex,
        place: Vec3::zeros(),
    };
    all.iter().step_by(4).take(count).map(target).collect()
}

fn run_times(count: usize, mut run: impl FnMut(usize)) -> Vec<f64> {
    let each = (0..count).map(|i| {
        let started = Instant::now();
        run(i);
        started.elapsed().as_secs_f64()
    });
    each.collect()
}

/// Sorts.
fn median(seconds: &mut [f64]) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}
