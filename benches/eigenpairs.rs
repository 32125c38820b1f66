// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long the factorisation and the 32 lowest eigenpairs of a clamped bar take.
//!
//! `cargo bench --bench eigenpairs` prints a table for about 2,000 and 10,000 nodes; with the argument `all`
//! (`cargo bench --bench eigenpairs -- all`) for 50,000 too. A bar of n x m x m cubes in six tetrahedra each, one
//! end held. The seconds of all include the factorisation, whose own are measured apart.
//! `benches/python_modes.py` compares with scipy.

use std::sync::Arc;
use std::time::Instant;
use thew::Vec3;
use thew::progress::Silent;
use thew::solve::eigen::{EigenSettings, lowest_eigenpairs};
use thew::solve::{BlockMatrix, Graph, NodeMatrix, SparseCholesky, SymbolicCholesky};

#[path = "../tests/common/box_of_tets.rs"]
mod box_of_tets;
use box_of_tets::Problem;

const MODE_COUNT: usize = 32;

fn main() {
    let all = std::env::args().any(|a| a == "all");
    println!(
        "| nodes | order | order s | factor s | all s | solves | restarts | searches | verified | worst residual / allowed |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (across, along) in [(9, 20), (16, 34), (25, 74)] {
        if across == 25 && !all {
            continue;
        }
        let problem = Problem::clamped_bar(along, across);
        let (kind, order, factor) = time_factorisation(&problem.stiffness, &problem.centres);
        let started = Instant::now();
        let options = EigenSettings::new(MODE_COUNT);
        let pairs = lowest_eigenpairs(
            &problem.stiffness,
            &problem.mass,
            &problem.centres,
            &options,
            &Silent,
        )
        .expect("modes");
        let seconds = started.elapsed().as_secs_f64();
        let ratios = pairs.residuals.iter().zip(&pairs.allowed);
        let worst = ratios.map(|(r, a)| r / a).fold(0.0, f64::max);
        println!(
            "| {} | {kind} | {order:.3} | {factor:.3} | {seconds:.3} | {} | {} | {} | {} | {worst:.1e} |",
            problem.centres.len(),
            pairs.solves,
            pairs.restarts,
            pairs.searches,
            pairs.verified,
        );
    }
}

/// How the order was found, seconds for it and for one factorisation.
fn time_factorisation(stiffness: &BlockMatrix, centres: &[Vec3]) -> (String, f64, f64) {
    let started = Instant::now();
    let pairs = (0..stiffness.rows()).flat_map(|i| {
        let columns = &stiffness.indices()[stiffness.row_range(i)];
        columns.iter().map(move |&j| (i as u32, j))
    });
    let graph = Graph::from_edges(centres.len(), pairs);
    let symbolic = Arc::new(SymbolicCholesky::new(&graph, centres).expect("memory"));
    let order = started.elapsed().as_secs_f64();
    let mut solver = SparseCholesky::new(symbolic.clone()).expect("memory");
    for i in 0..stiffness.rows() {
        for e in stiffness.row_range(i) {
            let j = stiffness.indices()[e] as usize;
            if let (true, Some(slot)) = (j <= i, symbolic.slot(i, j)) {
                solver.add(slot, &stiffness.data()[e]);
            }
        }
    }
    let started = Instant::now();
    solver.factor().expect("positive definite");
    let factor = started.elapsed().as_secs_f64();
    (format!("{:?}", symbolic.ordering().kind), order, factor)
}
