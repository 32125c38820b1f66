// SPDX-License-Identifier: MIT OR Apache-2.0
//! Welding: vertices that coincide are merged, redundant triangles are dropped.
//!
//! A vertex joins the nearest earlier vertex within the tolerance, or stays itself. Joining to a
//! representative, not to a chain of neighbours, keeps a finely sampled mesh from collapsing. The hash map of
//! cells is only looked up, never iterated, so the result is deterministic.
use super::local_units::LocalUnits;
use crate::Vec3;
use std::collections::HashMap;

/// Distance, as a fraction of the surface's size, within which vertices are one vertex.
pub(super) const WELDING_TOLERANCE: f64 = 1e-6;

/// Result of welding: distinct local positions and the distinct triangles over them.
pub(super) struct WeldResult {
    /// Local position of each distinct used vertex: that of its first input vertex.
    pub local: Vec<Vec3>,
    /// First input vertex of each distinct vertex.
    pub first: Vec<u32>,
    /// Distinct vertex of each input vertex; `u32::MAX` if no triangle uses it.
    pub of_vertex: Vec<u32>,
    /// Triangles with three distinct vertices; of those over the same vertices, in either orientation, only the first.
    pub triangles: Vec<[u32; 3]>,
    /// Input index of each triangle.
    pub source: Vec<u32>,
    pub duplicate_vertices: usize,
    pub unused_vertices: usize,
    pub degenerate_triangles: usize,
    pub duplicate_triangles: usize,
}

/// Welds a surface with valid indices and coordinates.
pub(super) fn weld(
    vertices: &[Vec3],
    triangles: &[[u32; 3]],
    frame: LocalUnits,
    size: f64,
) -> WeldResult {
    let mut used = vec![false; vertices.len()];
    for &v in triangles.iter().flatten() {
        used[v as usize] = true;
    }
    let tolerance = WELDING_TOLERANCE * size / frame.scale;
    let mut cells = PointCells::new(tolerance);
    let mut of_vertex = vec![u32::MAX; vertices.len()];
    let mut first = Vec::new();
    for (v, _) in used.iter().enumerate().filter(|(_, used)| **used) {
        of_vertex[v] = cells.insert_point(frame.to_local(&vertices[v]));
        if of_vertex[v] as usize == first.len() {
            first.push(v as u32);
        }
    }
    let used_count = used.iter().filter(|&&u| u).count();

    let corners = |t: &[u32; 3]| t.map(|v| of_vertex[v as usize]);
    let mut keyed: Vec<([u32; 3], u32)> = (0u32..)
        .zip(triangles)
        .map(|(i, t)| {
            let mut key = corners(t);
            key.sort_unstable();
            (key, i)
        })
        .filter(|(key, _)| key[0] != key[1] && key[1] != key[2])
        .collect();
    let distinct = keyed.len();
    keyed.sort_unstable();
    keyed.dedup_by_key(|(key, _)| *key);
    let mut source: Vec<u32> = keyed.iter().map(|&(_, i)| i).collect();
    source.sort_unstable();
    WeldResult {
        triangles: source
            .iter()
            .map(|&i| corners(&triangles[i as usize]))
            .collect(),
        degenerate_triangles: triangles.len() - distinct,
        duplicate_triangles: distinct - source.len(),
        duplicate_vertices: used_count - first.len(),
        unused_vertices: vertices.len() - used_count,
        local: cells.points,
        first,
        of_vertex,
        source,
    }
}

/// Points hashed by cubic cells several tolerances wide, so that a search rarely visits more than one.
struct PointCells {
    tolerance: f64,
    width: f64,
    points: Vec<Vec3>,
    /// Next point in the same cell, `u32::MAX` at the end.
    next: Vec<u32>,
    head: HashMap<[i64; 3], u32>,
}

impl PointCells {
    fn new(tolerance: f64) -> Self {
        Self {
            tolerance,
            width: 4.0 * tolerance,
            points: Vec::new(),
            next: Vec::new(),
            head: HashMap::new(),
        }
    }

    /// Returns the index of the nearest point within the tolerance, or of the newly added point.
    fn insert_point(&mut self, p: Vec3) -> u32 {
        let cell = |x: f64| (x / self.width).floor() as i64;
        let lo = p.add_scalar(-self.tolerance).map(cell);
        let hi = p.add_scalar(self.tolerance).map(cell);
        let mut best = (self.tolerance * self.tolerance, u32::MAX);
        for x in lo.x..=hi.x {
            for y in lo.y..=hi.y {
                for z in lo.z..=hi.z {
                    let mut at = self.head.get(&[x, y, z]).copied().unwrap_or(u32::MAX);
                    while at != u32::MAX {
                        let d2 = (self.points[at as usize] - p).norm_squared();
                        if d2 < best.0 || (d2 == best.0 && at < best.1) {
                            best = (d2, at);
                        }
                        at = self.next[at as usize];
                    }
                }
            }
        }
        if best.1 != u32::MAX {
            return best.1;
        }
        let new = self.points.len() as u32;
        let own = p.map(cell);
        let before = self.head.insert([own.x, own.y, own.z], new);
        self.next.push(before.unwrap_or(u32::MAX));
        self.points.push(p);
        new
    }
}
