// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lattices made by hand: bones found on their edges, the four conditions demanded, separate parts doubled.
//!
//! A given complex of cells knows nothing of the character. [`Lattice::for_character`] selects the bones to follow as
//! [`Lattice::enclose`] does, moves vertices near them onto them, and tests all conditions. Only a lattice without
//! violations is returned. If all cells are tetrahedra, those shared by separate parts of the body are doubled by
//! virtual nodes. Prisms and hexahedra are not: there each part needs cells of its own.

use super::assemble::note_copies;
use super::bones::{self, BoneSegment, WELD_DISTANCE};
use super::check::MergedGeometry;
use super::split::{SplitInput, split};
use super::unit::UnitCharacter;
use super::{BoneChains, Cell, EncloseSettings, Lattice, LatticeError, Violation, check_settings};
use crate::Vec3;
use crate::geometry::tetrahedron::closest_on_segment;
use crate::progress::{Progress, StageProgress, report_progress};
use crate::skeleton::{Skeleton, SkinWeights};
use crate::surface::{OwnUnit, Surface};
use std::collections::BTreeSet;

/// Sum of the skin weights of welded vertices, below which a bone need not lie on edges: half a vertex. At twice that
/// a bone that carries one vertex would be left out; at half, brushes that touched a vertex by mistake would bind.
const MIN_USED_WEIGHT: f64 = 0.5;

/// A straight piece of skeleton beyond a bone, on edges of the lattice: it keeps a head, hand or foot stiff.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tip {
    /// Bone that drives it.
    pub bone: u32,
    /// Its ends at rest, m.
    pub ends: [Vec3; 2],
}

/// Settings of [`Lattice::for_character`].
#[derive(Debug, Clone, PartialEq)]
pub struct HandSettings {
    /// Virtual tips. One that does not lie on edges is left out with a note.
    pub tips: Vec<Tip>,
    /// Largest distance at which a vertex is moved onto a bone, as a share of the shortest edge at the vertex; 0 to
    /// 0.5. At half of that edge two vertices could meet.
    pub reach: f64,
}

impl Default for HandSettings {
    /// No tips. The reach of 0.15 forgives what the hand cannot see, and moves no vertex that was placed beside a
    /// bone: enclosed lattices keep 0.2 of an edge free there.
    fn default() -> Self {
        Self {
            tips: Vec::new(),
            reach: 0.15,
        }
    }
}

impl Lattice {
    /// Returns this complex of cells as the lattice of a character. Its own bones and copies are not used.
    ///
    /// The first vertices are those of this lattice (without copies), moved onto bones where they are near; copies
    /// follow. `skin` holds the weights of the surface's vertices, which choose the bones to follow.
    ///
    /// # Errors
    /// [`LatticeError::Conditions`] with every violation; [`LatticeError::Reach`], [`LatticeError::TipBone`],
    /// [`LatticeError::Weights`], [`LatticeError::Cancelled`].
    pub fn for_character(
        &self,
        surface: &Surface,
        skeleton: &Skeleton,
        skin: Option<&SkinWeights>,
        settings: &HandSettings,
        progress: &dyn Progress,
    ) -> Result<Self, LatticeError> {
        check_settings(surface, skeleton, skin, EncloseSettings::default())?;
        check_hand_settings(skeleton, settings)?;
        report_progress(progress, 0.0, "finding the bones")?;
        let (vertices, cells) = self.merged();
        let mut lattice = Self::new(vertices, cells)?;
        let unit = OwnUnit::for_character(surface, skeleton);
        let own = unit.convert(surface, skeleton)?;
        let mut notes = Vec::new();
        let h = lattice.cell_size() / unit.scale;
        let followed: Vec<FollowedBone> =
            bones::select(&own.surface, &own.skeleton, skin, h, &mut notes)
                .into_iter()
                .filter(|segment| !segment.tip)
                .map(|segment| FollowedBone::new(segment, unit, &own, skeleton))
                .collect();
        lattice.snap(&followed, settings)?;
        let mut found = Vec::new();
        let gaps = lattice.set_bones(&followed, settings, (unit, skeleton), &mut notes);
        found.extend(gaps);
        report_progress(progress, 0.2, "checking the lattice")?;
        found.extend(lattice.check(surface, skeleton));
        if !found.is_empty() {
            found.sort_by_key(Violation::condition);
            return Err(LatticeError::Conditions(found));
        }
        let part = StageProgress {
            whole: progress,
            from: 0.5,
            to: 1.0,
        };
        let mut lattice = lattice.separate_parts(&own, unit, surface, &mut notes, &part)?;
        lattice.notes = notes;
        report_progress(progress, 1.0, "done")?;
        Ok(lattice)
    }

    /// Returns vertices and cells with virtual copies merged.
    fn merged(&self) -> (Vec<Vec3>, Vec<Cell>) {
        if self.flesh.is_none() {
            return (self.vertices.clone(), self.cells.clone());
        }
        let merged = MergedGeometry::new(self);
        let mut seen = BTreeSet::new();
        let cells: Vec<Cell> = (self.cells.iter())
            .map(|c| c.renumber(|v| merged.vertex(v)))
            .filter(|c| {
                let mut corners = c.corners().to_vec();
                corners.sort_unstable();
                seen.insert(corners)
            })
            .collect();
        // Copies follow the originals, so that dropping the unused ones keeps the numbers of the others.
        let last = cells.iter().flat_map(Cell::corners).max();
        let count = last.map_or(0, |&v| v as usize + 1);
        (self.vertices[..count].to_vec(), cells)
    }

    /// Moves vertices near bones onto them: to joints first, then to the nearest points of bones.
    fn snap(
        &mut self,
        followed: &[FollowedBone],
        settings: &HandSettings,
    ) -> Result<(), LatticeError> {
        let mut shortest = vec![0.0; self.vertices.len()];
        for (a, b) in self.edges() {
            let length = (self.vertices[a as usize] - self.vertices[b as usize]).norm();
            for v in [a, b] {
                let known: &mut f64 = &mut shortest[v as usize];
                *known = if *known > 0.0 {
                    known.min(length)
                } else {
                    length
                };
            }
        }
        let mut x = self.vertices.clone();
        let weld = WELD_DISTANCE * self.cell_size();
        let of_tips = settings.tips.iter().map(|tip| tip.ends);
        let bones: Vec<[Vec3; 2]> = followed.iter().map(|f| f.ends).chain(of_tips).collect();
        let distance = |p: Vec3, [a, b]: [Vec3; 2]| (closest_on_segment(a, b, p).0 - p).norm();
        let mut free: Vec<bool> = (x.iter())
            .map(|&p| bones.iter().all(|&ends| distance(p, ends) > weld))
            .collect();
        for joint in bones.iter().flatten() {
            let away = |v: &usize| (x[*v] - joint).norm();
            let near = (0..x.len()).min_by(|a, b| away(a).total_cmp(&away(b)).then(a.cmp(b)));
            let near = near.filter(|v| free[*v] && away(v) <= settings.reach * shortest[*v]);
            if let Some(v) = near {
                (x[v], free[v]) = (*joint, false);
            }
        }
        for v in (0..x.len()).filter(|&v| free[v]) {
            let feet = bones.iter().map(|&[a, b]| closest_on_segment(a, b, x[v]).0);
            let near = feet.min_by(|p, q| (p - x[v]).norm().total_cmp(&(q - x[v]).norm()));
            let near = near.filter(|p| (p - x[v]).norm() <= settings.reach * shortest[v]);
            x[v] = near.unwrap_or(x[v]);
        }
        *self = Self::new(x, std::mem::take(&mut self.cells))?;
        Ok(())
    }

    /// Finds the chains of bones and tips, and returns the gaps in those of bones. A bone with a gap gets no chain.
    fn set_bones(
        &mut self,
        followed: &[FollowedBone],
        settings: &HandSettings,
        (unit, skeleton): (OwnUnit, &Skeleton),
        notes: &mut Vec<String>,
    ) -> Vec<Violation> {
        let edges = self.edges();
        let mut violations = Vec::new();
        let (mut out, mut claims) = (BoneChains::default(), Vec::new());
        for bone in followed {
            let (chain, gaps) = self.chain_along(&edges, bone.ends);
            if gaps.is_empty() {
                out.used_bones.push(bone.segment.bone);
                out.chains.push(chain);
                claims.push(Some(&bone.segment));
            }
            let name = &skeleton.names()[bone.segment.bone as usize];
            if !gaps.is_empty() && bone.segment.weight < MIN_USED_WEIGHT {
                notes.push(format!(
                    "Bone “{name}” carries next to no skin and lies off the edges: it was left out."
                ));
                continue;
            }
            violations.extend(gaps.into_iter().map(|[from, to]| Violation::Uncovered {
                bone: name.clone(),
                from,
                to,
            }));
        }
        for tip in &settings.tips {
            let (chain, gaps) = self.chain_along(&edges, tip.ends);
            if gaps.is_empty() {
                out.tip_bones.push(tip.bone);
                out.chains.push(chain);
                claims.push(None);
            } else {
                let name = &skeleton.names()[tip.bone as usize];
                notes.push(format!(
                    "The tip beyond bone “{name}” is not on edges of the lattice any more: its end moves more freely."
                ));
            }
        }
        let claim = |chain: usize, v: u32| {
            let at = unit.to_own(&self.vertices[v as usize]);
            claims[chain].map_or(0.0, |segment: &BoneSegment| segment.claim(at))
        };
        out.bone_of_vertex = out.drivers_by_claim(self.vertices.len(), claim);
        self.bones = out;
        violations
    }

    /// Returns the vertices along a segment, and the pieces of it that no edges cover.
    fn chain_along(
        &self,
        edges: &BTreeSet<(u32, u32)>,
        [head, tail]: [Vec3; 2],
    ) -> (Vec<u32>, Vec<[Vec3; 2]>) {
        let weld = WELD_DISTANCE * self.cell_size();
        let mut on: Vec<(f64, u32)> = (0u32..)
            .zip(&self.vertices)
            .filter_map(|(v, &x)| {
                let (foot, along) = closest_on_segment(head, tail, x);
                ((x - foot).norm() <= weld).then_some((along, v))
            })
            .collect();
        on.sort_by(|p, q| p.0.total_cmp(&q.0).then(p.1.cmp(&q.1)));
        let chain: Vec<u32> = on.into_iter().map(|(_, v)| v).collect();
        let at = |v: u32| self.vertices[v as usize];
        let (Some(&first), Some(&last)) = (chain.first(), chain.last()) else {
            return (chain, vec![[head, tail]]);
        };
        let mut gaps = Vec::new();
        if (at(first) - head).norm() > weld {
            gaps.push([head, at(first)]);
        }
        for pair in chain.windows(2) {
            let edge = (pair[0].min(pair[1]), pair[0].max(pair[1]));
            if !edges.contains(&edge) {
                gaps.push([at(pair[0]), at(pair[1])]);
            }
        }
        if (at(last) - tail).norm() > weld {
            gaps.push([at(last), tail]);
        }
        (chain, gaps)
    }

    /// Doubles cells that separate parts of the body share, if all cells are tetrahedra.
    fn separate_parts(
        self,
        own: &UnitCharacter,
        unit: OwnUnit,
        surface: &Surface,
        notes: &mut Vec<String>,
        progress: &dyn Progress,
    ) -> Result<Self, LatticeError> {
        let corners = |c: &Cell| match c {
            Cell::Tetrahedron(corners) => Some(*corners),
            _ => None,
        };
        let Some(cells) = self.cells.iter().map(corners).collect::<Option<Vec<_>>>() else {
            return Ok(self);
        };
        let vertices: Vec<Vec3> = self.vertices.iter().map(|x| unit.to_own(x)).collect();
        let split = split(
            SplitInput {
                vertices: &vertices,
                cells: &cells,
                surface: &own.surface,
                h: self.cell_size() / unit.scale,
                bone_edges: &self.bone_edges(),
                halved: false,
            },
            progress,
        )?;
        let copies = split.cells.len() - cells.len();
        if copies > 0 {
            notes.push(note_copies(copies));
        }
        let at = |&v: &u32| self.vertices[v as usize];
        let vertices = split.original.iter().map(at).collect();
        let cells = split.cells.into_iter().map(Cell::Tetrahedron).collect();
        let mut out = Self::with_bones(vertices, cells, self.bones)?;
        out.flesh = Some(split.flesh.into_input_unit(unit, &own.surface, surface));
        Ok(out)
    }

    /// Returns the edges on bones, each with its bone; a chain of one vertex is an edge to itself.
    fn bone_edges(&self) -> Vec<(u32, u32, u32)> {
        let bones = self.bones.used_bones.iter().chain(&self.bones.tip_bones);
        let mut edges = Vec::new();
        for (&bone, chain) in bones.zip(&self.bones.chains) {
            match chain[..] {
                [v] => edges.push((v, v, bone)),
                _ => edges.extend(chain.windows(2).map(|w| (w[0], w[1], bone))),
            }
        }
        edges
    }
}

/// A bone that the lattice must follow.
struct FollowedBone {
    /// Its segment in the character's own unit.
    segment: BoneSegment,
    /// Ends of the part to follow, in the units of the input, m.
    ends: [Vec3; 2],
}

impl FollowedBone {
    fn new(segment: BoneSegment, unit: OwnUnit, own: &UnitCharacter, skeleton: &Skeleton) -> Self {
        let b = segment.bone as usize;
        let own_ends = [own.skeleton.heads()[b], own.skeleton.tails()[b]];
        let ends = [skeleton.heads()[b], skeleton.tails()[b]];
        let given = |x: Vec3| {
            let joint = (0..2).find(|&k| own_ends[k] == x);
            joint.map_or_else(|| unit.to_given(&x), |k| ends[k])
        };
        Self {
            ends: [given(segment.head), given(segment.tail)],
            segment,
        }
    }
}

fn check_hand_settings(skeleton: &Skeleton, settings: &HandSettings) -> Result<(), LatticeError> {
    if !(0.0..=0.5).contains(&settings.reach) {
        return Err(LatticeError::Reach(settings.reach));
    }
    for (tip, t) in settings.tips.iter().enumerate() {
        if t.bone as usize >= skeleton.len() {
            return Err(LatticeError::TipBone {
                tip,
                bone: t.bone,
                bones: skeleton.len(),
            });
        }
        if !t.ends.iter().all(crate::range::is_position) {
            return Err(LatticeError::TipEnds(tip));
        }
    }
    Ok(())
}
