// SPDX-License-Identifier: MIT OR Apache-2.0
//! Orientation of triangles: neighbours consistent, bodies outward, cavities inward.
//!
//! A *patch* is a set of triangles connected across manifold edges (edges of exactly two triangles). Breadth-first
//! search makes each consistent and keeps the direction that most of its area has in the input. A patch that
//! cannot be made consistent (a Moebius band) keeps one line of disagreement. Then patches are turned outward,
//! from the outside in. A patch enclosed by another keeps its direction *relative* to it. So an inward shell stays
//! a cavity, and a mesh that is wholly inside out is simply reversed.
use super::winding::WindingTree;
use crate::Vec3;
use parry3d_f64::bounding_volume::Aabb;
use parry3d_f64::math::Vector;
use parry3d_f64::partitioning::{Bvh, BvhBuildStrategy};

/// Triangles connected across manifold edges, oriented.
#[derive(Debug, Clone)]
pub(super) struct SurfacePatch {
    /// Triangles of the patch, ascending.
    pub triangles: Vec<u32>,
    /// Area, local units squared.
    pub area: f64,
    /// Signed volume by tetrahedra from the area centroid, local units cubed.
    pub volume: f64,
    /// Whether every edge has exactly two triangles.
    pub closed: bool,
    /// Whether all triangles agree across manifold edges.
    pub orientable: bool,
    /// Boundary as a chain: directed edges that are not cancelled by another triangle of the patch.
    pub rim: Vec<(u32, u32)>,
}

/// Result of orienting a surface.
pub(super) struct Orientation {
    pub patches: Vec<SurfacePatch>,
    /// For each triangle, whether its orientation was reversed.
    pub flipped: Vec<bool>,
    pub boundary_edges: usize,
    pub non_manifold_edges: usize,
    /// Whether neighbours agreed in the input.
    pub consistent: bool,
}

/// Orients the triangles in place. Their corners must be distinct.
pub(super) fn orient(vertices: &[Vec3], triangles: &mut [[u32; 3]]) -> Orientation {
    let mut found = find_patches(vertices, triangles);
    for (t, _) in found.flipped.iter().enumerate().filter(|(_, f)| **f) {
        triangles[t].swap(1, 2);
    }
    let trusted: Vec<bool> = found.patches.iter().map(|p| p.trusted).collect();
    let measured: Vec<SurfacePatch> = found
        .patches
        .into_iter()
        .map(|raw| raw.into_patch(vertices, triangles))
        .collect();
    let turn = patches_to_flip(vertices, triangles, &measured, &trusted);
    let mut patches = measured;
    for (patch, _) in patches.iter_mut().zip(turn).filter(|(_, turn)| *turn) {
        patch.volume = -patch.volume;
        patch.rim.iter_mut().for_each(|(a, b)| std::mem::swap(a, b));
        for &t in &patch.triangles {
            triangles[t as usize].swap(1, 2);
            found.flipped[t as usize] ^= true;
        }
    }
    Orientation {
        patches,
        flipped: found.flipped,
        boundary_edges: found.boundary_edges,
        non_manifold_edges: found.non_manifold_edges,
        consistent: found.consistent,
    }
}

/// A patch before its triangles are turned.
struct RawPatch {
    triangles: Vec<u32>,
    closed: bool,
    orientable: bool,
    /// True if most of its area had one orientation in the input, so that this orientation is meaningful.
    trusted: bool,
}

struct RawPatches {
    patches: Vec<RawPatch>,
    flipped: Vec<bool>,
    boundary_edges: usize,
    non_manifold_edges: usize,
    consistent: bool,
}

/// Neighbour across one side of a triangle.
#[derive(Clone, Copy)]
enum SideNeighbour {
    /// The single neighbour, and whether its orientation is opposite.
    Manifold(u32, bool),
    Open,
}

/// Splits triangles into patches and finds the triangles to reverse so that each patch is consistent.
fn find_patches(vertices: &[Vec3], triangles: &[[u32; 3]]) -> RawPatches {
    let (sides, boundary_edges, non_manifold_edges) = side_neighbours(triangles);
    let area = |t: u32| area(vertices, &triangles[t as usize]);
    let mut flipped = vec![false; triangles.len()];
    let mut seen = vec![false; triangles.len()];
    let mut out = Vec::new();
    let mut consistent = true;
    for start in 0..triangles.len() as u32 {
        if std::mem::replace(&mut seen[start as usize], true) {
            continue;
        }
        let mut members = vec![start];
        let (mut closed, mut orientable) = (true, true);
        let mut next = 0;
        while next < members.len() {
            let t = members[next] as usize;
            next += 1;
            for side in sides[t] {
                let SideNeighbour::Manifold(other, opposed) = side else {
                    closed = false;
                    continue;
                };
                consistent &= !opposed;
                let want = flipped[t] ^ opposed;
                if !std::mem::replace(&mut seen[other as usize], true) {
                    flipped[other as usize] = want;
                    members.push(other);
                } else if flipped[other as usize] != want {
                    orientable = false;
                }
            }
        }
        members.sort_unstable();
        let total: f64 = members.iter().map(|&t| area(t)).sum();
        let turned: f64 = members
            .iter()
            .filter(|&&t| flipped[t as usize])
            .map(|&t| area(t))
            .sum();
        if turned > 0.5 * total {
            members.iter().for_each(|&t| flipped[t as usize] ^= true);
        }
        out.push(RawPatch {
            triangles: members,
            closed,
            orientable,
            trusted: turned.min(total - turned) <= 0.25 * total,
        });
    }
    RawPatches {
        patches: out,
        flipped,
        boundary_edges,
        non_manifold_edges,
        consistent,
    }
}

/// Returns the neighbours across each triangle's sides, and the numbers of boundary and of non-manifold edges.
fn side_neighbours(triangles: &[[u32; 3]]) -> (Vec<[SideNeighbour; 3]>, usize, usize) {
    let mut edges: Vec<(u32, u32, u32, u8)> = (0u32..)
        .zip(triangles)
        .flat_map(|(t, c)| {
            [0u8, 1, 2].map(|k| {
                let (a, b) = (c[k as usize], c[(k as usize + 1) % 3]);
                (a.min(b), a.max(b), t, k)
            })
        })
        .collect();
    edges.sort_unstable();
    let mut sides = vec![[SideNeighbour::Open; 3]; triangles.len()];
    let (mut boundary, mut non_manifold) = (0, 0);
    for group in edges.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        match group {
            [_] => boundary += 1,
            [(_, _, s, i), (_, _, t, j)] => {
                let opposed =
                    triangles[*s as usize][*i as usize] == triangles[*t as usize][*j as usize];
                sides[*s as usize][*i as usize] = SideNeighbour::Manifold(*t, opposed);
                sides[*t as usize][*j as usize] = SideNeighbour::Manifold(*s, opposed);
            }
            _ => non_manifold += 1,
        }
    }
    (sides, boundary, non_manifold)
}

impl RawPatch {
    fn into_patch(self, vertices: &[Vec3], triangles: &[[u32; 3]]) -> SurfacePatch {
        let (area, volume) = measure(vertices, triangles, self.triangles.iter().copied());
        let rim = if self.closed && self.orientable {
            Vec::new()
        } else {
            let corners = self.triangles.iter().map(|&t| triangles[t as usize]);
            uncancelled_edges(corners.flat_map(|[a, b, c]| [(a, b), (b, c), (c, a)]))
        };
        SurfacePatch {
            rim,
            triangles: self.triangles,
            area,
            volume,
            closed: self.closed,
            orientable: self.orientable,
        }
    }
}

/// Returns the directed edges that remain after opposite ones cancel.
pub(super) fn uncancelled_edges(edges: impl Iterator<Item = (u32, u32)>) -> Vec<(u32, u32)> {
    let mut edges: Vec<(u32, u32, i32)> = edges
        .map(|(a, b)| if a < b { (a, b, 1) } else { (b, a, -1) })
        .collect();
    edges.sort_unstable();
    let mut left = Vec::new();
    for group in edges.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let (a, b, _) = group[0];
        let sum: i32 = group.iter().map(|e| e.2).sum();
        let edge = if sum > 0 { (a, b) } else { (b, a) };
        left.extend(std::iter::repeat_n(edge, sum.unsigned_abs() as usize));
    }
    left
}

/// Returns the area, and the signed volume by tetrahedra from the area centroid.
fn measure(
    vertices: &[Vec3],
    triangles: &[[u32; 3]],
    chosen: impl Iterator<Item = u32> + Clone,
) -> (f64, f64) {
    let corners = |t: u32| triangles[t as usize].map(|v| vertices[v as usize]);
    let mut area = 0.0;
    let mut moment = Vec3::zeros();
    for t in chosen.clone() {
        let a = self::area(vertices, &triangles[t as usize]);
        area += a;
        moment += corners(t).iter().sum::<Vec3>() * (a / 3.0);
    }
    let centre = if area > 0.0 {
        moment / area
    } else {
        Vec3::zeros()
    };
    let volume = chosen
        .map(|t| {
            let [a, b, c] = corners(t).map(|x| x - centre);
            a.dot(&b.cross(&c)) / 6.0
        })
        .sum();
    (area, volume)
}

fn area(vertices: &[Vec3], t: &[u32; 3]) -> f64 {
    let [a, b, c] = t.map(|v| vertices[v as usize]);
    (b - a).cross(&(c - a)).norm() * 0.5
}

/// Volume over area^(3/2) below which an open patch does not define its outside (a sphere has 0.094).
const MIN_OPEN_VOLUME_RATIO: f64 = 0.005;

impl SurfacePatch {
    /// Returns whether an oriented patch is the inner wall of something hollow: it is closed and faces inward.
    pub fn is_cavity(&self) -> bool {
        self.closed && self.orientable && self.defines_outside() && self.volume < 0.0
    }

    /// Returns whether the sign of the volume defines the outside.
    fn defines_outside(&self) -> bool {
        let least = if self.closed {
            1e-10
        } else {
            MIN_OPEN_VOLUME_RATIO
        };
        self.volume.abs() > least * self.area.powf(1.5)
    }
}

/// Returns for each patch whether to reverse it so that bodies face outward.
fn patches_to_flip(
    vertices: &[Vec3],
    triangles: &[[u32; 3]],
    patches: &[SurfacePatch],
    trusted: &[bool],
) -> Vec<bool> {
    let parents = enclosing_patches(vertices, triangles, patches);
    let mut turn = vec![false; patches.len()];
    // Larger boxes first: an enclosing patch is decided before those inside it.
    let mut order: Vec<usize> = (0..patches.len()).collect();
    let sizes: Vec<f64> = patches
        .iter()
        .map(|p| diagonal(vertices, triangles, p))
        .collect();
    order.sort_by(|&i, &j| sizes[j].total_cmp(&sizes[i]).then(i.cmp(&j)));
    for i in order {
        let inside_out = patches[i].defines_outside() && patches[i].volume < 0.0;
        turn[i] = match parents[i] {
            Some(parent) if trusted[parent] && trusted[i] => turn[parent],
            _ => inside_out,
        };
    }
    // Flat outermost patches have no outside of their own, but may have one together (six walls of a box with gaps).
    let undecided: Vec<usize> = (0..patches.len())
        .filter(|&i| parents[i].is_none() && !patches[i].defines_outside())
        .collect();
    let together = undecided
        .iter()
        .flat_map(|&i| patches[i].triangles.iter().copied());
    let (area, volume) = measure(vertices, triangles, together);
    if volume < -MIN_OPEN_VOLUME_RATIO * area.powf(1.5) {
        undecided.iter().for_each(|&i| turn[i] = true);
    }
    turn
}

/// Returns for each patch the smallest patch that encloses it.
fn enclosing_patches(
    vertices: &[Vec3],
    triangles: &[[u32; 3]],
    patches: &[SurfacePatch],
) -> Vec<Option<usize>> {
    let boxes: Vec<Aabb> = patches
        .iter()
        .map(|p| bounding_box(vertices, triangles, p))
        .collect();
    let hollow: Vec<usize> = (0..patches.len())
        .filter(|&i| {
            patches[i].orientable && patches[i].triangles.len() > 3 && patches[i].defines_outside()
        })
        .collect();
    let mut trees: Vec<Option<WindingTree>> = vec![None; patches.len()];
    let bvh = Bvh::from_iter(
        BvhBuildStrategy::Binned,
        hollow.iter().map(|&i| boxes[i]).enumerate(),
    );
    let mut out = vec![None; patches.len()];
    for (i, patch) in patches.iter().enumerate() {
        let samples = samples(vertices, triangles, patch);
        let Some(first) = samples.first() else {
            continue;
        };
        let at = Vector::new(first.x, first.y, first.z);
        let point = Aabb::new(at, at);
        let mut candidates: Vec<usize> = bvh
            .intersect_aabb(&point)
            .map(|leaf| hollow[leaf as usize])
            .filter(|&j| j != i && encloses(&boxes[j], &boxes[i]))
            .collect();
        candidates.sort_by(|&a, &b| {
            let (va, vb) = (patches[a].volume.abs(), patches[b].volume.abs());
            va.total_cmp(&vb).then(a.cmp(&b))
        });
        out[i] = candidates.into_iter().find(|&j| {
            let tree = trees[j].get_or_insert_with(|| {
                WindingTree::new(vertices, triangles, patches[j].triangles.clone())
            });
            samples.iter().all(|x| tree.winding_number(x).abs() > 0.5)
        });
    }
    out
}

/// Returns whether a box contains another, different box.
fn encloses(outer: &Aabb, inner: &Aabb) -> bool {
    outer.mins.cmple(inner.mins).all() && outer.maxs.cmpge(inner.maxs).all() && outer != inner
}

fn bounding_box(vertices: &[Vec3], triangles: &[[u32; 3]], patch: &SurfacePatch) -> Aabb {
    let corners = patch.triangles.iter().flat_map(|&t| triangles[t as usize]);
    let (lo, hi) = crate::geometry::aabb::bounds(corners.map(|v| vertices[v as usize]));
    Aabb::new(Vector::new(lo.x, lo.y, lo.z), Vector::new(hi.x, hi.y, hi.z))
}

fn diagonal(vertices: &[Vec3], triangles: &[[u32; 3]], patch: &SurfacePatch) -> f64 {
    bounding_box(vertices, triangles, patch).extents().length()
}

/// Returns the centroids of at most eight triangles spread over a patch.
fn samples(vertices: &[Vec3], triangles: &[[u32; 3]], patch: &SurfacePatch) -> Vec<Vec3> {
    let step = patch.triangles.len().div_ceil(8).max(1);
    patch
        .triangles
        .iter()
        .step_by(step)
        .map(|&t| {
            triangles[t as usize]
                .iter()
                .map(|&v| vertices[v as usize])
                .sum::<Vec3>()
                / 3.0
        })
        .collect()
}
