// SPDX-License-Identifier: MIT OR Apache-2.0
//! Assignment of bones to copies of cells.

use super::NO_CELL;
use super::complex::{Conflict, CopyComplex};
use super::copies::Copies;
use super::flesh_graph::FleshGraph;
use super::tiling::Tiling;
use crate::geometry::tetrahedron::closest_on_segment;

/// Returns for each bone edge (a point if both ends are equal) the copy that holds the flesh at the bone,
/// or the flesh nearest to it; [`NO_CELL`] if no cell has the edge.
pub(super) fn holders(
    edges: &[(u32, u32)],
    samples: &FleshGraph,
    tiling: &Tiling,
    copies: &Copies,
) -> Vec<u32> {
    let nearest = CellSamples::new(samples, tiling.cells.len());
    edges
        .iter()
        .map(|&(a, b)| {
            let ring: Vec<u32> = tiling.edge_cells(a, b).collect();
            bone_owner(a, b, &ring, samples, copies)
                .or_else(|| nearest.nearest_holder(a, b, &ring, samples, tiling, copies))
                .or_else(|| ring.first().map(|&c| copies.cell_copies(c).start))
                .unwrap_or(NO_CELL)
        })
        .collect()
}

/// Merges the ends of the holders along every chain of bone edges, so that together they carry all of
/// them. Returns the corner at which each bone vertex is pinned.
pub(super) fn pin(
    complex: &mut CopyComplex,
    edges: &[(u32, u32)],
    holders: &[u32],
) -> Result<Vec<(u32, u32)>, Conflict> {
    let mut ends: Vec<(u32, u32)> = Vec::new();
    for (&(a, b), &copy) in edges.iter().zip(holders) {
        let held = [a, b].into_iter().filter_map(|v| {
            let corner = (copy != NO_CELL).then(|| complex.corner_at(copy, v))?;
            Some((v, corner?))
        });
        ends.extend(held);
    }
    ends.sort_unstable();
    for pair in ends.windows(2).filter(|p| p[0].0 == p[1].0) {
        complex.join(pair[0].1, pair[1].1)?;
    }
    ends.dedup_by_key(|e| e.0);
    Ok(ends)
}

/// Returns the copy that owns most points of the bone in Ω.
fn bone_owner(a: u32, b: u32, ring: &[u32], samples: &FleshGraph, copies: &Copies) -> Option<u32> {
    let mut votes: Vec<(u32, u32)> = Vec::new();
    let mut simplices = vec![
        [a, NO_CELL, NO_CELL],
        [b, NO_CELL, NO_CELL],
        [a.min(b), a.max(b), NO_CELL],
    ];
    simplices.dedup();
    for simplex in simplices {
        // Joints are in the order of their simplices.
        let first = samples.joints.partition_point(|j| j.corners < simplex);
        let here = samples.joints[first..]
            .iter()
            .take_while(|j| j.corners == simplex);
        for s in here.flat_map(|j| j.first..j.first + j.count) {
            let copy = copies.of_sample[s as usize];
            if copy == NO_CELL || ring.binary_search(&samples.cell[s as usize]).is_err() {
                continue;
            }
            match votes.iter_mut().find(|v| v.0 == copy) {
                Some(v) => v.1 += 1,
                None => votes.push((copy, 1)),
            }
        }
    }
    let rank = |v: &(u32, u32)| (v.1, copies.size[v.0 as usize], std::cmp::Reverse(v.0));
    votes.into_iter().max_by_key(rank).map(|v| v.0)
}

/// Samples grouped by cell.
struct CellSamples {
    of_cell: Vec<Vec<u32>>,
}

impl CellSamples {
    fn new(samples: &FleshGraph, cells: usize) -> Self {
        let mut of_cell = vec![Vec::new(); cells];
        for (s, &c) in samples.cell.iter().enumerate() {
            if c != NO_CELL {
                of_cell[c as usize].push(s as u32);
            }
        }
        Self { of_cell }
    }

    /// Returns the copy of the sample nearest to an edge, among the cells of a ring.
    fn nearest_holder(
        &self,
        a: u32,
        b: u32,
        ring: &[u32],
        samples: &FleshGraph,
        tiling: &Tiling,
        copies: &Copies,
    ) -> Option<u32> {
        let (x, y) = (tiling.vertices[a as usize], tiling.vertices[b as usize]);
        let distance = |s: u32| {
            let p = samples.position[s as usize];
            (closest_on_segment(x, y, p).0 - p).norm_squared()
        };
        let near = ring
            .iter()
            .flat_map(|&c| self.of_cell[c as usize].iter().copied());
        near.filter(|&s| copies.of_sample[s as usize] != NO_CELL)
            .map(|s| (distance(s), copies.of_sample[s as usize]))
            .min_by(|p, q| p.0.total_cmp(&q.0).then(p.1.cmp(&q.1)))
            .map(|n| n.1)
    }
}
