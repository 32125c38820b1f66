// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which points may come into which cells before a frame has passed.
//!
//! Boxes are swept from where the flesh is to where its bones carry it until the frame's end, as seen from flesh that moves along
//! with the whole, and a little wider. Cells that share a vertex are no pairs, nor those beside which a cell lies as it does at rest;
//! and what lies beyond one side of a cell at both ends of the frame does not come into it.

use super::narrow::warps;
use super::posed::Posed;
use crate::aabb;
use crate::{Mat3, Vec3};
use parry3d_f64::partitioning::Bvh;

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

/// Cells of one body whose boxes meet that of a cell of another, or of the same.
struct Pairs {
    body: usize,
    cell: u32,
    other: usize,
    near: Vec<u32>,
}

/// All candidates, in order.
pub(crate) fn candidates(bodies: &[Swept]) -> Vec<Candidate> {
    let drift = drift(bodies);
    let boxes: Vec<Vec<(Vec3, Vec3)>> = bodies.iter().map(|b| cell_boxes(b, drift)).collect();
    let mut pairs = pairs(bodies, &boxes);
    for (i, body) in bodies.iter().enumerate() {
        let own = pairs.iter_mut();
        keep_moved(own.filter(|p| p.body == i && p.other == i), body, drift);
    }
    pairs.retain(|pair| !pair.near.is_empty());
    let mut cells: Vec<Vec<u32>> = vec![Vec::new(); bodies.len()];
    for pair in &pairs {
        cells[pair.body].push(pair.cell);
        cells[pair.other].extend(&pair.near);
    }
    let ends = |(body, cells): (&Swept, &Vec<u32>)| Ends::new(body, cells, drift);
    let ends: Vec<Ends> = bodies.iter().zip(&cells).map(ends).collect();
    let mut frames: Vec<Vec<Option<[LocalFrame; 2]>>> =
        boxes.iter().map(|b| vec![None; b.len()]).collect();
    let mut found = Vec::new();
    for mut pair in pairs {
        let (i, j) = (pair.body, pair.other);
        let lattice = bodies[i].from.skin.body().lattice().cells();
        let corners = lattice[pair.cell as usize].corners();
        let of = &ends[i];
        pair.near.retain(|&into| {
            let frames = frames[j][into as usize]
                .get_or_insert_with(|| LocalFrame::ends(&bodies[j], &ends[j], into));
            !are_parted(frames, corners.iter().map(|&a| of.0[a as usize]))
        });
        if pair.near.is_empty() {
            continue;
        }
        for proxy in bodies[i].from.skin.proxies_in(pair.cell) {
            let ends = ends_of_point(&bodies[i], proxy, drift);
            let (lo, hi) = aabb::bounds(ends);
            for &into in &pair.near {
                let (a, b) = boxes[j][into as usize];
                let apart = (0..3).any(|k| a[k] > hi[k] || b[k] < lo[k]);
                let frames = frames[j][into as usize].as_ref();
                let parted = || frames.is_some_and(|f| are_parted(f, [ends].into_iter()));
                if !apart && !parted() {
                    found.push(Candidate {
                        body: i as u32,
                        proxy,
                        other: j as u32,
                        cell: into,
                    });
                }
            }
        }
    }
    found.sort_unstable();
    found
}

/// Cells with points, and those that their boxes meet and that are no neighbours of theirs. Boxes of clusters of cells are
/// compared first.
fn pairs(bodies: &[Swept], boxes: &[Vec<(Vec3, Vec3)>]) -> Vec<Pairs> {
    let around = |(body, boxes): (&Swept, &Vec<(Vec3, Vec3)>)| -> Vec<(Vec3, Vec3)> {
        let all = |cells: &Vec<u32>| {
            let ends = cells.iter().map(|&c| boxes[c as usize]);
            aabb::bounds(ends.flat_map(|(lo, hi)| [lo, hi]))
        };
        body.from.skin.clusters().iter().map(all).collect()
    };
    let clusters: Vec<_> = bodies.iter().zip(boxes).map(around).collect();
    let trees: Vec<Bvh> = clusters
        .iter()
        .map(|b| aabb::hierarchy(b.iter().copied()))
        .collect();
    let mut pairs = Vec::new();
    for (i, body) in bodies.iter().enumerate() {
        let mut neighbour_of = vec![u32::MAX; boxes[i].len()];
        for (j, other) in bodies.iter().enumerate() {
            if i == j && !body.itself {
                continue;
            }
            for (cluster, (lo, hi)) in body.from.skin.clusters().iter().zip(&clusters[i]) {
                let near: Vec<u32> = trees[j].intersect_aabb(&aabb::to_parry(lo, hi)).collect();
                for &cell in cluster {
                    if body.from.skin.proxies_in(cell).is_empty() {
                        continue;
                    }
                    if i == j {
                        for &c in body.from.skin.neighbours(cell) {
                            neighbour_of[c as usize] = cell;
                        }
                    }
                    let (lo, hi) = boxes[i][cell as usize];
                    let meets = |into: &u32| {
                        let (a, b) = &boxes[j][*into as usize];
                        (i != j || neighbour_of[*into as usize] != cell)
                            && (0..3).all(|k| a[k] <= hi[k] && b[k] >= lo[k])
                    };
                    let within = |&c: &u32| &other.from.skin.clusters()[c as usize];
                    let near: Vec<u32> = near
                        .iter()
                        .flat_map(within)
                        .copied()
                        .filter(meets)
                        .collect();
                    if !near.is_empty() {
                        pairs.push(Pairs {
                            body: i,
                            cell,
                            other: j,
                            near,
                        });
                    }
                }
            }
        }
    }
    pairs
}

/// How a cell carries what lies around it back to rest: from where, how, to where; none of a flat one.
type Back = Option<(Vec3, Mat3, Vec3)>;

/// Leaves out cells of the same body beside which a cell lies as it does at rest, at both ends of a frame: flesh near its own place
/// touches nothing.
fn keep_moved<'a>(pairs: impl Iterator<Item = &'a mut Pairs>, body: &Swept, drift: Vec3) {
    let lattice = body.from.skin.body().lattice();
    let rest = lattice.vertices();
    let still = (STILL * body.from.skin.cell()).powi(2);
    let ends: Vec<[Vec3; 2]> = (0..rest.len())
        .map(|a| [body.from.node(a), body.to.node(a) - drift])
        .collect();
    let back = |into: u32| -> [Back; 2] {
        let corners = lattice.cells()[into as usize].corners();
        let (at, shape) = edges(corners, |a| rest[a]);
        [0, 1].map(|end| {
            let (origin, now) = edges(corners, |a| ends[a][end]);
            Some((origin, shape * now.try_inverse()?, at))
        })
    };
    let mut known: Vec<Option<[Back; 2]>> = vec![None; lattice.cells().len()];
    for pair in pairs {
        let corners = lattice.cells()[pair.cell as usize].corners();
        pair.near.retain(|&into| {
            let backs = known[into as usize].get_or_insert_with(|| back(into));
            (0..2).any(|end| {
                let Some((origin, map, at)) = &backs[end] else {
                    return true;
                };
                let moved = |a: usize| at + map * (ends[a][end] - origin) - rest[a];
                corners
                    .iter()
                    .any(|&a| moved(a as usize).norm_squared() > still)
            })
        });
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
/// moves along.
struct Ends(Vec<[Vec3; 2]>);

impl Ends {
    fn new(body: &Swept, cells: &[u32], drift: Vec3) -> Self {
        let (from, to) = (warps(&body.from, cells), warps(&body.to, cells));
        let nodes = from.iter().zip(&to).enumerate();
        let ends = |(a, (from, to)): (usize, (&Vec3, &Vec3))| {
            [body.from.node(a) + from, body.to.node(a) + to - drift]
        };
        Self(nodes.map(ends).collect())
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
    // How far all of them lie outside of each side.
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
        }
        Some(least)
    };
    let (Some(from), Some(to)) = (outside(0), outside(1)) else {
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

fn cell_boxes(body: &Swept, drift: Vec3) -> Vec<(Vec3, Vec3)> {
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
