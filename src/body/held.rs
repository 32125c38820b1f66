// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nodes that bones hold: those on bones, those of no cell, and those of loose parts.

use super::bone_distance::distance_to_bone;
use super::loose::{self, LoosePart};
use super::transfer::NodeField;
use crate::Vec3;
use crate::basis::Basis;
use crate::lattice::{Embedding, heading};
use crate::skeleton::Skeleton;
use crate::surface::Surface;

/// Share of its weights from which a dominant bone carries a loose part rigidly.
const DOMINANT_SHARE: f64 = 0.95;
/// Size, as a share of the body's, up to which a loose part (an eye, a button) follows rigidly a bone
/// with half of its weights.
const SMALL_PART_SIZE: f64 = 0.15;

/// Vertices held by bones, and the loose parts among them.
pub(super) struct HeldVertices {
    pub bone_of_vertex: Vec<Option<u32>>,
    /// `true`: the held vertex follows all bones of its weights.
    pub skinned: Vec<bool>,
    pub loose_parts: Vec<LoosePart>,
}

/// Pins every loose part to its dominant bone, the one with the largest sum of weights over its vertices.
/// A large part without a dominant bone (a belt, a strap) is held at its skinned positions. `painted`: the weights are the artist's.
pub(super) fn pin_loose_parts(
    (surface, skeleton): (&Surface, &Skeleton),
    painted: bool,
    (basis, embedding): (&Basis, &Embedding),
    (tied, volumes): (&[(u32, Vec3)], &[f64]),
    weights: &mut NodeField,
) -> HeldVertices {
    let mut bone_of_vertex = basis.bones().to_vec();
    let mut skinned = vec![false; bone_of_vertex.len()];
    let mut used = skinned.clone();
    for &v in basis.all_functions().flatten() {
        used[v as usize] = true;
    }
    for v in (0..used.len()).filter(|&v| !used[v]) {
        // A node of no cell carries nothing; it follows its dominant bone.
        let bone = *bone_of_vertex[v].get_or_insert(dominant_bone(weights, &[v as u32]).0);
        weights.set(v, bone as usize);
    }
    let heading = heading(surface, skeleton);
    let extent = |chosen: &dyn Fn(usize) -> bool| {
        super::skin::extent(embedding, basis.rest_shape(), heading, chosen)
    };
    let size = extent(&|_| true);
    let pinned: Vec<bool> = bone_of_vertex.iter().map(Option::is_some).collect();
    // Cells around bones that stick out hold no flesh and need no warning.
    let flesh_in = |part: &LoosePart| part.cells.iter().any(|&c| volumes[c as usize] > 0.0);
    let loose_parts = loose::find(basis, &pinned, tied)
        .into_iter()
        .map(|(cells, vertices)| {
            let corners = |c: &u32| basis.lattice().cells()[*c as usize].corners();
            let all: Vec<u32> = cells.iter().flat_map(corners).copied().collect();
            let (bone, share) = dominant_bone(weights, &all);
            let in_part = |i: usize| cells.binary_search(&embedding.cells()[i]).is_ok();
            let small = extent(&in_part) <= SMALL_PART_SIZE * size;
            let rigid = !painted || share >= DOMINANT_SHARE || small && share >= 0.5;
            for &v in &vertices {
                bone_of_vertex[v as usize] = Some(bone);
                if rigid {
                    weights.set(v as usize, bone as usize);
                } else {
                    skinned[v as usize] = true;
                }
            }
            let near = basis.centres()[all[0] as usize];
            LoosePart {
                sentence: loose_sentence(skeleton, bone, rigid, cells.len(), near),
                cells,
                vertices,
                bone,
            }
        })
        .filter(flesh_in)
        .collect();
    HeldVertices {
        bone_of_vertex,
        skinned,
        loose_parts,
    }
}

/// Returns the sentence that tells the artist about a loose part near a point, and how it follows its bone.
fn loose_sentence(skeleton: &Skeleton, bone: u32, rigid: bool, cells: usize, near: Vec3) -> String {
    let name = &skeleton.names()[bone as usize];
    let how = if rigid {
        format!("it follows '{name}' rigidly")
    } else {
        "it follows its skin weights without flesh of its own".to_owned()
    };
    format!(
        "A loose part of {cells} cell(s) at ({:.3}, {:.3}, {:.3}), {:.3} m from the bone \
         '{name}', is held by no bone: {how}.",
        near.x,
        near.y,
        near.z,
        distance_to_bone(skeleton, bone, near),
    )
}

/// Returns the bone with the largest sum of weights, and its share of all.
fn dominant_bone(weights: &NodeField, vertices: &[u32]) -> (u32, f64) {
    let mut sums = vec![0.0; weights.columns];
    for &v in vertices {
        for (s, w) in sums.iter_mut().zip(weights.row(v as usize)) {
            *s += w;
        }
    }
    let mut best = 0;
    for (b, &s) in sums.iter().enumerate() {
        if s > sums[best] {
            best = b;
        }
    }
    let total: f64 = sums.iter().sum();
    (
        best as u32,
        if total > 0.0 { sums[best] / total } else { 1.0 },
    )
}
