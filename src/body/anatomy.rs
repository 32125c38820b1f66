// SPDX-License-Identifier: MIT OR Apache-2.0
//! What bones with usual names say about the flesh on them: skulls, hands and feet are mostly bone, however thick.

use crate::skeleton::{Skeleton, SkinWeights};

/// The part of its flesh that a region keeps.
const BONY: f64 = 0.4;

/// How words begin that name bony regions, in rigs as artists find them.
const WORDS: [&str; 18] = [
    "head", "skull", "cranium", "hand", "wrist", "palm", "finger", "thumb", "foot", "feet",
    "ankle", "toe", "paw", "hoof", "claw", "horn", "beak", "eye",
];

/// For each skin vertex how much of its flesh is flesh, by the names of the bones that carry it: 1 where they say nothing.
pub(super) fn fleshiness(skeleton: &Skeleton, weights: &SkinWeights) -> Vec<f64> {
    let of_bone: Vec<f64> = skeleton
        .names()
        .iter()
        .map(|name| if is_bony(name) { BONY } else { 1.0 })
        .collect();
    let of_row = |v: usize| {
        let (sum, total) = weights.row(v).fold((0.0, 0.0), |(s, t), (bone, w)| {
            (s + w * of_bone[bone as usize], t + w)
        });
        if total > 0.0 { sum / total } else { 1.0 }
    };
    (0..weights.len()).map(of_row).collect()
}

/// Whether one of a name's words begins like one of ours; words end at capitals, digits and signs.
fn is_bony(name: &str) -> bool {
    let mut words = vec![String::new()];
    let mut lower = false;
    for c in name.chars() {
        if !c.is_alphabetic() || (c.is_uppercase() && lower) {
            words.push(String::new());
        }
        lower = c.is_lowercase();
        if c.is_alphabetic() {
            words
                .last_mut()
                .into_iter()
                .for_each(|w| w.extend(c.to_lowercase()));
        }
    }
    words
        .iter()
        .any(|word| WORDS.iter().any(|start| word.starts_with(start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_names_are_understood() {
        for name in [
            "Head",
            "mixamorig:LeftHand",
            "b_RightFoot01_022",
            "DEF-toe.L",
            "thumb_01_l",
            "HandIndex1",
        ] {
            assert!(is_bony(name), "{name}");
        }
        for name in [
            "Spine1",
            "upper_arm.L",
            "thigh",
            "Tail02",
            "Bone.007",
            "forehand",
            "",
            "shin",
        ] {
            assert!(!is_bony(name), "{name}");
        }
    }
}
