// SPDX-License-Identifier: MIT OR Apache-2.0
//! Faults of a poured lattice, and the limbs that cause them.

use crate::Vec3;
use crate::lattice::{Lattice, UnitCharacter, Violation};
use crate::skeleton::{Skeleton, SkinWeights};
use crate::surface::Surface;
use std::collections::{BTreeMap, BTreeSet};

/// An open end of a limb.
pub(super) struct LimbEnd {
    pub limb: usize,
    pub hub: Vec3,
    /// True at the limb's far end, false at its beginning.
    pub far: bool,
}

/// Returns the limbs at fault, and the first violation as a sentence. A violation in a limb's cells or skin is that limb's; others go to
/// the limb with the nearest end. `part`: of each welded vertex in the own unit.
pub(super) fn find_faulty_limbs(
    lattice: &Lattice,
    (surface, skeleton): (&Surface, &Skeleton),
    (own, part): (&UnitCharacter, &[u16]),
    ends: &[LimbEnd],
) -> (Vec<usize>, String) {
    let found = lattice.check(surface, skeleton);
    let Some(first) = found.first() else {
        return (Vec::new(), String::new());
    };
    let why = format!("the whole would not be sound there ({first})");
    // Parts are indexed by vertices welded in the own unit.
    let of_triangle = |t: u32| {
        let welded =
            surface.triangles()[t as usize].map(|v| own.surface.welded().of_vertex[v as usize]);
        let of = welded.iter().filter_map(|w| part.get(*w as usize));
        of.copied().max().unwrap_or(0)
    };
    let of_cell = |cell: usize| (lattice.cell_part(cell), lattice.cell_centre(cell));
    let of_vertex = |v: u32| (0, lattice.vertices()[v as usize]);
    let nearest = |p: Vec3| {
        let far = |end: &&LimbEnd| (end.hub - p).norm_squared();
        let best = ends.iter().min_by(|a, b| far(a).total_cmp(&far(b)));
        best.map_or(0, |end| end.limb)
    };
    let mut limbs: Vec<usize> = Vec::new();
    for violation in &found {
        let (part, place) = match violation {
            Violation::Uncontained { at, triangle } => (of_triangle(*triangle), *at),
            Violation::Opening { cell, .. }
            | Violation::Inverted { cell, .. }
            | Violation::Folded { cell, .. }
            | Violation::RepeatedCorner { cell, .. }
            | Violation::Hanging { cell, .. }
            | Violation::Overlap(_, cell)
            | Violation::Duplicate(_, cell) => of_cell(*cell),
            Violation::OffBone { vertex, .. } | Violation::MissingEdge { to: vertex, .. } => {
                of_vertex(*vertex)
            }
            Violation::FaceShared { face, .. } => of_vertex(face[0]),
            Violation::Uncovered { from, .. } => (0, *from),
            Violation::Chains(_) | Violation::FaceCorners { .. } | Violation::LooseFace { .. } => {
                (0, Vec3::zeros())
            }
        };
        limbs.push(match part {
            0 => nearest(place),
            part => usize::from(part) - 1,
        });
    }
    limbs.sort_unstable();
    limbs.dedup();
    (limbs, why)
}

/// Returns the limbs whose far ends tetrahedra join to neighbouring flesh, as a finger to the next one, and a reason. Beyond a limb's
/// cells only its own bones and their descendants may continue.
pub(super) fn find_tied_limbs(
    lattice: &Lattice,
    (surface, skeleton): (&Surface, &Skeleton),
    skin: &SkinWeights,
    ends: &[LimbEnd],
) -> (Vec<usize>, String) {
    let limbs = ends.iter().map(|end| end.limb + 1).max().unwrap_or(0);
    let mut bones: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); limbs];
    let mut parts: Vec<BTreeSet<u16>> = vec![BTreeSet::new(); lattice.vertices().len()];
    for (i, cell) in lattice.cells().iter().enumerate() {
        let part = lattice.cell_part(i);
        for &v in cell.corners() {
            parts[v as usize].insert(part);
            let bone = lattice.bones().bone_of_vertex[v as usize];
            if let (Some(bone), Some(limb)) = (bone, usize::from(part).checked_sub(1)) {
                bones[limb].insert(bone);
            }
        }
    }
    // Limb whose far end contains a vertex shared with the rest, if any.
    let far_end = |v: usize| -> Option<usize> {
        let [0, part] = parts[v].iter().copied().collect::<Vec<_>>()[..] else {
            return None;
        };
        let (limb, x) = (usize::from(part) - 1, lattice.vertices()[v]);
        let own = ends.iter().filter(|end| end.limb == limb);
        let near = |a: &&LimbEnd| (a.hub - x).norm_squared();
        let end = own.min_by(|a, b| near(a).total_cmp(&near(b)))?;
        end.far.then_some(limb)
    };
    let ends_of: Vec<Option<usize>> = (0..parts.len()).map(far_end).collect();
    let hangs = |mut bone: u32, limb: usize| loop {
        if bones[limb].contains(&bone) {
            return true;
        }
        match skeleton.parents()[bone as usize] {
            Some(parent) => bone = parent,
            None => return false,
        }
    };
    let embedding = lattice.embed_surface(surface);
    let mut wrong = BTreeMap::new();
    for i in 0..embedding.len() {
        let heaviest = skin.row(i).max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((bone, _)) = heaviest else {
            continue;
        };
        let of_ends = (embedding.row(i))
            .filter(|(_, w)| w.abs() > 1e-9)
            .filter_map(|(v, _)| ends_of[v]);
        for limb in of_ends.filter(|limb| !hangs(bone, *limb)) {
            wrong.entry(limb).or_insert(bone);
        }
    }
    let why = wrong.values().next().map_or(String::new(), |bone| {
        let name = &skeleton.names()[*bone as usize];
        format!("tetrahedra at its end would tie it to what follows '{name}'")
    });
    (wrong.into_keys().collect(), why)
}
