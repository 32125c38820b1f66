// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long the embedding takes: surface vertices from lattice positions, four and eight weights.
//!
//! Prints the best and the median of many runs, and the memory that one run must at least move.

use std::time::Instant;
use thew::Vec3;
use thew::kernel::{CpuEmbedding, Engine, LocalPositions};
use thew::lattice::Embedding;

fn embedding(vertices: usize, lattice: usize, corners: usize) -> Embedding {
    let rows = (0..vertices).map(|v| {
        // Neighbouring vertices are embedded in neighbouring cells, as on a real surface.
        let base = v * (lattice - corners) / vertices;
        let entry = move |k: usize| ((base + k) as u32, 1.0 / corners as f64);
        (0, (0..corners).map(entry))
    });
    Embedding::from_rows(lattice, rows).expect("vertices exist")
}

fn main() {
    println!("embedding          vertices  lattice   best ms  median ms   GB/s");
    for (vertices, lattice) in [(28_000, 350), (28_000, 1000), (1_000_000, 1000)] {
        for corners in [4, 8] {
            let kernel = CpuEmbedding::new(&embedding(vertices, lattice, corners), lattice);
            let Ok(kernel) = kernel else { continue };
            let points: Vec<Vec3> = (0..lattice).map(|i| Vec3::repeat(i as f64)).collect();
            let mut out = vec![0.0; 3 * vertices];
            let mut local = LocalPositions::default();
            let mut times: Vec<f64> = (0..if vertices > 100_000 { 50 } else { 500 })
                .map(|_| {
                    let start = Instant::now();
                    local.set(&points, lattice);
                    let done = kernel.embed_into(&local, &mut out);
                    let time = start.elapsed().as_secs_f64();
                    assert!(done.is_ok());
                    time
                })
                .collect();
            times.sort_by(f64::total_cmp);
            let bytes = vertices * (8 * corners + 12);
            println!(
                "{corners}-weights        {vertices:9} {lattice:8} {:9.4} {:10.4} {:6.1}",
                1e3 * times[0],
                1e3 * times[times.len() / 2],
                bytes as f64 / times[0] / 1e9,
            );
        }
    }
}
