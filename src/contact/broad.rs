// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which points may come into which cells before a frame has passed.
//!
//! Boxes are swept from where the flesh is to where its bones carry it until the frame's end, as seen from flesh that moves along
//! with the whole, and a little wider. Cells that share a vertex are no pairs, nor those beside which a cell lies as it does at rest;
//! and what lies beyond one side of a cell at both ends of the frame does not come into it.

use super::boxes::{Bounds, Boxes, meet};
use super::narrow::warps;
use super::posed::Posed;
use super::skin::ContactSkin;
use crate::aabb;
use crate::{Mat3, Vec3};
use parry3d_f64::partitioning::Bvh;
use rayon::prelude::*;
use std::sync::OnceLock;

/// How much wider boxes are, in cells of the body.
const WIDER: f64 = 0.1;
/// Cells whose corners another one carries so near to where they are at rest have not come to it, in cells: half of what a point must
/// be from its own place to touch.
const STILL: f64 = 0.25;
/// What lies farther beyond a side of a cell than this, in cells, does not come into it within a frame.
const BEYOND: f64 = 0.6;

/// A point of one body that may come into a cell of another, or of the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Candidate {
    pub body: u32,
    pub proxy: u32,
    pub other: u32,
    pub cell: u32,
}

/// A body over the time that is swept.
pub(crate) struct Swept<'a> {
    pub from: Posed<'a>,
    /// Where its lattice and its skin are expected at the end.
    pub to: Posed<'a>,
    /// Whether it may touch itself.
    pub itself: bool,
}

/// What may touch within a frame.
#[derive(Default)]
pub(crate) struct Found {
    /// In order.
    pub candidates: Vec<Candidate>,
    /// By how much the lattice of each body is moved to carry the skin as it is shown when the frame begins, `[nodes]`: sound
    /// where candidates may come into its cells.
    pub warps: Vec<Vec<Vec3>>,
}

/// A cell of one body, and those of another, or of the same, whose boxes meet its box.
struct Pairs {
    body: usize,
    cell: u32,
    other: usize,
    near: Vec<u32>,
}

/// Clusters, and cells, that one task takes: fixed, so that results do not depend on how many threads there are.
const CLUSTERS: usize = 12;
const CELLS: usize = 32;

/// All candidates.
pub(crate) fn candidates(bodies: &[Swept]) -> Found {
    let drift = drift(bodies);
    let boxes: Vec<Vec<Bounds>> = bodies.iter().map(|b| cell_boxes(b, drift)).collect();
    let pairs = pairs(bodies, &boxes, drift);
    let mut cells: Vec<Vec<u32>> = vec![Vec::new(); bodies.len()];
    for pair in &pairs {
        cells[pair.body].push(pair.cell);
        cells[pair.other].extend(&pair.near);
    }
    let ends = bodies.iter().zip(&cells);
    let ends: Vec<Ends> = ends.map(|(b, cells)| Ends::new(b, cells, drift)).collect();
    let frames = |i: usize| vec![OnceLock::new(); boxes[i].len()];
    let frames: Vec<Vec<OnceLock<[LocalFrame; 2]>>> = (0..bodies.len()).map(frames).collect();
    let found = |pair: &Pairs| {
        let (i, j) = (pair.body, pair.other);
        let lattice = bodies[i].from.skin.body().lattice().cells();
        let corners = lattice[pair.cell as usize].corners();
        let of = |into: u32| {
            let frames = &frames[j][into as usize];
            frames.get_or_init(|| LocalFrame::ends(&bodies[j], &ends[j], into))
        };
        let mut near = Vec::new();
        for &into in &pair.near {
            let posed = corners.iter().map(|&a| ends[i].0[a as usize]);
            if !are_parted(of(into), posed) {
                near.push(into);
            }
        }
        let mut found = Vec::new();
        if near.is_empty() {
            return found;
        }
        for proxy in bodies[i].from.skin.proxies_in(pair.cell) {
            let point = ends_of_point(&bodies[i], proxy, drift);
            let bounds = aabb::bounds(point);
            for &into in &near {
                let meets = meet(&boxes[j][into as usize], &bounds);
                if meets && !are_parted(of(into), [point].into_iter()) {
                    found.push(Candidate {
                        body: i as u32,
                        proxy,
                        other: j as u32,
                        cell: into,
                    });
                }
            }
        }
        found
    };
    let tasks = pairs.par_chunks(CELLS);
    let all: Vec<Vec<Candidate>> = tasks.map(|p| p.iter().flat_map(found).collect()).collect();
    let mut candidates = all.concat();
    candidates.sort_unstable();
    Found {
        candidates,
        warps: ends.into_iter().map(|e| e.1).collect(),
    }
}

/// Cells with points, and those that their boxes meet, that are no neighbours of theirs and beside which they do not lie as at rest.
/// Boxes of clusters of cells are compared first.
fn pairs(bodies: &[Swept], boxes: &[Vec<Bounds>], drift: Vec3) -> Vec<Pairs> {
    let around = |(body, boxes): (&Swept, &Vec<Bounds>)| -> Vec<Bounds> {
        let all = |cells: &Vec<u32>| {
            let ends = cells.iter().map(|&c| boxes[c as usize]);
            aabb::bounds(ends.flat_map(|(lo, hi)| [lo, hi]))
        };
        body.from.skin.clusters().iter().map(all).collect()
    };
    let clusters: Vec<_> = bodies.iter().zip(boxes).map(around).collect();
    let trees = clusters.iter().map(|b| aabb::hierarchy(b.iter().copied()));
    let trees: Vec<Bvh> = trees.collect();
    let mut pairs = Vec::new();
    for (i, body) in bodies.iter().enumerate() {
        let moved = body.itself.then(|| Moved::new(body, drift));
        for (j, other) in bodies.iter().enumerate() {
            if i == j && !body.itself {
                continue;
            }
            let skin = body.from.skin;
            let task = |clusters: &[(&Vec<u32>, &Bounds)]| {
                let mut found = Vec::new();
                let mut neighbour_of = vec![u32::MAX; boxes[i].len()];
                let mut close = Boxes::default();
                for (cluster, around) in clusters {
                    if cluster.iter().all(|&c| skin.proxies_in(c).is_empty()) {
                        continue;
                    }
                    let bounds = aabb::to_parry(&around.0, &around.1);
                    let near = trees[j].intersect_aabb(&bounds);
                    let near = near.flat_map(|c| &other.from.skin.clusters()[c as usize]);
                    close.clear();
                    for &c in near {
                        let bounds = &boxes[j][c as usize];
                        if meet(bounds, around) {
                            close.push(bounds, c);
                        }
                    }
                    for &cell in *cluster {
                        if skin.proxies_in(cell).is_empty() {
                            continue;
                        }
                        if i == j {
                            for &c in skin.neighbours(cell) {
                                neighbour_of[c as usize] = cell;
                            }
                        }
                        let near = close.meeting(&boxes[i][cell as usize]).filter(|&into| {
                            i != j
                                || neighbour_of[into as usize] != cell
                                    && moved.as_ref().is_none_or(|m| m.has(cell, into))
                        });
                        let near: Vec<u32> = near.collect();
                        if !near.is_empty() {
                            found.push(Pairs {
                                body: i,
                                cell,
                                other: j,
                                near,
                            });
                        }
                    }
                }
                found
            };
            let all: Vec<_> = skin.clusters().iter().zip(&clusters[i]).collect();
            let tasks = all.par_chunks(CLUSTERS);
            let found: Vec<Vec<Pairs>> = tasks.map(task).collect();
            pairs.extend(found.into_iter().flatten());
        }
    }
    pairs
}

/// How a cell carries what lies around it back to rest: from where, how, to where; none of a flat one.
type Back = Option<(Vec3, Mat3, Vec3)>;

/// Where flesh near its own place is at both ends of a frame: cells of the same body beside which a cell lies as it does at rest
/// are none that it may come into.
struct Moved<'a> {
    body: &'a ContactSkin,
    still: f64,
    ends: Vec<[Vec3; 2]>,
    backs: Vec<OnceLock<[Back; 2]>>,
}

impl<'a> Moved<'a> {
    fn new(body: &Swept<'a>, drift: Vec3) -> Self {
        let skin = body.from.skin;
        let nodes = 0..body.from.base.len();
        Self {
            still: (STILL * skin.cell()).powi(2),
            ends: nodes
                .map(|a| [body.from.node(a), body.to.node(a) - drift])
                .collect(),
            backs: vec![OnceLock::new(); skin.body().lattice().cells().len()],
            body: skin,
        }
    }

    fn back(&self, into: u32) -> [Back; 2] {
        let lattice = self.body.body().lattice();
        let corners = lattice.cells()[into as usize].corners();
        let (at, shape) = edges(corners, |a| lattice.vertices()[a]);
        [0, 1].map(|end| {
            let (origin, now) = edges(corners, |a| self.ends[a][end]);
            Some((origin, shape * now.try_inverse()?, at))
        })
    }

    /// Whether a cell lies otherwise beside another than at rest, at an end of the frame.
    fn has(&self, cell: u32, into: u32) -> bool {
        let lattice = self.body.body().lattice();
        let corners = lattice.cells()[cell as usize].corners();
        let backs = self.backs[into as usize].get_or_init(|| self.back(into));
        (0..2).any(|end| {
            let Some((origin, map, at)) = &backs[end] else {
                return true;
            };
            corners.iter().any(|&a| {
                let a = a as usize;
                let moved = at + map * (self.ends[a][end] - origin) - lattice.vertices()[a];
                moved.norm_squared() > self.still
            })
        })
    }
}

/// A corner of a cell and three edges from it, or of a hexahedron its middle and mean edges.
fn edges(corners: &[u32], at: impl Fn(usize) -> Vec3) -> (Vec3, Mat3) {
    let at = |k: usize| at(corners[k] as usize);
    if corners.len() < 8 {
        let o = at(0);
        return (o, Mat3::from_columns(&[at(1) - o, at(2) - o, at(3) - o]));
    }
    // Corners differ in the first coordinate by one, in the second by two, in the third by four.
    let along = |bit: usize| {
        let sign = |k: usize| if k & bit == 0 { -0.25 } else { 0.25 };
        (0..8).map(|k| at(k) * sign(k)).sum::<Vec3>()
    };
    let middle = (0..8).map(at).sum::<Vec3>() / 8.0;
    (middle, Mat3::from_columns(&[along(1), along(2), along(4)]))
}

/// Where the vertices of a lattice, warped to carry the skin as it is shown, are at both ends of a frame, as seen from flesh that
/// moves along; and the warps when it begins.
struct Ends(Vec<[Vec3; 2]>, Vec<Vec3>);

impl Ends {
    fn new(body: &Swept, cells: &[u32], drift: Vec3) -> Self {
        let (from, to) = rayon::join(|| warps(&body.from, cells), || warps(&body.to, cells));
        let nodes = from.iter().zip(&to).enumerate();
        let ends = |(a, (from, to)): (usize, (&Vec3, &Vec3))| {
            [body.from.node(a) + from, body.to.node(a) + to - drift]
        };
        Self(nodes.map(ends).collect(), from)
    }
}

/// Coordinates in which a cell that is not bent is the tetrahedron of the axes' ends, or a cube around the origin.
#[derive(Clone, Copy)]
struct LocalFrame {
    origin: Vec3,
    inverse: Mat3,
    /// Of which shape the cell is; none: of another, or it is flat.
    shape: Option<LocalShape>,
}

#[derive(Clone, Copy)]
enum LocalShape {
    Tetrahedron,
    Cube,
}

impl LocalFrame {
    /// Those of a cell at both ends of a frame.
    fn ends(body: &Swept, ends: &Ends, cell: u32) -> [Self; 2] {
        let corners = body.from.skin.body().lattice().cells()[cell as usize].corners();
        [0, 1].map(|end| {
            let (origin, edges) = edges(corners, |a| ends.0[a][end]);
            match corners.len() {
                4 => Self::new(origin, edges, LocalShape::Tetrahedron),
                8 => Self::new(origin, edges, LocalShape::Cube),
                _ => Self::new(origin, Mat3::zeros(), LocalShape::Cube),
            }
        })
    }

    fn new(origin: Vec3, edges: Mat3, shape: LocalShape) -> Self {
        let inverse = edges
            .try_inverse()
            .filter(|m| m.iter().all(|x| x.is_finite()));
        Self {
            origin,
            shape: inverse.map(|_| shape),
            inverse: inverse.unwrap_or_else(Mat3::zeros),
        }
    }
}

/// Whether points lie beyond one side of a cell, the same at both ends of a frame, by more than [`BEYOND`] of it.
fn are_parted(frames: &[LocalFrame; 2], points: impl Iterator<Item = [Vec3; 2]> + Clone) -> bool {
    // How far all of them lie outside of each side; none once they are outside of no side.
    let outside = |end: usize| {
        let frame = &frames[end];
        let shape = frame.shape?;
        let mut least = [f64::INFINITY; 6];
        for ends in points.clone() {
            let x = frame.inverse * (ends[end] - frame.origin);
            let sides = match shape {
                LocalShape::Tetrahedron => {
                    let last = x.x + x.y + x.z - 1.0;
                    [-x.x, -x.y, -x.z, last, last, last]
                }
                LocalShape::Cube => {
                    let [a, b, c] = [x.x, x.y, x.z];
                    [-a, -b, -c, a, b, c].map(|x| x - 0.5)
                }
            };
            for (least, side) in least.iter_mut().zip(sides) {
                *least = least.min(side);
            }
            if least.iter().all(|side| *side <= BEYOND) {
                return None;
            }
        }
        Some(least)
    };
    let Some((from, to)) = outside(0).and_then(|from| Some((from, outside(1)?))) else {
        return false;
    };
    from.iter().zip(to).any(|(a, b)| *a > BEYOND && b > BEYOND)
}

/// By how much all bodies move together.
fn drift(bodies: &[Swept]) -> Vec3 {
    let (mut sum, mut count) = (Vec3::zeros(), 0);
    for body in bodies {
        for a in 0..body.from.base.len() {
            sum += body.to.node(a) - body.from.node(a);
            count += 1;
        }
    }
    sum / f64::from(count.max(1))
}

fn cell_boxes(body: &Swept, drift: Vec3) -> Vec<Bounds> {
    let wider = Vec3::repeat(WIDER * body.from.skin.cell());
    let cells = body.from.skin.body().lattice().cells();
    let of = |cell: &crate::lattice::Cell| {
        let corners = cell.corners().iter().map(|&a| a as usize);
        let (lo, hi) =
            aabb::bounds(corners.flat_map(|a| [body.from.node(a), body.to.node(a) - drift]));
        (lo - wider, hi + wider)
    };
    cells.iter().map(of).collect()
}

/// Where a point is shown at both ends of a frame.
fn ends_of_point(body: &Swept, proxy: u32, drift: Vec3) -> [Vec3; 2] {
    let point = &body.from.skin.proxies()[proxy as usize].point;
    [body.from.point(point), body.to.point(point) - drift]
}
