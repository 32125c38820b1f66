// SPDX-License-Identifier: MIT OR Apache-2.0
//! Support of dangling parts: parts of the complex that hang on a vertex or an edge.
//!
//! Cells that share faces form a rigid part. A part is supported if it has two pinned vertices, or three
//! non-collinear vertices that are pinned or belong to a supported part. A part that hangs on others by less
//! would swing about them without resistance. It is joined to them, or merged with the cells it was split
//! from. A part that touches no other is left alone (the body pins loose parts as a whole).

use super::complex::{Conflict, CopyComplex};
use super::flows::Flow;
use super::{NO_CELL, Vec3};
use crate::geometry::sets::DisjointSets;

/// Distance of a third point from a line, as a share of the points' distance, beyond which three points are
/// not collinear.
const COLLINEARITY_TOLERANCE: f64 = 0.05;

/// Joins loosely hanging parts to others until all are supported or nothing more can be done.
pub(super) fn brace(
    complex: &mut CopyComplex,
    flows: &[Flow],
    pins: &[(u32, u32)],
) -> Result<(), Vec<Conflict>> {
    let mut order: Vec<Flow> = flows.to_vec();
    order.sort_by_key(|f| (std::cmp::Reverse(f.weight), f.copies, f.vertex));
    let faces = complex.tiling.face_neighbours();
    loop {
        let hanging = hanging_parts(complex, pins);
        let mut conflicts = Vec::new();
        let mut joined = false;
        for part in &hanging {
            match hold_part(complex, part, &order, &faces) {
                Ok(any) => joined |= any,
                Err(conflict) => conflicts.push(conflict),
            }
        }
        if !joined {
            return if conflicts.is_empty() {
                Ok(())
            } else {
                Err(conflicts)
            };
        }
    }
}

/// Joins a part to its surroundings at one more vertex or face. Fails with the conflict that prevented it.
fn hold_part(
    complex: &mut CopyComplex,
    part: &[u32],
    flows: &[Flow],
    faces: &[[u32; 4]],
) -> Result<bool, Conflict> {
    let inside = |c: u32| part.binary_search(&c).is_ok();
    let mut refused = None;
    let mut try_join = |complex: &mut CopyComplex, p: u32, q: u32, v: u32| {
        let ends = complex.corner_at(p, v).zip(complex.corner_at(q, v));
        match ends.map(|(a, b)| complex.join(a, b)) {
            Some(Ok(joined)) => joined,
            Some(Err(conflict)) => {
                refused.get_or_insert(conflict);
                false
            }
            None => false,
        }
    };
    for f in flows {
        let (p, q) = f.copies;
        if inside(p) != inside(q) && try_join(complex, p, q, f.vertex) {
            return Ok(true);
        }
    }
    for &p in part {
        let cell = complex.copies.cell[p as usize];
        for n in faces[cell as usize].into_iter().filter(|&n| n != NO_CELL) {
            for q in complex.copies.cell_copies(n) {
                if inside(q) || !complex.reaches(vec![p], &[q]) {
                    continue;
                }
                let mut any = false;
                for v in complex.cell_vertices(q) {
                    any |= try_join(complex, p, q, v);
                }
                if any {
                    return Ok(true);
                }
            }
        }
    }
    // Nothing to join it to: merge it with the copy it was split from.
    let twin = |&p: &u32| {
        let of = complex.copies.cell_copies(complex.copies.cell[p as usize]);
        of.filter(|&q| !inside(q))
            .map(|q| Conflict(p.min(q), p.max(q)))
            .next()
    };
    refused
        .or_else(|| part.iter().find_map(twin))
        .map_or(Ok(false), Err)
}

/// Returns the parts that hang on others without support, each an ascending list of copies.
fn hanging_parts(complex: &mut CopyComplex, pins: &[(u32, u32)]) -> Vec<Vec<u32>> {
    let parts = face_connected_parts(complex);
    let mut of_vertex: Vec<(u32, u32)> = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        for &c in part {
            of_vertex.extend(complex.roots(c).map(|r| (r, i as u32)));
        }
    }
    of_vertex.sort_unstable();
    of_vertex.dedup();
    // Parts that touch directly or through others.
    let mut touching = DisjointSets::new(parts.len());
    for pair in of_vertex.windows(2).filter(|p| p[0].0 == p[1].0) {
        touching.join(pair[0].1, pair[1].1);
    }
    let mut anchored: Vec<u32> = pins
        .iter()
        .map(|&(_, corner)| complex.root(corner))
        .collect();
    anchored.sort_unstable();
    anchored.dedup();
    let mut vertices = vec![Vec::new(); parts.len()];
    for &(r, i) in &of_vertex {
        vertices[i as usize].push(r);
    }
    let pinned = |i: usize, anchored: &[u32]| {
        vertices[i]
            .iter()
            .filter(|r| anchored.binary_search(r).is_ok())
            .count()
    };
    let mut supported: Vec<bool> = (0..parts.len()).map(|i| pinned(i, &anchored) > 1).collect();
    support_largest(&parts, &mut touching, &mut supported);
    loop {
        let held = of_vertex
            .iter()
            .filter(|(_, i)| supported[*i as usize])
            .map(|h| h.0);
        let mut anchors: Vec<u32> = held.chain(anchored.iter().copied()).collect();
        anchors.sort_unstable();
        anchors.dedup();
        let mut changed = false;
        for i in 0..parts.len() {
            let at: Vec<Vec3> = vertices[i]
                .iter()
                .filter(|r| anchors.binary_search(r).is_ok())
                .map(|&r| complex.tiling.vertices[complex.original_vertex(r) as usize])
                .collect();
            if !supported[i] && spans_plane(&at) {
                supported[i] = true;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    parts
        .into_iter()
        .zip(supported)
        .filter(|p| !p.1)
        .map(|p| p.0)
        .collect()
}

/// Marks the largest part of each group of touching parts that nothing pins: it acts as the ground.
fn support_largest(parts: &[Vec<u32>], touching: &mut DisjointSets, supported: &mut [bool]) {
    for group in 0..parts.len() as u32 {
        let of: Vec<usize> = (0..parts.len())
            .filter(|&i| touching.root(i as u32) == group)
            .collect();
        let largest = of
            .iter()
            .copied()
            .max_by_key(|&i| (parts[i].len(), std::cmp::Reverse(i)));
        if let Some(i) = largest
            && !of.iter().any(|&i| supported[i])
        {
            supported[i] = true;
        }
    }
}

/// Returns whether some three of the points are not collinear.
fn spans_plane(points: &[Vec3]) -> bool {
    let Some(&a) = points.first() else {
        return false;
    };
    let far = points
        .iter()
        .map(|p| p - a)
        .max_by(|p, q| p.norm_squared().total_cmp(&q.norm_squared()));
    let d = far.unwrap_or_else(Vec3::zeros);
    points
        .iter()
        .any(|p| d.cross(&(p - a)).norm() > COLLINEARITY_TOLERANCE * d.norm_squared())
}

/// Groups copies that are connected through common faces.
fn face_connected_parts(complex: &mut CopyComplex) -> Vec<Vec<u32>> {
    let n = complex.copies.len() as u32;
    let mut faces: Vec<([u32; 3], u32)> = Vec::with_capacity(4 * n as usize);
    for c in 0..n {
        let roots = complex.roots(c);
        for k in 0..4 {
            let mut face = [1, 2, 3].map(|i| roots[(k + i) % 4]);
            face.sort_unstable();
            faces.push((face, c));
        }
    }
    faces.sort_unstable();
    let mut sets = DisjointSets::new(n as usize);
    for pair in faces.windows(2).filter(|p| p[0].0 == p[1].0) {
        sets.join(pair[0].1, pair[1].1);
    }
    let mut all: Vec<Vec<u32>> = vec![Vec::new(); n as usize];
    for c in 0..n {
        all[sets.root(c) as usize].push(c);
    }
    all.retain(|p| !p.is_empty());
    all
}
