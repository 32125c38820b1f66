// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lattices of two kinds of cells: finished cells along limbs, and tetrahedra around the rest that share faces with
//! them.
//!
//! The rest is enclosed like any character, with the limbs' end faces as required faces of cells. No point comes near these, so they are
//! faces of the Delaunay tetrahedralisation. Virtual-node splitting applies to the rest as usual; the limbs' cells are
//! not split.

use super::bones::{self, BoneSegment};
use super::enclose::{EncloseSettings, enclose_segments};
use super::flesh::NO_CELL;
use super::parts::{CellParts, SkinSample};
use super::unit::UnitCharacter;
use super::{BoneChains, Cell, Lattice, LatticeError};
use crate::Vec3;
use crate::geometry::tetrahedron::{closest_on_segment, faces, sort_vertices};
use crate::progress::{Progress, StageProgress, report_progress};
use crate::skeleton::{Skeleton, SkinWeights};
use crate::surface::Surface;
use std::collections::{BTreeMap, BTreeSet};

/// Cells along limbs, and the character without these limbs.
pub(crate) struct LimbCells {
    pub vertices: Vec<Vec3>,
    pub cells: Vec<Cell>,
    /// Part of each cell, from one on.
    pub part: Vec<u16>,
    /// Triangles that join them to the rest; seen from the side of the rest's flesh, corners run counter-clockwise.
    pub faces: Vec<[u32; 3]>,
    /// Pieces of bones on their edges: bone, and vertices from head to tail.
    pub bones: Vec<(u32, Vec<u32>)>,
    /// Virtual tips that begin at the heads of bones or beyond their tails: bone, and vertices outward.
    pub tips: Vec<(u32, Vec<u32>)>,
    /// Bones whose skin belongs to the limbs.
    pub inner_bones: Vec<u32>,
    /// Surface of the rest.
    pub rest: Surface,
    /// For each welded vertex of the character, the vertex of the rest; [`NO_CELL`] for vertices of a limb.
    pub in_rest: Vec<u32>,
    /// For each welded vertex of the character, its part, 0 for the rest.
    pub part_of_skin: Vec<u16>,
}

impl Lattice {
    /// Builds a lattice around a character with finished cells in its limbs, all in the character's own unit.
    ///
    /// # Errors
    /// [`LatticeError::Cancelled`], [`LatticeError::Failed`], [`LatticeError::Joined`].
    pub(crate) fn enclose_around(
        limbs: &LimbCells,
        own: &UnitCharacter,
        skin: Option<&SkinWeights>,
        settings: EncloseSettings,
        progress: &dyn Progress,
    ) -> Result<Self, LatticeError> {
        let (surface, skeleton) = (&own.surface, &own.skeleton);
        let h = surface.size() / settings.cells_across;
        let mut notes = Vec::new();
        report_progress(progress, 0.0, "finding the bones")?;
        let segments = bones::select(surface, skeleton, skin, h, &mut notes);
        let segments = remaining_segments(segments, limbs);
        let first = StageProgress {
            whole: progress,
            from: 0.0,
            to: 0.02,
        };
        limbs.rest.prepare(&first)?;
        let faces: Vec<[Vec3; 3]> = (limbs.faces.iter())
            .map(|f| f.map(|v| limbs.vertices[v as usize]))
            .collect();
        let lattice = enclose_segments(&limbs.rest, &segments, &faces, h, notes, progress)?;
        sew_limbs(lattice, limbs, surface, skeleton, 1e-6 * h)
    }
}

/// Returns the segments that the rest follows: those without the pieces that lie in limbs.
fn remaining_segments(segments: Vec<BoneSegment>, limbs: &LimbCells) -> Vec<BoneSegment> {
    /// Length, as a share of the bone, below which a piece is dropped.
    const MIN_PIECE_LENGTH: f64 = 1e-6;
    let goes_on = |segment: &BoneSegment| {
        let tip = limbs.tips.iter().find(|(b, _)| *b == segment.bone);
        tip.is_some_and(|(_, chain)| {
            let begin = limbs.vertices[chain[0] as usize];
            segment.tip
                || (begin - segment.head).norm()
                    <= MIN_PIECE_LENGTH * (segment.tail - segment.head).norm()
        })
    };
    let piece = |bone: u32| limbs.bones.iter().find(|(b, _)| *b == bone);
    let mut out = Vec::new();
    let mut ends_in_limb = BTreeSet::new();
    for segment in segments {
        if goes_on(&segment) {
            continue;
        }
        let Some((_, chain)) = piece(segment.bone).filter(|_| !segment.tip) else {
            let inner = limbs.inner_bones.contains(&segment.bone);
            if !(inner || segment.tip && ends_in_limb.contains(&segment.bone)) {
                out.push(segment);
            }
            continue;
        };
        let at = |v: Option<&u32>| v.map(|v| limbs.vertices[*v as usize]);
        let (Some(from), Some(to)) = (at(chain.first()), at(chain.last())) else {
            continue;
        };
        let stub = MIN_PIECE_LENGTH * (segment.tail - segment.head).norm();
        if (from - segment.head).norm() > stub {
            out.push(BoneSegment {
                tail: from,
                ..segment.clone()
            });
        }
        if (segment.tail - to).norm() > stub {
            out.push(BoneSegment {
                head: to,
                ..segment
            });
        } else {
            ends_in_limb.insert(segment.bone);
        }
    }
    out
}

/// Joins the lattice of the rest with the limbs' cells.
fn sew_limbs(
    rest: Lattice,
    limbs: &LimbCells,
    surface: &Surface,
    skeleton: &Skeleton,
    near: f64,
) -> Result<Lattice, LatticeError> {
    let joined: BTreeSet<u32> = limbs.faces.iter().flatten().copied().collect();
    let mut vertices = rest.vertices.clone();
    let mut number = vec![NO_CELL; limbs.vertices.len()];
    let used: BTreeSet<u32> = (limbs.cells.iter())
        .flat_map(|c| c.corners().iter().copied())
        .collect();
    for v in used {
        let x = limbs.vertices[v as usize];
        number[v as usize] = if joined.contains(&v) {
            // The first of several vertices at one place is the original, not a copy.
            let there = rest.vertices.iter().position(|p| (p - x).norm() <= near);
            there.map_or(NO_CELL, |i| i as u32)
        } else {
            vertices.push(x);
            vertices.len() as u32 - 1
        };
    }
    let tets = rest.cells.iter().filter_map(|c| match c {
        Cell::Tetrahedron(corners) => Some(faces(corners)),
        _ => None,
    });
    let there: BTreeSet<[u32; 3]> = tets.flatten().collect();
    let lost = |i: &usize| {
        let face = limbs.faces[*i].map(|v| number[v as usize]);
        !there.contains(&sort_vertices(face))
    };
    let lost: Vec<usize> = (0..limbs.faces.len()).filter(lost).collect();
    if !lost.is_empty() {
        return Err(LatticeError::Joined(lost));
    }
    let more = limbs
        .cells
        .iter()
        .map(|c| c.renumber(|v| number[v as usize]));
    let cells: Vec<Cell> = rest.cells.iter().copied().chain(more).collect();
    let bones = join_bone_chains(&rest, limbs, &number, skeleton, &vertices);
    let mut lattice = Lattice::with_bones(vertices, cells, bones)?;
    lattice.notes = rest.notes;
    let first = rest.cells.len() as u32;
    let of_cell: Vec<u16> = std::iter::repeat_n(0, rest.cells.len())
        .chain(limbs.part.iter().copied())
        .collect();
    let in_rest = (rest.flesh.as_ref()).and_then(|f| f.vertex_owner(&limbs.rest));
    let cell_of = |w: usize| match limbs.in_rest[w] {
        NO_CELL => {
            let p = surface.welded().vertices[w];
            let part = limbs.part_of_skin[w];
            let mine = |c: &u32| of_cell[*c as usize] == part;
            let mut held = lattice.locator.cells_around(p).filter(mine);
            held.find(|&c| c >= first && lattice.contains(c, p))
                .unwrap_or(NO_CELL)
        }
        v => {
            let welded = limbs.rest.welded().of_vertex[v as usize];
            in_rest.map_or(NO_CELL, |o| {
                o.get(welded as usize).copied().unwrap_or(NO_CELL)
            })
        }
    };
    let owners: Vec<u32> = (0..surface.welded().vertices.len()).map(cell_of).collect();
    lattice.flesh = rest
        .flesh
        .map(|f| f.extend_cells(limbs.cells.len(), owners, surface));
    let spacing = 0.5 * lattice.cell_size();
    let parts = CellParts::new(&lattice, of_cell, &sample_skin(surface, limbs, spacing));
    lattice.parts = Some(parts);
    Ok(lattice)
}

/// Samples the skin at distances of at most `spacing`, except triangles that reach from a limb to the rest.
fn sample_skin(surface: &Surface, limbs: &LimbCells, spacing: f64) -> Vec<SkinSample> {
    let welded = surface.welded();
    let mut out = Vec::new();
    for triangle in &welded.triangles {
        let [part, other, third] = triangle.map(|w| limbs.part_of_skin[w as usize]);
        let [a, b, c] = triangle.map(|w| welded.vertices[w as usize]);
        let Some(normal) = (b - a).cross(&(c - a)).try_normalize(0.0) else {
            continue;
        };
        if part != other || other != third {
            continue;
        }
        let longest = (b - a).norm().max((c - b).norm()).max((a - c).norm());
        let n = ((longest / spacing).ceil() as usize).clamp(1, 16);
        for i in 0..n {
            for j in 0..n - i {
                // Middles of the lower triangles into which it is cut.
                let [u, v] = [i, j].map(|k| (k as f64 + 1.0 / 3.0) / n as f64);
                out.push(SkinSample {
                    position: a + (b - a) * u + (c - a) * v,
                    normal,
                    part,
                });
            }
        }
    }
    out
}

/// Builds the bone chains of the whole lattice; pieces in a limb and pieces in the rest form one chain.
fn join_bone_chains(
    rest: &Lattice,
    limbs: &LimbCells,
    number: &[u32],
    skeleton: &Skeleton,
    vertices: &[Vec3],
) -> BoneChains {
    let mut pieces: BTreeMap<u32, Vec<Vec<u32>>> = BTreeMap::new();
    let of_rest = rest.bones.used_bones.iter().zip(&rest.bones.chains);
    for (&bone, chain) in of_rest {
        pieces.entry(bone).or_default().push(chain.clone());
    }
    for (bone, chain) in &limbs.bones {
        let chain = chain.iter().map(|v| number[*v as usize]).collect();
        pieces.entry(*bone).or_default().push(chain);
    }
    let mut out = BoneChains::default();
    for (bone, pieces) in pieces {
        let (head, tail) = (
            skeleton.heads()[bone as usize],
            skeleton.tails()[bone as usize],
        );
        let mut chain: Vec<u32> = pieces.concat();
        if pieces.len() > 1 {
            let mut along: Vec<(f64, u32)> = (chain.iter())
                .map(|&v| (closest_on_segment(head, tail, vertices[v as usize]).1, v))
                .collect();
            along.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            chain = along.into_iter().map(|(_, v)| v).collect();
            chain.dedup();
        }
        out.used_bones.push(bone);
        out.chains.push(chain);
    }
    let tips = &rest.bones.chains[rest.bones.used_bones.len()..];
    out.chains.extend(tips.iter().cloned());
    out.tip_bones = rest.bones.tip_bones.clone();
    for (bone, chain) in &limbs.tips {
        out.tip_bones.push(*bone);
        out.chains
            .push(chain.iter().map(|v| number[*v as usize]).collect());
    }
    out.bone_of_vertex = out.drivers(vertices.len());
    // If several bones claim a vertex of the rest, the rest's own assignment decides.
    for (v, bone) in rest.bones.bone_of_vertex.iter().enumerate() {
        if bone.is_some() {
            out.bone_of_vertex[v] = *bone;
        }
    }
    out
}
