// SPDX-License-Identifier: MIT OR Apache-2.0
//! Displacements by contact that would flatten cells are shortened until they do not.

use super::cells;
use super::narrow::FLAT;
use super::posed::{Posed, ShownVertices};
use crate::Vec3;

/// Halvings at most of a correction that would flatten cells. A sixty-fourth is left at the least, hardly anything. Half and twice of them leave an
/// elbow the same.
const HALVINGS: usize = 6;

/// Shortened displacements of bodies, kept for its memory.
#[derive(Default)]
pub(super) struct Shortening {
    /// Shares that were left of the displacements of each body.
    pub parts: Vec<f64>,
    /// The sway of each body at the step's end, and where skin is shown then.
    pub ends: Vec<(Vec<Vec3>, ShownVertices)>,
    /// Cells of a body that were flat before.
    flat: Vec<bool>,
}

impl Shortening {
    /// Halves displacements until they flatten no cell that was none; `parts` are what is left of those of each body.
    pub fn shorten(&mut self, after: &[Posed], moved: &mut [Vec<Vec3>]) {
        self.ends.resize_with(after.len(), Default::default);
        self.parts.clear();
        for ((body, moved), (sway, _)) in after.iter().zip(moved).zip(&mut self.ends) {
            let cells = body.skin.body().lattice().cells().len() as u32;
            let flat = (0..cells).map(|c| cells::least(body, c) < FLAT);
            self.flat.clear();
            self.flat.extend(flat);
            displace(body, moved, sway);
            let mut part = 1.0;
            for _ in 0..HALVINGS {
                let end = Posed { sway, ..*body };
                let mut cells = (0..cells).zip(&self.flat);
                if cells.all(|(c, flat)| *flat || cells::least(&end, c) >= FLAT) {
                    break;
                }
                moved.iter_mut().for_each(|d| *d *= 0.5);
                part *= 0.5;
                displace(body, moved, sway);
            }
            self.parts.push(part);
        }
    }
}

/// The sway with displacements of its free nodes.
pub(super) fn displace(body: &Posed, moved: &[Vec3], sway: &mut Vec<Vec3>) {
    sway.clear();
    sway.extend_from_slice(body.sway);
    for (d, &v) in moved
        .iter()
        .zip(body.skin.body().pattern().vertex_of_node())
    {
        sway[v as usize] += d;
    }
}
