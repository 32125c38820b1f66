// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modal forces `Φᵀ R_wᵀ F + (MΦ)ᵀ R_wᵀ g`, computed in every step from values packed by node.

use super::Modes;
use crate::Vec3;
use crate::geometry::rotation_vector::rotation;

/// Number of rows per node: Ψ, Φ and MΦ, three each.
const ROWS: usize = 9;

/// Ψ, Φ and MΦ of the nodes that move, node by node.
#[derive(Debug)]
pub(super) struct PackedModes {
    modes: usize,
    nodes: Vec<u32>,
    data: Vec<f64>,
}

impl PackedModes {
    pub fn new(shapes: &[Vec<Vec3>], rotations: &[Vec<Vec3>], momenta: &[Vec<Vec3>]) -> Self {
        let count = shapes.first().map_or(0, Vec::len);
        let moves = |node: &u32| {
            let at = |m: &Vec<Vec3>| m[*node as usize] != Vec3::zeros();
            shapes.iter().any(at) || momenta.iter().any(at)
        };
        let nodes: Vec<u32> = (0..count as u32).filter(moves).collect();
        let mut data = Vec::with_capacity(nodes.len() * ROWS * shapes.len());
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
            .zip(self.data.chunks_exact(ROWS * m.max(1)))
        {
            for (mode, to) in all.iter_mut().enumerate() {
                let at = |axis: usize| rows[(6 + axis) * m + mode];
                to[node as usize] = Vec3::new(at(0), at(1), at(2));
            }
        }
        all
    }
}

impl Modes {
    /// Adds to `sum[m]` the modal forces of the loads at all nodes. `load` returns a force (N) and an acceleration
    /// (m/s²) that acts on the node's mass. With `warp`, both are rotated back by the node's rotation at amplitudes
    /// `q`.
    pub(crate) fn add_modal_force(
        &self,
        q: &[f64],
        warp: bool,
        load: impl Fn(usize) -> (Option<Vec3>, Vec3),
        sum: &mut [f64],
    ) {
        let packed = self.packed();
        let m = packed.modes;
        if m == 0 {
            return;
        }
        for (&node, rows) in packed.nodes.iter().zip(packed.data.chunks_exact(ROWS * m)) {
            let row = |r: usize| &rows[r * m..(r + 1) * m];
            let (force, acceleration) = load(node as usize);
            let turn = warp.then(|| rotation(&Vec3::from_fn(|r, _| dot(row(r), q))));
            let turned = |v: Vec3| turn.map_or(v, |turn| turn.tr_mul(&v));
            if acceleration != Vec3::zeros() {
                let a = turned(acceleration);
                for axis in 0..3 {
                    add(sum, row(6 + axis), a[axis]);
                }
            }
            if let Some(force) = force {
                let f = turned(force);
                for axis in 0..3 {
                    add(sum, row(3 + axis), f[axis]);
                }
            }
        }
    }
}

/// Computes a dot product in four lanes, which avoids waiting for each sum.
#[inline]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 4];
    let (a, b) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a
        .remainder()
        .iter()
        .zip(b.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (a, b) in a.zip(b) {
        for k in 0..4 {
            lanes[k] += a[k] * b[k];
        }
    }
    (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]) + rest
}

#[inline]
fn add(sum: &mut [f64], row: &[f64], factor: f64) {
    sum.iter_mut().zip(row).for_each(|(s, r)| *s += r * factor);
}
