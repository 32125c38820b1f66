// SPDX-License-Identifier: MIT OR Apache-2.0
//! Voxels of the space around a surface: whether they lie in the domain Ω, and whether a segment stays in it.
//!
//! A segment leaves Ω only through skin, so it is cut where it crosses skin triangles, and the middle of each piece is
//! tested. That finds gaps far narrower than a voxel. Where Ω is not bounded by skin (across holes, around sheets), a
//! segment is also tested at quarter points.

use super::bins::{Bins, Grid, ProbeSegment};
use crate::Vec3;
use crate::surface::{Surface, TriangleRole};
use rayon::prelude::*;

/// Voxels over the bounds of a surface, and the triangles in them.
pub(super) struct VoxelSpace<'a> {
    surface: &'a Surface,
    /// Edge of a voxel, m.
    pub spacing: f64,
    /// Number of voxels along each axis.
    pub dims: [usize; 3],
    grid: Grid,
    /// Skin triangles that may cross each voxel.
    skin: Bins,
    /// Whether Ω may end in a voxel other than at skin.
    loose: Vec<bool>,
    /// Whether the centre of a voxel lies in Ω.
    inside: Vec<bool>,
}

/// A point from which a segment starts.
#[derive(Clone, Copy)]
pub(super) struct SegmentStart {
    pub at: Vec3,
    /// Whether the point is known to lie in Ω, off its boundary.
    pub interior: bool,
}

impl<'a> VoxelSpace<'a> {
    pub fn new(surface: &'a Surface, spacing: f64) -> Self {
        let (from, to) = surface.bounds();
        // Odd fractions of a voxel keep voxel centres off the planes of a boxy mesh.
        let lo = from - Vec3::new(1.437, 1.521, 1.483) * spacing;
        let dims = [0, 1, 2].map(|k| ((to[k] - lo[k]) / spacing + 1.5).ceil().max(1.0) as usize);
        let mut space = Self {
            surface,
            spacing,
            dims,
            grid: Grid { lo, spacing, dims },
            skin: Bins::default(),
            loose: Vec::new(),
            inside: Vec::new(),
        };
        space.bin_triangles();
        space.fill();
        space.find_openings();
        space
    }

    pub fn len(&self) -> usize {
        self.grid.len()
    }

    /// Returns the centre of a voxel.
    pub fn centre(&self, voxel: usize) -> Vec3 {
        let at = self.grid.coordinates(voxel);
        self.grid.lo + Vec3::from_fn(|k, _| at[k] as f64 + 0.5) * self.spacing
    }

    /// Returns whether the centre of a voxel lies in Ω.
    pub fn is_inside(&self, voxel: usize) -> bool {
        self.inside[voxel]
    }

    /// Returns the voxel that holds a point, clamped to the grid.
    pub fn voxel_of(&self, p: Vec3) -> usize {
        self.grid.index(self.grid.cube_at(p))
    }

    /// Returns the inside voxels among the eight whose centres surround a point.
    pub fn voxels_around(&self, p: Vec3) -> impl Iterator<Item = usize> + '_ {
        let base = self.grid.cube_at(p - Vec3::repeat(0.5 * self.spacing));
        (0..8)
            .map(move |c: usize| {
                self.index([0, 1, 2].map(|k| (base[k] + (c >> k & 1)).min(self.dims[k] - 1)))
            })
            .filter(|&v| self.inside[v])
    }

    /// Returns the range of voxels along each axis whose centres lie in a box: lowest, and one past the highest.
    pub fn voxel_range(&self, lo: Vec3, hi: Vec3) -> [(usize, usize); 3] {
        [0, 1, 2].map(|k| {
            let to = |x: f64| (x - self.grid.lo[k]) / self.spacing - 0.5;
            let first = to(lo[k]).ceil().max(0.0) as usize;
            let end = (to(hi[k]).floor() + 1.0).max(0.0) as usize;
            (first.min(self.dims[k]), end.min(self.dims[k]))
        })
    }

    pub fn index(&self, at: [usize; 3]) -> usize {
        self.grid.index(at)
    }

    /// Returns whether a point lies in Ω.
    pub fn contains(&self, p: Vec3) -> bool {
        let voxel = self.voxel_of(p);
        let (cuts, loose) = self.crossings(self.centre(voxel), p - self.centre(voxel));
        if cuts.is_empty() && !loose {
            // The segment from the centre to the point crosses no skin.
            return self.inside[voxel];
        }
        self.surface.contains(p)
    }

    /// Returns whether nothing lies between two points at which Ω could end.
    pub fn is_clear(&self, a: Vec3, b: Vec3) -> bool {
        let (cuts, loose) = self.crossings(a, b - a);
        cuts.is_empty() && !loose
    }

    /// Returns whether the segment between two points of the closure of Ω stays in Ω.
    pub fn stays_inside(&self, a: SegmentStart, b: SegmentStart) -> bool {
        let d = b.at - a.at;
        let length = d.norm();
        if length < 1e-6 * self.spacing {
            return true;
        }
        let (mut cuts, loose) = self.crossings(a.at, d);
        if loose {
            cuts.extend([0.25, 0.5, 0.75]);
        }
        cuts.push(1.0);
        cuts.sort_unstable_by(f64::total_cmp);
        let least = 1e-4 * self.spacing / length;
        let last = cuts.len() - 1;
        let mut from = 0.0;
        for (i, &to) in cuts.iter().enumerate() {
            let known = (i == 0 && a.interior || i == last && b.interior) && !loose;
            let middle = a.at + d * (0.5 * (from + to));
            if !known && to - from > least && !self.contains(middle) {
                return false;
            }
            from = to;
        }
        true
    }

    /// Returns the parameters at which a segment crosses skin, strictly between its ends and possibly repeated, and
    /// whether Ω may end elsewhere on it.
    fn crossings(&self, a: Vec3, d: Vec3) -> (Vec<f64>, bool) {
        let segment = ProbeSegment::new(a, d);
        let slack = 1e-7 * self.spacing / d.norm();
        let mut cuts = Vec::new();
        let mut loose = false;
        for at in self.grid.cubes_around(&segment) {
            let voxel = self.grid.index(at);
            let empty = !self.loose[voxel] && self.skin.triangles(voxel).is_empty();
            if empty || !self.grid.is_passed(&segment, at) {
                continue;
            }
            loose |= self.loose[voxel];
            self.skin.visit_near(voxel, &segment, |t| {
                let t = line_crossing(&self.corners(t), a, d);
                cuts.extend(t.filter(|&t| t > slack && t < 1.0 - slack));
            });
        }
        (cuts, loose)
    }

    fn corners(&self, triangle: u32) -> [Vec3; 3] {
        corners(self.surface, triangle)
    }

    /// Sorts the skin triangles into voxels, and marks the voxels in which Ω may end other than at skin.
    fn bin_triangles(&mut self) {
        let roles = self.surface.triangle_roles();
        let all: Vec<u32> = (0..roles.len() as u32).collect();
        let corners = |t: u32| corners(self.surface, t);
        let mut pairs = self.grid.cube_pairs(&all, &corners);
        self.loose = vec![false; self.len()];
        let reach = (self.surface.layer_half_thickness() / self.spacing).ceil() as usize + 1;
        for group in pairs.chunk_by(|a, b| a.0 == b.0) {
            if group
                .iter()
                .any(|&(_, t)| roles[t as usize] == TriangleRole::Thin)
            {
                self.mark_surroundings(group[0].0 as usize, reach);
            }
        }
        pairs.retain(|&(_, t)| roles[t as usize] == TriangleRole::Skin);
        self.skin = Bins::new(&self.grid, &pairs, corners);
    }

    /// Marks the voxels up to `reach` steps from one.
    fn mark_surroundings(&mut self, voxel: usize, reach: usize) {
        let [x, y, z] = self.dims;
        let at = self.grid.coordinates(voxel);
        let span = |k: usize, n: usize| at[k].saturating_sub(reach)..=(at[k] + reach).min(n - 1);
        for k in span(2, z) {
            for j in span(1, y) {
                for i in span(0, x) {
                    self.loose[(k * y + j) * x + i] = true;
                }
            }
        }
    }

    /// Finds the voxels in Ω row by row. Each run without skin is tested at both ends, and bisected for the change if
    /// they differ (at an opening).
    fn fill(&mut self) {
        let x = self.dims[0];
        let mut inside = vec![false; self.len()];
        inside.par_chunks_mut(x).enumerate().for_each(|(r, row)| {
            let is_inside = |i: usize| self.surface.contains(self.centre(r * x + i));
            let mut start = 0;
            while start < x {
                let single = self.loose[r * x + start];
                let goes_on =
                    |i: &usize| !single && !self.loose[r * x + i] && !self.is_cut(r * x + i - 1, 0);
                let end = (start + 1..x).take_while(goes_on).last().unwrap_or(start);
                row[start] = start > 0 && is_inside(start);
                row[end] = if end == start {
                    row[start]
                } else {
                    end < x - 1 && is_inside(end)
                };
                complete_row(row, start, end, &is_inside);
                start = end + 1;
            }
        });
        self.inside = inside;
    }

    /// Marks the voxels between which Ω ends without skin.
    fn find_openings(&mut self) {
        let [x, y, z] = self.dims;
        let this = &*self;
        let opens = |v: usize| {
            let axes = [(1, x), (x, y), (x * y, z)].into_iter().enumerate();
            axes.filter(move |(axis, (step, n))| {
                v / step % n + 1 < *n
                    && this.inside[v] != this.inside[v + step]
                    && !this.is_cut(v, *axis)
            })
            .map(move |(_, (step, _))| (v, v + step))
        };
        let all = (0..self.len()).into_par_iter().with_min_len(4096);
        let open: Vec<(usize, usize)> = all.flat_map_iter(opens).collect();
        for (a, b) in open {
            self.mark_surroundings(a, 1);
            self.mark_surroundings(b, 1);
        }
    }

    /// Returns whether skin lies between the centre of a voxel and that of the next one along an axis.
    fn is_cut(&self, voxel: usize, axis: usize) -> bool {
        let a = self.centre(voxel);
        let d = Vec3::ith(axis, self.spacing);
        let cut = |&t: &u32| {
            line_crossing(&self.corners(t), a, d).is_some_and(|t| (-1e-9..=1.0 + 1e-9).contains(&t))
        };
        let next = voxel + [1, self.dims[0], self.dims[0] * self.dims[1]][axis];
        self.skin.triangles(voxel).iter().any(cut) || self.skin.triangles(next).iter().any(cut)
    }
}

/// Returns the corners of a welded triangle.
fn corners(surface: &Surface, triangle: u32) -> [Vec3; 3] {
    let welded = surface.welded();
    welded.triangles[triangle as usize].map(|v| welded.vertices[v as usize])
}

/// Fills a row between two known voxels; bisects for the change, if any.
fn complete_row(row: &mut [bool], from: usize, to: usize, is_inside: &impl Fn(usize) -> bool) {
    let (first, last) = (row[from], row[to]);
    let (mut a, mut b) = (from, to);
    while first != last && b - a > 1 {
        let middle = (a + b) / 2;
        if is_inside(middle) == first {
            a = middle;
        } else {
            b = middle;
        }
    }
    row[from..b].fill(first);
    row[b..to].fill(last);
}

/// Returns the parameter at which the line `a + t d` meets a triangle (edges belong to both their triangles)
/// [moeller1997].
fn line_crossing(t: &[Vec3; 3], a: Vec3, d: Vec3) -> Option<f64> {
    const EDGE_TOLERANCE: f64 = 1e-9;
    let (e, f) = (t[1] - t[0], t[2] - t[0]);
    let h = d.cross(&f);
    let det = e.dot(&h);
    if det.abs() <= 1e-14 * d.norm() * e.norm() * f.norm() {
        return None;
    }
    let s = a - t[0];
    let u = s.dot(&h) / det;
    if !(-EDGE_TOLERANCE..=1.0 + EDGE_TOLERANCE).contains(&u) {
        return None;
    }
    let q = s.cross(&e);
    let v = d.dot(&q) / det;
    (v >= -EDGE_TOLERANCE && u + v <= 1.0 + EDGE_TOLERANCE).then(|| f.dot(&q) / det)
}
