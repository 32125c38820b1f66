// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows of flesh between copies, weighted by their nearness to each corner.

use super::NO_CELL;
use super::copies::Copies;
use super::flesh_graph::FleshGraph;
use super::tiling::Tiling;
use rayon::prelude::*;

/// Flesh between two copies, weighted at a lattice vertex that both have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Flow {
    /// The copies, ascending.
    pub copies: (u32, u32),
    /// Original vertex.
    pub vertex: u32,
    /// Sum over links between the copies, each weighted by its nearness to the vertex. An integer, so
    /// that it does not depend on the order of summation.
    pub weight: u64,
}

/// The number one in fixed point.
const FIXED_POINT_ONE: f64 = 1024.0;

/// Returns all flows, one for each pair of copies and common vertex, ascending.
pub(super) fn flows(samples: &FleshGraph, tiling: &Tiling, copies: &Copies) -> Vec<Flow> {
    let copy = |s: u32| copies.of_sample[s as usize];
    let mut all: Vec<Flow> = samples
        .links
        .par_iter()
        .with_min_len(4096)
        .filter(|&&(a, b)| samples.cell[a as usize] != samples.cell[b as usize])
        .filter(|&&(a, b)| copy(a) != NO_CELL && copy(b) != NO_CELL)
        .flat_map_iter(|&(a, b)| {
            let (c, d) = (samples.cell[a as usize], samples.cell[b as usize]);
            let middle = (samples.position[a as usize] + samples.position[b as usize]) * 0.5;
            let near = tiling.barycentric(c, middle);
            let other = tiling.cells[d as usize];
            (0..4).filter_map(move |k| {
                let vertex = tiling.cells[c as usize][k];
                other
                    .contains(&vertex)
                    .then(|| make_flow(copy(a), copy(b), vertex, near[k]))
            })
        })
        .collect();
    for j in &samples.joints {
        let sides: Vec<u32> = (j.first..j.first + j.count)
            .map(copy)
            .filter(|&c| c != NO_CELL)
            .collect();
        let twins = sides.iter().any(|&c| copies.is_twin(c));
        // Around an edge or a vertex one copy may represent all, unless some of them must stay apart.
        let hubs = if twins { sides.len() } else { 1 };
        for (i, &a) in sides.iter().enumerate().take(hubs) {
            for &b in &sides[i + 1..] {
                let corners = j.corners.iter().zip(j.weights).filter(|c| *c.0 != NO_CELL);
                all.extend(corners.map(|(&v, w)| make_flow(a, b, v, w)));
            }
        }
    }
    merge_duplicates(all)
}

fn make_flow(a: u32, b: u32, vertex: u32, near: f64) -> Flow {
    Flow {
        copies: (a.min(b), a.max(b)),
        vertex,
        weight: 1 + (near.clamp(0.0, 1.0) * FIXED_POINT_ONE) as u64,
    }
}

/// Sums flows of the same copies and vertex.
fn merge_duplicates(mut all: Vec<Flow>) -> Vec<Flow> {
    all.par_sort_unstable();
    all.dedup_by(|next, kept| {
        let same = (next.copies, next.vertex) == (kept.copies, kept.vertex);
        if same {
            kept.weight += next.weight;
        }
        same
    });
    all
}

/// Renumbers the flows after two copies of a cell were merged (see [`Copies::glue`]).
pub(super) fn glue(flows: &mut Vec<Flow>, a: u32, b: u32) {
    let (keep, gone) = (a.min(b), a.max(b));
    let renamed = |c: u32| match c {
        c if c == gone => keep,
        c if c > gone => c - 1,
        c => c,
    };
    for f in flows.iter_mut() {
        let (a, b) = (renamed(f.copies.0), renamed(f.copies.1));
        f.copies = (a.min(b), a.max(b));
    }
    flows.retain(|f| f.copies.0 != f.copies.1);
    *flows = merge_duplicates(std::mem::take(flows));
}

/// Returns for each copy those that flesh leads to directly, ascending.
pub(super) fn neighbours(flows: &[Flow], copies: usize) -> Vec<Vec<u32>> {
    let mut all = vec![Vec::new(); copies];
    for f in flows {
        let (a, b) = f.copies;
        all[a as usize].push(b);
        all[b as usize].push(a);
    }
    for list in &mut all {
        list.sort_unstable();
        list.dedup();
    }
    all
}
