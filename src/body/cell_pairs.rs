// SPDX-License-Identifier: MIT OR Apache-2.0
//! Matrices over nodes, added cell by cell.

use crate::solve::{NodeMatrix, ScalarMatrix};

/// Adds a symmetric matrix over a cell's nodes, stored as pairs a ≤ b.
pub(super) fn add_pairs(matrix: &mut ScalarMatrix, nodes: &[u32], pairs: &[f64]) {
    let mut pair = 0;
    for (i, &a) in nodes.iter().enumerate() {
        for &b in &nodes[i..] {
            matrix.add_pair(a, b, &pairs[pair]);
            pair += 1;
        }
    }
}
