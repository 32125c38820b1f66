// SPDX-License-Identifier: MIT OR Apache-2.0
//! Thickening of thin joints, so that parts connected on the surface are connected in the mesh.
//!
//! A limb thinner than a cell breaks the mesh into pieces. The shortest paths along the surface that join all
//! pieces are selected (a spanning tree). They are moved to the middle of the flesh and followed on the lattice
//! by a thin tube.

use super::bcc::{Bcc, BccPoint};
use super::faces;
use super::filled_domain::StuffedMesh;
use crate::Vec3;
use crate::geometry::sets::DisjointSets;
use crate::geometry::tetrahedron::volume;
use crate::progress::{Cancelled, Progress};
use crate::surface::Surface;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Radius of a tube, as a share of the cubes' edge: wide enough that its axis is not moved onto its own
/// boundary.
const TUBE_RADIUS: f64 = 0.42;
/// Step along a path, as a share of the cubes' edge.
const PATH_STEP: f64 = 0.05;

/// Segment of a tube: the ends of its axis, relative to the lattice's centre.
pub(super) type TubeAxis = (Vec3, Vec3);

/// Returns the depth of a point in the tubes, relative to the lattice's centre; negative outside.
pub(super) fn tube_depth(axes: &[TubeAxis], grid: &Bcc, p: Vec3) -> f64 {
    let distance = |a: &TubeAxis| {
        let d = a.1 - a.0;
        let t = ((p - a.0).dot(&d) / d.norm_squared().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        (p - a.0 - d * t).norm()
    };
    let nearest = axes.iter().map(distance).fold(f64::INFINITY, f64::min);
    TUBE_RADIUS * 2.0 * grid.half - nearest
}

/// Returns for each tetrahedron its piece, numbered in order of appearance; `None` in crumbs not worth joining.
fn pieces(
    stuffed: &StuffedMesh,
    edge: f64,
    progress: &dyn Progress,
) -> Result<Vec<Option<u32>>, Cancelled> {
    let piece = faces::pieces(&stuffed.tets, progress)?;
    let count = piece.iter().max().map_or(0, |&p| p as usize + 1);
    let mut volumes = vec![0.0; count];
    for (t, &p) in stuffed.tets.iter().zip(&piece) {
        volumes[p as usize] += volume(&t.map(|v| stuffed.nodes[v as usize]));
    }
    let largest = volumes.iter().copied().fold(0.0, f64::max);
    let crumb = edge.powi(3).min(0.25 * largest);
    let kept = |p: u32| (volumes[p as usize] >= crumb).then_some(p);
    Ok(piece.into_iter().map(kept).collect())
}

/// Counts the pieces worth joining.
pub(super) fn count_pieces(
    stuffed: &StuffedMesh,
    grid: &Bcc,
    progress: &dyn Progress,
) -> Result<usize, Cancelled> {
    let all = pieces(stuffed, 2.0 * grid.half, progress)?;
    let mut kept: Vec<u32> = all.into_iter().flatten().collect();
    kept.sort_unstable();
    kept.dedup();
    Ok(kept.len())
}

/// Builds tubes that join the pieces of a mesh as far as the surface connects them.
pub(super) fn build_tubes(
    surface: &Surface,
    grid: &Bcc,
    stuffed: &StuffedMesh,
    progress: &dyn Progress,
) -> Result<Vec<TubeAxis>, Cancelled> {
    let of_tet = pieces(stuffed, 2.0 * grid.half, progress)?;
    let mut of_node = vec![None; stuffed.nodes.len()];
    for (t, &p) in stuffed.tets.iter().zip(&of_tet) {
        t.iter()
            .for_each(|&v| of_node[v as usize] = of_node[v as usize].or(p));
    }
    let piece_at = |at: BccPoint| {
        let node = stuffed.node_of_point[grid.index(at)];
        of_node.get(node as usize).copied().flatten()
    };
    let welded = surface.welded();
    // Each vertex of the surface starts in the piece of the nearest node of the lattice, if any is near.
    let start: Vec<Option<(u32, BccPoint)>> = welded
        .vertices
        .iter()
        .map(|x| nearest_point(grid, x - grid.centre, |at| piece_at(at).is_some()))
        .map(|at| at.and_then(|at| Some((piece_at(at)?, at))))
        .collect();
    let ways = SurfacePaths::new(&welded.vertices, &welded.triangles, &start);
    let count = of_tet.iter().flatten().max().map_or(0, |&p| p as usize + 1);
    let mut axes = Vec::new();
    let middle = FleshMiddle::new(surface);
    for (u, v) in ways.meeting_edges(&welded.triangles, &welded.vertices, count) {
        let (mut way, to) = (ways.path_to_start(u), ways.path_to_start(v));
        let ends = [way.last(), to.last()].map(|w| w.and_then(|&w| start[w as usize]));
        way.reverse();
        way.extend(to);
        let mut line: Vec<Vec3> = Vec::new();
        line.extend(ends[0].map(|e| grid.position(e.1)));
        line.extend(
            way.iter()
                .map(|&w| middle.middle_point(w, 2.0 * grid.half) - grid.centre),
        );
        line.extend(ends[1].map(|e| grid.position(e.1)));
        let points = points_along(grid, &line);
        axes.extend(
            points
                .windows(2)
                .map(|w| (grid.position(w[0]), grid.position(w[1]))),
        );
    }
    Ok(axes)
}

/// Returns the nearest chosen point of the lattice within 1.7 half edges.
pub(super) fn nearest_point(
    grid: &Bcc,
    p: Vec3,
    chosen: impl Fn(BccPoint) -> bool,
) -> Option<BccPoint> {
    let q = p / grid.half;
    let low: [i32; 3] = std::array::from_fn(|k| q[k].floor() as i32);
    let candidates = (0..64).filter_map(|i| {
        let at = [
            low[0] - 1 + i % 4,
            low[1] - 1 + i / 4 % 4,
            low[2] - 1 + i / 16,
        ];
        let odd = at.map(|x| x & 1);
        let distance = (grid.position(at) - p).norm();
        (odd[0] == odd[1]
            && odd[1] == odd[2]
            && distance <= 1.7 * grid.half
            && grid.contains(at)
            && chosen(at))
        .then_some((distance, at))
    });
    candidates
        .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
        .map(|c| c.1)
}

/// Returns the points of the lattice along a line: the nearest to each step of it.
fn points_along(grid: &Bcc, line: &[Vec3]) -> Vec<BccPoint> {
    let mut points: Vec<BccPoint> = Vec::new();
    for pair in line.windows(2) {
        let steps = ((pair[1] - pair[0]).norm() / (PATH_STEP * 2.0 * grid.half))
            .ceil()
            .max(1.0) as usize;
        for i in 0..=steps {
            let p = pair[0] + (pair[1] - pair[0]) * (i as f64 / steps as f64);
            points.extend(nearest_point(grid, p, |_| true));
        }
    }
    points.dedup();
    points
}

/// Shortest paths along the edges of a surface from its start vertices.
struct SurfacePaths {
    length: Vec<f64>,
    piece: Vec<Option<u32>>,
    /// Previous vertex on the path; itself at a start.
    before: Vec<u32>,
}

impl SurfacePaths {
    fn new(x: &[Vec3], triangles: &[[u32; 3]], start: &[Option<(u32, BccPoint)>]) -> Self {
        let mut around: Vec<Vec<u32>> = vec![Vec::new(); x.len()];
        for t in triangles {
            for i in 0..3 {
                around[t[i] as usize].extend([t[(i + 1) % 3], t[(i + 2) % 3]]);
            }
        }
        let mut ways = Self {
            length: start
                .iter()
                .map(|s| if s.is_some() { 0.0 } else { f64::INFINITY })
                .collect(),
            piece: start.iter().map(|s| s.map(|s| s.0)).collect(),
            before: (0..x.len() as u32).collect(),
        };
        // Lengths are not negative, so their bits sort in the same order.
        let starts = (0u32..).zip(start).filter(|(_, s)| s.is_some());
        let mut heap: BinaryHeap<Reverse<(u64, u32)>> =
            starts.map(|(v, _)| Reverse((0, v))).collect();
        while let Some(Reverse((bits, v))) = heap.pop() {
            let length = f64::from_bits(bits);
            if length > ways.length[v as usize] {
                continue;
            }
            for &w in &around[v as usize] {
                let longer = length + (x[v as usize] - x[w as usize]).norm();
                if longer < ways.length[w as usize] {
                    ways.length[w as usize] = longer;
                    ways.piece[w as usize] = ways.piece[v as usize];
                    ways.before[w as usize] = v;
                    heap.push(Reverse((longer.to_bits(), w)));
                }
            }
        }
        ways
    }

    /// Returns the edges at which the shortest paths that join all pieces meet.
    fn meeting_edges(&self, triangles: &[[u32; 3]], x: &[Vec3], pieces: usize) -> Vec<(u32, u32)> {
        let mut meetings: Vec<(f64, u32, u32)> = Vec::new();
        for t in triangles {
            for i in 0..3 {
                let (u, v) = (t[i].min(t[(i + 1) % 3]), t[i].max(t[(i + 1) % 3]));
                let (a, b) = (self.piece[u as usize], self.piece[v as usize]);
                if a.is_some() && b.is_some() && a != b {
                    let edge = (x[u as usize] - x[v as usize]).norm();
                    let length = self.length[u as usize] + edge + self.length[v as usize];
                    meetings.push((length, u, v));
                }
            }
        }
        meetings.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let mut sets = DisjointSets::new(pieces);
        let mut joints = Vec::new();
        for (_, u, v) in meetings {
            if let (Some(a), Some(b)) = (self.piece[u as usize], self.piece[v as usize])
                && sets.join(a, b)
            {
                joints.push((u, v));
            }
        }
        joints
    }

    /// Returns the path back from a vertex to its start.
    fn path_to_start(&self, mut v: u32) -> Vec<u32> {
        let mut way = vec![v];
        while self.before[v as usize] != v {
            v = self.before[v as usize];
            way.push(v);
        }
        way
    }
}

/// Positions in the middle of the flesh under a surface.
struct FleshMiddle<'a> {
    surface: &'a Surface,
    inward: Vec<Vec3>,
}

impl<'a> FleshMiddle<'a> {
    fn new(surface: &'a Surface) -> Self {
        let welded = surface.welded();
        let mut inward = vec![Vec3::zeros(); welded.vertices.len()];
        for t in &welded.triangles {
            let [a, b, c] = t.map(|v| welded.vertices[v as usize]);
            let n = (c - a).cross(&(b - a));
            t.iter().for_each(|&v| inward[v as usize] += n);
        }
        Self { surface, inward }
    }

    /// Returns the point half way through the flesh under a vertex, at most `most` deep.
    fn middle_point(&self, v: u32, most: f64) -> Vec3 {
        let x = self.surface.welded().vertices[v as usize];
        let Some(n) = self.inward[v as usize].try_normalize(0.0) else {
            return x;
        };
        let from = x + n * (1e-6 * self.surface.size());
        match self.surface.intersect_ray(from, n) {
            Some(hit) if !hit.front => x + n * (hit.distance / 2.0).min(most),
            _ => x,
        }
    }
}
