// SPDX-License-Identifier: MIT OR Apache-2.0
//! The limbs of a body, and their tree.
//!
//! Rings of equal distance from the far end divide the skin into pieces. A limb is a row of pieces with one ring on either side. It
//! begins and ends at branching pieces or at tips. Short limbs are bumps and are left out.

use crate::geometry::geodesic::GeodesicMesh;
use crate::mrep::initial::rings::{Ring, Rings};
use crate::mrep::initial::tube::end_distances;

/// Number of rings from end to end. A limb a sixteenth as long as the body is met by four.
const RING_LEVELS: usize = 64;
/// Least ratio of a limb's length to its width where it begins; shorter limbs are bumps. A half ball has 0.5, and a little less between its rings, as
/// the last lies below its tip.
const MIN_LENGTH_RATIO: f64 = 0.45;
/// Least radius of a limb through which the body continues, over the body's. Each of two limbs that share the body's cross section has 0.71 of its
/// radius, each of three 0.58: the body goes on through a half of itself.
const MIN_CONTINUATION_RADIUS: f64 = 0.6;

/// A row of rings between two pieces.
pub(in crate::mrep) struct LimbRings {
    pub rings: Vec<Ring>,
    /// Pieces at both ends.
    ends: [usize; 2],
    /// Branching pieces between the ends; the body only.
    inner: Vec<usize>,
}

impl LimbRings {
    pub fn length(&self) -> f64 {
        let pairs = self.rings.windows(2);
        pairs.map(|w| (w[1].centre - w[0].centre).norm()).sum()
    }

    pub fn mean_radius(&self) -> f64 {
        self.rings.iter().map(Ring::radius).sum::<f64>() / self.rings.len() as f64
    }

    /// Returns the approximate volume, over π.
    pub fn bulk(&self) -> f64 {
        self.length() * self.rings.iter().map(|r| r.radius().powi(2)).sum::<f64>()
            / self.rings.len() as f64
    }

    fn into_reversed(mut self) -> Self {
        self.rings.reverse();
        self.ends.reverse();
        self
    }

    /// Appends another limb that begins where this one ends.
    fn append_limb(mut self, other: Self) -> Self {
        self.rings.extend(other.rings);
        self.inner.extend(other.inner);
        self.ends[1] = other.ends[1];
        self
    }
}

/// Returns all limbs that are not bumps.
pub(in crate::mrep) fn find_limbs(mesh: &GeodesicMesh) -> Vec<LimbRings> {
    let [(_, far), (last, _)] = end_distances(mesh);
    let reach = far[last as usize];
    let levels: Vec<f64> = (0..RING_LEVELS)
        .map(|i| reach * (i as f64 + 0.5) / RING_LEVELS as f64)
        .collect();
    let Rings { rings, pieces } = Rings::new(mesh, &far, &levels);
    let mut limbs: Vec<LimbRings> = ring_rows(&rings, pieces);
    // Bumps are removed one by one, the least first; the limb on which one stood then continues through.
    loop {
        let degree = piece_degrees(&limbs, pieces);
        let is_leaf = |limb: &LimbRings| limb.ends.iter().any(|e| degree[*e] == 1);
        let excess = |limb: &LimbRings| {
            let [first, last] = limb.ends.map(|e| degree[e]);
            // Width where the limb branches off.
            let base = if first == 1 {
                limb.rings.last()
            } else {
                limb.rings.first()
            };
            let width = base.map_or(0.0, |r| 2.0 * r.radius());
            if first == 1 && last == 1 {
                f64::INFINITY
            } else {
                limb.length() / width.max(f64::MIN_POSITIVE)
            }
        };
        let least = (0..limbs.len())
            .filter(|i| is_leaf(&limbs[*i]))
            .map(|i| (excess(&limbs[i]), i))
            .filter(|(excess, _)| *excess < MIN_LENGTH_RATIO)
            .reduce(|a, b| if b.0 < a.0 { b } else { a });
        let Some((_, bump)) = least else {
            break;
        };
        limbs.remove(bump);
        limbs = join_limbs(limbs, pieces);
    }
    limbs
}

/// Returns the number of limbs that end at each piece.
fn piece_degrees(limbs: &[LimbRings], pieces: usize) -> Vec<usize> {
    let mut degree = vec![0; pieces];
    limbs
        .iter()
        .flat_map(|l| l.ends)
        .for_each(|e| degree[e] += 1);
    degree
}

/// Returns rows of rings through pieces with one ring on either side.
fn ring_rows(rings: &[Ring], pieces: usize) -> Vec<LimbRings> {
    let each = rings.iter().map(|ring| LimbRings {
        rings: vec![*ring],
        ends: ring.pieces,
        inner: Vec::new(),
    });
    join_limbs(each.collect(), pieces)
}

/// Joins two limbs wherever exactly two meet.
fn join_limbs(limbs: Vec<LimbRings>, pieces: usize) -> Vec<LimbRings> {
    let mut limbs: Vec<Option<LimbRings>> = limbs.into_iter().map(Some).collect();
    let mut at: Vec<Vec<usize>> = vec![Vec::new(); pieces];
    for (i, limb) in limbs.iter().enumerate() {
        for end in limb.iter().flat_map(|l| l.ends) {
            at[end].push(i);
        }
    }
    for piece in 0..pieces {
        let [a, b] = at[piece][..] else {
            continue;
        };
        if a == b {
            continue;
        }
        let (Some(one), Some(other)) = (limbs[a].take(), limbs[b].take()) else {
            continue;
        };
        let one = if one.ends[1] == piece {
            one
        } else {
            one.into_reversed()
        };
        let other = if other.ends[0] == piece {
            other
        } else {
            other.into_reversed()
        };
        // The second limb no longer exists: its far end now belongs to the first.
        at[other.ends[1]].iter_mut().for_each(|i| {
            if *i == b {
                *i = a;
            }
        });
        limbs[a] = Some(one.append_limb(other));
    }
    limbs.into_iter().flatten().collect()
}

/// Orders the limbs as a tree, from the body on. Each limb points away from the body and comes with the index of its parent. Limbs at
/// the same depth are sorted from the longest to the shortest. A limb that closes a loop has one parent.
pub(in crate::mrep) fn order_as_tree(
    mut limbs: Vec<LimbRings>,
    root: usize,
) -> Vec<(LimbRings, Option<usize>)> {
    let mut body = limbs.swap_remove(root);
    // Extends the body through similarly thick limbs at both ends.
    for _ in 0..2 {
        while let Some(next) = continuing_limb(&body, &limbs) {
            let next = limbs.swap_remove(next);
            let next = if next.ends[0] == body.ends[1] {
                next
            } else {
                next.into_reversed()
            };
            body.inner.push(body.ends[1]);
            body = body.append_limb(next);
        }
        body = body.into_reversed();
    }
    // The body starts at its thicker end.
    let [first, last] =
        [body.rings.first(), body.rings.last()].map(|r| r.map_or(0.0, |r| r.length));
    if first < last {
        body = body.into_reversed();
    }
    let mut reached: Vec<(usize, usize)> = body
        .inner
        .iter()
        .chain(&body.ends)
        .map(|p| (*p, 0))
        .collect();
    let mut ordered = vec![(body, None)];
    let mut rest: Vec<Option<LimbRings>> = limbs.into_iter().map(Some).collect();
    while !reached.is_empty() {
        let on = |piece: usize| {
            reached
                .iter()
                .find(|(p, _)| *p == piece)
                .map(|(_, limb)| *limb)
        };
        let mut next: Vec<(LimbRings, Option<usize>)> = Vec::new();
        for slot in &mut rest {
            let Some([first, last]) = slot.as_ref().map(|limb| limb.ends.map(on)) else {
                continue;
            };
            if first.or(last).is_none() {
                continue;
            }
            next.extend(slot.take().map(|limb| match first {
                Some(_) => (limb, first),
                None => (limb.into_reversed(), last),
            }));
        }
        next.sort_by(|a, b| b.0.length().total_cmp(&a.0.length()));
        let ends = next.iter().enumerate();
        reached = ends
            .map(|(i, (limb, _))| (limb.ends[1], ordered.len() + i))
            .collect();
        ordered.append(&mut next);
    }
    ordered
}

/// Returns the thickest limb at the body's end, if it is nearly as thick as the body.
fn continuing_limb(body: &LimbRings, limbs: &[LimbRings]) -> Option<usize> {
    let meets = |limb: &&(usize, &LimbRings)| limb.1.ends.contains(&body.ends[1]);
    let all = limbs.iter().enumerate().collect::<Vec<_>>();
    let thickest = all.iter().filter(meets);
    let thickest = thickest.reduce(|a, b| {
        if b.1.mean_radius() > a.1.mean_radius() {
            b
        } else {
            a
        }
    });
    thickest
        .filter(|limb| limb.1.mean_radius() > MIN_CONTINUATION_RADIUS * body.mean_radius())
        .map(|limb| limb.0)
}
