// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps a second of every method, and their errors against the nonlinear one.
//!
//! `cargo bench --bench methods` prints a table for bars of the sizes of the characters of [capell2002, §5] (177 control vertices with 448
//! cells, and 214 with 572), in which the upper bone turns a little in every frame. A second table plays two scenes on the larger bar: an arm
//! that is bent by a right angle, and a head that is turned about its neck's axis by as much, each within a second, and then held for one. All
//! steps run on one thread, as the bodies are small.

use std::sync::Arc;
use std::time::Instant;
use thew::body::Body;
use thew::dynamics::{Method, Simulation, SimulationSettings};
use thew::skeleton::Pose;
use thew::{Mat4, Vec3};

#[path = "../tests/common/bar.rs"]
mod bar;
use bar::{bar, pose};

/// Cells across and along: 180 nodes and 456 cells, 225 nodes and 576 cells.
const BAR_SIZES: [(usize, usize); 2] = [(2, 19), (2, 24)];

/// Steps a second that the methods are to reach at these sizes.
const TARGETS: [(Method, f64); 4] = [
    (Method::Blended, 1500.0),
    (Method::Warped, 1000.0),
    (Method::Linearised, 1000.0),
    (Method::Nonlinear, 60.0),
];

/// Frames a second of the scenes, and the numbers of frames of their move and of the whole.
const FPS: f64 = 24.0;
const MOVE_FRAMES: usize = 24;
const FRAMES: usize = 48;

type Scene = (&'static str, fn(f64) -> Pose);

const SCENES: [Scene; 2] = [("bent arm", pose), ("turned head", turned)];

/// Returns the pose with the upper bone turned about its own axis.
fn turned(angle: f64) -> Pose {
    let turn = nalgebra::UnitQuaternion::from_axis_angle(&Vec3::z_axis(), angle);
    Pose::from_matrices(&[Mat4::identity(), turn.to_homogeneous()]).expect("finite")
}

fn main() {
    let bodies = BAR_SIZES.map(|(across, along)| bar(across, along));
    println!("steps a second; in brackets the part of the aim");
    for body in &bodies {
        let (nodes, cells) = (body.node_count(), body.blocks().len());
        println!("\n{nodes} functions, {cells} cells");
        for method in methods() {
            let rate = measure_steps(body, method);
            let aim = TARGETS.iter().find(|(of, _)| *of == method);
            let part = aim.map_or(String::new(), |(_, aim)| format!(" ({:.1})", rate / aim));
            println!("{:16} {rate:8.0}{part}", method.name());
        }
    }
    let body = &bodies[1];
    for (name, at) in SCENES {
        println!("\n{name}: errors against the nonlinear method, parts of the size");
        println!("method            mean error  largest  inverted cells  ms a frame");
        let exact = play(body, Method::Nonlinear, at);
        for method in methods() {
            let played = play(body, method, at);
            let (mean, most) = errors(body, &played, &exact);
            println!(
                "{:16} {mean:11.5} {most:8.5} {:15} {:11.3}",
                method.name(),
                played.inverted,
                played.seconds / FRAMES as f64 * 1e3,
            );
        }
    }
}

/// Returns the methods that move nodes.
fn methods() -> impl Iterator<Item = Method> {
    Method::ALL.into_iter().filter(|m| *m != Method::Modal)
}

fn simulation(body: &Arc<Body>, method: Method, first: &Pose) -> Simulation {
    let settings = SimulationSettings::for_method(method);
    let mut simulation = Simulation::new(body.clone(), settings).expect("settings");
    simulation.reset(first, true, None).expect("settles");
    simulation
}

/// Steps a second while the upper bone bends slowly, in the quickest of some runs of a few frames.
fn measure_steps(body: &Arc<Body>, method: Method) -> f64 {
    /// Frames of a run, with ten steps each.
    const RUN: usize = 3;
    let at = |i: usize| pose(0.5 + 0.02 * i as f64);
    let mut simulation = simulation(body, method, &at(0));
    let began = Instant::now();
    let (mut best, mut i) = (f64::INFINITY, 0);
    while i < 3 * RUN || (began.elapsed().as_secs_f64() < 1.0 && i < 12 * RUN) {
        let started = Instant::now();
        for _ in 0..RUN {
            i += 1;
            let done = simulation.advance(&at(i), 1.0 / FPS, None, None);
            done.expect("moves");
        }
        best = best.min(started.elapsed().as_secs_f64() / (10 * RUN) as f64);
    }
    1.0 / best
}

/// Positions of a scene by frame, the largest number of inverted cells, and the time it took.
struct Played {
    frames: Vec<Vec<Vec3>>,
    inverted: usize,
    seconds: f64,
}

fn play(body: &Arc<Body>, method: Method, at: fn(f64) -> Pose) -> Played {
    let pose = |frame: usize| {
        let t = (frame as f64 / MOVE_FRAMES as f64).min(1.0);
        at(std::f64::consts::FRAC_PI_2 * t * t * (3.0 - 2.0 * t))
    };
    let mut simulation = simulation(body, method, &pose(0));
    let mut played = Played {
        frames: Vec::new(),
        inverted: 0,
        seconds: 0.0,
    };
    let started = Instant::now();
    for frame in 1..=FRAMES {
        let done = simulation.advance(&pose(frame), 1.0 / FPS, None, None);
        done.expect("moves");
        played.frames.push(simulation.lattice_positions().to_vec());
        played.inverted = played.inverted.max(simulation.inverted_cells());
    }
    played.seconds = started.elapsed().as_secs_f64();
    played
}

/// Returns the mean error over frames and nodes, and the largest, as parts of the body's size.
fn errors(body: &Body, played: &Played, exact: &Played) -> (f64, f64) {
    let frames = played.frames.iter().zip(&exact.frames);
    let pairs = frames.flat_map(|(a, b)| a.iter().zip(b));
    let (mut sum, mut most, mut count) = (0.0, 0.0f64, 0.0);
    for (a, b) in pairs {
        let off = (a - b).norm() / body.size();
        (sum, most, count) = (sum + off, most.max(off), count + 1.0);
    }
    (sum / count, most)
}
