// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long discrete shells take to be made, and their energy, gradient and Hessian.
//!
//! `cargo bench --bench shells` prints a table for rings of triangles of several sizes, shaken a little.

use std::f64::consts::TAU;
use std::time::Instant;
use thew::Vec3;
use thew::progress::Silent;
use thew::shell::{Shell, ShellMaterial};

/// A ring around a ring of `n` by `m` vertices.
fn torus(n: usize, m: usize) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let at = |i: usize, j: usize| ((i % n) * m + j % m) as u32;
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    for i in 0..n {
        for j in 0..m {
            let (u, v) = (TAU * i as f64 / n as f64, TAU * j as f64 / m as f64);
            let r = 1.0 + 0.4 * v.cos();
            vertices.push(Vec3::new(r * u.cos(), r * u.sin(), 0.4 * v.sin()));
            let [p, q, r, s] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
            triangles.extend([[p, q, r], [p, r, s]]);
        }
    }
    (vertices, triangles)
}

/// The least of several runs, ms.
fn fastest_run<T>(runs: usize, mut work: impl FnMut() -> T) -> f64 {
    let timed = |_| {
        let started = Instant::now();
        std::hint::black_box(work());
        started.elapsed().as_secs_f64() * 1e3
    };
    (0..runs).map(timed).fold(f64::INFINITY, f64::min)
}

fn main() {
    println!(
        "vertices   make ms  rest ms  energy ms  gradient ms  Hessian ms  convex ms  relax s (steps)"
    );
    for (n, m) in [(50, 20), (200, 70), (280, 100), (500, 400)] {
        let (vertices, triangles) = torus(n, m);
        let material = ShellMaterial::default();
        let made = || Shell::new(vertices.clone(), triangles.clone(), &material);
        let make = fastest_run(3, made);
        let shell = made().expect("a ring");
        let size = 0.2 * TAU / n as f64;
        let shaken = |(i, x): (usize, &Vec3)| {
            let i = i as f64;
            x + Vec3::new((7.1 * i).sin(), (9.3 * i).sin(), (5.7 * i).sin()) * size
        };
        let x: Vec<Vec3> = shell.rest().iter().enumerate().map(shaken).collect();
        let mut g = x.clone();
        let rest = fastest_run(3, || shell.with_rest_positions(&x));
        let energy = fastest_run(10, || shell.energy(&x));
        let gradient = fastest_run(10, || shell.gradient(&x, &mut g));
        let hessian = fastest_run(5, || shell.hessian(&x));
        let convex = fastest_run(5, || shell.convex_hessian(&x));
        let started = Instant::now();
        let steps = shell.relax(&x, 1e2, None, &Silent).map_or_else(
            |e| e.to_string(),
            |r| format!("{}, converged: {}", r.iterations, r.converged),
        );
        let relax = started.elapsed().as_secs_f64();
        println!(
            "{:8} {make:9.1} {rest:8.1} {energy:10.2} {gradient:12.2} {hessian:11.1} {convex:10.1} {relax:8.2} ({steps})",
            n * m
        );
    }
}
