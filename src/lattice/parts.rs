// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts of a lattice whose cells are of different kinds: those along limbs, and those of the rest.
//!
//! They are joined in faces. Beside those, cells of one part may overlap cells of another where no flesh is common to both, as copies
//! of a cell do: an arm's cells reach into those around the trunk. A point there belongs to the part of the skin nearest to it, where
//! skin that the point lies in front of does not count.

use super::samples::Samples;
use super::{Cell, Lattice};
use crate::Vec3;
use crate::surface::OwnUnit;

/// Which part each cell belongs to, and whose skin is where they overlap.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Parts {
    of_cell: Vec<u16>,
    /// Whether a cell's box meets that of a cell of another part.
    mixed: Vec<bool>,
    /// Of the skin in boxes of such cells.
    samples: Samples,
    /// The part of each sample.
    parts: Vec<u16>,
}

/// A point of skin, its outward unit normal, and the part that it belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) struct SkinSample {
    pub position: Vec3,
    pub normal: Vec3,
    pub part: u16,
}

impl Parts {
    /// Of the cells of a lattice; `samples`: of its skin.
    pub(super) fn new(lattice: &Lattice, of_cell: Vec<u16>, samples: &[SkinSample]) -> Self {
        let meets = |c: usize| {
            let near = lattice.locator.near(c);
            near.iter().any(|&d| of_cell[d] != of_cell[c])
        };
        let mixed: Vec<bool> = (0..of_cell.len()).map(meets).collect();
        let near = |p: Vec3| lattice.locator.boxes_around(p).any(|c| mixed[c as usize]);
        let kept: Vec<&SkinSample> = samples.iter().filter(|s| near(s.position)).collect();
        let origin = kept.first().map_or_else(Vec3::zeros, |s| s.position);
        let points = kept.iter().map(|s| (s.position, s.normal));
        Self {
            mixed,
            samples: Samples::new(origin, points),
            parts: kept.iter().map(|s| s.part).collect(),
            of_cell,
        }
    }

    /// Parts found in a character's own unit, for the character as given.
    pub(super) fn rescaled(mut self, unit: OwnUnit) -> Self {
        self.samples = self.samples.rescaled(unit);
        self
    }

    /// The part of a cell.
    pub(super) fn of(&self, cell: usize) -> u16 {
        self.of_cell[cell]
    }

    /// Whether parts that were read from a file belong to a lattice of so many cells.
    pub(crate) fn fits(&self, cells: usize) -> bool {
        self.of_cell.len() == cells
            && self.mixed.len() == cells
            && self.samples.sound()
            && self.parts.len() == self.samples.len()
    }

    /// The part that the flesh at a point in a cell belongs to.
    fn at(&self, cell: u32, point: Vec3) -> u16 {
        let own = self.of_cell[cell as usize];
        if !self.mixed[cell as usize] {
            return own;
        }
        let nearest = self.samples.nearest(0..self.samples.len(), point);
        nearest.map_or(own, |s| self.parts[s])
    }
}

impl Lattice {
    /// Of the cells that hold a point in `cell` the one of the part whose flesh is there; `cell` itself where that part has none.
    pub(super) fn in_part(&self, cell: u32, point: Vec3) -> u32 {
        let Some(parts) = &self.parts else {
            return cell;
        };
        // Cells are numbered as parts are for any lattice that has them.
        let part = parts.at(cell, point);
        if part == parts.of_cell[cell as usize] {
            return cell;
        }
        let held = |c: &u32| parts.of_cell[*c as usize] == part && self.holds(*c, point);
        let found = self.locator.boxes_around(point).find(held);
        found.unwrap_or(cell)
    }

    /// The part that a cell belongs to, 0 where there are none.
    pub(crate) fn part(&self, cell: usize) -> u16 {
        self.parts.as_ref().map_or(0, |parts| parts.of(cell))
    }

    /// Whether two cells belong to different parts, which may overlap.
    pub(super) fn parted(&self, i: usize, j: usize) -> bool {
        let parts = self.parts.as_ref();
        parts.is_some_and(|parts| parts.of(i) != parts.of(j))
    }

    /// For each vertex the parts of the cells around it, ascending; none where there are no parts.
    pub(super) fn parts_of_vertices(&self) -> Option<Vec<Vec<u16>>> {
        let parts = self.parts.as_ref()?;
        let mut of = vec![Vec::new(); self.vertices.len()];
        for (cell, corners) in self.cells.iter().map(Cell::corners).enumerate() {
            for &v in corners {
                let all: &mut Vec<u16> = &mut of[v as usize];
                if let Err(at) = all.binary_search(&parts.of(cell)) {
                    all.insert(at, parts.of(cell));
                }
            }
        }
        Some(of)
    }
}
