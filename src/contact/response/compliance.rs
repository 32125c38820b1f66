// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compliance of flesh at the lattice vertices that contacts touch. [otaduy2009; docs/methods/contact.md]

use crate::Vec3;
use nalgebra::{DMatrix, DMatrixView};

/// Flesh of one body that forces displace.
pub(crate) trait FlexibleBody {
    /// Applies `A⁻¹` to forces on the free nodes, in place.
    fn displace(&mut self, forces: &mut [Vec3]);
    /// Returns the columns of A⁻¹ at some free nodes, `[3 nodes, 3 t]`.
    fn columns(&mut self, nodes: &[u32]) -> DMatrix<f64>;
}

/// Largest number of nodes whose columns are computed together. A solve holds two copies of them, of 72 bytes a node and free node each; of 64 nodes these
/// are the largest memory of a body in contact, and no faster.
const NODES_AT_ONCE: usize = 8;

/// W, the part of A⁻¹ between some nodes of one body; nodes can be added.
///
/// W is kept once and read in place: of hundreds of nodes it is the largest memory of a body in contact.
#[derive(Debug, Clone, Default)]
pub(crate) struct ComplianceColumns {
    /// Free nodes, in the order of their addition; and the position of each free node in that list.
    nodes: Vec<u32>,
    places: Vec<u32>,
    /// W, `[3 nodes, 3 nodes]`, column by column.
    matrix: Vec<f64>,
}

impl ComplianceColumns {
    /// Marks a node that is not in the list: no list grows as long.
    const UNLISTED_NODE: u32 = u32::MAX;

    /// Returns the number of rows of W.
    pub fn order(&self) -> usize {
        3 * self.nodes.len()
    }

    /// Removes all nodes.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.places.clear();
        self.matrix.clear();
    }

    /// Adds further nodes, at the present state of the flesh.
    pub fn add_nodes(&mut self, nodes: &[u32], free: usize, flesh: &mut dyn FlexibleBody) {
        self.places.resize(free, Self::UNLISTED_NODE);
        let known = self.nodes.len();
        for &node in nodes {
            let place = &mut self.places[node as usize];
            if *place == Self::UNLISTED_NODE {
                *place = self.nodes.len() as u32;
                self.nodes.push(node);
            }
        }
        if self.nodes.len() == known {
            return;
        }
        self.widen(3 * known);
        let order = self.order();
        let mut place = known;
        for new in self.nodes[known..].chunks(NODES_AT_ONCE) {
            let columns = flesh.columns(new);
            for (j, column) in columns.column_iter().enumerate() {
                let (own, k) = (place + j / 3, j % 3);
                let at = 3 * own + k;
                // Each column is computed with the A of its time. Where two differ a little, the newer one counts for both.
                for (i, &node) in self.nodes[..=own].iter().enumerate() {
                    let end = if i == own { k + 1 } else { 3 };
                    for (l, &value) in column.as_slice()[3 * node as usize..][..end]
                        .iter()
                        .enumerate()
                    {
                        self.matrix[at * order + 3 * i + l] = value;
                        self.matrix[(3 * i + l) * order + at] = value;
                    }
                }
            }
            place += new.len();
        }
    }

    /// Makes room in W, of which `former` rows and columns are known, for the nodes added since.
    fn widen(&mut self, former: usize) {
        let order = self.order();
        self.matrix.reserve_exact(order * order - self.matrix.len());
        self.matrix.resize(order * order, 0.0);
        // The last column moves first, so that none is overwritten before it has moved.
        for j in (1..former).rev() {
            self.matrix
                .copy_within(j * former..(j + 1) * former, j * order);
        }
    }

    /// Returns W between the nodes, in the order of their addition.
    pub fn matrix(&self) -> DMatrixView<'_, f64> {
        DMatrixView::from_slice(&self.matrix, self.order(), self.order())
    }

    /// Returns three columns of W: those of the node at a position in the list.
    pub fn node_columns(&self, place: usize) -> &[f64] {
        let size = 3 * self.order();
        &self.matrix[place * size..][..size]
    }

    /// Returns the position of a node in the list.
    pub fn node_index(&self, node: u32) -> usize {
        self.places.get(node as usize).map_or(0, |&p| p as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flesh with a dense A⁻¹.
    struct DenseFlesh(DMatrix<f64>);

    impl FlexibleBody for DenseFlesh {
        fn displace(&mut self, forces: &mut [Vec3]) {
            let all = DMatrix::from_iterator(
                3 * forces.len(),
                1,
                forces.iter().flat_map(|f| f.iter()).copied(),
            );
            let moved = &self.0 * all;
            for (force, moved) in forces.iter_mut().zip(moved.as_slice().chunks_exact(3)) {
                *force = Vec3::from_column_slice(moved);
            }
        }

        fn columns(&mut self, nodes: &[u32]) -> DMatrix<f64> {
            let column = |j: usize| self.0.column(3 * nodes[j / 3] as usize + j % 3);
            let all: Vec<_> = (0..3 * nodes.len()).map(column).collect();
            DMatrix::from_columns(&all)
        }
    }

    /// W is the part of A⁻¹ between the nodes in whatever parts they were added, and takes the room of one such matrix.
    #[test]
    fn compliance_equals_inverse_once() {
        let count = 40;
        let inverse = DMatrix::from_fn(3 * count, 3 * count, |i, j| ((i + 1) * (j + 1)) as f64);
        let mut flesh = DenseFlesh(inverse);
        let nodes: Vec<u32> = (0..30).map(|i| i * 7 % count as u32).collect();
        for ends in [vec![30], vec![1, 3, 23, 30], vec![0, 17, 17, 30]] {
            let mut compliance = ComplianceColumns::default();
            // Nodes that are known are given again, as in each step.
            for end in ends {
                compliance.add_nodes(&nodes[..end], count, &mut flesh);
            }
            assert_eq!(compliance.order(), 90);
            assert!(compliance.matrix.capacity() <= 90 * 90);
            let matrix = compliance.matrix();
            let row = |i: usize| 3 * nodes[i / 3] as usize + i % 3;
            for i in 0..90 {
                assert_eq!(compliance.node_index(nodes[i / 3]), i / 3);
                let columns = compliance.node_columns(i / 3);
                for j in 0..90 {
                    assert_eq!(matrix[(i, j)], flesh.0[(row(i), row(j))]);
                    assert_eq!(columns[i % 3 * 90 + j], matrix[(j, i)]);
                }
            }
        }
    }
}
