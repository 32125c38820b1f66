// SPDX-License-Identifier: MIT OR Apache-2.0
//! Detection of machines: bodies of pieces that each hang rigidly on one bone.
//!
//! Low-poly characters are bound to one bone a vertex as well, but their skin continues from bone to bone. If no
//! piece does, nothing bends, and what does not bend is not flesh. One piece on one bone of a skeleton that carries
//! much else is part of a machine, or a head: any flesh of it would end where the mesh does.

use super::skin::BodySkin;

/// Smallest weight of a vertex that hangs on one bone. Weights of eight bits are off by 0.002.
const MIN_RIGID_WEIGHT: f64 = 0.99;
/// Smallest share of a machine's area, and of its trunk's, that is rigid; of known bodies of flesh at most half is.
/// With half of it, a robot and ten characters of flesh are classified the same.
const MIN_RIGID_SHARE: f64 = 0.7;
/// Fewest bones of a machine's pieces: one piece on the only bone can be a ball of flesh as well.
const MIN_MACHINE_BONES: usize = 4;
/// Fewest bones of a skeleton that carries much else than a mesh on one of them.
const MIN_SKELETON_BONES: usize = 8;

/// Returns whether a body is a machine. `trunk`: the share of each vertex that the trunk carries; `skeleton`: the
/// number of the character's bones.
pub(super) fn is_machine(skin: &BodySkin, trunk: &[f64], skeleton: usize) -> bool {
    let mut bone = vec![None; skin.islands];
    let mut rigid = vec![true; skin.islands];
    for (row, &island) in skin.rows.iter().zip(&skin.island) {
        let island = island as usize;
        let own = row.iter().find(|r| r.1 >= MIN_RIGID_WEIGHT).map(|r| r.0);
        rigid[island] &= own.is_some() && bone[island].is_none_or(|b| Some(b) == own);
        bone[island] = own;
    }
    let (mut whole, mut hard) = ([0.0; 2], [0.0; 2]);
    for (v, &area) in skin.area.iter().enumerate() {
        let parts = [1.0, trunk[v]];
        for k in 0..2 {
            whole[k] += area * parts[k];
            if rigid[skin.island[v] as usize] {
                hard[k] += area * parts[k];
            }
        }
    }
    let mut bones: Vec<u32> = (0..skin.islands)
        .filter(|&i| rigid[i])
        .filter_map(|i| bone[i])
        .collect();
    bones.sort_unstable();
    bones.dedup();
    let part = bones.len() == 1 && skeleton >= MIN_SKELETON_BONES;
    (part || bones.len() >= MIN_MACHINE_BONES)
        && (0..2).all(|k| hard[k] >= MIN_RIGID_SHARE * whole[k])
}
