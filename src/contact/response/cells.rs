// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells near inversion as unilateral rows. [docs/methods/contact.md]
//!
//! Where flesh folds, cells invert before skins meet, and positions in them then mean nothing. J is the determinant of the deformation at a corner of
//! a cell, 1 at rest: `(J − 0.1) / |∂J| ≥ 0`, ∂J by cofactors. In a body with details J is the determinant on a piece of an element,
//! the piece of each element where it is least.

use crate::contact::posed_flesh::PosedFlesh;
use crate::contact::response::complementarity::{Constraint, ConstraintEntry, ConstraintSet};
use crate::contact::response::rows::largest_pressure;
use crate::contact::search::boxes::boxes_meet;
use crate::contact::search::broad::{ContactCandidate, MAX_REST_DISPLACEMENT};
use crate::contact::search::narrow::FLAT_DETERMINANT;
use crate::contact::search::path::cell_bounds;
use crate::lattice::{Corners, corner_volume};
use crate::{Mat3, Vec3};
use smallvec::SmallVec;

/// Least J that rows allow a cell: a tenth of the volume, flat to the eye. At half the value one more cell of a bent elbow is inverted; at twice the
/// value an elbow that has stopped sways on by a sixth more.
pub(crate) const MIN_DETERMINANT: f64 = 0.1;
/// J below which a cell gets a row: two and a half times the bound. No cell loses that much in a step. At half the value one more cell is inverted as
/// a frog falls.
pub(in crate::contact) const ACTIVE_DETERMINANT: f64 = 0.25;

/// Distance up to which a point is near a cell, in its local coordinates: about the distance between the displayed skin and the skin that the lattice
/// carries.
const CELL_MARGIN: f64 = 0.25;

/// A place in a cell where J is taken.
#[derive(Debug, Clone, Copy)]
pub(in crate::contact) enum DeformedPlace<'a> {
    /// A corner: the vertices of its frame, and their determinant at rest, m³.
    Corner([u32; 4], f64),
    /// A piece of an element: the element's nodes, and the gradients of their functions, 1/m.
    Piece(&'a [u32], &'a [Vec3]),
}

impl DeformedPlace<'_> {
    /// Returns J.
    fn determinant(&self, body: &PosedFlesh) -> f64 {
        match *self {
            Self::Corner(vertices, whole) => {
                corner_volume(vertices, |v| body.node(v as usize)) / whole
            }
            Self::Piece(nodes, gradients) => deformation(body, nodes, gradients).determinant(),
        }
    }

    /// Returns the nodes that J depends on, each with ∂J.
    fn slopes(&self, body: &PosedFlesh) -> SmallVec<[(u32, Vec3); 4]> {
        match *self {
            Self::Corner(vertices, whole) => {
                let [o, a, b, c] = vertices.map(|v| body.node(v as usize));
                let (a, b, c) = (a - o, b - o, c - o);
                let slopes = [b.cross(&c), c.cross(&a), a.cross(&b)].map(|s| s / whole);
                let all = [
                    -slopes[0] - slopes[1] - slopes[2],
                    slopes[0],
                    slopes[1],
                    slopes[2],
                ];
                vertices.into_iter().zip(all).collect()
            }
            Self::Piece(nodes, gradients) => {
                let map = deformation(body, nodes, gradients);
                let [a, b, c] = [0, 1, 2].map(|k| map.column(k).into_owned());
                let cofactors = Mat3::from_columns(&[b.cross(&c), c.cross(&a), a.cross(&b)]);
                let both = nodes.iter().zip(gradients);
                both.map(|(&a, g)| (a, cofactors * g)).collect()
            }
        }
    }

    /// Returns the share s of the joints' elastic shape there.
    fn elastic_joints(&self, body: &PosedFlesh) -> f64 {
        let vertices = match self {
            Self::Corner(vertices, _) => &vertices[..],
            Self::Piece(nodes, _) => &nodes[..body.skin.body().placed_count(nodes)],
        };
        let joints = vertices
            .iter()
            .map(|&v| body.elastic_joints_of_node(v as usize));
        joints.sum::<f64>() / vertices.len() as f64
    }
}

/// Returns the deformation gradient on a piece of an element.
fn deformation(body: &PosedFlesh, nodes: &[u32], gradients: &[Vec3]) -> Mat3 {
    let both = nodes.iter().zip(gradients);
    both.map(|(&a, g)| body.node(a as usize) * g.transpose())
        .sum()
}

/// Visits the places of a cell where J is taken, each with J: its corners, or in a body with details one piece of each element.
pub(in crate::contact) fn visit_determinants(
    body: &PosedFlesh,
    cell: u32,
    mut visit: impl FnMut(DeformedPlace, f64),
) {
    let of = body.skin.body();
    if of.basis().levels() > 0 {
        for element in of.basis().elements(cell) {
            let nodes = of.elements().corners(element as usize);
            let pieces = of.elements().pieces(element as usize);
            let pieces = pieces.map(|piece| DeformedPlace::Piece(nodes, piece.gradients));
            let with_determinants = pieces.map(|place| (place, place.determinant(body)));
            if let Some((place, j)) = with_determinants.min_by(|a, b| a.1.total_cmp(&b.1)) {
                visit(place, j);
            }
        }
        return;
    }
    let lattice = of.lattice();
    let shape = &lattice.cells()[cell as usize];
    let (corners, rest) = (shape.corners(), lattice.vertices());
    for frame in shape.corner_frames() {
        let vertices = frame.map(|i| corners[i]);
        let whole = corner_volume(vertices, |v| rest[v as usize]);
        let place = DeformedPlace::Corner(vertices, whole);
        visit(place, place.determinant(body));
    }
}

/// Returns the least J of a cell.
pub(crate) fn min_determinant(body: &PosedFlesh, cell: u32) -> f64 {
    let mut least = f64::INFINITY;
    visit_determinants(body, cell, |_, j| least = least.min(j));
    least
}

/// Finds the cells of each body that contact depends on, ascending: cells that candidates are in at one of the instants, cells that embed these or
/// other points of the skin, and all that share a vertex with one of them.
pub(crate) fn find_dependent_cells(
    instants: [&[PosedFlesh]; 2],
    candidates: &[ContactCandidate],
    points: impl Iterator<Item = (u32, u32)>,
) -> Vec<Vec<u32>> {
    let bodies = instants[0];
    let none = |body: &PosedFlesh| vec![false; body.skin.body().lattice().cells().len()];
    let mut met: Vec<Vec<bool>> = bodies.iter().map(none).collect();
    let own = |body: u32, proxy: u32| bodies[body as usize].skin.cell_of(proxy) as usize;
    for (body, proxy) in points {
        met[body as usize][own(body, proxy)] = true;
    }
    for candidate in candidates {
        let (body, other) = (candidate.body as usize, candidate.other as usize);
        let (own, into) = (
            own(candidate.body, candidate.proxy),
            candidate.cell as usize,
        );
        let known = met[body][own] && met[other][into];
        if !known && instants.iter().any(|at| is_in_cell(at, candidate)) {
            met[body][own] = true;
            met[other][into] = true;
        }
    }
    let all = bodies.iter().zip(&met).map(|(body, met)| {
        let met = (0u32..).zip(met).filter(|(_, met)| **met);
        let beside = met.flat_map(|(cell, _)| body.skin.neighbours(cell));
        let mut beside: Vec<u32> = beside.copied().collect();
        beside.sort_unstable();
        beside.dedup();
        beside
    });
    all.collect()
}

/// Returns whether a point is in or near the cell that it may come into, and away from its own position at rest. For a flat cell its enlarged box
/// decides. Every such point is a candidate, because boxes are no wider than in the search.
fn is_in_cell(bodies: &[PosedFlesh], candidate: &ContactCandidate) -> bool {
    let (body, other) = (
        &bodies[candidate.body as usize],
        &bodies[candidate.other as usize],
    );
    let proxy = &body.skin.proxies()[candidate.proxy as usize];
    let place = body.point(&proxy.point);
    let own = cell_corners(body, body.skin.cell_of(candidate.proxy));
    let into = cell_corners(other, candidate.cell);
    let (own, box_of) = (cell_bounds(body.skin, &own), cell_bounds(other.skin, &into));
    if !boxes_meet(&box_of, &(place, place)) || !boxes_meet(&box_of, &own) {
        return false;
    }
    let lattice = other.skin.body().lattice();
    let cell = &lattice.cells()[candidate.cell as usize];
    let rest = &lattice.corners(candidate.cell);
    let is_flat = cell.volume(&into) < FLAT_DETERMINANT * cell.volume(rest);
    let local = (!is_flat)
        .then(|| cell.local_coordinates(&into, place))
        .flatten();
    local.is_none_or(|local| {
        let moved = (cell.position(rest, local) - proxy.rest).norm();
        let is_own = candidate.body == candidate.other
            && moved <= MAX_REST_DISPLACEMENT * other.skin.cell_size();
        cell.inside_margin(local) >= -CELL_MARGIN && !is_own
    })
}

/// Returns the present corners of a cell.
fn cell_corners(body: &PosedFlesh, cell: u32) -> Corners {
    let cell = &body.skin.body().lattice().cells()[cell as usize];
    let corners = cell.corners().iter();
    corners.map(|&a| body.node(a as usize)).collect()
}

/// Adds rows for the cells of a body that are or come near inversion within a step. Returns the number of inverting corners that no free vertex can
/// help.
pub(crate) fn add_cell_rows(
    (index, cells): (u32, &[u32]),
    (before, after): (&PosedFlesh, &PosedFlesh),
    (recovery, compliance): (f64, f64),
    constraints: &mut ConstraintSet,
) -> usize {
    let (mut held, body) = (0, after.skin.body());
    let pattern = body.pattern();
    for &cell in cells {
        let mut is_held = false;
        visit_determinants(after, cell, |place, j| {
            if j >= ACTIVE_DETERMINANT {
                return;
            }
            let mut normal = SmallVec::<[ConstraintEntry; 4]>::new();
            for (v, slope) in place.slopes(after) {
                if let Some(node) = pattern.node_of_vertex(v as usize) {
                    normal.push(ConstraintEntry {
                        body: index,
                        node,
                        direction: slope,
                    });
                }
            }
            let size = normal
                .iter()
                .map(|e| e.direction.norm_squared())
                .sum::<f64>();
            let size = size.sqrt();
            if size.is_nan() || size * before.skin.cell_size() <= 1e-6 {
                is_held |= j < MIN_DETERMINANT;
                return;
            }
            normal.iter_mut().for_each(|e| e.direction /= size);
            let was = place.determinant(before);
            let gap = (j - MIN_DETERMINANT) / size;
            let joints = place.elastic_joints(after);
            let normal = constraints.add_entries(normal);
            constraints.rows.push(Constraint {
                normal,
                // Volume lost earlier is recovered slowly.
                gap: gap.max((j - was) / size - recovery),
                friction: None,
                compliance,
                give: 1.0,
                limit: largest_pressure(after.young_of_cell(cell), joints)
                    * after.skin.cell_size().powi(2),
                force: 0.0,
            });
        });
        held += usize::from(is_held);
    }
    held
}
