// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bones of one half of a character, averaged over both.

use super::super::bones::{BoneSegment, WELD_DISTANCE};
use super::plane::{MirrorFrame, flip};
use crate::Vec3;
use std::collections::BTreeMap;

/// Distance from the plane, as a share of `h`, within which the end of a bone is moved into it: less than the distance
/// within which a lattice follows bones.
const PLANE_SNAP_SHARE: f64 = 0.9;

/// Segments of one half, in a frame with the plane at x = 0, and their places in the whole.
#[derive(Debug)]
pub(super) struct HalfSkeleton {
    /// Segments at x ≥ 0. Both ends are at x = 0 or neither or one; those at x = 0 are exactly there.
    pub segments: Vec<BoneSegment>,
    /// Segments of the whole: bones in order, then tips.
    pub whole: Vec<WholeSegment>,
    /// Mirror image of each bone that has a segment; itself in the plane.
    pub partner: BTreeMap<u32, u32>,
}

/// Segment of the whole character.
#[derive(Debug, Clone, Copy)]
pub(super) struct WholeSegment {
    pub bone: u32,
    pub tip: bool,
    /// Index of the segment in the half.
    pub half: usize,
    /// Whether it is the image of that segment.
    pub mirrored: bool,
}

impl HalfSkeleton {
    /// Averages the segments of a character with their mirror images. `None` if one crosses the plane.
    pub fn new(
        frame: &MirrorFrame,
        segments: &[BoneSegment],
        partners: &[usize],
        h: f64,
    ) -> Option<Self> {
        let inside = |s: &BoneSegment| BoneSegment {
            head: frame.to_frame(&s.head),
            tail: frame.to_frame(&s.tail),
            skin: (s.skin.iter().map(|(p, w)| (frame.to_frame(p), *w))).collect(),
            ..s.clone()
        };
        let local: Vec<BoneSegment> = segments.iter().map(inside).collect();
        let mut half = Self {
            segments: Vec::new(),
            whole: Vec::new(),
            partner: BTreeMap::new(),
        };
        let snap = PLANE_SNAP_SHARE * WELD_DISTANCE * h;
        let bones = (0..local.len()).filter(|&i| !local[i].tip);
        for (i, j) in bones.map(|i| (i, partners[i])) {
            let (right, left) = (&local[i], &local[j]);
            half.partner.insert(right.bone, left.bone);
            let tip = |of: u32| local.iter().find(|s| s.tip && s.bone == of);
            if i == j {
                half.add(in_plane(right), right.bone, None);
                if let Some(tip) = tip(right.bone) {
                    half.add(in_plane(tip), right.bone, None);
                }
            } else if right.head.x + right.tail.x > 0.0 {
                let mean = snapped(averaged(right, left), snap)?;
                half.add(mean, right.bone, Some(left.bone));
                let tip = match (tip(right.bone), tip(left.bone)) {
                    (Some(a), Some(b)) => Some(averaged(a, b)),
                    (Some(a), None) => Some(a.clone()),
                    (None, Some(b)) => Some(flipped(b)),
                    (None, None) => None,
                };
                if let Some(tip) = tip {
                    half.add(snapped(tip, snap)?, right.bone, Some(left.bone));
                }
            }
        }
        half.whole.sort_by_key(|s| (s.tip, s.bone));
        Some(half)
    }

    /// Adds a segment of the half, and of the whole once or twice.
    fn add(&mut self, segment: BoneSegment, bone: u32, partner: Option<u32>) {
        let (half, tip) = (self.segments.len(), segment.tip);
        let both = [(Some(bone), false), (partner, true)];
        for (bone, mirrored) in both {
            let whole = bone.map(|bone| WholeSegment {
                bone,
                tip,
                half,
                mirrored,
            });
            self.whole.extend(whole);
        }
        self.segments.push(BoneSegment { bone, ..segment });
    }
}

/// Returns a segment moved into the plane.
fn in_plane(s: &BoneSegment) -> BoneSegment {
    let flat = |p: Vec3| Vec3::new(0.0, p.y, p.z);
    BoneSegment {
        head: flat(s.head),
        tail: flat(s.tail),
        ..s.clone()
    }
}

/// Returns the mirror image of a segment.
fn flipped(s: &BoneSegment) -> BoneSegment {
    BoneSegment {
        head: flip(s.head),
        tail: flip(s.tail),
        skin: s.skin.iter().map(|(p, w)| (flip(*p), *w)).collect(),
        ..s.clone()
    }
}

/// Returns the mean of a segment and the image of its partner.
fn averaged(right: &BoneSegment, left: &BoneSegment) -> BoneSegment {
    let mean = |p: Vec3, q: Vec3| (p + flip(q)) * 0.5;
    BoneSegment {
        head: mean(right.head, left.head),
        tail: mean(right.tail, left.tail),
        weight: 0.5 * (right.weight + left.weight),
        ..right.clone()
    }
}

/// Returns a segment whose ends near the plane lie in it; `None` if it crosses the plane, or lies in it.
fn snapped(s: BoneSegment, near: f64) -> Option<BoneSegment> {
    let moved = |p: Vec3| match p.x.abs() <= near {
        true => Vec3::new(0.0, p.y, p.z),
        false => p,
    };
    let (head, tail) = (moved(s.head), moved(s.tail));
    let off = head.x >= 0.0 && tail.x >= 0.0 && (head.x > 0.0 || tail.x > 0.0);
    off.then_some(BoneSegment { head, tail, ..s })
}
