// SPDX-License-Identifier: MIT OR Apache-2.0
//! Condition 1 (how cells meet), and the lattice with its virtual copies merged.

use super::Violation;
use super::bilinear::BilinearPatch;
use super::overlap::{CellSolid, OVERLAP_TOLERANCE, common_point, extent};
use crate::Vec3;
use crate::lattice::{Cell, Lattice};
use rayon::prelude::*;
use std::collections::BTreeMap;

impl Lattice {
    /// Tests condition 1. `sound` holds for each cell whether it fulfils condition 4.
    pub(super) fn check_meeting(
        &self,
        geometry: &MergedGeometry,
        sound: &[bool],
        found: &mut Vec<Violation>,
    ) {
        self.check_corners(found);
        let n = self.cells.len();
        let warped: Vec<bool> = (0..n as u32).map(|c| self.is_warped(c)).collect();
        let overlap = |i: usize, j: usize| {
            if !self.hulls_overlap(i, j) {
                return false;
            }
            if !(warped[i] || warped[j]) {
                return true;
            }
            // The inside of an inverted cell is undefined; condition 4 has reported it.
            sound[i] && sound[j] && {
                let solid = |c: usize| CellSolid::new(&self.cells[c], self.corners(c as u32));
                common_point(&solid(i), &solid(j)).is_some()
            }
        };
        let overlaps: Vec<Violation> = (0..n)
            .into_par_iter()
            .flat_map_iter(|i| {
                let overlap = &overlap;
                self.locator
                    .touching_cells(i)
                    .into_iter()
                    .filter(move |&j| j > i)
                    .filter(|&j| geometry.cells[i] != geometry.cells[j] && !self.are_parted(i, j))
                    .filter(|&j| overlap(i, j))
                    .map(move |j| Violation::Overlap(i, j))
                    .collect::<Vec<_>>()
            })
            .collect();
        found.extend(overlaps);
        found.extend(self.hanging_vertices(geometry));
    }

    /// Finds cells with the same corners, and faces of more than two cells.
    fn check_corners(&self, found: &mut Vec<Violation>) {
        let mut faces: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
        let mut corner_sets: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
        for (cell, c) in self.cells.iter().enumerate() {
            let mut all = c.corners().to_vec();
            all.sort_unstable();
            if let Some(other) = corner_sets.insert(all, cell) {
                found.push(Violation::Duplicate(other, cell));
            }
            for f in c.faces() {
                let mut face: Vec<u32> = f.iter().map(|&i| c.corners()[i]).collect();
                face.sort_unstable();
                *faces.entry(face).or_default() += 1;
            }
        }
        found.extend(
            faces
                .into_iter()
                .filter(|(_, cells)| *cells > 2)
                .map(|(face, cells)| Violation::FaceShared { face, cells }),
        );
    }

    /// Finds vertices inside cells of their own part.
    fn hanging_vertices(&self, geometry: &MergedGeometry) -> Vec<Violation> {
        let parts = self.parts_of_vertices();
        let foreign = |v: usize, cell: u32| {
            let mine = self.parts.as_ref().map(|p| p.part_of_cell(cell as usize));
            let of = parts.as_ref().map(|p| &p[v]);
            of.zip(mine).is_some_and(|(of, mine)| !of.contains(&mine))
        };
        (0..self.vertices.len())
            .into_par_iter()
            .flat_map_iter(|v| {
                let p = self.vertices[v];
                let foreign = &foreign;
                self.locator
                    .cells_around(p)
                    .filter(move |&c| !foreign(v, c))
                    .filter(|&c| !geometry.cells[c as usize].contains(&geometry.vertices[v]))
                    .filter(|&c| self.contains(c, p))
                    .map(|cell| Violation::Hanging {
                        vertex: v as u32,
                        cell: cell as usize,
                    })
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    /// Returns whether a face of the cell is not flat, apart from rounding.
    fn is_warped(&self, cell: u32) -> bool {
        let c = &self.cells[cell as usize];
        let x = self.corners(cell);
        let size = extent(&x);
        let warp = |f: &&[usize]| BilinearPatch::new(f, &x).warp();
        let quadrilaterals = c.faces().iter().filter(|f| f.len() == 4);
        quadrilaterals
            .map(warp)
            .any(|w| w > OVERLAP_TOLERANCE * size)
    }

    /// Returns whether the interiors of the convex hulls of two cells meet, by separating axes. Cells with
    /// flat faces equal their hulls.
    pub(super) fn hulls_overlap(&self, i: usize, j: usize) -> bool {
        let (a, b) = (&self.cells[i], &self.cells[j]);
        let (x, y) = (&self.corners(i as u32), &self.corners(j as u32));
        let size = extent(x);
        let separated = |axis: Vec3| {
            let Some(axis) = axis.try_normalize(1e-9 * size * size) else {
                return false;
            };
            let range = |p: &[Vec3]| {
                p.iter()
                    .map(|p| axis.dot(&(p - x[0])))
                    .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), d| {
                        (lo.min(d), hi.max(d))
                    })
            };
            let ((p, q), (r, s)) = (range(x), range(y));
            q.min(s) - p.max(r) < OVERLAP_TOLERANCE * size
        };
        let normals = |c: &Cell, x: &[Vec3]| -> Vec<Vec3> {
            c.faces()
                .iter()
                .map(|f| {
                    let d = if f.len() == 4 {
                        x[f[3]] - x[f[1]]
                    } else {
                        x[f[1]] - x[f[0]]
                    };
                    d.cross(&(x[f[2]] - x[f[0]]))
                })
                .collect()
        };
        let edges = |c: &Cell, x: &[Vec3]| -> Vec<Vec3> {
            c.edges().iter().map(|e| x[e[1]] - x[e[0]]).collect()
        };
        if normals(a, x)
            .into_iter()
            .chain(normals(b, y))
            .any(separated)
        {
            return false;
        }
        let f = edges(b, y);
        !edges(a, x)
            .iter()
            .any(|e| f.iter().any(|f| separated(e.cross(f))))
    }
}

/// Lattice with its virtual copies merged: vertices and cells by position.
pub(in crate::lattice) struct MergedGeometry {
    /// For each vertex, the first vertex at the same position.
    vertices: Vec<u32>,
    /// For each cell, its merged corner vertices, ascending.
    cells: Vec<Vec<u32>>,
}

impl MergedGeometry {
    pub(in crate::lattice) fn new(lattice: &Lattice) -> Self {
        let mut first: BTreeMap<[u64; 3], u32> = BTreeMap::new();
        let vertices: Vec<u32> = lattice
            .vertices
            .iter()
            .enumerate()
            .map(|(i, p)| {
                let key = [p.x, p.y, p.z].map(|x| (x + 0.0).to_bits());
                *first.entry(key).or_insert(i as u32)
            })
            .collect();
        let cells = lattice
            .cells
            .iter()
            .map(|c| {
                let mut k: Vec<u32> = c.corners().iter().map(|&v| vertices[v as usize]).collect();
                k.sort_unstable();
                k
            })
            .collect();
        Self { vertices, cells }
    }

    /// Returns the first vertex at the same position.
    pub(in crate::lattice) fn vertex(&self, vertex: u32) -> u32 {
        self.vertices[vertex as usize]
    }

    /// Returns the faces with cells on one side only, each with its cell; copies count once.
    pub(super) fn free_faces(&self, lattice: &Lattice) -> Vec<(Vec<u32>, usize)> {
        let mut sides: BTreeMap<Vec<u32>, (usize, bool)> = BTreeMap::new();
        for (cell, c) in lattice.cells.iter().enumerate() {
            for f in c.faces() {
                let mut key: Vec<u32> = f
                    .iter()
                    .map(|&i| self.vertices[c.corners()[i] as usize])
                    .collect();
                key.sort_unstable();
                let entry = sides.entry(key).or_insert((cell, true));
                if self.cells[entry.0] != self.cells[cell] {
                    entry.1 = false;
                }
            }
        }
        sides
            .into_iter()
            .filter(|(_, s)| s.1)
            .map(|(f, s)| (f, s.0))
            .collect()
    }
}
