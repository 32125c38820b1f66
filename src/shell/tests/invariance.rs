// SPDX-License-Identifier: MIT OR Apache-2.0
//! Invariance of the energy under rigid motions, renumbering, the number of threads and a change of rest shape.

use super::shapes::{IndexedMesh, fins, noise, perturb, sheet, torus};
use crate::Vec3;
use crate::shell::{Shell, ShellMaterial};
use crate::solve::nodal::norm;
use nalgebra::Rotation3;
use std::sync::Arc;

fn shell((vertices, triangles): IndexedMesh) -> Shell {
    Shell::new(vertices, triangles, &ShellMaterial::default()).unwrap()
}

fn gradient(shell: &Shell, x: &[Vec3]) -> Vec<Vec3> {
    let mut g = vec![Vec3::x(); x.len()];
    shell.gradient(x, &mut g);
    g
}

/// Returns the numbers 0 to n − 1 in a pseudorandom order.
fn shuffle_indices(n: usize, seed: u64) -> Vec<usize> {
    let mut next = noise(seed);
    let mut keyed: Vec<(f64, usize)> = (0..n).map(|i| (next(), i)).collect();
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
    keyed.into_iter().map(|(_, i)| i).collect()
}

/// A rigid motion keeps the energy and rotates the forces, whose sum and torque are zero.
#[test]
fn energy_is_rigid_invariant() {
    let turn = Rotation3::from_scaled_axis(Vec3::new(0.7, -1.9, 0.4));
    for mesh in [sheet([6, 5], [1.0, 0.8]), torus(14, 9), fins()] {
        let shell = shell(mesh);
        let x = perturb(shell.rest(), 0.05, 3);
        let moved: Vec<Vec3> = x
            .iter()
            .map(|x| turn * x + Vec3::new(2.0, -1.0, 3.0))
            .collect();
        let (before, after) = (shell.energy(&x), shell.energy(&moved));
        assert!((after / before - 1.0).abs() < 1e-12, "{before} {after}");
        let (g, turned) = (gradient(&shell, &x), gradient(&shell, &moved));
        let off: Vec<Vec3> = g.iter().zip(&turned).map(|(g, t)| turn * g - t).collect();
        assert!(norm(&off) < 1e-11 * norm(&g));
        // The net force and the net torque vanish.
        let force: Vec3 = g.iter().sum();
        let torque: Vec3 = x.iter().zip(&g).map(|(x, g)| x.cross(g)).sum();
        assert!(force.norm() < 1e-11 * norm(&g) && torque.norm() < 1e-11 * norm(&g));
    }
}

/// Energy, forces and masses do not depend on the numbering of vertices or the orientation of triangles.
#[test]
fn energy_independent_of_numbering() {
    for (seed, (vertices, triangles)) in [sheet([6, 5], [1.0, 0.8]), torus(14, 9), fins()]
        .into_iter()
        .enumerate()
    {
        let one = shell((vertices.clone(), triangles.clone()));
        let order = shuffle_indices(vertices.len(), 5 + seed as u64);
        let mut number = vec![0; order.len()];
        order
            .iter()
            .enumerate()
            .for_each(|(new, &old)| number[old] = new as u32);
        let mut others: Vec<[u32; 3]> = triangles
            .iter()
            .map(|t| t.map(|v| number[v as usize]))
            .collect();
        let turned = shuffle_indices(others.len(), 50 + seed as u64);
        others = turned.iter().map(|&t| others[t]).collect();
        for (i, t) in others.iter_mut().enumerate() {
            t.rotate_left(i % 3);
            if i % 2 == 0 {
                t.swap(0, 1);
            }
        }
        let renumber = |x: &[Vec3]| -> Vec<Vec3> { order.iter().map(|&old| x[old]).collect() };
        let other = shell((renumber(&vertices), others));
        // Up to moves so large that hinges fold over and turn by more than π.
        for by in [0.01, 0.1, 0.6] {
            let x = perturb(&vertices, by, 8);
            let (a, b) = (one.energy(&x), other.energy(&renumber(&x)));
            assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
            let (a, b) = (
                renumber(&gradient(&one, &x)),
                gradient(&other, &renumber(&x)),
            );
            let off: Vec<Vec3> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
            assert!(norm(&off) < 1e-11 * norm(&a));
        }
        for (new, &old) in order.iter().enumerate() {
            assert!((other.masses()[new] / one.masses()[old] - 1.0).abs() < 1e-12);
        }
    }
}

/// The number of threads does not change a bit of energy, gradient and Hessian.
#[test]
fn results_same_across_threads() {
    // Several chunks and batches of each kind of part.
    let shell = shell(torus(90, 40));
    let x = perturb(shell.rest(), 0.02, 4);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| (shell.energy(&x), gradient(&shell, &x), shell.hessian(&x)))
    };
    let one = on(1);
    for threads in [2, 3, 5] {
        let many = on(threads);
        assert_eq!(one.0.to_bits(), many.0.to_bits());
        assert!(one.1 == many.1 && one.2 == many.2);
    }
}

/// A shell with a changed rest shape shares the sparsity pattern and keeps its masses.
#[test]
fn with_rest_positions_shares_pattern() {
    let shell = shell(torus(14, 9));
    let x = perturb(shell.rest(), 0.1, 2);
    let other = shell.with_rest_positions(&x).unwrap();
    assert!(Arc::ptr_eq(shell.pattern(), other.pattern()));
    assert_eq!(shell.masses(), other.masses());
    assert_eq!((other.energy(&x), other.rest()), (0.0, &x[..]));
    assert!(other.energy(shell.rest()) > 0.0);
    let (a, b) = (shell.hessian(&x), other.hessian(&x));
    assert_eq!((a.indptr(), a.indices()), (b.indptr(), b.indices()));
    // Same as a shell built at that shape with the same unit.
    let material = ShellMaterial {
        unit: Some(shell.unit()),
        ..ShellMaterial::default()
    };
    let made = Shell::new(x.clone(), shell.triangles().to_vec(), &material).unwrap();
    assert!(made.hessian(&x) == b);
    assert!(shell.with_rest_positions(&x[1..]).is_err());
}
