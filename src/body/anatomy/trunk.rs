// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bones of the trunk, and the branches that leave it.
//!
//! The trunk lies in the mirror plane between the outermost junctions of paired limbs. Continuations as thick as the
//! trunk belong to it (abdomens, tail roots), except for compact ends (heads). Short branches (ribs, bellies) belong
//! to it too.

use super::bones::{BoneTree, skin_reach};
use super::skin::BodySkin;
use super::statistics::area_quantile;
use crate::skeleton::Skeleton;

/// Smallest area of either side of a pair of limbs, as a part of the skin's, and smallest reach from its joint, as a
/// part of the size: ears, horns and teeth have less. Halving or doubling the area leaves the maps of ten known
/// characters the same; half of the reach changes two of them, twice three, by 0.02 to 0.08 on the mean.
pub(super) const MIN_LIMB_AREA: f64 = 0.012;
pub(super) const MIN_LIMB_REACH: f64 = 0.12;
/// Smallest mean thickness of a bone beyond the junctions that belongs to the trunk, as a part of the trunk's; the
/// second is for bodies without paired limbs (snakes, worms, fish on a chain). With 0.64 a bull's trunk takes in what
/// changes its map by 0.02 on the mean, and with 0.4 an apatosaurus' head and feet get 0.35 instead of 0.02; with
/// 0.96 a spider's legs get 0.20 instead of 0.10. Halving or doubling the second, which no known character exercises,
/// changes none.
const MIN_THICKNESS_RATIO: f64 = 0.80;
const MIN_LIMBLESS_RATIO: f64 = 0.5;
/// Largest reach, in half thicknesses of the trunk, of branches in the plane that belong to it. The first is for the
/// two that reach farthest, neck and tail, the second for others: bones of bellies and ribs. Half of the first
/// changes none of ten known characters; with twice, a man's head and hands have 0.17 instead of 0.02. Half of the
/// second changes a horse's map by 0.04 on the mean, twice none.
const MAX_NECK_REACH: f64 = 0.5;
const MAX_BRANCH_REACH: f64 = 2.0;
/// Largest reach of a compact end, in mean distances from its own axis. With half of it, heads and hands of a fox and
/// two people are not found, and have 0.60 to 0.94 instead of 0.04 at most; twice changes maps by 0.02 on the mean at
/// most.
const MAX_END_REACH: f64 = 3.5;
/// Largest share of the body's volume of a compact end of several bones; of one bone, if no limbs were found
/// (unlimited otherwise). With half of the first, a fox's head and feet have 0.14 instead of 0.02, with twice a
/// spider's legs 0.21 instead of 0.10.
const MAX_LUMP_SHARE: f64 = 0.20;
const MAX_END_SHARE: f64 = 0.20;

/// Fewest bones of the skeleton outside a mesh's common ancestor for which the mesh may be a limb. Below that
/// ancestor, at most as many bones may carry nothing of the mesh as carry it: a trunk has arms and legs below its
/// hips.
const MIN_BONES_ELSEWHERE: usize = 8;

/// The trunk, and the branches that leave it.
pub(super) struct Trunk {
    /// Bones of the trunk.
    pub bones: Vec<usize>,
    /// Branches that leave it: (first bone, bone of the trunk to which it is linked).
    pub limbs: Vec<(usize, usize)>,
    /// Share of each vertex that the trunk carries.
    pub share: Vec<f64>,
    /// Median thickness of the trunk by `diameters`, metres.
    pub thick: f64,
}

impl Trunk {
    /// Finds the trunk. `diameters`: the body's thickness at the skin's vertices. `root`: for a mesh that is a limb
    /// by itself, the bone on which it hangs ([`limb_root`]), taken as the trunk.
    pub fn find(skin: &BodySkin, bones: &BoneTree, diameters: &[f64], root: Option<usize>) -> Self {
        if let Some(root) = root {
            let mut inside = vec![false; bones.len()];
            inside[root] = true;
            return Self::from_bones(skin, bones, diameters, &inside);
        }
        let junctions = junctions(skin, bones);
        let has_limbs = junctions.contains(&true);
        let mut inside = bones_between(bones, &junctions);
        if !has_limbs {
            let live = (0..bones.len()).filter(|&b| bones.live[b]);
            let most =
                live.max_by(|&a, &b| bones.volume[a].total_cmp(&bones.volume[b]).then(b.cmp(&a)));
            most.into_iter().for_each(|b| inside[b] = true);
        }
        while let Some(more) = thick_neighbours(skin, bones, &inside, has_limbs) {
            more.into_iter().for_each(|b| inside[b] = true);
        }
        add_short_branches(skin, bones, diameters, &mut inside);
        Self::from_bones(skin, bones, diameters, &inside)
    }

    fn from_bones(skin: &BodySkin, bones: &BoneTree, diameters: &[f64], inside: &[bool]) -> Self {
        let listed: Vec<usize> = (0..bones.len()).filter(|&b| inside[b]).collect();
        let leaving = listed
            .iter()
            .flat_map(|&b| bones.neighbours(b).map(move |c| (c, b)));
        let limbs = leaving.filter(|(c, _)| !inside[*c]).collect();
        let share = skin.bone_share(inside);
        Self {
            thick: median_thickness(skin, &share, diameters),
            bones: listed,
            limbs,
            share,
        }
    }
}

/// Returns the bone on which a mesh hangs that is a limb by itself, of a character with other limbs in other meshes.
/// `None`: the mesh is not a limb. `live`: the bones that carry the mesh.
pub(super) fn limb_root(skeleton: &Skeleton, live: &[bool]) -> Option<usize> {
    let parents = skeleton.parents();
    let way = |b: usize| {
        let up = |b: &usize| parents[*b].map(|p| p as usize);
        let mut way: Vec<usize> = std::iter::successors(Some(b), up).collect();
        way.reverse();
        way
    };
    let own: Vec<usize> = (0..live.len()).filter(|&b| live[b]).collect();
    let mut common = way(*own.first()?);
    for &b in &own {
        let shared = common.iter().zip(way(b)).take_while(|(a, b)| **a == *b);
        let shared = shared.count();
        common.truncate(shared);
    }
    let root = *common.last()?;
    let is_below = |b: usize| way(b).contains(&root);
    let elsewhere = skeleton.elsewhere().iter().flatten();
    let below = (0..live.len()).filter(|&b| is_below(b)).count()
        + elsewhere.filter(|&&b| is_below(b as usize)).count();
    let elsewhere = skeleton.character_bone_count() - below;
    let is_limb = live[root] && elsewhere >= MIN_BONES_ELSEWHERE && below <= 2 * own.len();
    is_limb.then_some(root)
}

/// Returns the median thickness of the vertices that a share of bones mostly carries; of all vertices if there are
/// none.
fn median_thickness(skin: &BodySkin, share: &[f64], diameters: &[f64]) -> f64 {
    let pairs = |least: f64| {
        let mine = (0..skin.len()).filter(move |&v| share[v] > least);
        mine.map(|v| (diameters[v], skin.area[v]))
    };
    let least = if pairs(0.5).next().is_some() {
        0.5
    } else {
        -1.0
    };
    area_quantile(pairs(least), 0.5)
}

/// Marks the bones of the middle from which paired limbs branch off.
fn junctions(skin: &BodySkin, bones: &BoneTree) -> Vec<bool> {
    let whole: f64 = bones.area.iter().sum();
    let is_junction = |b: usize| {
        if !bones.middle[b] {
            return false;
        }
        let mut sides = [0.0; 2];
        for c in bones.neighbours(b).filter(|&c| !bones.middle[c]) {
            let list = bones.bones_beyond(c, b);
            let share = skin.bone_share(&bones.bone_mask(&list));
            if skin_reach(skin, &share, &bones.joint(b, c)).0 > MIN_LIMB_REACH * skin.span {
                let side = usize::from(bones.side[c] > 0.0);
                sides[side] += list.iter().map(|&b| bones.area[b]).sum::<f64>();
            }
        }
        sides[0].min(sides[1]) > MIN_LIMB_AREA * whole
    };
    (0..bones.len()).map(is_junction).collect()
}

/// Marks all bones on the paths between junctions.
fn bones_between(bones: &BoneTree, junctions: &[bool]) -> Vec<bool> {
    let mut inside = junctions.to_vec();
    let Some(root) = junctions.iter().position(|j| *j) else {
        return inside;
    };
    // In the tree from one junction, a bone lies between if a junction lies behind it.
    let mut order = vec![(root, usize::MAX)];
    let mut at = 0;
    while at < order.len() {
        let (b, from) = order[at];
        order.extend(bones.neighbours(b).filter(|&c| c != from).map(|c| (c, b)));
        at += 1;
    }
    for &(b, from) in order.iter().rev() {
        if inside[b] && from != usize::MAX {
            inside[from] = true;
        }
    }
    inside
}

/// Returns the bones next to the trunk that continue it about as thick as it is; `None` without such bones.
/// `has_limbs`: paired limbs branch off the trunk.
fn thick_neighbours(
    skin: &BodySkin,
    bones: &BoneTree,
    inside: &[bool],
    has_limbs: bool,
) -> Option<Vec<usize>> {
    let own = || (0..bones.len()).filter(|&b| inside[b]);
    let volume: f64 = own().map(|b| bones.volume[b]).sum();
    let thick = own()
        .map(|b| bones.radius[b] * bones.volume[b])
        .sum::<f64>()
        / volume.max(f64::MIN_POSITIVE);
    let (part, share) = match has_limbs {
        true => (MIN_THICKNESS_RATIO, 1.0),
        false => (MIN_LIMBLESS_RATIO, MAX_END_SHARE),
    };
    let mut more: Vec<usize> = Vec::new();
    for b in own() {
        for c in bones.neighbours(b) {
            let new = !inside[c] && !more.contains(&c) && (bones.middle[c] || !has_limbs);
            if new && bones.radius[c] >= part * thick && !is_compact(skin, bones, c, b, share) {
                more.push(c);
            }
        }
    }
    (!more.is_empty()).then_some(more)
}

/// Adds branches in the plane that hardly leave the trunk.
fn add_short_branches(skin: &BodySkin, bones: &BoneTree, diameters: &[f64], inside: &mut [bool]) {
    let half = 0.5 * median_thickness(skin, &skin.bone_share(inside), diameters);
    let mut branches: Vec<(f64, Vec<usize>)> = Vec::new();
    for b in (0..bones.len()).filter(|&b| inside[b]) {
        for c in bones
            .neighbours(b)
            .filter(|&c| !inside[c] && bones.middle[c])
        {
            let list = bones.bones_beyond(c, b);
            let share = skin.bone_share(&bones.bone_mask(&list));
            branches.push((skin_reach(skin, &share, &bones.joint(b, c)).0, list));
        }
    }
    branches.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (k, (reach, list)) in branches.into_iter().enumerate() {
        let most = if k < 2 {
            MAX_NECK_REACH
        } else {
            MAX_BRANCH_REACH
        };
        if reach < most * half && list.iter().all(|&b| bones.middle[b]) {
            list.into_iter().for_each(|b| inside[b] = true);
        }
    }
}

/// Returns whether a bone and all bones behind it are a lump: short for its thickness, and at most `share` of the
/// body's volume.
pub(super) fn is_compact(
    skin: &BodySkin,
    bones: &BoneTree,
    bone: usize,
    from: usize,
    share: f64,
) -> bool {
    let list = bones.bones_beyond(bone, from);
    let volume: f64 = list.iter().map(|&b| bones.volume[b]).sum();
    let largest = list.iter().map(|&b| bones.volume[b]).fold(0.0, f64::max);
    let most = match largest > 0.8 * volume {
        true => share,
        false => share.min(MAX_LUMP_SHARE),
    };
    if volume > most * bones.volume.iter().sum::<f64>() {
        return false;
    }
    let own = skin.bone_share(&bones.bone_mask(&list));
    let (reach, off) = skin_reach(skin, &own, &bones.joint(bone, from));
    reach <= MAX_END_REACH * off
}
