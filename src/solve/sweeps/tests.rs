// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sweeps against factors, from guesses, and on matrices that are not definite.

use super::*;
use crate::solve::{Graph, SparseCholesky};
use std::sync::Arc;

const CRITERIA: StoppingCriteria = StoppingCriteria {
    tolerance: 1e-12,
    iterations: 400,
};

/// Builds a grid of n³ nodes on springs, with masses of `mass` each.
pub(in crate::solve) fn grid(n: usize, mass: f64) -> SparseCholesky {
    let at = |i: usize, j: usize, k: usize| (i + n * (j + n * k)) as u32;
    let (mut edges, mut centres) = (Vec::new(), Vec::new());
    for (k, j, i) in (0..n * n * n).map(|v| (v / (n * n), v / n % n, v % n)) {
        centres.push(Vec3::new(i as f64, j as f64, k as f64));
        let next = [
            (i + 1, j, k),
            (i, j + 1, k),
            (i, j, k + 1),
            (i + 1, j + 1, k),
        ];
        let inside = next.into_iter().filter(|&(i, j, k)| i.max(j).max(k) < n);
        edges.extend(inside.map(|(a, b, c)| (at(i, j, k), at(a, b, c))));
    }
    let graph = Graph::from_edges(centres.len(), edges.iter().copied());
    let symbolic = Arc::new(SymbolicCholesky::new(&graph, &centres).unwrap());
    let mut matrix = SparseCholesky::new(symbolic.clone()).unwrap();
    for (e, &(a, b)) in edges.iter().enumerate() {
        let g = Vec3::new(1.0, (e as f64).sin(), (0.7 * e as f64).cos());
        let block = g * g.transpose() + Mat3::identity() * 0.3;
        let (a, b) = (a as usize, b as usize);
        for (i, j, sign) in [(a, a, 1.0), (b, b, 1.0), (a, b, -1.0)] {
            matrix.add(symbolic.slot(i, j).unwrap(), &(block * sign));
        }
    }
    for v in 0..centres.len() {
        matrix.add_scalar(symbolic.slot(v, v).unwrap(), mass);
    }
    matrix
}

pub(in crate::solve) fn pull(nodes: usize) -> Vec<Vec3> {
    let pull = |v: f64| Vec3::new(v.sin(), (2.0 * v).cos(), 1.0);
    (0..nodes).map(|v| pull(v as f64)).collect()
}

/// The solution agrees with that of the factor.
#[test]
fn sweeps_match_factor() {
    for n in [1, 2, 5, 9] {
        let mut matrix = grid(n, 0.5);
        let mut sweeps = Sweeps::new(&matrix.symbolic().clone());
        sweeps.set_matrix(matrix.values()).unwrap();
        matrix.factor().unwrap();
        let mut wanted = pull(n * n * n);
        let mut found = wanted.clone();
        matrix.solve(&mut wanted);
        sweeps.solve(&mut found, None, CRITERIA).unwrap();
        let largest = wanted.iter().map(Vec3::norm).fold(0.0, f64::max);
        for (a, b) in found.iter().zip(&wanted) {
            assert!((a - b).norm() < 1e-10 * largest);
        }
    }
}

/// A good guess saves iterations, and no guess changes the solution.
#[test]
fn guess_saves_iterations() {
    let matrix = grid(7, 0.2);
    let mut sweeps = Sweeps::new(matrix.symbolic());
    sweeps.set_matrix(matrix.values()).unwrap();
    let mut plain = pull(343);
    let plainly = sweeps.solve(&mut plain, None, CRITERIA).unwrap();
    let near: Vec<Vec3> = plain.iter().map(|x| x * 1.001).collect();
    let far = vec![Vec3::repeat(3.0); 343];
    let largest = plain.iter().map(Vec3::norm).fold(0.0, f64::max);
    for (guess, saved) in [(&near, plainly / 6), (&far, 0)] {
        let mut x = pull(343);
        let taken = sweeps.solve(&mut x, Some(guess), CRITERIA).unwrap();
        assert!(saved == 0 || taken + saved < plainly, "{taken} {plainly}");
        for (a, b) in x.iter().zip(&plain) {
            assert!((a - b).norm() < 1e-9 * largest);
        }
    }
    let mut x = pull(343);
    assert_eq!(
        sweeps.solve(
            &mut x,
            Some(&plain),
            StoppingCriteria {
                tolerance: 1e-10,
                ..CRITERIA
            }
        ),
        Some(0)
    );
}

/// The number of iterations grows with the condition of the matrix but not with its size.
#[test]
fn iterations_grow_with_condition() {
    let taken = |n: usize, mass: f64| {
        let matrix = grid(n, mass);
        let mut sweeps = Sweeps::new(matrix.symbolic());
        sweeps.set_matrix(matrix.values()).unwrap();
        sweeps.solve(&mut pull(n * n * n), None, CRITERIA).unwrap()
    };
    let (small, large, light) = (taken(6, 1.0), taken(12, 1.0), taken(12, 1e-3));
    assert!(large <= small + small / 4, "{small} {large}");
    assert!(light > 2 * large, "{large} {light}");
}

/// A solution does not depend on earlier solves.
#[test]
fn solution_ignores_earlier_solves() {
    let matrix = grid(5, 0.1);
    let mut sweeps = Sweeps::new(matrix.symbolic());
    let mut solve = || {
        sweeps.set_matrix(matrix.values()).unwrap();
        let mut x = pull(125);
        sweeps.solve(&mut x, None, CRITERIA).unwrap();
        x
    };
    assert_eq!(solve(), solve());
}

/// A solve that fails leaves the right-hand side unchanged, and an indefinite matrix is refused.
#[test]
fn failed_solve_keeps_rhs() {
    let mut matrix = grid(5, 0.1);
    let mut sweeps = Sweeps::new(&matrix.symbolic().clone());
    sweeps.set_matrix(matrix.values()).unwrap();
    let few = StoppingCriteria {
        iterations: 2,
        ..CRITERIA
    };
    let mut x = pull(125);
    assert_eq!(sweeps.solve(&mut x, None, few), None);
    assert_eq!(x, pull(125));
    let mut x = vec![Vec3::repeat(f64::NAN); 125];
    assert_eq!(sweeps.solve(&mut x, None, CRITERIA), None);
    // Diagonal blocks stay positive definite: only the iteration can tell.
    let matrix_of = matrix.symbolic().clone();
    for v in 0..125 {
        matrix.add_scalar(matrix_of.slot(v, v).unwrap(), -0.6);
    }
    sweeps.set_matrix(matrix.values()).unwrap();
    assert!(matrix.factor().is_err());
    let mut x = pull(125);
    assert_eq!(sweeps.solve(&mut x, None, CRITERIA), None);
    // And here they are not.
    for v in 0..125 {
        matrix.add_scalar(matrix_of.slot(v, v).unwrap(), -100.0);
    }
    assert!(matches!(
        sweeps.set_matrix(matrix.values()),
        Err(SolveError::Singular { .. })
    ));
}

/// An empty system and a right-hand side of zero take no iterations.
#[test]
fn empty_system_takes_no_iterations() {
    let graph = Graph::from_edges(0, []);
    let symbolic = SymbolicCholesky::new(&graph, &[]).unwrap();
    let mut sweeps = Sweeps::new(&symbolic);
    sweeps.set_matrix(&[]).unwrap();
    assert_eq!(sweeps.solve(&mut [], None, CRITERIA), Some(0));
    let mut zero = vec![Vec3::zeros(); 8];
    let matrix = grid(2, 1.0);
    let mut sweeps = Sweeps::new(matrix.symbolic());
    sweeps.set_matrix(matrix.values()).unwrap();
    assert_eq!(sweeps.solve(&mut zero, None, CRITERIA), Some(0));
}
