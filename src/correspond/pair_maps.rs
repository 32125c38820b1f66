// SPDX-License-Identifier: MIT OR Apache-2.0
//! Affine maps from one character to another by their bones: of all together, and of each bone.
//!
//! The similarity takes matched heads and centres of skin to their partners with least squares [kabsch1976, umeyama1991].
//! The map of a bone stretches its length to its partner's, its limb's radius to the partner's, and turns least after the
//! similarity. A bone ends at the head of the only matched bone after it, so that maps of successive bones agree at the
//! joint; else at its tail. Bones without a partner take the map of the nearest matched bone above.

use super::align::{Alignment, BonePair};
use super::bones::CharacterBones;
use crate::body::Body;
use crate::geometry::frames::shortest_rotation;
use crate::geometry::rotation::best_rotation;
use crate::skeleton::Affine;
use crate::{Mat3, Vec3};

/// Limit of a bone's stretch, along and across, relative to the similarity. Tails of imported rigs may end anywhere.
const MAX_STRETCH: f64 = 3.0;
/// Weight of the alignment's turn in the similarity's rotation: it decides where matched points lie on a line.
const TURN_WEIGHT: f64 = 1e-12;

/// A rotation, a scale and a shift.
#[derive(Debug, Clone, Copy)]
pub(super) struct Similarity {
    pub scale: f64,
    pub rotation: Mat3,
    pub shift: Vec3,
}

impl Similarity {
    /// Fits the similarity of two characters to their pairs of bones.
    pub fn fit(sides: [(&Body, &CharacterBones); 2], alignment: &Alignment) -> Self {
        let points = |side: usize| {
            let (body, bones) = sides[side];
            let mut points = Vec::new();
            for pair in &alignment.pairs {
                let bone = [pair.source, pair.target][side];
                points.push(body.skeleton().heads()[bone]);
                let partners = [pair.source, pair.target];
                let skinned = sides
                    .iter()
                    .zip(partners)
                    .all(|(s, b)| s.1.tree.area[b] > 0.0);
                points.extend(skinned.then(|| bones.tree.centre[bone]));
            }
            points
        };
        let (from, to) = (points(0), points(1));
        let count = from.len().max(1) as f64;
        let (centre, other) = (
            from.iter().sum::<Vec3>() / count,
            to.iter().sum::<Vec3>() / count,
        );
        let (mut cross, mut spread) = (Mat3::zeros(), 0.0);
        for (p, q) in from.iter().zip(&to) {
            cross += (q - other) * (p - centre).transpose();
            spread += (p - centre).norm_squared();
        }
        let radius = sides[0].1.radius;
        let known = spread > 1e-6 * count * radius * radius;
        let prior = alignment.turn * (TURN_WEIGHT * cross.norm().max(f64::MIN_POSITIVE));
        let rotation = best_rotation(&(cross + prior)).unwrap_or(alignment.turn);
        let scale = match known {
            true => (rotation.transpose() * cross).trace() / spread,
            false => sides[1].1.radius / radius,
        };
        let least = 1e-3 * sides[1].1.radius / radius;
        let scale = if scale > least {
            scale
        } else {
            sides[1].1.radius / radius
        };
        Self {
            scale,
            rotation,
            shift: other - rotation * centre * scale,
        }
    }

    pub fn affine(&self) -> Affine {
        Affine {
            linear: self.rotation * self.scale,
            translation: self.shift,
        }
    }
}

/// The map of one bone of the source.
#[derive(Debug, Clone, Copy)]
pub(super) struct BoneMap {
    pub affine: Affine,
    /// Rotation from the bone's rest axes to its partner's.
    pub rotation: Mat3,
    /// Stretch across the bone.
    pub across: f64,
    /// The partner; that of the nearest matched bone above for a bone without one, `None` for none.
    pub partner: Option<usize>,
}

/// Maps of all bones of the source, and the matched bone that stands for each bone of either character.
pub(super) struct BoneMaps {
    pub maps: Vec<BoneMap>,
    /// Index of the pair of the nearest matched bone at or above each bone, of the source and of the target.
    pub pair_of: [Vec<Option<usize>>; 2],
    /// Index of the pair of the nearest matched bone above each pair, on the source.
    pub above: Vec<Option<usize>>,
}

impl BoneMaps {
    pub fn new(
        sides: [(&Body, &CharacterBones); 2],
        pairs: &[BonePair],
        similarity: &Similarity,
    ) -> Self {
        let lines = [0, 1].map(|side| BoneLines::new(sides[side], pairs, side));
        let maps: Vec<BoneMap> = (0..pairs.len())
            .map(|k| pair_map([&lines[0], &lines[1]], k, pairs[k].target, similarity))
            .collect();
        let pair_of = lines.map(|lines| lines.pair_of);
        let unmatched = BoneMap {
            affine: similarity.affine(),
            rotation: similarity.rotation,
            across: similarity.scale,
            partner: None,
        };
        let own = |pair: &Option<usize>| pair.map_or(unmatched, |k| maps[k]);
        let (body, bones) = sides[0];
        let above = pairs.iter().map(|pair| {
            let above = parent(body, bones, pair.source)?;
            pair_of[0][above]
        });
        Self {
            maps: pair_of[0].iter().map(own).collect(),
            above: above.collect(),
            pair_of,
        }
    }
}

/// The lines of matched bones of one character, and their limbs' radii.
struct BoneLines {
    heads: Vec<Vec3>,
    /// Way from head to end; zero without one.
    ways: Vec<Vec3>,
    radii: Vec<f64>,
    pair_of: Vec<Option<usize>>,
}

impl BoneLines {
    fn new((body, bones): (&Body, &CharacterBones), pairs: &[BonePair], side: usize) -> Self {
        let skeleton = body.skeleton();
        let bone = |k: usize| [pairs[k].source, pairs[k].target][side];
        let mut pair_at = vec![None; skeleton.len()];
        (0..pairs.len()).for_each(|k| pair_at[bone(k)] = Some(k));
        let at_or_above = |start: usize| {
            let mut at = Some(start);
            // A walk through all bones has found a circle between file and skin.
            for _ in 0..=skeleton.len() {
                match at {
                    Some(b) if pair_at[b].is_none() => at = parent(body, bones, b),
                    _ => break,
                }
            }
            at.and_then(|b| pair_at[b])
        };
        let heads: Vec<Vec3> = (0..pairs.len())
            .map(|k| skeleton.heads()[bone(k)])
            .collect();
        let mut after = vec![Vec::new(); pairs.len()];
        for (k, head) in heads.iter().enumerate() {
            if let Some(above) = parent(body, bones, bone(k)).and_then(at_or_above) {
                after[above].push(*head);
            }
        }
        let ways: Vec<Vec3> = (0..pairs.len())
            .map(|k| match after[k][..] {
                [only] => only - heads[k],
                _ => skeleton.tails()[bone(k)] - heads[k],
            })
            .collect();
        Self {
            radii: radii(body, &heads, &ways, &pair_at),
            pair_of: (0..skeleton.len()).map(at_or_above).collect(),
            heads,
            ways,
        }
    }
}

/// Returns the bone above another: in the tree by the skin, or in the file for one that leads no skin, and for the root.
pub(super) fn parent(body: &Body, bones: &CharacterBones, bone: usize) -> Option<usize> {
    let file = || body.skeleton().parents()[bone].map(|p| p as usize);
    bones.tree.parents[bone].or_else(file)
}

/// Returns the root mean square distance of each matched bone's skin from its line, metres; 0 for a bone without skin.
fn radii(body: &Body, heads: &[Vec3], ways: &[Vec3], pair_at: &[Option<usize>]) -> Vec<f64> {
    let surface = body.surface();
    let areas = crate::geometry::moments::vertex_areas(surface.vertices(), surface.triangles());
    let (mut sums, mut totals) = (vec![0.0; heads.len()], vec![0.0; heads.len()]);
    for (v, (x, area)) in surface.vertices().iter().zip(&areas).enumerate() {
        for (bone, weight) in body.skin().row(v) {
            if let Some(k) = pair_at[bone as usize] {
                let axis = ways[k].try_normalize(f64::MIN_POSITIVE).unwrap_or_default();
                let arm = x - heads[k];
                sums[k] += area * weight * (arm - axis * arm.dot(&axis)).norm_squared();
                totals[k] += area * weight;
            }
        }
    }
    let mean = sums.iter().zip(&totals);
    mean.map(|(sum, total)| {
        if *total > 0.0 {
            (sum / total).sqrt()
        } else {
            0.0
        }
    })
    .collect()
}

/// Returns the map of a pair's source bone.
fn pair_map(lines: [&BoneLines; 2], k: usize, target: usize, similarity: &Similarity) -> BoneMap {
    let s = similarity.scale;
    let ratio = |of: f64, to: f64| match of > 0.0 && to > 0.0 {
        true => (to / of).clamp(s / MAX_STRETCH, s * MAX_STRETCH),
        false => s,
    };
    let [way, other] = [0, 1].map(|side| lines[side].ways[k]);
    let across = ratio(lines[0].radii[k], lines[1].radii[k]);
    let along = ratio(way.norm(), other.norm());
    let units = [way, other].map(|w| w.try_normalize(f64::MIN_POSITIVE));
    let (rotation, linear) = match units {
        [Some(axis), Some(to)] => {
            let least = shortest_rotation(&(similarity.rotation * axis), &to);
            let rotation = least.unwrap_or_else(Mat3::identity) * similarity.rotation;
            let stretch = Mat3::identity() * across + axis * axis.transpose() * (along - across);
            (rotation, rotation * stretch)
        }
        _ => (similarity.rotation, similarity.rotation * across),
    };
    BoneMap {
        affine: Affine {
            linear,
            translation: lines[1].heads[k] - linear * lines[0].heads[k],
        },
        rotation,
        across,
        partner: Some(target),
    }
}
