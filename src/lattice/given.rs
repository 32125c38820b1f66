// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lattices from arrays: stored ownership of flesh, and bones found by position.

use super::bones::WELD_DISTANCE;
use super::{BoneChains, CellParts, FleshOwnership, Lattice, LatticeError, MirrorPlane};
use crate::Vec3;
use crate::geometry::tetrahedron::closest_on_segment;
use crate::skeleton::Skeleton;
use crate::store;

impl Lattice {
    /// Adds stored ownership of flesh, from [`copies`](Self::copies), for cells that overlap.
    ///
    /// # Errors
    /// [`LatticeError::Copies`] if they belong to a lattice with other cells.
    pub fn with_copies(mut self, copies: &[u8]) -> Result<Self, LatticeError> {
        let (flesh, parts, plane): (FleshOwnership, Option<CellParts>, Option<MirrorPlane>) =
            store::unpack(copies).ok_or(LatticeError::Copies)?;
        let cells = self.cells.len();
        let fits = flesh.fits(cells)
            && parts.as_ref().is_none_or(|p| p.fits(cells))
            && plane.is_none_or(|p| self.may_be_mirrored(&p));
        if !fits {
            return Err(LatticeError::Copies);
        }
        (self.flesh, self.parts, self.mirror_plane) = (Some(flesh), parts, plane);
        Ok(self)
    }

    /// Serialises the ownership of flesh among overlapping cells, for [`with_copies`](Self::with_copies);
    /// `None` for a lattice that was built from arrays.
    pub fn copies(&self) -> Option<Vec<u8>> {
        store::pack(&(self.flesh.as_ref()?, &self.parts, &self.mirror_plane))
    }

    /// Returns whether the cells have the form of a mirrored lattice: two halves of tetrahedra.
    pub(crate) fn may_be_mirrored(&self, plane: &MirrorPlane) -> bool {
        let tetrahedra = self.cells.iter().all(|c| c.corners().len() == 4);
        plane.is_valid() && tetrahedra && self.cells.len().is_multiple_of(2)
    }

    /// Finds the bones that lie on edges from head to tail: chains of vertices within the welding distance of
    /// the bone. Virtual tips are not bones of the skeleton and are not found.
    pub fn find_bone_chains(&self, skeleton: &Skeleton) -> BoneChains {
        let weld = WELD_DISTANCE * self.cell_size();
        let edges = self.edges();
        let mut bones = BoneChains::default();
        for b in 0..skeleton.len() {
            let (head, tail) = (skeleton.heads()[b], skeleton.tails()[b]);
            let mut on: Vec<(f64, u32)> = (0u32..)
                .zip(&self.vertices)
                .filter_map(|(v, &x)| {
                    let (foot, along) = closest_on_segment(head, tail, x);
                    let near = (x - foot).norm() <= weld;
                    near.then_some((along, v))
                })
                .collect();
            on.sort_by(|p, q| p.0.total_cmp(&q.0).then(p.1.cmp(&q.1)));
            // Of virtual copies, the first belongs to the bone.
            on.dedup_by(|next, kept| {
                self.vertices[next.1 as usize] == self.vertices[kept.1 as usize]
            });
            let chain: Vec<u32> = on.into_iter().map(|(_, v)| v).collect();
            let at = |end: Option<&u32>, joint: Vec3| {
                end.is_some_and(|&v| (self.vertices[v as usize] - joint).norm() <= weld)
            };
            let joined = chain
                .windows(2)
                .all(|w| edges.contains(&(w[0].min(w[1]), w[0].max(w[1]))));
            if at(chain.first(), head) && at(chain.last(), tail) && joined {
                bones.used_bones.push(b as u32);
                bones.chains.push(chain);
            }
        }
        bones.bone_of_vertex = bones.drivers(self.vertices.len());
        bones
    }
}

impl BoneChains {
    /// Returns the bone that drives each of `vertices` vertices without skin weights: the first of equal rank.
    pub(crate) fn drivers(&self, vertices: usize) -> Vec<Option<u32>> {
        self.drivers_by_claim(vertices, |_, _| 0.0)
    }

    /// Returns the bone that drives each of `vertices` vertices. `claim` is the strength of a chain's claim to
    /// a vertex against others of equal rank.
    pub(super) fn drivers_by_claim(
        &self,
        vertices: usize,
        claim: impl Fn(usize, u32) -> f64,
    ) -> Vec<Option<u32>> {
        let mut drivers = vec![None; vertices];
        let mut best = vec![(0u8, f64::NEG_INFINITY); vertices];
        let bones = self.used_bones.iter().chain(&self.tip_bones);
        for (c, (chain, &bone)) in self.chains.iter().zip(bones).enumerate() {
            for (i, &v) in chain.iter().enumerate() {
                // Descending: a bone's head, an inner vertex, a tail, a tip. The claim decides between equals.
                let rank = match i {
                    _ if c >= self.used_bones.len() => 1,
                    0 => 4,
                    i if i + 1 == chain.len() => 2,
                    _ => 3,
                };
                let mine = (rank, claim(c, v));
                if mine > best[v as usize] {
                    best[v as usize] = mine;
                    drivers[v as usize] = Some(bone);
                }
            }
        }
        drivers
    }
}
