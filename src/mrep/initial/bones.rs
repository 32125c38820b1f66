// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bones for bodies without bones: chains through the centres of rings.
//!
//! Joints are kept where a limb bends; a straight limb has two bones.

use crate::Vec3;
use crate::geometry::polyline::{arc_lengths, point_at, smooth};
use crate::mrep::error::MRepError;
use crate::mrep::initial::limbs::{LimbRings, find_limbs, order_as_tree};
use crate::mrep::initial::tube::main_piece;
use crate::skeleton::Skeleton;
use crate::surface::Surface;

/// Largest distance between a limb and its bones, in its mean radii; more joints are added beyond it. Bones in a round limb then keep 0.65 radii from
/// the skin; with twice of it they would keep 0.3.
const MAX_BONE_DISTANCE: f64 = 0.35;
/// Largest length of a bone, as a share of its limb, and smallest length, in mean radii. A half gives a straight limb two bones, like an arm or a
/// leg. Skin around a bone shorter than a radius would be farther from it than it is long.
const MAX_BONE_LENGTH: f64 = 0.5;
const MIN_BONE_LENGTH: f64 = 1.0;
/// Largest number of bones suggested.
const MAX_BONES: usize = 512;

/// Suggested bones of a body.
#[derive(Debug, Clone, PartialEq)]
pub struct SuggestedBones {
    /// Names: "Body 1", "Body 2" ... and "Limb 1.1", "Limb 1.2" ..., limbs from the longest to the shortest.
    pub names: Vec<String>,
    /// Parent of each bone, always before its children; the first bone has none.
    pub parents: Vec<Option<u32>>,
    /// Head of each bone, metres.
    pub heads: Vec<Vec3>,
    /// Tail of each bone, metres.
    pub tails: Vec<Vec3>,
}

impl SuggestedBones {
    /// Returns the bone of a range that is nearest to a point.
    fn nearest_bone(&self, among: std::ops::Range<usize>, place: &Vec3) -> Option<u32> {
        let far = |b: usize| {
            let way = self.tails[b] - self.heads[b];
            let t = ((place - self.heads[b]).dot(&way) / way.norm_squared()).clamp(0.0, 1.0);
            (place - self.heads[b] - way * t).norm()
        };
        // Near a joint both of its bones are equally near; the first one wins, independent of rounding.
        let nearest = among.reduce(|best, b| {
            if far(b) < far(best) * (1.0 - 1e-9) {
                b
            } else {
                best
            }
        });
        nearest.map(|b| b as u32)
    }

    /// Builds a skeleton of the bones.
    ///
    /// # Errors
    /// Bones that do not form a skeleton; suggested ones do.
    pub fn skeleton(&self) -> Result<Skeleton, crate::skeleton::SkeletonError> {
        Skeleton::new(
            self.names.clone(),
            self.parents.clone(),
            self.heads.clone(),
            self.tails.clone(),
        )
    }
}

/// Suggests bones for a body: chains along its limbs, by rings of equal distance along the skin from its far end.
///
/// The bulkiest row of rings is the body; its first bone is the root. The chain of any other limb hangs on the nearest bone of the limb
/// from which it branches. Joints are where limbs bend; straight limbs have two bones. Only the largest connected piece of skin is used.
///
/// # Errors
/// A surface that bounds no volume, one in pieces, one without rings.
pub fn suggest_bones(surface: &Surface) -> Result<SuggestedBones, MRepError> {
    let mesh = main_piece(surface)?;
    let limbs = find_limbs(&mesh);
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
    let ordered = order_as_tree(limbs, root.ok_or_else(refuse)?);
    let mut bones = SuggestedBones {
        names: Vec::new(),
        parents: Vec::new(),
        heads: Vec::new(),
        tails: Vec::new(),
    };
    // Bones of each limb; a limb too short for bones has those of its parent limb.
    let mut of_limb: Vec<std::ops::Range<usize>> = Vec::new();
    for (i, (limb, hangs_on)) in ordered.iter().enumerate() {
        let above = hangs_on.map_or(0..0, |h| of_limb[h].clone());
        let joints = joints(limb);
        let first = bones.names.len();
        if joints.len() < 2 || first + joints.len() > MAX_BONES {
            of_limb.push(above);
            continue;
        }
        let mut parent = bones.nearest_bone(above, &joints[0]);
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

/// Returns the joints along a limb: its ends, its bends, and more in long bones.
fn joints(limb: &LimbRings) -> Vec<Vec3> {
    let mut row: Vec<Vec3> = limb.rings.iter().map(|r| r.centre).collect();
    if row.len() == 1 {
        return row;
    }
    smooth(&mut row, 2);
    let along = arc_lengths(&row);
    let total = along[along.len() - 1];
    let radius = limb.mean_radius();
    let shortest = (MIN_BONE_LENGTH * radius).min(total / 4.0);
    let mut chosen = vec![0, row.len() - 1];
    // Douglas and Peucker's method: the farthest point first.
    loop {
        let worst = chosen
            .windows(2)
            .filter_map(|w| farthest_point(&row, &along, [w[0], w[1]], shortest));
        let worst = worst.reduce(|a, b| if b.0 > a.0 { b } else { a });
        let Some((_, k)) = worst.filter(|(off, _)| *off > MAX_BONE_DISTANCE * radius) else {
            break;
        };
        let place = chosen.partition_point(|i| *i < k);
        chosen.insert(place, k);
    }
    let mut joints = Vec::new();
    for w in chosen.windows(2) {
        let [from, to] = [along[w[0]], along[w[1]]];
        let parts = ((to - from) / (MAX_BONE_LENGTH * total) - 1e-9)
            .ceil()
            .max(1.0);
        let share = |i: f64| from + (to - from) * i / parts;
        joints.extend((0..parts as usize).map(|i| point_at(&row, &along, share(i as f64))));
    }
    joints.push(row[row.len() - 1]);
    joints
}

/// Returns the point between two of a row that is farthest from their segment, and its distance. Points nearer to either end than
/// `shortest` are skipped.
fn farthest_point(
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
