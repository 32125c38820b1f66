// SPDX-License-Identifier: MIT OR Apache-2.0
//! Test whether the interiors of two cells meet, if one of them has warped faces: their hulls may overlap
//! although the cells do not.
//!
//! Two tests, each of which yields a common point. First, an edge of one cell may run inside the other. Between
//! two crossings with the faces it is inside or outside as a whole; the inverse of the cell's map gives the
//! depth. This finds every overlap beyond rounding. Second, two faces may intersect without an edge crossing any
//! face. This is tested between *cores*: cells shrunk by a thousandth about their middles. Cores of cells that
//! only touch are disjoint, so shared faces, edges and corners need no special case. If cores overlap, their
//! boundaries cross or one holds the middle of the other.

use super::bilinear::BilinearPatch;
use crate::Vec3;
use crate::geometry::aabb::bounds;
use crate::lattice::{Cell, Corners};

/// Thickness of an overlap, as a share of a cell's size, below which it is rounding.
pub(super) const OVERLAP_TOLERANCE: f64 = 1e-7;

/// Size of a cell's core, as a share of the cell in local coordinates.
const CORE_SCALE: f64 = 0.998;

/// Bend of a piece of a face, as a share of the smaller cell's size, below which the piece counts as flat.
const FLATNESS_TOLERANCE: f64 = 1e-4;

/// Returns the largest distance of a point from the first.
pub(super) fn extent(x: &[Vec3]) -> f64 {
    x.iter().map(|p| (p - x[0]).norm()).fold(0.0, f64::max)
}

/// A cell as a solid in space, with its bounding box and its size.
pub(super) struct CellSolid<'a> {
    cell: &'a Cell,
    x: Corners,
    low: Vec3,
    high: Vec3,
    size: f64,
}

impl<'a> CellSolid<'a> {
    /// Wraps a cell whose map folds nowhere, with its corners at `x`.
    pub fn new(cell: &'a Cell, x: Corners) -> Self {
        let ((low, high), size) = (bounds(&x), extent(&x));
        Self {
            cell,
            x,
            low,
            high,
            size,
        }
    }

    fn faces(&self) -> impl Iterator<Item = BilinearPatch> + '_ {
        self.cell
            .faces()
            .iter()
            .map(|f| BilinearPatch::new(f, &self.x))
    }

    fn edges(&self) -> impl Iterator<Item = [Vec3; 2]> + '_ {
        self.cell.edges().iter().map(|e| e.map(|i| self.x[i]))
    }

    /// Returns the local coordinates of the middle and of the corners.
    fn reference_points(&self) -> (Vec3, [Vec3; 8]) {
        let mut at = [Vec3::zeros(); 8];
        let triangle = [Vec3::zeros(), Vec3::x(), Vec3::y()];
        let middle = match self.cell {
            Cell::Tetrahedron(_) => {
                at[1..4].copy_from_slice(&[Vec3::x(), Vec3::y(), Vec3::z()]);
                Vec3::repeat(0.25)
            }
            Cell::Prism(_) => {
                for (i, x) in triangle.iter().enumerate() {
                    (at[i], at[i + 3]) = (*x, x + Vec3::z());
                }
                Vec3::new(1.0 / 3.0, 1.0 / 3.0, 0.5)
            }
            Cell::Hexahedron(_) => {
                at = std::array::from_fn(|i| {
                    Vec3::new((i & 1) as f64, (i >> 1 & 1) as f64, (i >> 2) as f64)
                });
                Vec3::repeat(0.5)
            }
        };
        (middle, at)
    }

    fn middle(&self) -> Vec3 {
        self.cell.position(&self.x, self.reference_points().0)
    }

    /// Returns the corners of the cell's core.
    fn core(&self) -> [Vec3; 8] {
        let (middle, at) = self.reference_points();
        at.map(|l| {
            let l = middle + (l - middle) * CORE_SCALE;
            self.cell.position(&self.x, l)
        })
    }

    /// Returns the depth of a point inside, m, to first order of the map at the point; zero outside.
    fn depth(&self, p: Vec3) -> f64 {
        if (0..3).any(|k| p[k] <= self.low[k] || p[k] >= self.high[k]) {
            return 0.0;
        }
        let x = &self.x;
        let Some(l) = self
            .cell
            .local_coordinates(x, p)
            .filter(|&l| self.cell.inside_margin(l) > 0.0)
        else {
            return 0.0;
        };
        let Some(inverse) = self.cell.jacobian(x, l).try_inverse() else {
            return 0.0;
        };
        // On each face a coordinate is zero or one, or some of them add up to one.
        let slopes: [Vec3; 3] = std::array::from_fn(|k| inverse.row(k).transpose());
        let (sums, total) = match self.cell {
            Cell::Tetrahedron(_) => (l.sum(), slopes[0] + slopes[1] + slopes[2]),
            Cell::Prism(_) => (l.x + l.y, slopes[0] + slopes[1]),
            Cell::Hexahedron(_) => (0.0, Vec3::zeros()),
        };
        let between = |k: usize| match (self.cell, k) {
            (Cell::Hexahedron(_), _) | (Cell::Prism(_), 2) => l[k].min(1.0 - l[k]),
            _ => l[k],
        };
        let slanted = (1.0 - sums) / total.norm();
        (0..3)
            .map(|k| between(k) / slopes[k].norm())
            .fold(slanted, f64::min)
    }
}

/// Returns a point in the interiors of two cells that are not copies of each other.
///
/// `None` if they share only boundary points or overlap by rounding. If no edge of one enters the other, overlaps
/// thinner than about 0.3 % of their size are missed too.
pub(super) fn common_point(a: &CellSolid, b: &CellSolid) -> Option<Vec3> {
    let least = OVERLAP_TOLERANCE * a.size.max(b.size);
    let middle = |of: &CellSolid, within: &CellSolid| {
        let p = of.middle();
        (within.depth(p) > least).then_some(p)
    };
    middle(a, b)
        .or_else(|| middle(b, a))
        .or_else(|| find_edge_inside(a, b, least))
        .or_else(|| find_edge_inside(b, a, least))
        .or_else(|| core_intersection(a, b))
}

/// Returns a point on an edge of `of` deeper than `least` inside `within`.
fn find_edge_inside(of: &CellSolid, within: &CellSolid, least: f64) -> Option<Vec3> {
    let faces: Vec<BilinearPatch> = within.faces().collect();
    of.edges().find_map(|[p, q]| {
        let (low, high) = (p.inf(&q), p.sup(&q));
        if (0..3).any(|k| high[k] <= within.low[k] || low[k] >= within.high[k]) {
            return None;
        }
        let crossings = faces.iter().flat_map(|f| f.crossings(p, q));
        let mut stops: Vec<f64> = crossings.chain([0.0, 1.0]).collect();
        stops.sort_by(f64::total_cmp);
        stops.windows(2).find_map(|pair| {
            let x = p + (q - p) * (0.5 * (pair[0] + pair[1]));
            (within.depth(x) > least).then_some(x)
        })
    })
}

/// Returns a point on the boundaries of both cores.
fn core_intersection(a: &CellSolid, b: &CellSolid) -> Option<Vec3> {
    let flat = FLATNESS_TOLERANCE * a.size.min(b.size);
    let (x, y) = (a.core(), b.core());
    let others: Vec<(BilinearPatch, BilinearPatch)> = b
        .cell
        .faces()
        .iter()
        .map(|f| (BilinearPatch::new(f, &b.x), BilinearPatch::new(f, &y)))
        .collect();
    a.cell.faces().iter().find_map(|f| {
        let (face, mine) = (BilinearPatch::new(f, &a.x), BilinearPatch::new(f, &x));
        others
            .iter()
            // A common face separates the two cells.
            .filter(|(other, _)| !are_opposite(&face, other))
            .find_map(|(_, its)| mine.intersection_point(its, flat))
    })
}

/// Returns whether two faces coincide with opposite orientation.
fn are_opposite(face: &BilinearPatch, other: &BilinearPatch) -> bool {
    let (x, y) = (face.corners(), other.corners());
    (0..4).any(|turn| (0..4).all(|k| x[k] == y[(turn + 4 - k) % 4]))
}

#[cfg(test)]
mod tests;
