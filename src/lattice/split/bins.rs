// SPDX-License-Identifier: MIT OR Apache-2.0
//! Triangles by the voxels that they may cross; crowded voxels are subdivided. So a short segment is tested against few
//! triangles, however fine the mesh is.

use crate::Vec3;
use crate::geometry::groups::Groups;
use rayon::prelude::*;

/// Number of triangles above which a voxel is subdivided.
const MAX_UNDIVIDED: usize = 48;
/// Approximate number of triangles per subdivision.
const TRIANGLES_PER_PART: usize = 6;
/// Largest number of subdivisions along an axis.
const MAX_PARTS: usize = 16;
/// Marks a voxel that is not subdivided.
const NO_SUBDIVISION: u32 = u32::MAX;

/// A grid of cubes over a box.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    /// Corner of the first cube.
    pub lo: Vec3,
    /// Edge of a cube, m.
    pub spacing: f64,
    /// Number of cubes along each axis.
    pub dims: [usize; 3],
}

impl Grid {
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }

    pub fn index(&self, at: [usize; 3]) -> usize {
        (at[2] * self.dims[1] + at[1]) * self.dims[0] + at[0]
    }

    /// Returns the position of a cube along each axis.
    pub fn coordinates(&self, cube: usize) -> [usize; 3] {
        let [x, y, _] = self.dims;
        [cube % x, cube / x % y, cube / (x * y)]
    }

    /// Returns the cube that holds a point, clamped to the grid.
    pub fn cube_at(&self, p: Vec3) -> [usize; 3] {
        let g = (p - self.lo) / self.spacing;
        [0, 1, 2].map(|k| (g[k].max(0.0) as usize).min(self.dims[k] - 1))
    }

    /// Returns the cubes in the bounding box of a segment.
    pub fn cubes_around(&self, segment: &ProbeSegment) -> impl Iterator<Item = [usize; 3]> + use<> {
        let (p, q) = (self.cube_at(segment.lo), self.cube_at(segment.hi));
        (p[2]..=q[2]).flat_map(move |k| {
            (p[1]..=q[1]).flat_map(move |j| (p[0]..=q[0]).map(move |i| [i, j, k]))
        })
    }

    /// Returns whether a segment passes through a cube (slightly enlarged).
    pub fn is_passed(&self, segment: &ProbeSegment, at: [usize; 3]) -> bool {
        let (a, inverse) = (segment.from, segment.inverse);
        let (mut enter, mut leave) = (0.0f64, 1.0f64);
        for k in 0..3 {
            let lo = self.lo[k] + (at[k] as f64 - 1e-6) * self.spacing;
            let hi = self.lo[k] + (at[k] as f64 + 1.0 + 1e-6) * self.spacing;
            if inverse[k].is_finite() {
                let (s, t) = ((lo - a[k]) * inverse[k], (hi - a[k]) * inverse[k]);
                enter = enter.max(s.min(t));
                leave = leave.min(s.max(t));
            } else if a[k] < lo || a[k] > hi {
                return false;
            }
        }
        enter <= leave
    }

    /// Returns the cubes that a triangle may cross: it is halved until its box spans at most two cubes along every
    /// axis.
    fn crossed_cubes(&self, triangle: [Vec3; 3]) -> Vec<u32> {
        let mut found = Vec::new();
        let mut stack = vec![triangle];
        let slack = Vec3::repeat(1e-6 * self.spacing);
        while let Some(t) = stack.pop() {
            let lo = self.cube_at(t[0].inf(&t[1]).inf(&t[2]) - slack);
            let hi = self.cube_at(t[0].sup(&t[1]).sup(&t[2]) + slack);
            if (0..3).any(|k| hi[k] > lo[k] + 1) {
                let length = |k: usize| (t[(k + 1) % 3] - t[k]).norm_squared();
                let longest = (0..3).max_by(|&i, &j| length(i).total_cmp(&length(j)));
                let k = longest.unwrap_or(0);
                let (a, b, c) = (t[k], t[(k + 1) % 3], t[(k + 2) % 3]);
                let middle = (a + b) * 0.5;
                stack.extend([[a, middle, c], [middle, b, c]]);
                continue;
            }
            for k in lo[2]..=hi[2] {
                for j in lo[1]..=hi[1] {
                    for i in lo[0]..=hi[0] {
                        found.push(self.index([i, j, k]) as u32);
                    }
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns pairs (cube, triangle), sorted.
    pub fn cube_pairs(
        &self,
        triangles: &[u32],
        corners: &(impl Fn(u32) -> [Vec3; 3] + Sync),
    ) -> Vec<(u32, u32)> {
        let mut pairs: Vec<(u32, u32)> = triangles
            .par_iter()
            .with_min_len(256)
            .flat_map_iter(|&t| {
                self.crossed_cubes(corners(t))
                    .into_iter()
                    .map(move |v| (v, t))
            })
            .collect();
        pairs.par_sort_unstable();
        pairs
    }
}

/// Segment between two points, prepared for tests against boxes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProbeSegment {
    from: Vec3,
    inverse: Vec3,
    lo: Vec3,
    hi: Vec3,
}

impl ProbeSegment {
    pub fn new(from: Vec3, along: Vec3) -> Self {
        Self {
            from,
            inverse: along.map(|x| 1.0 / x),
            lo: from.inf(&(from + along)),
            hi: from.sup(&(from + along)),
        }
    }
}

/// Triangles in the voxels of a grid.
#[derive(Debug, Default)]
pub(super) struct Bins {
    whole: Groups,
    /// For each voxel, its index in `parts`, or [`NO_SUBDIVISION`]. Empty if no voxel is crowded.
    part_of: Vec<u32>,
    parts: Vec<(Grid, Groups)>,
}

impl Bins {
    /// Builds the bins from sorted pairs (voxel, triangle).
    pub fn new(
        grid: &Grid,
        pairs: &[(u32, u32)],
        corners: impl Fn(u32) -> [Vec3; 3] + Sync,
    ) -> Self {
        let crowded: Vec<&[(u32, u32)]> = pairs
            .chunk_by(|a, b| a.0 == b.0)
            .filter(|group| group.len() > MAX_UNDIVIDED)
            .collect();
        let part = |group: &&[(u32, u32)]| {
            // The number of surface triangles grows with the square of the subdivisions along an axis.
            let along = ((group.len() / TRIANGLES_PER_PART) as f64).sqrt().round() as usize;
            let along = along.clamp(2, MAX_PARTS);
            let at = grid.coordinates(group[0].0 as usize);
            let inner = Grid {
                lo: grid.lo + Vec3::from_fn(|k, _| at[k] as f64) * grid.spacing,
                spacing: grid.spacing / along as f64,
                dims: [along; 3],
            };
            let triangles: Vec<u32> = group.iter().map(|pair| pair.1).collect();
            let runs = Groups::new(
                inner.len(),
                inner.cube_pairs(&triangles, &corners).into_iter(),
            );
            (inner, runs)
        };
        let mut part_of = Vec::new();
        if !crowded.is_empty() {
            part_of = vec![NO_SUBDIVISION; grid.len()];
            for (i, group) in crowded.iter().enumerate() {
                part_of[group[0].0 as usize] = i as u32;
            }
        }
        Self {
            whole: Groups::new(grid.len(), pairs.iter().copied()),
            part_of,
            parts: crowded.par_iter().map(part).collect(),
        }
    }

    /// Returns all triangles of a voxel.
    pub fn triangles(&self, voxel: usize) -> &[u32] {
        self.whole.members(voxel)
    }

    /// Visits the triangles of a voxel that a segment may cross, some more than once.
    pub fn visit_near(&self, voxel: usize, segment: &ProbeSegment, mut visit: impl FnMut(u32)) {
        match self.part_of.get(voxel) {
            None | Some(&NO_SUBDIVISION) => self.triangles(voxel).iter().for_each(|&t| visit(t)),
            Some(&part) => {
                let (grid, runs) = &self.parts[part as usize];
                for at in grid.cubes_around(segment) {
                    let triangles = runs.members(grid.index(at));
                    if !triangles.is_empty() && grid.is_passed(segment, at) {
                        triangles.iter().for_each(|&t| visit(t));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::shapes::{random_points, sphere};

    /// With far more triangles than voxels, the search near a segment misses no triangle that the segment crosses
    /// and returns few others.
    #[test]
    fn bins_miss_no_crossed_triangle() {
        let shape = sphere(1.0, 96);
        let corners = |t: u32| shape.triangles[t as usize].map(|v| shape.vertices[v as usize]);
        let all: Vec<u32> = (0..shape.triangles.len() as u32).collect();
        let grid = Grid {
            lo: Vec3::repeat(-1.13),
            spacing: 0.5,
            dims: [5; 3],
        };
        let pairs = grid.cube_pairs(&all, &corners);
        let bins = Bins::new(&grid, &pairs, corners);
        let (mut crossed, mut seen, mut binned) = (0, 0, 0);
        let points = random_points(400, 1.1, 5);
        for pair in points.chunks(2) {
            let along = (pair[1] - pair[0]) * 0.2;
            let segment = ProbeSegment::new(pair[0], along);
            let mut near = Vec::new();
            for at in grid.cubes_around(&segment) {
                let voxel = grid.index(at);
                binned += bins.triangles(voxel).len();
                if grid.is_passed(&segment, at) {
                    bins.visit_near(voxel, &segment, |t| near.push(t));
                }
            }
            seen += near.len();
            for &t in &all {
                let [a, b, c] = corners(t);
                let normal = (b - a).cross(&(c - a));
                let s = (a - pair[0]).dot(&normal) / along.dot(&normal);
                let p = pair[0] + along * s;
                let left = |a: Vec3, b: Vec3| (b - a).cross(&(p - a)).dot(&normal) >= 0.0;
                if (0.0..=1.0).contains(&s) && left(a, b) && left(b, c) && left(c, a) {
                    crossed += 1;
                    assert!(near.contains(&t), "triangle {t} from {}", pair[0]);
                }
            }
        }
        assert!(crossed > 40);
        assert!(seen * 8 < binned, "{seen} of {binned}");
    }
}
