// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual-node splitting [molino2004]. If separate parts of a body pass through one cell (legs, fingers, an arm
//! and the trunk), the cell is copied once per part. Corners of copies merge only where flesh connects them.
//!
//! Deviations from the paper. Connectivity follows samples of the domain Ω instead of a cutting surface
//! ([`flesh_graph`]). Two copies of a cell never share three corners, so a face belongs to at most two cells
//! ([`complex`]). Vertices that no flesh connects still merge unless skin faces skin there, so a body without
//! gaps is unchanged. Parts that would hang on an edge or a vertex are joined to their surroundings
//! ([`support`]).

mod bins;
mod bones;
mod complex;
mod copies;
mod flesh_graph;
mod flows;
mod plane;
mod space;
mod support;
#[cfg(test)]
mod tests;
mod tiling;

use super::flesh::{FleshOwnership, FleshSample, NO_CELL};
use crate::Vec3;
use crate::progress::{Cancelled, Progress, StageProgress, report_progress};
use crate::surface::Surface;
use complex::{Conflict, CopyComplex};
use copies::Copies;
use flesh_graph::FleshGraph;
use flows::Flow;
use space::VoxelSpace;
use tiling::Tiling;

/// Input of the splitting.
pub(crate) struct SplitInput<'a> {
    /// Lattice vertices.
    pub vertices: &'a [Vec3],
    /// Positively oriented tetrahedra that tile the space around Ω, face to face.
    pub cells: &'a [[u32; 4]],
    /// The surface around Ω.
    pub surface: &'a Surface,
    /// Cell size, m.
    pub h: f64,
    /// Edges of the lattice on bones, with the bone; a single point if both ends are equal.
    pub bone_edges: &'a [(u32, u32, u32)],
    /// Whether the cells fill one side of the plane x = 0, beyond which flesh goes on in their mirror images.
    pub halved: bool,
}

/// Lattice whose cells each carry one part of the body.
#[derive(Debug, Clone)]
pub(crate) struct Split {
    /// Original vertices, then the copies. **A bone vertex keeps its number** at its bone; its copies, if any,
    /// are free vertices.
    pub vertices: Vec<Vec3>,
    /// For each vertex, its original (itself for the originals).
    pub original: Vec<u32>,
    /// Original cells (the copy with most flesh), then the other copies.
    pub cells: Vec<[u32; 4]>,
    /// For each cell, its original (itself for the originals).
    pub group: Vec<u32>,
    /// Ownership of flesh among the copies.
    pub flesh: FleshOwnership,
    /// Flag of each vertex of half a lattice: it is on the plane and shared with the other half. Empty for a whole one.
    pub shared: Vec<bool>,
}

/// Voxels per cell size, and (`MAX_VOXELS_ACROSS`) the most voxels per size of the surface, along an axis.
const VOXELS_PER_CELL: f64 = 6.0;
const MAX_VOXELS_ACROSS: f64 = 260.0;

/// Splits the cells that separate parts of the flesh share.
pub(crate) fn split(input: SplitInput<'_>, progress: &dyn Progress) -> Result<Split, Cancelled> {
    const STAGE: &str = "separating parts";
    report_progress(progress, 0.0, STAGE)?;
    let spacing = (input.h / VOXELS_PER_CELL).max(input.surface.size() / MAX_VOXELS_ACROSS);
    let tiling = Tiling::new(input.vertices, input.cells, input.halved);
    let space = VoxelSpace::new(input.surface, spacing);
    report_progress(progress, 0.3, STAGE)?;
    let part = StageProgress {
        whole: progress,
        from: 0.3,
        to: 0.7,
    };
    let samples = FleshGraph::sample(input.surface, &space, &tiling, &part)?;
    report_progress(progress, 0.7, STAGE)?;
    let mut copies = Copies::find(&samples, &space, input.cells.len());
    let mut flows = flows::flows(&samples, &tiling, &copies);
    report_progress(progress, 0.9, STAGE)?;
    let edges: Vec<(u32, u32)> = input.bone_edges.iter().map(|e| (e.0, e.1)).collect();
    // Every round removes a copy, so this ends.
    let split = loop {
        match merge(&edges, &samples, &space, &tiling, &copies, &flows) {
            Ok((mut complex, pins)) => {
                let shared = match input.halved {
                    true => plane::shared_roots(&mut complex, &pins, &samples, &space),
                    false => Vec::new(),
                };
                break number(complex, &pins, &shared, &samples, input.surface);
            }
            Err(mut conflicts) => {
                // From the last copy down, so that the numbers of the remaining ones stay valid.
                conflicts.sort_by_key(|c| std::cmp::Reverse((c.1, c.0)));
                conflicts.dedup_by_key(|c| c.1);
                for Conflict(a, b) in conflicts {
                    copies.glue(a, b);
                    flows::glue(&mut flows, a, b);
                }
            }
        }
        report_progress(progress, 0.9, STAGE)?;
    };
    report_progress(progress, 1.0, STAGE)?;
    Ok(split)
}

/// A complex, and the corner at which each bone vertex is pinned.
type PinnedComplex<'a> = (CopyComplex<'a>, Vec<(u32, u32)>);

/// Merges corners: along bones, where flesh passes, where nothing separates, and to support hanging parts.
fn merge<'a>(
    edges: &[(u32, u32)],
    samples: &FleshGraph,
    space: &VoxelSpace,
    tiling: &'a Tiling<'a>,
    copies: &'a Copies,
    flows: &[Flow],
) -> Result<PinnedComplex<'a>, Vec<Conflict>> {
    let mut complex = CopyComplex::new(tiling, copies, flows);
    let holders = bones::holders(edges, samples, tiling, copies);
    let pins = bones::pin(&mut complex, edges, &holders).map_err(|c| vec![c])?;
    complex.merge_flows(flows);
    complex.merge_unopposed(samples, space);
    complex.place_empty();
    support::brace(&mut complex, flows, &pins)?;
    Ok((complex, pins))
}

/// Numbers merged corners and copies; the first of each keeps its original number.
fn number(
    mut complex: CopyComplex,
    pins: &[(u32, u32)],
    shared_roots: &[u32],
    samples: &FleshGraph,
    surface: &Surface,
) -> Split {
    let (tiling, copies) = (complex.tiling, complex.copies);
    let before = tiling.vertices.len();
    // For each vertex, its merged corners: pinned first, then by flesh.
    let mut roots: Vec<Vec<u32>> = vec![Vec::new(); before];
    for corner in 0..copies.len() as u32 * 4 {
        if complex.root(corner) == corner {
            roots[complex.original_vertex(corner) as usize].push(corner);
        }
    }
    let mut pinned = vec![NO_CELL; before];
    for &(v, corner) in pins {
        pinned[v as usize] = complex.root(corner);
    }
    let mut of_root = vec![NO_CELL; copies.len() * 4];
    let mut vertices = tiling.vertices.to_vec();
    let mut original: Vec<u32> = (0..before as u32).collect();
    for (v, mut roots) in roots.into_iter().enumerate() {
        let flesh = |r: u32| -> u32 {
            let of = complex.members(r).iter();
            of.map(|m| copies.size[*m as usize / 4]).sum()
        };
        roots.sort_by_key(|&r| (r != pinned[v], std::cmp::Reverse(flesh(r)), r));
        for (i, r) in roots.into_iter().enumerate() {
            of_root[r as usize] = if i == 0 {
                v as u32
            } else {
                vertices.push(tiling.vertices[v]);
                original.push(v as u32);
                vertices.len() as u32 - 1
            };
        }
    }
    let first: Vec<u32> = (0..tiling.cells.len() as u32)
        .map(|c| copies.cell_copies(c).start)
        .collect();
    let others = (0..copies.len() as u32).filter(|&c| first[copies.cell[c as usize] as usize] != c);
    let order: Vec<u32> = first.iter().copied().chain(others).collect();
    let cells = order
        .iter()
        .map(|&c| complex.roots(c).map(|r| of_root[r as usize]))
        .collect();
    let group = order.iter().map(|&c| copies.cell[c as usize]).collect();
    let mut of_copy = vec![NO_CELL; copies.len()];
    for (cell, &copy) in order.iter().enumerate() {
        of_copy[copy as usize] = cell as u32;
    }
    let flesh = collect_flesh(copies, &order, &of_copy, samples, surface, tiling.halved);
    let mut shared = vec![false; if tiling.halved { vertices.len() } else { 0 }];
    for &r in shared_roots {
        shared[of_root[r as usize] as usize] = true;
    }
    Split {
        vertices,
        original,
        cells,
        group,
        flesh,
        shared,
    }
}

fn collect_flesh(
    copies: &Copies,
    order: &[u32],
    of_copy: &[u32],
    samples: &FleshGraph,
    surface: &Surface,
    halved: bool,
) -> FleshOwnership {
    let owner = |s: usize| match copies.of_sample[s] {
        NO_CELL => NO_CELL,
        copy => of_copy[copy as usize],
    };
    let mut group = vec![NO_CELL; order.len()];
    let mut groups = 0;
    for c in 0..copies.first.len() as u32 - 1 {
        if copies.cell_copies(c).len() > 1 {
            for copy in copies.cell_copies(c) {
                group[of_copy[copy as usize] as usize] = groups;
            }
            groups += 1;
        }
    }
    let mut owned: Vec<FleshSample> = (0..samples.position.len())
        .filter(|&s| owner(s) != NO_CELL && group[owner(s) as usize] != NO_CELL)
        .map(|s| FleshSample {
            group: group[owner(s) as usize],
            position: samples.position[s],
            normal: match samples.skin.get(s) {
                Some(skin) if !skin.both_sides => skin.normal,
                _ => Vec3::zeros(),
            },
            owner: owner(s),
        })
        .collect();
    owned.sort_by_key(|s| s.group);
    let vertex_owner = (0..surface.welded().vertices.len()).map(owner).collect();
    FleshOwnership::new(group, &owned, vertex_owner, surface, halved)
}
