// SPDX-License-Identifier: MIT OR Apache-2.0
//! Classifies points against cell faces over a frame, with cells displaced to carry the displayed skin.

use crate::contact::posed_flesh::PosedFlesh;
use crate::contact::search::path::{BodyPath, SweptBody};
use crate::lattice::Cell;
use crate::{Mat3, Vec3};
use std::sync::OnceLock;

/// Distance beyond a face of a cell, in cells, from which a point does not come into it within a frame. Half the value moves a folding elbow by 0.06
/// % of the size, twice the value not at all.
const MIN_FACE_DISTANCE: f64 = 0.6;

/// Returns the displacement of each node with which the lattice's vertices alone carry the displayed skin, `[nodes]`, metres: valid at
/// the corners of `cells`.
pub(crate) fn node_warps(body: &PosedFlesh, cells: &[u32]) -> Vec<Vec3> {
    let (of, nodes) = (body.skin.body(), body.base.len());
    let lattice = of.lattice();
    let (mut sums, mut shares) = (vec![Vec3::zeros(); nodes], vec![0.0; nodes]);
    if body.joints >= 1.0 && !body.bounded && of.basis().levels() == 0 {
        return sums;
    }
    let mut wanted = vec![false; nodes];
    for &c in cells {
        let corners = lattice.cells()[c as usize].corners().iter();
        corners.for_each(|&a| wanted[a as usize] = true);
    }
    let embedding = of.embedding();
    for (c, cell) in (0u32..).zip(lattice.cells()) {
        if cell.corners().iter().all(|&a| !wanted[a as usize]) {
            continue;
        }
        for proxy in body.skin.proxies_in(c) {
            let proxy = &body.skin.proxies()[proxy as usize];
            let offset = body.offset(&proxy.point);
            let row = embedding.row(proxy.vertex as usize);
            for (a, share) in row.filter(|(a, _)| !of.is_detail(*a)) {
                let share = share.max(0.0);
                sums[a] += offset * share;
                shares[a] += share;
            }
        }
    }
    for (sum, share) in sums.iter_mut().zip(shares) {
        if share > 0.0 {
            *sum /= share;
        }
    }
    sums
}

/// A lattice warped to carry the displayed skin, where candidates may come into its cells.
pub(in crate::contact) struct WarpedLattice<'a> {
    lattice: &'a [Cell],
    ends: usize,
    pub nodes: Vec<[Vec3; 2]>,
    /// Displacements at the start of the frame, `[nodes]`, metres.
    pub warps: Vec<Vec3>,
    /// Local frames of each cell at the ends of the frame.
    frames: Vec<OnceLock<[LocalFrame; 2]>>,
}

impl<'a> WarpedLattice<'a> {
    pub fn new(body: &SweptBody<'a>, path: &BodyPath, cells: &[u32]) -> Self {
        let mut nodes = path.nodes.clone();
        let (from, to) = rayon::join(
            || node_warps(&body.from, cells),
            || (path.ends > 1).then(|| node_warps(body.end(), cells)),
        );
        for (k, warps) in std::iter::once(&from).chain(&to).enumerate() {
            for (node, warp) in nodes.iter_mut().zip(warps) {
                node[k] += warp;
            }
        }
        Self {
            lattice: body.from.skin.body().lattice().cells(),
            ends: path.ends,
            frames: vec![OnceLock::new(); path.cells.len()],
            warps: from,
            nodes,
        }
    }

    /// Returns whether all points lie more than [`MIN_FACE_DISTANCE`] beyond one face of a cell, the same face at all ends of the frame.
    pub fn are_beyond_face<'b>(
        &self,
        cell: u32,
        mut points: impl Iterator<Item = &'b [Vec3; 2]>,
    ) -> bool {
        let frames = self.frames(cell);
        let mut beyond = [true; 6];
        points.all(|point| {
            for (frame, x) in frames.iter().zip(point) {
                let Some(outside) = frame.face_distances(x) else {
                    beyond = [false; 6];
                    break;
                };
                for (beyond, outside) in beyond.iter_mut().zip(outside) {
                    *beyond &= outside > MIN_FACE_DISTANCE;
                }
            }
            beyond.contains(&true)
        })
    }

    /// Returns the local frames of a cell, one for each end.
    fn frames(&self, cell: u32) -> &[LocalFrame] {
        let made = self.frames[cell as usize].get_or_init(|| {
            let corners = self.lattice[cell as usize].corners();
            [0, self.ends - 1].map(|end| {
                let (origin, edges) = origin_and_edges(corners, |a| self.nodes[a][end]);
                match corners.len() {
                    4 => LocalFrame::new(origin, edges, LocalShape::Tetrahedron),
                    8 => LocalFrame::new(origin, edges, LocalShape::Cube),
                    _ => LocalFrame::new(origin, Mat3::zeros(), LocalShape::Cube),
                }
            })
        });
        &made[..self.ends]
    }
}

/// Coordinates in which an unbent cell is the unit tetrahedron of the axes, or a unit cube around the origin.
#[derive(Clone, Copy)]
struct LocalFrame {
    origin: Vec3,
    inverse: Mat3,
    /// Shape of the cell; `None` for another shape or a flat cell.
    shape: Option<LocalShape>,
}

#[derive(Clone, Copy)]
enum LocalShape {
    Tetrahedron,
    Cube,
}

impl LocalFrame {
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

    /// Returns the distance of a point beyond each face, in local coordinates; `None` without a shape.
    fn face_distances(&self, point: &Vec3) -> Option<[f64; 6]> {
        let x = self.inverse * (point - self.origin);
        let [a, b, c] = [x.x, x.y, x.z];
        Some(match self.shape? {
            LocalShape::Tetrahedron => {
                let last = a + b + c - 1.0;
                [-a, -b, -c, last, last, last]
            }
            LocalShape::Cube => [-a, -b, -c, a, b, c].map(|x| x - 0.5),
        })
    }
}

/// Returns a corner of a cell and three edges from it; for a hexahedron its centre and mean edges.
pub(in crate::contact) fn origin_and_edges(
    corners: &[u32],
    at: impl Fn(usize) -> Vec3,
) -> (Vec3, Mat3) {
    let at = |k: usize| at(corners[k] as usize);
    if corners.len() < 8 {
        let o = at(0);
        return (o, Mat3::from_columns(&[at(1) - o, at(2) - o, at(3) - o]));
    }
    // Corner numbers differ by one along the first coordinate, by two along the second, by four along the third.
    let along = |bit: usize| {
        let sign = |k: usize| if k & bit == 0 { -0.25 } else { 0.25 };
        (0..8).map(|k| at(k) * sign(k)).sum::<Vec3>()
    };
    let middle = (0..8).map(at).sum::<Vec3>() / 8.0;
    (middle, Mat3::from_columns(&[along(1), along(2), along(4)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The origin and edges of a cell under an affine map are the image of its middle and that map.
    #[test]
    fn cell_edges_follow_affine_map() {
        let cube: Vec<Vec3> = (0..8)
            .map(|k| Vec3::from([1, 2, 4].map(|bit| f64::from(u8::from(k & bit != 0)))))
            .collect();
        let tetrahedron = [Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::z()].to_vec();
        let map = Mat3::new(1.2, 0.3, -0.1, 0.0, 0.8, 0.4, -0.5, 0.2, 1.1);
        let shift = Vec3::new(3.0, -1.0, 2.0);
        for (corners, middle) in [(tetrahedron, Vec3::zeros()), (cube, Vec3::repeat(0.5))] {
            let numbers: Vec<u32> = (0..corners.len() as u32).collect();
            let (origin, found) = origin_and_edges(&numbers, |a| map * corners[a] + shift);
            assert!((origin - (map * middle + shift)).norm() < 1e-12);
            assert!((found - map).norm() < 1e-12);
        }
    }
}
