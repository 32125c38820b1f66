// SPDX-License-Identifier: MIT OR Apache-2.0
//! The implied boundary as a mesh, by fixed sparse maps: `y = Σ_i W_i (x_i + Σ_q V_q L_iq)`.
//!
//! The weights depend on the kind of figure, its knots and the level alone, so that a mesh follows moved atoms by one product with
//! a sparse matrix, and derivatives by products with others. At level l each interval between atoms, and each fan, is cut into
//! 2^l parts; sides of a fan are interpolated with its edge's weights, which keeps the mesh closed.
//!
//! Source: [oguz2005, slides 6 to 8]; `[thall2004]` for boundaries interpolated through spokes, here by splines.

use super::atom::Role;
use super::error::MRepError;
use super::figure::{Figure, Kind};
use super::pieces::{EDGES, Edge, HERMITE, Part, fan, handedness};
use super::spline::{Spline, powers};
use crate::Vec3;
use sprs::{CsMatI, TriMatI};
use std::f64::consts::{FRAC_PI_2, TAU};

/// Most vertices of a boundary mesh.
const MOST: usize = 2_000_000;
/// Highest level, whatever the figure.
const HIGHEST: u32 = 10;

/// A sparse matrix of weights.
pub(super) type Map = CsMatI<f64, u32>;

/// Sites on the boundary, triangles over them, and the maps that place them.
#[derive(Debug, Clone)]
pub struct Boundary {
    /// (u, v, φ, 1) of each vertex.
    pub coordinates: Vec<[f64; 4]>,
    /// Corners, counter-clockwise from outside.
    pub triangles: Vec<[u32; 3]>,
    /// Vertices from the vectors of all atoms.
    pub(super) value: Map,
    /// Two tangents from the same.
    pub(super) tangents: [Map; 2],
    /// Weights of the atoms: hubs and radii below the vertices.
    pub(super) atoms: Map,
}

/// A place on the boundary as the maps know it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site {
    pub part: Part,
    pub s: f64,
    pub t: f64,
}

/// Makes rows of the maps.
pub(super) struct Rows {
    kind: Kind,
    splines: [Spline; 2],
    /// Where each atom's vectors begin; at the end how many there are.
    first: Vec<usize>,
}

impl Rows {
    pub fn new(figure: &Figure) -> Self {
        let kind = figure.kind();
        let mut first = vec![0];
        for i in 0..kind.atoms() {
            first.push(first[i] + kind.role(i).vectors(kind.spokes()));
        }
        Self {
            kind,
            splines: figure.splines(),
            first,
        }
    }

    /// Where each atom's vectors begin; at the end how many there are.
    pub fn first(&self) -> &[usize] {
        &self.first
    }

    /// Weights of atoms at a site, derived `along` times by s and `across` times by t.
    fn atoms(&self, site: &Site, along: usize, across: usize) -> Vec<(usize, f64)> {
        let [u, v] = &self.splines;
        match (self.kind, site.part) {
            (Kind::Slab { cols, .. }, Part::Sheet { .. }) => {
                let (a, b) = (u.weights(site.s, along), v.weights(site.t, across));
                let all = a.iter().enumerate().flat_map(|(i, x)| {
                    b.iter()
                        .enumerate()
                        .map(move |(j, y)| (i * cols + j, x * y))
                });
                all.collect()
            }
            (Kind::Slab { rows, cols }, Part::Rim { edge, .. }) => {
                let spline = if edge.is_row() { v } else { u };
                let weights = spline.weights(site.s, along);
                edge.atoms(rows, cols).into_iter().zip(weights).collect()
            }
            (Kind::Tube { atoms, .. }, Part::Cap { last }) => {
                vec![(if last { atoms - 1 } else { 0 }, 1.0)]
            }
            _ => u.weights(site.s, along).into_iter().enumerate().collect(),
        }
    }

    /// A row: the vertex (0, 0) or its derivative, `along` times by s and `across` times by t, once at most.
    pub fn row(&self, site: &Site, along: usize, across: usize) -> Vec<(usize, f64)> {
        let spokes = self.kind.spokes();
        let hermite = |p: f64, derivative: usize| -> [f64; 4] {
            let powers = powers(p)[derivative];
            std::array::from_fn(|k| (0..4).map(|i| powers[i] * HERMITE[i][k]).sum())
        };
        // Each atom's vectors, weighted.
        let (local, hub): (Vec<(usize, f64)>, f64) = match site.part {
            Part::Sheet { up } => (vec![(Role::spoke(usize::from(!up)), 1.0)], 1.0),
            Part::Rim { up, .. } => {
                let fan = fan(usize::from(!up), spokes);
                let weights = hermite(site.t, across);
                (
                    fan.into_iter().zip(weights).collect(),
                    f64::from(u8::from(across == 0)),
                )
            }
            Part::Body => {
                let weights = self.splines[1].weights(site.t.rem_euclid(TAU), across);
                let all = weights.into_iter().enumerate();
                (
                    all.map(|(q, w)| (Role::spoke(q), w)).collect(),
                    f64::from(u8::from(across == 0)),
                )
            }
            Part::Cap { .. } => {
                let around = self.splines[1].weights(site.t.rem_euclid(TAU), across);
                let powers = hermite(site.s, along);
                let mut all = Vec::with_capacity(4 * spokes);
                for (q, w) in around.into_iter().enumerate() {
                    all.extend(fan(q, spokes).into_iter().zip(powers.map(|p| p * w)));
                }
                (all, f64::from(u8::from(along + across == 0)))
            }
        };
        let atoms = match site.part {
            // A rim's and a tube's fans are no splines over atoms across, a cap's in neither direction.
            Part::Sheet { .. } => self.atoms(site, along, across),
            Part::Rim { .. } | Part::Body => self.atoms(site, along, 0),
            Part::Cap { .. } => self.atoms(site, 0, 0),
        };
        let mut row = Vec::with_capacity(atoms.len() * (1 + local.len()));
        for (atom, w) in atoms {
            let first = self.first[atom];
            row.push((first, w * hub));
            row.extend(local.iter().map(|&(vector, x)| (first + vector, w * x)));
        }
        row
    }

    /// A matrix of rows, with as many columns as there are vectors.
    pub fn map(&self, rows: impl ExactSizeIterator<Item = Vec<(usize, f64)>>) -> Map {
        matrix(rows, self.first[self.kind.atoms()])
    }

    /// Tangents at a site: by s and by t; at a cap's pole in two directions across.
    fn tangents(&self, site: &Site) -> [Vec<(usize, f64)>; 2] {
        if matches!(site.part, Part::Cap { .. }) && site.s == 1.0 {
            let quarter = Site {
                t: site.t + FRAC_PI_2,
                ..*site
            };
            return [self.row(site, 1, 0), self.row(&quarter, 1, 0)];
        }
        [self.row(site, 1, 0), self.row(site, 0, 1)]
    }
}

/// A sparse matrix from its rows; entries of one column are added up.
fn matrix(rows: impl ExactSizeIterator<Item = Vec<(usize, f64)>>, columns: usize) -> Map {
    let mut triplets = TriMatI::new((rows.len(), columns));
    for (r, row) in rows.enumerate() {
        for (column, weight) in row {
            if weight != 0.0 {
                triplets.add_triplet(r, column, weight);
            }
        }
    }
    triplets.to_csr()
}

/// A product with vectors.
pub(super) fn times(map: &Map, vectors: &[Vec3]) -> Vec<Vec3> {
    let sum = |row: sprs::CsVecViewI<'_, f64, u32>| {
        row.iter()
            .map(|(column, weight)| vectors[column] * *weight)
            .sum()
    };
    map.outer_iterator().map(sum).collect()
}

impl Boundary {
    /// The sites and maps of a figure's boundary at a level.
    ///
    /// # Errors
    /// A level that would take too many vertices.
    pub fn new(figure: &Figure, level: u32) -> Result<Self, MRepError> {
        let kind = figure.kind();
        let parts = 1usize << level.min(HIGHEST);
        let n = parts as f64;
        let vertices = match kind {
            Kind::Slab { rows, cols } => {
                let (a, b) = ((rows - 1) as f64 * n, (cols - 1) as f64 * n);
                2.0 * (a + 1.0) * (b + 1.0) + (2.0 * n - 1.0) * 2.0 * (a + b)
            }
            Kind::Tube { atoms, spokes } => {
                spokes as f64 * n * ((atoms + 1) as f64 * n - 1.0) + 2.0
            }
        };
        if level > HIGHEST || vertices > MOST as f64 {
            return Err(MRepError::Level {
                level,
                vertices,
                most: MOST,
            });
        }
        let (sites, mut triangles) = match kind {
            Kind::Slab { rows, cols } => slab(rows, cols, parts),
            Kind::Tube { spokes, .. } => tube(figure.knots(), spokes, parts),
        };
        if handedness(figure) < 0.0 {
            triangles.iter_mut().for_each(|t| t.swap(1, 2));
        }
        let rows = Rows::new(figure);
        let tangents: Vec<[Vec<(usize, f64)>; 2]> =
            sites.iter().map(|site| rows.tangents(site)).collect();
        let (by_s, by_t): (Vec<_>, Vec<_>) = tangents.into_iter().map(|[a, b]| (a, b)).unzip();
        Ok(Self {
            coordinates: sites.iter().map(coordinates).collect(),
            triangles,
            value: rows.map(sites.iter().map(|site| rows.row(site, 0, 0))),
            tangents: [rows.map(by_s.into_iter()), rows.map(by_t.into_iter())],
            atoms: matrix(
                sites.iter().map(|site| rows.atoms(site, 0, 0)),
                kind.atoms(),
            ),
        })
    }

    /// How many vertices.
    pub fn len(&self) -> usize {
        self.coordinates.len()
    }

    /// Whether it has no vertices: never.
    pub fn is_empty(&self) -> bool {
        self.coordinates.is_empty()
    }

    /// Vertices of a figure of the same kind and knots.
    pub fn positions(&self, figure: &Figure) -> Vec<Vec3> {
        times(&self.value, &vectors(figure))
    }

    /// Vertices, outward unit normals and radii; normals are zero where tangents vanish.
    pub(super) fn shape(&self, figure: &Figure) -> Shape {
        let vectors = vectors(figure);
        let positions = times(&self.value, &vectors);
        let [a, b] = [0, 1].map(|k| times(&self.tangents[k], &vectors));
        let hubs: Vec<Vec3> = figure.atoms().iter().map(|atom| atom.hub).collect();
        let hubs = times(&self.atoms, &hubs);
        let normals = (0..positions.len())
            .map(|i| {
                let n = a[i].cross(&b[i]);
                let n = n.try_normalize(0.0).unwrap_or_default();
                n * (positions[i] - hubs[i]).dot(&n).signum()
            })
            .collect();
        Shape {
            positions,
            normals,
            radii: self.radii(figure),
        }
    }

    /// Mean length of the spokes below each vertex ([`Atom::reach`](super::Atom::reach)), interpolated between the smallest and the largest
    /// of the atoms, metres.
    pub fn radii(&self, figure: &Figure) -> Vec<f64> {
        let radii: Vec<f64> = figure.atoms().iter().map(|atom| atom.reach()).collect();
        let (least, most) = radii.iter().fold((f64::INFINITY, 0.0_f64), |(lo, hi), r| {
            (lo.min(*r), hi.max(*r))
        });
        let sum = |row: sprs::CsVecViewI<'_, f64, u32>| {
            let r: f64 = row.iter().map(|(atom, weight)| radii[atom] * weight).sum();
            r.clamp(least, most)
        };
        self.atoms.outer_iterator().map(sum).collect()
    }
}

/// A boundary mesh in space.
pub(super) struct Shape {
    pub positions: Vec<Vec3>,
    pub normals: Vec<Vec3>,
    pub radii: Vec<f64>,
}

/// The vectors of all atoms, one after the other.
pub(super) fn vectors(figure: &Figure) -> Vec<Vec3> {
    let of = |(i, atom): (usize, &super::atom::Atom)| atom.vectors(figure.kind().role(i));
    figure.atoms().iter().enumerate().flat_map(of).collect()
}

/// (u, v, φ, 1) of a site.
fn coordinates(site: &Site) -> [f64; 4] {
    let side = |up: bool| if up { 1.0 } else { -1.0 };
    let (s, t) = (site.s, site.t);
    match site.part {
        Part::Sheet { up } => [s, t, side(up), 1.0],
        Part::Rim { edge, up } => {
            let [u, v] = edge.place(s);
            [u, v, side(up) * (1.0 - t), 1.0]
        }
        Part::Body => [s, 0.0, t, 1.0],
        Part::Cap { last: true } => [1.0 + s, 0.0, t, 1.0],
        Part::Cap { last: false } => [-s, 0.0, t, 1.0],
    }
}

/// Both sheets, then rings around the border from the upper one to the lower.
fn slab(rows: usize, cols: usize, parts: usize) -> (Vec<Site>, Vec<[u32; 3]>) {
    let (a, b) = ((rows - 1) * parts, (cols - 1) * parts);
    let (mut sites, mut triangles) = (Vec::new(), Vec::new());
    for up in [true, false] {
        let first = sites.len();
        for i in 0..=a {
            for j in 0..=b {
                sites.push(Site {
                    part: Part::Sheet { up },
                    s: i as f64 / a as f64,
                    t: j as f64 / b as f64,
                });
            }
        }
        let at = |i: usize, j: usize| first + i * (b + 1) + j;
        for i in 0..a {
            for j in 0..b {
                let quad = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
                push_quad(&mut triangles, quad, !up);
            }
        }
    }
    // Once around the border: from (0, 0) along the first row, the last column, the last row and the first column.
    let around: Vec<(usize, usize, Edge, f64)> = {
        let [first_row, last_row, first_column, last_column] = EDGES;
        let u = |i: usize| i as f64 / a as f64;
        let v = |j: usize| j as f64 / b as f64;
        let there = (0..b).map(|j| (0, j, first_row, v(j)));
        let down = (0..a).map(|i| (i, b, last_column, u(i)));
        let back = (0..b).map(|j| (a, b - j, last_row, v(b - j)));
        let home = (0..a).map(|i| (a - i, 0, first_column, u(a - i)));
        there.chain(down).chain(back).chain(home).collect()
    };
    let sheet = (a + 1) * (b + 1);
    let mut ring: Vec<usize> = around.iter().map(|&(i, j, ..)| i * (b + 1) + j).collect();
    let below: Vec<usize> = ring.iter().map(|&v| sheet + v).collect();
    for k in 1..=2 * parts {
        let next: Vec<usize> = if k == 2 * parts {
            below.clone()
        } else {
            let up = k <= parts;
            let p = if up { k } else { 2 * parts - k } as f64 / parts as f64;
            let first = sites.len();
            sites.extend(around.iter().map(|&(.., edge, s)| Site {
                part: Part::Rim { edge, up },
                s,
                t: p,
            }));
            (first..sites.len()).collect()
        };
        for i in 0..ring.len() {
            let j = (i + 1) % ring.len();
            push_quad(&mut triangles, [ring[i], ring[j], next[j], next[i]], false);
        }
        ring = next;
    }
    (sites, triangles)
}

/// Rings along the tube, then those of both caps and their poles.
fn tube(knots: &[f64], spokes: usize, parts: usize) -> (Vec<Site>, Vec<[u32; 3]>) {
    let m = spokes * parts;
    let angle = |j: usize| TAU * j as f64 / m as f64;
    let (mut sites, mut triangles) = (Vec::new(), Vec::new());
    let mut along: Vec<f64> = Vec::new();
    for pair in knots.windows(2) {
        along.extend((0..parts).map(|k| pair[0] + (pair[1] - pair[0]) * k as f64 / parts as f64));
    }
    along.push(1.0);
    let ring = |sites: &mut Vec<Site>, part: Part, s: f64| -> usize {
        let first = sites.len();
        sites.extend((0..m).map(|j| Site {
            part,
            s,
            t: angle(j),
        }));
        first
    };
    let band = |triangles: &mut Vec<[u32; 3]>, a: usize, b: usize| {
        for j in 0..m {
            let k = (j + 1) % m;
            push_quad(triangles, [a + j, b + j, b + k, a + k], false);
        }
    };
    let body: Vec<usize> = along
        .iter()
        .map(|&u| ring(&mut sites, Part::Body, u))
        .collect();
    for pair in body.windows(2) {
        band(&mut triangles, pair[0], pair[1]);
    }
    for last in [false, true] {
        let part = Part::Cap { last };
        let mut from = if last { body[body.len() - 1] } else { body[0] };
        for k in 1..parts {
            let to = ring(&mut sites, part, k as f64 / parts as f64);
            if last {
                band(&mut triangles, from, to);
            } else {
                band(&mut triangles, to, from);
            }
            from = to;
        }
        let pole = sites.len();
        sites.push(Site {
            part,
            s: 1.0,
            t: 0.0,
        });
        for j in 0..m {
            let k = (j + 1) % m;
            let [a, b] = if last { [j, k] } else { [k, j] };
            triangles.push([from + a, pole, from + b].map(|v| v as u32));
        }
    }
    (sites, triangles)
}

/// Two triangles, over the diagonal from the first corner; turned around or not.
fn push_quad(triangles: &mut Vec<[u32; 3]>, corners: [usize; 4], turned: bool) {
    let [a, b, c, d] = corners.map(|v| v as u32);
    if turned {
        triangles.extend([[a, c, b], [a, d, c]]);
    } else {
        triangles.extend([[a, b, c], [a, c, d]]);
    }
}
