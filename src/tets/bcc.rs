// SPDX-License-Identifier: MIT OR Apache-2.0
//! The body-centred cubic lattice and its tetrahedra.
//!
//! A point of the lattice has three whole coordinates that are all even (corners of cubes of edge `a`) or all odd
//! (their centres), in units of `a/2`. Each tetrahedron has two long edges of length `a`, along different axes
//! and opposite one another, and four short ones of length `√3/2 a`. All are congruent, of volume `a³/12`.

use crate::Vec3;

/// Part of the lattice around a point, symmetric about it.
#[derive(Debug, Clone)]
pub(super) struct Bcc {
    /// Position of the point (0, 0, 0), m.
    pub centre: Vec3,
    /// Half of the cubes' edge, m.
    pub half: f64,
    /// Largest coordinate along each axis.
    reach: [i32; 3],
}

/// Coordinates of a point of the lattice.
pub(super) type BccPoint = [i32; 3];

impl Bcc {
    /// Builds a lattice with the given cube edge that covers a box and one cube around it. Its centre is the box's
    /// middle, displaced by `shift` edges (at most one). `None` if it takes more than `most` points.
    pub fn covering_box(lo: Vec3, hi: Vec3, edge: f64, shift: Vec3, most: usize) -> Option<Self> {
        let half = edge / 2.0;
        let needed = (hi - lo) / 2.0 / half;
        if needed.iter().any(|n| !n.is_finite() || *n > 1e6) {
            return None;
        }
        let reach = std::array::from_fn(|k| (needed[k] + 2.0 * shift[k].abs()).ceil() as i32 + 2);
        let grid = Self {
            centre: (lo + hi) / 2.0 + shift * edge,
            half,
            reach,
        };
        let [x, y, z] = grid.sides();
        (x.checked_mul(y)?.checked_mul(z)? / 4 <= most).then_some(grid)
    }

    fn sides(&self) -> [usize; 3] {
        self.reach.map(|n| 2 * n as usize + 1)
    }

    /// Returns the count of point numbers; a quarter of them are points.
    pub fn len(&self) -> usize {
        self.sides().iter().product()
    }

    /// Returns the number of a point.
    pub fn index(&self, at: BccPoint) -> usize {
        let [nx, ny, _] = self.sides();
        let [i, j, k]: [usize; 3] = std::array::from_fn(|a| (at[a] + self.reach[a]) as usize);
        (k * ny + j) * nx + i
    }

    /// Returns whether the part contains these coordinates.
    pub fn contains(&self, at: BccPoint) -> bool {
        (0..3).all(|k| at[k].abs() <= self.reach[k])
    }

    /// Returns the position relative to the centre.
    pub fn position(&self, at: BccPoint) -> Vec3 {
        Vec3::from_fn(|k, _| f64::from(at[k])) * self.half
    }

    /// Returns the points whose last coordinate is `k`, in the order of their numbers.
    pub fn layer(&self, k: i32) -> impl Iterator<Item = BccPoint> + '_ {
        let first = move |n: i32| -n + ((n + k) & 1);
        let along = move |n: i32| (first(n)..=n).step_by(2);
        along(self.reach[1]).flat_map(move |j| along(self.reach[0]).map(move |i| [i, j, k]))
    }

    /// Returns the range of last coordinates.
    pub fn layers(&self) -> std::ops::RangeInclusive<i32> {
        -self.reach[2]..=self.reach[2]
    }

    /// Returns all points in the order of their numbers.
    pub fn points(&self) -> impl Iterator<Item = BccPoint> + '_ {
        self.layers().flat_map(|k| self.layer(k))
    }

    /// Returns the six tetrahedra that start at a point: positively oriented, the first two corners along one long
    /// edge. Each tetrahedron starts at one point. Those that reach out of the part are left out.
    pub fn tets(&self, p: BccPoint) -> impl Iterator<Item = [BccPoint; 4]> + '_ {
        (0..6).filter_map(move |i| {
            let (k, side) = (i / 2, 1 - 2 * (i as i32 % 2));
            let (m, n) = ((k + 1) % 3, (k + 2) % 3);
            let mut end = p;
            end[k] += 2;
            let mut ring = p;
            ring[k] += 1;
            ring[n] += side;
            let (mut r, mut s) = (ring, ring);
            r[m] += side;
            s[m] -= side;
            let tet = [p, end, r, s];
            tet.iter().all(|&q| self.contains(q)).then_some(tet)
        })
    }

    /// Returns the ends of the edges that start at a point: three long ones, and from even points eight short ones.
    pub fn edges(&self, p: BccPoint) -> impl Iterator<Item = BccPoint> + '_ {
        let short = if p[0] & 1 == 0 { 8 } else { 0 };
        (0..3 + short).filter_map(move |e: usize| {
            let q: BccPoint = if e < 3 {
                std::array::from_fn(|k| p[k] + if k == e { 2 } else { 0 })
            } else {
                std::array::from_fn(|k| p[k] + if (e - 3) >> k & 1 == 1 { 1 } else { -1 })
            };
            self.contains(q).then_some(q)
        })
    }
}

/// Returns whether an edge is long: its ends are both even or both odd.
pub(super) fn is_long(p: BccPoint, q: BccPoint) -> bool {
    (p[0] - q[0]) & 1 == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The tetrahedra are congruent, positively oriented and meet in whole faces.
    #[test]
    fn bcc_tetrahedra_are_congruent() {
        let hi = Vec3::new(2.0, 1.5, 1.0);
        let grid = Bcc::covering_box(-hi, hi, 1.0, Vec3::zeros(), 1 << 20).unwrap();
        let mut faces: BTreeMap<[usize; 3], u32> = BTreeMap::new();
        let mut edges: Vec<(usize, usize)> = Vec::new();
        for p in grid.points() {
            for t in grid.tets(p) {
                let x = t.map(|q| grid.position(q));
                let volume = (x[1] - x[0]).cross(&(x[2] - x[0])).dot(&(x[3] - x[0])) / 6.0;
                approx::assert_relative_eq!(volume, 1.0 / 12.0, max_relative = 1e-12);
                assert!(is_long(t[0], t[1]) && is_long(t[2], t[3]) && !is_long(t[0], t[2]));
                let n = t.map(|q| grid.index(q));
                for f in [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]] {
                    let mut key = f.map(|c: usize| n[c]);
                    key.sort_unstable();
                    *faces.entry(key).or_default() += 1;
                    edges.extend([(key[0], key[1]), (key[0], key[2]), (key[1], key[2])]);
                }
            }
        }
        assert!(faces.values().all(|&n| n <= 2));
        // Every edge of a tetrahedron is begun by one point.
        let mut begun: Vec<(usize, usize)> = Vec::new();
        for p in grid.points() {
            begun.extend(grid.edges(p).map(|q| {
                let (a, b) = (grid.index(p), grid.index(q));
                (a.min(b), a.max(b))
            }));
        }
        let count = begun.len();
        begun.sort_unstable();
        begun.dedup();
        assert_eq!(begun.len(), count);
        assert!(edges.iter().all(|e| begun.binary_search(e).is_ok()));
        // Inside of the part all faces are shared: the tetrahedra fill it.
        let inner = grid
            .points()
            .filter(|p| (0..3).all(|k| p[k].abs() <= grid.reach[k] - 4));
        for p in inner {
            let n = grid.index(p);
            let around = faces.iter().filter(|(f, _)| f.contains(&n));
            assert!(around.clone().count() > 0 && around.clone().all(|(_, &c)| c == 2));
        }
    }

    /// A grid with too many points is not built.
    #[test]
    fn bcc_refuses_large_grids() {
        let hi = Vec3::repeat(1.0);
        assert!(Bcc::covering_box(-hi, hi, 1e-3, Vec3::zeros(), 1000).is_none());
        assert!(Bcc::covering_box(-hi, hi, 1e-300, Vec3::zeros(), 1000).is_none());
        assert!(Bcc::covering_box(-hi, hi, 0.0, Vec3::zeros(), 1000).is_none());
    }
}
