// SPDX-License-Identifier: MIT OR Apache-2.0
//! Adaptive details beside details that always act, under a pulled point. [capell2002, §4.7, fig. 3]
//!
//! `cargo bench --bench adaptation` prints a table: a bar of flesh around two bones with two levels of details. A pin pulls one point of its skin
//! aside for half a second, holds it for as long and brings it back, while the bones are still. Of each method and threshold it gives the active
//! functions (mean and largest), the time of a step with all that comes with it, how many times quicker that is than with all details, and the
//! largest distance of a skin vertex from its place there in any frame, as a part of the pull and of the size. All on one thread.

use std::sync::Arc;
use std::time::Instant;
use thew::Vec3;
use thew::body::{Body, BodySettings};
use thew::dynamics::{Adaptation, Method, Pin, PinPoint, Simulation, SimulationSettings};
use thew::elasticity::Material;

#[path = "../tests/common/bar.rs"]
mod bar;
use bar::{bar_with, pose};

const FPS: f64 = 24.0;
const RATE: f64 = 240.0;
const FRAMES: usize = 36;
/// Pull at its farthest, m: a third of the flesh between skin and bone. Frames in which it grows, and after which it goes back.
const PULL: f64 = 0.06;
const GROWING: usize = 12;
const HELD: usize = 24;

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.expect("one thread").install(print_tables);
}

fn print_tables() {
    let material = Material::new(2e4, 0.4, 1000.0).expect("a material");
    for (across, along) in [(2, 8), (2, 24), (4, 16)] {
        let settings = BodySettings {
            basis_levels: 2,
            level: 2,
            ..BodySettings::default()
        };
        let body = bar_with(across, along, material, &settings);
        println!(
            "\n{} cells, {} functions, {} of level 0",
            body.lattice().cells().len(),
            body.node_count(),
            body.basis().coarse_len()
        );
        println!("method        strain  functions  largest  step ms  quicker  % of pull  of size");
        for method in [Method::Warped, Method::Hyperelastic] {
            let uniform = play(&body, method, None);
            print_row(&body, method, None, &uniform, &uniform);
            for threshold in [0.02, 0.01, 0.005, 0.0025] {
                let played = play(&body, method, Some(threshold));
                print_row(&body, method, Some(threshold), &played, &uniform);
            }
        }
    }
}

/// Skin by frame, active functions by frame, and seconds of all.
struct Played {
    frames: Vec<Vec<Vec3>>,
    active: Vec<usize>,
    seconds: f64,
}

fn play(body: &Arc<Body>, method: Method, threshold: Option<f64>) -> Played {
    let defaults = SimulationSettings::for_method(method);
    let settings = match threshold {
        Some(t) => SimulationSettings {
            adapt: Adaptation::Strain,
            adapt_strain: Vec3::new(t, 4.0 * t, 16.0 * t),
            ..defaults
        },
        None => defaults,
    };
    let settings = SimulationSettings {
        rate: RATE,
        ..settings
    };
    let mut simulation = Simulation::new(body.clone(), settings).expect("settings");
    let still = pose(0.0);
    simulation.reset(&still, true, None).expect("settles");
    let (vertex, place) = pulled_vertex(body);
    let held_at = |share: f64| place + Vec3::new(PULL, 0.0, 0.3 * PULL) * share;
    let pin = simulation.pin(Pin {
        point: PinPoint::Vertex(vertex),
        target: held_at(0.0),
        strength: 1.0,
    });
    let pin = pin.expect("a pin");
    let mut played = Played {
        frames: Vec::new(),
        active: Vec::new(),
        seconds: 0.0,
    };
    for frame in 1..=FRAMES {
        let (frame, growing) = (frame as f64, GROWING as f64);
        let back = 1.0 - (frame - HELD as f64) / growing;
        let share = (frame / growing).min(back).min(1.0);
        simulation
            .move_pin(pin, held_at(share), None)
            .expect("a place");
        let started = Instant::now();
        let done = simulation.advance(&still, 1.0 / FPS, None, None);
        played.seconds += started.elapsed().as_secs_f64();
        done.expect("moves");
        played.frames.push(skin(body, &simulation));
        played.active.push(simulation.active_functions());
    }
    played
}

/// Returns the skin vertex nearest to a point on the side of the upper bone, and its place.
fn pulled_vertex(body: &Body) -> (u32, Vec3) {
    let point = Vec3::new(0.19, 0.0, 1.2);
    let vertices = body.surface().vertices();
    let far = |v: &usize| (vertices[*v] - point).norm();
    let nearest = (0..vertices.len()).min_by(|a, b| far(a).total_cmp(&far(b)));
    let vertex = nearest.expect("a skin");
    (vertex as u32, vertices[vertex])
}

/// Returns the displacement of each skin vertex.
fn skin(body: &Body, simulation: &Simulation) -> Vec<Vec3> {
    let (embedding, rest) = (body.embedding(), body.rest_shape());
    let moved: Vec<Vec3> = match simulation.sway() {
        Some(sway) => sway.to_vec(),
        None => {
            let places = simulation.lattice_positions().iter().zip(rest);
            places.map(|(p, x)| p - x).collect()
        }
    };
    let at = |v| embedding.position(v, &moved);
    (0..embedding.len()).map(at).collect()
}

fn print_row(
    body: &Body,
    method: Method,
    threshold: Option<f64>,
    played: &Played,
    uniform: &Played,
) {
    let steps = FRAMES as f64 * (RATE / FPS).ceil();
    let all = || uniform.frames.iter().flatten();
    let pairs = played.frames.iter().flatten().zip(all());
    let apart = pairs.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    let functions = played.active.iter().sum::<usize>() as f64 / FRAMES as f64;
    let most = played
        .active
        .iter()
        .max()
        .copied()
        .unwrap_or(body.node_count());
    println!(
        "{:12} {:>7} {functions:10.0} {most:8} {:8.3} {:8.1} {:10.2} {:8.3}",
        method.name(),
        threshold.map_or("all".to_owned(), |t| t.to_string()),
        1e3 * played.seconds / steps,
        uniform.seconds / played.seconds,
        100.0 * apart / PULL,
        100.0 * apart / body.size(),
    );
}
