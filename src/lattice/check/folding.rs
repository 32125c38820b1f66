// SPDX-License-Identifier: MIT OR Apache-2.0
//! Search for points inside a cell where the Jacobian determinant of its map is not positive, though it is at all
//! corners.
//!
//! On a tetrahedron the determinant is constant. On a prism it is linear in the triangle and quadratic along the
//! height, so its minimum is on one of the three upright edges. On a hexahedron it is quadratic in each
//! coordinate. As a Bernstein polynomial it lies between its coefficients, and subdivision into boxes tightens
//! these bounds.

use crate::Vec3;
use crate::lattice::Cell;

/// Largest number of boxes examined for one cell. If more are needed, the determinant is so near to zero along a
/// whole surface that the cell is as good as flat there.
const MAX_BOXES: usize = 4096;

/// Returns local coordinates where the determinant of the cell with corners at `x` is at most `flat`. The corners
/// themselves are not examined.
pub(super) fn find_fold(cell: &Cell, x: &[Vec3], flat: f64) -> Option<Vec3> {
    match cell {
        Cell::Tetrahedron(_) => None,
        Cell::Prism(_) => find_prism_fold(x, flat),
        Cell::Hexahedron(_) => find_hexahedron_fold(x, flat),
    }
}

fn det(a: &Vec3, b: &Vec3, c: &Vec3) -> f64 {
    a.cross(b).dot(c)
}

/// Searches the three upright edges of a prism for a fold.
fn find_prism_fold(x: &[Vec3], flat: f64) -> Option<Vec3> {
    let [low, high] = [0, 3].map(|first| [x[first + 1] - x[first], x[first + 2] - x[first]]);
    let corners = [Vec3::zeros(), Vec3::x(), Vec3::y()];
    corners.iter().enumerate().find_map(|(i, corner)| {
        let upright = x[i + 3] - x[i];
        let mixed = det(&low[0], &high[1], &upright) + det(&high[0], &low[1], &upright);
        let (start, middle, end) = (
            det(&low[0], &low[1], &upright),
            0.5 * mixed,
            det(&high[0], &high[1], &upright),
        );
        // Height of the minimum of the quadratic with these Bernstein coefficients.
        let bend = start - 2.0 * middle + end;
        let height = (start - middle) / bend;
        let least = start - (start - middle) * height;
        (bend > 0.0 && height > 0.0 && height < 1.0 && least <= flat)
            .then(|| corner + Vec3::z() * height)
    })
}

/// Determinant on a box of local coordinates: Bernstein coefficients of degree two in each coordinate, the first
/// one running fastest.
#[derive(Clone, Copy)]
struct Determinant {
    coefficients: [f64; 27],
    low: Vec3,
    size: Vec3,
}

/// Distance between successive coefficients along each coordinate.
const STRIDES: [usize; 3] = [1, 3, 9];

impl Determinant {
    fn from_hexahedron(x: &[Vec3]) -> Self {
        let mut coefficients = [0.0; 27];
        // Edges in each direction, by their position in the other two.
        let edges: [[Vec3; 4]; 3] = std::array::from_fn(|axis| {
            let (p, q) = ((axis + 1) % 3, (axis + 2) % 3);
            std::array::from_fn(|i| {
                let from = (i & 1) << p | (i >> 1) << q;
                x[from | 1 << axis] - x[from]
            })
        });
        // The derivatives are bilinear. Products of their weights, which are Bernstein polynomials of degree one,
        // are those of degree two over the binomial coefficients 1, 2, 1.
        for (i, a) in edges[0].iter().enumerate() {
            for (j, b) in edges[1].iter().enumerate() {
                for (k, c) in edges[2].iter().enumerate() {
                    let degrees = [(j >> 1) + (k & 1), (i & 1) + (k >> 1), (i >> 1) + (j & 1)];
                    let shared = degrees.iter().filter(|&&d| d == 1).count() as i32;
                    let at: usize = degrees.iter().zip(STRIDES).map(|(d, s)| d * s).sum();
                    coefficients[at] += det(a, b, c) * 0.5f64.powi(shared);
                }
            }
        }
        Self {
            coefficients,
            low: Vec3::zeros(),
            size: Vec3::repeat(1.0),
        }
    }

    /// Returns the least coefficient, a lower bound of the determinant.
    fn lower_bound(&self) -> f64 {
        self.coefficients
            .iter()
            .copied()
            .fold(f64::INFINITY, f64::min)
    }

    /// Returns the least value at a corner, where coefficients are values, and its local coordinates.
    fn least_corner(&self) -> (f64, Vec3) {
        let corner = |i: usize| {
            let bits = Vec3::new((i & 1) as f64, (i >> 1 & 1) as f64, (i >> 2) as f64);
            let at: usize = (0..3).map(|k| (i >> k & 1) * 2 * STRIDES[k]).sum();
            let place = self.low + bits.component_mul(&self.size);
            (self.coefficients[at], place)
        };
        let all = (1..8).map(corner);
        all.fold(corner(0), |best, c| if c.0 < best.0 { c } else { best })
    }

    /// Halves the box across the coordinate along which the coefficients bend most, and so bound the values
    /// worst.
    fn halves(&self) -> [Self; 2] {
        let bend = |axis: usize| {
            let c = |at: usize| self.coefficients[at];
            let s = STRIDES[axis];
            row_starts(axis)
                .map(|at| (c(at) - 2.0 * c(at + s) + c(at + 2 * s)).abs())
                .fold(0.0, f64::max)
        };
        let bends = [0, 1, 2].map(bend);
        let axis = (1..3).fold(0, |best, k| if bends[k] > bends[best] { k } else { best });
        let (mut lower, mut upper) = (*self, *self);
        let s = STRIDES[axis];
        for at in row_starts(axis) {
            let [p, q, r] = [0, 1, 2].map(|k| self.coefficients[at + k * s]);
            let (pq, qr) = (0.5 * (p + q), 0.5 * (q + r));
            let middle = 0.5 * (pq + qr);
            for (k, (l, u)) in [(p, middle), (pq, qr), (middle, r)].into_iter().enumerate() {
                lower.coefficients[at + k * s] = l;
                upper.coefficients[at + k * s] = u;
            }
        }
        for half in [&mut lower, &mut upper] {
            half.size[axis] *= 0.5;
        }
        upper.low[axis] += upper.size[axis];
        [lower, upper]
    }
}

/// Returns the first indices of the rows of coefficients along a coordinate.
fn row_starts(axis: usize) -> impl Iterator<Item = usize> {
    (0..27usize).filter(move |at| (at / STRIDES[axis]).is_multiple_of(3))
}

/// Searches a hexahedron for a fold by bisection.
fn find_hexahedron_fold(x: &[Vec3], flat: f64) -> Option<Vec3> {
    let mut left = vec![Determinant::from_hexahedron(x)];
    for _ in 0..MAX_BOXES {
        let part = left.pop()?;
        if part.lower_bound() > flat {
            continue;
        }
        let (value, place) = part.least_corner();
        if value <= flat {
            return Some(place);
        }
        left.extend(part.halves());
    }
    left.last().map(|part| part.least_corner().1)
}

#[cfg(test)]
mod tests;
