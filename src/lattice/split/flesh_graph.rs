// SPDX-License-Identifier: MIT OR Apache-2.0
//! Graph of the flesh: samples of Ω, and links between samples that flesh connects.
//!
//! Samples are, in this order: points of the surface (the welded vertices first, then midpoints until
//! neighbours are closer than a voxel), voxel centres in Ω, and points of the lattice's own vertices, edges
//! and faces in Ω, one sample for each cell around them (a [`SimplexPoint`]). The last group detects flesh that
//! crosses a face between the other links.

use super::space::{SegmentStart, VoxelSpace};
use super::tiling::Tiling;
use super::{NO_CELL, Vec3};
use crate::progress::{Cancelled, Progress, StageProgress, map_parallel, report_progress};
use crate::surface::{Surface, TriangleRole};
use rayon::prelude::*;

/// Largest number of surface samples.
const MAX_SKIN_SAMPLES: usize = 400_000;

/// Stage reported to the progress.
const STAGE: &str = "separating parts";

/// Returns two fifths of a progress, starting at `from`.
fn progress_part(whole: &dyn Progress, from: f64) -> StageProgress<'_> {
    StageProgress {
        whole,
        from,
        to: from + 0.4,
    }
}

/// Samples of Ω and the links between them.
pub(super) struct FleshGraph {
    pub position: Vec<Vec3>,
    /// Cell of each sample; [`NO_CELL`] outside the lattice.
    pub cell: Vec<u32>,
    /// Skin at each surface sample.
    pub skin: Vec<SkinNormal>,
    pub links: Vec<(u32, u32)>,
    pub joints: Vec<SimplexPoint>,
    /// Index of the first voxel sample; `lattice` is that of the first sample on the lattice.
    pub voxels: usize,
    pub lattice: usize,
}

/// Unit normal of a surface sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct SkinNormal {
    pub normal: Vec3,
    /// Whether flesh may be on both sides.
    pub both_sides: bool,
}

/// Point of Ω on a vertex, an edge or a face of the lattice.
pub(super) struct SimplexPoint {
    /// First of its samples `first .. first + count`, one for each cell around it.
    pub first: u32,
    pub count: u32,
    /// Lattice vertices of its simplex, with its barycentric coordinates as `weights`; [`NO_CELL`] for unused
    /// ones.
    pub corners: [u32; 3],
    pub weights: [f64; 3],
}

impl FleshGraph {
    /// Samples Ω, and links the samples that flesh connects.
    pub fn sample(
        surface: &Surface,
        space: &VoxelSpace,
        tiling: &Tiling,
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        let (points, triangles, skin) = refine(surface, space.spacing);
        let mut cell = map_parallel(points.len(), (&progress_part(progress, 0.0), STAGE), |p| {
            tiling.locate(points[p])
        })?;
        let mut position = points;
        let mut links: Vec<(u32, u32)> = triangles
            .iter()
            .flat_map(|&[a, b, c]| {
                [
                    (a.min(b), a.max(b)),
                    (b.min(c), b.max(c)),
                    (c.min(a), c.max(a)),
                ]
            })
            .collect();
        links.par_sort_unstable();
        links.dedup();

        let voxels = position.len();
        let of_voxel = tiling.voxel_cells(space);
        let mut number = vec![NO_CELL; space.len()];
        for v in (0..space.len()).filter(|&v| of_voxel[v] != NO_CELL) {
            number[v] = position.len() as u32;
            position.push(space.centre(v));
            cell.push(of_voxel[v]);
        }
        link_voxels(space, &number, &mut links);
        let on_skin = map_parallel(voxels, (&progress_part(progress, 0.4), STAGE), |s| {
            link_skin(space, &number, &cell, position[s], s)
        })?;
        links.extend(on_skin.into_iter().flatten());
        report_progress(progress, 0.8, STAGE)?;

        let mut samples = Self {
            lattice: position.len(),
            joints: Vec::new(),
            position,
            cell,
            skin,
            links,
            voxels,
        };
        samples.add_lattice(space, tiling, &number);
        Ok(samples)
    }

    /// Returns a sample as the start of a segment.
    pub fn segment_start(&self, sample: u32) -> SegmentStart {
        SegmentStart {
            at: self.position[sample as usize],
            // A point of the lattice may lie on skin by chance.
            interior: (self.voxels..self.lattice).contains(&(sample as usize)),
        }
    }

    /// Adds the points on the lattice's vertices, edges and faces that lie in Ω.
    fn add_lattice(&mut self, space: &VoxelSpace, tiling: &Tiling, number: &[u32]) {
        let simplices = tiling.simplices();
        let points: Vec<_> = simplices
            .par_iter()
            .flat_map_iter(|s| {
                let x = s.corners().map(|v| tiling.vertices[v as usize]);
                simplex_points(x.collect(), space.spacing)
                    .into_iter()
                    .filter(|(p, _)| space.contains(*p))
                    .map(move |(p, weights)| (s, p, weights))
            })
            .collect();
        for (simplex, p, weights) in points {
            self.joints.push(SimplexPoint {
                first: self.position.len() as u32,
                count: simplex.cells.len() as u32,
                corners: simplex.vertices,
                weights,
            });
            for &c in &simplex.cells {
                self.position.push(p);
                self.cell.push(c);
            }
        }
        let inner: Vec<(u32, u32)> = self
            .joints
            .par_iter()
            .with_min_len(64)
            .flat_map_iter(|joint| self.link_joint(space, number, joint))
            .collect();
        self.links.extend(inner);
    }

    /// Links each sample of a joint to a voxel around it in the same cell.
    fn link_joint(
        &self,
        space: &VoxelSpace,
        number: &[u32],
        joint: &SimplexPoint,
    ) -> Vec<(u32, u32)> {
        let from = self.segment_start(joint.first);
        let sides = joint.first..joint.first + joint.count;
        let own = |side: u32| {
            let cell = self.cell[side as usize];
            let near = space
                .voxels_around(from.at)
                .filter(|&v| number[v] != NO_CELL);
            let of_cell: Vec<usize> = near
                .filter(|&v| self.cell[number[v] as usize] == cell)
                .collect();
            reachable_voxel(space, from, of_cell).map(|v| (side, number[v]))
        };
        sides.filter_map(own).collect()
    }
}

/// Returns the nearest voxel that a segment in Ω leads to, preferably without crossing skin.
fn reachable_voxel(
    space: &VoxelSpace,
    from: SegmentStart,
    mut voxels: Vec<usize>,
) -> Option<usize> {
    let distance = |v: &usize| (space.centre(*v) - from.at).norm_squared();
    voxels.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
    let clear = voxels
        .iter()
        .find(|&&v| space.is_clear(from.at, space.centre(v)));
    let stays = |v: &&usize| {
        let to = SegmentStart {
            at: space.centre(**v),
            interior: true,
        };
        space.stays_inside(from, to)
    };
    clear.or_else(|| voxels.iter().take(3).find(stays)).copied()
}

/// Returns points at a vertex, or inside an edge or a face about a voxel apart, with their weights.
fn simplex_points(x: Vec<Vec3>, spacing: f64) -> Vec<(Vec3, [f64; 3])> {
    let longest = |a: usize, b: usize| (x[a] - x[b]).norm();
    match x.len() {
        1 => vec![(x[0], [1.0, 0.0, 0.0])],
        2 => {
            let n = ((longest(0, 1) / spacing).ceil() as usize).clamp(2, 16);
            (1..n)
                .map(|i| i as f64 / n as f64)
                .map(|t| (x[0] * (1.0 - t) + x[1] * t, [1.0 - t, t, 0.0]))
                .collect()
        }
        _ => {
            let l = longest(0, 1).max(longest(1, 2)).max(longest(2, 0));
            let n = ((l / spacing).ceil() as usize).clamp(3, 16);
            let mut points = Vec::new();
            for i in 1..n - 1 {
                for j in 1..n - i {
                    let (u, v) = (i as f64 / n as f64, j as f64 / n as f64);
                    let w = [1.0 - u - v, u, v];
                    points.push((x[0] * w[0] + x[1] * w[1] + x[2] * w[2], w));
                }
            }
            points
        }
    }
}

/// Links neighbouring voxels inside the lattice along the axes if the segment between them stays in Ω.
fn link_voxels(space: &VoxelSpace, number: &[u32], links: &mut Vec<(u32, u32)>) {
    let [x, y, z] = space.dims;
    let steps = [(1, x), (x, y), (x * y, z)];
    let found: Vec<(u32, u32)> = (0..space.len())
        .into_par_iter()
        .with_min_len(4096)
        .filter(|&v| number[v] != NO_CELL)
        .flat_map_iter(|v| {
            let place = |v: usize| SegmentStart {
                at: space.centre(v),
                interior: true,
            };
            steps.into_iter().filter_map(move |(step, n)| {
                let next = v + step;
                let fits = v / step % n + 1 < n && number[next] != NO_CELL;
                (fits && space.stays_inside(place(v), place(next)))
                    .then(|| (number[v], number[next]))
            })
        })
        .collect();
    links.extend(found);
}

/// Links a surface sample to a voxel around it, preferably of its own cell.
fn link_skin(
    space: &VoxelSpace,
    number: &[u32],
    cell: &[u32],
    at: Vec3,
    sample: usize,
) -> Option<(u32, u32)> {
    if cell[sample] == NO_CELL {
        return None;
    }
    let from = SegmentStart {
        at,
        interior: false,
    };
    let of_cell = |v: &usize| cell[number[*v] as usize] == cell[sample];
    let (own, other): (Vec<usize>, Vec<usize>) = space
        .voxels_around(at)
        .filter(|&v| number[v] != NO_CELL)
        .partition(of_cell);
    let found = reachable_voxel(space, from, own).or_else(|| reachable_voxel(space, from, other));
    found.map(|v| (sample as u32, number[v]))
}

/// Halves edges of the welded surface until none is longer than `spacing` (or there are too many samples).
/// Returns points, triangles, and the skin at each point.
fn refine(surface: &Surface, spacing: f64) -> (Vec<Vec3>, Vec<[u32; 3]>, Vec<SkinNormal>) {
    let welded = surface.welded();
    let mut points = welded.vertices.clone();
    let mut done: Vec<([u32; 3], u32)> = Vec::new();
    let mut active: Vec<([u32; 3], u32)> = welded.triangles.iter().copied().zip(0..).collect();
    while !active.is_empty() {
        let long = |a: u32, b: u32| (points[a as usize] - points[b as usize]).norm() > spacing;
        let mut edges: Vec<(u32, u32)> = active
            .iter()
            .flat_map(|&([a, b, c], _)| [(a, b), (b, c), (c, a)])
            .filter(|&(a, b)| long(a, b))
            .map(|(a, b)| (a.min(b), a.max(b)))
            .collect();
        edges.par_sort_unstable();
        edges.dedup();
        if edges.is_empty() || points.len() + edges.len() > MAX_SKIN_SAMPLES {
            break;
        }
        let first = points.len() as u32;
        for &(a, b) in &edges {
            points.push((points[a as usize] + points[b as usize]) * 0.5);
        }
        let middle = |a: u32, b: u32| {
            let at = edges.binary_search(&(a.min(b), a.max(b)));
            at.ok().map(|i| first + i as u32)
        };
        let mut next = Vec::new();
        for (t, source) in active {
            let [a, b, c] = t;
            let m = [middle(a, b), middle(b, c), middle(c, a)];
            if m == [None; 3] {
                done.push((t, source));
            } else {
                next.extend(
                    split_triangle(t, m, &points)
                        .into_iter()
                        .map(|t| (t, source)),
                );
            }
        }
        active = next;
    }
    done.append(&mut active);
    let skin = skin_normals(surface, &points, &done);
    (points, done.into_iter().map(|d| d.0).collect(), skin)
}

/// Splits a triangle with midpoints on some of its edges.
fn split_triangle([a, b, c]: [u32; 3], m: [Option<u32>; 3], points: &[Vec3]) -> Vec<[u32; 3]> {
    match m {
        [Some(d), Some(e), Some(f)] => vec![[a, d, f], [d, b, e], [f, e, c], [d, e, f]],
        [Some(d), None, None] => vec![[a, d, c], [d, b, c]],
        [Some(d), Some(e), None] => {
            // The quadrilateral a, d, e, c by its shorter diagonal.
            let length = |i: u32, j: u32| (points[i as usize] - points[j as usize]).norm_squared();
            let mut all = vec![[d, b, e]];
            if length(a, e) <= length(d, c) {
                all.extend([[a, d, e], [a, e, c]]);
            } else {
                all.extend([[a, d, c], [d, e, c]]);
            }
            all
        }
        [None, None, None] => vec![[a, b, c]],
        // The same case with the corners rotated.
        _ => split_triangle([b, c, a], [m[1], m[2], m[0]], points),
    }
}

fn skin_normals(
    surface: &Surface,
    points: &[Vec3],
    triangles: &[([u32; 3], u32)],
) -> Vec<SkinNormal> {
    let roles = surface.triangle_roles();
    let mut skin = vec![
        SkinNormal {
            normal: Vec3::zeros(),
            both_sides: false,
        };
        points.len()
    ];
    for (t, source) in triangles {
        let [a, b, c] = t.map(|v| points[v as usize]);
        let normal = (b - a).cross(&(c - a));
        for &v in t {
            skin[v as usize].normal += normal;
            skin[v as usize].both_sides |= roles[*source as usize] != TriangleRole::Skin;
        }
    }
    for s in &mut skin {
        s.normal = s.normal.try_normalize(0.0).unwrap_or_else(Vec3::zeros);
    }
    skin
}
