// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bones for bodies that have none: chains through the centres of rings.
//!
//! Rings of equal distance from the far end part the skin into pieces. Rows of pieces with one ring on either side are limbs; they
//! begin and end where pieces branch, or at tips. Short ones are bumps and are left out; of a limb's centres those stay where it bends.

use super::error::MRepError;
use super::geodesic::Mesh;
use super::rings::{Ring, Rings};
use super::tube::{at, from_ends, lengths, main_piece};
use crate::Vec3;
use crate::skeleton::Skeleton;
use crate::surface::Surface;

/// Rings from end to end.
const LEVELS: usize = 64;
/// A limb is at least so many times as long as it is wide where it begins; shorter ones are bumps.
const LEAST_LENGTH: f64 = 0.45;
/// Joints are left out as long as the limb strays no farther from its bones than this part of its mean radius.
const STRAY: f64 = 0.35;
/// Bones are no longer than this part of their limb, and no shorter than so many mean radii.
const LONGEST: f64 = 0.5;
const SHORTEST: f64 = 1.0;
/// A body goes on through what is thicker than this part of it.
const GOES_ON: f64 = 0.6;
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
        let nearest = among.reduce(|best, b| if far(b) < far(best) { b } else { best });
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

/// A row of rings between two pieces.
struct Limb {
    rings: Vec<Ring>,
    /// The pieces at its ends.
    ends: [usize; 2],
    /// Pieces between that branch, of the body.
    inner: Vec<usize>,
}

impl Limb {
    fn length(&self) -> f64 {
        let pairs = self.rings.windows(2);
        pairs.map(|w| (w[1].centre - w[0].centre).norm()).sum()
    }

    fn mean_radius(&self) -> f64 {
        self.rings.iter().map(Ring::radius).sum::<f64>() / self.rings.len() as f64
    }

    /// About its volume.
    fn bulk(&self) -> f64 {
        self.length() * self.rings.iter().map(|r| r.radius().powi(2)).sum::<f64>()
            / self.rings.len() as f64
    }

    fn reversed(mut self) -> Self {
        self.rings.reverse();
        self.ends.reverse();
        self
    }

    /// With another that begins where it ends.
    fn followed_by(mut self, other: Self) -> Self {
        self.rings.extend(other.rings);
        self.inner.extend(other.inner);
        self.ends[1] = other.ends[1];
        self
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

/// All limbs that are no bumps.
fn limbs(mesh: &Mesh) -> Vec<Limb> {
    let [(_, far), (last, _)] = from_ends(mesh);
    let reach = far[last as usize];
    let levels: Vec<f64> = (0..LEVELS)
        .map(|i| reach * (i as f64 + 0.5) / LEVELS as f64)
        .collect();
    let Rings { rings, pieces } = Rings::new(mesh, &far, &levels);
    let mut limbs: Vec<Limb> = rows(&rings, pieces);
    // Bumps away one by one, the least first: what they hung on then goes on through.
    loop {
        let degree = degrees(&limbs, pieces);
        let is_leaf = |limb: &Limb| limb.ends.iter().any(|e| degree[*e] == 1);
        let excess = |limb: &Limb| {
            let [first, last] = limb.ends.map(|e| degree[e]);
            // As wide as where it hangs on.
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
            .filter(|(excess, _)| *excess < LEAST_LENGTH)
            .reduce(|a, b| if b.0 < a.0 { b } else { a });
        let Some((_, bump)) = least else {
            break;
        };
        limbs.remove(bump);
        limbs = joined(limbs, pieces);
    }
    limbs
}

/// How many limbs end at each piece.
fn degrees(limbs: &[Limb], pieces: usize) -> Vec<usize> {
    let mut degree = vec![0; pieces];
    limbs
        .iter()
        .flat_map(|l| l.ends)
        .for_each(|e| degree[e] += 1);
    degree
}

/// Rows of rings through pieces with one ring on either side.
fn rows(rings: &[Ring], pieces: usize) -> Vec<Limb> {
    let each = rings.iter().map(|ring| Limb {
        rings: vec![*ring],
        ends: ring.pieces,
        inner: Vec::new(),
    });
    joined(each.collect(), pieces)
}

/// Joins limbs that meet alone.
fn joined(limbs: Vec<Limb>, pieces: usize) -> Vec<Limb> {
    let mut limbs: Vec<Option<Limb>> = limbs.into_iter().map(Some).collect();
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
            one.reversed()
        };
        let other = if other.ends[0] == piece {
            other
        } else {
            other.reversed()
        };
        // The second is no more: what ended with it ends with the first.
        at[other.ends[1]].iter_mut().for_each(|i| {
            if *i == b {
                *i = a;
            }
        });
        limbs[a] = Some(one.followed_by(other));
    }
    limbs.into_iter().flatten().collect()
}

/// Limbs as they hang on each other, from the body on, each pointing away from it and with the one that it hangs on; those that hang on
/// as many from the longest to the shortest. What closes a ring hangs on at one end.
fn hang(mut limbs: Vec<Limb>, root: usize) -> Vec<(Limb, Option<usize>)> {
    let mut body = limbs.swap_remove(root);
    // On through what is as thick, to both sides.
    for _ in 0..2 {
        while let Some(next) = going_on(&body, &limbs) {
            let next = limbs.swap_remove(next);
            let next = if next.ends[0] == body.ends[1] {
                next
            } else {
                next.reversed()
            };
            body.inner.push(body.ends[1]);
            body = body.followed_by(next);
        }
        body = body.reversed();
    }
    // From its thicker end.
    let [first, last] =
        [body.rings.first(), body.rings.last()].map(|r| r.map_or(0.0, |r| r.length));
    if first < last {
        body = body.reversed();
    }
    let mut reached: Vec<(usize, usize)> = body
        .inner
        .iter()
        .chain(&body.ends)
        .map(|p| (*p, 0))
        .collect();
    let mut ordered = vec![(body, None)];
    let mut rest: Vec<Option<Limb>> = limbs.into_iter().map(Some).collect();
    while !reached.is_empty() {
        let on = |piece: usize| {
            reached
                .iter()
                .find(|(p, _)| *p == piece)
                .map(|(_, limb)| *limb)
        };
        let mut next: Vec<(Limb, Option<usize>)> = Vec::new();
        for slot in &mut rest {
            let Some([first, last]) = slot.as_ref().map(|limb| limb.ends.map(on)) else {
                continue;
            };
            if first.or(last).is_none() {
                continue;
            }
            next.extend(slot.take().map(|limb| match first {
                Some(_) => (limb, first),
                None => (limb.reversed(), last),
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

/// The limb that goes on where a body ends, nearly as thick as it.
fn going_on(body: &Limb, limbs: &[Limb]) -> Option<usize> {
    let meets = |limb: &&(usize, &Limb)| limb.1.ends.contains(&body.ends[1]);
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
        .filter(|limb| limb.1.mean_radius() > GOES_ON * body.mean_radius())
        .map(|limb| limb.0)
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
