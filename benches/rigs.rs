// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long the generalised forces of one template take, and their derivatives by all parameters.
//!
//! `cargo bench --bench rigs` prints a table. Cold is the first call at a place, which makes the points of flesh there;
//! warm are all others. Beside them stands the plain evaluation of the field at as many points, one after the other,
//! without lattice and flesh: the least that any quadrature costs.

use std::hint::black_box;
use std::time::Instant;
use thew::Vec3;
use thew::body::Body;
use thew::rig::{BoneRef, Guide, Rig, Template, TemplateKind};

#[path = "../tests/common/bar.rs"]
#[allow(dead_code)]
mod bar;
#[path = "common/timing.rs"]
mod timing;
use timing::median;

fn main() {
    println!("cells  template  points   cold ms  forces ms  forces_vjp ms  plain ms  forces/plain");
    // A body of its own for every line, so that each is cold at first.
    for (across, along) in [(2, 36), (4, 13)] {
        for &kind in TemplateKind::ALL {
            for size in [0.05, 0.2, 1.0] {
                print_row(&bar::bar(across, along), kind, size);
            }
        }
    }
}

/// One line of the table, for a template of a size in parts of the bar's breadth.
fn print_row(body: &Body, kind: TemplateKind, size: f64) {
    let (lo, hi) = body.surface().bounds();
    let breadth = (hi - lo).min();
    let radius = size * breadth;
    let template = Template::with_reach(kind, radius, 1e4).expect("a field");
    // Across the skin, turned at random.
    let guide = Guide::bone(
        BoneRef::Index(1),
        [0.4, 0.7, 0.5 * breadth - 0.3 * radius, 0.3],
    )
    .expect("finite");
    let rig = Rig::new("bench", template, guide, Vec::new()).expect("a rig");
    let eta = rig.own_parameters();
    let field: Vec<Vec3> = body.lattice().vertices().to_vec();

    let started = Instant::now();
    rig.forces(body, &eta).expect("in the flesh");
    let cold = started.elapsed().as_secs_f64();
    let warm = median(60, |_| {
        black_box(rig.forces(body, &eta).expect("in the flesh"));
    });
    let pull = median(60, |_| {
        black_box(rig.forces_vjp(body, &eta, &field).expect("in the flesh"));
    });

    let level = rig.level(body, &eta).expect("a level");
    let frame = rig.frame(body, &eta).expect("a bone");
    let extent = Vec3::repeat(template.support_radius());
    let points: Vec<Vec3> = body
        .points()
        .bricks_in_box(
            level,
            (frame.origin - extent, frame.origin + extent),
            |_, _| true,
        )
        .iter()
        .flat_map(|brick| brick.points().iter().map(|p| p.place))
        .filter(|x| template.distance(&frame.to_local(x)) < 0.0)
        .collect();
    let plain = median(60, |_| {
        let forces = points.iter().map(|x| template.force(&frame.to_local(x)));
        black_box(forces.sum::<Vec3>());
    });
    println!(
        "{:5}  {:8}  {:6}  {:8.3}  {:9.3}  {:12.3}  {:8.3}  {:12.1}",
        body.lattice().cells().len(),
        kind.name(),
        points.len(),
        cold * 1e3,
        warm * 1e3,
        pull * 1e3,
        plain * 1e3,
        warm / plain,
    );
}
