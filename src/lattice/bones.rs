// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which bones the lattice follows, and the virtual tips of its leaves.
//!
//! A bone is followed when it carries real skin weight itself (whatever the domain looks like, unless all of it
//! is several sizes away), or when it carries any and at least 70 % of it lies in the flesh. Roots, IK targets, poles and helpers that carry
//! none are left out, inside of the flesh too: nothing says that they go with it (a root that stays where
//! the character stood would hold its belly there). Of bones that reach far out of the mesh the part near
//! it is followed. Without a virtual tip from the end of every leaf towards the centroid of its skin, heads,
//! hands and feet wobble on a single point.

use super::segments::WELD;
use super::tetrahedron::closest_on_segment;
use super::vicinity::Vicinity;
use crate::Vec3;
use crate::skeleton::{Skeleton, SkinWeights};
use crate::surface::{Heading, Surface};

/// A straight piece of skeleton that the lattice has to follow.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Segment {
    /// The bone that drives it.
    pub bone: u32,
    /// Its head at rest.
    pub head: Vec3,
    /// Its tail at rest; equal to the head for a bone without length.
    pub tail: Vec3,
    /// Not a bone of the skeleton but the virtual tip of a leaf.
    pub tip: bool,
    /// Skin weight that the bone carries, in vertices.
    pub weight: f64,
    /// Of bones that lie on one another: the skin that decides between them, with its weights.
    pub skin: Vec<(Vec3, f64)>,
}

/// Share of a bone's samples that must lie in the flesh.
const INSIDE_SHARE: f64 = 0.7;
/// A leaf shorter than this part of `h` says nothing about where its flesh is.
const STUB: f64 = 0.2;
/// A tip reaches so far towards the end of its skin.
const TIP_REACH: f64 = 0.85;

/// Skin of one bone, gathered over the welded surface.
#[derive(Debug, Clone, Default)]
struct Carried {
    weight: f64,
    /// Welded vertices and their weight.
    skin: Vec<(u32, f64)>,
    /// Those that it dominates.
    dominated: Vec<(u32, f64)>,
}

/// The bones to follow, in skeleton order, then the virtual tips; sentences about what was left out.
pub(crate) fn select(
    surface: &Surface,
    skeleton: &Skeleton,
    skin: Option<&SkinWeights>,
    h: f64,
    notes: &mut Vec<String>,
) -> Vec<Segment> {
    let n = skeleton.len();
    let share: Vec<f64> = (0..n)
        .map(|b| inside_share(surface, skeleton, b, h))
        .collect();
    let carried = match skin {
        Some(skin) => carried_by_weights(surface, skin, n),
        None => carried_by_distance(surface, skeleton, &share),
    };
    let vertices = surface.welded().vertices.len() as f64;
    let real = |b: usize| {
        carried[b].weight >= (1e-3 * vertices).max(0.5) || !carried[b].dominated.is_empty()
    };
    let tiny = 1e-4 * surface.size();
    let vicinity = Vicinity::new(surface, Heading::ALONG);

    let mut segments = Vec::new();
    let (mut left_out, mut far, mut cut) = (Vec::new(), Vec::new(), Vec::new());
    for b in 0..n {
        let (head, tail) = (skeleton.heads()[b], skeleton.tails()[b]);
        let has_length = (tail - head).norm() > tiny;
        let carries = carried[b].weight > 1e-6;
        let name = || skeleton.names()[b].clone();
        if !(real(b) || carries && share[b] >= INSIDE_SHARE && has_length) {
            if carries {
                left_out.push(name());
            }
            continue;
        }
        let whole = (head, if has_length { tail } else { head });
        let Some((head, tail)) = vicinity.part(whole.0, whole.1) else {
            far.push(name());
            continue;
        };
        if (head, tail) != whole {
            cut.push(name());
        }
        segments.push(Segment {
            bone: b as u32,
            head,
            tail,
            tip: false,
            weight: carried[b].weight,
            skin: Vec::new(),
        });
    }
    if !left_out.is_empty() {
        notes.push(format!(
            "{} bone(s) with next to no skin weight lie outside of the mesh and were left out: {}.",
            left_out.len(),
            shorten(&left_out)
        ));
    }
    if !cut.is_empty() {
        notes.push(format!(
            "{} bone(s) reach far out of the mesh; only the part near it is followed: {}.",
            cut.len(),
            shorten(&cut)
        ));
    }
    if !far.is_empty() {
        notes.push(format!(
            "{} bone(s) lie far away from the mesh; they turn its flesh but do not hold it: {}.",
            far.len(),
            shorten(&far)
        ));
    }
    let used: Vec<bool> = (0..n)
        .map(|b| segments.iter().any(|s| s.bone as usize == b))
        .collect();
    let doubled = rivals(surface, &carried, &mut segments, WELD * h);
    for b in 0..n {
        let has_child = (0..n).any(|c| skeleton.parents()[c] == Some(b as u32) && used[c]);
        if used[b] && (!has_child || doubled[b]) {
            let share = if doubled[b] { 0.0 } else { share[b] };
            segments.extend(tip(surface, skeleton, b, &carried[b], share, h));
        }
    }
    segments
}

/// Bones that lie on one another (importers that know joints only place them so) contend for every vertex on
/// them: they are given the skin that decides. Says which of them have their skin elsewhere and need a tip.
fn rivals(
    surface: &Surface,
    carried: &[Carried],
    segments: &mut [Segment],
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

impl Segment {
    /// How strongly it claims a vertex at `x` against others of its rank.
    pub(crate) fn claim(&self, x: Vec3) -> f64 {
        if self.skin.is_empty() {
            return self.weight;
        }
        let soft = 1e-3 * (self.tail - self.head).norm_squared();
        let pull = |(p, w): &(Vec3, f64)| w / ((p - x).norm_squared() + soft).powi(2);
        self.skin.iter().map(pull).sum()
    }
}

/// The first few names of a list.
pub(crate) fn shorten(names: &[String]) -> String {
    let shown = names.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > 5 {
        format!("{shown} and {} more", names.len() - 5)
    } else {
        shown
    }
}

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

fn carried_by_weights(surface: &Surface, skin: &SkinWeights, bones: usize) -> Vec<Carried> {
    let mut carried = vec![Carried::default(); bones];
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

/// Without weights every skin vertex goes with the nearest bone that lies in the flesh.
fn carried_by_distance(surface: &Surface, skeleton: &Skeleton, share: &[f64]) -> Vec<Carried> {
    let n = skeleton.len();
    let mut candidates: Vec<usize> = (0..n).filter(|&b| share[b] >= INSIDE_SHARE).collect();
    if candidates.is_empty() {
        candidates = (0..n).collect();
    }
    let mut carried = vec![Carried::default(); n];
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

/// The virtual tip of a leaf: from its tail (its head when the bone is not in the flesh) towards the
/// centroid of the skin beyond, as far as it stays inside.
fn tip(
    surface: &Surface,
    skeleton: &Skeleton,
    bone: usize,
    carried: &Carried,
    share: f64,
    h: f64,
) -> Option<Segment> {
    let (head, tail) = (skeleton.heads()[bone], skeleton.tails()[bone]);
    // Imported leaves are often stubs that point nowhere: then all of their skin lies ahead of the head.
    let axis = tail - head;
    let means_something = axis.norm() > STUB * h && share >= INSIDE_SHARE;
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
    // The longest that stays a little under the skin all the way, or in the middle of a sheet's layer.
    let margin = -(0.05 * h).min(0.5 * surface.layer());
    let mut length = 0.0;
    for i in 1..=20 {
        let l = reach * TIP_REACH * f64::from(i) / 20.0;
        if surface.signed_distance(start + direction * l) > margin {
            break;
        }
        length = l;
    }
    (length > 0.35 * h).then(|| Segment {
        bone: bone as u32,
        head: start,
        tail: start + direction * length,
        tip: true,
        weight: carried.weight,
        skin: Vec::new(),
    })
}
