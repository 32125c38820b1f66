// SPDX-License-Identifier: MIT OR Apache-2.0
//! Filling a surface with tetrahedra.
//!
//! The domain is Ω of [`Surface`]: winding number above one half, and a thin layer around sheets. So open, doubled
//! and self-intersecting surfaces are filled as far as they enclose something. The boundary of the mesh lies on the
//! surface. Points of the surface slightly outside the mesh are embedded in the nearest element
//! ([`Lattice::embed`](crate::lattice::Lattice::embed)).

use super::bcc::Bcc;
use super::bridge;
use super::faces;
use super::filled_domain::{NO_NODE, StuffedMesh};
use super::stuff::Depths;
use super::{TetError, TetMesh};
use crate::Vec3;
use crate::geometry::sets::DisjointSets;
use crate::progress::{Cancelled, Progress, StageProgress, report_progress};
use crate::surface::Surface;

/// Settings of [`TetMesh::fill`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FillSettings {
    /// Cells along the diagonal of the body's box; 2 to 200, useful 8 to 40. `None`: 12, or up to 40 if needed to fill
    /// nearly all of the surface.
    pub cells_across: Option<f64>,
    /// Wanted number of nodes, 4 to 1,000,000. If set, the nearest resolution replaces `cells_across`.
    pub nodes: Option<usize>,
}

/// Default resolutions, and (`MAX_UNFILLED_SHARE`) the share of surface and volume that the first sufficient one may leave
/// unfilled.
const DEFAULT_RESOLUTIONS: [f64; 4] = [12.0, 18.0, 27.0, 40.0];
const MAX_UNFILLED_SHARE: f64 = 0.02;

/// Largest number of lattice points, inside and outside together.
const MAX_POINTS: usize = 8_000_000;
/// Coarsest and finest resolution.
const RESOLUTION_RANGE: std::ops::RangeInclusive<f64> = 2.0..=200.0;
/// Attempts at a wanted number of nodes; the relative error that ends them (`NODE_COUNT_TOLERANCE`); and the range of errors in which
/// shifted lattices are tried (`MIN_SHIFT_ERROR`, `MAX_SHIFT_ERROR`).
const MAX_ATTEMPTS: usize = 12;
const NODE_COUNT_TOLERANCE: f64 = 0.01;
const MIN_SHIFT_ERROR: f64 = 0.03;
const MAX_SHIFT_ERROR: f64 = 0.5;
/// Shifts of the lattice, in cube edges.
const LATTICE_SHIFTS: [[f64; 3]; 4] = [
    [0.0, 0.0, 0.0],
    [0.25, 0.125, 0.0625],
    [0.4375, 0.1875, 0.3125],
    [0.125, 0.375, 0.25],
];
/// Widest margin, as a share of the cubes' edge, and (`VOLUME_TOLERANCE`) the relative error of the volume that is accepted.
const MAX_MARGIN: f64 = 0.2;
const VOLUME_TOLERANCE: f64 = 0.003;

impl TetMesh {
    /// Fills a surface with tetrahedra by isosurface stuffing: the boundary on the surface, the inside regular,
    /// dihedral angles above five degrees. Deterministic. \[labelle2007\]
    ///
    /// [`TetMesh::notes`] lists separate pieces and parts too thin to be filled.
    ///
    /// # Errors
    /// [`TetError::Unfillable`] if nothing is enclosed at this resolution; [`TetError::CellsAcross`],
    /// [`TetError::Nodes`], [`TetError::Cancelled`].
    pub fn fill(
        surface: &Surface,
        settings: FillSettings,
        progress: &dyn Progress,
    ) -> Result<Self, TetError> {
        let Some(nodes) = settings.nodes else {
            return match settings.cells_across {
                Some(across) if RESOLUTION_RANGE.contains(&across) => {
                    Ok(fill_at_resolution(surface, across, progress)?.0)
                }
                Some(across) => Err(TetError::CellsAcross(across)),
                None => fill_at_default(surface, progress),
            };
        };
        if !(4..=1_000_000).contains(&nodes) {
            return Err(TetError::Nodes(nodes));
        }
        search_resolution(surface, nodes, progress)
    }
}

/// Fills at a resolution, and returns the share of the surface that no cell is near.
fn fill_at_resolution(
    surface: &Surface,
    across: f64,
    progress: &dyn Progress,
) -> Result<(TetMesh, f64), TetError> {
    let grid = bcc_grid(surface, across, Vec3::zeros(), MAX_POINTS).ok_or_else(|| {
        TetError::Unfillable(format!(
            "{across} cells across would take over {MAX_POINTS} points; use fewer"
        ))
    })?;
    fill_once(surface, grid, progress)
}

/// Fills at the coarsest default resolution that fills nearly everything, or at the finest.
fn fill_at_default(surface: &Surface, progress: &dyn Progress) -> Result<TetMesh, TetError> {
    let mut last = Err(TetError::Empty);
    for (i, across) in DEFAULT_RESOLUTIONS.into_iter().enumerate() {
        // Each takes about as long as all previous ones together.
        let part = StageProgress {
            whole: progress,
            from: if i == 0 {
                0.0
            } else {
                0.5f64.powi((DEFAULT_RESOLUTIONS.len() - i) as i32)
            },
            to: 0.5f64.powi((DEFAULT_RESOLUTIONS.len() - i - 1) as i32),
        };
        match fill_at_resolution(surface, across, &part) {
            Ok((mesh, bare)) => {
                let lost = 1.0 - mesh.volume() / surface.volume();
                if bare <= MAX_UNFILLED_SHARE && lost <= MAX_UNFILLED_SHARE {
                    report_progress(progress, 1.0, "done")?;
                    return Ok(mesh);
                }
                last = Ok(mesh);
            }
            Err(e @ TetError::Unfillable(_)) => last = last.or(Err(e)),
            Err(e) => return Err(e),
        }
    }
    last
}

/// Searches for the resolution whose number of nodes comes nearest to a wanted one.
///
/// On a body with flat sides the number jumps, as whole layers of points come in. If the lattice symmetric about the
/// body's middle comes not near enough, shifted ones are tried.
fn search_resolution(
    surface: &Surface,
    wanted: usize,
    progress: &dyn Progress,
) -> Result<TetMesh, TetError> {
    let mut best: Option<(f64, TetMesh)> = None;
    let mut failure = None;
    for (i, shift) in LATTICE_SHIFTS.iter().enumerate() {
        let part = StageProgress {
            whole: progress,
            from: i as f64 / LATTICE_SHIFTS.len() as f64,
            to: (i + 1) as f64 / LATTICE_SHIFTS.len() as f64,
        };
        match search_shifted(surface, wanted, Vec3::from(*shift), &part) {
            Ok(found) => {
                if best.as_ref().is_none_or(|b| found.0 < b.0) {
                    best = Some(found);
                }
            }
            Err(e @ TetError::Unfillable(_)) => failure = failure.or(Some(e)),
            Err(e) => return Err(e),
        }
        // A shift helps only after a near miss.
        if best
            .as_ref()
            .is_none_or(|b| !(MIN_SHIFT_ERROR..MAX_SHIFT_ERROR).contains(&b.0))
        {
            break;
        }
    }
    match (best, failure) {
        (Some((_, mesh)), _) => {
            report_progress(progress, 1.0, "done")?;
            Ok(mesh)
        }
        (None, failure) => Err(failure.unwrap_or(TetError::Nodes(wanted))),
    }
}

/// Returns the best mesh on a shifted lattice, with its relative error.
fn search_shifted(
    surface: &Surface,
    wanted: usize,
    shift: Vec3,
    progress: &dyn Progress,
) -> Result<(f64, TetMesh), TetError> {
    // Two lattice points per cube, and half as many again on the boundary.
    let density = 3.0 * surface.volume() / wanted as f64;
    let mut across =
        (surface.size() / density.cbrt()).clamp(*RESOLUTION_RANGE.start(), *RESOLUTION_RANGE.end());
    let mut best: Option<(f64, TetMesh)> = None;
    // Resolutions known to give too few and too many nodes.
    let (mut low, mut high) = (*RESOLUTION_RANGE.start(), *RESOLUTION_RANGE.end());
    let mut failure = None;
    // A body for which this does not suffice fills too little of its box to be worth the wait.
    let most = (60 * wanted).clamp(100_000, MAX_POINTS);
    for attempt in 0..MAX_ATTEMPTS {
        let part = StageProgress {
            whole: progress,
            from: attempt as f64 / MAX_ATTEMPTS as f64,
            to: (attempt + 1) as f64 / MAX_ATTEMPTS as f64,
        };
        let (count, mesh) = match bcc_grid(surface, across, shift, most) {
            None => (usize::MAX, None),
            Some(grid) => match fill_once(surface, grid, &part) {
                Ok((mesh, _)) => (mesh.vertices.len(), Some(mesh)),
                Err(e @ TetError::Unfillable(_)) => {
                    failure.get_or_insert(e);
                    (0, None)
                }
                Err(e) => return Err(e),
            },
        };
        let ratio = count as f64 / wanted as f64;
        if let Some(mesh) = mesh {
            let error = (ratio - 1.0).abs();
            if best.as_ref().is_none_or(|b| error < b.0) {
                best = Some((error, mesh));
            }
            if error <= NODE_COUNT_TOLERANCE {
                break;
            }
        }
        if ratio < 1.0 {
            low = low.max(across);
        } else {
            high = high.min(across);
        }
        if high - low < 1e-3 * low {
            break;
        }
        let next = across / ratio.clamp(0.1, 10.0).cbrt();
        // If the guess leaves the bracket or creeps, bisect.
        let margin = 0.05 * (high - low);
        across = if attempt < 6 && next > low + margin && next < high - margin {
            next
        } else {
            (low * high).sqrt()
        };
    }
    best.ok_or(failure.unwrap_or(TetError::Nodes(wanted)))
}

/// Returns the lattice for a resolution; `None` if it would take more than `most` points.
fn bcc_grid(surface: &Surface, across: f64, shift: Vec3, most: usize) -> Option<Bcc> {
    let (lo, hi) = surface.bounds();
    let pad = Vec3::repeat(surface.layer_half_thickness());
    Bcc::covering_box(lo - pad, hi + pad, surface.size() / across, shift, most)
}

/// Fills a surface from a lattice.
fn fill_once(
    surface: &Surface,
    grid: Bcc,
    progress: &dyn Progress,
) -> Result<(TetMesh, f64), TetError> {
    let edge = 2.0 * grid.half;
    let across = surface.size() / edge;
    let part = StageProgress {
        whole: progress,
        from: 0.0,
        to: 0.6,
    };
    let mut depths = Depths::measure(surface, grid, &part)?;
    let mut stuffed = fill_to_volume(&depths, surface.volume(), progress)?;
    let mut notes = Vec::new();
    let loose = StageProgress {
        whole: progress,
        from: 0.9,
        to: 0.9,
    };
    for _ in 0..2 {
        if bridge::count_pieces(&stuffed, &depths.grid, &loose)? < 2 {
            break;
        }
        let tubes = bridge::build_tubes(surface, &depths.grid, &stuffed, &loose)?;
        if tubes.is_empty() {
            break;
        }
        if depths.tubes.is_empty() {
            notes.push(
                "Joints thinner than a cell were thickened, so that the parts stay connected; for their true shape \
                 use more cells across."
                    .to_owned(),
            );
        }
        depths.tubes.extend(tubes);
        stuffed = fill_to_volume(&depths, surface.volume(), progress)?;
    }
    let grid = &depths.grid;
    if stuffed.tets.is_empty() {
        return Err(TetError::Unfillable(format!(
            "at {across:.1} cells across it encloses nothing as thick as a cell, which is {edge:.3e} m wide; use \
             more cells, or close its holes and give it thickness"
        )));
    }
    let node_of_point = stuffed.node_of_point;
    let pieces = MeshPieces::new((stuffed.nodes, stuffed.tets), edge, &loose)?;
    notes.extend(pieces.notes);
    let vertices = pieces.nodes.iter().map(|x| grid.centre + x).collect();
    let mut mesh = TetMesh::new(vertices, pieces.tets)
        .map_err(|e| TetError::Unfillable(format!("{e}; try fewer or more cells across")))?;
    let mut share = 0.0;
    if let Some((note, bare)) = thin_parts(surface, grid, &node_of_point) {
        notes.push(note);
        share = bare;
    }
    mesh.notes = notes;
    report_progress(progress, 1.0, "done")?;
    Ok((mesh, share))
}

/// Fills the domain widened (or narrowed) by the margin at which the mesh has the domain's volume.
///
/// Flat faces between points cut off some of a round surface, and parts thinner than a cell are lost. At useful
/// resolutions that is a few percent, which a margin of a small part of a cell compensates.
fn fill_to_volume(
    depths: &Depths<'_>,
    wanted: f64,
    progress: &dyn Progress,
) -> Result<StuffedMesh, TetError> {
    let edge = 2.0 * depths.grid.half;
    let limit = MAX_MARGIN * edge;
    let mut margin = 0.0;
    // Previous margin and its lack of volume.
    let mut before: Option<(f64, f64)> = None;
    let mut best: Option<(f64, StuffedMesh)> = None;
    for round in 0..5 {
        let from = 0.6 + 0.06 * f64::from(round);
        let part = StageProgress {
            whole: progress,
            from,
            to: from + 0.06,
        };
        let stuffed = depths.stuff(margin, &part)?;
        let lack = wanted - stuffed.volume();
        // Without a previous margin: the area that a layer would cover.
        let slope = before
            .map(|(m, l)| (l - lack) / (margin - m))
            .filter(|s| *s > 0.0 && s.is_finite());
        let slope = match slope {
            Some(slope) => slope,
            None => stuffed.area(&part)?.max(edge * edge),
        };
        if best.as_ref().is_none_or(|b| lack.abs() < b.0) {
            best = Some((lack.abs(), stuffed));
        }
        before = Some((margin, lack));
        let next = (margin + lack / slope).clamp(-limit, limit);
        if lack.abs() <= VOLUME_TOLERANCE * wanted || next == margin {
            break;
        }
        margin = next;
    }
    best.map(|b| b.1).ok_or(TetError::Empty)
}

/// Pieces of a mesh that are connected by whole faces.
struct MeshPieces {
    nodes: Vec<Vec3>,
    tets: Vec<[u32; 4]>,
    notes: Vec<String>,
}

impl MeshPieces {
    /// Separates pieces that touch only at an edge or a point, where they would swing without resistance. Drops
    /// crumbs smaller than one cube of the lattice next to larger pieces.
    fn new(
        (nodes, mut tets): (Vec<Vec3>, Vec<[u32; 4]>),
        edge: f64,
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        let piece = faces::pieces(&tets, progress)?;
        let count = piece.iter().max().map_or(0, |&p| p as usize + 1);
        let mut volumes = vec![0.0; count];
        for (t, &p) in tets.iter().zip(&piece) {
            volumes[p as usize] +=
                crate::geometry::tetrahedron::volume(&t.map(|v| nodes[v as usize]));
        }
        let largest = volumes.iter().copied().fold(0.0, f64::max);
        let crumb = |p: u32| volumes[p as usize] < edge.powi(3).min(0.25 * largest);
        let crumbs = (0..count as u32).filter(|&p| crumb(p)).count();
        // A node of several pieces is copied: one for each.
        let mut number: Vec<Vec<(u32, u32)>> = vec![Vec::new(); nodes.len()];
        let mut kept = Vec::new();
        for (t, &p) in tets.iter_mut().zip(&piece).filter(|(_, p)| !crumb(**p)) {
            for v in t {
                let copies = &mut number[*v as usize];
                *v = match copies.iter().find(|c| c.0 == p) {
                    Some(&(_, n)) => n,
                    None => {
                        let n = kept.len() as u32;
                        kept.push(nodes[*v as usize]);
                        copies.push((p, n));
                        n
                    }
                };
            }
        }
        let mut each = piece.iter();
        tets.retain(|_| each.next().is_some_and(|&p| !crumb(p)));
        let mut notes = Vec::new();
        if count - crumbs > 1 {
            notes.push(format!(
                "The mesh has {} separate pieces; if they should be connected, use more cells across.",
                count - crumbs
            ));
        }
        if crumbs > 0 {
            notes.push(format!(
                "{crumbs} loose crumbs, each smaller than a cell, were left out."
            ));
        }
        Ok(Self {
            nodes: kept,
            tets,
            notes,
        })
    }
}

/// Reports the parts of the surface that no cell is near, as a sentence and as a share of the area: triangles farther
/// than a cell's width from every inner point of the lattice.
fn thin_parts(surface: &Surface, grid: &Bcc, node_of_point: &[u32]) -> Option<(String, f64)> {
    let welded = surface.welded();
    let bare = |t: &[u32; 3]| {
        let centre = t.iter().map(|&v| welded.vertices[v as usize]).sum::<Vec3>() / 3.0;
        bridge::nearest_point(grid, centre - grid.centre, |at| {
            node_of_point[grid.index(at)] != NO_NODE
        })
        .is_none()
    };
    let bare: Vec<&[u32; 3]> = welded.triangles.iter().filter(|t| bare(t)).collect();
    if bare.is_empty() {
        return None;
    }
    let area = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|v| welded.vertices[v as usize]);
        (b - a).cross(&(c - a)).norm()
    };
    let all: f64 = welded.triangles.iter().map(area).sum();
    let share = bare.iter().map(|t| area(t)).sum::<f64>() / all;
    let mut sets = DisjointSets::new(welded.vertices.len());
    let mut used = vec![false; welded.vertices.len()];
    for t in &bare {
        sets.join(t[0], t[1]);
        sets.join(t[0], t[2]);
        t.iter().for_each(|&v| used[v as usize] = true);
    }
    let mut parts: Vec<u32> = sets
        .set_numbers()
        .into_iter()
        .zip(used)
        .filter(|n| n.1)
        .map(|n| n.0)
        .collect();
    parts.sort_unstable();
    parts.dedup();
    let sentence = format!(
        "{} thin parts of the surface, {:.1} % of it, are not filled: they follow the nearest element; for flesh of \
         their own use more cells across.",
        parts.len(),
        100.0 * share
    );
    Some((sentence, share))
}
