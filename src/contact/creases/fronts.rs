// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pairs that are tested for collisions: seeds, and fronts over the neighbours of live pairs. `[capell2006, §3.4.2]`
//!
//! P is the union of the seeds D and of the neighbourhoods N(i, b) of the collision list: pairs of a vertex that shares a triangle with i and a
//! corner of the triangle of b. For a pair (i, j), i is tested against the triangles around j and j against those around i.

use crate::Vec3;
use crate::contact::posed_flesh::PosedFlesh;
use crate::contact::search::narrow::MAX_NORMAL_COSINE;
use crate::contact::skin::{ContactSkin, SkinPoint};

/// Depth below a triangle, in cells, beyond which a vertex counts as on the other side of the flesh: half of half a cell, where the way out is still
/// the near one. Half and twice the value find the same contacts.
const MAX_DEPTH: f64 = 0.25;
/// Distance outside of a triangle's edges, in barycentric coordinates, at which a foot still counts as inside: more than rounding, so that no foot
/// falls between two triangles.
const EDGE_TOLERANCE: f64 = 1e-9;

/// Returns a vertex as a point of its skin; `None` without skin around it.
pub(super) fn vertex_point(skin: &ContactSkin, vertex: u32) -> Option<SkinPoint> {
    let triangle = *skin.vertex_triangles(vertex).first()?;
    let weights = skin
        .corners(triangle)
        .map(|v| f64::from(u8::from(v == vertex)));
    Some(SkinPoint { triangle, weights })
}

/// Returns the outward normal of a triangle; zero for a degenerate one.
pub(super) fn triangle_normal(body: &PosedFlesh, triangle: u32) -> Vec3 {
    let [a, b, c] = body.skin.corners(triangle).map(|v| body.vertex(v));
    let n = (b - a).cross(&(c - a));
    n.try_normalize(0.0).unwrap_or_else(Vec3::zeros)
}

/// Returns χ of a vertex at a frozen point: its signed distance, positive outside, metres. `[capell2006, eq. 11]`
pub(super) fn signed_distance(body: &PosedFlesh, vertex: u32, target: &SkinPoint) -> f64 {
    triangle_normal(body, target.triangle).dot(&(body.vertex(vertex) - body.point(target)))
}

/// Returns a vertex and the vertices that share a triangle with it.
fn neighbours(skin: &ContactSkin, vertex: u32) -> Vec<u32> {
    let around = skin.vertex_triangles(vertex).iter();
    let mut all: Vec<u32> = around.flat_map(|&t| skin.corners(t)).collect();
    all.push(vertex);
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns P: the seeds, and the pairs around live elements, each a vertex and a target.
pub(super) fn test_pairs(
    skin: &ContactSkin,
    seeds: &[[u32; 2]],
    live: impl Iterator<Item = (u32, SkinPoint)>,
) -> Vec<[u32; 2]> {
    let mut all = seeds.to_vec();
    for (vertex, target) in live {
        let partners = skin.corners(target.triangle);
        for i in neighbours(skin, vertex) {
            all.extend(partners.map(|j| [i, j]));
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// A vertex that has come through a triangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Penetration {
    pub vertex: u32,
    pub target: SkinPoint,
    /// χ, negative, metres.
    pub value: f64,
}

/// Finds the vertices of some pairs that have come through triangles, each with the nearest of these, in the order of the vertices.
pub(super) fn penetrations(body: &PosedFlesh, pairs: &[[u32; 2]]) -> Vec<Penetration> {
    let skin = body.skin;
    let mut tests: Vec<[u32; 2]> = Vec::new();
    for &[i, j] in pairs {
        tests.extend(skin.vertex_triangles(j).iter().map(|&t| [i, t]));
        tests.extend(skin.vertex_triangles(i).iter().map(|&t| [j, t]));
    }
    tests.sort_unstable();
    tests.dedup();
    let mut found: Vec<Penetration> = Vec::new();
    for [vertex, triangle] in tests {
        let Some(new) = penetration(body, vertex, triangle) else {
            continue;
        };
        match found.last_mut() {
            Some(known) if known.vertex == vertex => {
                if new.value > known.value {
                    *known = new;
                }
            }
            _ => found.push(new),
        }
    }
    found
}

/// Tests whether a vertex is below a triangle of other skin.
fn penetration(body: &PosedFlesh, vertex: u32, triangle: u32) -> Option<Penetration> {
    let skin = body.skin;
    let corners = skin.corners(triangle);
    let [a, b, c] = corners.map(|v| body.vertex(v));
    let (ab, ac) = (b - a, c - a);
    let across = ab.cross(&ac);
    let area = across.norm_squared();
    let x = body.vertex(vertex) - a;
    let value = across.dot(&x) / area.sqrt();
    if !(-MAX_DEPTH * skin.cell_size()..0.0).contains(&value) {
        return None;
    }
    let beta = x.cross(&ac).dot(&across) / area;
    let gamma = ab.cross(&x).dot(&across) / area;
    let weights = [1.0 - beta - gamma, beta, gamma];
    if weights.iter().any(|w| *w < -EDGE_TOLERANCE) {
        return None;
    }
    // A vertex cannot come through skin beside its own, or through skin that lies upon its own.
    let touching = |t: &u32| skin.corners(*t).iter().any(|v| corners.contains(v));
    if skin.vertex_triangles(vertex).iter().any(touching) {
        return None;
    }
    let own = body.normal(&vertex_point(skin, vertex)?);
    (own.dot(&across) < MAX_NORMAL_COSINE * area.sqrt()).then_some(Penetration {
        vertex,
        target: SkinPoint { triangle, weights },
        value,
    })
}
