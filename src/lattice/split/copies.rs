// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies of cells, one for each connected piece of flesh inside a cell.
//!
//! Two samples of a cell belong to one piece if links inside the cell connect them, or if they see each other through
//! flesh. A cell is convex, so the segment between them is in it. Pieces that lead into no other cell join the copy of the
//! largest piece. Specks that consist only of points on the lattice belong to no copy.

use super::flesh_graph::FleshGraph;
use super::space::VoxelSpace;
use super::{NO_CELL, Vec3};
use crate::geometry::sets::DisjointSets;
use rayon::prelude::*;
use std::cmp::Ordering;

/// Largest number of sample pairs tried before two pieces count as separate.
const MAX_PAIR_TRIALS: usize = 24;
/// Number of other pieces that a piece is tested against, nearest first.
const MAX_TESTED_PIECES: usize = 8;

/// The copies of every cell.
#[derive(Debug, Clone)]
pub(super) struct Copies {
    /// Cell of each copy: ascending, the copy with most samples first.
    pub cell: Vec<u32>,
    /// Number of samples of each copy; zero for a cell without flesh.
    pub size: Vec<u32>,
    /// Ranges of copies: `first[c] .. first[c + 1]` for cell `c`, at least one.
    pub first: Vec<u32>,
    /// Copy of each sample; [`NO_CELL`] for samples without one.
    pub of_sample: Vec<u32>,
}

impl Copies {
    /// Finds the copies of all cells.
    pub fn find(samples: &FleshGraph, space: &VoxelSpace, cells: usize) -> Self {
        let mut sets = DisjointSets::new(samples.position.len());
        for &(a, b) in &samples.links {
            if samples.cell[a as usize] == samples.cell[b as usize] {
                sets.join(a, b);
            }
        }
        let seen: Vec<(u32, u32)> = pieces(samples, &mut sets, cells)
            .par_iter()
            .filter(|p| p.len() > 1)
            .flat_map_iter(|pieces| find_visible_pairs(samples, space, pieces))
            .collect();
        for (a, b) in seen {
            sets.join(a, b);
        }
        let leaves = mark_leaving(samples, &mut sets);
        let mut copies = Self {
            cell: Vec::new(),
            size: Vec::new(),
            first: vec![0],
            of_sample: vec![NO_CELL; samples.position.len()],
        };
        for (c, pieces) in pieces(samples, &mut sets, cells).into_iter().enumerate() {
            copies.add(c as u32, pieces, samples, &leaves);
        }
        copies
    }

    pub fn len(&self) -> usize {
        self.cell.len()
    }

    /// Returns the range of a cell's copies.
    pub fn cell_copies(&self, cell: u32) -> std::ops::Range<u32> {
        self.first[cell as usize]..self.first[cell as usize + 1]
    }

    /// Returns whether another copy has the same cell.
    pub fn is_twin(&self, copy: u32) -> bool {
        self.cell_copies(self.cell[copy as usize]).len() > 1
    }

    /// Merges two copies of the same cell into one.
    pub fn glue(&mut self, a: u32, b: u32) {
        let (keep, gone) = (a.min(b), a.max(b));
        self.size[keep as usize] += self.size[gone as usize];
        self.size.remove(gone as usize);
        let cell = self.cell.remove(gone as usize);
        for f in &mut self.first[cell as usize + 1..] {
            *f -= 1;
        }
        for copy in &mut self.of_sample {
            match (*copy).cmp(&gone) {
                Ordering::Equal => *copy = keep,
                Ordering::Greater if *copy != NO_CELL => *copy -= 1,
                _ => {}
            }
        }
    }

    /// Adds the copies of a cell from its pieces, the largest first. `leaves`: flesh leads from the sample's piece into
    /// another cell.
    fn add(&mut self, cell: u32, pieces: Vec<Vec<u32>>, samples: &FleshGraph, leaves: &[bool]) {
        let main = self.cell.len() as u32;
        self.cell.push(cell);
        self.size.push(0);
        for (i, piece) in pieces.into_iter().enumerate() {
            let speck = piece.len() < 3 && piece[0] as usize >= samples.lattice;
            let copy = if i == 0 || !speck && !leaves[piece[0] as usize] {
                main
            } else if speck {
                continue;
            } else {
                self.cell.push(cell);
                self.size.push(0);
                self.cell.len() as u32 - 1
            };
            self.size[copy as usize] += piece.len() as u32;
            for s in piece {
                self.of_sample[s as usize] = copy;
            }
        }
        self.first.push(self.cell.len() as u32);
    }
}

/// Returns the pieces of every cell, each an ascending list of samples, the largest first.
fn pieces(samples: &FleshGraph, sets: &mut DisjointSets, cells: usize) -> Vec<Vec<Vec<u32>>> {
    let mut order: Vec<(u32, u32, u32)> = (0..samples.position.len() as u32)
        .filter(|&s| samples.cell[s as usize] != NO_CELL)
        .map(|s| (samples.cell[s as usize], sets.root(s), s))
        .collect();
    order.par_sort_unstable();
    let mut all = vec![Vec::new(); cells];
    for group in order.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        all[group[0].0 as usize].push(group.iter().map(|g| g.2).collect::<Vec<u32>>());
    }
    for pieces in all.iter_mut().filter(|p| p.len() > 1) {
        pieces.sort_by_cached_key(|piece| {
            let lowest = piece
                .iter()
                .map(|&s| PointKey(samples.position[s as usize]))
                .min();
            (std::cmp::Reverse(piece.len()), lowest)
        });
    }
    all
}

/// A point as a sort key, so that the order of equal pieces does not depend on the triangles' order.
#[derive(PartialEq)]
pub(super) struct PointKey(pub Vec3);

impl Eq for PointKey {}

impl PartialOrd for PointKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PointKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let by = |k: usize| self.0[k].total_cmp(&other.0[k]);
        by(0).then(by(1)).then(by(2))
    }
}

/// Returns pairs of samples that see each other, from different pieces of a cell.
fn find_visible_pairs(
    samples: &FleshGraph,
    space: &VoxelSpace,
    pieces: &[Vec<u32>],
) -> Vec<(u32, u32)> {
    let mut seen = Vec::new();
    let mut sets = DisjointSets::new(pieces.len());
    for (k, small) in pieces.iter().enumerate().skip(1) {
        let others = pieces[..k].iter().enumerate();
        let mut near: Vec<(usize, Vec<SamplePair>)> = others
            .map(|(j, large)| (j, nearest_pairs(samples, small, large)))
            .collect();
        near.sort_by(|a, b| a.1[0].0.total_cmp(&b.1[0].0));
        for (j, pairs) in near.into_iter().take(MAX_TESTED_PIECES) {
            if sets.root(j as u32) == sets.root(k as u32) {
                continue;
            }
            let open = pairs.iter().find(|(_, p, q)| {
                space.stays_inside(samples.segment_start(*p), samples.segment_start(*q))
            });
            if let Some(&(_, p, q)) = open {
                sets.join(j as u32, k as u32);
                seen.push((p, q));
            }
        }
    }
    seen
}

/// Squared distance of two samples, and the samples.
type SamplePair = (f64, u32, u32);

/// Returns the nearest pairs of samples of two pieces, some for each sample of the first.
fn nearest_pairs(samples: &FleshGraph, small: &[u32], large: &[u32]) -> Vec<SamplePair> {
    let at = |s: u32| samples.position[s as usize];
    let by_distance = |a: &SamplePair, b: &SamplePair| a.0.total_cmp(&b.0);
    let each = MAX_PAIR_TRIALS.div_ceil(small.len()).min(8);
    let mut pairs: Vec<SamplePair> = Vec::new();
    for &p in small {
        let to = |&q: &u32| ((at(p) - at(q)).norm_squared(), p, q);
        if each == 1 {
            pairs.extend(large.iter().map(to).min_by(by_distance));
            continue;
        }
        let mut nearest: Vec<SamplePair> = large.iter().map(to).collect();
        if nearest.len() > each {
            nearest.select_nth_unstable_by(each, by_distance);
            nearest.truncate(each);
        }
        pairs.append(&mut nearest);
    }
    pairs.sort_unstable_by(|a, b| by_distance(a, b).then((a.1, a.2).cmp(&(b.1, b.2))));
    pairs.truncate(MAX_PAIR_TRIALS);
    pairs
}

/// Returns for each sample whether flesh leads from its piece into another cell.
fn mark_leaving(samples: &FleshGraph, sets: &mut DisjointSets) -> Vec<bool> {
    let mut leaves = vec![false; samples.position.len()];
    for &(a, b) in &samples.links {
        let (c, d) = (samples.cell[a as usize], samples.cell[b as usize]);
        if c != d && c != NO_CELL && d != NO_CELL {
            leaves[sets.root(a) as usize] = true;
            leaves[sets.root(b) as usize] = true;
        }
    }
    for j in &samples.joints {
        for s in j.first..j.first + j.count {
            leaves[sets.root(s) as usize] = true;
        }
    }
    (0..leaves.len() as u32)
        .map(|s| leaves[sets.root(s) as usize])
        .collect()
}
