// SPDX-License-Identifier: MIT OR Apache-2.0
//! Point set of the tetrahedralisation: skeleton points, a graded body-centred cubic fill, eight far
//! corners. The fill is relaxed towards even cells and kept out of the sub-segments' balls.
//!
//! Half a fill lies on one side of the plane x = 0. One layer of its cubes' corners lies on that plane and stays there; no
//! other point comes near it.

use super::balls::Ball;
use super::delaunay::delaunay;
use super::segments::ProtectedSkeleton;
use crate::Vec3;
use crate::geometry::tetrahedron::{closest_on_segment, volume};
use crate::surface::DistanceGrid;
use rayon::prelude::*;

/// Target edge length at a point: `clamp(min over sub-segments (1.15 length + 0.6 distance), 0.35 h, h)`.
#[derive(Debug, Clone)]
pub(crate) struct SizeField {
    samples: Vec<(Vec3, f64)>,
    /// Largest size.
    pub h: f64,
    /// Smallest size.
    pub smallest: f64,
}

impl SizeField {
    pub(crate) fn new(skeleton: &ProtectedSkeleton, h: f64) -> Self {
        let mut samples = Vec::new();
        for (e, &(a, b, _)) in skeleton.edges.iter().enumerate() {
            let (x, y) = (skeleton.points[a as usize], skeleton.points[b as usize]);
            let l = 1.15 * skeleton.length(e);
            samples.extend([(x, l), ((x + y) / 2.0, l), (y, l)]);
        }
        for face in &skeleton.faces {
            let [a, b, c] = face.map(|v| skeleton.points[v as usize]);
            let l = 1.15 * (a - b).norm().max((b - c).norm()).max((c - a).norm());
            samples.extend([(a, l), (b, l), (c, l), ((a + b + c) / 3.0, l)]);
        }
        Self {
            samples,
            h,
            smallest: Self::min_size(h),
        }
    }

    /// Returns the smallest size anywhere.
    pub(crate) fn min_size(h: f64) -> f64 {
        0.35 * h
    }

    /// Returns the target edge length at a point.
    pub(crate) fn size_at(&self, p: Vec3) -> f64 {
        let mut best = self.h;
        for &(x, l) in &self.samples {
            // Compare squares first: most samples are far away.
            let room = (best - l) / 0.6;
            if room > 0.0 && (p - x).norm_squared() < room * room {
                best = l + 0.6 * (p - x).norm();
            }
        }
        best.max(self.smallest)
    }
}

/// Width of the fill around Ω, as a multiple of `h`.
const BAND_WIDTH: f64 = 2.0;
/// Width of the fill around bones, which may stick out of the body, as a multiple of `h`.
const BONE_BAND_WIDTH: f64 = 1.2;
/// Smallest distance between fill points, and of a fill point from a bone, as a share of the size.
const MIN_SPACING: f64 = 0.62;
/// Factor by which balls are widened when they are cleared of points.
const CLEARANCE_FACTOR: f64 = 1.08;
/// Number of far corners at the end of the list.
pub(crate) const FAR_CORNER_COUNT: usize = 8;

/// Points of the tetrahedralisation: skeleton points, then free points, then the far corners.
#[derive(Debug, Clone)]
pub(crate) struct FillPoints {
    /// Positions.
    pub x: Vec<Vec3>,
    /// Number of skeleton points.
    pub fixed: usize,
    /// For each free point, whether it keeps its initial position (far from Ω).
    outer: Vec<bool>,
    /// Whether all points lie at x ≥ 0, and points on the plane x = 0 stay on it.
    halved: bool,
    /// Distance from that plane within which a point that leaves a ball is put on it.
    clearance: f64,
}

impl FillPoints {
    /// Fills the space around a skeleton, in the domain that `grid` describes, between `lo` and `hi`. `halved`: the plane
    /// x = 0 is a side of the space.
    pub(crate) fn fill(
        skeleton: &ProtectedSkeleton,
        size: &SizeField,
        grid: &DistanceGrid,
        (lo, hi): (Vec3, Vec3),
        halved: bool,
    ) -> Self {
        let h = size.h;
        let mut candidates: Vec<(Vec3, f64)> = Vec::new();
        let mut spacing = h;
        let mut first = true;
        loop {
            let last = spacing / 2.0 < size.smallest * 0.7;
            let above = if first {
                f64::INFINITY
            } else {
                spacing * 2f64.sqrt()
            };
            let below = if last { 0.0 } else { spacing / 2f64.sqrt() };
            let level: Vec<(Vec3, f64)> = body_centred_cubic(lo, hi, 1.06 * spacing, halved)
                .into_par_iter()
                .filter(|&p| {
                    grid.distance_at(p) < BAND_WIDTH * h
                        || distance_to_skeleton(skeleton, p) < BONE_BAND_WIDTH * h
                })
                .map(|p| (p, size.size_at(p)))
                .filter(|&(_, s)| s < above && s >= below)
                .collect();
            candidates.extend(level);
            if last {
                break;
            }
            spacing /= 2.0;
            first = false;
        }
        let kept = drop_crowded_points(candidates, h);
        let free: Vec<Vec3> = kept
            .into_par_iter()
            .filter(|&(p, s)| distance_to_skeleton(skeleton, p) > MIN_SPACING * s)
            .map(|(p, _)| p)
            .collect();
        let outer = free
            .iter()
            .map(|&p| grid.distance_at(p) > (BAND_WIDTH - 0.8) * h)
            .collect();
        let mut x = skeleton.points.clone();
        x.extend(free);
        let far = Vec3::repeat(8.0 * h);
        let (mut a, b) = (lo - far, hi + far);
        if halved {
            a.x = 0.0;
        }
        for i in 0..FAR_CORNER_COUNT {
            let pick = |k: usize| if i >> k & 1 == 1 { b[k] } else { a[k] };
            x.push(Vec3::new(pick(0), pick(1), pick(2)));
        }
        Self {
            x,
            fixed: skeleton.points.len(),
            outer,
            halved,
            clearance: PLANE_CLEARANCE * size.smallest,
        }
    }

    /// Returns the indices of the free points.
    pub(crate) fn free_range(&self) -> std::ops::Range<usize> {
        self.fixed..self.x.len() - FAR_CORNER_COUNT
    }

    /// Returns whether a free point keeps its position.
    fn is_fixed(&self, i: usize) -> bool {
        self.outer[i - self.fixed]
    }

    /// Adds free points.
    pub(crate) fn insert(&mut self, new: &[Vec3]) {
        let at = self.x.len() - FAR_CORNER_COUNT;
        self.x.splice(at..at, new.iter().copied());
        self.outer.extend(new.iter().map(|_| false));
    }

    /// Moves free points out of the balls of the sub-segments `edges` and of all required faces, widened by
    /// `clear`.
    pub(crate) fn push_out(&mut self, skeleton: &ProtectedSkeleton, edges: &[usize], clear: f64) {
        let free = self.free_range();
        for _ in 0..4 {
            let mut moved = false;
            let of_edges = edges.iter().map(|&e| {
                let (a, b, _) = skeleton.edges[e];
                let (p, q) = (skeleton.points[a as usize], skeleton.points[b as usize]);
                let axis = (q - p).normalize();
                let across = axis.cross(&Vec3::new(axis.y, axis.z, -axis.x));
                (skeleton.balls[e], across)
            });
            let of_faces = skeleton.faces.iter().zip(&skeleton.face_balls);
            let of_faces = of_faces.map(|(face, ball)| {
                let [a, b, c] = face.map(|v| skeleton.points[v as usize]);
                (*ball, (b - a).cross(&(c - a)))
            });
            for (Ball { centre, radius }, across) in of_edges.chain(of_faces) {
                let radius = radius * clear;
                for x in &mut self.x[free.clone()] {
                    let d = *x - centre;
                    let r2 = d.norm_squared();
                    if r2 < radius * radius {
                        let direction = d
                            .try_normalize(1e-12 * radius)
                            .unwrap_or_else(|| across.normalize());
                        let to = centre + direction * (radius * 1.01);
                        *x = match self.halved {
                            true => keep_half(*x, to, centre, radius * 1.01, self.clearance),
                            false => to,
                        };
                        moved = true;
                    }
                }
            }
            if !moved {
                break;
            }
        }
    }

    /// Moves free points towards the size-weighted mean of their tetrahedra's barycentres, `passes` times.
    pub(crate) fn relax(
        &mut self,
        skeleton: &ProtectedSkeleton,
        size: &SizeField,
        passes: usize,
    ) -> Result<(), String> {
        let all: Vec<usize> = (0..skeleton.edges.len()).collect();
        self.push_out(skeleton, &all, CLEARANCE_FACTOR);
        for _ in 0..passes {
            let tets = delaunay(&self.x).map_err(|e| e.to_string())?;
            let end = self.x.len() - FAR_CORNER_COUNT;
            let weighted: Vec<(Vec3, f64)> = tets
                .par_iter()
                .map(|t| {
                    if t.iter().any(|&v| v as usize >= end) {
                        return (Vec3::zeros(), 0.0);
                    }
                    let x = t.map(|v| self.x[v as usize]);
                    let centre = (x[0] + x[1] + x[2] + x[3]) / 4.0;
                    (centre, volume(&x).abs() / size.size_at(centre).powi(3))
                })
                .collect();
            let mut sums = vec![(Vec3::zeros(), 0.0); self.x.len()];
            for (t, (centre, w)) in tets.iter().zip(weighted) {
                for &v in t {
                    sums[v as usize].0 += centre * w;
                    sums[v as usize].1 += w;
                }
            }
            for i in self.free_range() {
                if !self.is_fixed(i) && sums[i].1 > 0.0 {
                    let target = sums[i].0 / sums[i].1;
                    let step = (target - self.x[i]) * 0.8;
                    self.move_point(i, step, size);
                }
            }
            self.push_out(skeleton, &all, CLEARANCE_FACTOR);
        }
        Ok(())
    }

    /// Moves a free point by a step; in half a fill along the plane, or no nearer to it than a share of the size.
    fn move_point(&mut self, i: usize, step: Vec3, size: &SizeField) {
        let before = self.x[i].x;
        self.x[i] += step;
        if !self.halved {
            return;
        }
        if before == 0.0 {
            self.x[i].x = 0.0;
        } else if self.x[i].x < PLANE_CLEARANCE * size.h {
            let least = PLANE_CLEARANCE * size.size_at(self.x[i]);
            self.x[i].x = self.x[i].x.max(least.min(before));
        }
    }

    /// Moves free points just inside or on the surface a little outside, so that cells cut the surface in
    /// their middle instead of grazing it.
    pub(crate) fn warp(
        &mut self,
        skeleton: &ProtectedSkeleton,
        size: &SizeField,
        grid: &DistanceGrid,
    ) {
        for _ in 0..3 {
            for i in self.free_range() {
                let p = self.x[i];
                let (s, d) = (size.size_at(p), grid.distance_at(p));
                if self.is_fixed(i) || d < -0.3 * s || d > OUTWARD_OFFSET * s {
                    continue;
                }
                if let Some(n) = grid.gradient(p).try_normalize(1e-9) {
                    self.move_point(i, n * (1.3 * OUTWARD_OFFSET * s - d), size);
                }
            }
        }
        let all: Vec<usize> = (0..skeleton.edges.len()).collect();
        self.push_out(skeleton, &all, CLEARANCE_FACTOR);
    }
}

/// Distance outside the surface to which points near it are moved, as a share of the size.
pub(crate) const OUTWARD_OFFSET: f64 = 0.06;

/// Smallest distance of points beside a mirror plane from it, as a share of the size: flatter cells would remain at the
/// plane. The fill starts at 0.37.
const PLANE_CLEARANCE: f64 = 0.3;

/// Returns where a point of half a fill goes that leaves a ball for `to`: along the plane if it is on it, onto the plane
/// if it would come near it or cross it.
fn keep_half(from: Vec3, to: Vec3, centre: Vec3, radius: f64, clearance: f64) -> Vec3 {
    if from.x != 0.0 {
        let x = if to.x < clearance { 0.0 } else { to.x };
        return Vec3::new(x, to.y, to.z);
    }
    let across = Vec3::new(0.0, to.y - centre.y, to.z - centre.z);
    let direction = across.try_normalize(1e-9 * radius).unwrap_or_else(Vec3::y);
    let reach = (radius * radius - centre.x * centre.x).max(0.0).sqrt();
    Vec3::new(0.0, centre.y, centre.z) + direction * reach
}

/// Returns the distance of a point from the nearest edge or point of the skeleton.
fn distance_to_skeleton(skeleton: &ProtectedSkeleton, p: Vec3) -> f64 {
    let mut best = f64::INFINITY;
    for &(a, b, _) in &skeleton.edges {
        let q = closest_on_segment(skeleton.points[a as usize], skeleton.points[b as usize], p).0;
        best = best.min((p - q).norm_squared());
    }
    for x in &skeleton.points {
        best = best.min((p - x).norm_squared());
    }
    best.sqrt()
}

/// Returns body-centred cubic points with cube edge `a`, centred in the box, or beginning with a layer of corners at x = 0
/// if `halved`. A minute fixed offset keeps them from being cospherical, which spares the exact predicates their
/// slow path.
fn body_centred_cubic(lo: Vec3, hi: Vec3, a: f64, halved: bool) -> Vec<Vec3> {
    let mut centre = (lo + hi) / 2.0;
    let mut n: [i64; 3] = std::array::from_fn(|k| ((hi[k] - lo[k]) / a / 2.0).ceil() as i64 + 1);
    let mut first = -n[0];
    if halved {
        (centre.x, first) = (0.0, 0);
        n[0] = (hi.x / a).ceil() as i64 + 1;
    }
    let mut points = Vec::new();
    for half in 0..2 {
        for k in -n[2]..=n[2] {
            for j in -n[1]..=n[1] {
                for i in first..=n[0] {
                    let grid = Vec3::new(i as f64, j as f64, k as f64)
                        + Vec3::repeat(0.5 * f64::from(half));
                    let mut offset = random_offset(i, j, k, half);
                    if halved && i == 0 && half == 0 {
                        offset.x = 0.0;
                    }
                    points.push(centre + (grid + offset) * a);
                }
            }
        }
    }
    points
}

fn random_offset(i: i64, j: i64, k: i64, half: i32) -> Vec3 {
    let mut seed = (i as u64)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .wrapping_add((j as u64).wrapping_mul(0xC2B2_AE3D_27D4_EB4F))
        .wrapping_add((k as u64).wrapping_mul(0x1656_67B1_9E37_79F9))
        .wrapping_add(half as u64);
    let mut next = || {
        // splitmix64
        seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    Vec3::new(next(), next(), next()) * 2e-3
}

/// Drops every point that is too close to an earlier one.
fn drop_crowded_points(candidates: Vec<(Vec3, f64)>, h: f64) -> Vec<(Vec3, f64)> {
    let cell = MIN_SPACING * h;
    let bin = |p: Vec3| -> [i64; 3] { std::array::from_fn(|k| (p[k] / cell).floor() as i64) };
    let mut bins: std::collections::BTreeMap<[i64; 3], Vec<usize>> = Default::default();
    let mut kept: Vec<(Vec3, f64)> = Vec::new();
    for (p, s) in candidates {
        let b = bin(p);
        let mut free = true;
        for d in 0..27 {
            let near = [b[0] + d % 3 - 1, b[1] + d / 3 % 3 - 1, b[2] + d / 9 - 1];
            free &= bins.get(&near).is_none_or(|list| {
                list.iter()
                    .all(|&i| (kept[i].0 - p).norm() >= MIN_SPACING * kept[i].1)
            });
        }
        if free {
            bins.entry(b).or_default().push(kept.len());
            kept.push((p, s));
        }
    }
    kept
}
