// SPDX-License-Identifier: MIT OR Apache-2.0
//! Search for points in other flesh, and for the skin there, in the rest shape. [mcadams2011; docs/methods/contact.md]
//!
//! A point in a posed cell has a position in that cell at rest. There its depth and the nearest point of the skin are known, whatever the pose. Flesh
//! that is where it was modelled lies only at its own position, so that a sculpt never touches itself. Cells are first warped by the difference
//! between the displayed skin and the skin that the lattice carries.

use crate::contact::posed_flesh::PosedFlesh;
use crate::contact::search::broad::{ContactCandidate, FrameCandidates};
use crate::contact::skin::SkinPoint;
use crate::geometry::aabb;
use crate::lattice::{Cell, Corners};
use crate::surface::closest_of_triangle;
use crate::{Mat3, Vec3};
use rayon::prelude::*;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::OnceLock;

/// Farthest distance outside of the skin at which a point becomes a contact, in cells, so that contacts that close within a step exist already. Twice
/// the value gives half as many contacts more, which part no more.
const CONTACT_MARGIN: f64 = 0.1;
/// Determinant below which a cell counts as flat, so that positions in it mean nothing: errors of coordinates are then fifty times those of points.
/// Half and twice the value give the same depths.
pub(crate) const FLAT_DETERMINANT: f64 = 0.02;
/// Distance at rest below which flesh does not touch itself, in cells: within a cell nothing can fold onto itself. Half and twice the value give the
/// same depths.
const MIN_REST_DISTANCE: f64 = 0.5;
/// Least distance of a point from its own rest position, over its depth below the skin that it came through. A ratio of one would take stretched
/// flesh for other flesh. Half and twice the value give the same depths.
const MIN_DEPTH_RATIO: f64 = 2.0;
/// Largest distance of displayed skin from a point: a multiple of their distance at rest, plus a number of cells. Skin farther away was found through
/// a cell that is far from its rest shape. Half and twice the value give the same depths.
const MAX_STRETCH: f64 = 2.0;
const STRETCH_ALLOWANCE: f64 = 0.25;
/// Largest depth of a contact in flesh of the same body, in cells: beyond the middle of a cell the nearest skin is on the wrong side. Half and twice
/// the value give the same depths.
const MAX_SELF_DEPTH: f64 = 0.5;
/// Largest cosine between normals that meet in a crease, which face each other. Above it skin lies upon skin. Half and twice the value give the same
/// depths.
pub(crate) const MAX_NORMAL_COSINE: f64 = 0.3;

/// Contact pair: a point of one skin at a point of another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Touch {
    /// Index of the pushed body, and number of the proxy on its skin.
    pub body: u32,
    pub proxy: u32,
    /// Index of the touched body, or of a collider, counted after the bodies; and the touched point.
    pub other: u32,
    pub target: SkinPoint,
    /// Outward normal at the target.
    pub normal: Vec3,
    /// Signed distance at rest from the skin, negative inside, metres; for colliders at the present instant.
    pub depth: f64,
    /// 1; −1 for a point behind a sheet.
    pub side: f64,
}

/// Search in the steps of a frame, with the data kept from one step to the next.
#[derive(Default)]
pub(crate) struct NarrowPhase {
    candidates: Vec<ContactCandidate>,
    /// Index in `warped_cells` of each candidate's cell; and of each cell of each body.
    cell_numbers: Vec<u32>,
    numbers: Vec<Vec<u32>>,
    warped_cells: Vec<WarpedCell>,
    /// Lattice vertices of these cells, by body, ascending.
    nodes: Vec<Vec<u32>>,
    /// Displacements with which the lattice carries the displayed skin: at the start of the frame, and rotated to the present.
    warps: Vec<Vec<Vec3>>,
    turned: Vec<Vec<Vec3>>,
    /// Range of candidates of each task, and its touches. A point's candidates are in one task, and tasks do not depend on the number of threads, so
    /// that results do not either.
    parts: Vec<(Range<usize>, Vec<Touch>)>,
}

/// A warped cell that candidates may come into, at one instant.
struct WarpedCell {
    body: u32,
    cell: u32,
    bounds: (Vec3, Vec3),
    /// Test computed when a point is in the box; `None` for a flat cell.
    inside: OnceLock<Option<RejectionTest>>,
}

/// Quick rejection test for a tetrahedron: a corner, and the inverse matrix of the edges from it.
struct RejectionTest(Option<(Vec3, Mat3)>);

impl NarrowPhase {
    /// Marks a cell without a number: no list grows as long.
    const UNNUMBERED_CELL: u32 = u32::MAX;
    /// Approximate number of candidates of one task. It changes the speed alone.
    const TASK_CANDIDATES: usize = 256;

    /// Takes over the candidates of a frame.
    pub fn begin(&mut self, bodies: &[PosedFlesh], found: FrameCandidates) {
        (self.candidates, self.warps) = (found.candidates, found.warps);
        self.warped_cells.clear();
        self.cell_numbers.clear();
        self.numbers.resize_with(bodies.len(), Vec::new);
        self.nodes.resize_with(bodies.len(), Vec::new);
        self.nodes.iter_mut().for_each(Vec::clear);
        for (numbers, body) in self.numbers.iter_mut().zip(bodies) {
            numbers.clear();
            numbers.resize(
                body.skin.body().lattice().cells().len(),
                Self::UNNUMBERED_CELL,
            );
        }
        for candidate in &self.candidates {
            let (i, cell) = (candidate.other as usize, candidate.cell as usize);
            let number = &mut self.numbers[i][cell];
            if *number == Self::UNNUMBERED_CELL {
                *number = self.warped_cells.len() as u32;
                self.warped_cells.push(WarpedCell {
                    body: candidate.other,
                    cell: candidate.cell,
                    bounds: (Vec3::zeros(), Vec3::zeros()),
                    inside: OnceLock::new(),
                });
                let lattice = bodies[i].skin.body().lattice().cells();
                self.nodes[i].extend(lattice[cell].corners());
            }
            self.cell_numbers.push(*number);
        }
        for nodes in &mut self.nodes {
            nodes.sort_unstable();
            nodes.dedup();
        }
        self.turned.clone_from(&self.warps);
        self.split_tasks();
    }

    /// Returns the candidates of the frame, in order.
    pub fn candidates(&self) -> &[ContactCandidate] {
        &self.candidates
    }

    fn split_tasks(&mut self) {
        let (mut count, mut start) = (0, 0);
        let key = |c: &ContactCandidate| (c.body, c.proxy);
        while start < self.candidates.len() {
            let mut end = (start + Self::TASK_CANDIDATES).min(self.candidates.len());
            let last = key(&self.candidates[end - 1]);
            while self.candidates.get(end).is_some_and(|c| key(c) == last) {
                end += 1;
            }
            if count == self.parts.len() {
                self.parts.push(Default::default());
            }
            self.parts[count].0 = start..end;
            count += 1;
            start = end;
        }
        self.parts.truncate(count);
    }

    /// Finds all touches among the candidates, one for each point and touched body, in order. `turn` returns the rotation of a lattice vertex since
    /// the frame began.
    pub fn find_touches(
        &mut self,
        bodies: &[PosedFlesh],
        turn: &dyn Fn(usize, usize) -> Mat3,
        touches: &mut Vec<Touch>,
    ) {
        for (i, nodes) in self.nodes.iter().enumerate() {
            for &v in nodes {
                let v = v as usize;
                self.turned[i][v] = turn(i, v) * self.warps[i][v];
            }
        }
        let warps = &self.turned;
        for warped_cell in &mut self.warped_cells {
            let body = &bodies[warped_cell.body as usize];
            let warp = &warps[warped_cell.body as usize];
            let cell = &body.skin.body().lattice().cells()[warped_cell.cell as usize];
            let corners = cell.corners().iter().map(|&a| a as usize);
            warped_cell.bounds = aabb::bounds(corners.map(|a| body.node(a) + warp[a]));
            warped_cell.inside.take();
        }
        let (warped_cells, of, candidates) =
            (&self.warped_cells, &self.cell_numbers, &self.candidates);
        let task = |(range, found): &mut (Range<usize>, Vec<Touch>)| {
            let of = candidates[range.clone()].iter().zip(&of[range.clone()]);
            found.clear();
            collect_touches(of, warped_cells, bodies, warps, found);
        };
        match &mut self.parts[..] {
            [part] => task(part),
            parts => parts.par_iter_mut().for_each(task),
        }
        touches.clear();
        let found = self.parts.iter().flat_map(|(_, found)| found);
        touches.extend(found.copied());
    }
}

/// Finds the touches among candidates. All candidates of a point must be in one call.
fn collect_touches<'a>(
    candidates: impl Iterator<Item = (&'a ContactCandidate, &'a u32)>,
    warped_cells: &[WarpedCell],
    bodies: &[PosedFlesh],
    warps: &[Vec<Vec3>],
    found: &mut Vec<Touch>,
) {
    let mut last: Option<(u32, u32, Vec3)> = None;
    for (candidate, &number) in candidates {
        let body = &bodies[candidate.body as usize];
        let place = match last {
            Some((b, proxy, place)) if (b, proxy) == (candidate.body, candidate.proxy) => place,
            _ => body.point(&body.skin.proxies()[candidate.proxy as usize].point),
        };
        last = Some((candidate.body, candidate.proxy, place));
        let warped_cell = &warped_cells[number as usize];
        let bounds = &warped_cell.bounds;
        if (0..3).any(|k| place[k] < bounds.0[k] || place[k] > bounds.1[k]) {
            continue;
        }
        let other = &bodies[candidate.other as usize];
        let warp = &warps[candidate.other as usize];
        let Some(touch) = find_touch(body, (other, warp), warped_cell, candidate, place) else {
            continue;
        };
        let key = |t: &Touch| (t.body, t.proxy, t.other);
        match found.last_mut() {
            Some(known) if key(known) == key(&touch) => {
                if touch.depth < known.depth {
                    *known = touch;
                }
            }
            _ => found.push(touch),
        }
    }
    found.retain_mut(|touch| {
        let (body, other) = (&bodies[touch.body as usize], &bodies[touch.other as usize]);
        touch.normal = other.normal(&touch.target);
        let own = body.normal(&body.skin.proxies()[touch.proxy as usize].point);
        touch.normal != Vec3::zeros() && own.dot(&touch.normal) < MAX_NORMAL_COSINE
    });
}

impl RejectionTest {
    /// Prepares the test; `None` for a flat cell.
    fn new(cell: &Cell, posed: &[Vec3], rest: &[Vec3]) -> Option<Self> {
        if cell.volume(posed) < FLAT_DETERMINANT * cell.volume(rest) {
            return None;
        }
        let edges = |p: &[Vec3]| Mat3::from_columns(&[p[1] - p[0], p[2] - p[0], p[3] - p[0]]);
        Some(Self(match cell {
            Cell::Tetrahedron(_) => edges(posed).try_inverse().map(|m| (posed[0], m)),
            _ => None,
        }))
    }

    /// Returns whether a position is certainly outside.
    fn excludes(&self, place: &Vec3) -> bool {
        self.0.is_some_and(|(origin, inverse)| {
            let x = inverse * (place - origin);
            x.min().min(1.0 - x.sum()) < -1e-6
        })
    }
}

fn find_touch(
    body: &PosedFlesh,
    (other, warp): (&PosedFlesh, &[Vec3]),
    warped_cell: &WarpedCell,
    candidate: &ContactCandidate,
    place: Vec3,
) -> Option<Touch> {
    let lattice = other.skin.body().lattice();
    let cell = &lattice.cells()[candidate.cell as usize];
    let corners = cell.corners();
    let posed = || -> Corners {
        let place = |a: usize| other.node(a) + warp[a];
        corners.iter().map(|&a| place(a as usize)).collect()
    };
    let rest = &lattice.corners(candidate.cell);
    let inside = warped_cell
        .inside
        .get_or_init(|| RejectionTest::new(cell, &posed(), rest));
    if inside.as_ref()?.excludes(&place) {
        return None;
    }
    let local = cell.local_coordinates(&posed(), place)?;
    if cell.inside_margin(local) < -1e-9 {
        return None;
    }
    let found = cell.position(rest, local);
    let depth = other.skin.rest_distance(found);
    let proxy = &body.skin.proxies()[candidate.proxy as usize];
    // Flesh beside its own position touches nothing. A point that came in through skin is nearer to that skin than to its own position.
    let own = (found - proxy.rest).norm();
    if candidate.body == candidate.other
        && own <= (MIN_REST_DISTANCE * other.skin.cell_size()).max(-MIN_DEPTH_RATIO * depth)
    {
        return None;
    }
    if depth > CONTACT_MARGIN * other.skin.cell_size() {
        return None;
    }
    // A point so deep did not come in through the nearest skin.
    if candidate.body == candidate.other && depth < -MAX_SELF_DEPTH * other.skin.cell_size() {
        return None;
    }
    let target = other.skin.nearest_point(found)?;
    // Skin shown far from this point means that the search was misled.
    let at_rest = other.skin.rest_point(&target);
    let apart = (place - other.point(&target)).norm();
    if apart > max_display_distance((found - at_rest).norm(), other.skin.cell_size()) {
        return None;
    }
    // The nearest skin must belong to this copy of the flesh.
    let embedding = other.skin.body().embedding();
    let near = other.skin.corners(target.triangle).into_iter().any(|v| {
        let cell = embedding.cells()[v as usize] as usize;
        let others = lattice.cells()[cell].corners();
        others.iter().any(|a| corners.contains(a))
    });
    near.then_some(Touch {
        body: candidate.body,
        proxy: candidate.proxy,
        other: candidate.other,
        target,
        normal: Vec3::zeros(),
        depth,
        side: 1.0,
    })
}

/// Returns the largest distance of displayed skin from a point, metres, for their distance at rest and the size of a cell.
pub(crate) fn max_display_distance(at_rest: f64, cell: f64) -> f64 {
    MAX_STRETCH * at_rest + STRETCH_ALLOWANCE * cell
}

/// Returns the point nearest to a position on the posed triangles that share a corner with that of `from`.
pub(crate) fn slide_point(other: &PosedFlesh, from: &SkinPoint, place: Vec3) -> Option<SkinPoint> {
    let mut best: Option<(f64, SkinPoint)> = None;
    let corners = other.skin.corners(from.triangle);
    let mut around: SmallVec<[u32; 32]> = corners
        .iter()
        .flat_map(|&v| other.skin.vertex_triangles(v))
        .copied()
        .collect();
    around.sort_unstable();
    around.dedup();
    for triangle in around {
        let corners = other.skin.corners(triangle).map(|v| other.vertex(v));
        let Some((far, weights)) = closest_of_triangle(corners, &place) else {
            continue;
        };
        if best.is_none_or(|(known, _)| far < known) {
            best = Some((far, SkinPoint { triangle, weights }));
        }
    }
    best.map(|(_, point)| point)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The quick test excludes points beyond a side of a tetrahedron and keeps those in it or on its sides.
    #[test]
    fn rejection_test_excludes_only_exterior() {
        let rest = [Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::z()];
        let map = Mat3::new(1.2, 0.3, -0.1, 0.0, 0.8, 0.4, -0.5, 0.2, 1.1);
        let posed = rest.map(|x| map * x + Vec3::new(3.0, -1.0, 2.0));
        let cell = Cell::Tetrahedron([0, 1, 2, 3]);
        let inside = RejectionTest::new(&cell, &posed, &rest).unwrap();
        let place = |weights: [f64; 4]| -> Vec3 { (0..4).map(|k| posed[k] * weights[k]).sum() };
        assert!(!inside.excludes(&place([0.25; 4])));
        for k in 0..4 {
            // On a side, and beyond it.
            let mut on = [1.0 / 3.0; 4];
            on[k] = 0.0;
            assert!(!inside.excludes(&place(on)));
            let beyond = on.map(|w| w * 1.01);
            let mut beyond = beyond;
            beyond[k] = -0.01;
            assert!(inside.excludes(&place(beyond)));
        }
        let flat = rest.map(|x| Vec3::new(x.x, x.y, 0.01 * x.z));
        assert!(RejectionTest::new(&cell, &flat, &rest).is_none());
    }

    /// The bound on the displayed distance exceeds the distance at rest and scales with size.
    #[test]
    fn max_display_distance_scales_with_size() {
        for (rest, cell) in [(0.3, 0.1), (0.0, 2.0), (5.0, 0.01)] {
            let far = max_display_distance(rest, cell);
            assert!(far > rest && far < 3.0 * (rest + cell));
            assert!((max_display_distance(7.0 * rest, 7.0 * cell) - 7.0 * far).abs() < 1e-9 * far);
        }
    }
}
