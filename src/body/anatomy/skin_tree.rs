// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tree of bones by the skin as a rooted one, with what a comparison of two characters measures.

use super::bones::BoneTree;
use super::mirror::MirrorPlane;
use super::skin::BodySkin;
use crate::skeleton::Skeleton;
use crate::{Mat3, Vec3};

/// Share of the skin at or below a bone of the file from which the body may begin there. A chibi's spine has 0.77, with its
/// large head; a bull's feet hang on roots of their own and leave 0.97 to its body.
const ROOT_SHARE: f64 = 0.9;

/// Bones that lead skin, as a rooted tree. All vectors but `order` have one entry per bone of the skeleton.
pub(crate) struct SkinTree {
    /// Bones of the tree, parents first.
    pub order: Vec<usize>,
    /// Parent in the tree; `None` for the root and for bones outside the tree.
    pub parents: Vec<Option<usize>>,
    /// Skin area, m².
    pub area: Vec<f64>,
    /// Centre of the bone's skin.
    pub centre: Vec<Vec3>,
    /// Bone with its skin at the mirror image; the bone itself without one.
    pub twins: Vec<usize>,
    /// Centroid of all skin.
    pub centroid: Vec3,
    /// Root mean square distance of the skin from the centroid, metres.
    pub radius: f64,
    /// Principal axes of the skin.
    pub axes: Mat3,
}

impl SkinTree {
    pub(super) fn new(
        skin: &BodySkin,
        bones: &BoneTree,
        plane: &MirrorPlane,
        skeleton: &Skeleton,
    ) -> Self {
        let whole = skin.area.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let each = || skin.x.iter().zip(&skin.area);
        let centroid = each().map(|(x, a)| x * *a).sum::<Vec3>() / whole;
        let spread: Mat3 = each()
            .map(|(x, a)| (x - centroid) * (x - centroid).transpose() * (a / whole))
            .sum();
        let mut tree = Self {
            order: Vec::new(),
            parents: vec![None; bones.len()],
            area: bones.area.clone(),
            centre: bones.centre.clone(),
            twins: bones.twins(plane, skin.span),
            centroid,
            radius: spread.trace().max(0.0).sqrt(),
            axes: spread.symmetric_eigen().eigenvectors,
        };
        tree.order.extend(root(bones, skeleton));
        let mut at = 0;
        while let Some(&bone) = tree.order.get(at) {
            let mut next: Vec<usize> = bones.neighbours(bone).collect();
            next.retain(|&other| Some(other) != tree.parents[bone]);
            next.sort_unstable();
            for &other in &next {
                tree.parents[other] = Some(bone);
            }
            tree.order.extend(next);
            at += 1;
        }
        tree
    }
}

/// Returns the bone of the tree at which the body begins: the last bone of the file above nearly all skin, or the bone of
/// the tree nearest to its head if it leads no skin itself.
fn root(bones: &BoneTree, skeleton: &Skeleton) -> Option<usize> {
    let mut below: Vec<f64> = (0..bones.len())
        .map(|b| if bones.live[b] { bones.area[b] } else { 0.0 })
        .collect();
    let whole: f64 = below.iter().sum();
    for &b in skeleton.topological_order().iter().rev() {
        if let Some(parent) = skeleton.parents()[b as usize] {
            below[parent as usize] += below[b as usize];
        }
    }
    let children = skeleton.children();
    let most = |list: &[u32]| {
        let all = list.iter().map(|&b| b as usize);
        all.max_by(|&a, &b| below[a].total_cmp(&below[b]).then(b.cmp(&a)))
    };
    let roots: Vec<u32> = (0..bones.len() as u32)
        .filter(|&b| skeleton.parents()[b as usize].is_none())
        .collect();
    let mut top = most(&roots)?;
    while let Some(next) = most(&children[top]).filter(|&b| below[b] >= ROOT_SHARE * whole) {
        top = next;
    }
    if bones.live[top] {
        return Some(top);
    }
    let head = |b: usize| (skeleton.heads()[b] - skeleton.heads()[top]).norm();
    let nearest = |among: &[bool]| {
        let chosen = (0..bones.len()).filter(|&b| among[b] && bones.live[b]);
        chosen.min_by(|&a, &b| head(a).total_cmp(&head(b)).then(a.cmp(&b)))
    };
    nearest(&bones.middle).or_else(|| nearest(&bones.live))
}
