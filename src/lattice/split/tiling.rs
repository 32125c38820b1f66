// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tetrahedra before splitting: point location and shared simplices.

use super::super::cell::Cell;
use super::super::embed::Locator;
use super::space::VoxelSpace;
use super::{NO_CELL, Vec3};
use crate::Mat3;

/// Slack in barycentric coordinates within which a point outside still belongs to a cell.
const BARYCENTRIC_TOLERANCE: f64 = 1e-6;

/// Tetrahedra that tile the space around the flesh.
pub(super) struct Tiling<'a> {
    pub vertices: &'a [Vec3],
    pub cells: &'a [[u32; 4]],
    /// For each cell, corner 0 and the map to the barycentric coordinates of the others.
    maps: Vec<(Vec3, Mat3)>,
    locator: Option<Locator>,
    /// Cells around each vertex, ascending.
    around: Vec<Vec<u32>>,
    /// Whether the cells fill one side of the plane x = 0, beyond which flesh goes on.
    pub halved: bool,
}

/// A vertex, an edge or a face of the tiling.
pub(super) struct Simplex {
    /// Vertices, ascending; [`NO_CELL`] for unused ones.
    pub vertices: [u32; 3],
    /// Cells around it, ascending.
    pub cells: Vec<u32>,
}

impl Simplex {
    pub fn corners(&self) -> impl Iterator<Item = u32> + '_ {
        self.vertices.iter().copied().filter(|&v| v != NO_CELL)
    }
}

impl<'a> Tiling<'a> {
    pub fn new(vertices: &'a [Vec3], cells: &'a [[u32; 4]], halved: bool) -> Self {
        let maps = cells
            .iter()
            .map(|c| {
                let x = c.map(|v| vertices[v as usize]);
                let edges = Mat3::from_columns(&[x[1] - x[0], x[2] - x[0], x[3] - x[0]]);
                // A flat cell holds nothing: its coordinates become NaN, which no comparison
                // accepts.
                let map = edges
                    .try_inverse()
                    .unwrap_or_else(|| Mat3::repeat(f64::NAN));
                (x[0], map)
            })
            .collect();
        let as_cells: Vec<Cell> = cells.iter().map(|&c| Cell::Tetrahedron(c)).collect();
        let locator = (!cells.is_empty()).then(|| Locator::new(vertices, &as_cells));
        let mut around = vec![Vec::new(); vertices.len()];
        for (c, corners) in cells.iter().enumerate() {
            for &v in corners {
                around[v as usize].push(c as u32);
            }
        }
        Self {
            vertices,
            cells,
            maps,
            locator,
            around,
            halved,
        }
    }

    /// Returns the cells around a vertex, ascending.
    pub fn vertex_cells(&self, vertex: u32) -> &[u32] {
        &self.around[vertex as usize]
    }

    /// Returns the cells around an edge (around a vertex if both ends are equal), ascending.
    pub fn edge_cells(&self, a: u32, b: u32) -> impl Iterator<Item = u32> + '_ {
        let of = self.vertex_cells(a).iter().copied();
        of.filter(move |&c| self.cells[c as usize].contains(&b))
    }

    /// Returns for each cell the cells across the faces opposite its corners; [`NO_CELL`] at free
    /// faces.
    pub fn face_neighbours(&self) -> Vec<[u32; 4]> {
        let mut across = vec![[NO_CELL; 4]; self.cells.len()];
        for (c, corners) in self.cells.iter().enumerate() {
            for k in 0..4 {
                let face = [1, 2, 3].map(|i| corners[(k + i) % 4]);
                let beyond = self.vertex_cells(face[0]).iter().find(|&&d| {
                    d != c as u32 && face.iter().all(|v| self.cells[d as usize].contains(v))
                });
                across[c][k] = beyond.copied().unwrap_or(NO_CELL);
            }
        }
        across
    }

    /// Returns the barycentric coordinates of a point in a cell.
    pub fn barycentric(&self, cell: u32, p: Vec3) -> [f64; 4] {
        let (origin, map) = &self.maps[cell as usize];
        let l = map * (p - origin);
        [1.0 - l.x - l.y - l.z, l.x, l.y, l.z]
    }

    fn depth(&self, cell: u32, p: Vec3) -> f64 {
        let l = self.barycentric(cell, p);
        l[0].min(l[1]).min(l[2].min(l[3]))
    }

    /// Returns the cell in which a point lies deepest, the first of several; [`NO_CELL`] outside.
    pub fn locate(&self, p: Vec3) -> u32 {
        let mut best = (-BARYCENTRIC_TOLERANCE, NO_CELL);
        for &c in self.locator.iter().flat_map(|l| l.candidates(p)) {
            let depth = self.depth(c, p);
            if depth > best.0 {
                best = (depth, c);
            }
        }
        best.1
    }

    /// Returns the cell of each voxel centre in Ω; [`NO_CELL`] for the others.
    pub fn voxel_cells(&self, space: &VoxelSpace) -> Vec<u32> {
        let mut found = vec![NO_CELL; space.len()];
        let mut deepest = vec![-BARYCENTRIC_TOLERANCE; space.len()];
        for (c, corners) in self.cells.iter().enumerate() {
            let x = corners.map(|v| self.vertices[v as usize]);
            let (lo, hi) = (
                x[0].inf(&x[1]).inf(&x[2].inf(&x[3])),
                x[0].sup(&x[1]).sup(&x[2].sup(&x[3])),
            );
            let [i, j, k] = space.voxel_range(lo, hi);
            for k in k.0..k.1 {
                for j in j.0..j.1 {
                    for i in i.0..i.1 {
                        let v = space.index([i, j, k]);
                        if !space.is_inside(v) {
                            continue;
                        }
                        let depth = self.depth(c as u32, space.centre(v));
                        if depth > deepest[v] {
                            deepest[v] = depth;
                            found[v] = c as u32;
                        }
                    }
                }
            }
        }
        found
    }

    /// Returns whether some vertices lie on the plane beyond which flesh goes on.
    pub fn is_on_plane(&self, vertices: impl IntoIterator<Item = u32>) -> bool {
        let on = |v: u32| self.vertices[v as usize].x == 0.0;
        self.halved && vertices.into_iter().all(on)
    }

    /// Returns all vertices, edges and faces that at least two cells share, and those on the plane of half a lattice.
    pub fn simplices(&self) -> Vec<Simplex> {
        let mut all: Vec<([u32; 3], u32)> = Vec::with_capacity(self.cells.len() * 14);
        for (c, corners) in self.cells.iter().enumerate() {
            // Every choice of one to three corners.
            for chosen in (1..15u32).filter(|m| m.count_ones() <= 3) {
                let mut key = [NO_CELL; 3];
                let picked = (0..4).filter(|k| chosen >> k & 1 == 1).map(|k| corners[k]);
                for (k, v) in key.iter_mut().zip(picked) {
                    *k = v;
                }
                key.sort_unstable();
                all.push((key, c as u32));
            }
        }
        all.sort_unstable();
        all.chunk_by(|a, b| a.0 == b.0)
            .filter(|group| {
                let corners = group[0].0.into_iter().filter(|&v| v != NO_CELL);
                group.len() > 1 || self.is_on_plane(corners)
            })
            .map(|group| Simplex {
                vertices: group[0].0,
                cells: group.iter().map(|g| g.1).collect(),
            })
            .collect()
    }
}
