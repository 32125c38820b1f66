// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which points may come into which cells before a frame has passed.
//!
//! Boxes are swept from where the flesh is to where its bones carry it until the frame's end, as seen from flesh that moves along
//! with the whole, and a little wider. Cells that share a vertex are no pairs.

use super::posed::Posed;
use crate::Vec3;
use crate::aabb;
use parry3d_f64::partitioning::{Bvh, BvhBuildStrategy};

/// How much wider boxes are, in cells of the body.
const WIDER: f64 = 0.1;

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

/// All candidates, in order.
pub(crate) fn candidates(bodies: &[Swept]) -> Vec<Candidate> {
    let drift = drift(bodies);
    let boxes: Vec<Vec<(Vec3, Vec3)>> = bodies.iter().map(|b| cell_boxes(b, drift)).collect();
    let trees: Vec<Bvh> = boxes.iter().map(|boxes| tree(boxes)).collect();
    let mut found = Vec::new();
    for (i, body) in bodies.iter().enumerate() {
        for j in 0..bodies.len() {
            if i == j && !body.itself {
                continue;
            }
            for (cell, (lo, hi)) in boxes[i].iter().enumerate() {
                let proxies = body.from.skin.proxies_in(cell as u32);
                if proxies.is_empty() {
                    continue;
                }
                let query = aabb::to_parry(lo, hi);
                let mut near: Vec<u32> = trees[j].intersect_aabb(&query).collect();
                near.retain(|&into| i != j || are_apart(body, cell as u32, into));
                if near.is_empty() {
                    continue;
                }
                for proxy in proxies {
                    let (lo, hi) = point_box(body, proxy, drift);
                    for &into in &near {
                        let (a, b) = boxes[j][into as usize];
                        if (0..3).all(|k| a[k] <= hi[k] && b[k] >= lo[k]) {
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
        }
    }
    found.sort_unstable();
    found
}

/// Whether two cells of a body share no vertex.
fn are_apart(body: &Swept, a: u32, b: u32) -> bool {
    let cells = body.from.skin.body().lattice().cells();
    let (a, b) = (cells[a as usize].corners(), cells[b as usize].corners());
    a.iter().all(|v| !b.contains(v))
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
        let ends = corners.flat_map(|a| [body.from.node(a), body.to.node(a) - drift]);
        let (lo, hi) = aabb::bounds(ends);
        (lo - wider, hi + wider)
    };
    cells.iter().map(of).collect()
}

fn point_box(body: &Swept, proxy: u32, drift: Vec3) -> (Vec3, Vec3) {
    let point = &body.from.skin.proxies()[proxy as usize].point;
    let ends = [body.from.point(point), body.to.point(point) - drift];
    aabb::bounds(ends)
}

fn tree(boxes: &[(Vec3, Vec3)]) -> Bvh {
    let boxes = boxes.iter().map(|(lo, hi)| aabb::to_parry(lo, hi));
    Bvh::from_iter(BvhBuildStrategy::Binned, boxes.enumerate())
}
