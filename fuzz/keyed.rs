// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shells, splines and motions through keyframes of any numbers.

use crate::numbers::{Bytes, finite};
use crate::targets::FACES;
use std::sync::Arc;
use thew::Vec3;
use thew::progress::Silent;
use thew::shell::{Shell, ShellMaterial};
use thew::spacetime::{
    Ghosts, Knot, KnotData, KnotJoint, KnotLayout, Oscillator, RestShape, RigidMotion,
    SpaceSettings, Spacetime, SpacetimeSettings, Velocity, WigglySpline, check_splines,
};

pub fn spacetime(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    spline(&mut bytes);
    let Some(shell) = shell(&mut bytes) else {
        return;
    };
    let nodes = shell.rest().len();
    let shape = |bytes: &mut Bytes<'_>| -> Vec<Vec3> {
        let mut shape = shell.rest().to_vec();
        for _ in 0..bytes.up_to(3) {
            let vertex = bytes.up_to(nodes - 1);
            shape[vertex] += 0.1 * bytes.place();
        }
        shape
    };
    let keyframes: Vec<Vec<Vec3>> = (0..bytes.up_to(4)).map(|_| shape(&mut bytes)).collect();
    let times = times(&mut bytes, keyframes.len());
    let options = SpaceSettings {
        modes: bytes.up_to(4),
        fixed: (0..nodes).map(|_| bytes.byte() > 200).collect(),
        cyclic: bytes.byte() > 170,
        ghosts: [Ghosts::None, Ghosts::Auto][bytes.up_to(1)].clone(),
        rigid: [RigidMotion::Auto, RigidMotion::Removed, RigidMotion::Kept][bytes.up_to(2)],
        rests: [RestShape::Body, RestShape::Keyframes][bytes.up_to(1)],
        full_below: [0, 1500][bytes.up_to(1)],
    };
    let motion = Spacetime::new(
        Arc::new(shell.clone()),
        keyframes,
        times,
        settings(&mut bytes, nodes),
        &options,
        &Silent,
    );
    let Ok(mut motion) = motion else { return };
    sound(&motion);
    // Refused or not, what is kept is a motion.
    for _ in 0..3 {
        let (key, weight) = (bytes.up_to(4), (bytes.byte() > 100).then(|| bytes.number()));
        match bytes.up_to(4) {
            0 => drop(motion.update(None, Some(settings(&mut bytes, nodes)))),
            1 => drop(motion.update(Some(times_of(&motion, &mut bytes)), None)),
            2 => drop(motion.reshape(key, &shape(&mut bytes))),
            3 => drop(motion.soften(key, weight)),
            _ => {
                let time = motion.times()[0] + bytes.number().abs() / 10.0;
                let vertices = vec![bytes.index(nodes), bytes.index(nodes)];
                drop(motion.add_partial(time, vertices, bytes.places(2), weight));
            }
        }
        sound(&motion);
    }
    let dragged = vec![bytes.index(nodes)];
    let start = shape(&mut bytes);
    if let Ok(shape) = motion.model_shape(&start, dragged, vec![bytes.place()], None, &Silent) {
        finite("modelled vertex", &shape);
    }
}

/// Whether all that a motion shows is finite.
fn sound(motion: &Spacetime) {
    let (first, last) = (motion.times()[0], motion.times()[motion.times().len() - 1]);
    let instants: Vec<f64> = (0..9)
        .map(|i| first + (last - first) * f64::from(i) / 8.0)
        .collect();
    for shown in [
        motion.positions(&instants),
        motion.cubic_positions(&instants),
    ] {
        assert!(shown.iter().all(|x| x.is_finite()), "a vertex is no number");
    }
    assert!(!motion.relative_reach().is_nan() && !motion.cost().is_nan());
}

fn shell(bytes: &mut Bytes<'_>) -> Option<Shell> {
    let (vertices, triangles) = if bytes.byte() > 128 {
        let corner = |i: usize| Vec3::new((i & 1) as f64, (i >> 1 & 1) as f64, (i >> 2) as f64);
        let mut corners: Vec<Vec3> = (0..8).map(corner).collect();
        corners[bytes.up_to(7)] += 0.1 * bytes.place();
        (corners, FACES.to_vec())
    } else {
        let count = 1 + bytes.up_to(9);
        let triangle = |bytes: &mut Bytes<'_>| std::array::from_fn(|_| bytes.index(count));
        let triangles = (0..bytes.up_to(12)).map(|_| triangle(bytes)).collect();
        (bytes.places(count), triangles)
    };
    Shell::new(vertices, triangles, &ShellMaterial::default()).ok()
}

fn settings(bytes: &mut Bytes<'_>, nodes: usize) -> SpacetimeSettings {
    let mut settings = SpacetimeSettings::default();
    if bytes.byte() > 60 {
        settings.stiffness = 10.0 * bytes.number().abs();
        settings.damping = (bytes.number().abs(), bytes.number().abs() / 100.0);
    }
    if bytes.byte() > 200 {
        settings.gravity = bytes.place();
    }
    for _ in 0..bytes.up_to(3) {
        let given = vec![bytes.place(); nodes];
        let velocity = match bytes.up_to(2) {
            0 => Velocity::Given(given),
            1 => Velocity::Cut(Some(given), None),
            _ => Velocity::Cut(Some(given.clone()), Some(given)),
        };
        settings.velocities.insert(bytes.up_to(4), velocity);
    }
    settings
}

fn times(bytes: &mut Bytes<'_>, count: usize) -> Vec<f64> {
    let mut now = bytes.number();
    let mut step = || {
        now += bytes.number().abs() / 4.0;
        now
    };
    (0..count).map(|_| step()).collect()
}

fn times_of(motion: &Spacetime, bytes: &mut Bytes<'_>) -> Vec<f64> {
    times(bytes, motion.times().len())
}

fn spline(bytes: &mut Bytes<'_>) {
    let knots = bytes.up_to(6);
    let times = times(bytes, knots);
    let oscillator = Oscillator {
        stiffness: bytes.number() * 10f64.powi(bytes.up_to(7) as i32 - 3),
        damping: bytes.number().abs(),
        gravity: bytes.number(),
    };
    if check_splines(&times, &[oscillator]).is_err() {
        return;
    }
    let mut number = |_: usize| bytes.number();
    let mut given = KnotData {
        values: (0..knots).map(&mut number).collect(),
        incoming: (0..knots).map(&mut number).collect(),
        outgoing: (0..knots).map(&mut number).collect(),
    };
    let sound = |all: &[f64]| all.iter().all(|x| x.abs() < 1e100);
    if !(sound(&given.values) && sound(&given.incoming) && sound(&given.outgoing)) {
        return;
    }
    let cyclic = bytes.byte() > 170;
    if cyclic {
        given.values[knots - 1] = given.values[0];
    }
    let joint = |bytes: &mut Bytes<'_>| match bytes.up_to(4) {
        0 => KnotJoint::Given,
        1 => KnotJoint::Cut {
            incoming: true,
            outgoing: false,
        },
        _ => KnotJoint::Smooth,
    };
    let knots = times
        .iter()
        .map(|&time| Knot {
            time,
            valued: true,
            joint: joint(bytes),
        })
        .collect();
    let layout = Arc::new(KnotLayout::new(knots, cyclic));
    let spline = WigglySpline::new(layout, vec![oscillator], vec![given]);
    for derivative in 0..=3 {
        let sampled = spline.sample(&times, derivative);
        assert!(sampled.iter().all(|x| x.is_finite()), "{oscillator:?}");
    }
    assert!(!spline.cost(0).is_nan());
}
