// SPDX-License-Identifier: MIT OR Apache-2.0
//! Assembly of a whole lattice from a half and its mirror image.
//!
//! The second half of the cells are the images of the first half, in the same order, with the last two corners swapped.
//! Vertices of the half on the plane through which flesh passes are their own images; all others are doubled. Each vertex of
//! the skin on the other side belongs to the image of the cell that holds its own image.

use super::super::flesh::NO_CELL;
use super::super::split::Split;
use super::super::{BoneChains, Cell, Lattice, LatticeError};
use super::half::HalfSkeleton;
use super::plane::{MirrorFrame, flip};
use crate::Vec3;
use crate::lattice::unit::UnitCharacter;
use crate::surface::Surface;

/// A lattice of one half, in a frame with the plane at x = 0.
pub(super) struct HalfLattice {
    /// Vertices and cells, with copies.
    pub split: Split,
    /// Chains and drivers of the half's bones.
    pub chains: BoneChains,
    /// Number of copies among the cells.
    pub copies: usize,
}

impl HalfLattice {
    /// Joins the half with its image; `surface` is the skin in the frame, `own` the character in its own unit.
    pub fn reflect(
        self,
        half: &HalfSkeleton,
        frame: &MirrorFrame,
        surface: &Surface,
        own: &UnitCharacter,
        mut notes: Vec<String>,
    ) -> Result<Lattice, LatticeError> {
        let n = self.split.vertices.len();
        let mut vertices = self.split.vertices.clone();
        let mut image: Vec<u32> = (0..n as u32).collect();
        for v in (0..n).filter(|&v| !self.split.shared[v]) {
            image[v] = vertices.len() as u32;
            vertices.push(flip(vertices[v]));
        }
        let own_cells = self.split.cells.iter().copied();
        let mirrored = own_cells
            .clone()
            .map(|[a, b, c, d]| [a, b, d, c].map(|v| image[v as usize]));
        let cells: Vec<Cell> = own_cells.chain(mirrored).map(Cell::Tetrahedron).collect();
        let owners = self.skin_owners(surface)?;
        let bones = self.whole_chains(half, own, &image, vertices.len());
        let vertices = vertices.iter().map(|p| frame.to_own(p)).collect();
        let mut lattice = Lattice::with_bones(vertices, cells, bones)?;
        let flesh = self.split.flesh.reflect(owners);
        lattice.flesh = Some(flesh.into_own_frame(frame, surface, &own.surface));
        if self.copies > 0 {
            notes.push(super::super::assemble::note_copies(2 * self.copies));
        }
        lattice.notes = notes;
        lattice.mirror_plane = Some(frame.plane);
        Ok(lattice)
    }

    /// Returns for each welded vertex of the skin the cell of the whole lattice that holds it.
    fn skin_owners(&self, surface: &Surface) -> Result<Vec<u32>, LatticeError> {
        let Split {
            vertices,
            cells,
            group,
            flesh,
            ..
        } = &self.split;
        let tetrahedra = cells.iter().map(|t| Cell::Tetrahedron(*t)).collect();
        let located = Lattice::new(vertices.clone(), tetrahedra)?;
        let count = cells.len() as u32;
        let held = flesh.vertex_owner(surface).unwrap_or_default();
        let welded = surface.welded();
        let owner = |(w, p): (usize, &Vec3)| {
            if p.x >= 0.0 {
                return held.get(w).copied().unwrap_or(NO_CELL);
            }
            let p = flip(*p);
            // The originals come first: a copy is never the first cell that contains a point.
            let Some(cell) = located.locate(p) else {
                return NO_CELL;
            };
            let near = surface.closest_point(p);
            let distance = |v: &u32| (welded.vertices[*v as usize] - p).norm_squared();
            let corners = welded.triangles[near.triangle as usize];
            let nearest = corners
                .into_iter()
                .min_by(|a, b| distance(a).total_cmp(&distance(b)));
            let twin = nearest.and_then(|v| held.get(v as usize).copied());
            let twin = twin.filter(|&t| t != NO_CELL && group[t as usize] == cell);
            count + twin.unwrap_or_else(|| flesh.owner(cell, p))
        };
        Ok(welded.vertices.iter().enumerate().map(owner).collect())
    }

    /// Returns the chains of the whole, and the bone that drives each vertex.
    fn whole_chains(
        &self,
        half: &HalfSkeleton,
        own: &UnitCharacter,
        image: &[u32],
        vertices: usize,
    ) -> BoneChains {
        let mut out = BoneChains::default();
        for s in &half.whole {
            match s.tip {
                true => out.tip_bones.push(s.bone),
                false => out.used_bones.push(s.bone),
            }
            let chain = self.half_chain(half, s.half).iter();
            out.chains.push(match s.mirrored {
                true => chain.map(|v| image[*v as usize]).collect(),
                false => chain.copied().collect(),
            });
        }
        out.bone_of_vertex = self.chains.bone_of_vertex.clone();
        out.bone_of_vertex.resize(vertices, None);
        let partner = |bone: u32| half.partner.get(&bone).copied().unwrap_or(bone);
        let in_plane = self.plane_drivers(half);
        for (v, &other) in image.iter().enumerate() {
            let Some(bone) = out.bone_of_vertex[v] else {
                continue;
            };
            let other = other as usize;
            if other != v {
                out.bone_of_vertex[other] = Some(partner(bone));
            } else if partner(bone) != bone {
                // A vertex that is its own image follows a bone that is so too, if there is one.
                let parent = |b: u32| own.skeleton.parents()[b as usize];
                let common = parent(bone)
                    .filter(|p| parent(partner(bone)) == Some(*p) && half.partner.contains_key(p));
                out.bone_of_vertex[v] = in_plane[v].or(common).or(Some(bone));
            }
        }
        out
    }

    /// Returns the vertices along a segment of the half.
    fn half_chain(&self, half: &HalfSkeleton, segment: usize) -> &[u32] {
        // Chains list bones, then tips, each in the order of the segments.
        let tip = half.segments[segment].tip;
        let before = |tips: bool, upto: usize| {
            half.segments[..upto]
                .iter()
                .filter(|s| s.tip == tips)
                .count()
        };
        let first = if tip {
            before(false, half.segments.len())
        } else {
            0
        };
        &self.chains.chains[first + before(tip, segment)]
    }

    /// Returns for each vertex of the half the bone in the plane that drives it, as if there were no others.
    fn plane_drivers(&self, half: &HalfSkeleton) -> Vec<Option<u32>> {
        let mut only = BoneChains::default();
        for (i, s) in half.segments.iter().enumerate() {
            if !s.tip && half.partner.get(&s.bone) == Some(&s.bone) {
                only.used_bones.push(s.bone);
                only.chains.push(self.half_chain(half, i).to_vec());
            }
        }
        only.drivers(self.split.vertices.len())
    }
}
