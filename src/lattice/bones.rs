// SPDX-License-Identifier: MIT OR Apache-2.0
//! Selection of the bones that the lattice follows, and virtual tips of its leaf bones.
//!
//! A bone is followed in two cases. Either it carries substantial skin weight itself, whatever the domain looks like,
//! unless all of it is several sizes away. Or it carries any weight and at least 70 % of it lies in the flesh. Roots,
//! IK targets, poles and helpers without weight are left out, even inside the flesh: they need not move with it. A root
//! that stays where the character stood would hold its belly there. If a bone reaches far out of the mesh, only the
//! part near it is followed.
//!
//! Every leaf gets a virtual tip from its end towards the centroid of its skin. Without tips, heads, hands and feet
//! wobble on a single point.

use super::vicinity::Vicinity;
use crate::Vec3;
use crate::geometry::tetrahedron::closest_on_segment;
use crate::skeleton::{Skeleton, SkinWeights};
use crate::surface::{Heading, Surface};

/// Straight piece of skeleton that the lattice must follow.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BoneSegment {
    /// Bone that drives the segment.
    pub bone: u32,
    /// Head at rest, m.
    pub head: Vec3,
    /// Tail at rest, m; equal to the head for a bone without length.
    pub tail: Vec3,
    /// Whether the segment is the virtual tip of a leaf instead of a bone.
    pub tip: bool,
    /// Sum of the skin weights that the bone carries, over welded vertices.
    pub weight: f64,
    /// Skin positions and weights that decide between coincident bones; empty for other bones.
    pub skin: Vec<(Vec3, f64)>,
}

/// Largest distance of a point from its bone, as a share of `h`. Joints within twice this distance merge at their
/// middle, and a joint this close to a bone lies on it.
pub(crate) const WELD_DISTANCE: f64 = 0.02;
/// Smallest share of a bone's samples in the flesh.
const MIN_INSIDE_SHARE: f64 = 0.7;
/// Length, as a share of `h`, below which a leaf does not indicate where its flesh is.
const MIN_LEAF_LENGTH: f64 = 0.2;
/// Longest tip, as a share of the extent of its skin along the tip.
const MAX_TIP_SHARE: f64 = 0.85;

/// Skin weight of one bone, gathered over the welded surface.
#[derive(Debug, Clone, Default)]
struct BoneSkin {
    weight: f64,
    /// Welded vertices and the bone's weight at each.
    skin: Vec<(u32, f64)>,
    /// Those of `skin` with a weight above one half.
    dominated: Vec<(u32, f64)>,
}

/// Selects the bones to follow, in skeleton order, then the virtual tips. Adds notes about bones left out.
pub(crate) fn select(
    surface: &Surface,
    skeleton: &Skeleton,
    skin: Option<&SkinWeights>,
    h: f64,
    notes: &mut Vec<String>,
) -> Vec<BoneSegment> {
    let n = skeleton.len();
    let share: Vec<f64> = (0..n)
        .map(|b| inside_share(surface, skeleton, b, h))
        .collect();
    let carried = match skin {
        Some(skin) => bone_skin_by_weights(surface, skin, n),
        None => bone_skin_by_distance(surface, skeleton, &share),
    };
    let vertices = surface.welded().vertices.len() as f64;
    let real = |b: usize| {
        carried[b].weight >= (1e-3 * vertices).max(0.5) || !carried[b].dominated.is_empty()
    };
    let tiny = 1e-4 * surface.size();
    let vicinity = Vicinity::new(surface, Heading::ALIGNED);

    let mut segments = Vec::new();
    let (mut left_out, mut far, mut cut) = (Vec::new(), Vec::new(), Vec::new());
    for b in 0..n {
        let (head, tail) = (skeleton.heads()[b], skeleton.tails()[b]);
        let has_length = (tail - head).norm() > tiny;
        let carries = carried[b].weight > 1e-6;
        let name = || skeleton.names()[b].clone();
        if !(real(b) || carries && share[b] >= MIN_INSIDE_SHARE && has_length) {
            if carries {
                left_out.push(name());
            }
            continue;
        }
        let whole = (head, if has_length { tail } else { head });
        let Some((head, tail)) = vicinity.followed_part(whole.0, whole.1) else {
            far.push(name());
            continue;
        };
        if (head, tail) != whole {
            cut.push(name());
        }
        segments.push(BoneSegment {
            bone: b as u32,
            head,
            tail,
            tip: false,
            weight: carried[b].weight,
            skin: Vec::new(),
        });
    }
    note(
        &left_out,
        "with next to no skin weight lie outside the mesh and were left out",
        notes,
    );
    note(
        &cut,
        "reach far out of the mesh; only the part near it is followed",
        notes,
    );
    note(
        &far,
        "lie far away from the mesh; they turn its flesh but do not hold it",
        notes,
    );
    add_tips(surface, skeleton, &carried, &share, h, &mut segments);
    segments
}

/// Adds a note about bones, if there are any.
fn note(names: &[String], fate: &str, notes: &mut Vec<String>) {
    if !names.is_empty() {
        let shown = shorten_list(names);
        notes.push(format!("{} bone(s) {fate}: {shown}.", names.len()));
    }
}

/// Adds virtual tips to the segments of leaves, and of bones whose skin lies elsewhere.
fn add_tips(
    surface: &Surface,
    skeleton: &Skeleton,
    carried: &[BoneSkin],
    share: &[f64],
    h: f64,
    segments: &mut Vec<BoneSegment>,
) {
    let n = skeleton.len();
    let used: Vec<bool> = (0..n)
        .map(|b| segments.iter().any(|s| s.bone as usize == b))
        .collect();
    let doubled = resolve_rivals(surface, carried, segments, WELD_DISTANCE * h);
    for b in 0..n {
        let has_child = (0..n).any(|c| skeleton.parents()[c] == Some(b as u32) && used[c]);
        if used[b] && (!has_child || doubled[b]) {
            let share = if doubled[b] { 0.0 } else { share[b] };
            segments.extend(build_tip(surface, skeleton, b, &carried[b], share, h));
        }
    }
}

/// Attaches the deciding skin to coincident bones, and returns which bones have their skin elsewhere and need a tip.
///
/// Importers that know only joints place bones on one another; these contend for every vertex on them.
fn resolve_rivals(
    surface: &Surface,
    carried: &[BoneSkin],
    segments: &mut [BoneSegment],
    apart: f64,
) -> Vec<bool> {
    let mut doubled = vec![false; carried.len()];
    let near = |p: Vec3, q: Vec3| (p - q).norm() <= apart;
    let on_another: Vec<bool> = (0..segments.len())
        .map(|i| {
            let a = &segments[i];
            !near(a.head, a.tail)
                && segments.iter().enumerate().any(|(j, b)| {
                    let along = near(a.head, b.head) && near(a.tail, b.tail);
                    i != j && (along || near(a.head, b.tail) && near(a.tail, b.head))
                })
        })
        .collect();
    for (s, _) in segments.iter_mut().zip(on_another).filter(|(_, on)| *on) {
        let position = |&(w, weight): &(u32, f64)| (surface.welded().vertices[w as usize], weight);
        s.skin = carried[s.bone as usize].skin.iter().map(position).collect();
        let total: f64 = s.skin.iter().map(|x| x.1).sum();
        let centre = s.skin.iter().map(|(p, w)| p * *w).sum::<Vec3>() / total;
        let off = (closest_on_segment(s.head, s.tail, centre).0 - centre).norm();
        doubled[s.bone as usize] = off > 0.2 * (s.tail - s.head).norm();
    }
    doubled
}

impl BoneSegment {
    /// Returns the strength of the segment's claim to a vertex at `x` against segments of equal rank.
    pub(crate) fn claim(&self, x: Vec3) -> f64 {
        if self.skin.is_empty() {
            return self.weight;
        }
        let soft = 1e-3 * (self.tail - self.head).norm_squared();
        let pull = |(p, w): &(Vec3, f64)| w / ((p - x).norm_squared() + soft).powi(2);
        self.skin.iter().map(pull).sum()
    }
}

/// Joins the first five names of a list, and counts the rest.
pub(crate) fn shorten_list(names: &[String]) -> String {
    let shown = names.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > 5 {
        format!("{shown} and {} more", names.len() - 5)
    } else {
        shown
    }
}

/// Returns the share of nine points along a bone that lie in the flesh, or hardly off its surface.
fn inside_share(surface: &Surface, skeleton: &Skeleton, bone: usize, h: f64) -> f64 {
    let (a, b) = (skeleton.heads()[bone], skeleton.tails()[bone]);
    let near = 0.1 * h;
    let inside = (0..9)
        .filter(|&i| {
            let p = a + (b - a) * (i as f64 / 8.0);
            surface.contains(p) || surface.closest_point(p).distance <= near
        })
        .count();
    inside as f64 / 9.0
}

/// Collects the skin of each bone from the skin weights.
fn bone_skin_by_weights(surface: &Surface, skin: &SkinWeights, bones: usize) -> Vec<BoneSkin> {
    let mut carried = vec![BoneSkin::default(); bones];
    let mut seen = vec![false; surface.welded().vertices.len()];
    for (i, &w) in surface.welded().of_vertex.iter().enumerate() {
        if w == u32::MAX || std::mem::replace(&mut seen[w as usize], true) {
            continue;
        }
        for (b, weight) in skin.row(i) {
            let c = &mut carried[b as usize];
            c.weight += weight;
            c.skin.push((w, weight));
            if weight > 0.5 {
                c.dominated.push((w, weight));
            }
        }
    }
    carried
}

/// Assigns every welded skin vertex to the nearest bone in the flesh, for lack of weights.
fn bone_skin_by_distance(surface: &Surface, skeleton: &Skeleton, share: &[f64]) -> Vec<BoneSkin> {
    let n = skeleton.len();
    let mut candidates: Vec<usize> = (0..n).filter(|&b| share[b] >= MIN_INSIDE_SHARE).collect();
    if candidates.is_empty() {
        candidates = (0..n).collect();
    }
    let mut carried = vec![BoneSkin::default(); n];
    for (i, &p) in surface.welded().vertices.iter().enumerate() {
        let distance = |b: usize| {
            let (a, t) = (skeleton.heads()[b], skeleton.tails()[b]);
            (closest_on_segment(a, t, p).0 - p).norm_squared()
        };
        let nearest = candidates
            .iter()
            .copied()
            .min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(a.cmp(&b)));
        if let Some(b) = nearest {
            carried[b].weight += 1.0;
            carried[b].skin.push((i as u32, 1.0));
            carried[b].dominated.push((i as u32, 1.0));
        }
    }
    carried
}

/// Builds the virtual tip of a leaf towards the centroid of the skin beyond it, as far as it stays inside.
///
/// It starts at the tail, or at the head if the bone does not lie in the flesh. `None`: too little skin or room.
fn build_tip(
    surface: &Surface,
    skeleton: &Skeleton,
    bone: usize,
    carried: &BoneSkin,
    share: f64,
    h: f64,
) -> Option<BoneSegment> {
    let (head, tail) = (skeleton.heads()[bone], skeleton.tails()[bone]);
    // Imported leaves are often stubs with an arbitrary direction: then all of their skin lies ahead of the head.
    let axis = tail - head;
    let means_something = axis.norm() > MIN_LEAF_LENGTH * h && share >= MIN_INSIDE_SHARE;
    let start = if means_something { tail } else { head };
    let position = |w: u32| surface.welded().vertices[w as usize];
    let beyond: Vec<(Vec3, f64)> = carried
        .dominated
        .iter()
        .map(|&(w, weight)| (position(w), weight))
        .filter(|(p, _)| !means_something || (p - tail).dot(&axis) > 0.0)
        .collect();
    if beyond.len() < 4 {
        return None;
    }
    let total: f64 = beyond.iter().map(|(_, w)| w).sum();
    let centroid: Vec3 = beyond.iter().map(|(p, w)| p * *w).sum::<Vec3>() / total;
    let direction = (centroid - start).try_normalize(1e-3 * surface.size())?;
    let reach = beyond
        .iter()
        .map(|(p, _)| (p - start).dot(&direction))
        .fold(0.0, f64::max);
    // The longest tip that stays a little under the skin all the way, or in the middle of a sheet's layer.
    let margin = -(0.05 * h).min(0.5 * surface.layer_half_thickness());
    let mut length = 0.0;
    for i in 1..=20 {
        let l = reach * MAX_TIP_SHARE * f64::from(i) / 20.0;
        if surface.signed_distance(start + direction * l) > margin {
            break;
        }
        length = l;
    }
    (length > 0.35 * h).then(|| BoneSegment {
        bone: bone as u32,
        head: start,
        tail: start + direction * length,
        tip: true,
        weight: carried.weight,
        skin: Vec::new(),
    })
}
