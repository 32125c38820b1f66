// SPDX-License-Identifier: MIT OR Apache-2.0
//! Paired limbs as two segments each, from the joint at the trunk over elbow or knee to wrist or ankle, and the directions of the trunk.
//!
//! The bones of a limb are the heaviest path of the tree from the trunk to the compact end or tip. The middle joint is the one nearest to the
//! middle of that path. The first is the one as far from it as the end is, so that a collar bone does not count. The last is the first joint far
//! enough beyond it, so that neither twist bones nor an animal's metatarsus count.

use super::Anatomy;
use crate::Vec3;
use crate::geometry::polyline::arc_lengths;
use crate::geometry::tetrahedron::closest_on_segment;

/// Position of elbow or knee on the path of a limb, as a part of its length. Collar bones move it outwards, hind feet inwards; the
/// nearest joint is the right one from 0.4 to 0.6 on six known characters.
const MIDDLE: f64 = 0.5;
/// Smallest length of the lower segment, as a part of the upper one's. Twist bones are half as long, real segments at least 0.7.
const MIN_LOWER: f64 = 0.6;
/// Distance of the middle joint from the line between the others, as a part of its length, from which the bend at rest tells to which side the limb bends.
const MIN_BEND: f64 = 0.05;

/// Part of a segment over which its thickness is measured; beyond lie joints, shoulders and buttocks.
const MIDDLE_PART: std::ops::RangeInclusive<f64> = 0.2..=0.8;

/// A paired limb.
#[derive(Debug, Clone)]
pub struct LimbSegments {
    /// `true`: an arm or foreleg, at the chest end of the trunk.
    pub at_chest: bool,
    /// `true`: on the left side of the character.
    pub left: bool,
    /// Joints: shoulder or hip, elbow or knee, wrist or ankle.
    pub joints: [Vec3; 3],
    /// First bone beyond the trunk, the last bone of the upper segment, the first bone of the lower one.
    pub bones: [u32; 3],
    /// Mean distance of the skin from upper and lower segment, over their middles, m.
    pub radii: [f64; 2],
    /// Direction from the middle joint to the side to which the limb bends, across its upper segment, a unit vector.
    pub flexor: Vec3,
}

/// The trunk's directions and thickness.
#[derive(Debug, Clone, Copy)]
pub struct TrunkFrame {
    /// `true`: the limbs continue along the trunk, as of people.
    pub upright: bool,
    /// End of the trunk's axis at the hips.
    pub hips: Vec3,
    /// From the hips to the chest, a unit vector.
    pub axis: Vec3,
    /// Towards the belly, a unit vector.
    pub ventral: Vec3,
    /// Half the trunk's thickness, m.
    pub half_thickness: f64,
}

impl TrunkFrame {
    /// Returns the direction in which the character looks.
    pub fn ahead(&self) -> Vec3 {
        if self.upright {
            self.ventral
        } else {
            self.axis
        }
    }

    /// Returns the direction to the character's left.
    pub fn left(&self) -> Vec3 {
        // Up is along an upright trunk, and away from the belly of another.
        self.axis.cross(&self.ventral)
    }

    /// Returns the point of the trunk's axis beside a point.
    pub fn on_axis(&self, x: Vec3) -> Vec3 {
        self.hips + self.axis * (x - self.hips).dot(&self.axis)
    }
}

impl Anatomy {
    /// Returns the trunk's directions; `None` if the character's front is unknown.
    pub fn trunk_frame(&self) -> Option<TrunkFrame> {
        let (stance, _) = self.stance.as_ref()?;
        Some(TrunkFrame {
            upright: stance.upright,
            hips: stance.hips,
            axis: stance.axis(),
            ventral: stance.ventral,
            half_thickness: 0.5 * self.thick,
        })
    }

    /// Returns the bone of the trunk whose skin is nearest to a point.
    pub fn trunk_bone(&self, x: Vec3) -> Option<u32> {
        let live = self.trunk.bones.iter().filter(|&&b| self.bones.live[b]);
        let apart = |b: usize| (self.bones.centre[b] - x).norm_squared();
        let nearest = live.min_by(|&&a, &&b| apart(a).total_cmp(&apart(b)));
        nearest.map(|&b| b as u32)
    }

    /// Returns all paired limbs with an elbow or knee; none if the character's front is unknown.
    pub fn limb_segments(&self) -> Vec<LimbSegments> {
        let Some((trunk, (stance, _))) = self.trunk_frame().zip(self.stance.as_ref()) else {
            return Vec::new();
        };
        let paired = self
            .trunk
            .limbs
            .iter()
            .filter(|(first, _)| !self.bones.middle[*first]);
        let measured = paired.filter_map(|&(first, from)| {
            let mut limb = self.segments(first, from)?;
            limb.at_chest = stance.trunk_coordinate(&limb.joints[0]) > 0.5;
            limb.left = (limb.joints[0] - trunk.hips).dot(&trunk.left()) > 0.0;
            limb.flexor = flexor(&limb, &trunk)?;
            Some(limb)
        });
        measured.collect()
    }

    /// Returns joints, bones and radii of a limb; its sides are not known yet.
    fn segments(&self, first: usize, from: usize) -> Option<LimbSegments> {
        let path = self.limb_path(first, from);
        let mut points = vec![self.bones.joint(from, first)];
        points.extend(
            path.windows(2)
                .map(|pair| self.bones.joint(pair[0], pair[1])),
        );
        let last = *path.last()?;
        if !self.along.ends[last] {
            // The skin's centre is halfway to the tip.
            points.push(self.bones.centre[last] * 2.0 - points[points.len() - 1]);
        }
        let end = points.len() - 1;
        let along = arc_lengths(&points);
        let middle = |k: &usize| (along[*k] / along[end] - MIDDLE).abs();
        let k = (1..end).min_by(|a, b| middle(a).total_cmp(&middle(b)))?;
        let reach = |i: usize| (points[i] - points[k]).norm();
        let unequal = |i: &usize| (reach(*i) - reach(end)).abs();
        let root = (0..k).min_by(|a, b| unequal(a).total_cmp(&unequal(b)))?;
        let tip = (k + 1..end).find(|&j| reach(j) >= MIN_LOWER * reach(root));
        let joints = [points[root], points[k], points[tip.unwrap_or(end)]];
        let carried = self.carried_share(&self.bones.bones_beyond(first, from));
        let radius = |i: usize| self.segment_radius(&carried, &joints, i);
        Some(LimbSegments {
            at_chest: false,
            left: false,
            joints,
            bones: [first, path[k - 1], path[k]].map(|b| b as u32),
            radii: [radius(0)?, radius(1)?],
            flexor: Vec3::zeros(),
        })
    }

    /// Returns the share of each vertex of the skin that bones carry.
    fn carried_share(&self, bones: &[usize]) -> Vec<f64> {
        let mut own = vec![false; self.bones.len()];
        bones.iter().for_each(|&b| own[b] = true);
        let share = |row: &Vec<(u32, f64)>| -> f64 {
            let mine = row.iter().filter(|&&(b, _)| own[b as usize]);
            mine.map(|&(_, w)| w).sum()
        };
        self.skin.rows.iter().map(share).collect()
    }

    /// Returns the mean distance by area of a limb's skin from a segment (0, 1), over its middle; `None` without skin there. Skin within other
    /// skin, as of bodies in layers, makes thickness by rays and balls too small; here it counts by its area.
    fn segment_radius(&self, carried: &[f64], joints: &[Vec3; 3], segment: usize) -> Option<f64> {
        let (mut sum, mut area) = (0.0, 0.0);
        for ((x, own), a) in self.skin.x.iter().zip(carried).zip(&self.skin.area) {
            let [(away, along), (other, _)] = [segment, 1 - segment].map(|i| {
                let (nearest, along) = closest_on_segment(joints[i], joints[i + 1], *x);
                ((x - nearest).norm(), along)
            });
            // The trunk's skin may follow a limb a little.
            if *own >= 0.5 && MIDDLE_PART.contains(&along) && away <= other {
                sum += a * away;
                area += a;
            }
        }
        (area > 0.0).then(|| sum / area)
    }

    /// Returns the heaviest path of bones of a limb, up to the first of its compact end.
    fn limb_path(&self, first: usize, from: usize) -> Vec<usize> {
        let (mut path, mut before) = (vec![first], from);
        while let Some(&at) = path.last().filter(|&&b| !self.along.ends[b]) {
            let volume = |b: usize| -> f64 {
                let beyond = self.bones.bones_beyond(b, at);
                beyond.iter().map(|&b| self.bones.volume[b]).sum()
            };
            let next = self.bones.neighbours(at).filter(|&b| b != before);
            let next = next.max_by(|&a, &b| volume(a).total_cmp(&volume(b)).then(b.cmp(&a)));
            let Some(next) = next else {
                break;
            };
            path.push(next);
            before = at;
        }
        path
    }
}

/// Returns the side to which a limb bends: that of its bend at rest, or else ahead for arms and behind for legs.
fn flexor(limb: &LimbSegments, trunk: &TrunkFrame) -> Option<Vec3> {
    let [root, middle, tip] = limb.joints;
    let (line, upper) = (tip - root, (middle - root).try_normalize(0.0)?);
    let foot = root + line * ((middle - root).dot(&line) / line.norm_squared());
    let inward = foot - middle;
    let usual = if limb.at_chest {
        trunk.ahead()
    } else {
        -trunk.ahead()
    };
    let side = match inward.norm() > MIN_BEND * line.norm() {
        true => inward,
        false => usual,
    };
    (side - upper * side.dot(&upper)).try_normalize(1e-3 * side.norm())
}
