// SPDX-License-Identifier: MIT OR Apache-2.0
//! How flesh gives way at the lattice vertices that contacts touch. [contact.md; otaduy2009]

use crate::Vec3;
use nalgebra::DMatrix;

/// Flesh that gives way: one body.
pub(crate) trait Flexible {
    /// `A⁻¹ f` in place, on the free nodes.
    fn displace(&mut self, forces: &mut [Vec3]);
    /// Columns of A⁻¹ at some free nodes, `[3 nodes, 3 t]`.
    fn columns(&mut self, nodes: &[u32]) -> DMatrix<f64>;
}

/// Columns of A⁻¹ at some nodes of one body, which come to be more.
#[derive(Debug, Clone, Default)]
pub(crate) struct Compliance {
    /// Free nodes, in the order in which they came; and where each free node is among them.
    nodes: Vec<u32>,
    places: Vec<u32>,
    /// Columns at them, whole.
    columns: Vec<f64>,
    height: usize,
}

impl Compliance {
    /// Marks a node that has no place here: no list grows as long.
    pub const NONE: u32 = u32::MAX;

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.places.clear();
        self.columns.clear();
    }

    /// Takes up further nodes, at the present state of the flesh.
    pub fn cover(&mut self, nodes: &[u32], free: usize, flesh: &mut dyn Flexible) {
        self.places.resize(free, Self::NONE);
        self.height = 3 * free;
        let known = self.nodes.len();
        for &node in nodes {
            let place = &mut self.places[node as usize];
            if *place == Self::NONE {
                *place = self.nodes.len() as u32;
                self.nodes.push(node);
            }
        }
        if self.nodes.len() > known {
            let new = flesh.columns(&self.nodes[known..]);
            self.columns.extend(new.as_slice());
        }
    }

    /// W between the nodes in the order in which they came.
    pub fn matrix(&self) -> DMatrix<f64> {
        let all: Vec<u32> = (0..self.nodes.len() as u32).collect();
        let mut values = Vec::new();
        self.gather(&all, &mut values);
        DMatrix::from_vec(3 * all.len(), 3 * all.len(), values)
    }

    /// W between some of the nodes, by their places in the order in which they came, which ascend: column by column.
    pub fn gather(&self, places: &[u32], matrix: &mut Vec<f64>) {
        let count = 3 * places.len();
        matrix.clear();
        matrix.resize(count * count, 0.0);
        for (j, &first) in places.iter().enumerate() {
            for k in 0..3 {
                let column = &self.columns[(3 * first as usize + k) * self.height..][..self.height];
                // A column knows its own time's A: of two that differ a little the older one counts, for both.
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

    /// Where a node is among those in the order in which they came.
    pub fn place(&self, node: u32) -> usize {
        self.places.get(node as usize).map_or(0, |&p| p as usize)
    }
}
