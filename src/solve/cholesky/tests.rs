// SPDX-License-Identifier: MIT OR Apache-2.0
//! Factors against dense ones, in any order of elimination; refusals, pivots and traces.

use super::*;
use crate::solve::ordering::{self, Graph, Ordering};
use faer::Mat;
use nalgebra::DVector;

/// Builds a chain with two extra links, and a symmetric positive definite matrix on it.
fn chain_system(n: usize) -> (Graph, DMatrix<f64>) {
    let mut edges: Vec<(u32, u32)> = (1..n as u32).map(|i| (i - 1, i)).collect();
    edges.extend([(0, n as u32 - 1), (1, n as u32 / 2)]);
    let graph = Graph::from_edges(n, edges.iter().copied());
    let mut a = DMatrix::zeros(3 * n, 3 * n);
    for (e, &(i, j)) in edges.iter().enumerate() {
        let g = Vec3::new(1.0, 0.3 * e as f64, -0.2);
        let k = Mat3::identity() * 2.0 + g * g.transpose();
        for (r, c, s) in [(i, i, 1.0), (j, j, 1.0), (i, j, -1.0), (j, i, -1.0)] {
            let mut block = a.fixed_view_mut::<3, 3>(3 * r as usize, 3 * c as usize);
            block += k * s;
        }
    }
    for i in 0..3 * n {
        a[(i, i)] += 0.1;
    }
    (graph, a)
}

fn fill_solver(graph: &Graph, a: &DMatrix<f64>, symbolic: SymbolicCholesky) -> SparseCholesky {
    let mut solver = SparseCholesky::new(Arc::new(symbolic)).unwrap();
    for i in 0..graph.len() {
        let others = graph
            .neighbours(i)
            .iter()
            .map(|&j| j as usize)
            .filter(|&j| j < i);
        for j in others.chain([i]) {
            let slot = solver.symbolic().slot(i, j).unwrap();
            solver.add(slot, &a.fixed_view::<3, 3>(3 * i, 3 * j).into());
        }
    }
    solver
}

/// The solution agrees with that of a dense factorisation, for any order of elimination.
#[test]
fn solve_matches_dense() {
    for n in [3, 20, 90] {
        let (graph, a) = chain_system(n);
        let centres: Vec<Vec3> = (0..n).map(|i| Vec3::new(i as f64, 0.0, 0.0)).collect();
        let rhs: Vec<Vec3> = (0..n)
            .map(|i| Vec3::new(1.0, i as f64, (i as f64).sin()))
            .collect();
        let dense = DVector::from_iterator(3 * n, rhs.iter().flat_map(|v| v.iter().copied()));
        let expected = a.clone().cholesky().unwrap().solve(&dense);
        let orders = [
            ordering::minimum_degree(&graph).unwrap(),
            ordering::nested_dissection(&graph, &centres).unwrap(),
            (0..n as u32).rev().collect(),
        ];
        for order in orders {
            let ordering = Ordering {
                kind: ordering::OrderingKind::MinimumDegree,
                order,
                blocks: 0,
                cost: 0.0,
            };
            let symbolic = SymbolicCholesky::with_ordering(&graph, ordering).unwrap();
            let mut solver = fill_solver(&graph, &a, symbolic);
            assert!((solver.trace() - a.trace()).abs() < 1e-9 * a.trace());
            let mut back = vec![Vec3::zeros(); n];
            let x: Vec<Vec3> = (0..n)
                .map(|i| Vec3::from_column_slice(&expected.as_slice()[3 * i..3 * i + 3]))
                .collect();
            solver.multiply(&x, &mut back);
            let apart = back.iter().zip(&rhs).map(|(a, b)| (a - b).amax());
            assert!(apart.fold(0.0, f64::max) < 1e-10 * dense.amax());
            // Factoring twice shows that nothing of the first run is left over.
            for _ in 0..2 {
                solver.factor().unwrap();
                let mut x = rhs.clone();
                solver.solve(&mut x);
                for i in 0..3 * n {
                    assert!((x[i / 3][i % 3] - expected[i]).abs() < 1e-9 * expected.amax());
                }
            }
        }
    }
}

/// Columns in the order of elimination have the same solutions as single right-hand sides.
#[test]
fn solve_columns_uses_elimination_order() {
    let n = 40;
    let (graph, a) = chain_system(n);
    let symbolic = SymbolicCholesky::new(&graph, &vec![Vec3::zeros(); n]).unwrap();
    let mut solver = fill_solver(&graph, &a, symbolic);
    solver.factor().unwrap();
    let rhs = |row: usize, column: usize| ((row + 5 * column) as f64).sin();
    let order = solver.symbolic().ordering().order.clone();
    let mut x = Mat::from_fn(3 * n, 4, |i, j| rhs(3 * order[i / 3] as usize + i % 3, j));
    solver.solve_columns(x.as_mut());
    for j in 0..4 {
        let mut single: Vec<Vec3> = (0..n)
            .map(|i| Vec3::new(rhs(3 * i, j), rhs(3 * i + 1, j), rhs(3 * i + 2, j)))
            .collect();
        solver.solve(&mut single);
        for i in 0..3 * n {
            let alone = single[order[i / 3] as usize][i % 3];
            assert!((x[(i, j)] - alone).abs() < 1e-12 * (1.0 + alone.abs()));
        }
    }
    let mut none = Mat::zeros(3 * n, 0);
    solver.solve_columns(none.as_mut());
}

/// The columns of the inverse agree with the dense inverse.
#[test]
fn inverse_columns_match_inverse() {
    let n = 30;
    let (graph, a) = chain_system(n);
    let symbolic = SymbolicCholesky::new(&graph, &vec![Vec3::zeros(); n]).unwrap();
    let mut solver = fill_solver(&graph, &a, symbolic);
    solver.factor().unwrap();
    let whole = a.try_inverse().unwrap();
    let nodes = [17, 3, 4, 29];
    let columns = solver.inverse_columns(&nodes, 1.0);
    for i in 0..3 * n {
        for j in 0..12 {
            let expected = whole[(i, 3 * nodes[j / 3] as usize + j % 3)];
            assert!((columns[(i, j)] - expected).abs() < 1e-10 * whole.amax());
        }
    }
}

/// There are as many negative pivots as negative eigenvalues.
#[test]
fn negative_pivots_count_eigenvalues() {
    let n = 30;
    let (graph, a) = chain_system(n);
    let values = a.clone().symmetric_eigen().eigenvalues;
    for bound in [0.0, 0.5, 2.0, 7.0, 1e3] {
        let shifted = &a - DMatrix::identity(3 * n, 3 * n) * bound;
        let symbolic = SymbolicCholesky::new(&graph, &vec![Vec3::zeros(); n]).unwrap();
        let mut solver = fill_solver(&graph, &shifted, symbolic);
        let below = values.iter().filter(|&&v| v < bound).count();
        assert_eq!(solver.count_negative(), Ok(below));
    }
}

/// A singular matrix has a tiny pivot or is refused.
#[test]
fn singular_matrix_has_tiny_pivot() {
    let n = 12;
    let (graph, mut a) = chain_system(n);
    let pivot = |a: &DMatrix<f64>| {
        let symbolic = SymbolicCholesky::new(&graph, &vec![Vec3::zeros(); n]).unwrap();
        let mut solver = fill_solver(&graph, a, symbolic);
        solver.factor().map(|()| solver.smallest_pivot_ratio().0)
    };
    assert!(pivot(&a).unwrap() > 1e-3);
    // Springs alone: a motion of all nodes together costs nothing.
    for i in 0..3 * n {
        a[(i, i)] -= 0.1;
    }
    assert!(pivot(&a).is_err() || pivot(&a).unwrap() < 1e-12);
}

/// If nothing holds a node, the factorisation fails and the error names the node.
#[test]
fn unheld_node_is_named() {
    let (graph, mut a) = chain_system(8);
    for i in 0..24 {
        for j in 15..18 {
            a[(i, j)] = 0.0;
            a[(j, i)] = 0.0;
        }
    }
    let symbolic = SymbolicCholesky::new(&graph, &[Vec3::zeros(); 8]).unwrap();
    let mut solver = fill_solver(&graph, &a, symbolic);
    assert_eq!(solver.factor(), Err(SolveError::Singular { node: 5 }));
}

#[test]
fn empty_system_is_solved() {
    let symbolic = SymbolicCholesky::new(&Graph::from_edges(0, []), &[]).unwrap();
    let mut solver = SparseCholesky::new(Arc::new(symbolic)).unwrap();
    solver.factor().unwrap();
    solver.solve(&mut []);
}
