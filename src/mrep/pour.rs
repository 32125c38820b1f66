// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limbs poured into the lattice of a whole character: prisms along them, tetrahedra everywhere else, joined in faces.
//!
//! A limb's cells begin at an atom some way along it, where a disc across the limb parts its skin from the rest, and end at such a
//! disc or at the limb's tip. Limbs that cannot be parted or filled so are left to tetrahedra, and a note says why.
//!
//! Source: [oguz2005, slides 9 and 23; crouch2007] for cells along medial axes; joining them to tetrahedra is ours.

mod piece;

use super::cut::{Disc, Mesh, cut};
use super::error::MRepError;
use super::figure::Figure;
use super::model::Model;
use crate::lattice::{
    Cell, EncloseSettings, Lattice, LatticeError, Limbs, Own, Violation, check_settings,
};
use crate::progress::{Progress, step};
use crate::skeleton::{Skeleton, SkinWeights};
use crate::surface::{OwnUnit, Surface};
use crate::{Mat3, Vec3};
use piece::{Candidate, Limb};
use std::collections::{BTreeMap, BTreeSet};

impl Model {
    /// A lattice around a whole character: prisms along the tubes of the model, in pieces whose skin is theirs alone, tetrahedra
    /// around the rest, with every used bone on edges. It does what [`Lattice::enclose`] does, and says in its notes which limbs were
    /// left to tetrahedra, and why.
    ///
    /// # Errors
    /// As [`Lattice::enclose`].
    pub fn enclose(
        &self,
        surface: &Surface,
        skeleton: &Skeleton,
        skin: Option<&SkinWeights>,
        settings: EncloseSettings,
        progress: &dyn Progress,
    ) -> Result<Lattice, LatticeError> {
        check_settings(surface, skeleton, skin, settings)?;
        step(progress, 0.0, "parting limbs")?;
        // In a unit of the character's own, in which near ties fall alike at every scale.
        let unit = OwnUnit::of(surface);
        let own = unit.convert(surface, skeleton)?;
        let moved = |figure: &Figure| {
            figure.transformed(
                unit.scale.recip(),
                &Mat3::identity(),
                -unit.origin / unit.scale,
            )
        };
        let figures: Vec<(&str, Figure)> = (self.figures().iter())
            .map(|(name, figure)| (&name[..], moved(figure)))
            .collect();
        let mesh = Mesh::new(&own.surface);
        let h = own.surface.size() / settings.cells_across;
        let mut notes = Vec::new();
        let mut limbs: Named = Vec::new();
        for (name, figure) in &figures {
            match Candidate::new(figure, &mesh, &own.skeleton, skin, h) {
                Ok(found) => limbs.push((name, found)),
                Err(why) => notes.push(left(name, &why)),
            }
        }
        while !limbs.is_empty() {
            let taken;
            (limbs, taken) = apart(limbs, own.surface.welded().vertices.len(), &mut notes);
            let parts: Vec<&Limb> = limbs.iter().map(|(_, c)| &c.limb).collect();
            let built = poured(&parts, &taken, &own, skin, h)
                .and_then(|all| Lattice::enclose_around(&all, &own, skin, settings, progress))
                .and_then(|lattice| unit.bring_back(lattice, &own, surface, skeleton));
            match built {
                Ok(mut lattice) => {
                    step(progress, 1.0, "checking limbs")?;
                    let ends = (0..).zip(&parts).flat_map(|(i, limb)| {
                        let hubs = limb.discs.iter().map(|d| unit.to_given(&d.hub));
                        hubs.map(move |hub| (i, hub)).collect::<Vec<_>>()
                    });
                    let ends: Vec<_> = ends.collect();
                    let (wrong, why) = at_fault(&lattice, surface, skeleton, (&own, &taken), &ends);
                    let (wrong, why) = match skin {
                        Some(skin) if wrong.is_empty() => {
                            tied(&lattice, surface, skeleton, skin, &ends)
                        }
                        _ => (wrong, why),
                    };
                    if wrong.is_empty() {
                        lattice.add_notes(notes);
                        return Ok(lattice);
                    }
                    limbs = without(limbs, &wrong, &why, &mut notes);
                }
                Err(LatticeError::Joined(faces)) => {
                    let mut bad: Vec<Vec<usize>> = vec![Vec::new(); limbs.len()];
                    for face in faces {
                        let [limb, end] = of_face(&parts, face);
                        bad[limb].push(end);
                    }
                    let mut stuck = Vec::new();
                    for (i, bad) in bad.iter().enumerate().filter(|(_, bad)| !bad.is_empty()) {
                        if !limbs[i].1.shorter(bad) {
                            stuck.push(i);
                        }
                    }
                    let why = "its ends lie too near to bones or to other limbs";
                    limbs = without(limbs, &stuck, why, &mut notes);
                }
                Err(LatticeError::Failed(why)) => {
                    let last = limbs.len() - 1;
                    limbs = without(limbs, &[last], &why, &mut notes);
                }
                Err(other) => return Err(other),
            }
        }
        let mut lattice = Lattice::enclose(surface, skeleton, skin, settings, progress)?;
        lattice.add_notes(notes);
        Ok(lattice)
    }
}

/// Limbs with a name each.
type Named<'a> = Vec<(&'a str, Candidate<'a>)>;

/// Those limbs whose skin is theirs alone, and for each welded vertex one more than the limb that it belongs to, or 0.
fn apart<'a>(limbs: Named<'a>, vertices: usize, notes: &mut Vec<String>) -> (Named<'a>, Vec<u16>) {
    let mut taken = vec![0u16; vertices];
    let mut chosen: Named = Vec::new();
    for (name, limb) in limbs {
        let own = &limb.limb.own;
        if own
            .iter()
            .zip(&taken)
            .any(|(mine, taken)| *mine && *taken > 0)
        {
            notes.push(left(name, "its skin is another limb's, too"));
            continue;
        }
        let part = chosen.len() as u16 + 1;
        for (taken, _) in taken.iter_mut().zip(own).filter(|o| *o.1) {
            *taken = part;
        }
        chosen.push((name, limb));
    }
    (chosen, taken)
}

/// All limbs but some, which are left to tetrahedra.
fn without<'a>(limbs: Named<'a>, some: &[usize], why: &str, notes: &mut Vec<String>) -> Named<'a> {
    let mut kept = Vec::new();
    for (i, (name, limb)) in limbs.into_iter().enumerate() {
        if some.contains(&i) {
            notes.push(left(name, why));
        } else {
            kept.push((name, limb));
        }
    }
    kept
}

/// Limbs at which the lattice is not what it has to be: those whose cells or skin it is, else those whose ends are nearest; and what is
/// wrong first. `part`: of each welded vertex in the own unit; `ends`: places with the limb that ends there.
fn at_fault(
    lattice: &Lattice,
    surface: &Surface,
    skeleton: &Skeleton,
    (own, part): (&Own, &[u16]),
    ends: &[(usize, Vec3)],
) -> (Vec<usize>, String) {
    let found = lattice.check(surface, skeleton);
    let Some(first) = found.first() else {
        return Default::default();
    };
    let why = format!("the whole would not be sound there ({first})");
    // Parts are known of the vertices welded in the own unit.
    let of_triangle = |t: u32| {
        let welded =
            surface.triangles()[t as usize].map(|v| own.surface.welded().of_vertex[v as usize]);
        let of = welded.iter().filter_map(|w| part.get(*w as usize));
        of.copied().max().unwrap_or(0)
    };
    let of_cell = |cell: usize| (lattice.part(cell), lattice.cell_centre(cell));
    let of_vertex = |v: u32| (0, lattice.vertices()[v as usize]);
    let nearest = |p: Vec3| {
        let far = |end: &&(usize, Vec3)| (end.1 - p).norm_squared();
        let best = ends.iter().min_by(|a, b| far(a).total_cmp(&far(b)));
        best.map_or(0, |end| end.0)
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
            Violation::Chains(_) => (0, Vec3::zeros()),
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

/// Limbs whose far ends tetrahedra join to flesh beside them, as a finger's to the next finger's; and why. Where a limb's cells end, what
/// goes on is its own bones' or those' that hang from them.
fn tied(
    lattice: &Lattice,
    surface: &Surface,
    skeleton: &Skeleton,
    skin: &SkinWeights,
    ends: &[(usize, Vec3)],
) -> (Vec<usize>, String) {
    let limbs = ends.iter().map(|end| end.0 + 1).max().unwrap_or(0);
    let order = skeleton.parents_first();
    let mut bones: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); limbs];
    let mut parts: Vec<BTreeSet<u16>> = vec![BTreeSet::new(); lattice.vertices().len()];
    for (i, cell) in lattice.cells().iter().enumerate() {
        let part = lattice.part(i);
        for &v in cell.corners() {
            parts[v as usize].insert(part);
            let bone = lattice.bones().bone_of_vertex[v as usize];
            if let (Some(bone), Some(limb)) = (bone, usize::from(part).checked_sub(1)) {
                bones[limb].insert(bone);
            }
        }
    }
    // From which limb's far end a vertex of the rest is, if any.
    let far_end = |v: usize| -> Option<usize> {
        let [0, part] = parts[v].iter().copied().collect::<Vec<_>>()[..] else {
            return None;
        };
        let (limb, x) = (usize::from(part) - 1, lattice.vertices()[v]);
        let own = ends.iter().filter(|end| end.0 == limb);
        let near = |a: &&(usize, Vec3)| (a.1 - x).norm_squared();
        let end = own.min_by(|a, b| near(a).total_cmp(&near(b)))?.1;
        let mut chain = order.iter().filter(|b| bones[limb].contains(b));
        let first = *chain.next()? as usize;
        let last = chain.next_back().map_or(first, |b| *b as usize);
        let (head, tail) = (skeleton.heads()[first], skeleton.tails()[last]);
        ((end - head).norm() > (end - tail).norm()).then_some(limb)
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

fn left(name: &str, why: &str) -> String {
    format!("The limb '{name}' is left to tetrahedra: {why}.")
}

/// Which limb a face belongs to, and at which of its open ends it is.
fn of_face(limbs: &[&Limb], mut face: usize) -> [usize; 2] {
    for (i, limb) in limbs.iter().enumerate() {
        for (end, faces) in limb.complex.ends.iter().enumerate() {
            match face.checked_sub(faces.len()) {
                Some(left) => face = left,
                None => return [i, end],
            }
        }
    }
    [0, 0]
}

/// Limbs and the rest as the lattice takes them.
fn poured(
    limbs: &[&Limb],
    part: &[u16],
    own: &Own,
    skin: Option<&SkinWeights>,
    h: f64,
) -> Result<Limbs, LatticeError> {
    let surface = &own.surface;
    let failed = |e: MRepError| LatticeError::Failed(e.to_string());
    let discs: Vec<Vec<Disc>> = limbs.iter().map(|limb| limb.discs.clone()).collect();
    let pieces = cut(surface, part, &discs, h).map_err(failed)?;
    let rest = Surface::new(
        pieces.rest.0.iter().map(OwnUnit::snapped).collect(),
        pieces.rest.1,
    )
    .map_err(|e| LatticeError::Failed(format!("nothing is left beside its limbs: {e}")))?;
    let mut out = Limbs {
        vertices: Vec::new(),
        cells: Vec::new(),
        part: Vec::new(),
        faces: Vec::new(),
        bones: Vec::new(),
        tips: Vec::new(),
        inner_bones: Vec::new(),
        rest,
        in_rest: pieces.in_rest,
        part_of_skin: part.to_vec(),
    };
    for (i, limb) in limbs.iter().enumerate() {
        let first = out.vertices.len() as u32;
        let moved = |v: u32| v + first;
        out.vertices
            .extend(limb.complex.vertices.iter().map(OwnUnit::snapped));
        out.cells.extend(
            limb.complex
                .cells
                .iter()
                .map(|c: &Cell| c.renumbered(moved)),
        );
        out.part.resize(out.cells.len(), i as u16 + 1);
        let ends = limb.complex.ends.iter().flatten();
        out.faces.extend(ends.map(|f| f.map(moved)));
        for (from, to) in [(&limb.bones, &mut out.bones), (&limb.tips, &mut out.tips)] {
            let chains = from.iter();
            to.extend(chains.map(|(b, chain)| (*b, chain.iter().map(|v| moved(*v)).collect())));
        }
    }
    out.inner_bones = skin.map_or_else(Vec::new, |skin| inner(skin, surface, part));
    let theirs = |bone: &u32| out.bones.iter().any(|(b, _)| b == bone);
    out.inner_bones.retain(|bone| !theirs(bone));
    Ok(out)
}

/// Bones most of whose skin is that of limbs.
fn inner(skin: &SkinWeights, surface: &Surface, part: &[u16]) -> Vec<u32> {
    let mut sums = vec![(0.0, 0.0); skin.bone_count];
    for (v, &w) in surface.welded().of_vertex.iter().enumerate() {
        let Some(part) = part.get(w as usize) else {
            continue;
        };
        for (bone, weight) in skin.row(v) {
            let (limbs, all) = &mut sums[bone as usize];
            *all += weight;
            *limbs += if *part > 0 { weight } else { 0.0 };
        }
    }
    let of = (0..).zip(sums);
    of.filter(|(_, (limbs, all))| *limbs > 0.5 * all)
        .map(|(bone, _)| bone)
        .collect()
}

#[cfg(test)]
mod tests;
