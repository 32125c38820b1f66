// SPDX-License-Identifier: MIT OR Apache-2.0
//! Embedding of points, each as a weighted mean of the corners of its cell.
//!
//! `p(x) = Σ_a φ_a(x) (x_a + q_a)` [capell2002, eq. 5] with 4, 6 or 8 level-0 functions. A point in several
//! cells (on a common face) belongs to the first in index order. A point outside all cells belongs to the
//! nearest one, whose functions are extrapolated linearly.

use super::cell::{LOCAL_TOLERANCE, ShapeValues};
use super::{Cell, Embedding, Lattice};
use crate::Vec3;
use crate::geometry::aabb;
use crate::surface::Surface;
use rayon::prelude::*;

impl Lattice {
    /// Returns the first cell in index order that contains a point.
    pub fn locate(&self, p: Vec3) -> Option<u32> {
        self.locator.cells_around(p).find(|&c| self.contains(c, p))
    }

    /// Embeds points anywhere, each in the first cell that contains it, or else in the nearest cell by
    /// extrapolation.
    pub fn embed(&self, points: &[Vec3]) -> Embedding {
        let rows: Vec<(u32, ShapeValues)> = points
            .par_iter()
            .map(|&p| {
                let cell = self.cell_around(p);
                (cell, self.weights_in(cell, p))
            })
            .collect();
        self.collect_rows(rows)
    }

    /// Embeds a surface like [`Lattice::embed`]; where virtual copies of a cell overlap in space, each
    /// vertex is embedded in the copy that holds its own flesh.
    pub fn embed_surface(&self, surface: &Surface) -> Embedding {
        let cells = self.surface_cells(surface);
        let points = cells.par_iter().zip(surface.vertices());
        let rows = points.map(|(&cell, &p)| (cell, self.weights_in(cell, p)));
        self.collect_rows(rows.collect())
    }

    /// Returns the cell of each vertex of a surface in [`embed_surface`](Self::embed_surface).
    pub(crate) fn surface_cells(&self, surface: &Surface) -> Vec<u32> {
        let owners = self.surface_owners(surface);
        let vertices = surface.vertices().par_iter().enumerate();
        let cell = |(i, &p): (usize, &Vec3)| {
            let owner = owners.as_ref().and_then(|o| o[i]);
            owner.unwrap_or_else(|| self.owner(self.cell_around(p), p))
        };
        vertices.map(cell).collect()
    }

    /// Returns the first cell that contains a point, or else the nearest cell.
    pub(crate) fn cell_around(&self, p: Vec3) -> u32 {
        self.locate(p).unwrap_or_else(|| self.nearest_cell(p))
    }

    /// Returns the distances of embedded points from the cells that carry them, m; zero inside any cell.
    pub fn outside_distances(&self, embedding: &Embedding, points: &[Vec3]) -> Vec<f64> {
        let distance = |(i, &p): (usize, &Vec3)| {
            let within =
                embedding.row(i).all(|(_, w)| w >= -LOCAL_TOLERANCE) || self.locate(p).is_some();
            if within {
                0.0
            } else {
                self.distance_squared(embedding.cells()[i], p).sqrt()
            }
        };
        points.par_iter().enumerate().map(distance).collect()
    }

    /// Returns whether a cell contains a point, its faces included.
    pub(super) fn contains(&self, cell: u32, p: Vec3) -> bool {
        self.local_coordinates(cell, p)
            .is_some_and(|l| self.cells[cell as usize].inside_margin(l) >= -LOCAL_TOLERANCE)
    }

    fn collect_rows(&self, rows: Vec<(u32, ShapeValues)>) -> Embedding {
        let corners = |cell: u32| self.cells[cell as usize].corners().iter().copied();
        let row = |(cell, weights)| (cell, corners(cell).zip(weights));
        // Corners of cells are vertices of the lattice.
        Embedding::from_rows(self.vertices.len(), rows.into_iter().map(row)).unwrap_or_default()
    }

    pub(super) fn local_coordinates(&self, cell: u32, p: Vec3) -> Option<Vec3> {
        let c = &self.cells[cell as usize];
        c.local_coordinates(&self.corners(cell), p)
    }

    /// Returns the corner functions of a cell at a point in it or near it.
    pub(crate) fn weights_in(&self, cell: u32, p: Vec3) -> ShapeValues {
        let c = &self.cells[cell as usize];
        let x = &self.corners(cell);
        let from = match c.local_coordinates(x, p) {
            Some(l)
                if matches!(c, Cell::Tetrahedron(_)) || c.inside_margin(l) >= -LOCAL_TOLERANCE =>
            {
                return c.shape_values(l);
            }
            Some(l) => c.clamp(l),
            None => c.clamp(Vec3::repeat(0.3)),
        };
        c.extrapolate(x, p, from).unwrap_or_else(|| {
            // A flat cell: the nearest corner carries the point.
            let distance = |i: &usize| (x[*i] - p).norm_squared();
            let nearest = (0..x.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)));
            let mut s = [0.0; 8];
            s[nearest.unwrap_or(0)] = 1.0;
            s
        })
    }

    /// Returns the local coordinates in a cell of a point in it, or of the nearest point in local coordinates.
    pub(crate) fn clamped_coordinates(&self, cell: u32, p: Vec3) -> Vec3 {
        let c = &self.cells[cell as usize];
        c.clamp(self.local_coordinates(cell, p).unwrap_or(Vec3::repeat(0.3)))
    }

    /// Returns the cell nearest to a point outside all cells.
    fn nearest_cell(&self, p: Vec3) -> u32 {
        let to_box = |(lo, hi): &(Vec3, Vec3)| (p - p.sup(lo).inf(hi)).norm_squared();
        let boxes = || (0u32..).zip(&self.locator.boxes);
        // The cell with the nearest box bounds the distance; few others have a nearer box.
        let first = boxes()
            .map(|(c, b)| (to_box(b), c))
            .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
            .map_or(0, |b| b.1);
        let mut best = (self.distance_squared(first, p), first);
        for (c, b) in boxes() {
            if c == first || to_box(b) > best.0 {
                continue;
            }
            let d = self.distance_squared(c, p);
            if d < best.0 || (d == best.0 && c < best.1) {
                best = (d, c);
            }
        }
        best.1
    }

    /// Returns the squared distance to the faces of a cell that does not contain the point.
    fn distance_squared(&self, cell: u32, p: Vec3) -> f64 {
        let x = self.corners(cell);
        let mut best = f64::INFINITY;
        for f in self.cells[cell as usize].faces() {
            for k in 2..f.len() {
                let q = closest_on_triangle(x[f[0]], x[f[k - 1]], x[f[k]], p);
                best = best.min((q - p).norm_squared());
            }
        }
        best
    }

    /// Returns for each input vertex the copy that holds it; `None` if the surface is not the enclosed one.
    fn surface_owners(&self, surface: &Surface) -> Option<Vec<Option<u32>>> {
        let owners = self.flesh.as_ref()?.vertex_owner(surface)?;
        let of_welded = |w: u32| owners.get(w as usize).copied().filter(|&c| c != u32::MAX);
        let welded = &surface.welded().of_vertex;
        Some(welded.iter().map(|&w| of_welded(w)).collect())
    }
}

fn closest_on_triangle(a: Vec3, b: Vec3, c: Vec3, p: Vec3) -> Vec3 {
    use crate::geometry::tetrahedron::closest_on_segment;
    let n = (b - a).cross(&(c - a));
    let n2 = n.norm_squared();
    if n2 > 0.0 {
        let q = p - n * (n.dot(&(p - a)) / n2);
        let inside = |u: Vec3, v: Vec3| n.dot(&(v - u).cross(&(q - u))) >= 0.0;
        if inside(a, b) && inside(b, c) && inside(c, a) {
            return q;
        }
    }
    [
        closest_on_segment(a, b, p).0,
        closest_on_segment(b, c, p).0,
        closest_on_segment(c, a, p).0,
    ]
    .into_iter()
    .min_by(|u, v| (u - p).norm_squared().total_cmp(&(v - p).norm_squared()))
    .unwrap_or(a)
}

/// Uniform grid over the cells' bounding boxes, which finds cells that may contain a point.
#[derive(Debug, Clone)]
pub(crate) struct Locator {
    origin: Vec3,
    spacing: f64,
    dims: [usize; 3],
    starts: Vec<u32>,
    cells: Vec<u32>,
    boxes: Vec<(Vec3, Vec3)>,
}

impl Locator {
    pub(crate) fn new(vertices: &[Vec3], cells: &[Cell]) -> Self {
        let boxes: Vec<(Vec3, Vec3)> = cells
            .iter()
            .map(|c| {
                let (lo, hi) = aabb::bounds(c.corners().iter().map(|&v| vertices[v as usize]));
                let slack = (hi - lo).norm() * 1e-7;
                (lo - Vec3::repeat(slack), hi + Vec3::repeat(slack))
            })
            .collect();
        let (lo, hi) = aabb::bounds(boxes.iter().flat_map(|(lo, hi)| [lo, hi]));
        let mean: f64 = boxes.iter().map(|b| (b.1 - b.0).max()).sum::<f64>() / boxes.len() as f64;
        let spacing = (mean * 0.7)
            .max((hi - lo).max() / 128.0)
            .max(f64::MIN_POSITIVE);
        let dims: [usize; 3] =
            std::array::from_fn(|k| (((hi - lo)[k] / spacing).ceil() as usize).clamp(1, 128));
        let mut grid = Self {
            origin: lo,
            spacing,
            dims,
            starts: Vec::new(),
            cells: Vec::new(),
            boxes,
        };
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); dims.iter().product()];
        for (c, (lo, hi)) in grid.boxes.iter().enumerate() {
            let (a, b) = (grid.bin_index(*lo), grid.bin_index(*hi));
            for k in a[2]..=b[2] {
                for j in a[1]..=b[1] {
                    for i in a[0]..=b[0] {
                        lists[(k * dims[1] + j) * dims[0] + i].push(c as u32);
                    }
                }
            }
        }
        grid.starts.push(0);
        for l in &lists {
            grid.cells.extend(l);
            grid.starts.push(grid.cells.len() as u32);
        }
        grid
    }

    /// Returns the other cells whose boxes touch the box of a cell, ascending.
    pub(crate) fn touching_cells(&self, cell: usize) -> Vec<usize> {
        let (lo, hi) = self.boxes[cell];
        let (a, b) = (self.bin_index(lo), self.bin_index(hi));
        let mut found = Vec::new();
        for k in a[2]..=b[2] {
            for j in a[1]..=b[1] {
                for i in a[0]..=b[0] {
                    let bin = (k * self.dims[1] + j) * self.dims[0] + i;
                    let (s, e) = (self.starts[bin] as usize, self.starts[bin + 1] as usize);
                    found.extend(self.cells[s..e].iter().map(|&c| c as usize).filter(|&c| {
                        let (p, q) = self.boxes[c];
                        c != cell && (0..3).all(|x| p[x] <= hi[x] && q[x] >= lo[x])
                    }));
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn bin_index(&self, p: Vec3) -> [usize; 3] {
        std::array::from_fn(|k| {
            let x = (p[k] - self.origin[k]) / self.spacing;
            (x.max(0.0) as usize).min(self.dims[k] - 1)
        })
    }

    /// Returns the cells whose boxes may hold the point, ascending.
    pub(crate) fn candidates(&self, p: Vec3) -> &[u32] {
        let b = self.bin_index(p);
        let i = (b[2] * self.dims[1] + b[1]) * self.dims[0] + b[0];
        &self.cells[self.starts[i] as usize..self.starts[i + 1] as usize]
    }

    /// Returns the cells whose boxes hold the point, ascending. Even a warped cell stays inside the box of
    /// its corners.
    pub(super) fn cells_around(&self, p: Vec3) -> impl Iterator<Item = u32> + '_ {
        self.candidates(p).iter().copied().filter(move |&c| {
            let (lo, hi) = &self.boxes[c as usize];
            (0..3).all(|k| lo[k] <= p[k] && p[k] <= hi[k])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    fn mixed_lattice() -> Lattice {
        // A cube on [0,1]³, a prism on top of it, a tetrahedron beside it.
        let v = Vec3::new;
        let mut x: Vec<Vec3> = (0..8)
            .map(|i| v((i & 1) as f64, (i >> 1 & 1) as f64, (i >> 2 & 1) as f64))
            .collect();
        x.extend([v(0.0, 0.5, 2.0), v(1.0, 0.5, 2.0), v(2.0, 0.2, 0.3)]);
        let cells = vec![
            Cell::Hexahedron([0, 1, 2, 3, 4, 5, 6, 7]),
            Cell::Prism([4, 8, 6, 5, 9, 7]),
            Cell::Tetrahedron([1, 3, 5, 10]),
        ];
        Lattice::new(x, cells).expect("valid")
    }

    /// Embedded points follow an affine map of the lattice exactly, inside it and outside.
    #[test]
    fn embed_reproduces_affine_maps() {
        let lattice = mixed_lattice();
        let m = crate::Mat3::new(1.0, 0.3, -0.2, 0.1, 0.9, 0.4, 0.0, -0.3, 1.2);
        let t = Vec3::new(3.0, -1.0, 0.5);
        let moved: Vec<Vec3> = lattice.vertices().iter().map(|x| m * x + t).collect();
        let points: Vec<Vec3> = (0..500)
            .map(|k| {
                let f = |s: f64| ((k as f64 + 0.5) * s).sin() * 1.6 + 0.6;
                Vec3::new(f(12.9), f(7.7), f(3.3))
            })
            .collect();
        let e = lattice.embed(&points);
        for (i, p) in points.iter().enumerate() {
            assert_relative_eq!(e.position(i, lattice.vertices()), *p, epsilon = 1e-9);
            assert_relative_eq!(e.position(i, &moved), m * p + t, epsilon = 1e-9);
        }
    }

    /// A point on a common face is embedded in the first of the two cells.
    #[test]
    fn embed_shared_face_first_cell() {
        let lattice = mixed_lattice();
        let e = lattice.embed(&[Vec3::new(0.5, 0.5, 1.0), Vec3::new(0.5, 0.5, 1.2)]);
        assert_eq!(e.cells(), [0, 1]);
        assert_eq!([e.row(0).len(), e.row(1).len()], [8, 6]);
    }

    /// A point outside the lattice is embedded in the nearest cell.
    #[test]
    fn embed_outside_uses_nearest_cell() {
        let lattice = mixed_lattice();
        let e = lattice.embed(&[Vec3::new(-3.0, 0.4, 0.4), Vec3::new(5.0, 0.2, 0.3)]);
        assert_eq!(e.cells(), [0, 2]);
        assert_eq!(lattice.locate(Vec3::new(-3.0, 0.4, 0.4)), None);
    }

    /// The distance outside the lattice is the distance to the nearest cell, and zero inside.
    #[test]
    fn outside_is_nearest_distance() {
        let lattice = mixed_lattice();
        let points = [
            Vec3::new(-3.0, 0.4, 0.4),
            Vec3::new(0.5, 0.5, 0.5),
            Vec3::new(2.0, 0.2, 0.3) + Vec3::x() * 1.5,
        ];
        let outside = lattice.outside_distances(&lattice.embed(&points), &points);
        for (found, expected) in outside.iter().zip([3.0, 0.0, 1.5]) {
            assert_relative_eq!(*found, expected, epsilon = 1e-12);
        }
    }

    /// Builds limbs of hexahedra, of prisms, and of both.
    fn limb_lattices() -> Vec<Lattice> {
        let limb = |i: u64| crate::lattice::limb::LimbShape {
            twist: 0.5 * i as f64,
            bend: 1.4 - 0.3 * i as f64,
            jitter: 0.05 * i as f64,
            seed: i,
        };
        (0..4)
            .map(|i| {
                let (x, cells) = limb(i).lattice(|column| (column as u64 + i) % 3 < i);
                Lattice::new(x, cells).expect("valid")
            })
            .collect()
    }

    /// Every point of a warped cell is located in a cell and reproduced by its weights.
    #[test]
    fn embed_in_warped_cells() {
        let mut random = crate::surface::shapes::Random(12);
        for lattice in limb_lattices() {
            let mut points = Vec::new();
            let mut owners = Vec::new();
            for (c, cell) in (0u32..).zip(lattice.cells()) {
                for _ in 0..40 {
                    // Some of them on faces, edges and corners.
                    let l = cell.clamp(Vec3::from_fn(|_, _| 1.3 * random.next() - 0.15));
                    let p = cell.position(&lattice.corners(c), l);
                    let holding = |&d: &u32| lattice.contains(d, p);
                    let all: Vec<u32> = (0..lattice.cells().len() as u32).filter(holding).collect();
                    assert!(all.contains(&c));
                    if cell.inside_margin(l) > 1e-6 {
                        assert_eq!(all, [c]);
                    }
                    assert_eq!(lattice.locate(p), Some(all[0]));
                    points.push(p);
                    owners.push(all[0]);
                }
            }
            let embedding = lattice.embed(&points);
            assert_eq!(embedding.cells(), owners);
            assert!(
                lattice
                    .outside_distances(&embedding, &points)
                    .iter()
                    .all(|&d| d == 0.0)
            );
            for (i, p) in points.iter().enumerate() {
                let back = embedding.position(i, lattice.vertices());
                assert!(
                    (back - p).norm() < 1e-13 * crate::geometry::aabb::diagonal(lattice.vertices())
                );
            }
        }
    }

    /// A segment through warped cells lies in some cell everywhere, with no gaps between faces.
    #[test]
    fn locate_has_no_gaps() {
        // Between two points well inside a limb of hexahedra there are no gaps between warped faces.
        for lattice in limb_lattices() {
            let middle = |c: usize| {
                let x = lattice.corners(c as u32);
                x.iter().sum::<Vec3>() / x.len() as f64
            };
            for c in 1..lattice.cells().len() {
                let shares = |v: &&u32| lattice.cells()[c - 1].corners().contains(v);
                if lattice.cells()[c].corners().iter().filter(shares).count() < 4 {
                    continue;
                }
                let (p, q) = (middle(c - 1), middle(c));
                for k in 0..=200 {
                    let x = p + (q - p) * (f64::from(k) / 200.0);
                    assert!(lattice.locate(x).is_some(), "{c} {k}");
                }
            }
        }
    }
}
