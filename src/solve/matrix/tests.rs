// SPDX-License-Identifier: MIT OR Apache-2.0
//! Products, restrictions and sums against dense matrices; matrices from files.

use super::*;
use nalgebra::{DMatrix, DVector};

/// Returns a repeatable number between −1 and 1.
fn number(i: usize) -> f64 {
    (i as f64 * 12.9898 + 1.0).sin()
}

fn chain(nodes: u32) -> Vec<[u32; 3]> {
    (2..nodes).map(|i| [i, i - 2, i - 1]).collect()
}

/// Builds symmetric matrices of a chain of triangles: blocks, and numbers in the same structure.
fn matrices(nodes: u32) -> (BlockMatrix, ScalarMatrix) {
    let elements = chain(nodes);
    let corners = || elements.iter().map(|e| e.as_slice());
    let mut blocks: BlockMatrix = zeros(nodes as usize, corners());
    let mut scalars: ScalarMatrix = zeros(nodes as usize, corners());
    let pairs: Vec<(usize, usize)> = {
        let mut pairs = Vec::new();
        blocks.visit_pairs(&mut |a, b| pairs.push((a, b)));
        pairs
    };
    for (n, &(a, b)) in pairs.iter().enumerate().filter(|(_, (a, b))| a <= b) {
        let block = Mat3::from_fn(|r, c| number(9 * n + 3 * r + c));
        let block = if a == b {
            block + block.transpose()
        } else {
            block
        };
        blocks.add_pair(a as u32, b as u32, &block);
        scalars.add_pair(a as u32, b as u32, &number(n));
    }
    (blocks, scalars)
}

fn to_dense(matrix: &CsMatI<f64, u32>) -> DMatrix<f64> {
    let mut dense = DMatrix::zeros(matrix.rows(), matrix.cols());
    for (value, (row, column)) in matrix {
        dense[(row as usize, column as usize)] += value;
    }
    dense
}

fn check_products<T: MatrixEntry>(matrix: &CsMatI<T, u32>) {
    let x: Vec<Vec3> = (0..matrix.rows())
        .map(|i| Vec3::new(number(i), number(2 * i), number(3 * i)))
        .collect();
    let mut y = vec![Vec3::repeat(f64::NAN); x.len()];
    matrix.times(&x, &mut y);
    let flat = DVector::from_iterator(3 * x.len(), x.iter().flat_map(|v| v.iter().copied()));
    let whole = to_dense(&matrix.expand());
    assert_eq!(whole, whole.transpose());
    let product = whole * flat;
    for (i, y) in y.iter().enumerate() {
        assert!((y - product.fixed_rows::<3>(3 * i)).amax() < 1e-13);
        assert_eq!(matrix.row_times(i, &x), *y);
    }
}

#[test]
fn products_match_dense() {
    let (blocks, scalars) = matrices(40);
    check_products(&blocks);
    check_products(&scalars);
    check_products(&matrices(0).0);
    assert!(blocks.data().iter().any(|b| b[(0, 1)] != b[(1, 0)]));
    assert_eq!(scalars.expand().nnz(), 3 * scalars.nnz());
    assert_eq!(blocks.expand().nnz(), 9 * blocks.nnz());
}

/// The matrix has an entry for every two nodes that share an element.
#[test]
fn entries_follow_shared_elements() {
    let elements: [&[u32]; 2] = [&[3, 0], &[1, 3, 1]];
    let matrix: ScalarMatrix = zeros(5, elements);
    assert_eq!(matrix.indptr().raw_storage(), [0, 2, 4, 5, 8, 9]);
    assert_eq!(matrix.indices(), [0, 3, 1, 3, 2, 0, 1, 3, 4]);
    let mut changed = matrix.clone();
    changed.add(0, 1, 1.0);
    assert_eq!(changed, matrix);
    changed.add_pair(3, 0, &2.0);
    assert_eq!(
        (changed.get(3, 0), changed.get(0, 3)),
        (Some(&2.0), Some(&2.0))
    );
}

#[test]
fn restriction_matches_dense() {
    let (blocks, scalars) = matrices(17);
    let kept = [0, 1, 4, 5, 6, 11, 16];
    let rows: Vec<usize> = kept
        .iter()
        .flat_map(|&v| (0..3).map(move |c| 3 * v as usize + c))
        .collect();
    for (whole, part) in [
        (blocks.expand(), blocks.restrict_to(&kept).expand()),
        (scalars.expand(), scalars.restrict_to(&kept).expand()),
    ] {
        let expected = to_dense(&whole).select_rows(&rows).select_columns(&rows);
        assert_eq!(to_dense(&part), expected);
    }
}

/// A lumped matrix keeps the sums of the rows.
#[test]
fn lumped_keeps_row_sums() {
    let (blocks, scalars) = matrices(9);
    let lumped = scalars.lump_rows();
    assert_eq!(lumped.nnz(), 9);
    for row in 0..9 {
        let sum: f64 = (0..9).filter_map(|c| scalars.get(row, c)).sum();
        assert!((lumped.get(row, row).unwrap() - sum).abs() < 1e-15);
        assert_eq!(
            blocks.row_sum(row),
            *blocks.lump_rows().get(row, row).unwrap()
        );
    }
}

/// A stored matrix with wrong size, columns or values is refused.
#[test]
fn stored_matrix_is_validated() {
    let (_, matrix) = matrices(6);
    let stored = || StoredMatrix::from(&matrix);
    assert_eq!(stored().into_matrix(6), Some(matrix.clone()));
    assert_eq!(stored().into_matrix(5), None);
    assert_eq!(stored().into_matrix(7), None);
    let changed = |change: &dyn Fn(&mut StoredMatrix)| {
        let mut stored = stored();
        change(&mut stored);
        stored.into_matrix(6)
    };
    assert_eq!(changed(&|m| m.starts.clear()), None);
    assert_eq!(changed(&|m| m.starts[0] = 1), None);
    assert_eq!(changed(&|m| m.starts[2] = u32::MAX), None);
    assert_eq!(changed(&|m| m.columns[3] = 6), None);
    assert_eq!(changed(&|m| m.columns.swap(0, 1)), None);
    assert_eq!(changed(&|m| m.values[4] = f64::NAN), None);
    assert_eq!(changed(&|m| m.values.truncate(5)), None);
}
