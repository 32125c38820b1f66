// SPDX-License-Identifier: MIT OR Apache-2.0
//! The skins of the two characters, with the parts of the body that carry them.
//!
//! A part is a pair of bones with the bones below it that have no partner. How much two points belong together is the sum
//! over their parts of the products of weights: whole for one part, half for neighbours, as artists' weights differ near
//! joints.

use super::pair_maps::BoneMaps;
use crate::Vec3;
use crate::body::Body;
use crate::geometry::moments::vertex_areas;
use crate::surface::{Surface, closest_of_triangle};
use rayon::prelude::*;
use std::sync::Arc;

/// Affinity of neighbouring parts.
const NEIGHBOUR_AFFINITY: f64 = 0.5;
/// Affinity from which the nearest skin is of the same part.
const SAME_PART: f64 = 0.25;

/// Parts that carry a point, with weights.
pub(super) type PartRow = Vec<(usize, f64)>;

/// The source's welded skin.
pub(super) struct SkinSamples {
    /// A vertex of the surface for each welded one.
    pub vertices: Vec<u32>,
    triangles: Vec<[u32; 3]>,
    /// Areas, which sum to one.
    pub areas: Vec<f64>,
    pub parts: Vec<PartRow>,
}

impl SkinSamples {
    pub fn new(body: &Body, maps: &BoneMaps) -> Self {
        let welded = body.surface().welded();
        let vertices = welded.first_input_vertices();
        let mut areas = vertex_areas(&welded.vertices, &welded.triangles);
        let whole = areas.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        areas.iter_mut().for_each(|area| *area /= whole);
        Self {
            parts: part_rows(body, &vertices, &maps.pair_of[0]),
            triangles: welded.triangles.clone(),
            areas,
            vertices,
        }
    }

    /// Returns unit normals of the skin with its vertices at `points`; zero where it is flat.
    pub fn normals(&self, points: &[Vec3]) -> Vec<Vec3> {
        vertex_normals(points, &self.triangles)
    }
}

/// The target's skin.
pub(super) struct TargetSkin {
    surface: Arc<Surface>,
    normals: Vec<Vec3>,
    parts: Vec<PartRow>,
    /// The part above each part.
    above: Vec<Option<usize>>,
    /// Size of the body, metres.
    pub size: f64,
}

/// A point of the target's skin.
#[derive(Debug, Clone, Copy)]
pub(super) struct SkinHit {
    pub point: Vec3,
    /// Outward normal, interpolated over the triangle.
    pub normal: Vec3,
    pub distance: f64,
    /// Welded triangle.
    pub triangle: u32,
    pub barycentric: [f64; 3],
}

impl TargetSkin {
    pub fn new(body: &Body, maps: &BoneMaps) -> Self {
        let surface = body.surface().clone();
        let welded = surface.welded();
        Self {
            normals: vertex_normals(&welded.vertices, &welded.triangles),
            parts: part_rows(body, &welded.first_input_vertices(), &maps.pair_of[1]),
            above: maps.above.clone(),
            size: body.size().max(f64::MIN_POSITIVE),
            surface,
        }
    }

    /// Returns the nearest skin; `None` for a point that is not finite.
    pub fn nearest(&self, p: Vec3) -> Option<SkinHit> {
        let found = self.surface.closest_point(p);
        let hit = self.hit(
            found.triangle,
            found.barycentric,
            found.point,
            found.distance,
        );
        found.distance.is_finite().then_some(hit)
    }

    fn hit(&self, triangle: u32, barycentric: [f64; 3], point: Vec3, distance: f64) -> SkinHit {
        let corners = self.surface.welded().triangles[triangle as usize];
        let weighted = corners.iter().zip(barycentric);
        let normal: Vec3 = weighted.map(|(v, w)| self.normals[*v as usize] * w).sum();
        SkinHit {
            point,
            normal: normal.try_normalize(f64::MIN_POSITIVE).unwrap_or_default(),
            distance,
            triangle,
            barycentric,
        }
    }

    /// Returns how much a point with parts belongs to a point of the skin, 0 to 1.
    pub fn affinity(&self, parts: &PartRow, hit: &SkinHit) -> f64 {
        let corners = self.surface.welded().triangles[hit.triangle as usize];
        let mut sum = 0.0;
        for (corner, share) in corners.iter().zip(hit.barycentric) {
            for &(b, other) in &self.parts[*corner as usize] {
                for &(a, own) in parts {
                    sum += share * own * other * self.part_affinity(a, b);
                }
            }
        }
        sum.min(1.0)
    }

    fn part_affinity(&self, a: usize, b: usize) -> f64 {
        match a == b {
            true => 1.0,
            false if self.above[a] == Some(b) || self.above[b] == Some(a) => NEIGHBOUR_AFFINITY,
            false => 0.0,
        }
    }

    /// Returns the nearest skin of the same part, or the nearest of all if there is none.
    pub fn nearest_of_parts(&self, p: Vec3, parts: &PartRow) -> Option<SkinHit> {
        let nearest = self.nearest(p)?;
        if parts.is_empty() || self.affinity(parts, &nearest) >= SAME_PART {
            return Some(nearest);
        }
        let welded = self.surface.welded();
        let candidate = |t: usize| {
            let corners = welded.triangles[t].map(|v| welded.vertices[v as usize]);
            let (distance2, barycentric) = closest_of_triangle(corners, &p)?;
            let weighted = corners.iter().zip(barycentric);
            let point = weighted.map(|(x, w)| x * w).sum();
            let hit = self.hit(t as u32, barycentric, point, distance2.sqrt());
            (self.affinity(parts, &hit) >= SAME_PART).then_some(hit)
        };
        let best = (0..welded.triangles.len())
            .into_par_iter()
            .filter_map(candidate)
            .min_by(|a, b| {
                a.distance
                    .total_cmp(&b.distance)
                    .then(a.triangle.cmp(&b.triangle))
            });
        Some(best.unwrap_or(nearest))
    }
}

/// Returns the parts of vertices of a body's skin; rows sum to one, or are empty.
fn part_rows(body: &Body, vertices: &[u32], pair_of: &[Option<usize>]) -> Vec<PartRow> {
    let row = |v: &u32| part_row(body.skin().row(*v as usize), pair_of);
    vertices.iter().map(row).collect()
}

/// Returns the parts of weights over bones.
pub(super) fn part_row(
    weights: impl Iterator<Item = (u32, f64)>,
    pair_of: &[Option<usize>],
) -> PartRow {
    let mut row = PartRow::new();
    for (bone, weight) in weights {
        let Some(part) = pair_of[bone as usize] else {
            continue;
        };
        match row.iter_mut().find(|entry| entry.0 == part) {
            Some(entry) => entry.1 += weight,
            None => row.push((part, weight)),
        }
    }
    let whole: f64 = row.iter().map(|entry| entry.1).sum();
    row.iter_mut().for_each(|entry| entry.1 /= whole);
    row
}

fn vertex_normals(vertices: &[Vec3], triangles: &[[u32; 3]]) -> Vec<Vec3> {
    let mut normals = vec![Vec3::zeros(); vertices.len()];
    for t in triangles {
        let [a, b, c] = t.map(|v| vertices[v as usize]);
        let cross = (b - a).cross(&(c - a));
        t.iter().for_each(|&v| normals[v as usize] += cross);
    }
    let unit = |n: &Vec3| n.try_normalize(f64::MIN_POSITIVE).unwrap_or_default();
    normals.iter().map(unit).collect()
}
