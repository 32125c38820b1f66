// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tubes along chains of bones: an arm, a leg, a tail, a neck.

use super::along::Line;
use super::error::MRepError;
use super::figure::Figure;
use super::skin::Skin;
use crate::Vec3;
use crate::skeleton::{Skeleton, SkinWeights};
use crate::surface::Surface;

/// How finely a chain is described.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainSettings {
    /// Atoms per bone at most: one at its head and the others between, fewer on bones that are short for their thickness; one more ends
    /// the chain.
    pub atoms_per_bone: usize,
    /// Spokes around each.
    pub spokes: usize,
}

impl Default for ChainSettings {
    fn default() -> Self {
        Self {
            atoms_per_bone: 3,
            spokes: 8,
        }
    }
}

impl Figure {
    /// A tube along a chain of bones, with hubs on them and spokes to the skin that follows them. `joints` of it are where bones
    /// meet. It is a start: a fit with its hubs held brings it onto the skin.
    ///
    /// # Errors
    /// Bones that are no chain; skin weights for another mesh; no skin that follows the bones.
    pub fn from_skeleton(
        surface: &Surface,
        skeleton: &Skeleton,
        skin: &SkinWeights,
        bones: &[u32],
        settings: ChainSettings,
    ) -> Result<Self, MRepError> {
        let chain = ordered(skeleton, bones)?;
        if !(1..=64).contains(&settings.atoms_per_bone) {
            return Err(MRepError::Count {
                what: "the number of atoms per bone",
                found: settings.atoms_per_bone,
                least: 1,
                most: 64,
            });
        }
        let skin = following(surface, skeleton, skin, &chain)?;
        let wanted = vec![settings.atoms_per_bone; chain.len()];
        let first = line(skeleton, &chain, &wanted, settings.spokes)?;
        let made = first.radii(&skin).and_then(|radii| {
            let counts = counts(&first, &radii, settings.atoms_per_bone);
            line(skeleton, &chain, &counts, settings.spokes)?.tube(&skin)
        });
        made.map_err(|why| match why {
            MRepError::Bones(why) => {
                MRepError::Bones(format!("bones {}: {why}", names(skeleton, &chain)))
            }
            MRepError::Sharp { u } => {
                let before = first.joints.iter().rposition(|joint| *joint <= u).unwrap_or(0);
                let bone = chain[before.min(chain.len() - 1)];
                MRepError::Bones(format!(
                    "the chain {} turns too sharply at bone {} for its thickness: end it before that bone, or give it a tail that goes \
                     on from the one before",
                    names(skeleton, &chain),
                    names(skeleton, &[bone])
                ))
            }
            other => other,
        })
    }
}

/// How many atoms each bone gets: fewer on one that is short for its thickness, as spokes much longer than the way between them
/// cross at the slightest bend.
fn counts(line: &Line, radii: &[f64], most: usize) -> Vec<usize> {
    /// Least way between atoms, in radii.
    const LEAST_WAY: f64 = 0.6;
    (0..line.joints.len() - 1)
        .map(|bone| {
            let hubs = bone * most..=(bone + 1) * most;
            let (from, to) = (line.hubs[*hubs.start()], line.hubs[*hubs.end()]);
            let radius = radii[hubs].iter().copied().fold(f64::INFINITY, f64::min);
            let fits = (to - from).norm() / (LEAST_WAY * radius);
            (fits.floor() as usize).clamp(1, most)
        })
        .collect()
}

/// How much each vertex counts in a fit to the skin of a chain, from 0 where its bones have half of the say or less (that is the
/// trunk's skin) to 1.
pub fn chain_weights(skin: &SkinWeights, bones: &[u32]) -> Vec<f64> {
    let shares = chain_shares(skin, bones);
    shares
        .into_iter()
        .map(|share| (2.0 * share - 1.0).clamp(0.0, 1.0))
        .collect()
}

/// How much each vertex follows the bones of a chain, from 0 to 1.
fn chain_shares(skin: &SkinWeights, bones: &[u32]) -> Vec<f64> {
    let share = |v: usize| {
        let of = skin.row(v).filter(|(bone, _)| bones.contains(bone));
        of.map(|(_, weight)| weight).sum::<f64>().clamp(0.0, 1.0)
    };
    (0..skin.len()).map(share).collect()
}

/// The skin that follows bones more than others, as a surface of its own.
pub(super) fn skin_of(
    surface: &Surface,
    skeleton: &Skeleton,
    skin: &SkinWeights,
    bones: &[u32],
) -> Result<Surface, MRepError> {
    known(skeleton, bones)?;
    following(surface, skeleton, skin, bones)?;
    let shares = chain_shares(skin, bones);
    let mut number = vec![u32::MAX; shares.len()];
    let mut vertices = Vec::new();
    let mut triangles = Vec::new();
    for triangle in surface.triangles() {
        if triangle.iter().any(|v| shares[*v as usize] < 0.5) {
            continue;
        }
        triangles.push(triangle.map(|v| {
            let number = &mut number[v as usize];
            if *number == u32::MAX {
                *number = vertices.len() as u32;
                vertices.push(surface.vertices()[v as usize]);
            }
            *number
        }));
    }
    Surface::new(vertices, triangles).map_err(|_| nobody(skeleton, bones))
}

/// The skin that follows bones; refused where there is none.
fn following<'a>(
    surface: &'a Surface,
    skeleton: &Skeleton,
    skin: &SkinWeights,
    bones: &[u32],
) -> Result<Skin<'a>, MRepError> {
    let mut follows = vec![false; skeleton.len()];
    bones.iter().for_each(|b| follows[*b as usize] = true);
    let skin = Skin::of_bones(surface, skin, &follows)?;
    match skin.is_empty() {
        true => Err(nobody(skeleton, bones)),
        false => Ok(skin),
    }
}

fn nobody(skeleton: &Skeleton, bones: &[u32]) -> MRepError {
    MRepError::Bones(format!(
        "no skin follows the bones {}: give others, or the weights of this mesh",
        names(skeleton, bones)
    ))
}

/// Refuses bones that the skeleton does not have.
fn known(skeleton: &Skeleton, bones: &[u32]) -> Result<(), MRepError> {
    let lost = bones.iter().find(|b| **b as usize >= skeleton.len());
    lost.map_or(Ok(()), |bone| {
        Err(MRepError::Bones(format!(
            "there is no bone {bone}: the skeleton has {}",
            skeleton.len()
        )))
    })
}

fn names(skeleton: &Skeleton, bones: &[u32]) -> String {
    let quoted = |b: &u32| format!("'{}'", skeleton.names()[*b as usize]);
    bones.iter().map(quoted).collect::<Vec<_>>().join(", ")
}

/// The bones from the root of the chain on.
fn ordered(skeleton: &Skeleton, bones: &[u32]) -> Result<Vec<u32>, MRepError> {
    let refused = |why: String| Err(MRepError::Bones(why));
    if bones.is_empty() {
        return refused("no bones were given: a tube needs a chain of them, one at least".into());
    }
    known(skeleton, bones)?;
    for (i, bone) in bones.iter().enumerate() {
        if bones[..i].contains(bone) {
            return refused(format!("bone {} is given twice", names(skeleton, &[*bone])));
        }
    }
    let parent = |bone: u32| skeleton.parents()[bone as usize];
    let is_first = |bone: &&u32| parent(**bone).is_none_or(|p| !bones.contains(&p));
    let firsts: Vec<u32> = bones.iter().filter(is_first).copied().collect();
    let [first] = firsts[..] else {
        return refused(format!(
            "bones {} are no chain: {} have no parent among them; give bones of which each is the child of the one before",
            names(skeleton, bones),
            names(skeleton, &firsts)
        ));
    };
    let mut chain = vec![first];
    while chain.len() < bones.len() {
        let last = chain[chain.len() - 1];
        let children: Vec<u32> = bones
            .iter()
            .filter(|b| parent(**b) == Some(last))
            .copied()
            .collect();
        let [next] = children[..] else {
            return refused(format!(
                "bones {} are no chain: {} branch off {}; give bones of which each is the child of the one before",
                names(skeleton, bones),
                names(skeleton, &children),
                names(skeleton, &[last])
            ));
        };
        chain.push(next);
    }
    Ok(chain)
}

/// Hubs on the bones.
fn line(
    skeleton: &Skeleton,
    chain: &[u32],
    counts: &[usize],
    spokes: usize,
) -> Result<Line, MRepError> {
    // Bones turn about their heads, so that the next one's head is where this one ends.
    let mut ends: Vec<Vec3> = chain
        .iter()
        .map(|b| skeleton.heads()[*b as usize])
        .collect();
    ends.push(skeleton.tails()[chain[chain.len() - 1] as usize]);
    let whole: f64 = ends.windows(2).map(|w| (w[1] - w[0]).norm()).sum();
    if let Some(i) = ends
        .windows(2)
        .position(|w| (w[1] - w[0]).norm() <= 1e-6 * whole)
    {
        return Err(MRepError::Bones(format!(
            "bone {} has no length: leave it out, or give it a tail away from its head",
            names(skeleton, &chain[i..=i])
        )));
    }
    let mut hubs = Vec::new();
    let mut joints = Vec::new();
    let mut so_far = 0.0;
    for (w, count) in ends.windows(2).zip(counts) {
        joints.push(so_far / whole);
        so_far += (w[1] - w[0]).norm();
        for k in 0..*count {
            hubs.push(w[0] + (w[1] - w[0]) * (k as f64 / *count as f64));
        }
    }
    hubs.push(ends[ends.len() - 1]);
    joints.push(1.0);
    Ok(Line {
        hubs,
        joints,
        spokes,
    })
}

#[cfg(test)]
mod tests;
