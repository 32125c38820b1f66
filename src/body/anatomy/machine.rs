// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tells machines: bodies of pieces that each hang rigidly on one bone.
//!
//! Low-poly characters are bound to one bone a vertex as well, but their skin goes on from bone to bone; where no piece does,
//! nothing bends, and what does not bend is no flesh. One piece on one bone of a skeleton that carries much else is a part of a machine, or a
//! head: its flesh, if it had any, would end where the mesh does.

use super::skin::Skin;

/// A vertex hangs on one bone from this weight on.
const RIGID: f64 = 0.99;
/// A machine's pieces are rigid over this part of its area, and of its trunk's: of known bodies of flesh at most half are. With half of it a robot
/// and ten characters of flesh are told the same.
const MACHINE: f64 = 0.7;
/// They hang on so many bones at least: one piece on the one bone that there is is a ball of flesh as well.
const BONES: usize = 4;
/// A skeleton of so many bones carries much else beside a mesh that hangs on one of them.
const ELSE: usize = 8;

/// Tells whether a body is a machine; `trunk`: the share of each vertex that the trunk carries, `skeleton`: how many bones
/// the character has.
pub(super) fn is_machine(skin: &Skin, trunk: &[f64], skeleton: usize) -> bool {
    let mut bone = vec![None; skin.islands];
    let mut rigid = vec![true; skin.islands];
    for (row, &island) in skin.rows.iter().zip(&skin.island) {
        let island = island as usize;
        let own = row.iter().find(|r| r.1 >= RIGID).map(|r| r.0);
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
    let part = bones.len() == 1 && skeleton >= ELSE;
    (part || bones.len() >= BONES) && (0..2).all(|k| hard[k] >= MACHINE * whole[k])
}
