// SPDX-License-Identifier: MIT OR Apache-2.0
//! Isosurface stuffing: a domain filled from the body-centred cubic lattice, its boundary on the surface.
//! [labelle2007]
//!
//! Points of the lattice are inside (+), on (0) or outside (−). Edges from + to − are cut where they cross the
//! surface; a point too near to one of its cuts is moved there and becomes 0. The inner remainder of each tetrahedron
//! is one of a few shapes, split so that neighbours agree. In the limit of a fine lattice, dihedral angles stay above
//! ten degrees for every surface.
//!
//! Deviations: points are moved in the order of their nearness, not of their numbers, so that a symmetric body
//! keeps its symmetry; on faces whose two cut edges are short the shorter diagonal is taken in place of the
//! parity rule, for the same reason; where a cut shape leaves a choice, the better angles decide.

use super::bcc::{At, Bcc, is_long};
use super::bridge::{self, Axis};
use super::stuffed::{NONE, Stuffed};
use crate::Vec3;
use crate::geometry::tetrahedron::{quality, volume};
use crate::progress::{Cancelled, Part, Progress, map_parallel, step};
use crate::surface::Surface;
use rayon::prelude::*;

/// Share of an edge within which a point is moved to a cut, for long edges and for short ones.
const NEAR_LONG: f64 = 0.24999;
const NEAR_SHORT: f64 = 0.41189;
/// Distance from the surface at which a cut is accepted, as a share of half the cubes' edge.
const CUT: f64 = 1e-4;
/// Difference below which two shares of an edge are equal.
const ALIKE: f64 = 1e-6;
/// Distance, as a share of the cubes' edge, below which a point counts as on the surface.
const ON: f64 = 1e-6;

/// An edge from the inside to the outside.
struct Cut {
    /// Lattice numbers of its ends, ascending.
    ends: (usize, usize),
    place: Vec3,
}

/// Depths of the lattice's points in a domain.
pub(super) struct Depths<'a> {
    surface: &'a Surface,
    pub grid: Bcc,
    /// For each lattice number, the distance to the boundary, positive inside.
    values: Vec<f64>,
    /// Tubes that belong to the domain whatever the margin.
    pub tubes: Vec<Axis>,
}

impl<'a> Depths<'a> {
    /// Measures the depths of all points.
    pub fn measure(
        surface: &'a Surface,
        grid: Bcc,
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        let mut values = vec![f64::NEG_INFINITY; grid.len()];
        let layers = grid.layers();
        let count = layers.clone().count() as f64;
        for (i, k) in layers.enumerate() {
            step(progress, i as f64 / count, "measuring depths")?;
            let points: Vec<At> = grid.layer(k).collect();
            let depth = |&p: &At| -surface.signed_distance(grid.centre + grid.place(p));
            let found: Vec<f64> = points.par_iter().map(depth).collect();
            for (p, d) in points.iter().zip(found) {
                values[grid.number(*p)] = d;
            }
        }
        Ok(Self {
            surface,
            grid,
            values,
            tubes: Vec::new(),
        })
    }

    /// Fills the domain widened by a margin.
    ///
    /// # Errors
    /// [`Cancelled`] if the progress stops it.
    pub fn stuff(&self, margin: f64, progress: &dyn Progress) -> Result<Stuffed, Cancelled> {
        const STAGE: &str = "building cells";
        let part = |from: f64, to: f64| Part {
            whole: progress,
            from,
            to,
        };
        step(progress, 0.0, STAGE)?;
        let grid = &self.grid;
        let on = ON * 2.0 * grid.half;
        let settled = |d: f64, p: Vec3| {
            let d = (d + margin).max(bridge::depth(&self.tubes, grid, p));
            if d.abs() <= on { 0.0 } else { d }
        };
        let depth = |p: Vec3| settled(-self.surface.signed_distance(grid.centre + p), p);
        let mut depths = self.values.clone();
        let points: Vec<At> = grid.points().collect();
        let settle = |at: &At| settled(self.values[grid.number(*at)], grid.place(*at));
        let found: Vec<f64> = points.par_iter().map(settle).collect();
        for (at, d) in points.iter().zip(found) {
            depths[grid.number(*at)] = d;
        }
        let mut crossing: Vec<(At, At)> = Vec::new();
        each_layer(grid, (&part(0.1, 0.3), STAGE), |p| {
            let d = depths[grid.number(p)];
            if d != 0.0 {
                crossing.extend(
                    grid.edges(p)
                        .filter(|&q| d * depths[grid.number(q)] < 0.0)
                        .map(|q| {
                            if grid.number(p) < grid.number(q) {
                                (p, q)
                            } else {
                                (q, p)
                            }
                        }),
                );
            }
        })?;
        crossing.sort_unstable_by_key(|&(p, q)| (grid.number(p), grid.number(q)));
        let cut = |i: usize| {
            let (p, q) = crossing[i];
            let ends = (grid.number(p), grid.number(q));
            let (x, y) = (grid.place(p), grid.place(q));
            let ends_at = (depths[ends.0], depths[ends.1]);
            let t = root(ends_at, CUT * grid.half, |t| depth(x + (y - x) * t));
            let place = x + (y - x) * t;
            Cut { ends, place }
        };
        let cuts = map_parallel(crossing.len(), (&part(0.3, 0.6), STAGE), cut)?;
        let sign = |d: &f64| (*d > 0.0) as i8 - (*d < 0.0) as i8;
        let mut maker = Maker {
            grid,
            signs: depths.iter().map(sign).collect(),
            places: Vec::new(),
            number_of_point: vec![NONE; grid.len()],
            number_of_cut: vec![NONE; cuts.len()],
            cuts,
            nodes: Vec::new(),
            tets: Vec::new(),
        };
        maker.warp(&crossing);
        maker.build((&part(0.6, 1.0), STAGE))?;
        Ok(Stuffed {
            node_of_point: maker.number_of_point,
            nodes: maker.nodes,
            tets: maker.tets,
        })
    }
}

/// Calls `f` with each point of a lattice in order; polls the progress before each layer.
fn each_layer(
    grid: &Bcc,
    (progress, stage): (&dyn Progress, &str),
    mut f: impl FnMut(At),
) -> Result<(), Cancelled> {
    let layers = grid.layers();
    let count = layers.clone().count() as f64;
    for (i, k) in layers.enumerate() {
        step(progress, i as f64 / count, stage)?;
        grid.layer(k).for_each(&mut f);
    }
    Ok(())
}

/// Finds where a function with different signs at 0 and 1 changes sign or is small enough: false position
/// (Illinois), then bisection.
fn root((mut a, mut b): (f64, f64), small: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut lo, mut hi) = (0.0, 1.0);
    for i in 0..24 {
        if hi - lo < 1e-4 {
            break;
        }
        let t = if i < 8 {
            (lo * b - hi * a) / (b - a)
        } else {
            (lo + hi) / 2.0
        };
        let t = t.clamp(lo + 1e-5, hi - 1e-5);
        let v = f(t);
        if v.abs() <= small {
            return t;
        }
        if (v > 0.0) == (a > 0.0) {
            (lo, a) = (t, v);
            b /= 2.0;
        } else {
            (hi, b) = (t, v);
            a /= 2.0;
        }
    }
    (lo + hi) / 2.0
}

/// A node number, as a corner of the remainder of a tetrahedron.
type Corner = u32;

struct Maker<'a> {
    grid: &'a Bcc,
    signs: Vec<i8>,
    /// Moved points by lattice number, ascending.
    places: Vec<(usize, Vec3)>,
    cuts: Vec<Cut>,
    number_of_point: Vec<u32>,
    number_of_cut: Vec<u32>,
    nodes: Vec<Vec3>,
    tets: Vec<[u32; 4]>,
}

impl Maker<'_> {
    /// Moves points to cuts that are too near, nearest first.
    fn warp(&mut self, crossing: &[(At, At)]) {
        let mut near: Vec<(f64, usize, usize)> = Vec::new();
        for (c, &(p, q)) in crossing.iter().enumerate() {
            let limit = if is_long(p, q) { NEAR_LONG } else { NEAR_SHORT };
            let length = (self.grid.place(p) - self.grid.place(q)).norm();
            for end in [p, q] {
                let part = (self.cuts[c].place - self.grid.place(end)).norm() / length;
                if part < limit {
                    near.push((part / limit, self.grid.number(end), c));
                }
            }
        }
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        for (i, &(part, point, c)) in near.iter().enumerate() {
            let (a, b) = self.cuts[c].ends;
            if self.signs[a] * self.signs[b] < 0 {
                self.signs[point] = 0;
                // Cuts equally near, as on a plane of symmetry, contribute equally.
                let alike = near[i..].iter().take_while(|n| n.0 <= part + ALIKE);
                let (sum, count) = alike
                    .filter(|n| n.1 == point)
                    .fold((Vec3::zeros(), 0.0), |(s, n), &(_, _, c)| {
                        (s + self.cuts[c].place, n + 1.0)
                    });
                self.places.push((point, sum / count));
            }
        }
        self.places.sort_unstable_by_key(|p| p.0);
    }

    fn build(&mut self, progress: (&dyn Progress, &str)) -> Result<(), Cancelled> {
        let grid = self.grid;
        each_layer(grid, progress, |p| {
            for t in grid.tets(p) {
                if t.iter().any(|&q| self.sign(q) > 0) {
                    self.fill(t);
                }
            }
        })
    }

    fn sign(&self, p: At) -> i8 {
        self.signs[self.grid.number(p)]
    }

    /// Builds the inner part of one tetrahedron that has an inner corner.
    fn fill(&mut self, tet: [At; 4]) {
        let of_sign =
            |s: i8| -> Vec<At> { tet.iter().copied().filter(|&p| self.sign(p) == s).collect() };
        let (plus, zero, minus) = (of_sign(1), of_sign(0), of_sign(-1));
        match (&plus[..], &minus[..]) {
            (_, []) => {
                let corners = tet.map(|p| self.point(p));
                self.push(corners);
            }
            (&[p], _) => {
                let mut corners = [self.point(p); 4];
                let rest = zero
                    .iter()
                    .map(|&z| (z, false))
                    .chain(minus.iter().map(|&m| (m, true)));
                for (corner, (q, outside)) in corners[1..].iter_mut().zip(rest) {
                    *corner = if outside {
                        self.cut(p, q)
                    } else {
                        self.point(q)
                    };
                }
                self.push(corners);
            }
            (&[p, q], &[m]) => {
                let apex = self.point(zero[0]);
                let [a, b, c, d] = self.quad(p, q, m);
                self.push([a, b, c, apex]);
                self.push([a, c, d, apex]);
            }
            (&[p, q], &[m, n]) => {
                let top = [self.point(p), self.cut(p, m), self.cut(p, n)];
                let bottom = [self.point(q), self.cut(q, m), self.cut(q, n)];
                // The quadrilateral of four cuts is on the boundary: either diagonal is possible.
                let first = [self.falls(p, q, m), false, self.falls(q, p, n)];
                let second = [first[0], true, first[2]];
                self.prism(top, bottom, &[first, second]);
            }
            (&[p, q, r], &[m]) => {
                let top = [self.point(p), self.point(q), self.point(r)];
                let bottom = [self.cut(p, m), self.cut(q, m), self.cut(r, m)];
                let falls = [
                    self.falls(p, q, m),
                    self.falls(q, r, m),
                    self.falls(r, p, m),
                ];
                self.prism(top, bottom, &[falls]);
            }
            _ => {}
        }
    }

    /// Returns whether the diagonal from `p` to the cut on `q m` splits the quadrilateral that `m` cuts off the
    /// triangle `p q m`; otherwise the one from `q` to the cut on `p m` does. Both tetrahedra at the triangle
    /// agree.
    fn falls(&mut self, p: At, q: At, m: At) -> bool {
        if is_long(p, m) {
            return LONG_RULE;
        }
        if is_long(q, m) {
            return !LONG_RULE;
        }
        let (a, b, c, d) = (self.point(p), self.cut(q, m), self.point(q), self.cut(p, m));
        let length = |a: u32, b: u32| (self.nodes[a as usize] - self.nodes[b as usize]).norm();
        let (from_p, from_q) = (length(a, b), length(c, d));
        if (from_p - from_q).abs() > 1e-9 * self.grid.half {
            from_p < from_q
        } else {
            p < q
        }
    }

    /// Returns the quadrilateral that `m` cuts off the triangle `p q m`, its diagonal from first to third.
    fn quad(&mut self, p: At, q: At, m: At) -> [Corner; 4] {
        let (a, b, c, d) = (self.point(p), self.point(q), self.cut(q, m), self.cut(p, m));
        if self.falls(p, q, m) {
            [a, b, c, d]
        } else {
            [b, c, d, a]
        }
    }

    /// Splits a prism into three tetrahedra. `falls[i]`: the diagonal of the quadrilateral between corners i and
    /// i + 1 runs from the top's corner i to the bottom's i + 1. Of several `ways` the one with the best angles is
    /// taken.
    fn prism(&mut self, top: [Corner; 3], bottom: [Corner; 3], ways: &[[bool; 3]]) {
        let worst = |tets: &[[Corner; 4]; 3]| {
            let q = |t: &[Corner; 4]| quality(&self.upright(*t).map(|v| self.nodes[v as usize]));
            tets.iter().map(q).fold(f64::INFINITY, f64::min)
        };
        let best = ways
            .iter()
            .filter_map(|falls| prism(top, bottom, *falls))
            .map(|tets| (worst(&tets), tets))
            .reduce(|a, b| if b.0 > a.0 { b } else { a });
        if let Some((_, tets)) = best {
            tets.into_iter().for_each(|t| self.push(t));
        }
    }

    fn upright(&self, mut t: [Corner; 4]) -> [Corner; 4] {
        if volume(&t.map(|v| self.nodes[v as usize])) < 0.0 {
            t.swap(2, 3);
        }
        t
    }

    fn push(&mut self, t: [Corner; 4]) {
        let t = self.upright(t);
        self.tets.push(t);
    }

    /// Returns the node of a point of the lattice.
    fn point(&mut self, p: At) -> Corner {
        let number = self.grid.number(p);
        if self.number_of_point[number] == NONE {
            self.number_of_point[number] = self.nodes.len() as u32;
            let moved = self.places.binary_search_by_key(&number, |m| m.0);
            self.nodes
                .push(moved.map_or_else(|_| self.grid.place(p), |i| self.places[i].1));
        }
        self.number_of_point[number]
    }

    /// Returns the node at which an edge is cut.
    fn cut(&mut self, p: At, q: At) -> Corner {
        let (a, b) = (self.grid.number(p), self.grid.number(q));
        let ends = (a.min(b), a.max(b));
        // Every pair of ends with different signs has a cut.
        let at = self.cuts.binary_search_by_key(&ends, |c| c.ends);
        let Ok(at) = at else {
            // Not expected; the midpoint cannot be far wrong.
            self.nodes
                .push(0.5 * (self.grid.place(p) + self.grid.place(q)));
            return self.nodes.len() as u32 - 1;
        };
        if self.number_of_cut[at] == NONE {
            self.number_of_cut[at] = self.nodes.len() as u32;
            self.nodes.push(self.cuts[at].place);
        }
        self.number_of_cut[at]
    }
}

/// Whether the diagonal of a face with one long and one short cut edge starts at the inner end of the long one.
const LONG_RULE: bool = true;

/// Returns the three tetrahedra of a prism with diagonals; `None` if the diagonals form a cycle.
fn prism(top: [Corner; 3], bottom: [Corner; 3], falls: [bool; 3]) -> Option<[[Corner; 4]; 3]> {
    // A corner on two diagonals sees the whole prism.
    for i in 0..3 {
        let (next, last) = ((i + 1) % 3, (i + 2) % 3);
        let (apex, same, other) = if falls[i] && !falls[last] {
            (top[i], top, bottom)
        } else if !falls[i] && falls[last] {
            (bottom[i], bottom, top)
        } else {
            continue;
        };
        let falls = falls[next] == (apex == top[i]);
        let (a, b, c, d) = (same[next], same[last], other[last], other[next]);
        let (first, second) = if falls {
            ([a, b, c, apex], [a, c, d, apex])
        } else {
            ([a, b, d, apex], [b, c, d, apex])
        };
        return Some([[other[0], other[1], other[2], apex], first, second]);
    }
    None
}
