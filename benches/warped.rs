// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long a body takes to assemble and a warped step to make, on bars of flesh around two bones.
//!
//! `cargo bench --bench warped` prints a table. Every step turns the upper bone a little, so each one
//! assembles, factors and solves anew. The bars are compact (all their vertices but the axis are free),
//! which makes their factors fuller than those of a character with as many vertices.

use std::sync::Arc;
use std::time::Instant;
use thew::body::Body;
use thew::dynamics::{Method, Settings, Simulation};

#[path = "../tests/common/bar.rs"]
mod bar;
use bar::{bar, pose};

fn main() {
    println!("cells vertices free  assemble  cost(blocks)  factor only  step");
    for (across, along) in [(2, 36), (4, 13), (4, 39), (6, 19)] {
        let started = Instant::now();
        let body = bar(across, along);
        let assembled = started.elapsed();
        let (factor, step) = steps(&body);
        let free = body.pattern().vertex_of_node().len();
        println!(
            "{:5} {:8} {:4} {:7.3} s {:13} {:9.3} ms {:7.3} ms",
            body.lattice().cells().len(),
            body.dofs(),
            free,
            assembled.as_secs_f64(),
            body.pattern().symbolic().ordering().blocks,
            factor * 1e3,
            step * 1e3,
        );
    }
}

/// Seconds of a factorisation alone and of a whole step; medians.
fn steps(body: &Arc<Body>) -> (f64, f64) {
    let mut solver =
        thew::solve::SparseCholesky::new(body.pattern().symbolic().clone()).expect("memory");
    let slots = body.pattern().pair_slots();
    let mut pair = 0;
    for cell in body.blocks().iter() {
        for block in cell.stiffness {
            if let Some(slot) = slots[pair] {
                solver.add(slot, block);
            }
            pair += 1;
        }
    }
    for (slot, m) in body
        .pattern()
        .entry_slots()
        .iter()
        .zip(body.mass_matrix().values())
    {
        if let Some(slot) = slot {
            solver.add_scalar(*slot, 1e5 * m);
        }
    }
    let factor = median(40, |_| solver.factor().expect("positive definite"));
    let mut simulation =
        Simulation::new(body.clone(), Method::Warped, Settings::default()).expect("settings");
    simulation.reset(&pose(0.0), true, None).expect("settles");
    let step = median(120, |i| {
        let pose = pose(0.004 * i as f64);
        simulation
            .advance(&pose, 1.0 / 240.0, None, None)
            .expect("moves");
    });
    (factor, step)
}

fn median(count: usize, mut run: impl FnMut(usize)) -> f64 {
    let mut seconds: Vec<f64> = (0..count)
        .map(|i| {
            let started = Instant::now();
            run(i);
            started.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    seconds[count / 2]
}
