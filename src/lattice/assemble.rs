// SPDX-License-Identifier: MIT OR Apache-2.0
//! Assembly of the lattice from the chosen tetrahedra: vertex numbers, virtual copies, bone chains.

use super::bones::BoneSegment;
use super::builder::CandidateMesh;
use super::fill::FAR_CORNER_COUNT;
use super::segments::ProtectedSkeleton;
use super::{BoneChains, Cell, Lattice, LatticeError, split};
use crate::progress::{Progress, StageProgress, report_progress};
use crate::surface::Surface;

/// Numbers the kept cells, splits them by virtual nodes and finds the bone chains.
///
/// `h` is the cell size; progress runs from 0.7 to 1.
pub(super) fn assemble(
    mesh: &CandidateMesh,
    surface: &Surface,
    segments: &[BoneSegment],
    h: f64,
    mut notes: Vec<String>,
    progress: &dyn Progress,
) -> Result<Lattice, LatticeError> {
    let (split, count) = split_cells(mesh, surface, segments, h, false, progress)?;
    let chains = chains(segments, &mesh.skeleton, split.vertices.len());
    let copies = split.cells.len() - count;
    if copies > 0 {
        notes.push(note_copies(copies));
    }
    let cells = split.cells.iter().map(|&t| Cell::Tetrahedron(t)).collect();
    let mut lattice = Lattice::with_bones(split.vertices, cells, chains)?;
    lattice.flesh = Some(split.flesh);
    lattice.notes = notes;
    report_progress(progress, 1.0, "done")?;
    Ok(lattice)
}

/// Returns the note on cells that were doubled.
pub(super) fn note_copies(copies: usize) -> String {
    format!(
        "{copies} cells are shared by separate parts of the body and were doubled, so that the parts move on their own."
    )
}

/// Numbers the kept cells and splits them by virtual nodes. Returns also the number of cells before. `halved`: they fill
/// one side of the plane x = 0, beyond which flesh goes on.
pub(super) fn split_cells(
    mesh: &CandidateMesh,
    surface: &Surface,
    segments: &[BoneSegment],
    h: f64,
    halved: bool,
    progress: &dyn Progress,
) -> Result<(split::Split, usize), LatticeError> {
    report_progress(progress, 0.7, "separating parts")?;
    if mesh.worst <= 0.0 {
        return Err(LatticeError::Failed("a cell came out inverted".into()));
    }
    // Skeleton points first, then the others in order of use.
    let fixed = mesh.skeleton.points.len();
    let mut number = vec![u32::MAX; mesh.x.len()];
    let mut vertices = Vec::new();
    for (i, n) in number.iter_mut().enumerate().take(fixed) {
        *n = i as u32;
        vertices.push(mesh.x[i]);
    }
    let end = mesh.x.len() - FAR_CORNER_COUNT;
    let mut cells = Vec::new();
    for (t, corners) in mesh.tets.iter().enumerate().filter(|&(t, _)| mesh.keep[t]) {
        if corners.iter().any(|&v| v as usize >= end) {
            return Err(LatticeError::Failed(format!(
                "cell {t} reached the far corners"
            )));
        }
        cells.push(corners.map(|v| {
            let n = &mut number[v as usize];
            if *n == u32::MAX {
                *n = vertices.len() as u32;
                vertices.push(mesh.x[v as usize]);
            }
            *n
        }));
    }
    let of_bones = mesh.skeleton.edges.iter();
    let of_bones = of_bones.map(|&(a, b, s)| (a, b, segments[s as usize].bone));
    // Edges of required faces keep their numbers like bone edges; `u32::MAX` marks that no bone owns them.
    let of_faces = mesh.skeleton.faces.iter();
    let of_faces = of_faces.flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]);
    let of_faces = of_faces.map(|(a, b)| (a.min(b), a.max(b), u32::MAX));
    let edges: Vec<(u32, u32, u32)> = of_bones.chain(of_faces).collect();
    let split = split::split(
        split::SplitInput {
            vertices: &vertices,
            cells: &cells,
            surface,
            h,
            bone_edges: &edges,
            halved,
        },
        &StageProgress {
            whole: progress,
            from: 0.7,
            to: 1.0,
        },
    )?;
    Ok((split, cells.len()))
}

/// Builds the bone chains after splitting, and finds the one bone that drives each vertex.
pub(super) fn chains(
    segments: &[BoneSegment],
    skeleton: &ProtectedSkeleton,
    vertices: usize,
) -> BoneChains {
    let mut out = BoneChains::default();
    let mut followed = Vec::new();
    for tips in [false, true] {
        for (s, chain) in segments.iter().zip(&skeleton.chains) {
            if s.tip != tips {
                continue;
            }
            if s.tip {
                out.tip_bones.push(s.bone);
            } else {
                out.used_bones.push(s.bone);
            }
            // Splitting leaves bone vertices their numbers.
            out.chains.push(chain.clone());
            followed.push(s);
        }
    }
    out.bone_of_vertex = out.drivers_by_claim(vertices, |chain, v| {
        followed[chain].claim(skeleton.points[v as usize])
    });
    out
}
