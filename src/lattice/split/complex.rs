// SPDX-License-Identifier: MIT OR Apache-2.0
//! Complex of the copies, which tracks the corners merged into each vertex.
//!
//! Corners merge where flesh passes between copies, the strongest flow first. Two copies of the same cell
//! never share three corners, so a face belongs to at most two cells. Therefore, where branches meet (the
//! crotch below the hip), all but one of them keep a corner of their own: the one farthest from the flesh
//! between them.

use super::copies::{Copies, PointKey};
use super::flesh_graph::FleshGraph;
use super::flows::{Flow, neighbours};
use super::space::VoxelSpace;
use super::tiling::Tiling;
use super::{NO_CELL, Vec3};
use crate::geometry::sets::DisjointSets;

/// Two copies of a cell that would share a face and must become one copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Conflict(pub u32, pub u32);

/// Smallest cosine between a normal and the direction to the other skin at which skin faces skin.
pub(super) const MIN_FACING_COSINE: f64 = 0.35;
/// Largest number of skin samples compared, per side.
const MAX_COMPARED_SAMPLES: usize = 64;
/// Largest number of steps from copy to copy over which flesh connects two cells at a vertex.
const MAX_FLESH_STEPS: usize = 3;

/// Copies of cells with merged corners. Corner `k` of copy `c` is number `4 c + k`.
pub(super) struct CopyComplex<'a> {
    pub tiling: &'a Tiling<'a>,
    pub copies: &'a Copies,
    sets: DisjointSets,
    /// Corners of each merged vertex, stored at its root.
    members: Vec<Vec<u32>>,
    /// For each copy, the copies that flesh leads to.
    pub flesh_neighbours: Vec<Vec<u32>>,
}

impl<'a> CopyComplex<'a> {
    /// Starts with all corners unmerged.
    pub fn new(tiling: &'a Tiling<'a>, copies: &'a Copies, flows: &[Flow]) -> Self {
        let corners = copies.len() * 4;
        Self {
            tiling,
            copies,
            sets: DisjointSets::new(corners),
            members: (0..corners as u32).map(|c| vec![c]).collect(),
            flesh_neighbours: neighbours(flows, copies.len()),
        }
    }

    /// Returns the original vertices of a copy's cell.
    pub fn cell_vertices(&self, copy: u32) -> [u32; 4] {
        self.tiling.cells[self.copies.cell[copy as usize] as usize]
    }

    /// Returns the original vertex of a corner.
    pub fn original_vertex(&self, corner: u32) -> u32 {
        self.cell_vertices(corner / 4)[corner as usize % 4]
    }

    /// Returns the corner of a copy at an original vertex; `None` if its cell lacks the vertex.
    pub fn corner_at(&self, copy: u32, vertex: u32) -> Option<u32> {
        let k = self.cell_vertices(copy).iter().position(|&v| v == vertex)?;
        Some(copy * 4 + k as u32)
    }

    /// Returns the smallest corner merged with this one, which stands for their common vertex.
    pub fn root(&mut self, corner: u32) -> u32 {
        self.sets.root(corner)
    }

    /// Returns the roots of the four corners of a copy.
    pub fn roots(&mut self, copy: u32) -> [u32; 4] {
        [0, 1, 2, 3].map(|k| self.root(copy * 4 + k))
    }

    /// Returns the corners merged into the vertex with this root.
    pub fn members(&self, root: u32) -> &[u32] {
        &self.members[root as usize]
    }

    /// Merges two corners of the same original vertex, and returns whether they were separate. Fails if two
    /// copies of a cell would come to share a face.
    pub fn join(&mut self, a: u32, b: u32) -> Result<bool, Conflict> {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return Ok(false);
        }
        if let Some(conflict) = self.find_conflict(a, b) {
            return Err(conflict);
        }
        self.sets.join(a, b);
        let gone = std::mem::take(&mut self.members[a.max(b) as usize]);
        self.members[a.min(b) as usize].extend(gone);
        Ok(true)
    }

    /// Returns two copies of one cell that would share three corners once the vertices with roots `a` and `b` are merged.
    fn find_conflict(&mut self, a: u32, b: u32) -> Option<Conflict> {
        let twins = |complex: &Self, root: u32| -> Vec<u32> {
            let of = complex.members[root as usize].iter().map(|m| m / 4);
            of.filter(|&c| complex.copies.is_twin(c)).collect()
        };
        let (from, to) = (twins(self, a), twins(self, b));
        for &p in &from {
            for &q in &to {
                if self.copies.cell[p as usize] != self.copies.cell[q as usize] {
                    continue;
                }
                let (x, y) = (self.roots(p), self.roots(q));
                if x.iter().zip(&y).filter(|(x, y)| x == y).count() >= 2 {
                    return Some(Conflict(p.min(q), p.max(q)));
                }
            }
        }
        None
    }

    /// Merges corners that flesh connects, the strongest flow first; merges that would break the complex
    /// are skipped.
    pub fn merge_flows(&mut self, flows: &[Flow]) {
        let mut order: Vec<&Flow> = flows.iter().collect();
        order.sort_by_key(|f| (std::cmp::Reverse(f.weight), f.copies, f.vertex));
        for f in order {
            let ends = self
                .corner_at(f.copies.0, f.vertex)
                .zip(self.corner_at(f.copies.1, f.vertex));
            if let Some((a, b)) = ends {
                // A refusal keeps branches apart.
                let _ = self.join(a, b);
            }
        }
    }

    /// Merges vertices between which there is neither flesh at the spot nor a gap (outside a convex body):
    /// flesh connects them a little farther off, no cell has copies at both, and no skin faces skin.
    pub fn merge_unopposed(&mut self, samples: &FleshGraph, space: &VoxelSpace) {
        let by_copy = skin_by_copy(samples, self.copies);
        for at_vertex in self.corners_by_vertex() {
            let mut roots: Vec<u32> = at_vertex.iter().map(|&c| self.root(c)).collect();
            roots.sort_unstable();
            roots.dedup();
            roots.retain(|&r| {
                self.members(r)
                    .iter()
                    .any(|m| self.copies.size[*m as usize / 4] > 0)
            });
            for i in 0..roots.len() {
                for j in i + 1..roots.len() {
                    let (a, b) = (self.root(roots[i]), self.root(roots[j]));
                    if a != b
                        && !self.has_twins(a, b)
                        && self.are_connected(a, b)
                        && !self.is_facing(a, b, &by_copy, samples, space)
                    {
                        let _ = self.join(a, b);
                    }
                }
            }
        }
    }

    /// Returns the corners at each original vertex.
    fn corners_by_vertex(&self) -> Vec<Vec<u32>> {
        let mut all = vec![Vec::new(); self.tiling.vertices.len()];
        for corner in 0..self.copies.len() as u32 * 4 {
            all[self.original_vertex(corner) as usize].push(corner);
        }
        all
    }

    /// Returns the cells whose copies meet at the vertex with this root.
    fn vertex_cells(&self, root: u32) -> impl Iterator<Item = u32> + '_ {
        self.members(root)
            .iter()
            .map(|m| self.copies.cell[*m as usize / 4])
    }

    /// Returns whether some cell has copies at both vertices.
    fn has_twins(&self, a: u32, b: u32) -> bool {
        self.vertex_cells(a)
            .any(|c| self.vertex_cells(b).any(|d| c == d))
    }

    /// Returns whether flesh leads from copies at one vertex to copies at the other in a few steps.
    fn are_connected(&self, a: u32, b: u32) -> bool {
        let goal: Vec<u32> = self.members(b).iter().map(|m| m / 4).collect();
        let from: Vec<u32> = self.members(a).iter().map(|m| m / 4).collect();
        self.reaches(from, &goal)
    }

    /// Returns whether flesh leads from one of the copies `from` to one of `goal` in a few steps.
    pub fn reaches(&self, from: Vec<u32>, goal: &[u32]) -> bool {
        let (mut seen, mut front) = (from.clone(), from);
        for _ in 0..MAX_FLESH_STEPS {
            let mut next = Vec::new();
            for &c in &front {
                for &n in &self.flesh_neighbours[c as usize] {
                    if goal.contains(&n) {
                        return true;
                    }
                    if !seen.contains(&n) {
                        seen.push(n);
                        next.push(n);
                    }
                }
            }
            front = next;
        }
        false
    }

    /// Returns whether skin of the cells at one vertex faces skin of those at the other across a gap.
    fn is_facing(
        &self,
        a: u32,
        b: u32,
        by_copy: &[Vec<u32>],
        samples: &FleshGraph,
        space: &VoxelSpace,
    ) -> bool {
        let skin = |root: u32| -> Vec<u32> {
            let of = self.members(root).iter().map(|m| *m as usize / 4);
            let mut all: Vec<u32> = of.flat_map(|c| by_copy[c].iter().copied()).collect();
            if all.len() > MAX_COMPARED_SAMPLES {
                all.sort_by_cached_key(|&s| PointKey(samples.position[s as usize]));
                let n = all.len();
                all = (0..MAX_COMPARED_SAMPLES)
                    .map(|i| all[i * n / MAX_COMPARED_SAMPLES])
                    .collect();
            }
            all
        };
        let looks = |s: u32, d: Vec3| {
            let skin = &samples.skin[s as usize];
            let c = skin.normal.dot(&d);
            if skin.both_sides {
                c.abs() > MIN_FACING_COSINE
            } else {
                c > MIN_FACING_COSINE
            }
        };
        let (one, other) = (skin(a), skin(b));
        one.iter().any(|&s| {
            other.iter().any(|&t| {
                let (p, q) = (samples.position[s as usize], samples.position[t as usize]);
                let Some(d) = (q - p).try_normalize(0.0) else {
                    return false;
                };
                looks(s, d) && looks(t, -d) && !space.contains((p + q) * 0.5)
            })
        })
    }

    /// Gives each cell without flesh the vertices of the neighbouring copy with most flesh, so that it
    /// never holds two parts together.
    pub fn place_empty(&mut self) {
        let faces = self.tiling.face_neighbours();
        let mut waiting: Vec<u32> = (0..self.copies.len() as u32)
            .filter(|&c| self.copies.size[c as usize] == 0)
            .collect();
        let mut placed: Vec<bool> = self.copies.size.iter().map(|&s| s > 0).collect();
        while !waiting.is_empty() {
            let host = |copy: u32, placed: &[bool]| {
                let cell = self.copies.cell[copy as usize];
                let around = faces[cell as usize].iter().filter(|&&n| n != NO_CELL);
                around
                    .flat_map(|&n| self.copies.cell_copies(n))
                    .filter(|&c| placed[c as usize])
                    .max_by_key(|&c| (self.copies.size[c as usize], std::cmp::Reverse(c)))
            };
            let next: Vec<(u32, Option<u32>)> = waiting
                .iter()
                .map(|&c| (c, host(c, &placed)))
                .filter(|h| h.1.is_some())
                .collect();
            // Cells far from all flesh start a group of their own.
            let next = if next.is_empty() {
                vec![(waiting[0], None)]
            } else {
                next
            };
            for &(copy, host) in &next {
                self.adopt_vertices(copy, host, &placed);
                placed[copy as usize] = true;
            }
            waiting.retain(|&c| !placed[c as usize]);
        }
    }

    /// Merges the corners of an empty copy with those of its `host`, or else with those of copies already `placed`.
    fn adopt_vertices(&mut self, copy: u32, host: Option<u32>, placed: &[bool]) {
        for v in self.cell_vertices(copy) {
            let ends = host
                .and_then(|h| self.corner_at(h, v))
                .zip(self.corner_at(copy, v));
            if let Some((a, b)) = ends {
                let _ = self.join(a, b);
            }
        }
        // Corners that the host lacks take the vertex there that is already attached to the rest.
        let mine = self.roots(copy);
        for (k, v) in self.cell_vertices(copy).into_iter().enumerate() {
            if self
                .members(mine[k])
                .iter()
                .any(|m| placed[*m as usize / 4])
            {
                continue;
            }
            let around = self.tiling.vertex_cells(v).to_vec();
            let mut best: Option<(usize, u32, u32)> = None;
            let mut choices = Vec::new();
            for c in around.into_iter().flat_map(|c| self.copies.cell_copies(c)) {
                let Some(corner) = self.corner_at(c, v).filter(|_| placed[c as usize]) else {
                    continue;
                };
                let root = self.root(corner);
                let shared = self.roots(c).iter().filter(|r| mine.contains(r)).count();
                choices.push(root);
                let rank = (shared, self.copies.size[c as usize], root);
                if best.is_none_or(|b| (rank.0, rank.1) > (b.0, b.1)) {
                    best = Some(rank);
                }
            }
            choices.sort_unstable();
            choices.dedup();
            if let Some((shared, _, root)) = best
                && (shared > 0 || choices.len() == 1)
            {
                let _ = self.join(root, copy * 4 + k as u32);
            }
        }
    }
}

/// Returns the surface samples of each copy.
fn skin_by_copy(samples: &FleshGraph, copies: &Copies) -> Vec<Vec<u32>> {
    let mut all = vec![Vec::new(); copies.len()];
    for s in 0..samples.voxels {
        if copies.of_sample[s] != NO_CELL {
            all[copies.of_sample[s] as usize].push(s as u32);
        }
    }
    all
}
