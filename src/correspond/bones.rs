// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bones of a character in numbers that another character's bones are compared with.
//!
//! Lengths are relative to the skin: places from its centroid, over the root mean square distance of the skin from it. So
//! scale and place of a character do not matter. Names count only where both characters say something by them.

use super::names::BoneName;
use crate::body::{Body, SkinTree};
use crate::{Mat3, Vec3};

/// A bone that leads skin, in the tree by the skin.
pub(super) struct BoneFeatures {
    /// Number in the skeleton.
    pub bone: usize,
    /// Indices of its children in [`CharacterBones::list`].
    pub children: Vec<usize>,
    pub head: Vec3,
    /// Centre of its own skin.
    pub centre: Vec3,
    /// Centre of its own skin and of all skin beyond it.
    pub centre_beyond: Vec3,
    /// Unit vector from head to tail; zero for a bone without length.
    pub heading: Vec3,
    /// Position along the longest chain through the bone: 0 at the root, 1 at an end.
    pub chain: f64,
    /// Share of all skin: its own, and with all beyond it.
    pub share: f64,
    pub share_beyond: f64,
    pub name: BoneName,
}

/// The bones of one character that lead skin, parents first.
pub(super) struct CharacterBones {
    pub list: Vec<BoneFeatures>,
    pub tree: SkinTree,
    /// Centroid and radius that make places relative.
    pub centroid: Vec3,
    pub radius: f64,
    pub axes: Mat3,
}

impl CharacterBones {
    /// Measures the bones of a body.
    pub fn new(body: &Body) -> Self {
        let skeleton = body.skeleton();
        let tree = body.anatomy().skin_tree(skeleton);
        let radius = tree.radius.max(f64::MIN_POSITIVE);
        let relative = |p: Vec3| (p - tree.centroid) / radius;
        let whole: f64 = tree.order.iter().map(|&b| tree.area[b]).sum();
        let whole = whole.max(f64::MIN_POSITIVE);
        let mut index = vec![usize::MAX; skeleton.len()];
        let mut list: Vec<BoneFeatures> = Vec::with_capacity(tree.order.len());
        for (i, &b) in tree.order.iter().enumerate() {
            index[b] = i;
            let (head, tail) = (skeleton.heads()[b], skeleton.tails()[b]);
            let share = tree.area[b] / whole;
            let centre = relative(tree.centre[b]);
            let way = (tail - head).try_normalize(1e-9 * radius);
            list.push(BoneFeatures {
                bone: b,
                children: Vec::new(),
                head: relative(head),
                centre,
                centre_beyond: centre * share,
                heading: way.unwrap_or_default(),
                chain: 0.0,
                share,
                share_beyond: share,
                name: BoneName::new(&skeleton.names()[b]),
            });
            if let Some(parent) = tree.parents[b] {
                list[index[parent]].children.push(i);
            }
        }
        measure_beyond(&mut list);
        Self {
            centroid: tree.centroid,
            radius,
            axes: tree.axes,
            list,
            tree,
        }
    }

    /// Returns a point relative to the skin.
    pub fn relative(&self, p: &Vec3) -> Vec3 {
        (p - self.centroid) / self.radius
    }
}

/// Adds the skin beyond each bone, and its place along the chain. Steps of the chain are between centres of skin, which do
/// not depend on how a rig places heads.
fn measure_beyond(list: &mut [BoneFeatures]) {
    let (mut above, mut beyond) = (vec![0.0; list.len()], vec![0.0_f64; list.len()]);
    for i in 0..list.len() {
        for k in list[i].children.clone() {
            above[k] = above[i] + (list[k].centre - list[i].centre).norm();
        }
    }
    for i in (0..list.len()).rev() {
        for k in list[i].children.clone() {
            let step = (list[k].centre - list[i].centre).norm();
            beyond[i] = beyond[i].max(beyond[k] + step);
            let (share, centre) = (list[k].share_beyond, list[k].centre_beyond);
            list[i].share_beyond += share;
            list[i].centre_beyond += centre;
        }
    }
    for (i, bone) in list.iter_mut().enumerate() {
        bone.centre_beyond /= bone.share_beyond.max(f64::MIN_POSITIVE);
        bone.chain = above[i] / (above[i] + beyond[i]).max(f64::MIN_POSITIVE);
    }
}
