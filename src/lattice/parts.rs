// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts of a lattice with cells of different kinds: those along limbs, and those of the rest.
//!
//! Parts share faces. Elsewhere cells of different parts may overlap without sharing flesh, as copies of a cell do: an
//! arm's cells reach into those around the trunk. A point there belongs to the part of its nearest skin. Skin that the
//! point lies in front of does not count.

use super::samples::Samples;
use super::{Cell, Lattice};
use crate::Vec3;
use crate::surface::OwnUnit;

/// Part of each cell, and skin samples that decide where parts overlap.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct CellParts {
    of_cell: Vec<u16>,
    /// For each cell, whether its box meets that of a cell of another part.
    mixed: Vec<bool>,
    /// Samples of the skin in the boxes of mixed cells.
    samples: Samples,
    /// The part of each sample.
    parts: Vec<u16>,
}

/// Point of skin with its outward unit normal and its part.
#[derive(Debug, Clone, Copy)]
pub(super) struct SkinSample {
    pub position: Vec3,
    pub normal: Vec3,
    pub part: u16,
}

impl CellParts {
    /// Builds the parts of a lattice's cells from samples of its skin.
    pub(super) fn new(lattice: &Lattice, of_cell: Vec<u16>, samples: &[SkinSample]) -> Self {
        let meets = |c: usize| {
            let near = lattice.locator.touching_cells(c);
            near.iter().any(|&d| of_cell[d] != of_cell[c])
        };
        let mixed: Vec<bool> = (0..of_cell.len()).map(meets).collect();
        let near = |p: Vec3| lattice.locator.cells_around(p).any(|c| mixed[c as usize]);
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

    /// Converts parts found in a character's own unit to the units of the input.
    pub(super) fn into_input_unit(mut self, unit: OwnUnit) -> Self {
        self.samples = self.samples.into_input_unit(unit);
        self
    }

    /// Returns the part of a cell.
    pub(super) fn part_of_cell(&self, cell: usize) -> u16 {
        self.of_cell[cell]
    }

    /// Returns whether parts read from a file are valid for a lattice of `cells` cells.
    pub(crate) fn fits(&self, cells: usize) -> bool {
        self.of_cell.len() == cells
            && self.mixed.len() == cells
            && self.samples.is_valid()
            && self.parts.len() == self.samples.len()
    }

    /// Returns the part of the flesh at a point in a cell.
    fn part_at(&self, cell: u32, point: Vec3) -> u16 {
        let own = self.of_cell[cell as usize];
        if !self.mixed[cell as usize] {
            return own;
        }
        let nearest = self.samples.nearest(0..self.samples.len(), point);
        nearest.map_or(own, |s| self.parts[s])
    }
}

impl Lattice {
    /// Returns the cell that holds the point and belongs to the part of the flesh there; `cell` itself if there is no
    /// such cell.
    pub(super) fn cell_in_part(&self, cell: u32, point: Vec3) -> u32 {
        let Some(parts) = &self.parts else {
            return cell;
        };
        let part = parts.part_at(cell, point);
        if part == parts.of_cell[cell as usize] {
            return cell;
        }
        let held = |c: &u32| parts.of_cell[*c as usize] == part && self.contains(*c, point);
        let found = self.locator.cells_around(point).find(held);
        found.unwrap_or(cell)
    }

    /// Returns the part of a cell, 0 in a lattice without parts.
    pub(crate) fn cell_part(&self, cell: usize) -> u16 {
        self.parts
            .as_ref()
            .map_or(0, |parts| parts.part_of_cell(cell))
    }

    /// Returns whether two cells belong to different parts, which may overlap.
    pub(super) fn are_parted(&self, i: usize, j: usize) -> bool {
        let parts = self.parts.as_ref();
        parts.is_some_and(|parts| parts.part_of_cell(i) != parts.part_of_cell(j))
    }

    /// Returns for each vertex the parts of the cells around it, ascending; `None` in a lattice without parts.
    pub(super) fn parts_of_vertices(&self) -> Option<Vec<Vec<u16>>> {
        let parts = self.parts.as_ref()?;
        let mut of = vec![Vec::new(); self.vertices.len()];
        for (cell, corners) in self.cells.iter().map(Cell::corners).enumerate() {
            for &v in corners {
                let all: &mut Vec<u16> = &mut of[v as usize];
                if let Err(at) = all.binary_search(&parts.part_of_cell(cell)) {
                    all.insert(at, parts.part_of_cell(cell));
                }
            }
        }
        Some(of)
    }
}
