// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modal forces `Φᵀ R_wᵀ F + (MΦ)ᵀ R_wᵀ g`, computed in every step from values packed by node.

use super::Modes;
use super::packed::ROWS_PER_NODE;
use crate::Vec3;
use crate::geometry::rotation_vector::rotation;

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
        let packed = self.packed_modes();
        let m = packed.modes;
        if m == 0 {
            return;
        }
        for (&node, rows) in packed
            .nodes
            .iter()
            .zip(packed.data.chunks_exact(ROWS_PER_NODE * m))
        {
            let row = |r: usize| &rows[r * m..(r + 1) * m];
            let (force, acceleration) = load(node as usize);
            let turn = warp.then(|| rotation(&Vec3::from_fn(|r, _| dot(row(r), q))));
            let turned = |v: Vec3| turn.map_or(v, |turn| turn.tr_mul(&v));
            if acceleration != Vec3::zeros() {
                let a = turned(acceleration);
                for axis in 0..3 {
                    add_scaled(sum, row(6 + axis), a[axis]);
                }
            }
            if let Some(force) = force {
                let f = turned(force);
                for axis in 0..3 {
                    add_scaled(sum, row(3 + axis), f[axis]);
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
fn add_scaled(sum: &mut [f64], row: &[f64], factor: f64) {
    sum.iter_mut().zip(row).for_each(|(s, r)| *s += r * factor);
}
