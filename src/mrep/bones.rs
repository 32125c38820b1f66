// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bones for bodies that have none: chains through the centres of rings.
//!
//! Of a limb's centres those stay where it bends; a straight one has two bones.

use super::error::MRepError;
use super::limbs::{Limb, hang, limbs};
use super::tube::{at, lengths, main_piece};
use crate::Vec3;
use crate::skeleton::Skeleton;
use crate::surface::Surface;

/// Joints are left out as long as the limb strays no farther from its bones than this part of its mean radius.
const STRAY: f64 = 0.35;
/// Bones are no longer than this part of their limb, and no shorter than so many mean radii.
const LONGEST: f64 = 0.5;
const SHORTEST: f64 = 1.0;
/// Most suggested.
const MOST: usize = 512;

/// Bones that a body could have.
#[derive(Debug, Clone, PartialEq)]
pub struct SuggestedBones {
    /// "Body 1", "Body 2" ... and "Limb 1.1", "Limb 1.2" ..., limbs from the longest to the shortest.
    pub names: Vec<String>,
    /// Parents, always before their children; the first bone has none.
    pub parents: Vec<Option<u32>>,
    /// Metres.
    pub heads: Vec<Vec3>,
    /// Metres.
    pub tails: Vec<Vec3>,
}

impl SuggestedBones {
    /// Of some bones the nearest to a place.
    fn nearest(&self, among: std::ops::Range<usize>, place: &Vec3) -> Option<u32> {
        let far = |b: usize| {
            let way = self.tails[b] - self.heads[b];
            let t = ((place - self.heads[b]).dot(&way) / way.norm_squared()).clamp(0.0, 1.0);
            (place - self.heads[b] - way * t).norm()
        };
        // Near a joint both of its bones are as near: then the first, whatever rounding says.
        let nearest = among.reduce(|best, b| {
            if far(b) < far(best) * (1.0 - 1e-9) {
                b
            } else {
                best
            }
        });
        nearest.map(|b| b as u32)
    }

    /// As a skeleton.
    ///
    /// # Errors
    /// Bones that make none; suggested ones do.
    pub fn skeleton(&self) -> Result<Skeleton, crate::skeleton::SkeletonError> {
        Skeleton::new(
            self.names.clone(),
            self.parents.clone(),
            self.heads.clone(),
            self.tails.clone(),
        )
    }
}

/// Bones for a body: chains along its limbs, by rings of equal distance along the skin from its far end.
///
/// The thickest row of rings is the body, whose first bone is the root; chains of the others hang on the nearest bone of what they branch
/// from. Joints are where limbs bend; straight limbs have two bones. Only the largest connected piece of skin is looked at.
///
/// # Errors
/// A surface that bounds no volume, one in pieces, one without rings.
pub fn suggest_bones(surface: &Surface) -> Result<SuggestedBones, MRepError> {
    let mesh = main_piece(surface)?;
    let limbs = limbs(&mesh);
    let refuse = || {
        MRepError::Target(
            "no limbs were found: the surface is too coarse or too round for bones to be suggested, subdivide it or place them by hand"
                .into(),
        )
    };
    let root = (0..limbs.len()).reduce(|best, i| {
        if limbs[i].bulk() > limbs[best].bulk() {
            i
        } else {
            best
        }
    });
    let ordered = hang(limbs, root.ok_or_else(refuse)?);
    let mut bones = SuggestedBones {
        names: Vec::new(),
        parents: Vec::new(),
        heads: Vec::new(),
        tails: Vec::new(),
    };
    // Bones of each limb; of one that is too short for any those of what it hangs on.
    let mut of_limb: Vec<std::ops::Range<usize>> = Vec::new();
    for (i, (limb, hangs_on)) in ordered.iter().enumerate() {
        let above = hangs_on.map_or(0..0, |h| of_limb[h].clone());
        let joints = joints(limb);
        let first = bones.names.len();
        if joints.len() < 2 || first + joints.len() > MOST {
            of_limb.push(above);
            continue;
        }
        let mut parent = bones.nearest(above, &joints[0]);
        for (k, pair) in joints.windows(2).enumerate() {
            bones.names.push(match i {
                0 => format!("Body {}", k + 1),
                _ => format!("Limb {i}.{}", k + 1),
            });
            bones.parents.push(parent);
            bones.heads.push(pair[0]);
            bones.tails.push(pair[1]);
            parent = Some(bones.names.len() as u32 - 1);
        }
        of_limb.push(first..bones.names.len());
    }
    if bones.names.is_empty() {
        return Err(refuse());
    }
    Ok(bones)
}

/// Joints along a limb: its ends, where it bends, and more where bones would be long.
fn joints(limb: &Limb) -> Vec<Vec3> {
    let mut row: Vec<Vec3> = limb.rings.iter().map(|r| r.centre).collect();
    if row.len() == 1 {
        return row;
    }
    for _ in 0..2 {
        let before = row.clone();
        for i in 1..row.len() - 1 {
            row[i] = before[i] * 0.5 + (before[i - 1] + before[i + 1]) * 0.25;
        }
    }
    let along = lengths(&row);
    let total = along[along.len() - 1];
    let radius = limb.mean_radius();
    let shortest = (SHORTEST * radius).min(total / 4.0);
    let mut chosen = vec![0, row.len() - 1];
    // Douglas and Peucker's way: the farthest off first.
    loop {
        let worst = chosen
            .windows(2)
            .filter_map(|w| farthest_off(&row, &along, [w[0], w[1]], shortest));
        let worst = worst.reduce(|a, b| if b.0 > a.0 { b } else { a });
        let Some((_, k)) = worst.filter(|(off, _)| *off > STRAY * radius) else {
            break;
        };
        let place = chosen.partition_point(|i| *i < k);
        chosen.insert(place, k);
    }
    let mut joints = Vec::new();
    for w in chosen.windows(2) {
        let [from, to] = [along[w[0]], along[w[1]]];
        let parts = ((to - from) / (LONGEST * total) - 1e-9).ceil().max(1.0);
        let share = |i: f64| from + (to - from) * i / parts;
        joints.extend((0..parts as usize).map(|i| at(&row, &along, share(i as f64))));
    }
    joints.push(row[row.len() - 1]);
    joints
}

/// Which point between two of a row is farthest from the line through them, and how far; no nearer to either than bones are long.
fn farthest_off(
    row: &[Vec3],
    along: &[f64],
    [from, to]: [usize; 2],
    shortest: f64,
) -> Option<(f64, usize)> {
    let way = row[to] - row[from];
    let off = |k: usize| {
        let t = ((row[k] - row[from]).dot(&way) / way.norm_squared().max(f64::MIN_POSITIVE))
            .clamp(0.0, 1.0);
        (row[k] - row[from] - way * t).norm()
    };
    (from + 1..to)
        .filter(|&k| along[k] - along[from] >= shortest && along[to] - along[k] >= shortest)
        .map(|k| (off(k), k))
        .reduce(|a, b| if b.0 > a.0 { b } else { a })
}

#[cfg(test)]
mod tests;
