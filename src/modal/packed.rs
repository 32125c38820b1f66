// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modes packed node by node, for the modal forces of a step.

use crate::Vec3;

/// Number of rows per node: Ψ, Φ and MΦ, three each.
pub(super) const ROWS_PER_NODE: usize = 9;

/// Ψ, Φ and MΦ of the nodes that move, node by node.
#[derive(Debug)]
pub(super) struct PackedModes {
    /// Number of modes.
    pub modes: usize,
    /// Nodes that move, ascending.
    pub nodes: Vec<u32>,
    /// Values, `[nodes][ROWS_PER_NODE][modes]`.
    pub data: Vec<f64>,
}

impl PackedModes {
    pub fn new(shapes: &[Vec<Vec3>], rotations: &[Vec<Vec3>], momenta: &[Vec<Vec3>]) -> Self {
        let count = shapes.first().map_or(0, Vec::len);
        let moves = |node: &u32| {
            let at = |m: &Vec<Vec3>| m[*node as usize] != Vec3::zeros();
            shapes.iter().any(at) || momenta.iter().any(at)
        };
        let nodes: Vec<u32> = (0..count as u32).filter(moves).collect();
        let mut data = Vec::with_capacity(nodes.len() * ROWS_PER_NODE * shapes.len());
        for &node in &nodes {
            for columns in [rotations, shapes, momenta] {
                for axis in 0..3 {
                    data.extend(columns.iter().map(|c| c[node as usize][axis]));
                }
            }
        }
        Self {
            modes: shapes.len(),
            nodes,
            data,
        }
    }
}

impl PackedModes {
    /// Unpacks `M Φ` of the first `count` modes: per mode one vector per node.
    pub fn momenta(&self, count: usize, nodes: usize) -> Vec<Vec<Vec3>> {
        let mut all = vec![vec![Vec3::zeros(); nodes]; count];
        let m = self.modes;
        for (&node, rows) in self
            .nodes
            .iter()
            .zip(self.data.chunks_exact(ROWS_PER_NODE * m.max(1)))
        {
            for (mode, to) in all.iter_mut().enumerate() {
                let at = |axis: usize| rows[(6 + axis) * m + mode];
                to[node as usize] = Vec3::new(at(0), at(1), at(2));
            }
        }
        all
    }
}
