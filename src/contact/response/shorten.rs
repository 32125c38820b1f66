// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shortening of displacements by contact that would flatten cells.

use crate::Vec3;
use crate::contact::posed_flesh::{DisplayedVertices, PosedFlesh};
use crate::contact::response::cells;
use crate::contact::search::narrow::FLAT_DETERMINANT;

/// Most halvings of a correction that would flatten cells. At least a sixty-fourth remains, hardly anything. Half and twice the number leave an elbow
/// the same.
const MAX_HALVINGS: usize = 6;

/// Limiter that shortens the displacements of bodies, with its results. Kept for its memory.
#[derive(Default)]
pub(in crate::contact) struct DisplacementLimiter {
    /// Remaining share of each body's displacements.
    pub parts: Vec<f64>,
    /// Sway of each body at the end of the step, metres; and the cache of the skin displayed then.
    pub ends: Vec<(Vec<Vec3>, DisplayedVertices)>,
    /// Whether each cell of a body was flat before.
    flat: Vec<bool>,
}

impl DisplacementLimiter {
    /// Halves displacements until they flatten no further cell. `parts` then holds the remaining share of each body.
    pub fn shorten(&mut self, after: &[PosedFlesh], moved: &mut [Vec<Vec3>]) {
        self.ends.resize_with(after.len(), Default::default);
        self.parts.clear();
        for ((body, moved), (sway, _)) in after.iter().zip(moved).zip(&mut self.ends) {
            let cells = body.skin.body().lattice().cells().len() as u32;
            let flat = (0..cells).map(|c| cells::min_determinant(body, c) < FLAT_DETERMINANT);
            self.flat.clear();
            self.flat.extend(flat);
            displace_sway(body, moved, sway);
            let mut part = 1.0;
            for _ in 0..MAX_HALVINGS {
                let end = PosedFlesh { sway, ..*body };
                let mut cells = (0..cells).zip(&self.flat);
                if cells
                    .all(|(c, flat)| *flat || cells::min_determinant(&end, c) >= FLAT_DETERMINANT)
                {
                    break;
                }
                moved.iter_mut().for_each(|d| *d *= 0.5);
                part *= 0.5;
                displace_sway(body, moved, sway);
            }
            self.parts.push(part);
        }
    }
}

/// Computes the sway after displacing the free nodes.
pub(in crate::contact) fn displace_sway(body: &PosedFlesh, moved: &[Vec3], sway: &mut Vec<Vec3>) {
    sway.clear();
    sway.extend_from_slice(body.sway);
    for (d, &v) in moved
        .iter()
        .zip(body.skin.body().pattern().vertex_of_node())
    {
        sway[v as usize] += d;
    }
}
