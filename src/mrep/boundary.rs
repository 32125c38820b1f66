// SPDX-License-Identifier: MIT OR Apache-2.0
//! The implied boundary as a mesh, by fixed sparse maps: `y = Σ_i W_i (x_i + Σ_q V_q L_iq)`.
//!
//! The weights depend on the kind of figure, its knots and the level alone, so that a mesh follows moved atoms by one product with
//! a sparse matrix, and derivatives by products with others. Sides of a fan are interpolated with its edge's weights, which keeps
//! the mesh closed. A mesh that follows nothing needs no matrices: [`mesh`] takes one row at a time, by the same rows.
//!
//! Source: [oguz2005, slides 6 to 8]; `[thall2004]` for boundaries interpolated through spokes, here by splines.

use super::atom::Role;
use super::error::MRepError;
use super::figure::{Figure, Kind};
use super::pieces::{HERMITE, Part, fan};
pub(super) use super::sites::Site;
use super::sites::{coordinates, laid_out, vertices};
use super::spline::{Spline, powers};
use crate::Vec3;
use crate::progress::{Progress, map_parallel};
use sprs::CsMatI;
use std::f64::consts::{FRAC_PI_2, TAU};

/// Largest number of entries in each map of a [`Boundary`]: three of them take 1 GB then, and a mesh with 80 weights a vertex, as of
/// a limb of nine atoms, has 330,000 vertices.
const MAX_ENTRIES: usize = 1 << 25;

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

    /// Tangent at a site: by s or by t; at a cap's pole in one of two directions across.
    fn tangent(&self, site: &Site, by_t: bool) -> Vec<(usize, f64)> {
        let pole = matches!(site.part, Part::Cap { .. }) && site.s == 1.0;
        match (by_t, pole) {
            (false, _) => self.row(site, 1, 0),
            (true, false) => self.row(site, 0, 1),
            (true, true) => {
                let t = site.t + FRAC_PI_2;
                self.row(&Site { t, ..*site }, 1, 0)
            }
        }
    }

    /// Upper bound of the entries in a row of a map.
    fn longest(&self) -> usize {
        let spokes = self.kind.spokes();
        match self.kind {
            Kind::Slab { rows, cols } => (2 * rows * cols).max(5 * rows.max(cols)),
            Kind::Tube { atoms, .. } => (atoms * (1 + spokes)).max(1 + 4 * spokes),
        }
    }
}

/// Builds a sparse matrix from its rows, each [`merged`].
fn matrix(rows: impl ExactSizeIterator<Item = Vec<(usize, f64)>>, columns: usize) -> Map {
    let count = rows.len();
    let (mut ends, mut indices, mut weights) = (vec![0], Vec::new(), Vec::new());
    for row in rows {
        for (column, weight) in merged(row) {
            indices.push(column as u32);
            weights.push(weight);
        }
        ends.push(indices.len() as u32);
    }
    CsMatI::new((count, columns), ends, indices, weights)
}

/// Sorts a row by columns and adds up entries of one column in the order in which they stand.
fn merged(mut row: Vec<(usize, f64)>) -> Vec<(usize, f64)> {
    row.sort_by_key(|(column, _)| *column);
    row.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    row.retain(|(_, weight)| *weight != 0.0);
    row
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

/// Returns the vertices and triangles of a figure's boundary, those of a [`Boundary`] without its maps, which take fifty times the
/// memory.
///
/// # Errors
/// A level that would take too many vertices; a stop by the progress.
pub(super) fn mesh(
    figure: &Figure,
    level: u32,
    progress: &dyn Progress,
) -> Result<(Vec<Vec3>, Vec<[u32; 3]>), MRepError> {
    let (sites, triangles) = laid_out(figure, level)?;
    let (rows, vectors) = (Rows::new(figure), vectors(figure));
    let place = |i: usize| {
        let row = merged(rows.row(&sites[i], 0, 0)).into_iter();
        row.map(|(column, weight)| vectors[column] * weight).sum()
    };
    let vertices = map_parallel(sites.len(), (progress, "boundary"), place)?;
    Ok((vertices, triangles))
}

/// Returns (u, v, φ, 1) of each vertex of a figure's boundary.
///
/// # Errors
/// A level that would take too many vertices.
pub(crate) fn site_coordinates(figure: &Figure, level: u32) -> Result<Vec<[f64; 4]>, MRepError> {
    let (sites, _) = laid_out(figure, level)?;
    Ok(sites.iter().map(coordinates).collect())
}

/// Returns the radius below each vertex of a figure's boundary, as [`Boundary::radii`] does.
///
/// # Errors
/// A level that would take too many vertices; a stop by the progress.
pub(crate) fn site_radii(
    figure: &Figure,
    level: u32,
    progress: &dyn Progress,
) -> Result<Vec<f64>, MRepError> {
    let (sites, _) = laid_out(figure, level)?;
    let (rows, radii) = (Rows::new(figure), AtomRadii::new(figure));
    let radius = |i: usize| radii.at(merged(rows.atoms(&sites[i], 0, 0)));
    Ok(map_parallel(sites.len(), (progress, "radii"), radius)?)
}

/// Radii of the atoms, and the least and the largest of them, metres.
struct AtomRadii {
    each: Vec<f64>,
    bounds: (f64, f64),
}

impl AtomRadii {
    fn new(figure: &Figure) -> Self {
        let each: Vec<f64> = figure.atoms().iter().map(|atom| atom.reach()).collect();
        let bounds = (each.iter()).fold((f64::INFINITY, 0.0_f64), |(lo, hi), r| {
            (lo.min(*r), hi.max(*r))
        });
        Self { each, bounds }
    }

    /// Interpolates by weights of atoms, between the least and the largest.
    fn at(&self, weights: impl IntoIterator<Item = (usize, f64)>) -> f64 {
        let r: f64 = weights
            .into_iter()
            .map(|(atom, weight)| self.each[atom] * weight)
            .sum();
        r.clamp(self.bounds.0, self.bounds.1)
    }
}

impl Boundary {
    /// The sites and maps of a figure's boundary at a level.
    ///
    /// # Errors
    /// A level that would take too many vertices, or too many weights for those.
    pub fn new(figure: &Figure, level: u32) -> Result<Self, MRepError> {
        let kind = figure.kind();
        let rows = Rows::new(figure);
        let most = MAX_ENTRIES / rows.longest();
        let vertices = vertices(figure, level)?;
        if vertices > most {
            return Err(MRepError::Level {
                level,
                vertices: vertices as f64,
                most,
            });
        }
        let (sites, triangles) = laid_out(figure, level)?;
        Ok(Self {
            coordinates: sites.iter().map(coordinates).collect(),
            triangles,
            value: rows.map(sites.iter().map(|site| rows.row(site, 0, 0))),
            tangents: [false, true]
                .map(|by_t| rows.map(sites.iter().map(|site| rows.tangent(site, by_t)))),
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
        let radii = AtomRadii::new(figure);
        let sum = |row: sprs::CsVecViewI<'_, f64, u32>| radii.at(row.iter().map(|(a, w)| (a, *w)));
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
