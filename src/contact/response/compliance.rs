// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compliance of flesh at the lattice vertices that contacts touch. [otaduy2009; docs/methods/contact.md]

use crate::Vec3;
use nalgebra::DMatrix;

/// Flesh of one body that forces displace.
pub(crate) trait FlexibleBody {
    /// Applies `A⁻¹` to forces on the free nodes, in place.
    fn displace(&mut self, forces: &mut [Vec3]);
    /// Returns the columns of A⁻¹ at some free nodes, `[3 nodes, 3 t]`.
    fn columns(&mut self, nodes: &[u32]) -> DMatrix<f64>;
}

/// Largest number of nodes whose columns are computed together: a solve holds three copies of them, of 72 bytes a node and free node each.
const NODES_AT_ONCE: usize = 64;

/// Columns of A⁻¹ at some nodes of one body; nodes can be added.
#[derive(Debug, Clone, Default)]
pub(crate) struct ComplianceColumns {
    /// Free nodes, in the order of their addition; and the position of each free node in that list.
    nodes: Vec<u32>,
    places: Vec<u32>,
    /// Whole columns of A⁻¹ at these nodes.
    columns: Vec<f64>,
    height: usize,
}

impl ComplianceColumns {
    /// Marks a node that is not in the list: no list grows as long.
    pub const UNLISTED_NODE: u32 = u32::MAX;

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Removes all nodes.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.places.clear();
        self.columns.clear();
    }

    /// Adds further nodes, at the present state of the flesh.
    pub fn add_nodes(&mut self, nodes: &[u32], free: usize, flesh: &mut dyn FlexibleBody) {
        self.places.resize(free, Self::UNLISTED_NODE);
        self.height = 3 * free;
        let known = self.nodes.len();
        for &node in nodes {
            let place = &mut self.places[node as usize];
            if *place == Self::UNLISTED_NODE {
                *place = self.nodes.len() as u32;
                self.nodes.push(node);
            }
        }
        for nodes in self.nodes[known..].chunks(NODES_AT_ONCE) {
            let new = flesh.columns(nodes);
            let new = new.as_slice();
            if self.columns.capacity() - self.columns.len() < new.len() {
                // A quarter in reserve: these are by far the largest numbers of a body in contact.
                self.columns
                    .reserve_exact(new.len().max(self.columns.len() / 4));
            }
            self.columns.extend(new);
        }
    }

    /// Returns W between the nodes, in the order of their addition.
    pub fn matrix(&self) -> DMatrix<f64> {
        let all: Vec<u32> = (0..self.nodes.len() as u32).collect();
        let mut values = Vec::new();
        self.gather_matrix(&all, &mut values);
        DMatrix::from_vec(3 * all.len(), 3 * all.len(), values)
    }

    /// Gathers W between some of the nodes, column by column. `places` are positions in the list, ascending.
    pub fn gather_matrix(&self, places: &[u32], matrix: &mut Vec<f64>) {
        let count = 3 * places.len();
        matrix.clear();
        matrix.resize(count * count, 0.0);
        for (j, &first) in places.iter().enumerate() {
            for k in 0..3 {
                let column = &self.columns[(3 * first as usize + k) * self.height..][..self.height];
                // Each column was computed with the A of its time. Where two differ a little, the older one counts for both.
                for (i, &later) in places.iter().enumerate().skip(j) {
                    let node = self.nodes[later as usize] as usize;
                    let from = if i == j { k } else { 0 };
                    for (l, &value) in (from..3).zip(&column[3 * node + from..3 * node + 3]) {
                        matrix[(3 * j + k) * count + 3 * i + l] = value;
                        matrix[(3 * i + l) * count + 3 * j + k] = value;
                    }
                }
            }
        }
    }

    /// Returns the position of a node in the list.
    pub fn node_index(&self, node: u32) -> usize {
        self.places.get(node as usize).map_or(0, |&p| p as usize)
    }
}
