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

use super::bcc::{Bcc, BccPoint, is_long};
use super::bridge::{self, TubeAxis};
use super::filled_domain::{NO_NODE, StuffedMesh};
use crate::Vec3;
use crate::geometry::tetrahedron::{quality, volume};
use crate::progress::{Cancelled, Progress, StageProgress, map_parallel, report_progress};
use crate::surface::Surface;
use rayon::prelude::*;

/// Share of an edge within which a point is moved to a cut, for long edges and for short ones.
const LONG_EDGE_SNAP: f64 = 0.24999;
const SHORT_EDGE_SNAP: f64 = 0.41189;
/// Distance from the surface at which a cut is accepted, as a share of half the cubes' edge.
const CUT_TOLERANCE: f64 = 1e-4;
/// Difference below which two shares of an edge are equal.
const SHARE_TOLERANCE: f64 = 1e-6;
/// Distance, as a share of the cubes' edge, below which a point counts as on the surface.
const SURFACE_TOLERANCE: f64 = 1e-6;

/// An edge from the inside to the outside.
struct EdgeCut {
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
    pub tubes: Vec<TubeAxis>,
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
            report_progress(progress, i as f64 / count, "measuring depths")?;
            let points: Vec<BccPoint> = grid.layer(k).collect();
            let depth = |&p: &BccPoint| -surface.signed_distance(grid.centre + grid.position(p));
            let found: Vec<f64> = points.par_iter().map(depth).collect();
            for (p, d) in points.iter().zip(found) {
                values[grid.index(*p)] = d;
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
    pub fn stuff(&self, margin: f64, progress: &dyn Progress) -> Result<StuffedMesh, Cancelled> {
        const STAGE: &str = "building cells";
        let part = |from: f64, to: f64| StageProgress {
            whole: progress,
            from,
            to,
        };
        report_progress(progress, 0.0, STAGE)?;
        let grid = &self.grid;
        let on = SURFACE_TOLERANCE * 2.0 * grid.half;
        let settled = |d: f64, p: Vec3| {
            let d = (d + margin).max(bridge::tube_depth(&self.tubes, grid, p));
            if d.abs() <= on { 0.0 } else { d }
        };
        let depth = |p: Vec3| settled(-self.surface.signed_distance(grid.centre + p), p);
        let mut depths = self.values.clone();
        let points: Vec<BccPoint> = grid.points().collect();
        let settle = |at: &BccPoint| settled(self.values[grid.index(*at)], grid.position(*at));
        let found: Vec<f64> = points.par_iter().map(settle).collect();
        for (at, d) in points.iter().zip(found) {
            depths[grid.index(*at)] = d;
        }
        let mut crossing: Vec<(BccPoint, BccPoint)> = Vec::new();
        for_each_point(grid, (&part(0.1, 0.3), STAGE), |p| {
            let d = depths[grid.index(p)];
            if d != 0.0 {
                crossing.extend(
                    grid.edges(p)
                        .filter(|&q| d * depths[grid.index(q)] < 0.0)
                        .map(|q| {
                            if grid.index(p) < grid.index(q) {
                                (p, q)
                            } else {
                                (q, p)
                            }
                        }),
                );
            }
        })?;
        crossing.sort_unstable_by_key(|&(p, q)| (grid.index(p), grid.index(q)));
        let cut = |i: usize| {
            let (p, q) = crossing[i];
            let ends = (grid.index(p), grid.index(q));
            let (x, y) = (grid.position(p), grid.position(q));
            let ends_at = (depths[ends.0], depths[ends.1]);
            let t = find_root(ends_at, CUT_TOLERANCE * grid.half, |t| {
                depth(x + (y - x) * t)
            });
            let place = x + (y - x) * t;
            EdgeCut { ends, place }
        };
        let cuts = map_parallel(crossing.len(), (&part(0.3, 0.6), STAGE), cut)?;
        let sign = |d: &f64| (*d > 0.0) as i8 - (*d < 0.0) as i8;
        let mut maker = CellBuilder {
            grid,
            signs: depths.iter().map(sign).collect(),
            places: Vec::new(),
            number_of_point: vec![NO_NODE; grid.len()],
            number_of_cut: vec![NO_NODE; cuts.len()],
            cuts,
            nodes: Vec::new(),
            tets: Vec::new(),
        };
        maker.warp(&crossing);
        maker.build((&part(0.6, 1.0), STAGE))?;
        Ok(StuffedMesh {
            node_of_point: maker.number_of_point,
            nodes: maker.nodes,
            tets: maker.tets,
        })
    }
}

/// Calls `f` with each point of a lattice in order; polls the progress before each layer.
fn for_each_point(
    grid: &Bcc,
    (progress, stage): (&dyn Progress, &str),
    mut f: impl FnMut(BccPoint),
) -> Result<(), Cancelled> {
    let layers = grid.layers();
    let count = layers.clone().count() as f64;
    for (i, k) in layers.enumerate() {
        report_progress(progress, i as f64 / count, stage)?;
        grid.layer(k).for_each(&mut f);
    }
    Ok(())
}

/// Finds where a function with different signs at 0 and 1 changes sign or is small enough: false position
/// (Illinois), then bisection.
fn find_root((mut a, mut b): (f64, f64), small: f64, f: impl Fn(f64) -> f64) -> f64 {
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

struct CellBuilder<'a> {
    grid: &'a Bcc,
    signs: Vec<i8>,
    /// Moved points by lattice number, ascending.
    places: Vec<(usize, Vec3)>,
    cuts: Vec<EdgeCut>,
    number_of_point: Vec<u32>,
    number_of_cut: Vec<u32>,
    nodes: Vec<Vec3>,
    tets: Vec<[u32; 4]>,
}

impl CellBuilder<'_> {
    /// Moves points to cuts that are too near, nearest first.
    fn warp(&mut self, crossing: &[(BccPoint, BccPoint)]) {
        let mut near: Vec<(f64, usize, usize)> = Vec::new();
        for (c, &(p, q)) in crossing.iter().enumerate() {
            let limit = if is_long(p, q) {
                LONG_EDGE_SNAP
            } else {
                SHORT_EDGE_SNAP
            };
            let length = (self.grid.position(p) - self.grid.position(q)).norm();
            for end in [p, q] {
                let part = (self.cuts[c].place - self.grid.position(end)).norm() / length;
                if part < limit {
                    near.push((part / limit, self.grid.index(end), c));
                }
            }
        }
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        for (i, &(part, point, c)) in near.iter().enumerate() {
            let (a, b) = self.cuts[c].ends;
            if self.signs[a] * self.signs[b] < 0 {
                self.signs[point] = 0;
                // Cuts equally near, as on a plane of symmetry, contribute equally.
                let alike = near[i..]
                    .iter()
                    .take_while(|n| n.0 <= part + SHARE_TOLERANCE);
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
        for_each_point(grid, progress, |p| {
            for t in grid.tets(p) {
                if t.iter().any(|&q| self.sign(q) > 0) {
                    self.fill(t);
                }
            }
        })
    }

    /// Returns the side of a point: 1 inside, 0 on the surface, -1 outside.
    fn sign(&self, p: BccPoint) -> i8 {
        self.signs[self.grid.index(p)]
    }

    /// Builds the inner part of one tetrahedron that has an inner corner.
    fn fill(&mut self, tet: [BccPoint; 4]) {
        let of_sign = |s: i8| -> Vec<BccPoint> {
            tet.iter().copied().filter(|&p| self.sign(p) == s).collect()
        };
        let (plus, zero, minus) = (of_sign(1), of_sign(0), of_sign(-1));
        match (&plus[..], &minus[..]) {
            (_, []) => {
                let corners = tet.map(|p| self.point_node(p));
                self.push(corners);
            }
            (&[p], _) => {
                let mut corners = [self.point_node(p); 4];
                let rest = zero
                    .iter()
                    .map(|&z| (z, false))
                    .chain(minus.iter().map(|&m| (m, true)));
                for (corner, (q, outside)) in corners[1..].iter_mut().zip(rest) {
                    *corner = if outside {
                        self.cut_node(p, q)
                    } else {
                        self.point_node(q)
                    };
                }
                self.push(corners);
            }
            (&[p, q], &[m]) => {
                let apex = self.point_node(zero[0]);
                let [a, b, c, d] = self.cut_quadrilateral(p, q, m);
                self.push([a, b, c, apex]);
                self.push([a, c, d, apex]);
            }
            (&[p, q], &[m, n]) => {
                let top = [self.point_node(p), self.cut_node(p, m), self.cut_node(p, n)];
                let bottom = [self.point_node(q), self.cut_node(q, m), self.cut_node(q, n)];
                // The quadrilateral of four cuts is on the boundary: either diagonal is possible.
                let first = [
                    self.is_first_diagonal(p, q, m),
                    false,
                    self.is_first_diagonal(q, p, n),
                ];
                let second = [first[0], true, first[2]];
                self.split_prism(top, bottom, &[first, second]);
            }
            (&[p, q, r], &[m]) => {
                let top = [self.point_node(p), self.point_node(q), self.point_node(r)];
                let bottom = [
                    self.cut_node(p, m),
                    self.cut_node(q, m),
                    self.cut_node(r, m),
                ];
                let falls = [
                    self.is_first_diagonal(p, q, m),
                    self.is_first_diagonal(q, r, m),
                    self.is_first_diagonal(r, p, m),
                ];
                self.split_prism(top, bottom, &[falls]);
            }
            _ => {}
        }
    }

    /// Returns whether the diagonal from `p` to the cut on `q m` splits the quadrilateral that `m` cuts off the
    /// triangle `p q m`; otherwise the one from `q` to the cut on `p m` does. Both tetrahedra at the triangle
    /// agree.
    fn is_first_diagonal(&mut self, p: BccPoint, q: BccPoint, m: BccPoint) -> bool {
        if is_long(p, m) {
            return LONG_RULE;
        }
        if is_long(q, m) {
            return !LONG_RULE;
        }
        let (a, b, c, d) = (
            self.point_node(p),
            self.cut_node(q, m),
            self.point_node(q),
            self.cut_node(p, m),
        );
        let length = |a: u32, b: u32| (self.nodes[a as usize] - self.nodes[b as usize]).norm();
        let (from_p, from_q) = (length(a, b), length(c, d));
        if (from_p - from_q).abs() > 1e-9 * self.grid.half {
            from_p < from_q
        } else {
            p < q
        }
    }

    /// Returns the quadrilateral that `m` cuts off the triangle `p q m`, its diagonal from first to third.
    fn cut_quadrilateral(&mut self, p: BccPoint, q: BccPoint, m: BccPoint) -> [Corner; 4] {
        let (a, b, c, d) = (
            self.point_node(p),
            self.point_node(q),
            self.cut_node(q, m),
            self.cut_node(p, m),
        );
        if self.is_first_diagonal(p, q, m) {
            [a, b, c, d]
        } else {
            [b, c, d, a]
        }
    }

    /// Splits a prism into three tetrahedra. `falls[i]`: the diagonal of the quadrilateral between corners i and
    /// i + 1 runs from the top's corner i to the bottom's i + 1. Of several `ways` the one with the best angles is
    /// taken.
    fn split_prism(&mut self, top: [Corner; 3], bottom: [Corner; 3], ways: &[[bool; 3]]) {
        let worst = |tets: &[[Corner; 4]; 3]| {
            let q = |t: &[Corner; 4]| quality(&self.orient(*t).map(|v| self.nodes[v as usize]));
            tets.iter().map(q).fold(f64::INFINITY, f64::min)
        };
        let best = ways
            .iter()
            .filter_map(|falls| prism_tetrahedra(top, bottom, *falls))
            .map(|tets| (worst(&tets), tets))
            .reduce(|a, b| if b.0 > a.0 { b } else { a });
        if let Some((_, tets)) = best {
            tets.into_iter().for_each(|t| self.push(t));
        }
    }

    fn orient(&self, mut t: [Corner; 4]) -> [Corner; 4] {
        if volume(&t.map(|v| self.nodes[v as usize])) < 0.0 {
            t.swap(2, 3);
        }
        t
    }

    /// Adds a tetrahedron, positively oriented.
    fn push(&mut self, t: [Corner; 4]) {
        let t = self.orient(t);
        self.tets.push(t);
    }

    /// Returns the node of a point of the lattice.
    fn point_node(&mut self, p: BccPoint) -> Corner {
        let number = self.grid.index(p);
        if self.number_of_point[number] == NO_NODE {
            self.number_of_point[number] = self.nodes.len() as u32;
            let moved = self.places.binary_search_by_key(&number, |m| m.0);
            self.nodes
                .push(moved.map_or_else(|_| self.grid.position(p), |i| self.places[i].1));
        }
        self.number_of_point[number]
    }

    /// Returns the node at which an edge is cut.
    fn cut_node(&mut self, p: BccPoint, q: BccPoint) -> Corner {
        let (a, b) = (self.grid.index(p), self.grid.index(q));
        let ends = (a.min(b), a.max(b));
        // Every pair of ends with different signs has a cut.
        let at = self.cuts.binary_search_by_key(&ends, |c| c.ends);
        let Ok(at) = at else {
            // Not expected; the midpoint cannot be far wrong.
            self.nodes
                .push(0.5 * (self.grid.position(p) + self.grid.position(q)));
            return self.nodes.len() as u32 - 1;
        };
        if self.number_of_cut[at] == NO_NODE {
            self.number_of_cut[at] = self.nodes.len() as u32;
            self.nodes.push(self.cuts[at].place);
        }
        self.number_of_cut[at]
    }
}

/// Whether the diagonal of a face with one long and one short cut edge starts at the inner end of the long one.
const LONG_RULE: bool = true;

/// Returns the three tetrahedra of a prism with diagonals; `None` if the diagonals form a cycle.
fn prism_tetrahedra(
    top: [Corner; 3],
    bottom: [Corner; 3],
    falls: [bool; 3],
) -> Option<[[Corner; 4]; 3]> {
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
