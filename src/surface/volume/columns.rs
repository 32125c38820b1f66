// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parallel lines through a box, and their crossings with triangles.
use crate::Vec3;
use robust::{Coord, orient2d};

/// Step between the columns of one pass, along both axes.
const PASS_STRIDE: u32 = 9;
/// Number of passes that together cover all columns.
pub(super) const PASS_COUNT: u32 = PASS_STRIDE * PASS_STRIDE;

/// Parallel lines through a box, along its shortest axis.
pub(super) struct ColumnGrid {
    pub lo: Vec3,
    pub hi: Vec3,
    pub axis: usize,
    /// Distances between columns, along the next two axes.
    spacing: [f64; 2],
    /// Number of columns along the next two axes.
    count: [u32; 2],
}

/// Intersection of a column with a triangle.
pub(super) struct Crossing {
    pub column: u32,
    pub height: f64,
    /// +1 where the column leaves, −1 where it enters.
    pub sign: i32,
}

/// A subset of the columns: every [`PASS_STRIDE`]-th along both axes.
#[derive(Clone, Copy)]
pub(super) struct ColumnPass {
    first: [u32; 2],
}

impl ColumnPass {
    /// Returns pass `k`, in an order in which the first few passes are spread evenly.
    pub fn from_index(k: u32) -> Self {
        // Steps coprime to the stride, such that early ones differ on each axis.
        let (row, column) = (k / PASS_STRIDE, k % PASS_STRIDE);
        Self {
            first: [
                (column * 4 + row) % PASS_STRIDE,
                (column * 7 + row * 2) % PASS_STRIDE,
            ],
        }
    }
}

impl ColumnGrid {
    pub fn new(lo: Vec3, hi: Vec3, across: f64) -> Self {
        let extent = hi - lo;
        let axis = extent.imin();
        let [a, b] = [extent[(axis + 1) % 3], extent[(axis + 2) % 3]];
        let spacing = (a * b).sqrt().max(a.max(b) * 1e-3) / across;
        let count = [a, b].map(|x| (x / spacing).ceil().max(1.0) as u32);
        Self {
            lo,
            hi,
            axis,
            spacing: [a / count[0] as f64, b / count[1] as f64],
            count,
        }
    }

    /// Returns the position of a column along the first (`k` = 0) or second (1) axis after its own. It is slightly
    /// off the middle, so that columns avoid the edges of modelled boxes and the plane of symmetry.
    fn column_position(&self, k: usize, i: u32) -> f64 {
        self.lo[(self.axis + 1 + k) % 3] + (i as f64 + [0.4897, 0.5123][k]) * self.spacing[k]
    }

    /// Returns the point of a column at a height.
    pub fn point(&self, column: u32, height: f64) -> Vec3 {
        let mut p = Vec3::zeros();
        p[self.axis] = height;
        p[(self.axis + 1) % 3] = self.column_position(0, column / self.count[1]);
        p[(self.axis + 2) % 3] = self.column_position(1, column % self.count[1]);
        p
    }

    /// Returns the area that one column represents.
    pub fn area(&self) -> f64 {
        self.spacing[0] * self.spacing[1]
    }

    /// Returns the number of columns in all passes.
    pub fn len(&self) -> u32 {
        self.count[0] * self.count[1]
    }

    /// Returns the columns of a pass, in ascending order.
    pub fn columns_of_pass(&self, pass: ColumnPass) -> Vec<u32> {
        let along = |k: usize| (pass.first[k]..self.count[k]).step_by(PASS_STRIDE as usize);
        along(0)
            .flat_map(|i| along(1).map(move |j| (i, j)))
            .map(|(i, j)| i * self.count[1] + j)
            .collect()
    }

    /// Calls `with` for the columns of a pass that may be within `reach` of a triangle, in the projection along
    /// the columns.
    pub fn visit_columns_near(
        &self,
        pass: ColumnPass,
        flat: &[[f64; 2]; 3],
        reach: f64,
        mut with: impl FnMut(u32, [f64; 2]),
    ) {
        // Rounding must not lose a column.
        let reach = reach + 1e-9 * self.spacing[0].max(self.spacing[1]);
        let (low, high) = range(flat.iter().map(|p| p[0]));
        for i in self.indices_in_range(pass, 0, low - reach, high + reach) {
            let x = self.column_position(0, i);
            let (low, high) = strip_range(flat, x - reach, x + reach);
            for j in self.indices_in_range(pass, 1, low - reach, high + reach) {
                with(i * self.count[1] + j, [x, self.column_position(1, j)]);
            }
        }
    }

    /// Returns the indices of the columns of a pass along one axis whose positions lie in a range.
    fn indices_in_range(
        &self,
        pass: ColumnPass,
        k: usize,
        lo: f64,
        hi: f64,
    ) -> impl Iterator<Item = u32> + use<> {
        let column = |x: f64| (x - self.column_position(k, 0)) / self.spacing[k];
        let first = column(lo).ceil().max(0.0) as u32;
        let end = ((column(hi).floor() + 1.0).max(0.0) as u32).min(self.count[k]);
        // The first column of the pass from there on.
        let skip = (PASS_STRIDE + pass.first[k] - first % PASS_STRIDE) % PASS_STRIDE;
        (first.saturating_add(skip)..end).step_by(PASS_STRIDE as usize)
    }

    /// Returns the two coordinates across the columns.
    pub fn project(&self, x: &Vec3) -> [f64; 2] {
        [x[(self.axis + 1) % 3], x[(self.axis + 2) % 3]]
    }

    /// Finds the crossings of a pass's columns with the chosen triangles, sorted by column and height.
    pub fn crossings(
        &self,
        pass: ColumnPass,
        vertices: &[Vec3],
        triangles: &[[u32; 3]],
        chosen: &[u32],
    ) -> Vec<Crossing> {
        let mut found = Vec::new();
        for &t in chosen {
            let corners = triangles[t as usize];
            let flat = corners.map(|x| self.project(&vertices[x as usize]));
            self.visit_columns_near(pass, &flat, 0.0, |column, at| {
                let Some((sign, weights)) = crossing(&corners, &flat, at) else {
                    return;
                };
                let height = |k: usize| weights[k] * vertices[corners[k] as usize][self.axis];
                found.push(Crossing {
                    column,
                    height: height(0) + height(1) + height(2),
                    sign,
                });
            });
        }
        found.sort_unstable_by(|a, b| {
            let by_height = a.height.total_cmp(&b.height);
            a.column
                .cmp(&b.column)
                .then(by_height)
                .then(a.sign.cmp(&b.sign))
        });
        found
    }
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| {
        (lo.min(x), hi.max(x))
    })
}

/// Returns the range of a triangle's second coordinates over a range of its first ones.
fn strip_range(flat: &[[f64; 2]; 3], from: f64, to: f64) -> (f64, f64) {
    let edges = (0..3).map(|k| (flat[k], flat[(k + 1) % 3]));
    range(edges.flat_map(|(a, b)| {
        let at = |x: f64| match (x - a[0]) / (b[0] - a[0]) {
            t if (0.0..=1.0).contains(&t) => a[1] + (b[1] - a[1]) * t,
            _ => f64::NAN,
        };
        let ends = [a, b].map(|p| {
            if (from..=to).contains(&p[0]) {
                p[1]
            } else {
                f64::NAN
            }
        });
        // Comparisons ignore NaN.
        [at(from), at(to), ends[0], ends[1]]
    }))
}

/// Returns the direction (along the column or against it) in which a triangle is crossed, and the
/// barycentric coordinates there. The signs are exact, with one rule for both triangles of an edge: closed
/// surfaces are entered as often as they are left.
fn crossing(corners: &[u32; 3], flat: &[[f64; 2]; 3], at: [f64; 2]) -> Option<(i32, [f64; 3])> {
    let coord = |p: [f64; 2]| Coord { x: p[0], y: p[1] };
    let mut weights = [0.0; 3];
    let mut signs = [0; 3];
    for k in 0..3 {
        let (i, j) = ((k + 1) % 3, (k + 2) % 3);
        let forward = corners[i] < corners[j];
        let (a, b) = if forward { (i, j) } else { (j, i) };
        let side = orient2d(coord(flat[a]), coord(flat[b]), coord(at));
        weights[k] = if forward { side } else { -side };
        signs[k] = if (side >= 0.0) == forward { 1 } else { -1 };
    }
    if signs[0] != signs[1] || signs[1] != signs[2] {
        return None;
    }
    let total: f64 = weights.iter().sum();
    let weights = if total == 0.0 {
        [1.0 / 3.0; 3]
    } else {
        weights.map(|w| w / total)
    };
    Some((signs[0], weights))
}

#[cfg(test)]
mod tests {
    use super::super::super::nearest::TriangleHierarchy;
    use super::super::super::shapes::random_points;
    use super::*;

    /// Together the passes take every column exactly once.
    #[test]
    fn passes_cover_columns_once() {
        let columns = ColumnGrid::new(Vec3::zeros(), Vec3::new(1.0, 0.7, 0.2), 40.0);
        let passes = (0..PASS_COUNT).map(ColumnPass::from_index);
        let mut all: Vec<u32> = passes.flat_map(|p| columns.columns_of_pass(p)).collect();
        all.sort_unstable();
        assert_eq!(all, (0..columns.len()).collect::<Vec<_>>());
    }

    /// The columns over a triangle are those of the pass within its reach.
    #[test]
    fn columns_over_triangle() {
        let columns = ColumnGrid::new(Vec3::zeros(), Vec3::new(1.0, 0.7, 0.2), 60.0);
        let across = |x: Vec3| columns.project(&x);
        for (k, p) in random_points(90, 0.5, 3).chunks_exact(3).enumerate() {
            let pass = ColumnPass::from_index(k as u32 % PASS_COUNT);
            let x = [p[0], p[1], p[2]].map(|p| p + Vec3::new(0.5, 0.35, 0.1));
            for reach in [0.0, 0.04] {
                let mut found = Vec::new();
                columns.visit_columns_near(pass, &x.map(across), reach, |column, _| {
                    found.push(column)
                });
                let flat = x.map(|x| Vec3::new(across(x)[0], across(x)[1], 0.0));
                let nearest = TriangleHierarchy::new(&flat, &[[0, 1, 2]], vec![0]);
                for c in columns.columns_of_pass(pass) {
                    let [u, v] = columns.project(&columns.point(c, 0.0));
                    let near = nearest.closest(&Vec3::new(u, v, 0.0), f64::INFINITY);
                    let far = near.expect("a triangle").distance;
                    assert!(far > reach || found.contains(&c), "{far}");
                    assert!(far < 3.0 * reach + 1e-6 || !found.contains(&c), "{far}");
                }
            }
        }
    }
}
