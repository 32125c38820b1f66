// SPDX-License-Identifier: MIT OR Apache-2.0
//! Delaunay tetrahedralisation by incremental insertion [bowyer1981, watson1981] with exact predicates
//! [shewchuk1997].
//!
//! The hull is closed by ghost tetrahedra (a face and the vertex at infinity), so nothing has to enclose
//! the points. Ties are broken as if every point were lifted a little off the paraboloid, the more the
//! later it comes in lexicographic order [devillers2011]: the result is a regular triangulation of the very
//! same points, so cospherical points (grids, BCC lattices) give neither flat cells nor cavities that are
//! not star-shaped, and the set of tetrahedra does not depend on the order of the input.

use crate::Vec3;
use crate::geometry::aabb;
use robust::{Coord3D, insphere, orient3d};

/// Reason why there is no tetrahedralisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DelaunayError {
    /// A coordinate is NaN or infinite.
    #[error("point {0} has a coordinate that is not a finite number")]
    NonFinite(usize),
    /// Fewer than four points, or all in a plane.
    #[error("its points do not span a volume")]
    Flat,
    /// Coordinates that f64 cannot distinguish.
    #[error("its points are too close together to tell apart")]
    Stuck,
}

/// Builds positively oriented tetrahedra that tile the convex hull of the points.
///
/// A point that coincides with another is left out (the first in an internal order stays).
pub(crate) fn delaunay(points: &[Vec3]) -> Result<Vec<[u32; 4]>, DelaunayError> {
    if let Some(i) = points.iter().position(|p| !p.iter().all(|x| x.is_finite())) {
        return Err(DelaunayError::NonFinite(i));
    }
    let mut mesh = DelaunayMesh::new(points);
    let mut order = insertion_order(points);
    let first = mesh.first_four(&order).ok_or(DelaunayError::Flat)?;
    order.retain(|i| !first.contains(i));
    mesh.start(first);
    for p in order {
        mesh.insert(p).ok_or(DelaunayError::Stuck)?;
    }
    let finite = |t: &[u32; 4]| t[0] != DEAD_CORNER && !t.contains(&GHOST_VERTEX);
    Ok(mesh.corners.into_iter().filter(finite).collect())
}

/// The vertex at infinity.
const GHOST_VERTEX: u32 = u32::MAX;
/// First corner of a slot that holds no tetrahedron.
const DEAD_CORNER: u32 = u32::MAX - 1;
/// Marks a link out of the cavity that already points to a new tetrahedron.
const NEW_LINK: u32 = 1 << 31;

/// The other three corners of a tetrahedron, in the order in which a fourth point on the inner side makes
/// a positive tetrahedron of them.
const OPPOSITE_CORNERS: [[usize; 3]; 4] = [[1, 3, 2], [0, 2, 3], [0, 3, 1], [0, 1, 2]];

struct DelaunayMesh {
    points: Vec<Coord3D<f64>>,
    /// Rank of each point in lexicographic order.
    rank: Vec<u32>,
    corners: Vec<[u32; 4]>,
    /// Tetrahedron across the face opposite each corner.
    across: Vec<[u32; 4]>,
    /// Twice the number of the last insertion that examined a slot, plus one if it was in conflict.
    mark: Vec<u32>,
    free: Vec<u32>,
    last: u32,
    step: u32,
    cavity: Vec<u32>,
    boundary: Vec<(u32, u32)>,
    made: Vec<u32>,
}

impl DelaunayMesh {
    fn new(points: &[Vec3]) -> Self {
        // A power of two keeps every bit and the predicates far from underflow and overflow.
        let largest = points.iter().map(|p| p.amax()).fold(0.0, f64::max);
        let exponent = if largest > 0.0 {
            -largest.log2().clamp(-1000.0, 1000.0).round() as i32
        } else {
            0
        };
        let scale = 2.0f64.powi(exponent);
        let points: Vec<Coord3D<f64>> = points
            .iter()
            .map(|p| p * scale)
            .map(|p| Coord3D {
                x: p.x,
                y: p.y,
                z: p.z,
            })
            .collect();
        let mut sorted: Vec<u32> = (0..points.len() as u32).collect();
        sorted.sort_unstable_by(|&a, &b| {
            let (p, q) = (&points[a as usize], &points[b as usize]);
            let by = p.x.total_cmp(&q.x).then(p.y.total_cmp(&q.y));
            by.then(p.z.total_cmp(&q.z)).then(a.cmp(&b))
        });
        let mut rank = vec![0; points.len()];
        for (r, &i) in sorted.iter().enumerate() {
            rank[i as usize] = r as u32;
        }
        let room = points.len() * 8;
        Self {
            points,
            rank,
            corners: Vec::with_capacity(room),
            across: Vec::with_capacity(room),
            mark: Vec::with_capacity(room),
            free: Vec::new(),
            last: 0,
            step: 0,
            cavity: Vec::new(),
            boundary: Vec::new(),
            made: Vec::new(),
        }
    }

    /// Returns the sign of the volume of four points.
    fn orientation(&self, a: u32, b: u32, c: u32, d: u32) -> f64 {
        let p = |i: u32| self.points[i as usize];
        // The predicate is positive where d lies below the plane of a, b, c.
        -orient3d(p(a), p(b), p(c), p(d))
    }

    /// Returns a positive number if `p` lies inside the sphere of a positive tetrahedron; never zero for
    /// distinct points.
    fn in_sphere(&self, t: [u32; 4], p: u32) -> f64 {
        let at = |i: u32| self.points[i as usize];
        // The predicate wants the other orientation.
        let s = insphere(at(t[1]), at(t[0]), at(t[2]), at(t[3]), at(p));
        if s != 0.0 {
            return s;
        }
        // Lift the points one after the other, the highest rank by far the most: the first lift that
        // matters decides. Lifting p takes it out; lifting a corner takes p in if p lies on the corner's
        // side of the opposite face.
        let mut five = [t[0], t[1], t[2], t[3], p];
        five.sort_unstable_by_key(|&i| std::cmp::Reverse(self.rank[i as usize]));
        for i in five {
            if i == p {
                return -1.0;
            }
            let mut swapped = t;
            swapped[corner_index(&t, i)] = p;
            let [a, b, c, d] = swapped;
            let s = self.orientation(a, b, c, d);
            if s != 0.0 {
                return s;
            }
        }
        -1.0
    }

    /// Finds four points that span space.
    fn first_four(&self, order: &[u32]) -> Option<[u32; 4]> {
        let a = *order.first()?;
        let at = |i: u32| self.points[i as usize];
        let b = *order.iter().find(|&&i| at(i) != at(a))?;
        let on_line = |i: u32| {
            use robust::{Coord, orient2d};
            let flat =
                |f: fn(Coord3D<f64>) -> Coord<f64>| orient2d(f(at(a)), f(at(b)), f(at(i))) == 0.0;
            flat(|p| Coord { x: p.x, y: p.y })
                && flat(|p| Coord { x: p.y, y: p.z })
                && flat(|p| Coord { x: p.z, y: p.x })
        };
        let c = *order.iter().find(|&&i| !on_line(i))?;
        let d = *order
            .iter()
            .find(|&&i| self.orientation(a, b, c, i) != 0.0)?;
        Some(if self.orientation(a, b, c, d) > 0.0 {
            [a, b, c, d]
        } else {
            [b, a, c, d]
        })
    }

    /// Starts with the first tetrahedron and its four ghosts.
    fn start(&mut self, t: [u32; 4]) {
        self.corners.push(t);
        self.across.push([1, 2, 3, 4]);
        for f in 0..4 {
            // Swapping two corners turns it over, as the ghost stands on the outer side.
            let mut ghost = t;
            ghost[f] = GHOST_VERTEX;
            ghost.swap((f + 1) % 4, (f + 2) % 4);
            self.corners.push(ghost);
            let across = ghost.map(|v| {
                if v == GHOST_VERTEX {
                    0
                } else {
                    1 + corner_index(&t, v) as u32
                }
            });
            self.across.push(across);
        }
        self.mark = vec![0; 5];
    }

    /// Inserts a point; `None` if rounding broke the structure (coordinates beyond the exact range).
    fn insert(&mut self, p: u32) -> Option<()> {
        let start = self.locate(p)?;
        if self.corners[start as usize]
            .iter()
            .any(|&v| v != GHOST_VERTEX && self.points[v as usize] == self.points[p as usize])
        {
            return Some(());
        }
        self.step += 1;
        self.dig_cavity(start, p);
        self.fill_cavity(p)
    }

    /// Finds a tetrahedron in conflict with `p` (its sphere holds the point), or one with `p` as a corner,
    /// by a visibility walk from the newest.
    fn locate(&self, p: u32) -> Option<u32> {
        let mut t = self.last;
        if let Some(g) = self.corners[t as usize]
            .iter()
            .position(|&v| v == GHOST_VERTEX)
        {
            t = self.across[t as usize][g];
        }
        let mut came = u32::MAX;
        // The walk ends on a regular triangulation; the bound is for coordinates beyond the exact range.
        for turn in 0..4 * self.corners.len() {
            let (corners, across) = (&self.corners[t as usize], &self.across[t as usize]);
            let next = (0..4).map(|k| (k + turn) % 4).find(|&f| {
                let [a, b, c] = OPPOSITE_CORNERS[f].map(|k| corners[k]);
                across[f] != came && self.orientation(a, b, c, p) < 0.0
            });
            match next {
                None => return Some(t),
                Some(f) => {
                    came = t;
                    t = across[f];
                }
            }
            if self.corners[t as usize].contains(&GHOST_VERTEX) {
                return Some(t);
            }
        }
        None
    }

    fn in_conflict(&self, t: u32, p: u32) -> bool {
        let corners = self.corners[t as usize];
        let Some(g) = corners.iter().position(|&v| v == GHOST_VERTEX) else {
            return self.in_sphere(corners, p) > 0.0;
        };
        let [a, b, c] = OPPOSITE_CORNERS[g].map(|k| corners[k]);
        let s = self.orientation(a, b, c, p);
        // In the plane of the hull's face its circle decides, which is a section of the sphere behind it.
        s > 0.0
            || s == 0.0
                && self.in_sphere(self.corners[self.across[t as usize][g] as usize], p) > 0.0
    }

    /// Collects the tetrahedra in conflict with `p`, starting from one of them, and the faces around them.
    fn dig_cavity(&mut self, start: u32, p: u32) {
        self.cavity.clear();
        self.boundary.clear();
        self.mark[start as usize] = 2 * self.step + 1;
        self.cavity.push(start);
        let mut next = 0;
        while next < self.cavity.len() {
            let t = self.cavity[next];
            next += 1;
            for f in 0..4 {
                let n = self.across[t as usize][f];
                if self.mark[n as usize] < 2 * self.step {
                    let conflict = self.in_conflict(n, p);
                    self.mark[n as usize] = 2 * self.step + u32::from(conflict);
                    if conflict {
                        self.cavity.push(n);
                    }
                }
                if self.mark[n as usize] == 2 * self.step {
                    self.boundary.push((t, f as u32));
                }
            }
        }
    }

    /// Replaces the cavity by the tetrahedra between `p` and its faces.
    fn fill_cavity(&mut self, p: u32) -> Option<()> {
        self.made.clear();
        for k in 0..self.boundary.len() {
            let (t, f) = (self.boundary[k].0 as usize, self.boundary[k].1 as usize);
            let mut corners = self.corners[t];
            corners[f] = p;
            let out = self.across[t][f];
            let mut across = [u32::MAX; 4];
            across[f] = out;
            let new = self.allocate_slot(corners, across);
            let back = self.across[out as usize]
                .iter()
                .position(|&n| n == t as u32)?;
            self.across[out as usize][back] = new;
            self.across[t][f] = new | NEW_LINK;
            self.made.push(new);
        }
        for k in 0..self.boundary.len() {
            let (t, f) = self.boundary[k];
            for j in (0..4).filter(|&j| j != f as usize) {
                self.across[self.made[k] as usize][j] = self.turn_around_edge(t, f as usize, j)?;
            }
        }
        for &t in &self.cavity {
            self.corners[t as usize] = [DEAD_CORNER; 4];
        }
        self.free.append(&mut self.cavity);
        self.last = *self.made.first()?;
        Some(())
    }

    /// Turns around the edge opposite corners `f` and `j`, from face `f` of cavity tetrahedron `t` to the cavity's
    /// next face. Returns the new tetrahedron on it.
    fn turn_around_edge(&self, mut t: u32, mut f: usize, mut j: usize) -> Option<u32> {
        // The edge's tetrahedra are few; the bound is for coordinates beyond the exact range.
        for _ in 0..self.corners.len() {
            let n = self.across[t as usize][j];
            if n & NEW_LINK != 0 {
                return Some(n & !NEW_LINK);
            }
            // In the next tetrahedron the corner that both share off the edge is the one to leave by.
            let pivot = self.corners[t as usize][f];
            let from = self.across[n as usize].iter().position(|&x| x == t)?;
            j = self.corners[n as usize].iter().position(|&v| v == pivot)?;
            (t, f) = (n, from);
        }
        None
    }

    fn allocate_slot(&mut self, corners: [u32; 4], across: [u32; 4]) -> u32 {
        if let Some(i) = self.free.pop() {
            self.corners[i as usize] = corners;
            self.across[i as usize] = across;
            self.mark[i as usize] = 0;
            return i;
        }
        self.corners.push(corners);
        self.across.push(across);
        self.mark.push(0);
        self.corners.len() as u32 - 1
    }
}

fn corner_index(t: &[u32; 4], v: u32) -> usize {
    t.iter().position(|&x| x == v).unwrap_or(0)
}

/// Returns a biased randomised order [amenta2003]: rounds that double in size, each along a Hilbert curve,
/// so that a walk is short and no cavity is large.
fn insertion_order(points: &[Vec3]) -> Vec<u32> {
    const BITS: u32 = 16;
    let (lo, hi) = aabb::bounds(points);
    let extent = (hi / 2.0 - lo / 2.0).max() * 2.0;
    let steps = f64::from((1u32 << BITS) - 1);
    let mut keyed: Vec<(u32, u64, u32)> = points
        .iter()
        .enumerate()
        .map(|(i, p)| {
            // `as` saturates; a single repeated point gives 0/0, which becomes 0.
            let cell = (p - lo).map(|x| (x / extent * steps) as u32);
            let round = scramble_bits(i as u64).leading_ones().min(10);
            let key = hilbert_distance([cell.x, cell.y, cell.z], BITS);
            (u32::MAX - round, key, i as u32)
        })
        .collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|k| k.2).collect()
}

/// Scrambles the bits of an index (splitmix64).
fn scramble_bits(i: u64) -> u64 {
    let mut z = i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Returns the distance along a three-dimensional Hilbert curve [skilling2004].
fn hilbert_distance(mut x: [u32; 3], bits: u32) -> u64 {
    let mut q = 1 << (bits - 1);
    while q > 1 {
        let p = q - 1;
        for i in 0..3 {
            if x[i] & q != 0 {
                x[0] ^= p;
            } else {
                let t = (x[0] ^ x[i]) & p;
                x[0] ^= t;
                x[i] ^= t;
            }
        }
        q >>= 1;
    }
    x[1] ^= x[0];
    x[2] ^= x[1];
    let mut t = 0;
    q = 1 << (bits - 1);
    while q > 1 {
        if x[2] & q != 0 {
            t ^= q - 1;
        }
        q >>= 1;
    }
    (0..bits).rev().fold(0, |key, b| {
        x.iter()
            .fold(key, |key, v| key << 1 | u64::from((v ^ t) >> b & 1))
    })
}

#[cfg(test)]
mod tests;
