// SPDX-License-Identifier: MIT OR Apache-2.0
//! Inverse of a cell's map: from a point in space to local coordinates.
//!
//! On a tetrahedron the map is affine. On the others Newton's method inverts it. These maps are not injective
//! outside the cell, so Newton's method may converge to a point outside, or fail, although a solution inside
//! exists. Solutions inside are then sought by bisecting boxes of local coordinates. The image of a box lies in
//! the convex hull of the images of its corners, which rules out most boxes at once.

use super::Cell;
use crate::geometry::aabb::bounds;
use crate::{Mat3, Vec3};

/// Slack in local coordinates, so that a point on a face lies in both cells.
pub(in crate::lattice) const LOCAL_TOLERANCE: f64 = 1e-9;

/// Largest number of halvings of a box: Newton's method converges from the middle of a much larger one.
const MAX_HALVINGS: u32 = 6;

/// Largest number of boxes searched for one point. A sound cell needs a few; a crumpled one never ends.
const MAX_BOXES: u32 = 600;

impl Cell {
    /// Returns local coordinates of a point: inside the cell if possible, else others that the continued map
    /// takes there. `None` if the cell is degenerate or the search fails (far outside a warped cell).
    pub fn local_coordinates(&self, corners: &[Vec3], p: Vec3) -> Option<Vec3> {
        if matches!(self, Cell::Tetrahedron(_)) {
            let l = Vec3::repeat(0.25);
            let step = self.jacobian(corners, l).try_inverse()? * (p - self.position(corners, l));
            return Some(l + step).filter(is_meaningful);
        }
        // Relative to the point, no digits are lost far from the origin.
        let mut about = [Vec3::zeros(); 8];
        for (to, x) in about.iter_mut().zip(corners) {
            *to = x - p;
        }
        let x = &about[..corners.len().min(8)];
        let centre = match self {
            Cell::Prism(_) => Vec3::new(1.0 / 3.0, 1.0 / 3.0, 0.5),
            _ => Vec3::repeat(0.5),
        };
        let found = self.solve_newton(x, centre);
        if found.is_some_and(|l| self.inside_margin(l) >= -LOCAL_TOLERANCE) {
            return found;
        }
        let whole = LocalCube {
            low: Vec3::zeros(),
            size: 1.0,
            halvings: 0,
        };
        self.search(x, whole, &mut MAX_BOXES.clone()).or(found)
    }

    /// Solves for the local coordinates of the origin by Newton's method.
    fn solve_newton(&self, x: &[Vec3], mut l: Vec3) -> Option<Vec3> {
        let mut last = f64::INFINITY;
        for _ in 0..24 {
            let step = self.jacobian(x, l).try_inverse()? * self.position(x, l);
            l -= step;
            if !is_meaningful(&l) {
                return None;
            }
            let length = step.norm();
            // Steps that no longer shrink are rounding.
            if length < 1e-13 || (length < 1e-10 && length > 0.5 * last) {
                return Some(l);
            }
            last = length;
        }
        None
    }

    /// Searches a box recursively for local coordinates of the origin inside the cell.
    fn search(&self, x: &[Vec3], part: LocalCube, left: &mut u32) -> Option<Vec3> {
        let beyond = matches!(self, Cell::Prism(_)) && part.low.x + part.low.y >= 1.0;
        *left = left.saturating_sub(1);
        if beyond || *left == 0 || !self.may_contain_origin(x, &part) {
            return None;
        }
        let middle = part.low + Vec3::repeat(0.5 * part.size);
        if part.halvings > 0 {
            let found = self.solve_newton(x, middle);
            if found.is_some_and(|l| self.inside_margin(l) >= -LOCAL_TOLERANCE) {
                return found;
            }
        }
        if part.halvings == MAX_HALVINGS {
            return None;
        }
        part.octants()
            .into_iter()
            .find_map(|part| self.search(x, part, left))
    }

    /// Returns whether the origin may lie in the image of a box: in the bounding box of the image's hull, along
    /// directions that follow the cell.
    fn may_contain_origin(&self, x: &[Vec3], part: &LocalCube) -> bool {
        let middle = part.low + Vec3::repeat(0.5 * part.size);
        let inverse = self.jacobian(x, middle).try_inverse();
        let straight = inverse.unwrap_or_else(Mat3::identity);
        let images = (0..8).map(|i| {
            let corner = Vec3::new((i & 1) as f64, (i >> 1 & 1) as f64, (i >> 2) as f64);
            straight * self.position(x, part.low + corner * part.size)
        });
        let (low, high) = bounds(images);
        let slack = 1e-7 * (high - low).max();
        low.max() <= slack && high.min() >= -slack
    }
}

/// Returns whether local coordinates are finite and below 1e6 in size, beyond which they are meaningless.
fn is_meaningful(l: &Vec3) -> bool {
    l.iter().all(|x| x.abs() < 1e6)
}

/// Cube in local coordinates.
#[derive(Clone, Copy)]
struct LocalCube {
    low: Vec3,
    size: f64,
    halvings: u32,
}

impl LocalCube {
    fn octants(&self) -> [Self; 8] {
        let size = 0.5 * self.size;
        std::array::from_fn(|i| Self {
            low: self.low + Vec3::new((i & 1) as f64, (i >> 1 & 1) as f64, (i >> 2) as f64) * size,
            size,
            halvings: self.halvings + 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::limb::crumpled_cell;
    use crate::surface::shapes::Random;

    /// Returns whether the map is sound at points of a grid.
    fn is_sound(cell: &Cell, x: &[Vec3]) -> bool {
        (0..7 * 7 * 7).all(|i| {
            let l = Vec3::new((i % 7) as f64, (i / 7 % 7) as f64, (i / 49) as f64) / 6.0;
            cell.inside_margin(l) < 0.0 || cell.jacobian(x, l).determinant() > 0.005
        })
    }

    /// Local coordinates of a warped cell are found again from the position that they give.
    #[test]
    fn local_inverts_position() {
        let mut random = Random(4);
        let mut searched = 0;
        for i in 0..20000 {
            let (cell, x) = crumpled_cell(i, 0.9 * random.next(), &mut random);
            if !is_sound(&cell, &x) {
                continue;
            }
            for _ in 0..20 {
                let l = cell.clamp(Vec3::from_fn(|_, _| 1.2 * random.next() - 0.1));
                let p = cell.position(&x, l);
                let found = cell.local_coordinates(&x, p).expect("found");
                assert!((found - l).norm() < 1e-10, "{found} {l} {cell:?} {x:?}");
                // Newton's method from the middle alone would not always find a solution inside.
                let about: Vec<Vec3> = x.iter().map(|x| x - p).collect();
                let plain = cell.solve_newton(&about, Vec3::repeat(0.4));
                searched += u32::from(plain.is_none_or(|q| (q - l).norm() > 1e-6));
            }
        }
        assert!(searched > 20, "{searched}");
    }

    /// Far from the origin, local coordinates are as accurate as the positions allow.
    #[test]
    fn local_accuracy_far_from_origin() {
        let mut random = Random(9);
        for i in 0..200 {
            let (cell, x) = crumpled_cell(i, 0.2, &mut random);
            // A cell of a centimetre, a kilometre away: positions are good to 1e-13 m, a part of 1e-11.
            let far = Vec3::new(800.0, -500.0, 300.0);
            let x: Vec<Vec3> = x.iter().map(|x| far + x * 0.01).collect();
            let l = cell.clamp(Vec3::from_fn(|_, _| random.next()));
            let found = cell
                .local_coordinates(&x, cell.position(&x, l))
                .expect("found");
            assert!((found - l).norm() < 1e-9, "{found} {l}");
        }
    }

    /// A point that lies outside a cell has no local coordinates inside it.
    #[test]
    fn local_rejects_outside_points() {
        let mut random = Random(6);
        for i in 0..300 {
            let (cell, x) = crumpled_cell(i, 0.3, &mut random);
            let (low, high) = bounds(&x);
            let p = Vec3::from_fn(|k, _| low[k] + (high[k] - low[k]) * random.next());
            if let Some(l) = cell.local_coordinates(&x, p) {
                assert!((cell.position(&x, l) - p).norm() < 1e-9);
            }
            let beyond = high + (high - low) * random.next();
            let found = cell.local_coordinates(&x, beyond);
            assert!(found.is_none_or(|l| cell.inside_margin(l) < 0.0));
        }
    }

    /// The search for local coordinates ends even if all corners lie in one point or on a line.
    #[test]
    fn local_terminates_on_degenerate_cell() {
        // All corners in one point, or on a line: a point has many local coordinates, or none.
        for kind in 0..3 {
            let (cell, x) = crumpled_cell(kind, 0.0, &mut Random(0));
            let point = vec![Vec3::repeat(0.5); x.len()];
            let line: Vec<Vec3> = x.iter().map(|p| Vec3::x() * p.sum()).collect();
            for x in [point, line] {
                for p in [Vec3::repeat(0.5), Vec3::x()] {
                    let found = cell.local_coordinates(&x, p);
                    assert!(found.is_none_or(|l| (cell.position(&x, l) - p).norm() < 1e-6));
                }
            }
        }
    }
}
