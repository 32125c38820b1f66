// SPDX-License-Identifier: MIT OR Apache-2.0
//! A tube along a chain of bones, to the skin that follows them: the first shape of a limb's figure.

use super::error::MRepError;
use super::figure::Figure;
use super::frames;
use super::skin::Skin;
use super::spokes::{Axis, Lengths, around, median};
use crate::Vec3;
use crate::skeleton::{Skeleton, SkinWeights};
use crate::surface::Surface;

/// Bones shorter than this part of the chain have no length.
const NO_LENGTH: f64 = 1e-6;
/// Neighbours whose directions add up to less turn back on each other.
const TURNED_BACK: f64 = 0.2;
/// So many radii below the end of the skin the outermost hubs are at least, as far as that takes no more than this part of the way
/// there from where their bone is inside.
const COVER: f64 = 0.6;
const DRAWN_BACK: f64 = 0.7;

impl Figure {
    /// A tube along `bones` (indices, from the first to the last), to the skin that follows them: hubs at the joints and between.
    ///
    /// Each bone has `atoms_per_bone` atoms from its head on, evenly spaced; the last one's tail has one more. Bones go from head to
    /// head, the last to its tail. b points along the bones and bisects at joints; n of the first atom points where the chain bends
    /// or, where it hardly does, up (z; to the front, −y, if the chain begins upright), those after it turn as little as they can.
    /// Where the skin ends at or before the first head or the last tail, that hub is drawn back along its bone.
    ///
    /// Spokes are as long as rays to the skin, the skin of other bones left out and gaps filled from neighbours; gently: relative
    /// lengths stay within 0.7 and 1.4, and spokes that would cross are shortened until none do (legality above 0.03). Ends reach the skin
    /// beyond them, or half a radius into the body.
    ///
    /// # Errors
    /// Bones that are unknown, doubled, no chain, of no length or turned back on each other; weights of another surface or skeleton;
    /// bones that no skin follows, or that lie outside of it; too many atoms or spokes.
    pub fn from_skeleton(
        surface: &Surface,
        skeleton: &Skeleton,
        weights: &SkinWeights,
        bones: &[usize],
        atoms_per_bone: usize,
        spokes: usize,
    ) -> Result<Self, MRepError> {
        let (axis, lengths, joints) =
            measured(surface, skeleton, weights, bones, atoms_per_bone, spokes)?;
        lengths.tube(&axis, &joints)
    }
}

/// The axis of a chain, its spokes' lengths, and which hubs are its joints.
fn measured(
    surface: &Surface,
    skeleton: &Skeleton,
    weights: &SkinWeights,
    bones: &[usize],
    atoms_per_bone: usize,
    spokes: usize,
) -> Result<(Axis, Lengths, Vec<usize>), MRepError> {
    check(skeleton, bones, atoms_per_bone)?;
    let count = super::figure::Kind::Tube {
        atoms: bones.len().saturating_mul(atoms_per_bone).saturating_add(1),
        spokes,
    };
    count.check()?;
    let mut follows = vec![false; skeleton.len()];
    bones.iter().for_each(|&b| follows[b] = true);
    let skin = Skin::of_bones(surface, weights, &follows)?;
    let names = || {
        let name = |b: usize| &skeleton.names()[b];
        match bones {
            [one] => format!("the bone '{}'", name(*one)),
            _ => format!(
                "the bones '{}' to '{}'",
                name(bones[0]),
                name(bones[bones.len() - 1])
            ),
        }
    };
    if skin.is_empty() {
        return Err(MRepError::Bones(format!(
            "no skin follows {} for more than half: give vertices weights for them, or choose other bones",
            names()
        )));
    }
    let mut joints: Vec<Vec3> = bones.iter().map(|&b| skeleton.heads()[b]).collect();
    joints.push(skeleton.tails()[bones[bones.len() - 1]]);
    let ways = ways(skeleton, bones, &joints)?;
    // Both ends first, so that the hubs between are evenly spaced.
    let directions = directions(&ways, 1);
    let turned_back =
        || MRepError::Bones(format!("{} turn back on themselves: choose fewer", names()));
    let upright = frames::along(&directions).ok_or_else(turned_back)?;
    let last = joints.len() - 1;
    for (end, inner, facing) in [(0, 1, -1.0), (last, last - 1, 1.0)] {
        let frame = upright[end];
        let [way, side] = [0, 1].map(|k| frame.column(k).into_owned());
        let bone = joints[end] - joints[inner];
        // From the bone's middle or, where that is outside already, from near its joint.
        let reached = [0.5, 0.1].iter().find_map(|share| {
            let from = joints[inner] + bone * *share;
            let exit = skin.exit(&from, &(way * facing), &side)?;
            (exit.trust >= 0.5).then_some((from, exit.distance, bone.norm() * (1.0 - share)))
        });
        let Some((from, reach, most)) = reached else {
            continue;
        };
        let radii = around(&skin, &from, &frame, spokes);
        let radius = median(radii.iter().flatten().map(|e| e.distance).collect());
        let least = (1.0 - DRAWN_BACK) * most;
        let kept = (reach - COVER * radius).clamp(least, most);
        joints[end] = from + way * (facing * kept);
    }
    let mut hubs = Vec::new();
    for pair in joints.windows(2) {
        let share = |i: usize| i as f64 / atoms_per_bone as f64;
        hubs.extend((0..atoms_per_bone).map(|i| pair[0].lerp(&pair[1], share(i))));
    }
    hubs.push(joints[last]);
    let missed = || {
        MRepError::Bones(format!(
            "no ray from {} meets the skin that follows them: move the bones into it",
            names()
        ))
    };
    let directions = self::directions(&ways, atoms_per_bone);
    let frames = frames::along(&directions).ok_or_else(turned_back)?;
    let mut axis = Axis { hubs, frames };
    let lengths = Lengths::measure(&skin, &axis, spokes).ok_or_else(missed)?;
    let directions = frames::eased(&axis.hubs, &lengths.radii());
    axis.frames = frames::along(&directions).ok_or_else(turned_back)?;
    let lengths = Lengths::measure(&skin, &axis, spokes).ok_or_else(missed)?;
    let inner = (1..bones.len()).map(|k| k * atoms_per_bone).collect();
    Ok((axis, lengths, inner))
}

/// Unit vectors along the bones.
fn ways(skeleton: &Skeleton, bones: &[usize], joints: &[Vec3]) -> Result<Vec<Vec3>, MRepError> {
    let name = |k: usize| &skeleton.names()[bones[k]];
    let lengths = joints.windows(2).map(|w| (w[1] - w[0]).norm());
    let least = NO_LENGTH * lengths.sum::<f64>();
    let mut ways = Vec::new();
    for (k, pair) in joints.windows(2).enumerate() {
        let way = (pair[1] - pair[0]).try_normalize(least).ok_or_else(|| {
            MRepError::Bones(format!(
                "the bone '{}' has no length from its head to the next one's (the last to its tail): leave it out or move them apart",
                name(k)
            ))
        })?;
        ways.push(way);
    }
    if let Some(k) = ways
        .windows(2)
        .position(|w| (w[0] + w[1]).norm() < TURNED_BACK)
    {
        return Err(MRepError::Bones(format!(
            "the bone '{}' turns back on '{}': a tube has no room there, choose bones that go on",
            name(k + 1),
            name(k)
        )));
    }
    Ok(ways)
}

/// b of each atom: along its bone, halfway between two at a joint.
fn directions(ways: &[Vec3], atoms_per_bone: usize) -> Vec<Vec3> {
    let mut all = Vec::new();
    for (k, way) in ways.iter().enumerate() {
        let joint = if k > 0 { ways[k - 1] + way } else { *way };
        all.push(joint.normalize());
        all.extend(std::iter::repeat_n(*way, atoms_per_bone - 1));
    }
    all.extend(ways.last());
    all
}

/// Refuses bones that are no chain.
fn check(skeleton: &Skeleton, bones: &[usize], atoms_per_bone: usize) -> Result<(), MRepError> {
    let refuse = |what: String| Err(MRepError::Bones(what));
    if bones.is_empty() {
        return refuse("no bones are named: a tube goes along a chain of one bone or more".into());
    }
    if atoms_per_bone == 0 {
        return Err(MRepError::Setting {
            name: "the number of atoms per bone",
            value: "0".into(),
            range: "at least 1",
        });
    }
    let count = skeleton.len();
    if let Some(b) = bones.iter().find(|b| **b >= count) {
        return refuse(format!(
            "there is no bone {b}: the skeleton has {count} bones, counted from 0"
        ));
    }
    let name = |b: usize| &skeleton.names()[b];
    let mut seen = vec![false; count];
    for &b in bones {
        if std::mem::replace(&mut seen[b], true) {
            return refuse(format!(
                "the bone '{}' is named twice: name each once",
                name(b)
            ));
        }
    }
    for pair in bones.windows(2) {
        let parent = skeleton.parents()[pair[1]];
        if parent != Some(pair[0] as u32) {
            let has = parent.map_or("none".into(), |p| format!("'{}'", name(p as usize)));
            return refuse(format!(
                "the bones are no chain: the parent of '{}' is {has}, not '{}'; name bones from the first to the last, each the child \
                 of the one before",
                name(pair[1]),
                name(pair[0])
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
