// SPDX-License-Identifier: MIT OR Apache-2.0
//! Delaunay tetrahedralisation: incremental insertion (Bowyer 1981, Watson 1981) with exact predicates.
//!
//! Points go in along a Morton curve, so that the walk to each is short. The cavity of a point is the
//! tetrahedra whose circumsphere holds it strictly; ties stay out, and the cavity then grows until the
//! point sees every face of it (cospherical and coplanar points would give flat cells otherwise).

use crate::Vec3;
use robust::{Coord3D, insphere, orient3d};

/// Why there is no tetrahedralisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DelaunayError {
    /// Fewer than four points, or all in a plane.
    #[error("its points do not span a volume")]
    Flat,
    /// The walk or the cavity did not come to an end: coordinates beyond what f64 can tell apart.
    #[error("its points are too close together to tell apart")]
    Stuck,
}

const NONE: u32 = u32::MAX;

/// Positively oriented tetrahedra of the points' convex hull (up to slivers on the hull itself). A point
/// that coincides with an earlier one is left out.
pub(crate) fn delaunay(points: &[Vec3]) -> Result<Vec<[u32; 4]>, DelaunayError> {
    let n = points.len();
    if n < 4 {
        return Err(DelaunayError::Flat);
    }
    let mut mesh = Mesh::around(points);
    for i in morton_order(points) {
        mesh.insert(i)?;
    }
    let tets: Vec<[u32; 4]> = (0..mesh.tets.len())
        .filter(|&t| mesh.alive[t])
        .map(|t| mesh.tets[t])
        .filter(|t| t.iter().all(|&v| (v as usize) < n))
        .collect();
    if tets.is_empty() {
        Err(DelaunayError::Flat)
    } else {
        Ok(tets)
    }
}

struct Mesh {
    x: Vec<Coord3D<f64>>,
    tets: Vec<[u32; 4]>,
    /// Neighbour opposite each corner.
    across: Vec<[u32; 4]>,
    alive: Vec<bool>,
    free: Vec<u32>,
    /// Stamp of the insertion whose cavity holds the tetrahedron.
    stamp: Vec<u32>,
    last: u32,
    round: u32,
    cavity: Vec<u32>,
}

/// Faces opposite each corner, seen from inside counter-clockwise: `(face, corner)` is positive.
const FACES: [[usize; 3]; 4] = [[1, 3, 2], [0, 2, 3], [0, 3, 1], [0, 1, 2]];

impl Mesh {
    /// One far tetrahedron around everything.
    fn around(points: &[Vec3]) -> Self {
        let far = Vec3::repeat(f64::INFINITY);
        let (lo, hi) = points
            .iter()
            .fold((far, -far), |(l, h), p| (l.inf(p), h.sup(p)));
        let centre = (lo + hi) / 2.0;
        let r = (hi - lo).norm().max(1e-300) * 1e3;
        let mut x: Vec<Coord3D<f64>> = points.iter().map(|&p| coord(p - centre)).collect();
        let n = x.len() as u32;
        for c in [
            [1.0, 1.0, 1.0],
            [-1.0, 1.0, -1.0],
            [1.0, -1.0, -1.0],
            [-1.0, -1.0, 1.0],
        ] {
            x.push(coord(Vec3::from(c) * r));
        }
        Self {
            x,
            tets: vec![[n, n + 1, n + 2, n + 3]],
            across: vec![[NONE; 4]],
            alive: vec![true],
            free: Vec::new(),
            stamp: vec![0],
            last: 0,
            round: 0,
            cavity: Vec::new(),
        }
    }

    /// Positive when the four are positively oriented.
    fn orient(&self, a: u32, b: u32, c: u32, d: u32) -> f64 {
        // The crate's sign is that of the volume turned over.
        -orient3d(self.at(a), self.at(b), self.at(c), self.at(d))
    }

    fn at(&self, v: u32) -> Coord3D<f64> {
        self.x[v as usize]
    }

    fn holds(&self, t: u32, p: u32) -> bool {
        let [a, b, c, d] = self.tets[t as usize];
        insphere(self.at(b), self.at(a), self.at(c), self.at(d), self.at(p)) > 0.0
    }

    fn sees(&self, t: u32, face: usize, p: u32) -> bool {
        let f = FACES[face].map(|i| self.tets[t as usize][i]);
        self.orient(f[0], f[1], f[2], p) > 0.0
    }

    /// Walks to the tetrahedron that contains a point.
    fn locate(&self, p: u32) -> Result<u32, DelaunayError> {
        let mut t = self.last;
        let mut from = NONE;
        for _ in 0..4 * self.tets.len() + 64 {
            let next = (0..4).find(|&f| {
                let n = self.across[t as usize][f];
                let corner = FACES[f].map(|i| self.tets[t as usize][i]);
                n != NONE && n != from && self.orient(corner[0], corner[1], corner[2], p) < 0.0
            });
            match next {
                Some(f) => {
                    from = t;
                    t = self.across[t as usize][f];
                }
                None => return Ok(t),
            }
        }
        Err(DelaunayError::Stuck)
    }

    fn insert(&mut self, p: u32) -> Result<(), DelaunayError> {
        let start = self.locate(p)?;
        let q = self.at(p);
        let same = |v: &u32| {
            let c = self.at(*v);
            (c.x, c.y, c.z) == (q.x, q.y, q.z)
        };
        if self.tets[start as usize].iter().any(same) {
            return Ok(());
        }
        self.grow(start, p)?;
        self.refill(p);
        Ok(())
    }

    /// Collects the cavity of a point.
    fn grow(&mut self, start: u32, p: u32) -> Result<(), DelaunayError> {
        self.round += 1;
        self.cavity.clear();
        self.cavity.push(start);
        self.stamp[start as usize] = self.round;
        let mut i = 0;
        while i < self.cavity.len() {
            for n in self.across[self.cavity[i] as usize] {
                if n != NONE && self.stamp[n as usize] != self.round && self.holds(n, p) {
                    self.stamp[n as usize] = self.round;
                    self.cavity.push(n);
                }
            }
            i += 1;
        }
        // Until the point sees every face.
        let mut i = 0;
        while i < self.cavity.len() {
            let t = self.cavity[i];
            for f in 0..4 {
                let n = self.across[t as usize][f];
                let border = n == NONE || self.stamp[n as usize] != self.round;
                if border && !self.sees(t, f, p) {
                    if n == NONE {
                        return Err(DelaunayError::Stuck);
                    }
                    self.stamp[n as usize] = self.round;
                    self.cavity.push(n);
                }
            }
            i += 1;
        }
        Ok(())
    }

    /// Replaces the cavity by the star of the point.
    fn refill(&mut self, p: u32) {
        let cavity = std::mem::take(&mut self.cavity);
        let mut edges: Vec<(u32, u32, u32, u8)> = Vec::with_capacity(cavity.len() * 6);
        let mut borders: Vec<([u32; 3], u32, u32)> = Vec::with_capacity(cavity.len() * 3);
        for &t in &cavity {
            for f in 0..4 {
                let n = self.across[t as usize][f];
                if n == NONE || self.stamp[n as usize] != self.round {
                    borders.push((FACES[f].map(|i| self.tets[t as usize][i]), n, t));
                }
            }
        }
        let mut new = Vec::with_capacity(borders.len());
        for &(face, outside, old) in &borders {
            let t = self.allocate([face[0], face[1], face[2], p]);
            self.across[t as usize][3] = outside;
            if outside != NONE {
                for a in &mut self.across[outside as usize] {
                    if *a == old {
                        *a = t;
                        break;
                    }
                }
            }
            for k in 0..3u8 {
                let (a, b) = (face[(k as usize + 1) % 3], face[(k as usize + 2) % 3]);
                edges.push((a.min(b), a.max(b), t, k));
            }
            new.push(t);
        }
        edges.sort_unstable();
        for w in edges.chunks_exact(2) {
            self.across[w[0].2 as usize][w[0].3 as usize] = w[1].2;
            self.across[w[1].2 as usize][w[1].3 as usize] = w[0].2;
        }
        for &t in &cavity {
            self.alive[t as usize] = false;
            self.free.push(t);
        }
        self.last = new.first().copied().unwrap_or(self.last);
        self.cavity = cavity;
    }

    fn allocate(&mut self, corners: [u32; 4]) -> u32 {
        if let Some(t) = self.free.pop() {
            self.tets[t as usize] = corners;
            self.across[t as usize] = [NONE; 4];
            self.alive[t as usize] = true;
            self.stamp[t as usize] = 0;
            return t;
        }
        self.tets.push(corners);
        self.across.push([NONE; 4]);
        self.alive.push(true);
        self.stamp.push(0);
        (self.tets.len() - 1) as u32
    }
}

fn coord(p: Vec3) -> Coord3D<f64> {
    Coord3D {
        x: p.x,
        y: p.y,
        z: p.z,
    }
}

/// Indices along a Morton curve, so that consecutive points are near one another.
fn morton_order(points: &[Vec3]) -> Vec<u32> {
    let far = Vec3::repeat(f64::INFINITY);
    let (lo, hi) = points
        .iter()
        .fold((far, -far), |(l, h), p| (l.inf(p), h.sup(p)));
    let scale = 1023.0 / (hi - lo).max().max(1e-300);
    let spread = |x: f64| {
        let mut v = x as u64 & 0x3ff;
        v = (v | v << 16) & 0x0300_00ff;
        v = (v | v << 8) & 0x0300_f00f;
        v = (v | v << 4) & 0x030c_30c3;
        (v | v << 2) & 0x0924_9249
    };
    let mut order: Vec<(u64, u32)> = points
        .iter()
        .enumerate()
        .map(|(i, p)| {
            let q = (p - lo) * scale;
            (spread(q.x) | spread(q.y) << 1 | spread(q.z) << 2, i as u32)
        })
        .collect();
    order.sort_unstable();
    order.into_iter().map(|(_, i)| i).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tetrahedron::volume;
    use super::*;
    use std::collections::BTreeMap;

    fn random(n: usize, mut seed: u64) -> Vec<Vec3> {
        let mut next = || {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..n).map(|_| Vec3::new(next(), next(), next())).collect()
    }

    fn with_box(mut points: Vec<Vec3>) -> Vec<Vec3> {
        for i in 0..8 {
            let pick = |k: i32| if i >> k & 1 == 1 { 3.0 } else { -2.0 };
            points.push(Vec3::new(pick(0), pick(1), pick(2)));
        }
        points
    }

    /// Every tetrahedron positive, together the box, every inner face between two, spheres empty.
    fn assert_delaunay(points: &[Vec3], tets: &[[u32; 4]]) {
        let mut faces: BTreeMap<[u32; 3], usize> = BTreeMap::new();
        let mut total = 0.0;
        for t in tets {
            let v = volume(&t.map(|v| points[v as usize]));
            assert!(v > 0.0);
            total += v;
            for f in FACES {
                let mut f = f.map(|i| t[i]);
                f.sort_unstable();
                *faces.entry(f).or_default() += 1;
            }
        }
        assert!((total - 125.0).abs() < 1e-9, "{total}");
        assert!(faces.values().all(|&n| n <= 2));
        let c = |v: u32| coord(points[v as usize]);
        for t in tets {
            for p in 0..points.len() as u32 {
                assert!(
                    insphere(c(t[1]), c(t[0]), c(t[2]), c(t[3]), c(p)) <= 0.0 || t.contains(&p)
                );
            }
        }
    }

    #[test]
    fn random_points_have_empty_spheres() {
        let points = with_box(random(300, 1));
        assert_delaunay(&points, &delaunay(&points).expect("spans a volume"));
    }

    #[test]
    fn a_cubic_grid_full_of_ties_is_tiled() {
        let mut points = Vec::new();
        for i in 0..216 {
            points.push(Vec3::new((i % 6) as f64, (i / 6 % 6) as f64, (i / 36) as f64) * 0.2);
        }
        for i in 0..64 {
            let p = Vec3::new((i % 4) as f64, (i / 4 % 4) as f64, (i / 16) as f64);
            points.push((p + Vec3::repeat(0.5)) * 0.2);
        }
        let points = with_box(points);
        assert_delaunay(&points, &delaunay(&points).expect("spans a volume"));
    }

    #[test]
    fn the_set_does_not_depend_on_the_order_of_points() {
        let points = with_box(random(200, 7));
        let turned: Vec<Vec3> = points.iter().rev().copied().collect();
        let n = points.len() as u32;
        let set = |tets: Vec<[u32; 4]>, back: bool| {
            let mut s: Vec<[u32; 4]> = tets
                .into_iter()
                .map(|t| {
                    let mut t = t.map(|v| if back { n - 1 - v } else { v });
                    t.sort_unstable();
                    t
                })
                .collect();
            s.sort_unstable();
            s
        };
        let a = set(delaunay(&points).expect("spans a volume"), false);
        let b = set(delaunay(&turned).expect("spans a volume"), true);
        assert_eq!(a, b);
    }

    #[test]
    fn doubled_points_are_left_out_and_flat_sets_refused() {
        let mut points = with_box(random(50, 3));
        points.extend(points[..20].to_vec());
        let tets = delaunay(&points).expect("spans a volume");
        assert!(
            tets.iter()
                .flatten()
                .all(|&v| v < 58 || points[..58].contains(&points[v as usize]))
        );
        assert_eq!(delaunay(&points[..3]), Err(DelaunayError::Flat));
        let flat: Vec<Vec3> = random(30, 5)
            .iter()
            .map(|p| Vec3::new(p.x, p.y, 0.0))
            .collect();
        assert_eq!(delaunay(&flat), Err(DelaunayError::Flat));
    }
}
