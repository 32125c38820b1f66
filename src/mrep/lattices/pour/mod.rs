// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limbs poured into the lattice of a whole character: prisms along them, tetrahedra everywhere else, joined in faces.
//!
//! A limb's cells begin at an atom some way along it, where a disc across the limb separates its skin from the rest. They end at
//! another disc or at the limb's tip. Limbs that cannot be separated or filled this way are left to tetrahedra, and a note says why.
//!
//! Source: [oguz2005, slides 9 and 23; crouch2007] for cells along medial axes; joining them to tetrahedra is ours.

mod faults;
mod piece;
mod thin;

use crate::lattice::{
    Cell, EncloseSettings, Lattice, LatticeError, LimbCells, UnitCharacter, check_settings,
};
use crate::mrep::error::MRepError;
use crate::mrep::figures::figure::Figure;
use crate::mrep::figures::model::Model;
use crate::mrep::lattices::cut::{Disc, WeldedMesh, cut_surface};
use crate::progress::{Progress, report_progress};
use crate::skeleton::{Skeleton, SkinWeights};
use crate::surface::{OwnUnit, Surface};
use faults::{LimbEnd, find_faulty_limbs, find_tied_limbs};
use piece::{LimbCandidate, PouredLimb};
use std::collections::BTreeMap;

impl Model {
    /// Builds a lattice around a whole character: prisms along those pieces of the model's tubes that have skin of their own,
    /// tetrahedra around the rest. Every used bone lies on edges. It extends [`Lattice::enclose`]; its notes say which limbs were
    /// left to tetrahedra, and why.
    ///
    /// # Errors
    /// See [`Lattice::enclose`].
    pub fn enclose(
        &self,
        surface: &Surface,
        skeleton: &Skeleton,
        skin: Option<&SkinWeights>,
        settings: EncloseSettings,
        progress: &dyn Progress,
    ) -> Result<Lattice, LatticeError> {
        check_settings(surface, skeleton, skin, settings)?;
        report_progress(progress, 0.0, "parting limbs")?;
        // In the character's own unit near ties resolve alike at every scale.
        let unit = OwnUnit::for_character(surface, skeleton);
        let own = unit.convert(surface, skeleton)?;
        let figures: Vec<(&str, Figure)> = (self.figures().iter())
            .map(|(name, figure)| (&name[..], convert_to_unit(figure, &unit)))
            .collect();
        let mesh = WeldedMesh::new(&own.surface);
        let h = own.surface.size() / settings.cells_across;
        let mut notes = Vec::new();
        let mut limbs: NamedLimbs = Vec::new();
        for (name, figure) in &figures {
            match LimbCandidate::new(figure, &mesh, &own.skeleton, skin, h) {
                Ok(found) => limbs.push((name, found)),
                Err(why) => notes.push(omission_note(name, &why)),
            }
        }
        while !limbs.is_empty() {
            let taken;
            (limbs, taken) =
                select_disjoint(limbs, own.surface.welded().vertices.len(), &mut notes);
            let parts: Vec<&PouredLimb> = limbs.iter().map(|(_, c)| &c.limb).collect();
            let built = assemble_limbs(&parts, &taken, &own, skin, h)
                .and_then(|all| Lattice::enclose_around(&all, &own, skin, settings, progress))
                .and_then(|lattice| unit.restore_lattice(lattice, &own, surface, skeleton));
            match built {
                Ok(mut lattice) => {
                    report_progress(progress, 1.0, "checking limbs")?;
                    let ends = open_ends(&parts, &unit);
                    let character = (surface, skeleton);
                    let (wrong, why) =
                        find_faulty_limbs(&lattice, character, (&own, &taken), &ends);
                    if !wrong.is_empty() {
                        let wrong = wrong.into_iter().map(|limb| (limb, Vec::new()));
                        limbs = shorten_limbs(limbs, &wrong.collect(), &why, &mut notes);
                        continue;
                    }
                    let (tied, why) = skin.map_or_else(Default::default, |skin| {
                        find_tied_limbs(&lattice, character, skin, &ends)
                    });
                    if tied.is_empty() {
                        lattice.add_notes(notes);
                        return Ok(lattice);
                    }
                    limbs = remove_limbs(limbs, &tied, &why, &mut notes);
                }
                Err(LatticeError::Joined(faces)) => {
                    let mut bad: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
                    for face in faces {
                        let [limb, end] = limb_of_face(&parts, face);
                        bad.entry(limb).or_default().push(end);
                    }
                    let why = "its ends lie too near to bones or to other limbs";
                    limbs = shorten_limbs(limbs, &bad, why, &mut notes);
                }
                Err(LatticeError::Failed(why)) => {
                    let last = limbs.len() - 1;
                    limbs = remove_limbs(limbs, &[last], &why, &mut notes);
                }
                Err(other) => return Err(other),
            }
        }
        let mut lattice = Lattice::enclose(surface, skeleton, skin, settings, progress)?;
        lattice.add_notes(notes);
        Ok(lattice)
    }
}

fn convert_to_unit(figure: &Figure, unit: &OwnUnit) -> Figure {
    figure.apply_similarity(
        unit.scale.recip(),
        &unit.heading.to_own_axes(),
        -unit.heading.to_own(&unit.origin) / unit.scale,
    )
}

/// Returns the open ends of limbs, in the caller's space.
fn open_ends(parts: &[&PouredLimb], unit: &OwnUnit) -> Vec<LimbEnd> {
    let ends = (0..).zip(parts).flat_map(|(limb, of)| {
        let discs = of.discs.iter().zip([false, true]);
        discs.map(move |(disc, far)| LimbEnd {
            limb,
            hub: unit.to_given(&disc.hub),
            far,
        })
    });
    ends.collect()
}

/// Limbs with their names.
type NamedLimbs<'a> = Vec<(&'a str, LimbCandidate<'a>)>;

/// Selects the limbs whose skin overlaps no earlier one's. Also returns for each welded vertex 1 plus the index of its limb, or 0.
fn select_disjoint<'a>(
    limbs: NamedLimbs<'a>,
    vertices: usize,
    notes: &mut Vec<String>,
) -> (NamedLimbs<'a>, Vec<u16>) {
    let mut taken = vec![0u16; vertices];
    let mut chosen: NamedLimbs = Vec::new();
    for (name, limb) in limbs {
        let own = &limb.limb.own;
        if own
            .iter()
            .zip(&taken)
            .any(|(mine, taken)| *mine && *taken > 0)
        {
            notes.push(omission_note(name, "its skin also belongs to another limb"));
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

/// Replaces some limbs by pieces that do not end at the given open ends; limbs without such a piece are left to tetrahedra.
fn shorten_limbs<'a>(
    mut limbs: NamedLimbs<'a>,
    bad: &BTreeMap<usize, Vec<usize>>,
    why: &str,
    notes: &mut Vec<String>,
) -> NamedLimbs<'a> {
    let stuck = |(limb, ends): (&usize, &Vec<usize>)| {
        let found = limbs[*limb].1.shorten(ends);
        (!found).then_some(*limb)
    };
    let stuck: Vec<usize> = bad.iter().filter_map(stuck).collect();
    remove_limbs(limbs, &stuck, why, notes)
}

/// Removes some limbs, which are left to tetrahedra.
fn remove_limbs<'a>(
    limbs: NamedLimbs<'a>,
    some: &[usize],
    why: &str,
    notes: &mut Vec<String>,
) -> NamedLimbs<'a> {
    let mut kept = Vec::new();
    for (i, (name, limb)) in limbs.into_iter().enumerate() {
        if some.contains(&i) {
            notes.push(omission_note(name, why));
        } else {
            kept.push((name, limb));
        }
    }
    kept
}

fn omission_note(name: &str, why: &str) -> String {
    format!("The limb '{name}' is left to tetrahedra: {why}.")
}

/// Returns the limb of a face, and the index of its open end.
fn limb_of_face(limbs: &[&PouredLimb], mut face: usize) -> [usize; 2] {
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

/// Assembles limbs and the rest as input of the lattice.
fn assemble_limbs(
    limbs: &[&PouredLimb],
    part: &[u16],
    own: &UnitCharacter,
    skin: Option<&SkinWeights>,
    h: f64,
) -> Result<LimbCells, LatticeError> {
    let surface = &own.surface;
    let failed = |e: MRepError| LatticeError::Failed(e.to_string());
    let discs: Vec<Vec<Disc>> = limbs.iter().map(|limb| limb.discs.clone()).collect();
    let pieces = cut_surface(surface, part, &discs, h).map_err(failed)?;
    let rest = Surface::new(
        pieces.rest.0.iter().map(OwnUnit::snap).collect(),
        pieces.rest.1,
    )
    .map_err(|e| LatticeError::Failed(format!("nothing is left apart from its limbs: {e}")))?;
    let mut out = LimbCells {
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
            .extend(limb.complex.vertices.iter().map(OwnUnit::snap));
        out.cells
            .extend(limb.complex.cells.iter().map(|c: &Cell| c.renumber(moved)));
        out.part.resize(out.cells.len(), i as u16 + 1);
        let ends = limb.complex.ends.iter().flatten();
        out.faces.extend(ends.map(|f| f.map(moved)));
        for (from, to) in [(&limb.bones, &mut out.bones), (&limb.tips, &mut out.tips)] {
            let chains = from.iter();
            to.extend(chains.map(|(b, chain)| (*b, chain.iter().map(|v| moved(*v)).collect())));
        }
    }
    out.inner_bones = skin.map_or_else(Vec::new, |skin| limb_bones(skin, surface, part));
    let theirs = |bone: &u32| out.bones.iter().any(|(b, _)| b == bone);
    out.inner_bones.retain(|bone| !theirs(bone));
    Ok(out)
}

/// Returns the bones more than half of whose skin weight lies on limbs.
fn limb_bones(skin: &SkinWeights, surface: &Surface, part: &[u16]) -> Vec<u32> {
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
