// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which points lie in other flesh, and where its skin is: searched in the shape at rest. [contact.md; mcadams2011]
//!
//! A point that is in a posed cell has a place in that cell at rest. How deep it is, and which point of the skin is nearest to it,
//! is known there, whatever the pose; flesh that is where it was modelled is nowhere but at its own place, so that a sculpt
//! never touches itself. Cells are warped first by how far the skin on them is shown from where the lattice has it.

use super::broad::Candidate;
use super::posed::Posed;
use super::skin::SkinPoint;
use crate::Vec3;
use crate::aabb;
use crate::surface::closest_of_triangle;
use std::collections::BTreeMap;

/// Farthest outside of the skin that a point is taken up, in cells.
const MARGIN: f64 = 0.1;
/// Determinants of cells below this are those of flat ones, in which no place means anything.
pub(crate) const FLAT: f64 = 0.02;
/// Flesh nearer than this to its own place at rest does not touch itself, in cells.
const APART: f64 = 0.5;
/// How many times as far from its own place a point must be as from the skin that it came in through.
const OWN: f64 = 2.0;
/// Skin may be shown this many times as far from a point as it is at rest, and by these cells more.
const STRETCH: f64 = 2.0;
const MISLED: f64 = 0.25;
/// Flesh of the same body is not taken up from deeper than this, in cells.
const DEEPEST: f64 = 0.5;
/// Normals that agree more than this are of skin that lies upon skin.
pub(crate) const ALIKE: f64 = 0.3;

/// A point of one skin at a point of another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Touch {
    pub body: u32,
    pub proxy: u32,
    pub other: u32,
    pub target: SkinPoint,
    /// Outward at the target.
    pub normal: Vec3,
    /// How deep the point is at rest, of colliders as it is; negative inside.
    pub depth: f64,
    /// 1, or of a sheet −1 behind it.
    pub side: f64,
}

/// By how much each vertex of a lattice is moved so that the lattice carries the skin to where it is shown, where cells are asked
/// for.
pub(crate) fn warps(body: &Posed, cells: &[u32]) -> Vec<Vec3> {
    let lattice = body.skin.body().lattice().cells();
    let nodes = body.base.len();
    let (mut sums, mut shares) = (vec![Vec3::zeros(); nodes], vec![0.0; nodes]);
    if body.joints >= 1.0 && !body.bounded {
        return sums;
    }
    let mut wanted = vec![false; nodes];
    for &c in cells {
        let corners = lattice[c as usize].corners();
        corners.iter().for_each(|&a| wanted[a as usize] = true);
    }
    let embedding = body.skin.body().embedding();
    for (c, cell) in (0u32..).zip(lattice) {
        if cell.corners().iter().all(|&a| !wanted[a as usize]) {
            continue;
        }
        for proxy in body.skin.proxies_in(c) {
            let proxy = &body.skin.proxies()[proxy as usize];
            let offset = body.offset(&proxy.point);
            for (a, share) in embedding.row(proxy.vertex as usize) {
                let share = share.max(0.0);
                sums[a] += offset * share;
                shares[a] += share;
            }
        }
    }
    for (sum, share) in sums.iter_mut().zip(shares) {
        if share > 0.0 {
            *sum /= share;
        }
    }
    sums
}

/// [`warps`] of all bodies where candidates may come into.
pub(crate) fn all_warps(bodies: &[Posed], candidates: &[Candidate]) -> Vec<Vec<Vec3>> {
    let mut cells: Vec<Vec<u32>> = vec![Vec::new(); bodies.len()];
    for c in candidates {
        cells[c.other as usize].push(c.cell);
    }
    for cells in &mut cells {
        cells.sort_unstable();
        cells.dedup();
    }
    bodies
        .iter()
        .zip(&cells)
        .map(|(body, cells)| match cells.is_empty() {
            true => Vec::new(),
            false => warps(body, cells),
        })
        .collect()
}

/// All touches among candidates, one for each point and body that it comes into; `warped` as [`all_warps`] gives them.
pub(crate) fn touches(
    bodies: &[Posed],
    candidates: &[Candidate],
    warped: &[Vec<Vec3>],
) -> Vec<Touch> {
    let mut found: BTreeMap<(u32, u32, u32), Touch> = BTreeMap::new();
    let mut last: Option<(u32, u32, Vec3)> = None;
    let mut boxes: Vec<Vec<Option<(Vec3, Vec3)>>> = bodies
        .iter()
        .map(|b| vec![None; b.skin.body().lattice().cells().len()])
        .collect();
    for candidate in candidates {
        let body = &bodies[candidate.body as usize];
        let place = match last {
            Some((b, proxy, place)) if (b, proxy) == (candidate.body, candidate.proxy) => place,
            _ => body.point(&body.skin.proxies()[candidate.proxy as usize].point),
        };
        last = Some((candidate.body, candidate.proxy, place));
        let other = &bodies[candidate.other as usize];
        let warp = &warped[candidate.other as usize];
        let bounds =
            boxes[candidate.other as usize][candidate.cell as usize].get_or_insert_with(|| {
                let cell = &other.skin.body().lattice().cells()[candidate.cell as usize];
                let corners = cell.corners().iter().map(|&a| a as usize);
                aabb::bounds(corners.map(|a| other.node(a) + warp[a]))
            });
        if (0..3).any(|k| place[k] < bounds.0[k] || place[k] > bounds.1[k]) {
            continue;
        }
        if let Some(touch) = touch(body, other, warp, candidate, place) {
            let key = (touch.body, touch.proxy, touch.other);
            let deeper = |known: &Touch| touch.depth < known.depth;
            if found.get(&key).is_none_or(deeper) {
                found.insert(key, touch);
            }
        }
    }
    let mut found: Vec<Touch> = found.into_values().collect();
    found.retain_mut(|touch| {
        let (body, other) = (&bodies[touch.body as usize], &bodies[touch.other as usize]);
        touch.normal = other.normal(&touch.target);
        let own = body.normal(&body.skin.proxies()[touch.proxy as usize].point);
        touch.normal != Vec3::zeros() && own.dot(&touch.normal) < ALIKE
    });
    found
}

fn touch(
    body: &Posed,
    other: &Posed,
    warp: &[Vec3],
    candidate: &Candidate,
    place: Vec3,
) -> Option<Touch> {
    let lattice = other.skin.body().lattice();
    let cell = &lattice.cells()[candidate.cell as usize];
    let corners = cell.corners();
    let mut posed = [Vec3::zeros(); 8];
    for (p, &a) in posed.iter_mut().zip(corners) {
        *p = other.node(a as usize) + warp[a as usize];
    }
    let posed = &posed[..corners.len()];
    let rest = lattice.corners(candidate.cell);
    let rest = &rest[..corners.len()];
    if cell.volume(posed) < FLAT * cell.volume(rest) {
        return None;
    }
    let local = cell.local(posed, place)?;
    if cell.inside(local) < -1e-9 {
        return None;
    }
    let found = cell.position(rest, local);
    let depth = other.skin.depth(found);
    let proxy = &body.skin.proxies()[candidate.proxy as usize];
    // Flesh beside its own place touches nothing, and what came in through skin is nearer to that than to its own place.
    let own = (found - proxy.rest).norm();
    if candidate.body == candidate.other && own <= (APART * other.skin.cell()).max(-OWN * depth) {
        return None;
    }
    if depth > MARGIN * other.skin.cell() {
        return None;
    }
    // What is so deep from the start did not come in through the skin that is nearest.
    if candidate.body == candidate.other && depth < -DEEPEST * other.skin.cell() {
        return None;
    }
    let target = other.skin.nearest(found)?;
    // Where skin is shown far from where flesh was found to be the search was misled.
    let at_rest = other.skin.rest_point(&target);
    let apart = (place - other.point(&target)).norm();
    if apart > farthest((found - at_rest).norm(), other.skin.cell()) {
        return None;
    }
    // The nearest skin is that of this copy of the flesh.
    let embedding = other.skin.body().embedding();
    let near = other.skin.corners(target.triangle).into_iter().any(|v| {
        let cell = embedding.cells()[v as usize] as usize;
        let others = lattice.cells()[cell].corners();
        others.iter().any(|a| corners.contains(a))
    });
    near.then_some(Touch {
        body: candidate.body,
        proxy: candidate.proxy,
        other: candidate.other,
        target,
        normal: Vec3::zeros(),
        depth,
        side: 1.0,
    })
}

/// How far from a point skin may be shown that is so far from it at rest.
pub(crate) fn farthest(at_rest: f64, cell: f64) -> f64 {
    STRETCH * at_rest + MISLED * cell
}

/// The point of the skin around `from` that is nearest to a place, in its pose.
pub(crate) fn slid(other: &Posed, from: &SkinPoint, place: Vec3) -> Option<SkinPoint> {
    let mut best: Option<(f64, SkinPoint)> = None;
    let corners = other.skin.corners(from.triangle);
    let mut around: Vec<u32> = corners
        .iter()
        .flat_map(|&v| other.skin.around(v))
        .copied()
        .collect();
    around.sort_unstable();
    around.dedup();
    for triangle in around {
        let corners = other.skin.corners(triangle).map(|v| other.vertex(v));
        let Some((far, weights)) = closest_of_triangle(corners, &place) else {
            continue;
        };
        if best.is_none_or(|(known, _)| far < known) {
            best = Some((far, SkinPoint { triangle, weights }));
        }
    }
    best.map(|(_, point)| point)
}
