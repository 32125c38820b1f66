// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long warped steps and balances take on bars of flesh around two bones, and what else they could be solved by.
//!
//! `cargo bench --bench warped` prints tables, `cargo bench --bench warped -- 14 60` those of a bar of so many cells. Every warped step turns
//! the upper bone a little, so each one assembles, factors and solves anew. The bars are compact (all their vertices but the axis are free), which makes their factors fuller
//! than those of a character with as many vertices. All that is compared is measured in turn, in the same run.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::linalg::lu::{LuSymbolicParams, NumericLu, factorize_symbolic_lu};
use faer::sparse::{SparseColMat, Triplet};
use faer::{Conj, Mat, Par};
use std::sync::Arc;
use std::time::Instant;
use thew::Vec3;
use thew::body::Body;
use thew::dynamics::{Equilibrium, Method, Simulation, SimulationSettings, Solver};
use thew::skeleton::Pose;
use thew::solve::NodeMatrix;

#[path = "../tests/common/bar.rs"]
mod bar;
use bar::{bar, pose};

const BAR_SIZES: [(usize, usize); 6] = [(2, 36), (4, 13), (4, 39), (6, 19), (8, 40), (10, 50)];

fn main() {
    let sizes: Vec<usize> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let bars = match sizes[..] {
        [across, along] => vec![(across, along)],
        _ => BAR_SIZES.to_vec(),
    };
    let bodies: Vec<(Arc<Body>, f64)> = bars
        .iter()
        .map(|&(across, along)| {
            let started = Instant::now();
            let body = bar(across, along);
            (body, started.elapsed().as_secs_f64())
        })
        .collect();
    println!("steps, ms (a linear one keeps its factor); ratio: warped by linear");
    println!(
        "vertices  free  assemble s  blocks  factor ms  linear ms  warped ms  ratio  vertex ms  |  at 0.4: direct ms  cg ms  |  at 1.4: direct ms  cg ms"
    );
    for (body, assembled) in &bodies {
        let factor = time_factorisation(body);
        let slow = |angle: f64| move |i: usize| pose(angle + 0.004 * i as f64);
        let still = |_| pose(0.8);
        let linear = time_step(body, Method::Linear, Solver::Factor, still);
        let warped = time_step(body, Method::Warped, Solver::Factor, slow(0.8));
        let vertex = time_step(body, Method::WarpedVertex, Solver::Factor, slow(0.8));
        let [a, b] = [0.4, 1.4].map(|angle| {
            let step = |solver| time_step(body, Method::Warped, solver, slow(angle));
            (step(Solver::Factor), step(Solver::Iterate))
        });
        println!(
            "{:8} {:4} {:7.2} s {:12} {:8.3} {:8.3} {:7.3} {:6.1} {:8.3} | {:19.3} {:6.3} | {:13.3} {:6.3}",
            body.node_count(),
            body.pattern().vertex_of_node().len(),
            assembled,
            body.pattern().symbolic().ordering().blocks,
            factor * 1e3,
            linear * 1e3,
            warped * 1e3,
            warped / linear,
            vertex * 1e3,
            a.0 * 1e3,
            a.1 * 1e3,
            b.0 * 1e3,
            b.1 * 1e3,
        );
    }
    println!("\nbalances at a bend of 1.2, ms: a new pose, further forces at it, an adjoint");
    println!(
        "vertices  cell: pose ms  forces ms  adjoint ms  vertex: pose ms  forces ms  adjoint ms  sparse LU of the vertex form ms"
    );
    for (body, _) in &bodies {
        let cell = time_balances(body, Method::Warped);
        let vertex = time_balances(body, Method::WarpedVertex);
        let lu = match body.node_count() {
            0..2000 => format!("{:8.3}", time_sparse_lu(body) * 1e3),
            _ => "-".to_owned(),
        };
        let [a, b, c] = cell.map(|s| s * 1e3);
        let [d, e, f] = vertex.map(|s| s * 1e3);
        println!(
            "{:8} {a:13.3} {b:7.3} {c:7.3} {d:16.3} {e:7.3} {f:7.3} {lu:>12}",
            body.node_count()
        );
    }
}

/// Seconds of a factorisation alone.
fn time_factorisation(body: &Body) -> f64 {
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
        .zip(body.mass_matrix().data())
    {
        if let Some(slot) = slot {
            solver.add_scalar(*slot, 1e5 * m);
        }
    }
    typical_seconds(|_| solver.factor().expect("positive definite"))
}

/// Seconds of a step.
fn time_step(
    body: &Arc<Body>,
    method: Method,
    solver: Solver,
    pose: impl Fn(usize) -> Pose,
) -> f64 {
    let settings = SimulationSettings {
        solver,
        ..SimulationSettings::for_method(method)
    };
    let mut simulation = Simulation::new(body.clone(), settings).expect("settings");
    simulation.reset(&pose(0), true, None).expect("settles");
    typical_seconds(|i| {
        let pose = pose(i + 1);
        let done = simulation.advance(&pose, 1.0 / 240.0, None, None);
        done.expect("moves");
    })
}

/// Seconds of a balance at a new pose, of another one there, and of an adjoint.
fn time_balances(body: &Arc<Body>, method: Method) -> [f64; 3] {
    let mut balance = Equilibrium::new(body, method).expect("a method with a balance");
    let forces = vec![Vec3::new(0.1, 0.0, -0.2); body.node_count()];
    let gravity = SimulationSettings::default().gravity;
    let first = typical_seconds(|i| {
        balance
            .set_pose(&pose(1.2 + 0.001 * i as f64))
            .expect("fits");
        balance
            .solve(gravity, None, Some(&forces))
            .expect("balances");
    });
    let further = typical_seconds(|_| {
        balance
            .solve(gravity, None, Some(&forces))
            .expect("balances");
    });
    let adjoint = typical_seconds(|_| {
        balance.adjoint(&forces).expect("balances");
    });
    [first, further, adjoint]
}

/// Seconds of the vertex form's balance by faer's sparse LU, its symbolic part reused, assembly left out.
fn time_sparse_lu(body: &Arc<Body>) -> f64 {
    let mut balance = Equilibrium::new(body, Method::WarpedVertex).expect("a method");
    balance.set_pose(&pose(1.2)).expect("fits");
    let stiffness = body.stiffness_matrix(true);
    let node = |v: u32| body.pattern().node_of_vertex(v as usize);
    let mut entries = Vec::new();
    for &v in body.pattern().vertex_of_node() {
        let turn = balance.turns()[v as usize];
        for i in stiffness.row_range(v as usize) {
            let (Some(row), Some(column)) = (node(v), node(stiffness.indices()[i])) else {
                continue;
            };
            // Twist is a multiple of 1 and turns into itself.
            let block = turn * stiffness.data()[i] * turn.transpose();
            for (r, c) in (0..9).map(|k| (k % 3, k / 3)) {
                let (row, column) = (3 * row as usize + r, 3 * column as usize + c);
                entries.push(Triplet::new(row, column, block[(r, c)]));
            }
        }
    }
    let n = 3 * body.pattern().vertex_of_node().len();
    let matrix = SparseColMat::<usize, f64>::try_new_from_triplets(n, n, &entries).expect("memory");
    let symbolic =
        factorize_symbolic_lu(matrix.symbolic(), LuSymbolicParams::default()).expect("memory");
    let scratch = symbolic
        .factorize_numeric_lu_scratch::<f64>(Par::Seq, Default::default())
        .or(symbolic.solve_in_place_scratch::<f64>(1, Par::Seq));
    let mut memory = MemBuffer::new(scratch);
    let mut numeric = NumericLu::new();
    typical_seconds(|_| {
        let stack = MemStack::new(&mut memory);
        let factored = symbolic
            .factorize_numeric_lu(
                &mut numeric,
                matrix.as_ref(),
                Par::Seq,
                stack,
                Default::default(),
            )
            .expect("regular");
        let mut x = Mat::from_fn(n, 1, |i, _| (i as f64).sin());
        let stack = MemStack::new(&mut memory);
        factored.solve_in_place_with_conj(Conj::No, x.as_mut(), Par::Seq, stack);
    })
}

/// What the quickest fifth of runs took, of as many as about a second has room for: work beside it disturbs the others.
fn typical_seconds(mut run: impl FnMut(usize)) -> f64 {
    let began = Instant::now();
    let mut seconds = Vec::new();
    while seconds.len() < 3 || (seconds.len() < 60 && began.elapsed().as_secs_f64() < 1.0) {
        let started = Instant::now();
        run(seconds.len());
        seconds.push(started.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 5]
}
