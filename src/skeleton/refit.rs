// SPDX-License-Identifier: MIT OR Apache-2.0
//! New tails for imported rigs.
//!
//! glTF stores joints only, and FBX importers guess tails: those of imported bones are arbitrary, often outside the body.
//! The lattice follows whole bones, so a tail must be meaningful: the joint of the child that carries most of the
//! flesh, or, at the end of a chain, the middle of the flesh that the bone carries.

use super::{Skeleton, SkinWeights};
use crate::Vec3;
use crate::surface::Surface;

/// Distance, as a share of the body's size, below which points coincide.
const COINCIDENCE_DISTANCE: f64 = 1e-3;
/// Smallest share of the samples along a leaf bone that must lie in or near the body for its tail to stay.
const MIN_INSIDE_SHARE: f64 = 0.7;
/// Distance from the surface, as a share of the body's size, that counts as near.
const SURFACE_TOLERANCE: f64 = 0.01;
/// Length of a bone without a parent and without children that carry skin, as a share of the distance to the far end of its skin, up to which its
/// tail is ignored. Importers give joints such stubs in arbitrary directions. A part that hangs on one alone, such as a
/// foot with its own control, would lean.
const MAX_STUB_LENGTH: f64 = 0.1;
/// Length of a new tail, as a share of the distance to the far end of the skin.
const TAIL_LENGTH: f64 = 0.85;
/// Number of steps in which a tail that leaves the body is shortened.
const SHORTENING_STEPS: u32 = 20;
/// Number of samples along a bone.
const BONE_SAMPLES: u32 = 9;

impl Skeleton {
    /// Returns the same bones with meaningful tails.
    ///
    /// A tail on a child's head stays. Otherwise it moves to the head of the child whose subtree carries most skin
    /// weight, among children whose heads differ from the bone's own. If that child is one of a pair, as a shoulder is,
    /// a child that is not, as the neck, comes first.
    ///
    /// A bone without such a child keeps a tail that is mostly inside the body, unless the bone has no parent and is a
    /// stub: at most a tenth as long as the skin that it holds. Else its tail points to the centroid of the skin that
    /// it holds with more than half of the weight. Its length is 0.85 of the distance to the far end of that skin, as
    /// far as it stays inside. If no length does, a stub keeps its tail, and any other bone gets no length. Heads, names
    /// and parents are unchanged.
    ///
    /// `skin` holds the weights of the surface's input vertices; rows beyond the surface's vertices are ignored.
    pub fn refit_tails(&self, surface: &Surface, skin: &SkinWeights) -> Skeleton {
        let size = surface.size();
        let near = |a: Vec3, b: Vec3| (a - b).norm() <= COINCIDENCE_DISTANCE * size;
        let children = self.children();
        let subtree = self.subtree_weights(skin);
        let mut tails = self.tails.clone();
        for b in 0..self.len() {
            let head = self.heads[b];
            let joints = || {
                children[b]
                    .iter()
                    .map(|&c| (c as usize, self.heads[c as usize]))
            };
            if joints().any(|(_, joint)| near(joint, self.tails[b]) && !near(joint, head)) {
                continue;
            }
            let carrying = |(c, joint): &(usize, Vec3)| subtree[*c] > 0.0 && !near(*joint, head);
            let carrying: Vec<(usize, Vec3)> = joints().filter(carrying).collect();
            tails[b] = match main_child(&carrying, &subtree, head, size) {
                Some(joint) => joint,
                None => {
                    let held = held_vertices(surface, skin, b as u32);
                    let kept = Some(self.tails[b])
                        .filter(|tail| inside_share(surface, head, *tail) >= MIN_INSIDE_SHARE);
                    let is_meant = |tail: &Vec3| {
                        self.parents[b].is_some()
                            || (tail - head).norm()
                                > MAX_STUB_LENGTH * max_skin_distance(head, &held)
                    };
                    kept.filter(is_meant)
                        .or_else(|| tail_into_flesh(surface, head, &held))
                        .or(kept)
                        .unwrap_or(head)
                }
            };
        }
        Skeleton {
            tails,
            ..self.clone()
        }
    }

    /// Returns the meaningful end of the last bone of a chain. This is its tail, unless no child carries skin and the
    /// bone is short relative to the distance to the far end of its skin. The end then lies within that skin.
    pub(crate) fn effective_tail(&self, surface: &Surface, skin: &SkinWeights, bone: u32) -> Vec3 {
        /// Share of that distance below which a bone is short. Importers' stubs take at most a tenth, bones that artists
        /// drew to the tip most of it.
        const MIN_TAIL_LENGTH: f64 = 0.4;
        let b = bone as usize;
        let (head, tail) = (self.heads[b], self.tails[b]);
        let subtree = self.subtree_weights(skin);
        if self.children()[b]
            .iter()
            .any(|c| subtree[*c as usize] > 0.0)
        {
            return tail;
        }
        let held = area_weighted_skin(surface, skin, bone);
        if (tail - head).norm() >= MIN_TAIL_LENGTH * max_skin_distance(head, &held) {
            return tail;
        }
        tail_into_flesh(surface, head, &held).unwrap_or(tail)
    }

    /// Returns the skin weight of each bone with its subtree.
    fn subtree_weights(&self, skin: &SkinWeights) -> Vec<f64> {
        let mut weights = vec![0.0; self.len()];
        for (&b, w) in skin.bones.iter().zip(&skin.weights) {
            if let Some(sum) = weights.get_mut(b as usize) {
                *sum += w;
            }
        }
        for &b in self.order.iter().rev() {
            if let Some(p) = self.parents[b as usize] {
                weights[p as usize] += weights[b as usize];
            }
        }
        weights
    }
}

/// Returns the share of a segment's samples that lie in the body or near its surface.
fn inside_share(surface: &Surface, head: Vec3, tail: Vec3) -> f64 {
    let near = SURFACE_TOLERANCE * surface.size();
    let inside = |i: &u32| {
        let p = head.lerp(&tail, f64::from(*i) / f64::from(BONE_SAMPLES - 1));
        surface.contains(p) || surface.closest_point(p).distance <= near
    };
    let count = (0..BONE_SAMPLES).filter(inside).count();
    count as f64 / f64::from(BONE_SAMPLES)
}

/// Returns the weight with which a bone holds a vertex, if it is more than half.
fn dominant_weight(skin: &SkinWeights, bone: u32, v: usize) -> Option<f64> {
    let row = skin.row(v).find(|r| r.0 == bone);
    row.map(|r| r.1).filter(|w| *w > 0.5)
}

/// Returns the vertices that a bone holds with more than half of the weight, with the weights.
fn held_vertices(surface: &Surface, skin: &SkinWeights, bone: u32) -> Vec<(Vec3, f64)> {
    let vertices = surface.vertices().iter().enumerate().take(skin.len());
    vertices
        .filter_map(|(v, p)| Some((*p, dominant_weight(skin, bone, v)?)))
        .collect()
}

/// Returns the skin that a bone holds, as points weighted by area. Weights by vertex count would favour eyes and teeth.
fn area_weighted_skin(surface: &Surface, skin: &SkinWeights, bone: u32) -> Vec<(Vec3, f64)> {
    let x = surface.vertices();
    let mut pieces = Vec::new();
    for corners in surface.triangles() {
        let [a, b, c] = corners.map(|v| x[v as usize]);
        let third = (b - a).cross(&(c - a)).norm() / 6.0;
        let of_corner = |v: &u32| {
            let weight = dominant_weight(skin, bone, *v as usize)?;
            Some((x[*v as usize], weight * third))
        };
        pieces.extend(corners.iter().filter_map(of_corner));
    }
    pieces
}

/// Returns the largest distance of a bone's skin from its head.
fn max_skin_distance(head: Vec3, skin: &[(Vec3, f64)]) -> f64 {
    let far = skin.iter().map(|(p, _)| (p - head).norm());
    far.fold(0.0, f64::max)
}

/// Returns a tail in the direction of the skin's centroid; `None` if no length of it stays inside.
fn tail_into_flesh(surface: &Surface, head: Vec3, skin: &[(Vec3, f64)]) -> Option<Vec3> {
    let total: f64 = skin.iter().map(|(_, w)| w).sum();
    if total <= 0.0 {
        return None;
    }
    let shift: Vec3 = skin.iter().map(|(p, w)| (p - head) * *w).sum::<Vec3>() / total;
    let size = surface.size();
    let direction = shift.try_normalize(COINCIDENCE_DISTANCE * size)?;
    let along = skin.iter().map(|(p, _)| (p - head).dot(&direction));
    let reach = TAIL_LENGTH * along.fold(0.0, f64::max);
    (1..=SHORTENING_STEPS)
        .rev()
        .map(|i| reach * f64::from(i) / f64::from(SHORTENING_STEPS))
        .find(|&l| {
            let tail = head + direction * l;
            let inside =
                || surface.contains(tail) && inside_share(surface, head, tail) >= MIN_INSIDE_SHARE;
            l > COINCIDENCE_DISTANCE * size && inside()
        })
        .map(|l| head + direction * l)
}

/// Relative difference of the weights of two children, and difference of their distances in sizes, up to which they are
/// a mirrored pair; those of symmetric characters.
const PAIR_TOLERANCE: f64 = 1e-3;
/// Smallest weight of a child that comes before a pair, as a share of the pair's: helpers carry less, necks more.
const MIN_SINGLE_SHARE: f64 = 0.01;

/// Returns the head of the child whose subtree carries most weight; instead of one of a pair, that of the heaviest child
/// that is not.
fn main_child(children: &[(usize, Vec3)], subtree: &[f64], head: Vec3, size: f64) -> Option<Vec3> {
    type Child = (usize, Vec3);
    let heavier = |best: Child, next: Child| match subtree[next.0] > subtree[best.0] {
        true => next,
        false => best,
    };
    let is_pair = |a: &Child, b: &Child| {
        let (v, w) = (subtree[a.0], subtree[b.0]);
        let reach = |c: &Child| (c.1 - head).norm();
        (v - w).abs() <= PAIR_TOLERANCE * v.max(w)
            && (reach(a) - reach(b)).abs() <= PAIR_TOLERANCE * size
    };
    let paired = |c: &Child| children.iter().any(|d| d.0 != c.0 && is_pair(c, d));
    let heaviest = children.iter().copied().reduce(heavier)?;
    if !paired(&heaviest) {
        return Some(heaviest.1);
    }
    let enough = MIN_SINGLE_SHARE * subtree[heaviest.0];
    let single = |c: &Child| !paired(c) && subtree[c.0] >= enough;
    let single = children.iter().copied().filter(single).reduce(heavier);
    Some(single.unwrap_or(heaviest).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a box from (0, −1, −1) to (10, 1, 1) in slices 0.5 long; the vertices at x follow the bone `of(x)`.
    fn slab(bones: usize, of: impl Fn(f64) -> u32) -> (Surface, SkinWeights) {
        let ring = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
        let slices = 21;
        let at = |i: u32| (0..4).map(move |k| Vec3::new(0.5 * f64::from(i), ring[k].0, ring[k].1));
        let vertices: Vec<Vec3> = (0..slices).flat_map(at).collect();
        let mut triangles = vec![[0, 3, 2], [0, 2, 1]];
        let end = 4 * (slices - 1);
        triangles.extend([[end, end + 1, end + 2], [end, end + 2, end + 3]]);
        for i in 0..slices - 1 {
            for k in 0..4 {
                let (a, b) = (4 * i + k, 4 * i + (k + 1) % 4);
                triangles.extend([[a, b, b + 4], [a, b + 4, a + 4]]);
            }
        }
        let rows: Vec<_> = vertices.iter().map(|p| [(of(p.x), 1.0)]).collect();
        let skin = SkinWeights::from_rows(bones, rows).unwrap();
        (Surface::new(vertices, triangles).unwrap(), skin)
    }

    fn chain(heads: &[f64], tail: Vec3, parents: &[Option<u32>]) -> Skeleton {
        let names = (0..heads.len()).map(|i| i.to_string()).collect();
        let heads: Vec<Vec3> = heads.iter().map(|&x| Vec3::new(x, 0.0, 0.0)).collect();
        let tails = heads.iter().map(|h| h + tail).collect();
        Skeleton::new(names, parents.to_vec(), heads, tails).unwrap()
    }

    /// A refitted tail lies at the head of the child whose bones carry the most skin.
    #[test]
    fn refit_points_to_main_child() {
        // Bone 0 has a helper (1, no skin), an ear (2) and the trunk (3), whose child 4 carries the rest.
        let (surface, skin) = slab(5, |x| {
            if x < 4.0 {
                0
            } else if x < 4.6 {
                2
            } else {
                4
            }
        });
        let out = Vec3::new(0.0, 0.0, 5.0);
        let parents = [None, Some(0), Some(0), Some(0), Some(3)];
        let s = chain(&[1.0, 2.0, 3.0, 4.0, 6.0], out, &parents);
        let fitted = s.refit_tails(&surface, &skin);
        assert_eq!(fitted.tails()[0], s.heads()[3]);
        assert_eq!(fitted.tails()[3], s.heads()[4]);
        assert_eq!(
            fitted.tails()[1],
            s.heads()[1],
            "no skin, outside: no length"
        );
        assert_eq!(fitted.heads(), s.heads());
        // The end of the chain points to the far end, 0.85 of the way, inside.
        let tip = fitted.tails()[4];
        assert!(
            (tip - Vec3::new(6.0 + 0.85 * 4.0, 0.0, 0.0)).norm() < 1e-9,
            "{tip}"
        );
        assert_eq!(fitted.refit_tails(&surface, &skin), fitted);
    }

    /// Tails that lie on a child's head or within the skin stay.
    #[test]
    fn refit_keeps_meaningful_tails() {
        let (surface, skin) = slab(3, |x| if x < 5.0 { 1 } else { 2 });
        // Bone 0's tail is on bone 1's head, though bone 2 carries more; leaves lie inside.
        let s = chain(&[1.0, 2.0, 5.0], Vec3::x(), &[None, Some(0), Some(0)]);
        assert_eq!(s.refit_tails(&surface, &skin), s);
    }

    /// A chest ends in the neck, though either shoulder carries more; without a neck in one of the shoulders.
    #[test]
    fn refit_passes_over_pairs() {
        let bone = |x: f64| match (x - 5.0).abs() {
            off if off > 2.0 => 1 + u32::from(x > 5.0),
            off if off < 0.7 => 3,
            _ => 0,
        };
        let (surface, skin) = slab(4, bone);
        let out = Vec3::new(0.0, 0.0, 5.0);
        let parents = [None, Some(0), Some(0), Some(0)];
        let s = chain(&[5.0, 3.0, 7.0, 5.5], out, &parents);
        assert_eq!(s.refit_tails(&surface, &skin).tails()[0], s.heads()[3]);
        // Off the middle by more than a thousandth of the size the heavier side decides.
        let s = chain(&[5.0, 3.0, 7.1, 5.5], out, &parents);
        let tail = s.refit_tails(&surface, &skin).tails()[0];
        assert!(tail == s.heads()[1] || tail == s.heads()[2]);
    }

    /// A short bone without parent and children is extended into its skin, and one in a chain stays.
    #[test]
    fn refit_extends_lone_stubs() {
        // Importers make joints so short that they lie in any body, whichever way they point.
        let (surface, skin) = slab(2, |x| u32::from(x > 6.0));
        for stub in [Vec3::x(), Vec3::y(), Vec3::new(-0.6, 0.0, 0.8)] {
            let alone = chain(&[1.0, 6.0], 0.01 * stub, &[None, None]);
            let fitted = alone.refit_tails(&surface, &skin);
            let tip = Vec3::new(6.0 + 0.85 * 4.0, 0.0, 0.0);
            assert!((fitted.tails()[1] - tip).norm() < 1e-9, "{fitted:?}");
            let chained = chain(&[1.0, 6.0], 0.01 * stub, &[None, Some(0)]);
            assert_eq!(
                chained.refit_tails(&surface, &skin).tails()[1],
                chained.tails()[1]
            );
        }
    }

    /// Children at the same joint give a bone no direction.
    #[test]
    fn refit_ignores_coincident_children() {
        let (surface, skin) = slab(2, |_| 1);
        let s = chain(&[1.0, 1.0], Vec3::new(0.0, 9.0, 0.0), &[None, Some(0)]);
        let fitted = s.refit_tails(&surface, &skin);
        assert_eq!(fitted.tails()[0], s.heads()[0]);
        assert!((fitted.tails()[1] - s.heads()[1]).norm() > 1.0);
    }

    /// If the character is turned and scaled, the refitted tails are turned and scaled.
    #[test]
    fn refit_is_equivariant() {
        let (surface, skin) = slab(2, |x| u32::from(x > 5.0));
        let s = chain(&[1.0, 6.0], Vec3::new(0.0, 0.0, 4.0), &[None, Some(0)]);
        let turn = nalgebra::UnitQuaternion::from_scaled_axis(Vec3::new(0.4, 1.0, -0.3));
        let map = |p: &Vec3| turn * p * 0.01 + Vec3::new(3.0, -1.0, 2.0);
        let moved = Surface::new(
            surface.vertices().iter().map(map).collect(),
            surface.triangles().to_vec(),
        )
        .unwrap();
        let there = Skeleton::new(
            s.names().to_vec(),
            s.parents().to_vec(),
            s.heads().iter().map(map).collect(),
            s.tails().iter().map(map).collect(),
        )
        .unwrap();
        let a = s.refit_tails(&surface, &skin);
        let b = there.refit_tails(&moved, &skin);
        for (p, q) in a.tails().iter().zip(b.tails()) {
            assert!((map(p) - q).norm() < 1e-9);
        }
    }
}
