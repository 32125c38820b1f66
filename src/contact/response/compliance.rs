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

/// Largest number of nodes whose columns are computed together. A solve holds four copies of them, of 72 bytes a node and free node each; of 64 nodes these
/// are the largest memory of a body in contact, and no faster.
const NODES_AT_ONCE: usize = 16;

/// W, the part of A⁻¹ between some nodes of one body; nodes can be added.
///
/// Keeps of a node's columns the rows of the nodes up to it alone, which is all of the symmetric W: a few megabytes become one.
#[derive(Debug, Clone, Default)]
pub(crate) struct ComplianceColumns {
    /// Free nodes, in the order of their addition; and the position of each free node in that list.
    nodes: Vec<u32>,
    places: Vec<u32>,
    /// The three columns of each node, `[3 (place + 1)]` each.
    columns: Vec<f64>,
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
        let known = self.nodes.len();
        for &node in nodes {
            let place = &mut self.places[node as usize];
            if *place == Self::UNLISTED_NODE {
                *place = self.nodes.len() as u32;
                self.nodes.push(node);
            }
        }
        self.columns
            .reserve_exact(column_start(self.nodes.len()) - self.columns.len());
        let mut place = known;
        for new in self.nodes[known..].chunks(NODES_AT_ONCE) {
            let columns = flesh.columns(new);
            for j in 0..new.len() {
                for column in columns.column_iter().skip(3 * j).take(3) {
                    let column = column.as_slice();
                    for &node in &self.nodes[..=place] {
                        let row = 3 * node as usize;
                        self.columns.extend_from_slice(&column[row..row + 3]);
                    }
                }
                place += 1;
            }
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
        matrix.reserve_exact(count * count);
        matrix.resize(count * count, 0.0);
        for (j, &later) in places.iter().enumerate() {
            let (start, height) = (column_start(later as usize), 3 * (later as usize + 1));
            for k in 0..3 {
                let column = &self.columns[start + k * height..][..height];
                // Each column was computed with the A of its time. Where two differ a little, the newer one counts for both.
                for (i, &former) in places[..=j].iter().enumerate() {
                    let former = 3 * former as usize;
                    let end = if i == j { k + 1 } else { 3 };
                    for (l, &value) in column[former..former + end].iter().enumerate() {
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

/// Returns the index of the first value of the node at a place.
fn column_start(place: usize) -> usize {
    9 * (place * (place + 1) / 2)
}
